"""The columns of a table as codes of public cells, and back: what noisy counts count.

A category has its levels and its missing codes. A number has its missing codes, its points of mass
and public cells of its range: the schema's `cuts`, or else steps of the range, which are equal, or
in powers of ten where amounts are money. Dates are days. The code of a value is a function of the
value and the schema alone, and a value that the schema does not know has the code -1.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.files.kinds import distinct
from pyvws.tables.files.labels import as_digit, meant
from pyvws.tables.schema.column import Column, part_of
from pyvws.tables.schema.groups import group_of
from pyvws.tables.schema.read_values import at_decimals
from pyvws.tables.schema.schema import Schema

Codes = NDArray[np.int32]

MOST_LEVELS: Final = 100
"""A category of more levels whose groups a lookup gives is in no pair: its groups are."""
MOST_OF_PAIR: Final = 5_000
"""Cells of a pair; of more the noise hides what they tell."""
MONEY: Final = 1e4
"""A range that reaches so far has steps in powers of ten."""

_CELLS: Final = 20  # Equal steps of a range without cuts.
_DECADES: Final = 4
_IN_DECADE: Final = (1.0, 2.0, 5.0)
_NARROW: Final = 100.0  # A range whose ends are less than so many times apart has equal steps.


@dataclass(frozen=True, slots=True, eq=False)
class CountedColumn:
    """A column as it is counted.

    - `name`: Name of the column.
    - `column`: What the schema says of it.
    - `parts`: Codes 0 to P - 1: the levels of a category, or a number's points of mass and missing
      codes.
    - `edges` (C + 1,): Codes P to P + C - 1 of a number: cell c holds edges[c] <= x < edges[c + 1],
      and the last one its upper end too. Empty for a category.
    """

    name: str
    column: Column
    parts: tuple[str | None, ...]
    edges: Floats = field(default_factory=lambda: np.empty(0))
    _code: dict[str | None, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        codes = {meant(part): code for code, part in enumerate(self.parts)}
        object.__setattr__(self, "_code", codes)

    @property
    def size(self) -> int:
        """The number L of codes."""
        return len(self.parts) + max(0, len(self.edges) - 1)

    @property
    def labels(self) -> list[str]:
        """Each code in words, of (L,)."""
        shown = self.column.label_of_number
        cells = [
            f"{shown(low)} to {shown(high)}"
            for low, high in zip(self.edges[:-1], self.edges[1:], strict=True)
        ]
        return [*("empty" if part is None else part for part in self.parts), *cells]

    def code_of(self, label: str | None) -> int:
        """The code of a cell of the table, None if it is empty; -1 for an unknown value."""
        return int(self.coded([label])[0][0])

    def coded(self, labels: Sequence[str | None]) -> tuple[Codes, Floats]:
        """The codes (n,) of cells of the table, -1 for an unknown value, and their values (n,).

        Values are those of `Schema.coded`, NaN where missing or unknown. Another record may make
        the table's reader take 01 for 1, or 1 for 1.0, in all cells of the
        column. So these are one value, and no record changes the code of another. Nor does it
        where a reader leaves text of empty cells, or of a date with its midnight.
        """
        codes = np.array([self._code.get(meant(x), -1) for x in labels], dtype=np.int32)
        spelled = [None if x is None else as_digit(x) for x in labels]
        if self.column.categorical:
            for i, label in self._left(codes, labels):
                code = self._code.get(meant(spelled[i]))
                codes[i] = self._outside(label) if code is None else code
            return codes, np.where(codes < 0, np.nan, codes + 1.0)
        found = [None if x is None else self.column.number_of(x) for x in spelled]
        numbers = np.array([np.nan if x is None else x for x in found], dtype=np.float64)
        numbers = self.column.within(at_decimals(self.column, numbers))
        apart = np.isin(numbers, self.apart) & (codes < 0)
        codes = np.where(codes < 0, self.cells_of(numbers), codes)
        for i, label in self._left(np.where(apart, -1, codes), labels):
            if found[i] is None:
                codes[i] = self._outside(label)
            elif apart[i]:  # Such as 0.0 for the mass 0.
                own = self.column.label_of_number(float(numbers[i]))
                codes[i] = self.parts.index(own) if own in self.parts else codes[i]
        missing = [part in self.column.missing_codes for part in self.parts]
        of_code = np.array([*missing, *[False] * (self.size - len(missing)), True])
        return codes, np.where(of_code[codes], np.nan, numbers)

    @staticmethod
    def _left(codes: Codes, labels: Sequence[str | None]) -> Iterator[tuple[int, str]]:
        """The places of unknown codes, and the cells there that are not empty."""
        for i in np.flatnonzero(codes < 0).tolist():
            if (label := labels[i]) is not None:
                yield i, label

    def _outside(self, label: str) -> int:
        """The code of what an unknown label counts as; -1 without one."""
        place = self.column.place_outside(label)
        if place is None:
            return -1
        every = self.column.coded_levels if self.column.categorical else self.column.missing_codes
        return self.parts.index(every[place])

    def cells_of(self, numbers: Floats) -> Codes:
        """The codes (n,) of numbers that are no points of mass or missing codes, -1 outside."""
        cells = np.searchsorted(self.edges, numbers, side="right") - 1
        cells = len(self.parts) + np.minimum(cells, len(self.edges) - 2)
        inside = (numbers >= self.edges[0]) & (numbers <= self.edges[-1])
        return np.where(inside, cells, -1).astype(np.int32)

    @property
    def reads(self) -> tuple[CountedColumn, ...]:
        """The columns of a table that it is read from."""
        return (self,)

    def read(self, frame: nw.DataFrame[Any]) -> tuple[Codes, Floats]:
        """The codes (N,) of a table's column of any type, with any cells, and its values (N,)."""
        places, labels = distinct(frame[self.name], any_cell=True)
        codes, values = self.coded([*labels, None])  # Place -1 is an empty cell.
        return codes[places], values[places]

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The least and the largest value (L,) of each code, as `Schema.coded` gives values."""
        if self.column.categorical:
            codes = np.arange(1, self.size + 1, dtype=np.float64)
            return codes, codes
        missing = self.column.missing_codes
        parts = [
            np.nan if label is None or label in missing else self.column.code_of(label)
            for label in self.parts
        ]
        step = self.column.step
        tops = self.edges[1:] - step if step else np.nextafter(self.edges[1:], -np.inf)
        tops = self.column.rounded(tops)  # 12.21 - 0.01 is not quite 12.2.
        tops[-1:] = self.edges[-1:]
        lows = self.edges[:-1].copy()
        points = sorted(x for x in parts if not np.isnan(x))  # They are no numbers of their cells.
        for point in points:
            lows[lows == point] = point + step if step else np.nextafter(point, np.inf)
        for point in reversed(points):
            tops[tops == point] = point - step if step else np.nextafter(point, -np.inf)
        tops = np.maximum(tops, lows)
        return np.append(parts, lows), np.append(parts, tops)

    @property
    def numbers(self) -> Floats:
        """The number that stands for each code (L,); NaN for missing codes and for names."""
        if not self.column.categorical:
            low, high = self.ends
            return 0.5 * (low + high)
        missing = self.column.missing_codes
        spelled = [None if part is None or part in missing else part for part in self.parts]
        found = [None if part is None else self.column.number_of(part) for part in spelled]
        some = 2 * sum(x is not None for x in found) > len(found)
        return np.array([np.nan if x is None or not some else x for x in found], dtype=np.float64)

    @property
    def as_predictor(self) -> dict[str, Floats]:
        """What stands for each code (L,) in a design: of a number's cell the middle."""
        low, high = self.ends
        by_variable = {self.name: 0.5 * (low + high)}
        if self.column.group_by is not None:
            groups = self.column.groups
            group_codes = [groups.index(group) + 1.0 for group in self.column.group_of_level]
            by_variable[group_of(self.name)] = np.array(group_codes)
        elif self.column.parts:
            parts = 2.0 + np.arange(len(self.parts))
            by_variable[part_of(self.name)] = np.append(parts, np.ones(self.size - len(parts)))
        return by_variable

    def values(
        self, codes: Codes, rng: np.random.Generator, drawn: Floats | None = None
    ) -> dict[str, Floats]:
        """Synthetic values (M,) as `Schema.decoded` takes them, with the codes of a number's parts.

        `drawn` (M,) has numbers that a family or fine counts give. Where it has none a number is
        drawn within its cell, by a density that rises or falls as those of its neighbours say.
        It keeps the column's decimals and is no point of mass.
        """
        if self.column.categorical:
            return {self.name: codes.astype(np.float64) + 1.0}
        cells = codes - len(self.parts)
        numbers = np.full(len(codes), np.nan)
        inside = cells >= 0
        within = np.full(int(inside.sum()), np.nan) if drawn is None else drawn[inside]
        if np.isnan(within).any():
            within = np.where(np.isnan(within), self.drawn(cells[inside], rng), within)
        numbers[inside] = self.written(cells[inside], within)
        parts = np.ones(len(codes))
        for code, label in enumerate(self.parts):
            at = codes == code
            parts[at] = 2.0 + code  # The first of a number's parts is that it has a value.
            if label is not None and label not in self.column.missing_codes:
                numbers[at] = self.column.code_of(label)
        return {self.name: numbers, **({part_of(self.name): parts} if self.column.parts else {})}

    def drawn(self, cells: NDArray[Any], rng: np.random.Generator) -> Floats:
        """Numbers (n,) within cells, by the slope between the neighbours' densities."""
        low, high = self.edges[cells], self.edges[cells + 1]
        slope = self._slopes(cells)[cells]
        u = rng.random(len(cells))
        down = 1.0 - 0.5 * slope
        t = 2.0 * u / (down + np.sqrt(down**2 + 2.0 * slope * u))
        return np.asarray(low + t * (high - low))

    def _slopes(self, cells: NDArray[Any]) -> Floats:
        """How the density of numbers in cells (n,) rises within each cell (C,), from -2 to 2.

        Across a cell it is 1 + slope (t - 1/2) of its mean, for t from 0 to 1.
        """
        width = np.diff(self.edges)
        density = np.bincount(cells, minlength=len(width)) / width
        beside = np.concatenate([density[:1], density, density[-1:]])
        rise = np.zeros(len(width))
        filled = density > 0.0
        rise[filled] = (beside[2:] - beside[:-2])[filled] / (2.0 * density[filled])
        return np.asarray(np.clip(rise, -2.0, 2.0))

    @property
    def apart(self) -> list[float]:
        """The numbers that stand apart from those of cells: points of mass, and missing codes."""
        numbers = [self.column.number_of(str(part)) for part in self.parts if part is not None]
        return sorted(number for number in numbers if number is not None)

    @property
    def whole_steps(self) -> tuple[Floats, Floats]:
        """The first and the last number (C,) of each cell of a column with decimals, in steps."""
        edges = self.edges / (self.column.step or 1.0)
        near = np.rint(edges)
        exact = np.abs(edges - near) <= np.maximum(1e-9, 4.0 * np.spacing(np.abs(edges)))
        begins = np.where(exact, near, np.ceil(edges))
        last = begins[1:] - 1.0
        last[-1] += exact[-1]
        return begins[:-1], np.maximum(begins[:-1], last)

    def written(self, cells: NDArray[Any], drawn: Floats) -> Floats:
        """Numbers (n,) that were drawn within cells, at the column's decimals and no points."""
        step = self.column.step
        if step is None:
            low, high = self.edges[cells], self.edges[cells + 1]
            return np.asarray(np.clip(drawn, low, np.nextafter(high, low)))
        first, last = (ends[cells] for ends in self.whole_steps)
        whole = np.clip(np.floor(drawn / step), first, last)
        for number in self.apart * 2:  # After the last number of a cell comes its first.
            taken = np.abs(whole * step - number) < 0.5 * step
            whole[taken] = np.where(whole[taken] < last[taken], whole[taken] + 1.0, first[taken])
        return self.column.rounded(whole * step)


