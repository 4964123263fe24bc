"""Interface of model families: transforms, prior, log-likelihood, gradients, predictive draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator

from pyvws._base.checks import Floats, Places
from pyvws._base.phrase import Phrase
from pyvws.errors import InputError
from pyvws.tables.design.cells import Cells

Draws = dict[str, Floats]
"""Constrained draws by parameter name, each of shape (S, ...)."""


@dataclass(frozen=True, slots=True)
class SampledScale:
    """A change of variables z -> q of length D, around a start at z = 0, by two kernels.

    restore(z, *data, q) fills q (D,) and returns the log Jacobian and a state;
    pull_back(state, q, *data, gradient) turns the gradient in q into the gradient in z, in place,
    and adds the Jacobian's. `inverse` takes q (D,) back to z (D,). These functions do not raise; at
    the edge of the parameter space their results are not finite. `shaped` says that the target is
    roughly a standard normal in z, in all directions.
    """

    kernels: tuple[Callable[..., tuple[float, Any]], Callable[..., None]]
    data: tuple[Any, ...]
    inverse: Callable[[Floats], Floats]
    shaped: bool = False

    def restore(self, z: Floats, q: Floats) -> float:
        """Fill q (D,) from z (D,); returns the log Jacobian."""
        return self.kernels[0](z, *self.data, q)[0]

    def density(
        self, evaluate: Callable[[Floats], tuple[float, Floats]], z: Floats, q: Floats
    ) -> tuple[float, Floats]:
        """The log density at z (D,) and its gradient there, of `evaluate` in q (D,); fills q."""
        jacobian, state = self.kernels[0](z, *self.data, q)
        value, gradient = evaluate(q)
        self.kernels[1](state, q, *self.data, gradient)
        return value + jacobian, gradient


@dataclass(frozen=True, slots=True)
class Start:
    """The start of sampling: an unconstrained point (D,), and the target's rough shape around it.

    Where a family gives `information` (K, K), the first K entries are a rough fit of beta and the
    next entries belong to the coefficient prior. A family of another layout can give a `scale` of
    its own instead. Without either, engines sample the density as it is.
    """

    centre: Floats
    information: Floats | None = None
    scale: SampledScale | None = None

    def scattered(self, steps: Floats) -> Floats:
        """Points (n, D) that lie `steps` (n, D) away, for beta in rough standard errors."""
        if self.scale is not None:
            points = np.empty_like(steps)
            for step, point in zip(steps, points, strict=True):
                self.scale.restore(step, point)
            return points
        if self.information is None:
            return np.asarray(self.centre + steps)
        K = len(self.information)
        points = self.centre + steps
        root = np.linalg.cholesky(self.information)
        points[:, :K] = self.centre[:K] + np.linalg.solve(root.T, steps[:, :K].T).T
        return points


class Density(Protocol):
    """What an engine samples: the density on the unconstrained scale, its start and its draws.

    `log_density` is a compiled kernel f(q, *data, grad) -> log density at the unconstrained point
    q (D,) up to a constant, which overwrites grad (D,); `data` comes from `density_data`.
    """

    @property
    def log_density(self) -> Callable[..., float]: ...

    def dimension(self, K: int) -> int:
        """Length D of the unconstrained parameter vector."""

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        """Arguments of `log_density` for records' weights of shape (N,)."""

    def start(self, cells: Cells, weights: Floats) -> Start:
        """A rough fit to start from."""

    def exact_draws(self, cells: Cells, weights: Floats, S: int, rng: Generator) -> Draws | None:
        """S independent draws of the pseudo posterior under weights (N,), or None.

        None where only a sampler draws from it, as for most families.
        """

    def constrain(self, q: Floats, K: int) -> Draws:
        """Parameters by name from unconstrained draws of shape (S, D)."""

    def unconstrain(self, draws: Draws) -> Floats:
        """The inverse of `constrain`: unconstrained draws of shape (S, D)."""

    def diagnosed(self, q: Floats, K: int) -> Floats:
        """Quantities (S, Q) that chains must agree on: q itself, unless labels may switch."""


class Likelihood(Protocol):
    """What bounds and clamps read: log-likelihoods of one outcome, or of all columns of a table."""

    def log_likelihood(self, draws: Draws, cells: Any) -> Floats:
        """Log-likelihood of each cell at each draw, shape (S, C), in nats, unweighted."""

    def saturated(self, cells: Any) -> Floats:
        """a (C,), in nats: the supremum of each cell's log-likelihood over public parameters."""


class Terms(Protocol):
    """What a clamp samples: each cell's log-likelihood within the density, with its slopes."""

    @property
    def cell_terms(self) -> Callable[..., None] | None:
        """A kernel f(q, rows, row_of_cell, term_data, (log_lik, by_eta, by_extra)), or None.

        f overwrites log_lik (C,) with each cell's log-likelihood in nats, constants in y included.
        by_eta (C,) and by_extra (C, E) are what `cell_slopes` needs: for a `Regression` the
        derivatives in eta = X beta and in the E entries of q after the coefficients' own. None
        where the family's terms cannot be clamped.
        """

    @property
    def cell_slopes(self) -> Callable[..., None] | None:
        """A kernel f(q, rows, row_of_cell, term_data, terms, weight, gradient), or None.

        f adds to gradient (D,) the gradient of the sum of weight (C,) times the cells'
        log-likelihoods, from `terms` as `cell_terms` fills it.
        """

    def slope_width(self, K: int) -> int:
        """E, the number of columns of `cell_terms`' by_extra."""

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        """The tuple that `cell_terms` takes after `row_of_cell`."""

    @property
    def public_settings(self) -> tuple[str, ...]:
        """Names of the settings that `saturated` reads; a strict statement says their values."""


