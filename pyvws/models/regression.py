"""What regressions share: sums by design row, linear predictors, a rough fit of coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel
from pyvws.models._coefficient_prior import coefficient_dimension
from pyvws.models.model import Start
from pyvws.tables.cells import Cells

_SCORING_STEPS = 8

__all__ = [
    "IDENTITY",
    "LOG",
    "LOGIT",
    "Link",
    "linear_predictor",
    "row_sums",
    "row_totals",
    "scoring_start",
    "value_sums",
]


@dataclass(frozen=True, slots=True)
class Link:
    """eta as a function of a mean, its inverse, and the size at which a rough fit stops eta."""

    eta: Callable[[Floats], Floats]
    mean: Callable[[Floats], Floats]
    largest_eta: float


IDENTITY: Final = Link(lambda mean: mean, lambda eta: eta, np.inf)
LOG: Final = Link(np.log, np.exp, 30.0)
LOGIT: Final = Link(logit, expit, 30.0)


def row_totals(cells: Cells, weights: Floats, *amounts: Floats) -> tuple[Floats, ...]:
    """Sums of alpha and of alpha times each amount (C,) over the design rows, each (R,).

    A cell whose weights are 0 adds 0, whatever its amount.
    """
    sums = cells.weight_sums(weights)
    rows, R = cells.row_of_cell, len(cells.rows)
    weighed = (np.multiply(sums, a, out=np.zeros(len(sums)), where=sums > 0) for a in amounts)
    return _grouped(rows, sums, R), *(_grouped(rows, amount, R) for amount in weighed)


def row_sums(cells: Cells, weights: Floats) -> tuple[Floats, Floats]:
    """Sums of alpha and of alpha y over each design row, both (R,); weights (N,)."""
    count, total = row_totals(cells, weights, cells.outcome)
    return count, total


def value_sums(cells: Cells, weights: Floats) -> Floats:
    """Sums of alpha over each distinct outcome, (V,); weights (N,)."""
    return _grouped(cells.value_of_cell, cells.weight_sums(weights), len(cells.values))


def _grouped(group: NDArray[np.intp], weights: Floats, groups: int) -> Floats:
    return np.asarray(np.bincount(group, weights=weights, minlength=groups), dtype=np.float64)


def linear_predictor(beta: Floats, rows: Floats) -> Floats:
    """eta = X beta for each draw and design row: beta (S, K) and rows (R, K) to (S, R)."""
    eta = np.empty((len(beta), len(rows)))
    _add_up(np.ascontiguousarray(beta), np.ascontiguousarray(rows), eta)
    return eta


@kernel
def _add_up(beta: Any, rows: Any, eta: Any) -> None:
    """Column by column, so that neither the size of a block nor a thread changes a bit."""
    for s in range(len(beta)):
        for r in range(len(rows)):
            total = 0.0
            for k in range(beta.shape[1]):
                total += rows[r, k] * beta[s, k]
            eta[s, r] = total


def scoring_start(
    rows: Floats,
    mean: Floats,
    scores: Callable[[Floats], tuple[Floats, Floats]],
    *,
    link: Link,
    extra: int,
) -> Start:
    """A rough fit of beta by Fisher scoring from rows' means (R,) on, and its information.

    `scores` turns means into each row's slope of the log-likelihood in eta and its Fisher
    information, both (R,). `extra` parameters follow the coefficients' own. A ridge keeps the
    information regular where rows carry no weight.
    """
    size = np.abs(rows).max(axis=0)
    size[size == 0] = 1.0
    X = rows / size
    K = X.shape[1]
    ridge = 1e-3 * np.eye(K)
    eta = link.eta(mean)
    beta = np.zeros(K)
    for _ in range(_SCORING_STEPS):
        slope, working = scores(mean)
        information = (X * working[:, None]).T @ X + ridge
        beta = np.linalg.solve(information, X.T @ (working * eta + slope))
        eta = np.clip(X @ beta, -link.largest_eta, link.largest_eta)
        mean = link.mean(eta)
    centre = np.zeros(coefficient_dimension(K) + extra)
    centre[:K] = beta / size
    return Start(centre, information * np.outer(size, size))
