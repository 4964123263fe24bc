"""Propose lookups, and short conditionals for a wide or long table: tables of a few predictors.

A column that an earlier category decides is looked up. With many columns, levels or records, a
sampler takes hours for regressions on all earlier columns. Then each category becomes a
conditional table of at most two earlier columns: those that tell most of it, by mutual information
less what as many cells show by chance. All of this is found in the records, so every entry made
here stands in `review`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.tables.files.labels import label_of
from pyvws.tables.proposal.often import CodedRecords, Codes, Often
from pyvws.tables.schema.column import Column, part_of
from pyvws.tables.schema.rules import looked_up_by

_MOST_COEFFICIENTS: Final = 3000  # A sampler fits so many in minutes,
_MOST_WORK: Final = 2_000_000  # and so many coefficients times records.
_MOST_SHARES: Final = 3_000  # Patterns times levels: 16,000 draws of them, as of a search, fit.
_MOST_BANDS: Final = 30  # A predictor has at most so many levels or intervals.
_TENTHS: Final = np.arange(0.1, 1.0, 0.1)
_TAILS: Final = np.array([0.01, 0.99])
_OF_TAILS: Final = 1000  # Of so many values on, tails have cells of their own.
_MOST_DIGITS: Final = 16
_SPAN: Final = 49  # Whole numbers within so many values become levels of a table.
_UNITS_A_LEVEL: Final = 5
_OTHERS: Final = 15  # So many other values does the review of a table have: cuts, and predictors.
_RECORDS_A_LEVEL: Final = 10  # On average, but for the most frequent, where levels decide a column.

UNSCALED: Final[Mapping[str, Any]] = {"mass": (), "outcome_scale": None, "settings": {}}
"""Entries of a number that no family has on a scale."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A column as the others see it: codes (N,) from 0 of its levels or parts, and of its bands."""

    column: Column
    own: Floats
    codes: Codes
    bands: Codes | None


def short_conditionals(records: CodedRecords) -> dict[str, Column]:
    """The proposed columns with lookups, and short conditionals where regressions are too long."""
    columns, values, often = records.columns, records.values, records.often
    N = max((len(entry) for entry in values.values()), default=0)
    coefficients = _coefficients(columns)
    short = coefficients > _MOST_COEFFICIENTS or coefficients * N > _MOST_WORK
    proposed: dict[str, Column] = {}
    seen: dict[str, _Seen] = {}
    for name, column in columns.items():
        if column.role != "synthesize" or column.is_computed or column.is_constant:
            proposed[name] = column
            continue
        if column.rule and not all(rule.bars for rule in column.rules):  # They compute it.
            table: dict[str, Any] = {"model": "table"} if short else {}
            proposed[name] = _changed(column, **table, predictors=())
            continue
        part_codes = values.get(part_of(name)) if column.parts else None
        entry = _as_it_is(column, values[name])
        if short:
            entry = _seen(column, values[name], part_codes, often)
        if lookup := _decided_by(entry, seen, often):
            proposed[name] = _changed(column, **UNSCALED, model=None, cuts=None, lookup=lookup)
            continue
        proposed[name] = entry.column
        if short:
            predictors = _predictors(entry, seen)
            part = {"part": {"model": "table"}} if entry.column.parts else {}
            proposed[name] = _changed(entry.column, predictors=predictors, **part)
        seen[name] = entry
    return proposed


def _coefficients(columns: Mapping[str, Column]) -> int:
    """How many coefficients regressions of each column on all earlier ones have."""
    total, width = 0, 1
    for column in columns.values():
        if column.role == "synthesize" and not (column.is_computed or column.rule):
            outcomes = len(_values(column)) - 1 if column.categorical or column.parts else 0
            outcomes += not column.categorical
            total += width * outcomes
            width += outcomes
    return total


def _values(column: Column) -> tuple[str | None, ...]:
    """The levels of a category, or the parts of a number; one value without either."""
    return column.coded_levels if column.categorical else column.parts or ("value",)


def _changed(column: Column, **entries: Any) -> Column:
    """The column with other entries, each of which is to be reviewed."""
    emptied = {name for name, value in entries.items() if value in (None, (), {})}
    gone = {*entries, *(column.settings if "settings" in entries else ())}
    kept = [name for name in column.review if name not in gone]
    review = (*kept, *(name for name in entries if name not in emptied - {"predictors"}))
    return replace(column, **entries, review=review)


def _as_it_is(column: Column, own: Floats) -> _Seen:
    """The column as a regression takes it; a number decides no other column."""
    codes = own.astype(np.intp) - 1 if column.categorical else np.zeros(len(own), dtype=np.intp)
    return _Seen(column, own, codes, None)


