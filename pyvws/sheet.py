"""A sheet: rows of figures under headings, with notes. Each result is told by its sheets.

A sheet is shown as text for a terminal, as JSON for programs, and as HTML for notebooks and pages.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, SupportsFloat

if TYPE_CHECKING:
    from rich.console import Console


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


_WIDTH, _WIDEST, _STEP = 100, 400, 20


def plain_console(**given: Any) -> Console:
    """A console that prints every text as it is; rich would read [k] or :key: in a name as its own.

    The console of a listener must be one.
    """
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False, **given)


def print_sheets(sheets: Iterable[Sheet]) -> None:
    """Print each sheet: its lead, its rows as a table whose first column names them, its notes."""
    for sheet in sheets:
        console = plain_console(width=_WIDTH)
        for line in sheet.lead:
            print(line)
        print(_drawn(sheet), end="")
        for line in sheet.notes:
            console.print(line)


def _drawn(sheet: Sheet) -> str:
    from rich.table import Table

    table = Table(title=sheet.title)
    for place, heading in enumerate(sheet.columns):
        table.add_column(heading, justify="right" if place else "left")
    for row in sheet.cells:
        table.add_row(*row)
    for width in range(_WIDTH, _WIDEST, _STEP):  # A figure that has no room would lose digits.
        console = plain_console(width=width)
        with console.capture() as drawn:
            console.print(table)
        if "…" not in drawn.get():
            break
    return drawn.get()


def print_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object on stdout; arrays become lists, and NaN and infinity null."""
    print(json.dumps(plain(content), indent=2, allow_nan=False))


def plain(value: object) -> Any:
    """A value for JSON: arrays as lists, NaN and infinity as None, what JSON lacks as text."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


_LONG = 44  # A longer cell may break into lines.
_SHORT = 12, 80  # Print keeps at most so many rows on one sheet, and no longer cells.


class InSheets:
    """What is told by its sheets, and shows them in a notebook."""

    __slots__ = ()

    @property
    def sheet(self) -> Sheet:
        """The only sheet."""
        raise NotImplementedError

    @property
    def sheets(self) -> Sequence[Sheet]:
        """The sheets in their order."""
        return (self.sheet,)

    def _repr_html_(self) -> str:
        return html(self.sheets)


def html(sheets: Iterable[Sheet], *, sorts: bool = False) -> str:
    """The sheets that have rows; every text is escaped.

    A page `sorts`: its script puts the rows in the order of a column, and its style sets columns of
    numbers to the right.
    """
    return "".join(_shown(sheet, sorts) for sheet in sheets if sheet.rows)


def _shown(sheet: Sheet, sorts: bool) -> str:
    heads = [escape(heading) for heading in sheet.columns]
    cells = sheet.cells
    if sorts:
        numeric = sheet.numeric
        short = len(cells) <= _SHORT[0] and all(len(x) < _SHORT[1] for row in cells for x in row)
        opening = f'<div class="scroll"><table class="sorts"{" data-short" if short else ""}>'
        head = "".join(
            f'<th scope="col" data-name="{name}" data-numbers="{"yes" if own else "no"}">'
            f'<button type="button">{name}</button></th>'
            for name, own in zip(heads, numeric, strict=True)
        )
        marks = [
            [
                f' data-label="{name}"' + _class(cell, own)
                for cell, name, own in zip(row, heads, numeric, strict=True)
            ]
            for row in cells
        ]
        closing = "</table></div>"
    else:
        opening, closing = "<table>", "</table>"
        head = "".join(f"<th>{name}</th>" for name in heads)
        marks = [[""] * len(row) for row in cells]
    body = "".join(
        "<tr>"
        + "".join(f"<td{mark}>{escape(cell)}</td>" for cell, mark in zip(row, own, strict=True))
        + "</tr>"
        for row, own in zip(cells, marks, strict=True)
    )
    return (
        _sentences(sheet.lead)
        + f"{opening}<caption>{escape(sheet.title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody>{closing}" + _sentences(sheet.notes)
    )


def _class(cell: str, numeric: bool) -> str:
    if numeric:
        return ' class="number"'
    return ' class="long"' if len(cell) > _LONG else ""


def _sentences(said: Iterable[str]) -> str:
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in said)
