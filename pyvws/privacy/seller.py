"""The one seller of measurements: all that a strict run learns of a table, it buys here.

A measurement has a name, a price, and for counts a scale of noise. The list of goods is fixed
before the first sale, by settings and by what was released before. Each good is sold once, and a
sale that the cap does not cover is refused. So the cost of a run is what its seller sold, whoever
asks for what in which order. Noise is found by name and never by place.

Counts are made here: a record is in one cell of a table at most, so it moves the table by at most 1
[canonne2020]. Of cells that are not public those alone are sold whose noisy count reaches a
threshold, which a lone record passes with a share of delta at most [korolova2009]. A draw of a
clamped fit costs the width of the window that was enforced on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from pyvws.errors import SpendingError
from pyvws.privacy.budget import Budget, Noise, epsilon_of
from pyvws.privacy.discrete_noise import add_discrete_gaussian, add_discrete_laplace, least_tail

_ROUNDING: Final = Fraction(1, 2**40)  # Relative: more than Gaussian scales are rounded by.

Counts = NDArray[np.int64]
AddNoise = Callable[..., NDArray[Any]]
"""Adds noise to whole numbers (C,) at a `scale`."""
Records = TypeVar("Records")
Draw = TypeVar("Draw")


@dataclass(frozen=True, slots=True)
class PricedMeasurement:
    """What is sold: its name, its price in epsilon or rho, and the scale of noise, 0 of a draw.

    `delta` is the share of delta that a threshold on values costs, 0 where all cells are public.
    """

    name: str
    price: Fraction
    scale: float = 0.0
    delta: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class TalliedCells:
    """Some `cells` (m,), -1 for none, and how many `records` (m,) are in each."""

    cells: NDArray[Any]
    records: Counts


@dataclass(frozen=True, slots=True, eq=False)
class CountedValues:
    """Counts (C,) of public cells, and those of `values` that nobody may know of, by their text."""

    cells: Counts
    values: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What a run's seller may sell and has sold, for its neighbours; larger = less private.

    Attributes
    ----------
    cap : float
        Epsilon that the settings allow, at `delta`.
    delta : float
        0 for pure differential privacy. What thresholds cost is in it.
    sold : float
        Epsilon, at `delta`, of all that was sold together; never above the cap.
    measurements : tuple of PricedMeasurement
        What was sold, in its order.
    """

    cap: float
    delta: float
    sold: float
    measurements: tuple[PricedMeasurement, ...]


