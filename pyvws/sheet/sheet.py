"""A sheet: rows of figures under headings, with notes. Each result is told by its sheets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, SupportsFloat


@dataclass(frozen=True, slots=True)
class Sheet:
    """Rows under headings, and sentences above and below them.

    - `title`: What the rows are of.
    - `columns`: The headings; the first is that of the row's name.
    - `rows`: Texts and numbers, as many in a row as there are headings.
    - `notes`: Sentences below the rows.
    - `lead`: Sentences above them.
    - `facts`: What a program gets: entries of one JSON object.
    - `digits`: How many digits a number shows.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()
    lead: Sequence[str] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    digits: int = 4

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The rows as text; what is missing is an empty cell."""
        return [tuple(_cell(value, self.digits) for value in row) for row in self.rows]

    @property
    def numeric(self) -> list[bool]:
        """Whether each column holds nothing but numbers and gaps."""
        columns = [[cell for cell in column if cell] for column in zip(*self.cells, strict=True)]
        return [bool(column) and all(map(_is_number, column)) for column in columns]


def number(value: SupportsFloat | None, digits: int = 4) -> str:
    """A number as a table shows it, or a word for a value that is no number."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    value = float(value)
    if value != value or abs(value) == float("inf"):
        return "not finite"
    whole = abs(value) < 1e15 and (value == round(value) or abs(value) >= 10.0**digits)
    return f"{value:.0f}" if whole else f"{value:.{digits}g}"


def _cell(value: SupportsFloat | str | None, digits: int) -> str:
    if isinstance(value, str):
        return value
    return "" if value != value else number(value, digits)


def _is_number(text: str) -> bool:
    try:
        float(text.removesuffix(" %"))
    except ValueError:
        return text in ("none", "not finite")
    return True
