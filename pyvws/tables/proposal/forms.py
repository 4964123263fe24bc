"""Find numbers that are a multiple, a power, a logarithm, a product or a ratio of others.

A number y has such a form where y = b f(x) in all records, or y = a + b x: at the decimals of y, or
to the precision that it has. The constants are the shortest numbers that do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Bools, Floats, Values
from pyvws.errors import InputError
from pyvws.tables.files.labels import label_of
from pyvws.tables.proposal.numbers import step_below
from pyvws.tables.proposal.often import CodedRecords, Often
from pyvws.tables.proposal.rules import formatted_name
from pyvws.tables.schema.arithmetic import EXACT, precision
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.rules import Computed, read_rule

LEAST_DIFFERENT: Final = 10
"""So many different values show a rule, and so many of what each column of it gives."""

_OF_ONE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "{}": lambda x: x,
    "{} ** 2": lambda x: x**2,
    "{} ** 3": lambda x: x**3,
    "sqrt({})": np.sqrt,
    "log({})": np.log,
    "log10({})": np.log10,
    "log1p({})": np.log1p,
}
_OF_TWO: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "{} * {}": lambda x, y: x * y,
    "{} / {}": lambda x, y: x / y,
    "{} / {} ** 2": lambda x, y: x / y**2,
}
_VARIED: Final = 0.5  # Of the variance of a product or a ratio of independent parts.
_NEAR: Final = 40  # Numbers of a product or a ratio stand so near each other.
_SOME: Final = 64  # So many records refuse most forms.
_PARTS: Final = 4.0  # A form has the errors of so many numbers.
_NEAR_ENOUGH: Final = 0.01  # Of a number that a few other records have no part in.
_DIGITS: Final = range(-9, 16)  # Decimals of a constant.
_MOST_SLOPES: Final = 20  # More that do for so many digits are any.


@dataclass(frozen=True, slots=True, eq=False)
class _Form:
    """A function of one number or two; `said` has a place for the name of each."""

    said: str
    parts: tuple[str, ...]
    function: Callable[..., Any]

    @property
    def text(self) -> str:
        return self.said.format(*map(formatted_name, self.parts))

    @property
    def size(self) -> float:
        """What else than its own size makes a form wrong where its part is: 1 of a logarithm."""
        return float(self.said.startswith("log"))

    def varies(self, values: Values) -> bool:
        """Whether two numbers give it nearly as much variance as if they were independent.

        Synthetic parts are not as near each other as the records'. So a ratio of like numbers would
        vary far more than it does.
        """
        if len(self.parts) == 1:
            return True
        x, y = (values[part] for part in self.parts)
        with np.errstate(all="ignore"):
            each = [(x, y), (x, np.ones(1)), (np.ones(1), y)]
            logs = np.array([np.log(np.abs(self.function(*pair))) for pair in each])
            own, *apart = logs[:, np.isfinite(logs).all(axis=0)].var(axis=1)
        return bool(own >= _VARIED * sum(apart))

    def of(self, values: Values) -> Floats:
        """The form (N,) of the values (N,) by name; NaN where it has none."""
        with np.errstate(all="ignore"):
            return np.asarray(self.function(*(values[part] for part in self.parts)))


class Forms:
    """The forms of a table's numbers, each in some records, which refuse most of them."""

    def __init__(self, records: CodedRecords) -> None:
        self.values = values = records.values
        self.numbers = [
            name
            for name, column in records.columns.items()
            if column.role == "synthesize" and not column.categorical and column.days_since is None
        ]
        n = max((len(values[name]) for name in self.numbers), default=0)
        self.rows = np.unique(np.linspace(0, n - 1, min(n, _SOME)).astype(np.intp))
        self.forms = [
            *(_Form(said, (x,), f) for said, f in _OF_ONE.items() for x in self.numbers),
            *(
                _Form(said, (x, y), f)
                for said, f in _OF_TWO.items()
                for (i, x), (j, y) in permutations(enumerate(self.numbers), 2)
                if abs(i - j) <= _NEAR and (i < j or said != "{} * {}")
            ),
        ]
        seen = {name: values[name][self.rows] for name in self.numbers}
        own = np.array([form.of(seen) for form in self.forms])
        self.seen = own.reshape(len(self.forms), len(self.rows)).T
        self.sizes = np.array([form.size for form in self.forms])
        places = {name: place for place, name in enumerate(self.numbers)}
        self.parts = np.array(
            [[places[form.parts[k]] for k in (0, -1)] for form in self.forms], dtype=np.intp
        ).reshape(-1, 2)

    def rules_of(
        self, name: str, among: Collection[str], columns: Mapping[str, Column], *, most: int = 2
    ) -> Iterator[str]:
        """The rules that compute a number in all records from at most `most` numbers `among` all.

        First stand multiples, powers and logarithms of one number, then lines, then what follows
        from two. Of each kind those of numbers that nothing computes go first, then the shortest.
        """
        own, values = self.values[name], self.values
        if name not in self.numbers or _different(own) < LEAST_DIFFERENT:
            return
        given = np.isin(self.parts, [k for k, x in enumerate(self.numbers) if x in among])
        alone = self.parts[:, 0] == self.parts[:, 1]
        asked = np.flatnonzero(given.all(axis=1) & (alone | (most > 1)))
        at = own[self.rows, None]
        room = _room(columns[name], at, self.sizes[asked])
        low, high = _factors(at, room, self.seen[:, asked])
        found: dict[int, list[tuple[bool, int, str]]] = {1: [], 2: []}
        for place in asked[low <= high].tolist():
            form = self.forms[place]
            numbers, room = form.of(values), _room(columns[name], own, form.size)
            least, largest = map(float, _factors(own, room, numbers))
            enough = _different(numbers) >= LEAST_DIFFERENT * len(form.parts)
            if enough and least <= largest and least * largest > 0.0 and form.varies(values):
                chained = any(columns[part].is_computed for part in form.parts)
                text = f"= {_multiple(form.text, least, largest)}"
                found[len(form.parts)].append((chained, len(text), text))
        yield from (text for *_, text in sorted(found[1]))
        for other in (x for x in self.numbers if x in among):
            if (line := _line(own, values[other], columns[name])) is not None:
                yield f"= {_spelled(other, *line)}"
        yield from (text for *_, text in sorted(found[2]))

    def nearly(
        self, name: str, among: Collection[str], column: Column
    ) -> Iterator[tuple[tuple[str, ...], Bools]]:
        """The numbers of which most records are one multiple of a form, and the others (N,)."""
        if name not in self.numbers:
            return
        values, places = self.values, {x: k for k, x in enumerate(self.numbers)}
        own = values[name]
        given = np.isin(self.parts, [places[x] for x in among if x in places]).all(axis=1)
        asked = np.flatnonzero(given)
        with np.errstate(all="ignore"):
            factors = own[self.rows, None] / self.seen[:, asked]
        some = np.isfinite(factors).sum(axis=0) > len(self.rows) // 2
        middle = np.nanmedian(np.where(np.isfinite(factors), factors, np.nan)[:, some], axis=0)
        for place, factor in zip(asked[some].tolist(), middle.tolist(), strict=True):
            form, share = self.forms[place], _NEAR_ENOUGH * np.abs(own)
            numbers, room = form.of(values), _room(column, own, self.sizes[place])
            near = np.abs(own - factor * numbers) <= share + room
            if near.sum() <= len(own) // 2 or not factor or not form.varies(values):
                continue
            low, high = map(float, _factors(own[near], room[near], numbers[near]))
            if low <= high and _different(numbers) >= LEAST_DIFFERENT * len(form.parts):
                off = np.abs(own - _shortest(low, high) * numbers)
                yield form.parts, ~(off <= room) & ~(np.isnan(own) & np.isnan(numbers))

    def giving(self, name: str, among: Collection[str], records: CodedRecords) -> set[str]:
        """The numbers `among` all of which one alone gives a number in all records."""
        texts = self.rules_of(name, among, records.columns, most=1)
        found = (with_values(text, records) for text in texts)
        return {rule.columns[0] for rule, _ in filter(None, found)}


