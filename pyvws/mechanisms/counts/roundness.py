"""How round numbers are: public classes of multiples, whose noisy counts say where numbers heap.

People round what they tell: weights at fives and tens, amounts at hundreds. So a number whose range
has many steps is counted once by the roundest unit that it is a multiple of. Units are 1 and 5
times powers of ten of its step. A record is in one class, or in none: where its value is unknown or
missing, or is a point of mass.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts.coding import Codes, CountedColumn

_FEWEST: Final = 8  # Multiples of a unit that a range spans at least.
_MOST_STEPS: Final = 2.0**50  # Beyond them a number is not told from its neighbours.

Steps = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Roundness:
    """The classes of a number by the unit that it is a multiple of.

    - `column`: The number in any cells of its range.
    - `units` (R,): The units in steps of the column, the roundest first. Each is a multiple of the
      next one, and the last one is 1. A number belongs to the first one that it is a multiple of.
    """

    column: CountedColumn
    units: Steps
    _apart: Steps = field(init=False, repr=False)  # Numbers that stand apart, in steps.
    _ratios: Steps = field(init=False, repr=False)  # Of a unit to the next one; 0 of the first.

    def __post_init__(self) -> None:
        low, high = self.column.edges[[0, -1]]
        apart = [number / self._step for number in self.column.apart if low <= number <= high]
        object.__setattr__(self, "_apart", np.unique(np.rint(apart)).astype(np.int64))
        ratios = np.append(0, self.units[:-1] // self.units[1:])
        object.__setattr__(self, "_ratios", ratios)

    @property
    def _step(self) -> float:
        return self.column.column.step or 1.0

    @property
    def labels(self) -> list[str]:
        """The classes (R,) in words."""
        units = [
            float(x) for x in self.column.column.rounded(self.units.astype(np.float64) * self._step)
        ]
        return [f"multiples of {unit:.15g}" for unit in units]

    def codes(self, codes: Codes, values: Floats) -> Codes:
        """The classes (N,) of records with codes and values (N,) of the column, -1 for none."""
        classes = np.full(len(codes), -1, dtype=np.int32)
        inside = (codes >= len(self.column.parts)) & np.isfinite(values)
        classes[inside] = self._class_of(np.rint(values[inside] / self._step).astype(np.int64))
        return classes

    def within(self) -> Steps:
        """How many numbers (C, R) of each class the column's cells have, without those apart."""
        first, last = self._ends()
        upto = last[:, None] // self.units - (first[:, None] - 1) // self.units
        own = np.diff(upto, axis=1, prepend=0)
        for number, kind in zip(self._apart, self._class_of(self._apart), strict=True):
            own[(first <= number) & (number <= last), kind] -= 1
        return own

    def drawn(
        self, cells: NDArray[np.intp], classes: NDArray[np.intp], rng: np.random.Generator
    ) -> Floats:
        """Numbers (M,) of classes within cells (M,), each as likely; half a step above the number.

        Each cell has to have a number of the class. `CountedColumn.written` takes the half away.
        """
        first, last = (x[cells] for x in self._ends())
        unit = self.units[classes]
        place = self._place(-(-first // unit), classes)
        place += rng.integers(0, self.within()[cells, classes])
        for number, kind in zip(self._apart, self._class_of(self._apart), strict=True):
            there = (classes == kind) & (first <= number) & (number <= last)
            place += there & (place >= self._place(number // self.units[kind], kind))
        ratio = np.maximum(self._ratios[classes], 2)
        multiple = np.where(classes == 0, place, place + place // (ratio - 1) + 1)
        return np.asarray((multiple * unit + 0.5) * self._step)

    def _ends(self) -> tuple[Steps, Steps]:
        first, last = self.column.whole_steps
        return first.astype(np.int64), last.astype(np.int64)

    def _class_of(self, number: Steps) -> NDArray[np.intp]:
        """The class (n,) of numbers of steps (n,)."""
        return np.asarray((number[:, None] % self.units == 0).argmax(axis=1))

    def _place(self, multiple: Steps, classes: NDArray[np.intp]) -> Steps:
        """Where a multiple (n,) of a class's unit stands among the numbers of the class.

        It is the place of the next one where the multiple is of a rounder class.
        """
        ratio = np.maximum(self._ratios[classes], 1)
        return np.asarray(np.where(classes == 0, multiple, multiple + -multiple // ratio))


def roundness_of(column: CountedColumn) -> Roundness | None:
    """The classes of a number; None without decimals or of few steps, and for dates."""
    step, days = column.column.step, column.column.days_since
    if step is None or days is not None or np.abs(column.edges).max() >= _MOST_STEPS * step:
        return None
    most = (column.edges[-1] - column.edges[0]) / step / _FEWEST
    units = [1]
    while (larger := units[-1] * (2 if str(units[-1])[0] == "5" else 5)) <= most:
        units.append(larger)
    return Roundness(column, np.array(units[::-1], dtype=np.int64)) if len(units) > 1 else None