def counted_column(name: str, column: Column, begins: Sequence[float] = ()) -> CountedColumn:
    """A column as it is counted; each of the numbers `begins` begins a cell.

    Raises InputError for levels or codes that differ by their spelling alone, and for a number
    without range.
    """
    parts = column.coded_levels
    if not column.categorical:
        parts = (*map(column.label_of_number, column.mass), *column.missing_codes)
    values = [meant(part) for part in parts]
    alike = [part for part, value in zip(parts, values, strict=True) if values.count(value) > 1]
    if alike:
        raise InputError.by("levels-spelled-alike", name=name, alike=" and ".join(map(repr, alike)))
    if column.categorical:
        return CountedColumn(name, column, parts)
    return CountedColumn(name, column, parts, _edges(name, column, begins))


def _edges(name: str, column: Column, begins: Sequence[float]) -> Floats:
    if column.range is None:
        raise InputError.by("no-public-cells", name=name)
    low, high = column.range
    step = column.step
    inner = public_cuts(low, high, step) if column.cuts is None else column.cuts
    if column.cuts is None and column.outcome_scale == "log" and low * _NARROW < high:
        unit = column.settings.get("outcome_unit", high)
        inner = money_cuts(low, high, unit)
    inner = (*inner, *begins)  # A condition is true or false of whole cells.
    kept = sorted({float(x) for x in inner if low < x < high})
    edges = np.array([low, *kept, high])
    if step is None:
        return edges
    masses = [*column.mass, *(column.number_of(c) for c in column.missing_codes if c is not None)]
    gone = {round(x / step) for x in masses if x is not None}
    used = [edges[0]]
    for cell, end in enumerate(edges[1:]):  # A cell whose only numbers stand apart joins another.
        first, last = math.ceil(used[-1] / step - 1e-9), math.ceil(end / step - 1e-9) - 1
        last += cell == len(edges) - 2
        if last - first + 1 > len(gone) or any(k not in gone for k in range(first, last + 1)):
            used.append(end)
        elif len(used) > 1:  # The one before it, so that cells of cuts hold whole fine ones.
            used[-1] = end
    return np.array(used if len(used) > 1 else [low, high])


