"""How a privacy budget becomes the noise of sets of counts, each with its share.

One record is in exactly one cell of the table of each set. Where it is left out, one count of each
table falls by 1; where it is replaced, two counts of each table move by 1. A unit of at most U
records moves the counts of a table by at most U in total. Under discrete Laplace noise of scales
b_q the release costs U sum_q 1 / b_q; under discrete Gaussian noise of scales sigma_q it is
U^2 sum_q 1 / (2 sigma_q^2)-zCDP [canonne2020]. Replaced units cost twice that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats, choice, positive, whole_number
from pyvws.errors import InputError
from pyvws.mechanisms.counts.discrete_gaussian import (
    LEAST_DELTA,
    add_discrete_gaussian,
    composed_delta,
    delta_of_rho,
)
from pyvws.mechanisms.histogram.discrete_laplace import add_discrete_laplace

NEIGHBOURS: Final = ("loo", "replace")
MOVED: Final = {"loo": 1, "replace": 2}
"""The counts of a table that a neighbour of one record moves by 1."""

_PER_SET: Final = 8  # Whole weight of an average set: shares are rounded to an eighth of its share.
_OPEN: Final = 1e-5  # Share of the noise that its search leaves open, on the side of more noise.

AddNoise = Callable[..., NDArray[np.int64]]
"""Adds noise to whole counts (B,) at a `scale`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What the counts of a release may cost, once for all that is made of them.

    Attributes
    ----------
    epsilon : float
        Above 0; larger = less private.
    delta : float
        0 for pure differential privacy and Laplace noise; else at least 1e-10, for Gaussian noise.
    neighbours : {"loo", "replace"}
        One unit left out, or one replaced.
    cap : int
        The most records U of one unit.

    Raises
    ------
    InputError
        For a number or a word out of range.
    """

    epsilon: float
    delta: float = 0.0
    neighbours: str = "loo"
    cap: int = 1

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        choice(self.neighbours, "neighbours", NEIGHBOURS)
        whole_number(self.cap, "cap", least=1)
        if self.delta != 0.0 and not LEAST_DELTA <= self.delta < 1.0:
            raise InputError(
                f"delta must be 0, for pure differential privacy, or at least {LEAST_DELTA:g} and "
                f"below 1. Got {self.delta!r}."
            )

    @property
    def pure(self) -> bool:
        """Whether the noise is Laplace's and delta 0."""
        return self.delta == 0.0

    @property
    def moved(self) -> int:
        """The counts of a table that a neighbour moves."""
        return MOVED[self.neighbours]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Noise:
    """The noise of each set of counts.

    Attributes
    ----------
    kind : {"laplace", "gaussian"}
        Discrete noise of that form.
    scales : ndarray, shape (Q,)
        b_q or sigma_q, in records; larger = more private.
    epsilon, delta : float
        What all counts together cost, at most.
    rho : float, optional
        The zCDP that Gaussian noise has; larger = less private.
    conversion : {"", "privacy-loss", "zcdp"}
        How (epsilon, delta) follows: from the distribution of the loss, exactly, or from rho.
    """

    kind: Literal["laplace", "gaussian"]
    scales: Floats
    epsilon: float
    delta: float
    rho: float | None = None
    conversion: str = ""

    @property
    def add(self) -> AddNoise:
        """What draws the noise, exactly and without a seed."""
        return add_discrete_laplace if self.kind == "laplace" else add_discrete_gaussian

    @property
    def deviations(self) -> Floats:
        """The standard deviation (Q,) of a count of each set, near enough; in records."""
        return self.scales * deviation_of(self.kind == "laplace")


def deviation_of(laplace: bool) -> float:
    """The standard deviation of noise of scale 1, near enough: Laplace's, or else Gaussian."""
    return math.sqrt(2.0) if laplace else 1.0


def kept_of(beyond: Floats, variance: float, *, far: float = 0.0) -> float:
    """The share in [0, 1] that is kept of what noisy counts (C,) have beyond those expected.

    James and Stein's estimate: the noise of a count has that variance. The sum of squares of noise
    counts as so many standard deviations `far` above its mean; larger = less is kept of noise.
    """
    spread = float((beyond**2).sum())
    hidden = variance * (beyond.size + far * math.sqrt(2.0 * beyond.size))
    return max(0.0, 1.0 - hidden / spread) if spread else 0.0


def noise_of(budget: Budget, shares: Sequence[float] | Floats) -> Noise:
    """The noise of sets of counts that have `shares` (Q,) of the budget.

    A share is of epsilon for Laplace noise and of rho for Gaussian noise. Raises InputError for
    shares that are not above 0.
    """
    given = np.asarray(shares, dtype=np.float64)
    if given.ndim != 1 or not len(given) or not (np.isfinite(given) & (given > 0.0)).all():
        raise InputError("shares of the budget must be numbers above 0, one for each set.")
    weights = np.maximum(1, np.rint(_PER_SET * given / given.mean())).astype(np.int64).tolist()
    return _laplace(budget, weights) if budget.pure else _gaussian(budget, weights)


def _laplace(budget: Budget, weights: list[int]) -> Noise:
    """Scales rounded up, so that the exact sum of U moved / b_q is at most epsilon."""
    whole, W = Fraction(budget.epsilon), sum(weights)
    exact = [Fraction(budget.moved * budget.cap * W, weight) / whole for weight in weights]
    return Noise(
        kind="laplace",
        scales=np.array([_not_below(scale) for scale in exact]),
        epsilon=budget.epsilon,
        delta=0.0,
    )


def _gaussian(budget: Budget, weights: list[int]) -> Noise:
    """Scales of the largest u, 1 / sigma_q^2 = w_q u, at which delta is kept."""
    moved = weights * budget.moved
    rho_of_u = 0.5 * budget.cap**2 * sum(moved)
    u = _largest(lambda u: delta_of_rho(rho_of_u * u, budget.epsilon), budget.delta)
    if budget.cap == 1:  # A unit of several records moves counts in more than one way.
        u = _largest(lambda u: composed_delta(u, moved, budget.epsilon), budget.delta, start=u)
    return Noise(
        kind="gaussian",
        scales=np.array([np.nextafter(1.0 / math.sqrt(w * u), np.inf) for w in weights]),
        epsilon=budget.epsilon,
        delta=budget.delta,
        rho=rho_of_u * u,
        conversion="privacy-loss" if budget.cap == 1 else "zcdp",
    )


def _largest(delta: Callable[[float], float], most: float, start: float = 1.0) -> float:
    """A u at which delta(u) is at most `most`, and which a share _OPEN more would exceed."""
    low = start
    while delta(low) > most:
        low /= 2.0
    high = low * 1.25
    while delta(high) <= most:
        low, high = high, 1.25 * high
    while high > low * (1.0 + _OPEN):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if delta(middle) <= most else (low, middle)
    return low


def _not_below(exact: Fraction) -> float:
    """The least double that is not below an exact number."""
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)
