"""The log density of a pseudo posterior whose record terms are clamped (synthesizers 3 and 4 of
[global2022]): log prior + sum_i clamp(alpha_i l_i, -bound, bound), with its gradient.

A clamped term is constant, so that term adds nothing to the gradient. Records of one cell and one
weight are one term with a count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel
from pyvws.errors import InputError
from pyvws.models._priors import coefficient_dimension
from pyvws.models.model import Model
from pyvws.tables.cells import Cells

__all__ = ["add_clamped", "censored_density", "clamped_terms", "refuse_uncensored"]


@kernel
def add_clamped(
    cell: Any,
    weight: Any,
    count: Any,
    bound: float,
    rows: Any,
    row_of_cell: Any,
    log_lik: Any,
    by_eta: Any,
    by_extra: Any,
    first: int,
    gradient: Any,
) -> float:
    """The sum of clamped terms; adds its gradient, coefficients first, extra entries at `first`."""
    total = 0.0
    K = rows.shape[1]
    E = by_extra.shape[1]
    for t in range(len(cell)):
        c = cell[t]
        term = weight[t] * log_lik[c]
        if weight[t] == 0.0:
            continue
        if not abs(term) < bound:
            total += count[t] * (bound if term > 0.0 else -bound)
            continue
        total += count[t] * term
        slope = count[t] * weight[t]
        row = row_of_cell[c]
        for k in range(K):
            gradient[k] += slope * by_eta[c] * rows[row, k]
        for e in range(E):
            gradient[first + e] += slope * by_extra[c, e]
    return total


def refuse_uncensored(model: Model) -> Callable[..., None]:
    """The kernel of a model's terms; InputError for a model whose terms cannot be clamped."""
    if model.cell_terms is None:
        raise InputError(
            f"The likelihood of {model.name} cannot be censored. Choose another model."
        )
    return model.cell_terms


def clamped_terms(
    model: Model, cells: Cells, weights: Floats, bound: float
) -> tuple[Callable[..., None], tuple[Any, ...], tuple[Any, ...]]:
    """The kernel of the cells' terms, its arguments after q, and the first ones of `add_clamped`.

    The last argument is the place of q's first entry after the coefficients' entries.
    """
    terms = refuse_uncensored(model)
    pairs, place = np.unique(
        np.column_stack([cells.cell_of_record, weights]), axis=0, return_inverse=True
    )
    cell, weight = pairs[:, 0].astype(np.intp), np.ascontiguousarray(pairs[:, 1])
    count = np.bincount(place.ravel(), weights=cells.multiplicity).astype(np.float64)
    first = coefficient_dimension(cells.n_coefficients)
    if model.dimension(cells.n_coefficients) < first:
        raise InputError(
            f"The likelihood of {model.name} cannot be censored: the clamp needs the package's "
            "coefficient prior, whose parameters q starts with. Choose another model."
        )
    data = cells.rows, cells.row_of_cell, *model.term_data(cells)
    return terms, data, (cell, weight, count, float(bound), first)


def censored_density(
    model: Model, cells: Cells, weights: Floats, bound: float
) -> Callable[[Floats], tuple[float, Floats]]:
    """A function q (D,) -> (log density up to a constant, gradient (D,)).

    A term that is not a number counts as -bound, as does an infinitely unlikely term.
    """
    terms, data, (*clamps, first) = clamped_terms(model, cells, weights, bound)
    prior = model.density_data(cells, np.zeros(cells.n_records))
    C, E = cells.n_cells, model.dimension(cells.n_coefficients) - first
    add: Callable[..., float] = add_clamped

    def evaluate(q: Floats) -> tuple[float, Floats]:
        gradient = np.empty(len(q))
        log_lik, by_eta, by_extra = np.empty(C), np.empty(C), np.empty((C, E))
        logp = model.log_density(q, *prior, gradient)
        terms(q, *data[:2], data[2:], (log_lik, by_eta, by_extra))
        clamped = (*clamps, *data[:2], log_lik, by_eta, by_extra, first, gradient)
        return logp + add(*clamped), gradient

    return evaluate
