"""Whether a proposal may be accepted as it is, or its entries hold nearly the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyvws.tables.files.headers import named
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.entries import values_in

LEAST_RECORDS: Final = 50
"""So many records, or units, a proposal has that may be accepted as it is."""

_RECORDS_A_VALUE: Final = 5  # Of each column.


def why_not_accepted(columns: Mapping[str, Column], unit: str | None, records: int) -> str | None:
    """Why a proposal from so many records, or units, is nearly the table, and what to do then.

    It has 50 of them or more, and 5 or more for each value that a column has under review. None
    where that is so.
    """
    of, least = "records" if unit is None else "units", LEAST_RECORDS
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
