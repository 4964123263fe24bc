"""Which values enough records and units have to be listed in a proposal, and who may accept it.

A level, an end of a range or a rule that fewer than ten records have, or fewer than five units,
could give a record back. So a proposal lists none, and notes how many records have such values. Of
fewer than 50 records or units nobody may accept a proposal as it is, and it shows what there is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Self

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Bools, Floats, Places, Values
from pyvws._base.phrase import counted
from pyvws.tables.files.headers import named
from pyvws.tables.files.kinds import distinct
from pyvws.tables.files.labels import meant
from pyvws.tables.schema.column import Column, Columns
from pyvws.tables.schema.entries import values_in
from pyvws.tables.schema.read_values import at_decimals

Codes = NDArray[np.intp]

_LEAST_RECORDS: Final = 10  # Of a value that is listed,
_LEAST_UNITS: Final = 5
_RECORDS_OR_UNITS: Final = 50  # and of a proposal that may be accepted as it is.
_LEAST_ACCEPTED: Final = _RECORDS_OR_UNITS
_RECORDS_A_VALUE: Final = 5  # Of each column.
_ALL: Final = (-1e300, 1e300)


@dataclass(frozen=True, slots=True, eq=False)
class Often:
    """What enough records (N,) have: `units` (N,) are codes from 0 of the unit of each.

    Where chance is judged a record counts as `each` (N,): 1 over the records of its unit. `asked`
    says whether somebody could accept the proposal.
    """

    units: Codes
    each: Floats
    asked: bool

    @classmethod
    def of(cls, units: Codes) -> Self:
        """That of a whole table."""
        each = 1.0 / np.bincount(units)[units]
        return cls(units, each, len(np.unique(units)) >= _LEAST_ACCEPTED)

    def among(self, rows: Bools) -> Self:
        """That of the records in `rows` (N,) alone."""
        return type(self)(self.units[rows], self.each[rows], self.asked)

    def _are_enough(self, records: ArrayLike, units: ArrayLike) -> Bools:
        if not self.asked:
            return np.asarray(records) > 0
        return (np.asarray(records) >= _LEAST_RECORDS) & (np.asarray(units) >= _LEAST_UNITS)

    def enough(self, rows: Bools) -> bool:
        """Whether enough records are among the `rows` (N,)."""
        return bool(self._are_enough(rows.sum(), len(np.unique(self.units[rows]))))

    def codes(self, codes: Places, size: int) -> Bools:
        """Which codes (L,) from 0 to `size` - 1 enough records have, of (N,); -1 is no code."""
        there = codes >= 0
        pairs = np.unique(self.units[there].astype(np.int64) * size + codes[there])
        counts = (np.bincount(own, minlength=size) for own in (codes[there], pairs % size))
        return self._are_enough(*counts)

    def numbers(self, values: Floats) -> Floats:
        """The different numbers among (N,) that enough records have, which rise."""
        known, codes = np.unique(values, return_inverse=True)
        return np.asarray(known[self.codes(codes.reshape(-1), len(known)) & ~np.isnan(known)])

    def innermost(self, values: Floats) -> tuple[float, float] | None:
        """The first numbers (N,) from either end that enough records are at or beyond.

        None where there is none, or one lies beyond the other.
        """
        order = np.argsort(values, kind="stable")
        ends = []
        for rows in (order, order[::-1]):
            new = np.zeros(len(rows), dtype=np.intp)
            new[np.unique(self.units[rows], return_index=True)[1]] = 1
            met = self._are_enough(np.arange(1, len(rows) + 1), np.cumsum(new))
            if not met.any():
                return None
            ends.append(float(values[rows[np.argmax(met)]]))
        return (ends[0], ends[1]) if ends[0] <= ends[1] else None


@dataclass(frozen=True, slots=True, eq=False)
class CodedRecords:
    """The records of a table: `values` (N,) by name, as `Schema.coded` gives them for `columns`.

    `often` has the unit of each record.
    """

    columns: Columns
    values: Values
    often: Often


def why_not_accepted(columns: Columns, unit: str | None, records: int) -> str | None:
    """Why a proposal from so many records, or units, is nearly the table, and what to do then.

    It has 50 of them or more, and 5 or more for each value that a column has under review. None
    where that is so.
    """
    of, least = "records" if unit is None else "units", _RECORDS_OR_UNITS
    if records < least:
        whose = (
            " Records of one household or place count as one."
            if unit is None
            else f" All records of one {named([unit], [*columns])} are one."
        )
        return (
            f"A proposal is accepted as it is from {least} {of} on. With fewer it is nearly the "
            f"table.{whose} Check each entry, take its name out of review, and set reviewed."
        )
    crowded = [
        name
        for name, column in columns.items()
        if records < _RECORDS_A_VALUE * sum(values_in(column.given[own]) for own in column.review)
    ]
    if not crowded:
        return None
    unfit = ""
    if unit is not None:
        whose = named([unit], [*columns])
        unfit = f" First look at unit: take it out if all records of one {whose} are no unit."
    return (
        f"A proposal is accepted as it is with {_RECORDS_A_VALUE} {of} or more for each value that "
        "a column has under review. Columns with fewer hold nearly the table: "
        f"{named(crowded, [*columns])}.{unfit} Check these columns, drop them or join "
        "levels, and take the names out of their review. Then accept the rest."
    )


def as_they_are(columns: Columns) -> dict[str, Column]:
    """The columns with all numbers within their ranges, as what is computed of them needs.

    Dates keep their ranges.
    """
    return {
        name: Column(
            model="normal",
            range=_ALL,
            decimals=column.decimals,
            missing=column.missing,
            mass=column.mass,
            outside=True,
        )
        if column.outside and column.range and column.days_since is None
        else column
        for name, column in columns.items()
    }


def with_numbers_outside(columns: Columns, frame: nw.DataFrame[Any]) -> dict[str, Column]:
    """The columns with a note of how many records have values that `outside` is for.

    The number is confidential, as a proposal is. Notes never leave with a release.
    """
    noted = dict(columns)
    for name, column in columns.items():
        if column.outside is None:
            continue
        places, labels = distinct(frame[name])
        lies_outside = np.array([*(_is_outside(column, label) for label in labels), False])
        number = counted(int(lies_outside[places].sum()), "record")
        note = f"{number} with values that too few records share: see outside"
        noted[name] = replace(column, note="; ".join(filter(None, (column.note, note))))
    return noted


def _is_outside(column: Column, label: str) -> bool:
    """Whether the schema does not list what a label stands for."""
    codes = column.coded_levels if column.categorical else column.missing_codes
    if meant(label) is None or meant(label) in map(meant, codes):
        return False
    number = None if column.categorical else column.number_of(label)
    if number is None:
        return True
    exact = at_decimals(column, number)
    return bool(column.within(exact) != exact)
