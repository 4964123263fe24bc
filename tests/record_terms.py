"""The log-likelihoods of small tables as one matrix, which bounds are compared with."""

from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws.posterior.draws import Posterior
from pyvws.posterior.log_likelihood import log_likelihood_blocks


def record_log_likelihood(model: Any, posterior: Posterior, cells: Any) -> Floats:
    """The whole matrix by record, (S, N), in nats."""
    by_cell = np.empty((posterior.n_draws, cells.n_cells))
    for rows, columns, compute in log_likelihood_blocks(model, posterior, cells):
        by_cell[rows, columns] = compute()
    by_cell[~np.isfinite(by_cell)] = -np.inf
    return by_cell[:, cells.cell_of_record]