def _spelled(name: str, slope: float, constant: float) -> str:
    """A line of a column in words."""
    times = formatted_name(name)
    times = times if abs(slope) == 1.0 else f"{label_of(abs(slope))} * {times}"
    if slope < 0.0:
        return f"{label_of(constant)} - {times}"
    sign = "-" if constant < 0.0 else "+"
    return f"{times} {sign} {label_of(abs(constant))}"


def _different(numbers: Floats) -> int:
    return len(np.unique(numbers[~np.isnan(numbers)]))


def _room(column: Column, own: Floats, size: Floats | float) -> Floats:
    """How far what computes numbers (N,) may be from them: half a step, and by their precision.

    `size` is added to that of each number where its precision counts.
    """
    half, share = 0.0, precision(own)
    if column.decimals is not None:
        half, share = 0.5 * 10.0**-column.decimals, np.full(np.shape(own), EXACT)
    return half + _PARTS * share * (np.abs(own) + size)


def _factors(own: Floats, room: Floats, numbers: Floats) -> tuple[Any, Any]:
    """The least and the largest factor that makes numbers (n, ...) the `own` ones, within `room`.

    Where there is none the least is above the largest.
    """
    with np.errstate(all="ignore"):
        ends = (own - room) / numbers, (own + room) / numbers
        low, high = np.minimum(*ends), np.maximum(*ends)
    gone = np.isnan(own)
    free = np.where(gone, np.isnan(numbers), (numbers == 0.0) & (np.abs(own) <= room))
    no = ~free & (gone | np.isnan(numbers) | (numbers == 0.0))
    low, high = np.where(free, -np.inf, low), np.where(free, np.inf, high)
    return np.where(no, np.inf, low).max(axis=0), np.where(no, -np.inf, high).min(axis=0)


