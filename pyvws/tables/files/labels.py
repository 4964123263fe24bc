"""Cells and levels as text, and the numbers and dates that text spells; dates as whole days."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Final, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pyvws._base.checks import as_text
from pyvws.errors import InputError

_ISO: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE: Final = re.compile(r"\s*([0-9]+)[-/.]([0-9]+)[-/.]([0-9]+).*")
_WHOLE: Final = re.compile(r"\+?(-?)0*([0-9]+)(?:\.0*)?")
EPOCH: Final = "1970-01-01"
_EMPTY: Final = frozenset(
    {"", "#N/A N/A", "#NA", "#N/A", "NA", "N/A", "n/a", "NULL", "null", "nan", "NaN"}
    | {"-nan", "-NaN", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}
)
_MIDNIGHT: Final = " 00:00:00"
_AT_MIDNIGHT: Final = re.compile(r"[ T]00:00(:00(\.0+)?)?$")
_TRUTH: Final = {"true": "1", "false": "0"}
_MOST_DIGITS: Final = 400  # A decimal of more is beyond any number.
_Days = TypeVar("_Days", NDArray[Any], pl.Series)
_DAYS: Final = (date.min.toordinal(), date.max.toordinal())


def label_of(value: object) -> str:
    """A level or cell as text: "true" or "false", a whole number without a point, text as it is.

    A decimal loses the zeros at its end, and a date and time at midnight is its date.

    Raises InputError for text that is no Unicode, which no file can hold.
    """
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, (float, np.floating)):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    text = str(value)
    if isinstance(value, Decimal) and abs(value.adjusted()) < _MOST_DIGITS:
        whole, point, digits = format(value, "f").partition(".")
        text = (whole + point + digits.rstrip("0")).removesuffix(".")
    elif isinstance(value, datetime):
        text = text.removesuffix(_MIDNIGHT)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError.by("level-no-unicode") from None
    return text


def as_number(label: str) -> float | None:
    """The finite number that a label spells, or None; 1_000 is no number, as in a file."""
    try:
        number = float(label)
    except ValueError:
        return None
    return number if np.isfinite(number) and "_" not in label else None


def are_truth_values(levels: Sequence[str]) -> bool:
    """Whether levels are words for true and false, in any case, each at most once."""
    words = [level.lower() for level in levels]
    return {*words} <= {"true", "false"} and 0 < len(words) == len({*words})


def are_numbers(levels: Sequence[str]) -> bool:
    """Whether each level is a number as `label_of` writes it, so that its spelling says no more."""
    numbers = [(level, as_number(level)) for level in levels]
    return bool(levels) and all(x is not None and label_of(x) == level for level, x in numbers)


def spells_empty(cell: str | None) -> bool:
    """Whether Arrow's reader takes such text for an empty cell, but in columns of text."""
    return cell in _EMPTY


def meant(label: str | None) -> str | None:
    """What a label stands for however a reader types its column: 1 for 01 and 1.0, true for True.

    Text of an empty cell is None, and a time is spelled in full. Other text is itself.
    """
    if label is None or spells_empty(label):
        return None
    plain = label.strip().lower()
    if plain in ("true", "false"):
        return plain
    try:
        number = float("x" if "_" in label else label)
    except ValueError:
        return _moment(label) or label
    return None if np.isnan(number) else label_of(number)


def as_digit(label: str) -> str:
    """1 for true and 0 for false, since Arrow reads 1 as true where another record has true.

    Other text is itself.
    """
    return _TRUTH.get(label.strip().lower(), label)


def by_meaning(levels: Sequence[str | None]) -> dict[str | None, int]:
    """The place of each level by what it is `meant` for, of those that no other level is."""
    meanings = [meant(level) for level in levels]
    times = Counter(meanings)
    return {own: place for place, own in enumerate(meanings) if times[own] == 1}


def _moment(text: str) -> str | None:
    """Text of a date, of a time, or of both, as `label_of` has them; None for other text."""
    for kind in (datetime, time):
        try:
            moment: Any = kind.fromisoformat(text)
            zoned = kind is datetime and moment.tzinfo is not None
            return str(moment.astimezone(UTC) if zoned else moment).removesuffix(_MIDNIGHT)
        except (ValueError, OverflowError):
            continue
    return None