class Prediction(Protocol):
    """What draws synthetic values."""

    @property
    def predicts_from(self) -> tuple[str, ...]:
        """Names of the draws that `predict` reads."""

    @property
    def reads_outcome(self) -> bool:
        """Whether `predict` reads the confidential outcome: no guarantee then holds."""

    def encode(self, outcome: Floats) -> Floats:
        """Outcomes (N,) on the scale of the likelihood; `predict` returns them decoded."""

    def predict(
        self, draw: Draws, design: Floats, rng: Generator, *, outcome: Floats | None = None
    ) -> Floats:
        """One synthetic outcome for each design row (N, K) at a single draw (S = 1).

        `outcome` (N,), encoded, is given only where `reads_outcome`.
        """


@runtime_checkable
class PredictsBetween(Protocol):
    """A family that has the normaliser of ends by record, as `Cells.ends` gives them."""

    def predict_between(self, draw: Draws, design: Floats, ends: Floats, rng: Generator) -> Floats:
        """One synthetic outcome for each design row (N, K), between its encoded ends (N, 2)."""


@runtime_checkable
class HasShares(Protocol):
    """A family of levels that gives the probability of each, so that a draw can be among some."""

    def log_shares(self, draw: Draws, design: Floats) -> Floats:
        """Log probabilities (n, L) of the levels by design row (n, K), at a single draw (S = 1)."""


class Model(Density, Likelihood, Terms, Prediction, Protocol):
    """A family of record densities p(y | X, theta) with the papers' priors, and what it declares.

    `Family` has the usual answers.
    """

    @property
    def name(self) -> str: ...

    @property
    def whole_numbers(self) -> bool:
        """Whether outcomes are whole numbers, to Stan and in the synthetic table."""

    @property
    def categorical(self) -> bool:
        """Whether outcomes are codes of categories, between which no distance has a meaning."""

    @property
    def outcome_labels(self) -> tuple[str, ...] | None:
        """Public labels of the levels whose codes 1 to L outcomes are; () takes the data's levels.

        None for a family of numbers. A column of levels is coded, and its levels come back.
        """

    @property
    def prepared_from_data(self) -> bool:
        """Whether `prepare` takes values from the outcome that change the terms of every record.

        The settings decide this answer: the answer is the same before `prepare` and after.
        """

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        """The caveats that the family adds to the privacy statement."""

    @property
    def remedy(self) -> str:
        """A sentence on which of the family's settings to change where chains fail; often empty."""

    def prepare(self, outcome: Floats, column: str) -> Model:
        """The family with the values that it takes from the outcome (N,), in the column's unit.

        Raises InputError for outcomes that the family cannot have.
        """

    def stan_settings(self, cells: Cells) -> dict[str, Any]:
        """Data that the Stan programs need besides n, K, y, X and weights, by name."""


class Family:
    """A family's usual ways: outcomes are modelled as they are and predicted from draws alone.

    A category has a largest probability of 1. The unconstrained vector is the coefficients `beta`,
    and sampling starts at 0.
    """

    __slots__ = ()

    categorical: ClassVar[bool] = False

    @property
    def outcome_labels(self) -> tuple[str, ...] | None:
        return None

    @property
    def reads_outcome(self) -> bool:
        return False

    @property
    def prepared_from_data(self) -> bool:
        return False

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        return ()

    @property
    def remedy(self) -> str:
        return ""

    def prepare(self, outcome: Floats, column: str) -> Any:
        return self

    def encode(self, outcome: Floats) -> Floats:
        return outcome

    def stan_settings(self, cells: Cells) -> dict[str, Any]:
        return {}

    def dimension(self, K: int) -> int:
        return K

    def start(self, cells: Cells, weights: Floats) -> Start:
        return Start(np.zeros(self.dimension(cells.n_coefficients)))

    def constrain(self, q: Floats, K: int) -> Draws:
        return {"beta": q}

    def unconstrain(self, draws: Draws) -> Floats:
        return draws["beta"]

    @property
    def cell_terms(self) -> Callable[..., None] | None:
        return None

    @property
    def cell_slopes(self) -> Callable[..., None] | None:
        return None

    @property
    def public_settings(self) -> tuple[str, ...]:
        return ()

    def slope_width(self, K: int) -> int:
        return 0

    def saturated(self, cells: Cells) -> Floats:
        if self.categorical:
            return np.zeros(cells.n_cells)  # The largest probability is 1.
        raise InputError.by("deviance-without-saturated")

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        return ()

    def exact_draws(self, cells: Cells, weights: Floats, S: int, rng: Generator) -> Draws | None:
        return None

    def diagnosed(self, q: Floats, K: int) -> Floats:
        return q


def level_places(cells: Cells) -> Places:
    """The level of each cell (C,), counted from 0, of an outcome of codes from 1 on."""
    return cells.outcome.astype(np.intp) - 1
