"""A regression by one kernel: a record's log-likelihood and its slope in eta = X beta."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import numpy as np

from pyvws._base.checks import Arrays, Data, Floats, Ints
from pyvws._base.kernels import kernel_of_kernels
from pyvws.models.model import Start
from pyvws.models.priors import log_level_prior
from pyvws.models.regression import (
    LATENT,
    Regression,
    add_slope,
    linear,
    predictors,
    row_totals,
    scoring_start,
)
from pyvws.tables.design.cells import Cells

_STEP = 1e-4  # In eta, of the difference that gives a rough fit its information.

Term = Callable[[float, float], tuple[float, float]]


class TermRegression(Regression):
    """A `Regression` whose subclass gives `name`, `simulate` and one kernel `term(eta, y)`.

    `term` is compiled by numba. It returns the log-likelihood of one record in nats, constants in y
    included, and the derivative of this log-likelihood in eta. It reads no other parameter. beta
    has the hierarchical LKJ prior of [vws2024].
    """

    __slots__ = ()

    whole_numbers: ClassVar[bool] = False
    term: ClassVar[Term]

    def __init_subclass__(cls) -> None:
        if "term" in vars(cls):
            own = map(staticmethod, _kernels(cls.term))
            cls.records, cls.cell_terms, cls.log_density = own

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        return cells.rows, cells.row_of_cell, cells.outcome, cells.weight_sums(weights)

    def start(self, cells: Cells, weights: Floats) -> Start:
        no_extra = np.empty((cells.n_cells, 0))

        def slopes(eta: Floats) -> Floats:
            log_lik, by_eta = np.empty((2, cells.n_cells))
            self.records((eta,), cells.row_of_cell, (cells.outcome,), (log_lik, by_eta, no_extra))
            return by_eta

        def scores(eta: Floats) -> tuple[Floats, Floats]:
            bend = (slopes(eta - _STEP) - slopes(eta + _STEP)) / (2.0 * _STEP)
            _, slope, information = row_totals(cells, weights, slopes(eta), np.maximum(bend, 0.0))
            return slope, information

        return scoring_start(cells.rows, np.zeros(len(cells.rows)), scores, link=LATENT, extra=0)


@cache
def _kernels(term: Term) -> tuple[Callable[..., Any], ...]:
    """`records`, `cell_terms` and `log_density` of a family by its term."""

    def records(parts: Arrays, row_of_cell: Ints, data: Data, terms: Arrays) -> None:
        (eta,), (y,), (log_lik, by_eta, _) = parts, data, terms
        for c in range(len(y)):
            log_lik[c], by_eta[c] = term(eta[row_of_cell[c]], y[c])

    compiled_records = _compiled(records, term)

    def cell_terms(q: Floats, rows: Floats, row_of_cell: Ints, data: Data, terms: Arrays) -> None:
        compiled_records((predictors(q, rows),), row_of_cell, data, terms)

    def log_density(
        q: Floats, rows: Floats, row_of_cell: Ints, y: Floats, weight: Floats, grad: Floats
    ) -> float:
        grad[:] = 0.0
        logp = log_level_prior(q, rows.shape[1], 1, grad)
        for c in range(len(y)):
            if weight[c] > 0.0:
                value, slope = term(linear(q, rows, row_of_cell[c]), y[c])
                logp += weight[c] * value
                add_slope(grad, weight[c] * slope, rows, row_of_cell[c])
        return logp

    return compiled_records, _compiled(cell_terms, term), _compiled(log_density, term)


def _compiled(function: Callable[..., Any], term: Term) -> Callable[..., Any]:
    """The function as a kernel of the term's module, so that none of its code is kept on disk."""
    function.__module__ = getattr(term, "py_func", term).__module__
    return kernel_of_kernels(function)
