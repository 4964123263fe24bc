"""Propose computed columns: copies and other forms of numbers, and bands of one.

Each is proposed where all records have it, ten different values or more show it, and each band has
several units. The records chose it, so it stands in `review`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.proposal.forms import LEAST_DIFFERENT, Forms, with_values
from pyvws.tables.proposal.numbers import rounded_outwards
from pyvws.tables.proposal.often import CodedRecords
from pyvws.tables.proposal.rules import (
    condition_on,
    formatted_name,
    formatted_value,
    number_between,
)
from pyvws.tables.proposal.short_conditionals import UNSCALED, is_decided_by
from pyvws.tables.proposal.sums import sums_of
from pyvws.tables.schema.column import Column

_UNITS_A_BAND: Final = 5
_SOME: Final = 200  # So many records refuse most bands.
_UNITS_OF_A_COPY: Final = 10.0  # That do not have its most frequent level.
_MOST_BARRED: Final = 12  # Levels of bands that leave a missing value free.
_MOST_NUMBERS: Final = 40  # Numbers before a column, of which it may follow.
_NO_FAMILY: Final[dict[str, Any]] = {"model": None, **UNSCALED}


def computed_columns(records: CodedRecords) -> dict[str, Column]:
    """The proposed columns, with rules in the place of families where others compute a column.

    What is computed stands below what it follows from, which may be another order than the table's.
    """
    return _by_earlier(replace(records, columns=_below(records)))


def _by_earlier(records: CodedRecords) -> dict[str, Column]:
    """The columns, in their order, with rules by which earlier ones compute some."""
    proposed, forms = dict(records.columns), Forms(records)
    numbers: list[str] = []
    categories: list[str] = []
    for name, column in records.columns.items():
        if column.role != "synthesize":
            continue
        if not column.categorical:
            proposed |= _formed(name, numbers, forms, replace(records, columns=proposed))
            numbers.append(name)
        elif copied := _copy(name, categories, records):
            proposed[name] = copied
        else:
            categories.append(name)
            for other in numbers:
                rules = tuple(band.rule for band in _bands(name, other, records))
                banded = _ruled(name, rules, records) if rules else None
                banded = banded or _bands_or_none(name, other, records)
                if banded is not None:
                    proposed[name] = banded
                    break
    return proposed


def _formed(
    name: str, earlier: list[str], forms: Forms, records: CodedRecords
) -> dict[str, Column]:
    """A number that is a multiple, a power, a logarithm, a product or a ratio of earlier numbers.

    The columns that it follows from stand beside it, where their ranges change; none without it.
    """
    columns, column = records.columns, records.columns[name]
    own = len(column.missing_codes)
    near = earlier[-_MOST_NUMBERS:]
    fitting = [x for x in near if len(columns[x].missing_codes) <= own <= 1]
    for text in forms.rules_of(name, fitting, columns):
        found = with_values(text, records)
        if found is None:
            continue
        rule, parts = found
        low, high = rule.arithmetic.range_in(parts)
        before = column.range or (low, high)
        ends = rounded_outwards(min(low, before[0]), max(high, before[1]))
        beside = replace(records, columns={**columns, **parts})
        made = _ruled(name, text, beside, **{**_NO_FAMILY, "range": ends})
        if made is not None:
            return {**parts, name: made}
    free = [x for x in near if not columns[x].is_computed and columns[x].days_since is None]
    if column.days_since is None and len(np.unique(records.values[name])) >= LEAST_DIFFERENT:
        for one in sums_of(name, free, records):
            if not one.broken.any():
                made = _ruled(name, one.rule, records, **_NO_FAMILY)
                return {} if made is None else {name: made}
    return {}


def _below(records: CodedRecords) -> dict[str, Column]:
    """The columns in an order where what one number gives stands below the number.

    A file may have ageGroup or the square of age before age. Rules then compute it, and no record
    contradicts itself. Of two numbers that give each other the one of more values goes below.
    """
    columns, values = records.columns, records.values
    order, forms = list(columns), Forms(records)
    drawn = [name for name, column in columns.items() if column.role == "synthesize"]
    for place, name in enumerate(drawn):
        if columns[name].is_constant:
            continue
        later = drawn[place + 1 :]
        giving = forms.giving(name, later, records)
        for other in later:
            if columns[other].categorical:
                below = columns[name].categorical and is_decided_by(name, other, records)
            elif columns[name].categorical:
                alike = _may_be_bands(values[name], values[other])
                below = alike and bool(_bands(name, other, records))
            else:
                below = other in giving and (
                    _numbers_in(columns[other]) < _numbers_in(columns[name])
                    or not forms.giving(other, [name], records)
                )
            if below:
                order.remove(name)
                order.insert(order.index(other) + 1, name)
                break
    return {name: columns[name] for name in order}


def _numbers_in(column: Column) -> float:
    """How many numbers a column's range has at its decimals."""
    low, high = column.range or (0.0, math.inf)
    return (high - low) / column.step if column.step else math.inf


