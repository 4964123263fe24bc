"""How a privacy budget becomes the noise of sets of counts, each with its share.

One record is in exactly one cell of the table of each set. Where it is left out, one count of each
table falls by 1; where it is replaced, two counts of each table move by 1. A unit of at most U
records moves the counts of a table by at most U in total. Under discrete Laplace noise of scales
b_q the release costs U sum_q 1 / b_q; under discrete Gaussian noise of scales sigma_q it is
U^2 sum_q 1 / (2 sigma_q^2)-zCDP [canonne2020]. Replaced units cost twice that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import numpy as np

from pyvws._base.checks import Floats, choice, finite_number, positive, whole_number
from pyvws.errors import InputError
from pyvws.privacy.discrete_noise import (
    LEAST_DELTA,
    chosen_delta,
    composed_delta,
    delta_of_rho,
    normal_delta,
    squared_shift,
    told_apart,
)

NEIGHBOURS: Final = ("loo", "replace")
MOVED: Final = {"loo": 1, "replace": 2}
"""The counts of a table that a neighbour of one record moves by 1."""

_PER_SET: Final = 8  # Whole weight of an average set: shares are rounded to an eighth of its share.
_OPEN: Final = 1e-5  # Share of the noise that its search leaves open, on the side of more noise.
_MOST_WEIGHT: Final = (
    512  # Whole weight of the table of most noise, of which others' are multiples.
)
_SAME: Final = 1e-9  # Relative: far above the rounding of scales.
_OF_FIRST: Final = 0.02  # Share of the count that chooses what is counted.


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
    adaptive : bool
        Whether the counts choose others that follow, or follow others: then delta follows from
        normal noise, whose squared shifts add up.

    Raises
    ------
    InputError
        For a number or a word out of range.
    """

    epsilon: float
    delta: float = 0.0
    neighbours: str = "loo"
    cap: int = 1
    adaptive: bool = False

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        choice(self.neighbours, "neighbours", NEIGHBOURS)
        whole_number(self.cap, "cap", least=1)
        finite_number(self.delta, "delta")
        if self.delta != 0.0 and not LEAST_DELTA <= self.delta < 1.0:
            raise InputError.by("delta-range", least_delta=LEAST_DELTA, delta=self.delta)

    @property
    def pure(self) -> bool:
        """Whether the noise is Laplace's and delta 0."""
        return self.delta == 0.0

    @property
    def moved(self) -> int:
        """The counts of a table that a neighbour moves."""
        return MOVED[self.neighbours]

    def scale(self, share: Fraction = Fraction(1)) -> float:
        """The least scale of Laplace noise with which a table costs a share of epsilon at most."""
        return _not_below(Fraction(self.moved * self.cap) / (share * Fraction(self.epsilon)))

    def price(self, scale: float) -> Fraction:
        """What a table of counts costs under noise of a scale: epsilon if pure, else rho; exact."""
        if self.pure:
            return Fraction(self.moved * self.cap) / Fraction(scale)
        return Fraction(self.moved * self.cap**2) / (2 * Fraction(scale) ** 2)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Noise:
    """The noise of tables of counts, by name.

    Attributes
    ----------
    budget : Budget
        What all of them together cost, at most.
    scales : mapping of str to float
        b_q or sigma_q of each table, in records; larger = more private.
    rho : float, optional
        The zCDP that Gaussian noise has; larger = less private.
    conversion : {"", "privacy-loss", "zcdp", "normal"}
        How (epsilon, delta) follows: from the distribution of the loss, exactly; of units from rho
        or from normal noise, whichever costs less; where counts choose others, or very many are
        under large noise, from normal noise.
    others : mapping of str to Noise
        The noise of other lists of tables, of which a run may take one in the place of this.
    """

    budget: Budget
    scales: Mapping[str, float]
    rho: float | None = None
    conversion: str = ""
    others: Mapping[str, Noise] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The discrete noise's form: "laplace" or "gaussian"."""
        return "laplace" if self.budget.pure else "gaussian"

    def deviation(self, name: str) -> float:
        """The standard deviation of a count of a table, near enough; in records."""
        return self.scales[name] * deviation_of(self.budget.pure)


def deviation_of(laplace: bool) -> float:
    """The standard deviation of noise of scale 1, near enough: Laplace's, or else Gaussian."""
    return math.sqrt(2.0) if laplace else 1.0


