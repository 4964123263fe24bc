"""Cells and levels as text, and text as the numbers that it spells."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np

from pyvws.errors import InputError


def label_of(value: Any) -> str:
    """A level or cell as text: "true" or "false", a whole number without a point, text as it is.

    A decimal loses the zeros at its end, and a date and time at midnight is its date.

    Raises InputError for text that is no Unicode, which no file can hold.
    """
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, (float, np.floating)):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    text = str(value)
    if isinstance(value, Decimal):
        whole, point, digits = format(value, "f").partition(".")
        text = (whole + point + digits.rstrip("0")).removesuffix(".")
    elif isinstance(value, datetime):
        text = text.removesuffix(" 00:00:00")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError("A level has a character that is no Unicode. Recode the text.") from None
    return text


def as_number(label: str) -> float | None:
    """The finite number that a label spells, or None; 1_000 is no number, as in a file."""
    try:
        number = float(label)
    except ValueError:
        return None
    return number if np.isfinite(number) and "_" not in label else None