def _may_be_bands(codes: Floats, x: Floats) -> bool:
    """Whether some codes (N,) change as seldom along the numbers (N,) as intervals of these do."""
    some = np.linspace(0, len(x) - 1, min(len(x), _SOME)).astype(np.intp)
    some = some[~np.isnan(x[some])]
    along = codes[some][np.argsort(x[some], kind="stable")]
    return int(np.count_nonzero(np.diff(along))) < len(np.unique(codes))


def _ruled(
    name: str, rule: str | tuple[str, ...], records: CodedRecords, **instead: Any
) -> Column | None:
    """The column with rules; `instead` are its other entries where one takes a family's place.

    None where the rules, read again, do not hold in all records: names and labels can be odd.
    """
    column, values = records.columns[name], records.values
    gone = {*_NO_FAMILY, *column.settings} if instead else set()
    kept = tuple(x for x in column.review if x not in gone)
    try:
        made = replace(column, **instead, rule=rule, review=(*kept, "rule"))
        with_it = {**records.columns, name: made}
        judged = [rule.judged(name, None, values, with_it) for rule in made.rules]
    except (InputError, KeyError):
        return None
    fixed = np.zeros(len(values[name]), dtype=np.bool_)
    for holds, broken in judged:
        if (broken & ~(holds & fixed)).any():
            return None
        fixed |= holds
    barring = all(rule.bars for rule in made.rules)
    return made if fixed.all() or made.is_computed or barring else None


def _copy(name: str, others: list[str], records: CodedRecords) -> Column | None:
    """A category with the labels of an earlier one in all records, of which several units tell."""
    column, own = records.columns[name], records.values[name]
    for other in others:
        levels = records.columns[other].coded_levels
        if column.is_constant or {*levels} - {*column.coded_levels}:
            continue
        codes = np.array([column.code_of(label) for label in levels])
        units = np.bincount(own.astype(np.intp), records.often.each)
        if (codes[records.values[other].astype(np.intp) - 1] != own).any():
            continue
        if units.sum() - units.max() < _UNITS_OF_A_COPY:
            continue
        copied = _ruled(name, f"= {formatted_name(other)}", records, **_NO_FAMILY)
        if copied is not None:
            return copied
    return None


def _bands_or_none(name: str, other: str, records: CodedRecords) -> Column | None:
    """A category whose levels are intervals of a number where it is not missing; None otherwise.

    Its rules bar all other levels of an interval, so that a missing value stays free.
    """
    column, values = records.columns[name], records.values
    kept = values[name] <= len(column.levels or ())
    if kept.all() or not kept.any() or {*column.missing_codes} & {*(column.levels or ())}:
        return None
    some = {x: values[x][kept] for x in (name, other)}
    bands = _bands(name, other, replace(records, values=some, often=records.often.among(kept)))
    levels = {band.level for band in bands if band.level is not None}
    if levels != {*(column.levels or ())} or len(levels) > _MOST_BARRED:
        return None
    texts = []
    for band in bands:
        barred = [formatted_value(x, quoted=True) for x in column.levels or () if x != band.level]
        condition = " and ".join(filter(None, (band.above, band.below)))
        if band.level is not None:
            texts.append(f"never {', '.join(barred)} where {condition}")
    return _ruled(name, tuple(texts), records)


class _Band(NamedTuple):
    """A level, and the conditions under which a number is in its interval."""

    level: str | None
    above: str
    below: str

    @property
    def rule(self) -> str:
        """The rule of the level, of which those of lower ones stand before it."""
        return f"{formatted_value(self.level)} where {self.below or self.above}"


def _bands(name: str, other: str, records: CodedRecords) -> tuple[_Band, ...]:
    """The intervals of a number that a category's levels are; none where they are no intervals."""
    column, number, often = records.columns[name], records.columns[other], records.often
    codes, x = records.values[name].astype(np.intp) - 1, records.values[other]
    there = ~np.isnan(x)
    known, first = np.unique(x[there], return_index=True)
    of_known = codes[there][first]
    steps = np.flatnonzero(np.diff(of_known))
    used = len(np.unique(of_known))
    if used < 2 or len(steps) != used - 1 or len(known) < max(LEAST_DIFFERENT, 2 * used):
        return ()
    if (of_known[np.searchsorted(known, x[there])] != codes[there]).any():
        return ()
    if not often.codes(np.where(there, codes, -1), int(codes.max()) + 1)[of_known].all():
        return ()
    units = np.bincount(codes[there], often.each[there])
    if (units[of_known] < _UNITS_A_BAND).any():
        return ()
    bands, above = [], ""
    gone = np.unique(codes[~there])
    if len(gone) > 1 or (len(gone) and len(number.missing_codes) > 1):
        return ()
    labels = column.coded_levels
    if len(gone):
        bands.append(_Band(labels[gone[0]], f"{formatted_name(other)} == missing", ""))
    for place in steps:
        cut = number_between(float(known[place]), float(known[place + 1]))
        bands.append(_Band(labels[of_known[place]], above, condition_on(other, number, "<", cut)))
        above = condition_on(other, number, ">=", cut)
    return (*bands, _Band(labels[of_known[-1]], above, ""))
