"""Sheets as text for a terminal, and as JSON for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pyvws.sheet.sheet import Sheet

if TYPE_CHECKING:
    from rich.console import Console

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
    print(json.dumps(_plain(content), indent=2, allow_nan=False))


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)
