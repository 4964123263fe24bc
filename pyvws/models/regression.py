"""Code that regressions share: linear predictor, links, sums by design row, rough fit, parameters.

Each record of a `Regression` depends on the coefficients through eta = X beta alone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from numpy.random import Generator
from scipy.special import expit, logit

from pyvws._base.checks import Arrays, Data, Floats, Ints, Places
from pyvws._base.kernels import inlined_kernel, kernel
from pyvws.models.model import Draws, Family, Start
from pyvws.models.priors import (
    coefficient_dimension,
    constrain_coefficients,
    unconstrain_coefficients,
)
from pyvws.tables.design.cells import Cells

_SCORING_STEPS = 8
# The ridge and the longest step in eta; the second pair where the first one's steps lead far off.
_SCORING = ((1e-3, np.inf), (1.0, 5.0))


@inlined_kernel
def linear(q: Floats, rows: Floats, r: int) -> float:
    """eta of design row r of rows (R, K), by the coefficients that q starts with."""
    eta = 0.0
    for k in range(rows.shape[1]):
        eta += rows[r, k] * q[k]
    return eta


@inlined_kernel
def add_slope(gradient: Floats, slope: float, rows: Floats, r: int) -> None:
    """Add to the coefficients' gradient the part from `slope`, the derivative in eta."""
    for k in range(rows.shape[1]):
        gradient[k] += slope * rows[r, k]


@kernel
def predictors(q: Floats, rows: Floats) -> Floats:
    """eta of each design row, (R,)."""
    eta = np.empty(len(rows))
    for r in range(len(rows)):
        eta[r] = linear(q, rows, r)
    return eta


@kernel
def log_sigmoid(eta: float) -> tuple[float, float]:
    """log p for p = 1 / (1 + exp(-eta)), to the digits of its tails, and 1 - p, its slope."""
    small = math.exp(-abs(eta))
    if eta >= 0.0:
        return -math.log1p(small), small / (1.0 + small)
    return eta - math.log1p(small), 1.0 / (1.0 + small)


@kernel
def _cell_slopes(
    q: Floats,
    rows: Floats,
    row_of_cell: Ints,
    _data: Data,
    terms: Arrays,
    weight: Floats,
    grad: Floats,
) -> None:
    """Adds the gradient of sum_c weight_c l_c; the family's own entries end q."""
    _, by_eta, by_extra = terms
    first = len(q) - by_extra.shape[1]
    for c in range(len(row_of_cell)):
        if weight[c] == 0.0:
            continue
        add_slope(grad, weight[c] * by_eta[c], rows, row_of_cell[c])
        for e in range(by_extra.shape[1]):
            grad[first + e] += weight[c] * by_extra[c, e]


@dataclass(frozen=True, slots=True)
class Link:
    """eta as a function of a mean, its inverse, and the size at which a rough fit stops eta."""

    eta: Callable[[Floats], Floats]
    mean: Callable[[Floats], Floats]
    largest_eta: float


IDENTITY: Final = Link(lambda mean: mean, lambda eta: eta, np.inf)
LATENT: Final = Link(lambda eta: eta, lambda eta: eta, 30.0)
LOG: Final = Link(np.log, np.exp, 30.0)
LOGIT: Final = Link(logit, expit, 30.0)


def row_totals(cells: Cells, weights: Floats, *amounts: Floats) -> tuple[Floats, ...]:
    """Sums of alpha and of alpha times each amount (C,) by row (R,); weights of 0 add 0."""
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


def _grouped(group: Places, weights: Floats, groups: int) -> Floats:
    return np.asarray(np.bincount(group, weights=weights, minlength=groups), dtype=np.float64)


def linear_predictor(beta: Floats, rows: Floats) -> Floats:
    """eta = X beta for each draw and design row: beta (S, K) and rows (R, K) to (S, R)."""
    eta = np.empty((len(beta), len(rows)))
    _add_up(np.ascontiguousarray(beta), np.ascontiguousarray(rows), eta)
    return eta


