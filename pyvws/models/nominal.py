"""Multinomial logistic regression of an outcome in levels without an order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from pyvws._base.checks import Floats, Places, distinct_labels, positive
from pyvws._base.cores import steady_sums
from pyvws._base.phrase import Phrase
from pyvws._base.setting import setting
from pyvws.errors import InputError
from pyvws.models import _nominal_kernels as compiled
from pyvws.models.model import Draws, Family, SampledScale, Start, level_places
from pyvws.models.priors import (
    LKJ_SHAPE,
    SCALE_DF,
    coefficient_dimension,
    constrain_scales,
    unconstrain_scales,
)
from pyvws.models.regression import linear_predictor
from pyvws.tables.design.cells import Cells, distinct_rows

_LARGEST_DENSE: Final = 1500  # Coefficients up to which the sampled scale knows all covariances.
_ROUNDS, _STEPS, _ENOUGH = 4, 8, 0.1  # Of scales; of Newton's method; a rise in nats that ends it.


@dataclass(frozen=True, slots=True)
class Nominal(Family):
    """P(y_i = l) = exp(X_i beta_l) / sum_j exp(X_i beta_j), beta_1 = 0: multinomial logit.

    Given one scale and correlation of the coefficients, the levels' beta_2, ..., beta_L are
    independent with the hierarchical LKJ prior of [vws2024]. The unconstrained vector is (beta,
    coefficient by coefficient, log sigma_beta, partial correlations of L_beta). Outcomes are codes
    1 to L of the levels.

    With a `coefficient_sd` every coefficient is N(0, coefficient_sd^2) by itself, and the vector is
    beta alone. Without a clamp the log density is then concave, and has one mode.

    With few predictors there are few kinds of records, and LW at g = 0 gives all records of the
    riskiest kind weight 0. Then choose g above 0, or SW.

    Parameters
    ----------
    levels : sequence of str
        Every label that the outcome can have, 2 or more, known without looking at the data; the
        first is the one that the others are compared with. An empty sequence takes the labels in
        the data, and so releases these labels.
    coefficient_sd : float, optional
        Public standard deviation of each coefficient's normal prior, the intercept's too, on the
        scale of log odds; smaller = nearer to equal shares. 0 is the hierarchical prior, which a
        nominal family has if not given; a table's columns of more than 10 coefficients a level then
        have 2.

    Raises
    ------
    InputError
        For fewer than two levels, levels that are not distinct, or an sd below 0.
    """

    name: ClassVar[str] = "nominal"
    whole_numbers: ClassVar[bool] = True
    categorical: ClassVar[bool] = True
    predicts_from: ClassVar[tuple[str, ...]] = ("beta",)
    log_density: ClassVar[Callable[..., float]] = staticmethod(compiled.log_density)
    cell_terms: ClassVar[Callable[..., None]] = staticmethod(compiled.cell_terms)
    cell_slopes: ClassVar[Callable[..., None]] = staticmethod(compiled.cell_slopes)
    levels: tuple[str, ...] = setting(
        (), "Public labels of the outcome, all that there can be; the data's if not given."
    )
    coefficient_sd: float | None = setting(
        None,
        "Standard deviation of each coefficient's normal prior.",
        more="0 is the papers' hierarchical prior, the default. Columns of a schema with several "
        "synthesized columns and more than 10 coefficients a level have 2. Smaller = nearer to "
        "equal shares of the levels.",
    )
    from_data: int = field(default=0, metadata={"prepared": True})

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", distinct_labels(self.levels))
        if self.coefficient_sd not in (None, 0):  # 0 stands for the hierarchical prior.
            given = positive(self.coefficient_sd, "coefficient_sd")
            object.__setattr__(self, "coefficient_sd", given)

    @property
    def n_levels(self) -> int:
        """L, the number of levels; 0 before `prepare` where the data gives them."""
        return len(self.levels) or self.from_data

    @property
    def outcome_labels(self) -> tuple[str, ...] | None:
        return self.levels

    @property
    def prepared_from_data(self) -> bool:
        return not self.levels

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        return (Phrase("levels-from-data"),) if self.from_data else ()

    def prepare(self, outcome: Floats, column: str) -> Nominal:
        if self.levels:
            return self
        most = int(outcome.max())
        if most < 2:
            raise InputError.by("nominal-single-level", column=column)
        return replace(self, from_data=most)

    def stan_settings(self, cells: Cells) -> dict[str, Any]:
        return {"J": self.n_levels, "coefficient_sd": self.coefficient_sd or 0.0}

    def slope_width(self, K: int) -> int:
        return self.n_levels - 1

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        return self.n_levels - 1, *_paths(cells.rows), level_places(cells)

    def dimension(self, K: int) -> int:
        own = K * (self.n_levels - 1)
        return own if self.coefficient_sd else own + coefficient_dimension(K) - K

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        seen = _by_row_and_level(cells, weights, self.n_levels)
        total = seen.sum(axis=1)
        used = np.flatnonzero(total > 0.0)
        halves, numbers = _halves(cells.rows[used])
        with steady_sums():
            linear = (cells.rows.T @ seen)[:, 1:].ravel()
        paths = cells.n_coefficients, self.n_levels - 1, *_paths(halves)
        return *paths, *numbers, total[used], linear, float(self.coefficient_sd or 0.0)

    def start(self, cells: Cells, weights: Floats) -> Start:
        K, n = cells.n_coefficients, self.n_levels - 1
        m = K * n
        centre = np.zeros(self.dimension(K))
        if m > _LARGEST_DENSE:
            return Start(centre)
        with steady_sums():
            rough = _rough_fit(cells, weights, n, float(self.coefficient_sd or 0.0))
            C = np.linalg.cholesky(rough.precision)
            A = solve_triangular(C, np.eye(m), lower=True)
            both = np.ascontiguousarray(A + np.tril(A, -1).T)  # A below the diagonal, A' above.
        centre[:m] = rough.beta
        if self.coefficient_sd:
            kernels = compiled.restore_normal, compiled.pull_back_normal
            scale = SampledScale(
                kernels, (both, centre), lambda q: np.asarray(C.T @ (q - centre)), shaped=True
            )
            return Start(centre, scale=scale)
        centre[m : m + K] = np.log(rough.scales)
        prior = np.repeat(rough.scales**-2.0, n)
        known = np.maximum((A * A).sum(axis=0), 1e-300)  # The rough posterior's variances.
        h = np.maximum(1.0 / known - prior, 0.0)
        explained = (1.0 - np.minimum(known * prior, 1.0)).reshape(K, n).sum(axis=1)
        i, j = np.tril_indices(K, -1)
        curvature = 2.0 + (i - 1 - j) + (K - i - 1 + 2.0 * LKJ_SHAPE - 2.0)
        width = np.concatenate([(1.0 + 2.0 * explained) ** -0.5, curvature**-0.5])
        shape = both, centre, h, width, K, n

        def inverse(q: Floats) -> Floats:
            z = q - centre
            z[m:] /= width
            now = np.repeat(np.exp(-2.0 * q[m : m + K]), n)
            D = np.sqrt((h + prior) / (h + now))
            z[:m] = C.T @ (q[:m] / D - D * centre[:m])
            return z

        return Start(
            centre, scale=SampledScale((compiled.restore, compiled.pull_back), shape, inverse)
        )

    def constrain(self, q: Floats, K: int) -> Draws:
        m = K * (self.n_levels - 1)
        beta = q[:, :m].reshape(len(q), K, -1).transpose(0, 2, 1)
        scales = {} if self.coefficient_sd else constrain_scales(q[:, m:], K)
        return {"beta": np.ascontiguousarray(beta), **scales}

    def unconstrain(self, draws: Draws) -> Floats:
        beta = draws["beta"].transpose(0, 2, 1)
        scales = [] if self.coefficient_sd else [unconstrain_scales(draws)]
        return np.column_stack([beta.reshape(len(beta), -1), *scales])

    def diagnosed(self, q: Floats, K: int) -> Floats:
        """beta, log sigma_beta and, for all correlations if K > 1, log |L_beta|; (S, K L + 1).

        With a `coefficient_sd` there is beta alone.
        """
        if self.coefficient_sd:
            return q
        m = K * self.n_levels
        y = q[:, m:]
        determinant = (np.log(2.0) - np.logaddexp(y, -y)).sum(axis=1)
        return np.column_stack([q[:, :m], determinant]) if K > 1 else q

    def log_likelihood(self, draws: Draws, cells: Cells) -> Floats:
        beta = np.ascontiguousarray(draws["beta"].transpose(0, 2, 1))
        log_lik = np.empty((len(beta), cells.n_cells))
        n, *paths, level = self.term_data(cells)
        flat = beta.reshape(len(beta), -1)
        compiled.log_likelihood(flat, n, compiled.Paths(*paths), cells.row_of_cell, level, log_lik)
        return log_lik

    def log_shares(self, draw: Draws, design: Floats) -> Floats:
        eta = np.vstack([np.zeros(len(design)), linear_predictor(draw["beta"][0], design)]).T
        return np.asarray(eta - logsumexp(eta, axis=1, keepdims=True))

    def predict(
        self, draw: Draws, design: Floats, rng: Generator, *, outcome: Floats | None = None
    ) -> Floats:
        eta = np.vstack([np.zeros(len(design)), linear_predictor(draw["beta"][0], design)])
        below = np.cumsum(np.exp(eta - eta.max(axis=0)), axis=0)
        return 1.0 + (below[:-1] <= rng.random(len(design)) * below[-1]).sum(axis=0)


def _by_row_and_level(cells: Cells, weights: Floats, L: int) -> Floats:
    """The sums of weights (N,) by design row and level, (R, L)."""
    place = cells.row_of_cell * L + level_places(cells)
    sums = np.bincount(place, cells.weight_sums(weights), len(cells.rows) * L)
    return np.asarray(sums, dtype=np.float64).reshape(-1, L)


def _halves(X: Floats) -> tuple[Floats, list[Places]]:
    """Half rows (H, K), and the places (R,) of the two whose sum each row of X (R, K) is.

    One half has the first columns, and the other the rest, so that there are few halves.
    """
    R, K = X.shape
    few, rest = _numbers_of_distinct(X), _numbers_of_distinct(X[:, ::-1])[::-1]
    split = min(range(K + 1), key=lambda k: few[k] + rest[k])
    halves, numbers, before = [], [], 0
    for kept in (np.arange(K) < split, np.arange(K) >= split):
        places, number = distinct_rows(X[:, kept].T, R)
        halves.append(np.where(kept, X[places], 0.0))
        numbers.append(before + number)
        before += len(places)
    return np.vstack(halves), numbers


def _numbers_of_distinct(X: Floats) -> list[int]:
    """The number of distinct rows of the first k columns of X (R, K), for k = 0 to K."""
    row, numbers = np.zeros(len(X), dtype=np.intp), [min(len(X), 1)]
    for column in X.T:
        codes = np.unique(column, return_inverse=True)[1]
        used, row = np.unique(row * (codes.max(initial=0) + 1) + codes, return_inverse=True)
        numbers.append(len(used))
    return numbers


def _paths(X: Floats) -> compiled.Paths:
    """What rows X (R, K) add to the row before them, of the entries that are not 0."""
    used, differs = X != 0.0, np.ones(X.shape, dtype=np.bool_)
    differs[1:] = X[1:] != X[:-1]
    further = used & np.logical_or.accumulate(differs, axis=1)
    row, column = np.nonzero(further)
    start = np.concatenate([[0], np.cumsum(further.sum(axis=1))])
    kept = (used & ~further).sum(axis=1)
    deepest = int(used.sum(axis=1).max(initial=0))
    return compiled.Paths(deepest, start, kept, column, X[row, column])


class _RoughFit(NamedTuple):
    """beta (K n,) near the mode, scales s (K,), and the precision of beta, without correlations."""

    beta: Floats
    scales: Floats
    precision: Floats


def _rough_fit(cells: Cells, weights: Floats, n: int, sd: float) -> _RoughFit:
    K, X, R = cells.n_coefficients, cells.rows, len(cells.rows)
    m, (row, column) = K * n, np.nonzero(X)
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=R))])
    value = X[row, column]
    seen = _by_row_and_level(cells, weights, n + 1)
    total = seen.sum(axis=1)
    beta, variance = np.zeros((K, n)), np.full(K, sd * sd or 1.0)

    def value_at(beta: Floats) -> tuple[float, Floats]:
        eta = np.column_stack([np.zeros(R), X @ beta])
        top = eta.max(axis=1, keepdims=True)
        height = top[:, 0] + np.log(np.exp(eta - top).sum(axis=1))
        prior = 0.5 * (beta * beta / variance[:, None]).sum()
        return float((seen * eta).sum() - total @ height - prior), np.exp(eta - height[:, None])

    def precision(shares: Floats) -> Floats:
        H = np.zeros((m, m))
        compiled.information(np.ascontiguousarray(shares[:, 1:]), start, column, value, total, H)
        lower = np.tril(H)
        whole: Floats = lower + np.tril(lower, -1).T + np.diag(np.repeat(1.0 / variance, n))
        return whole

    for _ in range(_ROUNDS):
        height, shares = value_at(beta)
        for _ in range(_STEPS):
            slope = X.T @ (seen - total[:, None] * shares)[:, 1:] - beta / variance[:, None]
            step = np.linalg.solve(precision(shares), slope.ravel()).reshape(K, n)
            size = 1.0
            while size > 1e-3:
                higher, shares_there = value_at(beta + size * step)
                if higher >= height - 1e-9:
                    break
                size *= 0.5
            beta, shares, risen = beta + size * step, shares_there, higher - height
            height = higher
            if risen < _ENOUGH:
                break
        if sd:
            continue
        expected = np.diag(np.linalg.inv(precision(shares))).reshape(K, n) + beta * beta
        Q = expected.sum(axis=1)
        b = SCALE_DF * (n - 1.0) - Q
        variance = (-b + np.sqrt(b * b + 4.0 * (n + 3.0) * SCALE_DF * Q)) / (2.0 * (n + 3.0))
    return _RoughFit(beta.ravel(), np.sqrt(variance), precision(shares))
