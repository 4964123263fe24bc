"""Files that several subcommands read: an original and synthetic datasets made by any tool."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyvws._checks import Floats
from pyvws.errors import InputError
from pyvws.io.files import read_table
from pyvws.io.frame import check_columns, numeric_column, open_frame, plain_columns

__all__ = ["names", "read_known", "read_outcomes"]


def names(text: str | None) -> tuple[str, ...]:
    """The names of a "COL,COL" option."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def read_outcomes(
    original: Path, synthetic: Sequence[Path], outcome: str, *, same_rows: bool
) -> tuple[Any, Floats, list[Floats]]:
    """The original's table and outcome (N,), and the outcome of each synthetic file."""
    frame = open_frame(read_table(original).frame)
    y = numeric_column(frame, outcome, role="outcome")
    values = []
    for path in synthetic:
        table = open_frame(read_table(path).frame)
        check_columns(table, [outcome], role=path.name)
        values.append(numeric_column(table, outcome, role=path.name))
        if same_rows and len(values[-1]) != len(y):
            raise InputError(
                f"{path.name} has {len(values[-1])} rows, {original.name} has {len(y)}. Risk needs "
                "the same records in the same order."
            )
    return frame, y, values


def read_known(frame: Any, known: str | None) -> list[Any] | None:
    """The known columns' values, or None without any."""
    columns = plain_columns(frame, names(known), role="known")
    return [column.astype(object).to_numpy() for column in columns.values()] or None
