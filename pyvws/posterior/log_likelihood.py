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
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.bounds.joint import ColumnTerms, unit_terms
from pyvws.bounds.lipschitz import Block, blockwise_bounds
from pyvws.models.model import Likelihood
from pyvws.models.sequence import TableCells
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.draws import Posterior
from pyvws.tables.design.cells import Cells
from pyvws.tables.design.units import Units

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
    model: Likelihood, posterior: Posterior, cells: Cells | TableCells | Units, clamp: Clamp | None
) -> Iterator[Block]:
    """Blocks of the terms that a clamp sees, in nats, without weights.

    Under the deviance clamp the terms are at most 0, half the unit deviance with a minus; else they
    are the log-likelihoods themselves. Those of units are the sums of their records' terms.
    """
    if isinstance(cells, Units):
        yield from unit_terms(
            column_terms(model, cells.records, posterior, clamp), cells.whole, posterior.n_draws
        ).blocks()
        return
    blocks = log_likelihood_blocks(model, posterior, cells)
    if clamp is None:
        yield from blocks
        return
    shift = clamp.shift(model, cells)
    for rows, columns, compute in blocks:

        def terms(compute: Callable[[], Floats] = compute, at: slice = columns) -> Floats:
            return clamp.terms(compute(), shift[at])

        yield rows, columns, terms


def column_terms(
    model: Likelihood,
    cells: Cells | TableCells,
    posterior: Posterior,
    clamp: Clamp | None,
    places: NDArray[np.intp] | None = None,
) -> ColumnTerms:
    """The terms that a clamp sees as those of one column, whose records have the cells `places`.

    By default these are the cells' own, (N,).
    """

    def at(some: NDArray[np.intp]) -> Floats:
        part = cells.part(some)
        log_lik = model.log_likelihood(posterior.draws, part)
        return log_lik if clamp is None else clamp.terms(log_lik, clamp.shift(model, part))

    return ColumnTerms(
        blocks=lambda: shifted_blocks(model, posterior, cells, clamp),
        at=at,
        cell_of_record=cells.cell_of_record if places is None else places,
        n_cells=cells.n_cells,
    )


def largest_terms(
    model: Likelihood, posterior: Posterior, cells: Cells | TableCells | Units, clamp: Clamp
) -> Floats:
    """max_s |term| (N,), or (H,) of units, in nats, before weights, of the terms that a clamp sees.

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