@kernel
def _add_up(beta: Floats, rows: Floats, eta: Floats) -> None:
    """Add up columns in order, so that neither the size of a block nor a thread changes a bit."""
    for s in range(len(beta)):
        for r in range(len(rows)):
            eta[s, r] = linear(beta[s], rows, r)


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
    information regular where rows carry no weight, and a stronger one where predictors separate
    the outcomes.
    """
    size = np.abs(rows).max(axis=0, initial=0.0)
    size[size == 0] = 1.0
    X = rows / size
    K = X.shape[1]
    first = link.eta(mean)
    for ridge, reach in _SCORING:
        beta, eta = np.zeros(K), first
        for _ in range(_SCORING_STEPS):
            slope, working = scores(mean if eta is first else link.mean(eta))
            information = (X * working[:, None]).T @ X + ridge * np.eye(K)
            solved = np.linalg.solve(information, X.T @ (working * eta + slope))
            step = np.abs(X @ (solved - beta)).max(initial=0.0)
            beta = solved if step <= reach else beta + reach / step * (solved - beta)
            eta = np.clip(X @ beta, -link.largest_eta, link.largest_eta)
        if np.abs(beta).max() <= link.largest_eta:
            break
    centre = np.zeros(coefficient_dimension(K) + extra)
    centre[:K] = beta / size
    return Start(centre, information * np.outer(size, size))


Kernels = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]


class Regression(Family, ABC):
    """A family whose records depend on the coefficients through eta = X beta alone.

    beta has the hierarchical LKJ prior of [vws2024]. The unconstrained vector is (beta, log
    sigma_beta, partial correlations of L_beta, the family's own entries). A family gives `kernels`,
    `parts` and `simulate`; where it has another parameter than one scale, the four members about
    its own entries too.
    """

    __slots__ = ()

    scale: ClassVar[str] = ""
    """Name of a positive parameter beside the coefficients; empty for none."""

    samples_inverse: ClassVar[bool] = True
    """Whether the own entry of q is the logarithm of the inverse scale rather than of the scale."""

    own_prior: ClassVar[tuple[Callable[[float, float], tuple[float, float]], float] | None] = None
    """The prior of each own entry of q: a kernel f(entry, scale) -> (log density, slope), and the
    scale. None for a family without such entries.
    """

    log_density: ClassVar[Callable[..., float]]
    cell_terms: ClassVar[Callable[..., None]]
    cell_slopes: ClassVar[Callable[..., None]] = staticmethod(_cell_slopes)

    records: ClassVar[Callable[..., None]]
    """A kernel f(parts, row_of_cell, term_data, terms), as `Model.cell_terms`, from one draw's."""

    def __init_subclass__(cls, *, kernels: Kernels | None = None) -> None:
        """`kernels` are the family's `log_density`, `cell_terms` and `records`."""
        if kernels is not None:
            cls.log_density, cls.cell_terms, cls.records = map(staticmethod, kernels)

    def parts(self, eta: Floats, draws: Draws) -> tuple[Floats, ...]:
        """First argument of `records`, from eta (S, R): arrays whose first axis runs over draws."""
        return (eta, draws[self.scale]) if self.scale else (eta,)

    @abstractmethod
    def simulate(self, eta: Floats, draw: Draws, rng: Generator) -> Floats:
        """One synthetic outcome for each eta (N,) at a single draw (S = 1)."""

    @property
    def predicts_from(self) -> tuple[str, ...]:
        return ("beta", self.scale) if self.scale else ("beta",)

    @property
    def own_entries(self) -> int:
        """How many entries of q follow the coefficients'."""
        return int(bool(self.scale))

    def own_draws(self, entries: Floats) -> Draws:
        """The family's own parameters by name, from its entries of q (S, E)."""
        if not self.scale:
            return {}
        last = entries[:, -1]
        if not self.samples_inverse:
            return {self.scale: np.exp(last)}
        return {f"inv_{self.scale}": np.exp(last), self.scale: np.exp(-last)}

    def own_logarithms(self, draws: Draws) -> tuple[Floats, ...]:
        """The family's entries of q, the inverse of `own_draws`: columns (S,) or (S, E)."""
        if not self.scale:
            return ()
        return (np.log(draws[f"inv_{self.scale}" if self.samples_inverse else self.scale]),)

    def slope_width(self, K: int) -> int:
        return self.own_entries

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        return (cells.outcome,)

    def dimension(self, K: int) -> int:
        return coefficient_dimension(K) + self.own_entries

    def constrain(self, q: Floats, K: int) -> Draws:
        return constrain_coefficients(q, K) | self.own_draws(q[:, coefficient_dimension(K) :])

    def unconstrain(self, draws: Draws) -> Floats:
        return np.column_stack([unconstrain_coefficients(draws), *self.own_logarithms(draws)])

    def log_likelihood(self, draws: Draws, cells: Cells) -> Floats:
        log_likelihoods = np.empty((len(draws["beta"]), cells.n_cells))
        slopes = np.empty(cells.n_cells), np.empty((cells.n_cells, self.own_entries))
        data = self.term_data(cells)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            parts = self.parts(linear_predictor(draws["beta"], cells.rows), draws)
        for s, log_lik in enumerate(log_likelihoods):
            here = tuple(part[s] for part in parts)
            self.records(here, cells.row_of_cell, data, (log_lik, *slopes))
        return log_likelihoods

    def predict(
        self, draw: Draws, design: Floats, rng: Generator, *, outcome: Floats | None = None
    ) -> Floats:
        with np.errstate(over="ignore"):
            return self.simulate(linear_predictor(draw["beta"], design)[0], draw, rng)