def reads_as_truth(text: str | None) -> bool:
    """Whether a reader may take such text for true or false beside these words, as Arrow does 1."""
    return meant(text) in ("0", "1")


def reads_as_date(text: str | None) -> bool:
    """Whether a reader may take text that is no ISO date for a date, as polars does 30/06/2001."""
    found = None if text is None or _moment(text) else _DATE.fullmatch(text)
    if found is None:
        return False
    first, second, third = map(int, found.groups())
    orders = (first, second, third), (third, second, first), (third, first, second)
    return any(_is_date(*order) for order in orders)


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except (ValueError, OverflowError):  # Such as 9999-99-99, a code.
        return False
    return True


def id_of(cell: str) -> str:
    """An id as text: ids that spell one number, such as 01, 1 and 1.0, are one, with all digits."""
    if whole := _WHOLE.fullmatch(cell.strip()):
        return "".join(whole.groups())
    number = as_number(cell)
    return cell if number is None else label_of(number)


def iso_date(value: object, name: str) -> str:
    """A date as ISO text; InputError for a value that is neither a date nor such text."""
    if isinstance(value, str) and as_days(value, value) == 0.0:
        return value
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    raise InputError.by("not-a-date", name=name, value=as_text(value))


def as_days(text: str, start: str) -> float | None:
    """Days from the date `start` to the one that ISO text such as 2000-12-31 names, or None.

    Text of a date and time at midnight is its date, as for `label_of`.
    """
    text = _AT_MIDNIGHT.sub("", text)
    if not _ISO.fullmatch(text):
        return None
    try:
        return float(date.fromisoformat(text).toordinal() - date.fromisoformat(start).toordinal())
    except ValueError:  # Such as 2000-02-31.
        return None


def iso_of(days: float, start: str) -> str:
    """ISO text of the date that lies whole `days` after `start`."""
    return str(np.datetime64(start, "D") + np.timedelta64(int(days), "D"))


def moved(days: _Days, start: str, to: str) -> _Days:
    """Days (N,) since `to` of dates given as days since `start`."""
    return days + (date.fromisoformat(start) - date.fromisoformat(to)).days


def days_or_number(value: object, start: str, name: str) -> Any:
    """Days from `start` to a date; a whole number of days as it is. InputError for other values."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        low, high = (day - date.fromisoformat(start).toordinal() for day in _DAYS)
        if not (low <= value <= high and float(value).is_integer()):
            raise InputError.by("not-dates", name=name, value=as_text(value))
        return float(value)
    return as_days(iso_date(value, name), start)


def days_or_empty(column: pl.Series, start: str) -> pl.Series | None:
    """Days (N,) since `start` of dates or of text, empty where a cell is no date.

    None for a column of another type.
    """
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        column = column.cast(pl.String).str.to_date("%Y-%m-%d", strict=False)
    if column.dtype != pl.Date and not isinstance(column.dtype, pl.Datetime):
        return None
    return moved(column.cast(pl.Date).to_physical().cast(pl.Float64), EPOCH, start)


def spelled_levels(labels: Sequence[Any], levels: Sequence[str | None]) -> list[Any]:
    """Each label as the level that it spells, or as it is where it spells none or several.

    >>> spelled_levels(["TRUE", "f ", "01", "x"], ["true", "F", "1", "2"])
    ['true', 'F', '1', 'x']
    """
    known = {*levels}
    meanings, letters = by_meaning(levels), [bare(level) for level in levels]
    times = Counter(letters)
    bybare = {own: k for k, own in enumerate(letters) if times[own] == 1}
    places = [meanings.get(meant(x), bybare.get(bare(x), -1)) for x in labels]
    return [
        label if label in known or place < 0 else levels[place]
        for label, place in zip(labels, places, strict=True)
    ]


def bare(label: object) -> str | None:
    """A label without its capitals and the blanks around it, and by what it is meant for."""
    return None if label is None else meant(str(label).strip().casefold())