def _shortest(low: float, high: float) -> float:
    """The number of fewest digits from `low` to `high`."""
    middle = 0.5 * (low + high)
    rounded = (round(middle, digits) for digits in _DIGITS)
    return next((x for x in rounded if low <= x <= high), middle)


def _multiple(text: str, low: float, high: float) -> str:
    """A text times, or over, the shortest number that makes a factor from `low` to `high`."""
    factor, divisor = _shortest(low, high), _shortest(1.0 / high, 1.0 / low)
    if factor == 1.0:
        return text
    if len(label_of(divisor)) < len(label_of(factor)):
        return f"{text} / {label_of(divisor)}"
    return f"{label_of(factor)} * {text}"


def _line(own: Floats, x: Floats, column: Column) -> tuple[float, float] | None:
    """The slope and the constant by which a column's numbers (N,) follow from others (N,)."""
    known = ~np.isnan(own)
    if (known == np.isnan(x)).any():
        return None
    y, x = own[known], x[known]
    room = _room(column, y, float(np.abs(y).max()))
    for some in (slice(0, _SOME), slice(None)):
        centred = x[some] - x[some].mean()
        if not centred.any():
            return None
        slope = centred @ y[some] / (centred @ centred)
        off = y[some] - y[some].mean() - slope * centred
        if not np.sqrt((off**2).mean()) <= room[some].max():
            return None
    ends = [int(x.argmin()), int(x.argmax())]
    rise, reach = y[ends[1]] - y[ends[0]], x[ends[1]] - x[ends[0]]
    low, high = (rise - room[ends].sum()) / reach, (rise + room[ends].sum()) / reach
    for digits in _DIGITS:
        first, last = np.ceil(low * 10.0**digits), np.floor(high * 10.0**digits)
        if last - first > _MOST_SLOPES:
            return None
        for slope in np.arange(first, last + 1.0) / 10.0**digits:
            least, largest = (y - room - slope * x).max(), (y + room - slope * x).min()
            if slope and least <= largest:
                return float(slope), _shortest(float(least), float(largest)) + 0.0
    return None


def with_values(text: str, records: CodedRecords) -> tuple[Computed, dict[str, Column]] | None:
    """A rule, and its columns with ranges in which it has a value; None where they cannot have.

    What a logarithm or a ratio takes gets a range above 0 where all records are above 0. Where that
    is computed, what it follows from gets such a range, and stands beside the columns of the rule.
    """
    try:
        rule = read_rule(text)
        parts = {name: records.columns[name] for name in rule.columns}
    except (InputError, KeyError):  # A name is odd.
        return None
    if not isinstance(rule, Computed):
        return None
    for name in rule.columns:
        if not _is_whole(rule, parts):
            above = _above_0(name, {**records.columns, **parts}, records.values)
            parts |= above if _is_whole(rule, {**parts, **above}) else {}
    return (rule, parts) if _is_whole(rule, parts) else None


def _above_0(name: str, columns: Mapping[str, Column], values: Values) -> dict[str, Column]:
    """A number with a range above 0, and what it is computed from; none without such a range."""
    column, least = columns[name], float(np.nanmin(values[name]))
    if column.range is None or not column.range[0] <= 0.0 < least:
        return {}
    if not column.is_computed:
        there = ~np.isnan(values[name])
        often = Often.of(np.arange(len(there))).among(there)
        if (inner := often.innermost(values[name][there])) is None:
            return {}
        low = step_below(inner[0])
        outside = column.outside or least < low or None
        review = dict.fromkeys((*column.review, *(["outside"] if outside else [])))
        ends = low, column.range[1]
        return {name: replace(column, range=ends, outside=outside, review=tuple(review))}
    (rule,), above = column.rules, dict[str, Column]()
    assert isinstance(rule, Computed)
    for part in rule.columns:
        above |= _above_0(part, {**columns, **above}, values)
    low, high = rule.arithmetic.range_in({**columns, **above})
    return {**above, name: replace(column, range=(low, high))} if low > 0.0 else {}


def _is_whole(rule: Computed, columns: Mapping[str, Column]) -> bool:
    """Whether a rule has a value for all numbers of its columns' ranges."""
    try:
        rule.arithmetic.range_in(columns)
    except InputError:
        return False
    return True
