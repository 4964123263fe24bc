"""The difference of two numbers of a record, as a column that is counted and never released.

Partners' ages are near each other, and a child's lies some 30 years below. Cells of both ages hold
that no better than they are narrow. So the difference has public cells of its own, narrow around 0.
It is a function of the record and the schema alone, so a record moves its counts as those of any
column. A model gives the difference, then the later number given it and the earlier one. Both
numbers are then drawn together, within their cells and the difference's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import narwhals as nw
import numpy as np

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts.coding import MONEY, Codes, CountedColumn, counted_column
from pyvws.tables.schema.column import Column

_CUTS: Final = (1, 2, 3, 5, 8, 12, 18, 25, 35, 50)  # Hundredths of the largest difference.
_ROUNDING: Final = 1e-12  # Of a number of pairs, next to none.


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OfTwo(CountedColumn):
    """A column that follows from two numbers of a table.

    - `later`, `earlier`: The two numbers.
    """

    later: CountedColumn
    earlier: CountedColumn

    def codes_of(self, codes: Mapping[str, Codes], values: Mapping[str, Floats]) -> Codes:
        """The codes (N,) of records, by the codes and values of their columns."""
        raise NotImplementedError

    def numbers_of(self, values: Mapping[str, Floats]) -> Floats:
        """What the later number has more (N,), by the values of the columns."""
        return values[self.later.name] - values[self.earlier.name]

    @property
    def reads(self) -> tuple[CountedColumn, ...]:
        return self.later, self.earlier

    def read(self, frame: nw.DataFrame[Any]) -> tuple[Codes, Floats]:
        both = {one.name: one.read(frame) for one in self.reads}
        values = {name: own for name, (_, own) in both.items()}
        codes = {name: own for name, (own, _) in both.items()}
        return self.codes_of(codes, values), self.numbers_of(values)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Difference(OfTwo):
    """What a later number has more than an earlier one, or an empty cell where one has no cell."""

    def codes_of(self, codes: Mapping[str, Codes], values: Mapping[str, Floats]) -> Codes:
        later, earlier = (codes[one.name] for one in (self.later, self.earlier))
        both = (later >= len(self.later.parts)) & (earlier >= len(self.earlier.parts))
        gap = np.where(both, self.numbers_of(values), 0.0)
        edges, step = self.edges, self.column.step
        if step is not None:  # 0.3 - 0.1 is not quite 0.2.
            edges, gap = np.rint(edges / step), np.rint(gap / step)
        cell = np.clip(np.searchsorted(edges, gap, side="right") - 1, 0, len(edges) - 2)
        found = np.where(both, len(self.parts) + cell, 0)
        return np.where((later < 0) | (earlier < 0), -1, found).astype(np.int32)

    @property
    def shares(self) -> Floats:
        """The later number's shares (A, L, B) of codes by those of the earlier one and of this.

        Within cells every pair of numbers counts alike. Where no pair has the difference of a cell,
        all shares are 0.
        """
        a, d, b = (self._units(one) for one in (self.earlier, self, self.later))
        whole = self.column.step is not None

        least = b[None, None, :] - a[:, None, None] + whole
        room = np.maximum(d[None, :, None] - least, 0.0)
        below = room * (room + whole) / 2  # Pairs of an earlier number below a, a later from b on.
        pairs = -np.diff(np.diff(np.diff(below, axis=0), axis=1), axis=2)
        pairs[pairs < _ROUNDING * below.max()] = 0.0
        shares = np.zeros((self.earlier.size, self.size, self.later.size))
        parts = len(self.earlier.parts), len(self.later.parts)
        shares[: parts[0], 0, :] = shares[:, 0, : parts[1]] = 1.0
        shares[parts[0] :, len(self.parts) :, parts[1] :] = pairs
        return shares

    def _units(self, column: CountedColumn) -> Floats:
        """The ends of a number's cells in steps, the last one past its last number."""
        step = self.column.step
        if step is None:
            return column.edges
        units = np.ceil(column.edges / step - 1e-9)
        units[-1] = np.floor(column.edges[-1] / step + 1e-9) + 1.0
        return units

    def values(
        self, codes: Codes, rng: np.random.Generator, drawn: Floats | None = None
    ) -> dict[str, Floats]:
        """None: a difference is not released."""
        return {}

    def together(
        self, codes: Mapping[str, Codes], values: Mapping[str, Floats], rng: np.random.Generator
    ) -> dict[str, Floats]:
        """The values (M,) of both numbers, drawn together where records have a difference.

        The earlier number stays as `values` has it where the cells leave that possible.
        """
        at = np.flatnonzero(codes[self.name] >= len(self.parts))
        ends = []
        for column in (self.earlier, self, self.later):
            cells, units = codes[column.name][at] - len(column.parts), self._units(column)
            ends.append((units[cells], units[cells + 1]))
        (a0, a1), (d0, d1), (b0, b1) = ends
        whole, step = self.column.step is not None, self.column.step or 1.0

        def within(low: Floats, high: Floats) -> Floats:
            drawn = low + rng.random(len(at)) * (high - low)
            return np.floor(drawn) if whole else drawn

        low, high = np.maximum(a0, b0 - d1 + whole), np.minimum(a1, b1 - d0)
        earlier = values[self.earlier.name][at] / step
        earlier = np.rint(earlier) if whole else earlier  # 95.1 / 0.1 is not quite 951.
        earlier = np.where((low <= earlier) & (earlier < high), earlier, within(low, high))
        later = within(np.maximum(b0, earlier + d0), np.minimum(b1, earlier + d1))
        together = {}
        for column, drawn in ((self.earlier, earlier), (self.later, later)):
            cells = codes[column.name][at] - len(column.parts)
            together[column.name] = values[column.name].copy()
            together[column.name][at] = column.written(cells, (drawn + 0.5 * whole) * step)
        return together


def difference_of(later: CountedColumn, earlier: CountedColumn) -> Difference | None:
    """What a later number has more than an earlier one; None of amounts, whose cells are uneven."""
    numbers = later.column, earlier.column
    if any(
        one.outcome_scale == "log" or (one.days_since is None and np.abs(own.edges).max() >= MONEY)
        for one, own in zip(numbers, (later, earlier), strict=True)
    ):
        return None
    low, high = later.edges[0] - earlier.edges[-1], later.edges[-1] - earlier.edges[0]
    decimals = [0 if one.is_whole else one.decimals for one in numbers]
    known = [one for one in decimals if one is not None]
    column = Column(
        model="normal",
        range=(low, high),
        decimals=max(known) if len(known) == len(decimals) else None,
        missing=True,
    )
    step, sizes = column.step, narrow_cuts(max(abs(low), abs(high)), column.step)
    cuts = {0.0, *sizes, *((step or 0.0) - size for size in sizes)}
    cells = Column(**{**column.given, "cuts": sorted(cut for cut in cuts if low < cut < high)})
    own = counted_column(f"{later.name} - {earlier.name}", cells)
    return Difference(own.name, cells, own.parts, own.edges, later=later, earlier=earlier)


def narrow_cuts(largest: float, step: float | None) -> list[float]:
    """Cuts up to half of the `largest` difference, in whole steps: they are narrow near 0."""
    unit = largest / 100.0
    return [
        unit * cut if step is None else step * max(1, round(unit * cut / step)) for cut in _CUTS
    ]
