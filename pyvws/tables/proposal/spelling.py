"""How a proposed rule spells names, values and the numbers of its conditions."""

from __future__ import annotations

import keyword
import math
from typing import Final

from pyvws.tables.files.labels import as_number, label_of
from pyvws.tables.schema.column import Column

_DIGITS: Final = range(-9, 10)  # Decimals of a number between two others.


def number_between(below: float, bound: float) -> float:
    """The number of fewest digits above `below` and at most `bound`."""
    for digits in _DIGITS:
        cut = math.floor(bound * 10.0**digits) / 10.0**digits
        if below < cut <= bound:
            return round(cut, max(0, digits))
    return bound


def condition_on(name: str, column: Column, order: str, number: float) -> str:
    """The condition that compares a number or a date of a column by `order`."""
    spelled = column.label_of_number(number)
    return (
        f"{formatted_name(name)} {order} {spelled if column.days_since is None else repr(spelled)}"
    )


def formatted_name(name: str) -> str:
    """The name of a column as a rule spells it: in backquotes where it is no plain name."""
    plain = name.isidentifier() and not keyword.iskeyword(name) and name != "missing"
    return name if plain else f"`{name}`"


def formatted_value(label: str | None, *, quoted: bool = False) -> str:
    """A label as a rule spells it; text has quotes in a condition, and where it has blanks."""
    if label is None:
        return "missing"
    number = as_number(label)
    plain = number is not None and label_of(number) == label
    return label if plain or (not quoted and label.isidentifier()) else repr(label)
