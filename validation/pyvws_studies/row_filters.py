"""Choose a table's rows by conditions such as COLUMN=VALUE,VALUE or COLUMN>=NUMBER."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import narwhals as nw

from pyvws.errors import InputError
from pyvws.tables.files.frame import check_columns

_CONDITION = re.compile(r"\s*([^<>=!]+?)\s*(<=|>=|!=|=|<|>)\s*([^<>=!]+?)\s*")


def filtered(frame: nw.DataFrame[Any], conditions: Sequence[str]) -> nw.DataFrame[Any]:
    """The rows of the table (N, ...) that meet every condition, at least one.

    A condition is COLUMN, one of = != < <= > >=, and a value; = and != also take several values
    with commas between them. A numeric column is compared as numbers, any other as text, by = or !=
    alone. A missing value meets no condition. Raises InputError for another form, and where no row
    is left.

    >>> import polars as pl
    >>> table = nw.from_native(pl.DataFrame({"sector": ["a", "b", "c"], "pay": [1, 2, 3]}))
    >>> filtered(table, ["sector=a,c", "pay<3"])["pay"].to_list()
    [1]
    """
    for condition in conditions:
        match = _CONDITION.fullmatch(condition)
        if match is None:
            raise InputError.by("filter-no-condition", condition=condition)
        name, sign, text = match.groups()
        check_columns(frame, [name], role="filter")
        frame = frame.filter(_meets(frame[name], sign, text))
    if len(frame) == 0:
        raise InputError.by("filter-leaves-no-row")
    return frame


def _meets(column: nw.Series[Any], sign: str, text: str) -> Any:
    parts: list[Any] = [part.strip() for part in text.split(",")]
    numeric = column.dtype.is_numeric()
    if numeric:
        try:
            parts = [float(part) for part in parts]
        except ValueError:
            raise InputError.by("filter-needs-numbers", column=column.name) from None
    else:
        column = column.cast(nw.String)
    if sign in ("=", "!="):
        # Codes are whole numbers, which a float holds exactly.
        within = (column.cast(nw.Float64) if numeric else column).is_in(parts)
        kept = within if sign == "=" else ~within
        return (kept & ~column.is_null()).fill_null(False)
    if not numeric or len(parts) > 1:
        raise InputError.by("filter-needs-one-number", column=column.name, sign=sign)
    (limit,) = parts
    compared = {
        "<": column < limit,
        "<=": column <= limit,
        ">": column > limit,
        ">=": column >= limit,
    }
    return compared[sign].fill_null(False)
