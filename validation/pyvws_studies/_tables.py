"""A table for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def terminal_table(title: str, *, left: Iterable[str] = (), right: Iterable[str] = ()) -> Any:
    """A rich table: the `left` headings are of text columns, the `right` headings of numbers."""
    from rich.table import Table

    table = Table(title=title)
    for heading in left:
        table.add_column(heading)
    for heading in right:
        table.add_column(heading, justify="right")
    return table
