"""Dates as whole days since a public start, and back as dates of a column's own type."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any, Final

import narwhals as nw
import numpy as np
import polars as pl

from pyvws._base.checks import Floats, told
from pyvws.errors import InputError

_ISO: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
EPOCH: Final = "1970-01-01"
_DAYS: Final = (date.min.toordinal(), date.max.toordinal())


def iso_date(value: Any, name: str) -> str:
    """A date as ISO text; InputError for a value that is neither a date nor such text."""
    if isinstance(value, str) and as_days(value, value) == 0.0:
        return value
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    raise InputError(f"{name} must be a date such as 2000-12-31. Got {told(value)}.")


def as_days(text: str, start: str) -> float | None:
    """Days from the date `start` to the one that ISO text such as 2000-12-31 names, or None."""
    if not _ISO.fullmatch(text):
        return None
    try:
        return float(date.fromisoformat(text).toordinal() - date.fromisoformat(start).toordinal())
    except ValueError:  # Such as 2000-02-31.
        return None


def iso_of(days: float, start: str) -> str:
    """ISO text of the date that lies whole `days` after `start`."""
    return str(np.datetime64(start, "D") + np.timedelta64(int(days), "D"))


def moved(days: Any, start: str, to: str) -> Any:
    """Days (N,) since `to` of dates given as days since `start`."""
    return days + (date.fromisoformat(start) - date.fromisoformat(to)).days


def days_or_number(value: Any, start: str, name: str) -> Any:
    """Days from `start` to a date; a whole number of days as it is. InputError for other values."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        low, high = (day - date.fromisoformat(start).toordinal() for day in _DAYS)
        if not (low <= value <= high and float(value).is_integer()):
            raise InputError(f"{name} must be dates such as 2000-12-31. Got {told(value)}.")
        return float(value)
    return as_days(iso_date(value, name), start)


def holds_dates(column: nw.Series[Any]) -> bool:
    """Whether a column's type is one of dates, or of Python's dates as objects."""
    if column.dtype == nw.Object and column.implementation.is_pandas():
        import pandas as pd

        return pd.api.types.infer_dtype(column.to_native(), skipna=True) == "date"
    return column.dtype in (nw.Date, nw.Datetime)


def days_of(column: nw.Series[Any], start: str, name: str) -> Floats:
    """Days (N,) since `start` of a column that `holds_dates`, NaN where a cell is empty.

    Raises InputError for times of the day, and for dates of a time zone.
    """
    found = column.to_polars()
    if isinstance(found.dtype, pl.Datetime):
        if found.dtype.time_zone is not None:
            raise InputError(
                f"Column {name!r} has times of a time zone. Turn them into dates of one calendar."
            )
        times = int((found != found.dt.truncate("1d")).sum())
        if times:
            raise InputError(
                f"Column {name!r} has {times} times of the day. Turn them into dates, or into "
                "numbers such as seconds since a public start."
            )
    days = found.cast(pl.Date).to_physical().cast(pl.Float64).fill_null(float("nan"))
    return np.asarray(moved(days.to_numpy(), EPOCH, start), dtype=np.float64)


def days_or_empty(column: pl.Series, start: str) -> pl.Series | None:
    """Days (N,) since `start` of dates or of text, empty where a cell is no date.

    None for a column of another type.
    """
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        column = column.cast(pl.String).str.to_date("%Y-%m-%d", strict=False)
    if column.dtype != pl.Date and not isinstance(column.dtype, pl.Datetime):
        return None
    return moved(column.cast(pl.Date).to_physical().cast(pl.Float64), EPOCH, start)


def dates_like(days: Floats, start: str, name: str, like: nw.Series[Any]) -> nw.Series[Any]:
    """The dates (M,) that lie whole `days` after `start`, empty where NaN, of the type of `like`.

    `like` is a column that `holds_dates`. Raises InputError for dates that its type cannot hold.
    """
    missing = np.isnan(days)
    dates = np.datetime64(start, "D") + np.where(missing, 0, days).astype("timedelta64[D]")
    dates[missing] = np.datetime64("NaT")
    try:
        made = nw.from_native(_native(dates, like), series_only=True).alias(name)
        if not np.array_equal(days_of(made, start, name), days, equal_nan=True):
            raise ValueError
    except (ArithmeticError, ValueError, pl.exceptions.PolarsError):
        raise InputError(
            f"The type of column {name!r} cannot hold all dates of its range. Convert the column "
            "to dates of days, or narrow the range."
        ) from None
    return made


def _native(dates: Any, like: nw.Series[Any]) -> Any:
    if like.implementation.is_polars():
        return pl.Series(dates).cast(like.to_native().dtype)
    import pyarrow as pa

    if like.implementation.is_pyarrow():
        return pa.chunked_array([pa.array(dates).cast(like.to_native().type)])
    import pandas as pd

    kind = like.to_native().dtype
    if isinstance(kind, pd.ArrowDtype):
        cells = pa.array(dates).cast(kind.pyarrow_dtype)
        return pd.Series(pd.arrays.ArrowExtensionArray(cells))  # type: ignore[attr-defined]
    if kind == np.dtype(object):
        return pd.Series(dates.astype(object), dtype=object)
    return pd.Series(dates).astype(kind)
