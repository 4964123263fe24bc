"""Find released columns that give the outcome away: copies of the outcome, or its rank order.

The same rule holds for a table in memory and for a table that is read in steps.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import narwhals as nw
import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws.errors import DisclosureWarning, InputError
from pyvws.tables.files.frame import Frame, OutcomeKind
from pyvws.tables.files.headers import display_names, named
from pyvws.tables.files.labels import EPOCH, days_or_empty
from pyvws.tables.files.write import NO_PLACE

_FEWEST: Final = 8  # In fewer records the rank order may arise by chance.
_FIRST: Final = 1000  # So many records tell most columns apart.
_SAMPLE: Final = 10_000  # So many records of each step are compared with those of other steps.
_TRUTH: Final = {"true": 1.0, "false": 0.0}


@dataclass(slots=True)
class _Seen:
    """Findings so far on one column; `forms` are the outcome's forms that the column may hold."""

    forms: set[int]
    present: int = 0
    least: float = np.inf
    most: float = -np.inf
    in_order: bool = True
    sample: list[pl.DataFrame] = field(default_factory=list)


class OutcomeCopies:
    """A search, step by step, for columns that hold the outcome or stand in its rank order.

    A copy meets three conditions. The column can be read as numbers: truth values as 0 and 1, text
    as the number that it spells. At least half of the records have a value in the column. Each of
    these values is the outcome, the outcome rounded to a whole number, or the outcome in 32 bits.

    A column stands in rank order where the outcome never falls, or never rises, from one value of
    the column to the next, and equal values go with equal outcomes. In a table read in steps the
    search compares the records of each step, and some records of all steps.

    For an outcome of levels, of that `kind`, a column that holds these levels counts as their
    codes; for one of dates, as days since 1970, so do dates.
    """

    def __init__(
        self,
        columns: Sequence[str],
        header: Sequence[str],
        outcome: str,
        kind: OutcomeKind = "real",
    ) -> None:
        self._levels = _sortable(_series(kind)) if isinstance(kind, nw.Series) else None
        self._dates = kind == "date" if isinstance(kind, str) else False
        self._seen = {name: _Seen({0, 1, 2}) for name in columns}
        self._header, self._outcome = header, display_names(header).get(outcome, outcome)
        self._records = 0
        self._least, self._most = np.inf, -np.inf

    def look(self, columns: dict[str, pl.Series], y: Floats) -> None:
        """Compare some records: the outcome (n,) before any rounding, and the columns."""
        if not len(y):
            return
        self._records += len(y)
        self._least, self._most = min(self._least, y.min()), max(self._most, y.max())
        with np.errstate(over="ignore"):
            forms = (y, np.rint(y), y.astype(np.float32).astype(np.float64))
        for name, seen in self._seen.items():
            if not (seen.forms or seen.in_order):
                continue
            days = days_or_empty(columns[name], EPOCH) if self._dates else None
            keys = self._coded(_sortable(columns[name])) if days is None else days
            if seen.forms and keys.dtype == pl.Float64:
                _compare(seen, keys.to_numpy(), forms)
            else:
                seen.forms = set()
            if seen.in_order:
                pairs = pl.DataFrame({"key": keys, "y": y})
                seen.in_order = _in_rank_order(pairs.head(_FIRST)) and _in_rank_order(pairs)
                seen.sample.append(pairs.gather_every(max(1, len(y) // _SAMPLE)))

    def judge(self, *, refuses: bool = True) -> None:
        """Refuse copies, or warn of them, and warn of columns in rank order.

        A strict run warns its agency alone, since a refusal would tell of the records.
        """
        try:
            self.refuse()
        except InputError as error:
            if refuses:
                raise
            warnings.warn(str(error), DisclosureWarning, stacklevel=4)
        else:
            self.warn()

    def refuse(self) -> None:
        """Raise InputError for copies."""
        same = [name for name, seen in self._seen.items() if self._is_copy(seen)]
        if same:
            raise InputError.by(
                "columns-equal-outcome", outcome=self._outcome, same=named(same, self._header)
            )

    def warn(self) -> None:
        """Warn, with DisclosureWarning, of columns in rank order."""
        ordered = [name for name, seen in self._seen.items() if self._is_ordered(seen)]
        if ordered:
            warnings.warn(
                f"Columns to be released as they are stand in the rank order of the outcome "
                f"{self._outcome!r}, or in the opposite one: {named(ordered, self._header)}. "
                "Whoever sorts by such a column has the order of the confidential values. Take "
                "these columns out of formula and keep, unless that order is public.",
                DisclosureWarning,
                stacklevel=4,
            )

    def _coded(self, keys: pl.Series) -> pl.Series:
        """Codes of the outcome's levels in place of keys that are all levels."""
        levels = self._levels
        if levels is None or levels.dtype != keys.dtype:
            return keys
        codes = np.arange(1.0, len(levels) + 1.0)
        coded = keys.replace_strict(levels, codes, default=None, return_dtype=pl.Float64)
        return coded if coded.null_count() == keys.null_count() else keys

    def _is_copy(self, seen: _Seen) -> bool:
        tells = seen.most > seen.least or not self._most > self._least
        return bool(seen.forms) and tells and 2 * seen.present >= self._records

    def _is_ordered(self, seen: _Seen) -> bool:
        enough = self._records >= _FEWEST and self._most > self._least
        if not (enough and seen.in_order):
            return False
        pairs = [part.cast({"key": pl.String}) for part in seen.sample]
        if all(part["key"].dtype == pl.Float64 for part in seen.sample):
            pairs = seen.sample
        return _in_rank_order(pl.concat(pairs), strictly=True)


def look_for_copies(
    frame: Frame,
    columns: Sequence[str],
    outcomes: Mapping[str, tuple[Floats, OutcomeKind]],
    *,
    refuses: bool = True,
) -> None:
    """Judge the copies of a table in memory, as `OutcomeCopies.judge` does.

    `outcomes` has the values (N,) of each outcome before any rounding, and their kind.
    """
    kept = [name for name in columns if name not in outcomes]
    values = {name: _series(frame[name]) for name in kept}
    for outcome, (y, kind) in outcomes.items():
        copies = OutcomeCopies(kept, frame.columns, outcome, kind)
        copies.look(values, y)
        copies.judge(refuses=refuses)


def _compare(seen: _Seen, numbers: Floats, forms: Sequence[Floats]) -> None:
    there = ~np.isnan(numbers)
    values = numbers[there]
    if not len(values):
        return
    seen.present += len(values)
    seen.least, seen.most = min(seen.least, values.min()), max(seen.most, values.max())
    seen.forms = {form for form in seen.forms if bool((forms[form][there] == values).all())}


def _in_rank_order(pairs: pl.DataFrame, *, strictly: bool = False) -> bool:
    """Whether y never falls or never rises along the keys; `strictly` excludes a constant y."""
    distinct = pairs.filter(pl.col("key").is_not_null()).unique().sort("key")
    if distinct["key"].is_duplicated().any():
        return False
    steps = np.diff(distinct["y"].to_numpy())
    if strictly and not steps.any():
        return False
    return bool((steps >= 0).all() or (steps <= 0).all())


def _series(column: nw.Series[Any]) -> pl.Series:
    """A column as a polars Series, as text where its type is none of polars' own."""
    if column.dtype != nw.Unknown:  # polars panics on some of these types.
        try:
            series = column.to_polars()
            if nw.from_native(series, series_only=True).dtype not in (nw.Object, nw.Unknown):
                return series
        except NO_PLACE:
            pass
    return pl.Series([None if value is None else str(value) for value in column.to_list()])


def _sortable(column: pl.Series) -> pl.Series:
    """A column as numbers without NaN, or as text where a value cannot be read as a number."""
    kind = column.dtype
    if kind.is_temporal():
        column = column.to_physical()
    elif kind.is_nested() or kind == pl.Binary or kind == pl.Null:
        return pl.Series(values=[None] * len(column), dtype=pl.String)
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column.cast(pl.Float64).fill_nan(None)
    text = column.cast(pl.String).str.strip_chars()
    text = text.set(text.is_in(["", "NA"]), None)
    numbers = text.cast(pl.Float64, strict=False)
    spelt = text.str.to_lowercase().replace_strict(_TRUTH, default=None, return_dtype=pl.Float64)
    numbers = numbers.fill_null(spelt).fill_nan(None)
    return text if (numbers.is_null() & text.is_not_null()).any() else numbers