def _seen(column: Column, own: Floats, part: Floats | None, often: Often) -> _Seen:
    """The column as a conditional table takes it, and its codes.

    Few whole numbers are levels, if enough records have each, and if there are several units a
    level, as in a proposal that is accepted. Others stay numbers.
    """
    if column.categorical:
        codes = own.astype(np.intp) - 1
        narrow = len(column.coded_levels) <= _MOST_BANDS
        return _Seen(_changed(column, model="table"), own, codes, codes if narrow else None)
    low, high = column.range or (-np.inf, np.inf)
    few = column.decimals == 0 and column.days_since is None and high - low <= _SPAN
    few &= len(np.unique(often.units)) >= _UNITS_A_LEVEL * (high - low + 1.0 + _OTHERS)
    if few and often.asked:  # Enough records have each whole number, those at an end too.
        places = np.where(np.isnan(own), -1.0, own - low).astype(np.intp)
        few = bool(often.codes(places, int(high - low) + 1).all())
    cuts = _cuts(own[~np.isnan(own) if few or part is None else part == 1.0])
    bands = np.searchsorted(cuts, np.nan_to_num(own, nan=-np.inf), side="right")
    if few:
        levels = tuple(label_of(x) for x in np.arange(low, high + 1.0))
        gone: dict[str, Any] = {**UNSCALED, "range": None, "decimals": None}
        whole = _changed(column, **gone, model="table", levels=levels, cuts=tuple(cuts))
        missing = np.isnan(own)
        code = 0.0 if part is None else part - 2.0 - len(column.mass)
        codes = np.where(missing, len(levels) + code, own - low).astype(np.intp)
        bands = np.where(missing, len(cuts) + 1 + code, bands).astype(np.intp)
        return _Seen(whole, np.asarray(codes + 1.0), codes, bands)
    if part is not None:
        bands = np.where(part == 1.0, bands, len(cuts) + part.astype(np.intp) - 1)
    return _Seen(_changed(column, cuts=tuple(cuts)), own, bands, bands)


def _cuts(values: Floats) -> Floats:
    """Tenths of the values (n,) in as few digits, two or more, as keep different ones apart.

    Of many values a hundredth at either end stands apart too: a range reaches far beyond it.
    """
    if not len(values):
        return np.empty(0)
    shares = np.union1d(_TENTHS, _TAILS if len(values) >= _OF_TAILS else [])
    tenths = np.unique(np.quantile(values, shares))
    for digits in range(2, _MOST_DIGITS):
        rounded = np.unique([float(f"{x:.{digits}g}") for x in tenths])
        if len(rounded) == len(tenths):
            return rounded
    return tenths


def _predictors(outcome: _Seen, seen: Mapping[str, _Seen]) -> tuple[str, ...]:
    """At most two earlier columns that tell most of a column."""
    chosen: list[str] = []
    pattern, best = np.zeros(len(outcome.codes), dtype=np.intp), 0.0
    levels = len(_values(outcome.column))
    while len(chosen) < 2:
        most = ""
        for name, other in seen.items():
            if other.bands is None or name in chosen:
                continue
            joint = pattern * (other.bands.max() + 1) + other.bands
            if (joint.max() + 1) * levels > _MOST_SHARES:
                continue
            if (nats := _information(joint, outcome.codes)) > best:
                best, most = nats, name
        if not most:
            break
        bands = seen[most].bands
        assert bands is not None
        pattern = pattern * (bands.max() + 1) + bands
        chosen.append(most)
    return tuple(chosen)


def _information(pattern: Codes, codes: Codes) -> float:
    """Mutual information of two codings (N,), in nats, less one for each free share over N."""
    n, L = len(codes), int(codes.max()) + 1
    counts = np.bincount(pattern * L + codes, minlength=(int(pattern.max()) + 1) * L)
    joint = np.asarray(counts.reshape(-1, L), dtype=np.float64) / n
    joint = joint[joint.any(axis=1)]
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    both = joint > 0
    nats = float((joint[both] * np.log(joint[both] / np.outer(rows, columns)[both])).sum())
    return nats - (len(rows) - 1) * (int((columns > 0).sum()) - 1) / n


def _decided_by(
    outcome: _Seen, seen: Mapping[str, _Seen], often: Often
) -> dict[str, dict[str, Any]] | None:
    """The lookup of a column that the levels of an earlier one decide; None if none does."""
    column = outcome.column
    if column.days_since is not None or column.parts or np.isnan(outcome.own).any():
        return None
    for name, other in sorted(seen.items(), key=lambda pair: len(_values(pair[1].column))):
        levels = other.column.coded_levels
        rarer = len(outcome.own) - int(np.bincount(other.codes).max())  # Of all levels but one.
        if not other.column.categorical or rarer < _RECORDS_A_LEVEL * (len(levels) - 1):
            continue
        if not often.codes(other.codes, len(levels))[np.unique(other.codes)].all():
            continue
        low, high = np.full(len(levels), np.inf), np.full(len(levels), -np.inf)
        np.minimum.at(low, other.codes, outcome.own)
        np.maximum.at(high, other.codes, outcome.own)
        if (low != high).any():
            continue
        if column.categorical:
            decided = [column.coded_levels[int(code) - 1] for code in low]
            return None if None in decided else {name: _by_level(levels, decided)}
        return {name: _by_level(levels, low.tolist())}
    return None


def is_decided_by(name: str, other: str, records: CodedRecords) -> bool:
    """Whether each level of another category, which has more of them, has one of a category's."""
    own, by = (_as_it_is(records.columns[x], records.values[x]) for x in (name, other))
    if len(np.unique(by.own)) <= len(np.unique(own.own)):
        return False
    return _decided_by(own, {other: by}, records.often) is not None


def _by_level(levels: tuple[str | None, ...], decided: list[Any]) -> dict[str, Any]:
    return dict(zip(map(looked_up_by, levels), decided, strict=True))
