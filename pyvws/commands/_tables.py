"""Read an original and synthetic datasets made by any tool, for several subcommands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from pyvws._base.checks import Floats, positions
from pyvws.commands._options import names
from pyvws.errors import InputError
from pyvws.report.output_folder import (
    aligned_files,
    dataset_files,
    is_output_folder,
    refuse_random_order,
)
from pyvws.tables.files import read_table
from pyvws.tables.frame import check_columns, numeric_column, open_frame, plain_columns
from pyvws.tables.row_order import RowNumbers

__all__ = ["read_outcomes", "read_records", "synthetic_files"]


def read_outcomes(
    original: Path, synthetic: Sequence[Path], outcome: str
) -> tuple[Floats, list[Floats]]:
    """The original's outcome (N,), and the outcome of each of `synthetic_files`."""
    y = _outcome(open_frame(read_table(original).frame), outcome, original)
    files = synthetic_files(synthetic)
    return y, [_outcome(open_frame(read_table(path).frame), outcome, path) for path in files]


def synthetic_files(paths: Sequence[Path]) -> list[Path]:
    """The paths, with each run's folder replaced by the run's datasets."""
    return [
        file
        for path in paths
        for file in (dataset_files(path) if is_output_folder(path) else [path])
    ]


def read_records(
    original: Path, synthetic: Sequence[Path], outcome: str, known: str | None
) -> tuple[Floats, list[Floats], dict[str, Any] | None]:
    """Outcomes of files that hold the same records in the same order, and the known columns.

    A path may be the folder of a run; the function then lines the run's datasets up with the
    records. Raises InputError if a synthetic file has other rows, or other values in a known
    column.
    """
    frame = open_frame(read_table(original).frame)
    y = _outcome(frame, outcome, original)
    if outcome in names(known):
        raise InputError(
            f"known names the outcome {outcome!r}, which an intruder looks for. Take it out."
        )
    patterns = plain_columns(frame, names(known), role="known")
    values = []
    for path, rows in _in_an_order(synthetic):
        table = open_frame(read_table(path).frame)
        if len(table) != len(y) or not (rows is None or len(rows) == len(y)):
            raise InputError(
                f"{path.name} has {len(table)} rows, {original.name} has {len(y)}. Risk needs the "
                "same records in the same order."
            )
        table = table if rows is None else table[rows]
        values.append(_outcome(table, outcome, path))
        for name in set(patterns) & set(table.columns):
            other = _different(frame[name], table[name])
            if other.any():
                raise InputError(
                    f"{path.name} has other values in the known column {name!r} than "
                    f"{original.name}: {positions(other)}. Risk needs the same records in the same "
                    "order."
                )
    return y, values, {n: c.astype(object).to_numpy() for n, c in patterns.items()} or None


def _in_an_order(synthetic: Sequence[Path]) -> Iterator[tuple[Path, RowNumbers | None]]:
    """Each file, and the row of each record (N,); None if the rows have the records' order."""
    for path in synthetic:
        if is_output_folder(path):
            files, rows = aligned_files(path)
            yield from ((file, rows) for file in files)
        else:
            refuse_random_order(path)
            yield path, None


def _outcome(frame: Any, outcome: str, path: Path) -> Floats:
    check_columns(frame, [outcome], role=path.name)
    if not frame[outcome].dtype.is_numeric():
        raise InputError(
            f"{path.name}: outcome {outcome!r} is not numeric (its type is "
            f"{frame[outcome].dtype}). A radius and a distance need numbers; a category can be a "
            "known column."
        )
    return numeric_column(frame, outcome, role=path.name)


def _different(first: Any, second: Any) -> NDArray[np.bool_]:
    """The rows where two columns differ; two file formats may type the same values differently."""
    if first.dtype != second.dtype:
        numeric = first.dtype.is_numeric() and second.dtype.is_numeric()
        common = nw.Float64 if numeric else nw.String
        try:
            first, second = first.cast(common), second.cast(common)
        except pl.exceptions.PolarsError:  # A duration and text, for example, are never equal.
            return np.ones(len(first), dtype=np.bool_)
    return np.asarray((first != second).fill_null(True).to_numpy(), dtype=np.bool_)