class Seller(Generic[Records]):
    """Sells each of its `goods` once, and never more than the `cap` on their prices.

    `records` are the confidential table as measurements read it. The `cap` is the budget's epsilon
    if not given, else a rho; `thresholds` is the delta that all thresholds may cost together beside
    the budget's own. `add` takes the place of the exact secret noise, in studies alone.
    SpendingError where something is asked for that is not in the list, was sold before, or is
    beyond the cap.
    """

    def __init__(
        self,
        goods: Iterable[PricedMeasurement],
        *,
        budget: Budget,
        records: Records,
        cap: Fraction | None = None,
        thresholds: float = 0.0,
        add: AddNoise | None = None,
    ) -> None:
        self._goods = {good.name: good for good in goods}
        self._budget, self._records, self._add = budget, records, add
        self._cap = Fraction(budget.epsilon) if cap is None else cap
        self._thresholds = thresholds
        self._sold: dict[str, PricedMeasurement] = {}
        self._spent = self._failing = Fraction(0)
        self._lists: tuple[Noise, ...] = ()

    @classmethod
    def of_noise(
        cls,
        noise: Noise,
        records: Records,
        units: NDArray[np.intp] | None = None,
        times: Counts | None = None,
        *,
        deltas: Mapping[str, float] | None = None,
        thresholds: float = 0.0,
    ) -> Seller[Records]:
        """A seller of tables of counts under noise.

        `units` (N,) are the units of privacy of the records, and each record counts `times` (N,),
        or once. `deltas` are what thresholds cost by name, and `thresholds` what they may cost
        together. SpendingError where a unit counts more than the budget is for.
        """
        budget, counted = noise.budget, times if units is None else np.bincount(units, times)
        if counted is not None and max(counted, default=0) > budget.cap:
            raise SpendingError(
                f"A unit counts more than {budget.cap}, which nobody paid for. Report this as a "
                "defect of pyvws."
            )
        goods = _goods(noise, deltas or {})
        made = cls(goods, budget=budget, cap=_cap(noise), records=records, thresholds=thresholds)
        made._lists = tuple(noise.others.values())
        return made

    def turn_to(self, noise: Noise) -> None:
        """Go on with another of the lists that the noise at the beginning named.

        SpendingError for a list that it did not name, or that has another price of what was sold.
        """
        goods = {good.name: good for good in _goods(noise, {})}
        named = any(noise is own for own in self._lists)
        if not named or any(goods.get(name) != sold for name, sold in self._sold.items()):
            raise SpendingError(
                "The list of goods was not fixed before the first sale. Nothing is released. "
                "Report this as a defect of pyvws."
            )
        self._goods, self._cap = goods, _cap(noise) or self._cap

    def scale(self, name: str) -> float:
        """The scale of the noise of a measurement, which is public."""
        return self._goods[name].scale

    def threshold(self, name: str) -> int:
        """The least noisy count of a value that is sold, 1 above what noise alone seldom reaches.

        A value that one record alone has stays hidden but with the measurement's share of delta.
        """
        good = self._goods[name]
        return 1 + least_tail(good.delta, scale=good.scale, laplace=self._budget.pure)

    def values(self, name: str, counted: Callable[[Records], CountedValues]) -> CountedValues:
        """The noisy counts of public cells, and of the values that reach the threshold.

        A record is in one cell or has one value, so that it moves one count by 1. Values without a
        record have no noise, and those that are sold stand in the order of their text.
        """
        exact = counted(self._records)
        least = self.threshold(name) if self._goods[name].delta else math.inf
        found = sorted(exact.values)
        own = [exact.values[value] for value in found]
        noisy = self.numbers(name, np.concatenate([exact.cells, np.array(own, dtype=np.int64)]))
        of_values = noisy[len(exact.cells) :].tolist()
        return CountedValues(
            noisy[: len(exact.cells)],
            {value: n for value, n in zip(found, of_values, strict=True) if n >= least},
        )

    def counts(
        self, name: str, cells: Callable[[Records], NDArray[Any] | TalliedCells], size: int
    ) -> Counts:
        """The noisy counts (C,) of the records in the cells of a table, of which there are `size`.

        `cells` gives each record's cell (N,) from 0, and -1 for a record in none, or a tally.
        """
        found = cells(self._records)
        cell = found.cells if isinstance(found, TalliedCells) else found
        times = found.records[cell >= 0] if isinstance(found, TalliedCells) else None
        exact = np.bincount(cell[cell >= 0], times, minlength=size)
        return self.numbers(name, exact.astype(np.int64))

    def numbers(self, name: str, exact: Counts) -> Counts:
        """Whole numbers (C,) with noise, which neighbours move by as much as the price is for."""
        scale = self._sell(name).scale
        usual = add_discrete_laplace if self._budget.pure else add_discrete_gaussian
        return (self._add or usual)(exact, scale=scale)

    def draw(self, name: str, width: float, made: Callable[[], Draw]) -> Draw:
        """A posterior draw of a fit whose terms were held in a window of that width.

        SpendingError where the window is wider than what was priced.
        """
        cost = self._budget.moved * width
        if name in self._goods and not cost <= self._goods[name].price:
            raise SpendingError(
                f"{name} comes from a window that costs {cost:g}, and its price is "
                f"{float(self._goods[name].price):g}. Report this as a defect of pyvws."
            )
        self._sell(name)
        return made()

    @property
    def spending(self) -> Spending:
        """What has been sold so far, and the cap."""
        sold, budget = tuple(self._sold.values()), self._budget
        if budget.pure:
            spent = float(self._spent)
        else:
            spent = epsilon_of(budget, [one.scale for one in sold])
        return Spending(
            cap=float(budget.epsilon),
            delta=float(budget.delta) + self._thresholds,
            sold=min(spent, budget.epsilon),  # The search for epsilon ends on its upper side.
            measurements=sold,
        )

    def _sell(self, name: str) -> PricedMeasurement:
        good, why = self._goods.get(name), ""
        spent, failing = self._spent, self._failing
        if good is None:
            why = "has no price"
        elif name in self._sold:
            why = "was sold before"
        else:
            spent, failing = spent + good.price, failing + Fraction(good.delta)
            if spent > self._cap or failing > self._thresholds:
                why = "is beyond what the settings allow"
        if good is None or why:
            raise SpendingError(
                f"The measurement {name!r} {why}. Nothing is released. Report this as a defect of "
                "pyvws."
            )
        self._sold[name], self._spent, self._failing = good, spent, failing
        return good


def _goods(noise: Noise, deltas: Mapping[str, float]) -> list[PricedMeasurement]:
    """What is sold under a noise: each table of counts at the price of its scale and threshold."""
    price, of = noise.budget.price, deltas.get
    return [PricedMeasurement(name, price(x), x, of(name, 0.0)) for name, x in noise.scales.items()]


def _cap(noise: Noise) -> Fraction | None:
    return None if noise.rho is None else Fraction(noise.rho) * (1 + _ROUNDING)
