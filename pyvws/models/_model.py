"""What a model family is: transforms, prior, record log-likelihood, gradients, predictive draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pyvws._checks import Floats
from pyvws.errors import InputError
from pyvws.io.cells import Cells

__all__ = ["Draws", "Model", "Start", "check_counts"]

Draws = dict[str, Floats]
"""Constrained draws by parameter name, each of shape (S, ...)."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where sampling starts: an unconstrained point (D,) whose first K entries are a rough fit of
    beta, and the information (K, K) on beta at that fit.
    """

    centre: Floats
    information: Floats

    def scattered(self, steps: Floats) -> Floats:
        """Points (n, D) that lie `steps` (n, D) away, for beta in rough standard errors."""
        K = len(self.information)
        points = self.centre + steps
        root = np.linalg.cholesky(self.information)
        points[:, :K] = self.centre[:K] + np.linalg.solve(root.T, steps[:, :K].T).T
        return points


class Model(Protocol):
    """A family of record densities p(y | X, theta) with the papers' priors.

    `log_density` is a compiled kernel f(q, *data, grad) -> log density at the unconstrained point
    q (D,) up to a constant, which overwrites grad (D,); `data` comes from `density_data`.
    """

    @property
    def name(self) -> str: ...

    @property
    def predicts_from(self) -> tuple[str, ...]:
        """Names of the draws that `predict` reads."""

    @property
    def log_density(self) -> Callable[..., float]: ...

    def check_outcome(self, outcome: Floats, column: str) -> None:
        """Raise InputError for outcomes that the family cannot have."""

    def dimension(self, K: int) -> int:
        """Length D of the unconstrained parameter vector."""

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        """Arguments of `log_density` for records' weights of shape (N,)."""

    def start(self, cells: Cells, weights: Floats) -> Start:
        """A rough fit to start from."""

    def constrain(self, q: Floats, K: int) -> Draws:
        """Parameters by name from unconstrained draws of shape (S, D)."""

    def unconstrain(self, draws: Draws) -> Floats:
        """The inverse of `constrain`: unconstrained draws of shape (S, D)."""

    def log_likelihood(self, draws: Draws, cells: Cells) -> Floats:
        """Log-likelihood of each cell at each draw, shape (S, C), in nats, unweighted."""

    def predict(self, draw: Draws, design: Floats, rng: np.random.Generator) -> Floats:
        """One synthetic outcome for each design row (N, K) at a single draw (S = 1)."""


def check_counts(outcome: Floats, column: str, *, model: str) -> None:
    """Raise InputError unless every outcome is a whole number of at least 0."""
    negative = int((outcome < 0).sum())
    if negative:
        raise InputError(
            f"Column {column!r} has {negative} negative values; {model} takes counts. Choose "
            "another outcome or model."
        )
    fractional = int((outcome != np.floor(outcome)).sum())
    if fractional:
        raise InputError(
            f"Column {column!r} has {fractional} values with a fraction; {model} takes counts. "
            "Use --round (round=True in Python) to round to whole numbers."
        )
    if outcome.max() > 2.0**53:
        raise InputError(
            f"Column {column!r} has counts above 2^53, which floats cannot hold exactly. Rescale."
        )