def public_cuts(low: float, high: float, step: float | None) -> tuple[float, ...]:
    """Cuts of a range without any of its own: equal ones, or in powers of ten where it is wide."""
    near, far = sorted((abs(low), abs(high)))
    if far >= MONEY and (low < 0.0 < high or near * _NARROW < far):
        return money_cuts(low, high)
    width = (high - low) / _CELLS
    if step is not None:
        width = max(step, math.ceil(width / step - 1e-9) * step)
        if (high - low) / step < _CELLS + 1:
            width = step
    number = max(1, math.ceil((high - low) / width - 1e-9))
    return tuple(low + k * width for k in range(1, number + (step == width)))


def money_cuts(low: float, high: float, unit: float = math.inf) -> tuple[float, ...]:
    """Cuts at 1, 2 and 5 times powers of ten on both sides of 0, and at 0.

    They are over four powers of ten, or as far below `unit` as the range reaches above it.
    """
    far = max(abs(low), abs(high))
    top = math.floor(math.log10(far))
    decades = max(_DECADES, math.ceil(2.0 * math.log10(max(far / unit, 1.0))))
    sizes = [m * 10.0**k for k in range(top - decades + 1, top + 1) for m in _IN_DECADE]
    cuts = [*(-x for x in reversed(sizes)), 0.0, *sizes]
    return tuple(x for x in cuts if low < x < high)