def noise_of(budget: Budget, shares: Mapping[str, float]) -> Noise:
    """The noise of tables of counts, by the `shares` of the budget that they have by name.

    A share is of epsilon for Laplace noise and of rho for Gaussian noise. Raises InputError for
    shares that are not above 0.
    """
    given = np.array([*shares.values()], dtype=np.float64)
    if not len(given) or not (np.isfinite(given) & (given > 0.0)).all():
        raise InputError.by("budget-shares")
    weights = np.maximum(1, np.rint(_PER_SET * given / given.mean())).astype(np.int64).tolist()
    by_name = dict(zip(shares, weights, strict=True))
    return _laplace(budget, by_name) if budget.pure else _gaussian(budget, by_name)


def noise_of_lists(
    budget: Budget, first: str, lists: Mapping[str, Mapping[str, float]]
) -> dict[str, Noise]:
    """The noise of several lists of tables, of which the noisy count `first` chooses one.

    Each list has its shares by name. That count is in all of them, with the same noise, for a
    fiftieth of the budget. It and the chosen list cost the budget together, whichever that is
    [zhu2022]. The neighbours are those of one record left out: others have as many records.
    """
    W = _PER_SET * (1 + max(map(len, lists.values())))
    own = max(1, round(_OF_FIRST * W))
    weights = {name: {first: own, **_whole(shares, W - own)} for name, shares in lists.items()}
    if budget.pure:
        return {name: _laplace(budget, of) for name, of in weights.items()}
    moved = [[*of.values()] * budget.moved for of in weights.values()]
    whole = [[*of.values()] for of in weights.values()]
    u, conversion = _unit(budget, whole, lambda u: composed_delta(u, moved[0], budget.epsilon))
    if conversion == "privacy-loss":  # Else costs add up, whatever chooses what follows.
        rests, less = [[*of.values()][1:] for of in weights.values()], _OPEN
        while chosen_delta(u, own, rests, budget.epsilon) > budget.delta:
            u, less = u * (1.0 - less), 2.0 * less
    return {name: _of_unit(budget, of, u, conversion) for name, of in weights.items()}


def _whole(shares: Mapping[str, float], total: int) -> dict[str, int]:
    """Whole weights of at least 1 that add up to `total`, near the shares."""
    given = np.array([*shares.values()])
    exact = given / given.sum() * total
    weights = np.maximum(1, np.floor(exact)).astype(np.int64)
    while (missing := total - int(weights.sum())) != 0:
        apart = np.where((weights > 1) | (missing > 0), exact - weights, np.inf)
        at = int(apart.argmax() if missing > 0 else apart.argmin())
        weights[at] += 1 if missing > 0 else -1
    return dict(zip(shares, weights.tolist(), strict=True))


def _laplace(budget: Budget, weights: Mapping[str, int]) -> Noise:
    """Scales rounded up, so that the exact sum of U moved / b_q is at most epsilon."""
    W = sum(weights.values())
    scales = {name: budget.scale(Fraction(weight, W)) for name, weight in weights.items()}
    return Noise(budget=budget, scales=scales)


def _gaussian(budget: Budget, weights: Mapping[str, int]) -> Noise:
    """Scales of the largest u, 1 / sigma_q^2 = w_q u, at which delta is kept."""
    moved = [*weights.values()] * budget.moved
    whole = [[*weights.values()]]
    u, conversion = _unit(budget, whole, lambda u: composed_delta(u, moved, budget.epsilon))
    return _of_unit(budget, weights, u, conversion)


def _unit(
    budget: Budget, lists: Sequence[Sequence[int]], delta: Callable[[float], float]
) -> tuple[float, str]:
    """The largest u at which delta is kept, and how it follows from the noise.

    A run takes one of the `lists` of weights, which all add up to as much.
    """
    square = budget.cap**2 * budget.moved * sum(lists[0])
    u = _largest(lambda u: delta_of_rho(0.5 * square * u, budget.epsilon), budget.delta)
    if budget.cap == 1 and not budget.adaptive:
        return _largest(delta, budget.delta, start=u), "privacy-loss"

    def of_normal(u: float) -> float:
        most = max(_shift(budget, u * np.array(weights)) for weights in lists)
        return normal_delta(most, budget.epsilon)

    if not budget.adaptive and of_normal(u) > budget.delta:
        return u, "zcdp"
    return _largest(of_normal, budget.delta, start=u), "normal"


def _shift(budget: Budget, inverse: Floats) -> float:
    """By how much counts move, in deviations of the normal noise within their discrete noise.

    `inverse` has 1 / sigma_q^2 (Q,). The normal noise has the variance sigma_q^2 - 2.
    """
    return budget.cap * math.sqrt(budget.moved * squared_shift(inverse))


