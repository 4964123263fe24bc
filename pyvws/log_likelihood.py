"""From draws to record log-likelihoods, in blocks, and what a non-finite one means.

Whatever engine drew the parameters, l_i(theta_s) is computed here. A cell whose log-likelihood is
infinite or not a number at a draw is given -inf there: its bound is then infinite and its LW
weight 0 (section 1.4 of [vws2024]).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyvws._checks import Floats
from pyvws.engines._engine import Posterior
from pyvws.io.cells import Cells
from pyvws.models._model import Model

__all__ = ["log_likelihood_blocks", "record_log_likelihood"]

_BLOCK_BYTES = 1 << 20


def log_likelihood_blocks(
    model: Model, posterior: Posterior, cells: Cells
) -> Iterator[tuple[slice, Floats]]:
    """Pairs of draws' places and their unweighted log-likelihoods by cell, (B, C), in nats."""
    step = max(1, _BLOCK_BYTES // (8 * cells.n_cells))
    for first in range(0, posterior.n_draws, step):
        rows = slice(first, min(first + step, posterior.n_draws))
        block = model.log_likelihood(posterior.block(rows), cells)
        yield rows, np.where(np.isfinite(block), block, -np.inf)


def record_log_likelihood(model: Model, posterior: Posterior, cells: Cells) -> Floats:
    """The whole matrix by record, (S, N), in nats: for audits of small tables."""
    blocks = [block for _, block in log_likelihood_blocks(model, posterior, cells)]
    return np.concatenate(blocks)[:, cells.cell_of_record]
