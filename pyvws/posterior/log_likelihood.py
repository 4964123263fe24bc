"""Record log-likelihoods from draws, in blocks, and the meaning of non-finite log-likelihoods.

This module computes l_i(theta_s), whatever engine drew the parameters. A log-likelihood that is
infinite or not a number counts as -inf: the record's bound is then infinite and its LW weight 0
(section 1.4 of [vws2024]).

A block stays within a processor's cache, whatever the numbers of draws and cells are, so the memory
that the log-likelihood takes depends on neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pyvws._base.checks import Floats
from pyvws.bounds.lipschitz import Block, blockwise_bounds
from pyvws.models.model import Likelihood
from pyvws.models.sequence import TableCells
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.draws import Posterior
from pyvws.tables.design.cells import Cells

CELLS = 1 << 14
ENTRIES = 1 << 17


def log_likelihood_blocks(
    model: Likelihood, posterior: Posterior, cells: Cells | TableCells
) -> Iterator[Block]:
    """Blocks of the draws' unweighted log-likelihoods by cell, in nats, group of cells by group."""
    step = max(1, ENTRIES // min(CELLS, max(1, cells.n_cells)))
    for first in range(0, cells.n_cells, CELLS):
        columns = slice(first, min(first + CELLS, cells.n_cells))
        part = cells if columns == slice(0, cells.n_cells) else cells.part(columns)
        for at in range(0, posterior.n_draws, step):
            rows = slice(at, min(at + step, posterior.n_draws))

            def compute(rows: slice = rows, part: Cells | TableCells = part) -> Floats:
                return model.log_likelihood(posterior.block(rows), part)

            yield rows, columns, compute


def shifted_blocks(
    model: Likelihood, posterior: Posterior, cells: Cells | TableCells, clamp: Clamp | None
) -> Iterator[Block]:
    """Blocks of the terms that a clamp sees, in nats, without weights.

    Under the deviance clamp the terms are at most 0, half the unit deviance with a minus; else they
    are the log-likelihoods themselves.
    """
    blocks = log_likelihood_blocks(model, posterior, cells)
    if clamp is None:
        yield from blocks
        return
    shift = clamp.shift(model, cells)
    for rows, columns, compute in blocks:

        def terms(compute: Callable[[], Floats] = compute, at: slice = columns) -> Floats:
            return clamp.terms(compute(), shift[at])

        yield rows, columns, terms


def largest_terms(
    model: Likelihood, posterior: Posterior, cells: Cells | TableCells, clamp: Clamp
) -> Floats:
    """max_s |term| of each record (N,) in nats, before weights, of the terms that a clamp sees.

    Under the deviance clamp it is half of the record's largest unit deviance, under the half clamp
    max_s |l_i(theta_s)|. A term that is not finite counts as infinite. Larger = riskier. A record's
    size depends on the record and on the draws, and no other record changes a bit of it.
    """
    _, sizes = blockwise_bounds(
        lambda: shifted_blocks(model, posterior, cells, clamp),
        draws=posterior.n_draws,
        weights=np.ones(cells.n_records),
        largest_weights=np.ones(cells.n_cells),
        cell_of_record=cells.cell_of_record,
    )
    return sizes


def record_log_likelihood(
    model: Likelihood, posterior: Posterior, cells: Cells | TableCells
) -> Floats:
    """The whole matrix by record, (S, N), in nats: for audits of small tables."""
    by_cell = np.empty((posterior.n_draws, cells.n_cells))
    for rows, columns, compute in log_likelihood_blocks(model, posterior, cells):
        by_cell[rows, columns] = compute()
    by_cell[~np.isfinite(by_cell)] = -np.inf
    return by_cell[:, cells.cell_of_record]