def rule_cuts(schema: Schema) -> dict[str, set[float]]:
    """The numbers that begin cells by column, where rules compare with numbers or fix some."""
    cuts: dict[str, set[float]] = {}
    for name in schema.synthesized:
        column = schema.columns[name]
        for rule in column.rules:
            for label in rule.fixes:
                if label is not None and label not in column.missing_codes:
                    _begin(cuts, schema, name, label, (0, 1))
            condition = getattr(rule, "condition", None)
            if condition is None:
                continue
            for node in ast.walk(condition.tree):
                if isinstance(node, ast.Compare):
                    sides = [node.left, *node.comparators]
                    for left, op, right in zip(sides[:-1], node.ops, sides[1:], strict=True):
                        number_left = not isinstance(left, ast.Name)
                        places = _PLACES.get(type(op), (0, 1))
                        at = tuple(1 - x for x in places) if number_left else places
                        for constant in _constants(left if number_left else right):
                            for other in condition.columns:
                                _begin(cuts, schema, other, str(constant), at)
    return cuts


_PLACES: Final[dict[type[ast.cmpop], tuple[int, ...]]] = {
    **{ast.Lt: (0,), ast.GtE: (0,), ast.Gt: (1,), ast.LtE: (1,)}
}
"""Whether a cell begins at a number (0) or after it (1), where a column stands to the left."""


def _constants(side: ast.expr) -> list[Any]:
    """The numbers and labels that a side of a comparison spells."""
    try:
        given = ast.literal_eval(side)
    except ValueError:  # A column, or a sum.
        return []
    return list(given) if isinstance(given, list | tuple) else [given]


def _begin(
    cuts: dict[str, set[float]], schema: Schema, name: str, label: str, at: tuple[int, ...]
) -> None:
    """Note that cells of a number begin at a label, or right after it."""
    column = schema.columns[name]
    number = None if column.categorical else column.number_of(label)
    if number is None or number in column.mass:
        return
    after = number + column.step if column.step else np.nextafter(number, np.inf)
    after = float(column.rounded(after))
    cuts.setdefault(name, set()).update((number, after)[x] for x in at)
