"""Records whose values a proposal does not list: as they are, and how many there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import narwhals as nw
import numpy as np

from pyvws._base.phrase import counted
from pyvws.tables.files.kinds import distinct
from pyvws.tables.files.labels import meant
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.read_values import at_decimals

_ALL: Final = (-1e300, 1e300)


def as_they_are(columns: Mapping[str, Column]) -> dict[str, Column]:
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


def with_numbers_outside(
    columns: Mapping[str, Column], frame: nw.DataFrame[Any]
) -> dict[str, Column]:
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