def _of_unit(budget: Budget, weights: Mapping[str, int], u: float, conversion: str) -> Noise:
    moved = [*weights.values()] * budget.moved
    if conversion == "privacy-loss" and not told_apart(u, moved, budget.epsilon):
        conversion = "normal"
    return Noise(
        budget=budget,
        scales={
            name: float(np.nextafter(1.0 / math.sqrt(w * u), np.inf)) for name, w in weights.items()
        },
        rho=0.5 * budget.cap**2 * sum(weights.values()) * budget.moved * u,
        conversion=conversion,
    )


def noise_scale(epsilon: float, neighbours: str = "replace") -> float:
    """Scale of the noise in records: 2 / epsilon for "replace", 1 / epsilon for "loo".

    The scale is the least double that is not below the true quotient, so rounding spends no
    epsilon. The function raises InputError for an epsilon not above 0, or for another word.
    """
    loss = positive(epsilon, "epsilon")
    budget = Budget(epsilon=loss, neighbours=neighbours)
    if math.isinf(budget.moved / loss):
        raise InputError.by("epsilon-too-small-for-noise", loss=loss)
    return budget.scale()


def epsilon_of(budget: Budget, scales: Iterable[float]) -> float:
    """Epsilon, at the budget's delta, of tables of counts under noise of these scales.

    Larger = less private. It reads scales alone, so that whoever has a release can compute it.
    Laplace noise costs the sum of the tables' prices. Of Gaussian noise the distribution of the
    privacy loss tells it. Where units have several records, rho or normal noise does, whichever is
    less. 0 without a table.
    """
    given = np.array([*scales], dtype=np.float64)
    if not len(given):
        return 0.0
    cost = float(sum(map(budget.price, given.tolist()), Fraction(0)))
    if budget.pure:
        return cost
    rho, shift = cost, _shift(budget, given**-2.0)
    u, weights = _multiples(given**-2.0)
    moved = weights * budget.moved

    def delta_at(epsilon: float) -> float:
        if budget.cap == 1 and not budget.adaptive:
            return composed_delta(u, moved, epsilon)
        of_normal = normal_delta(shift, epsilon)
        return of_normal if budget.adaptive else min(of_normal, delta_of_rho(rho, epsilon))

    return _least(lambda epsilon: delta_at(epsilon) <= budget.delta, start=budget.epsilon)


def epsilon_after(
    run: Budget, before: Budget, scales: Iterable[float], own: Iterable[float] | None = None
) -> float:
    """Epsilon of a run's counts and of those `before`, which chose them, at the sum of both deltas.

    `scales` are those of the noise of what was sold before, where a unit has one record, and `own`
    those of the run; else whatever it may count within its budget. Both budgets are `adaptive`.
    Squares of shifts add up, whatever chooses what follows: that of any counts within a budget is
    at most the largest at which its delta is kept. Never above the sum of both epsilons, which pure
    costs have, nor below one of them; larger = less private.
    """
    known, sold = np.array([*scales]), None if own is None else np.array([*own])
    apart = run.epsilon + before.epsilon
    if sold is not None:
        apart = epsilon_of(run, sold) + epsilon_of(before, known)
    if run.pure or before.pure:
        return apart
    of_run = _most_shift(run) if sold is None else _shift(run, sold**-2.0)
    both = math.hypot(of_run, max(_most_shift(before), _shift(before, known**-2.0)))
    delta = run.delta + before.delta
    most = _least(lambda epsilon: normal_delta(both, epsilon) <= delta, start=apart)
    return min(apart, max(most, run.epsilon, before.epsilon))


def _most_shift(budget: Budget) -> float:
    """The `_shift` that counts of an adaptive budget have at most."""
    return (1.0 + _OPEN) * _largest(lambda x: normal_delta(x, budget.epsilon), budget.delta)


def _multiples(inverse: Floats) -> tuple[float, list[int]]:
    """A number u and whole weights (Q,) with w_q u at least each of the numbers (Q,), and near."""
    ratios = inverse / inverse.min()
    for of_least in range(1, _MOST_WEIGHT):
        exact = ratios * of_least
        weights = np.rint(exact)
        if np.abs(exact - weights).max() <= _SAME * weights.max():
            break
    else:
        weights = np.ceil(ratios * _MOST_WEIGHT)
    return float((inverse / weights).max()), weights.astype(np.int64).tolist()


def _least(holds: Callable[[float], bool], start: float) -> float:
    """The least epsilon at which a condition holds, on that side, within a share _OPEN."""
    high = start
    while not holds(high):
        high *= 1.25
    low = high / 1.25
    while holds(low):
        low, high = low / 1.25, low
        if low < _OPEN * start:  # Next to nothing was told.
            return high
    while high > low * (1.0 + _OPEN):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


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
