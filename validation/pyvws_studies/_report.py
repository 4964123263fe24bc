"""What a study writes and shows: tables as csv, an explanation, pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from pyvws._base.folders import write_whole
from pyvws._base.resumable_jobs import Key, Result
from pyvws_studies.replicates import Report

Row = dict[str, Any]

MIXED: Final = 1.05  # R-hat above which two chains disagree, not only want more draws.


def all_rows(results: Mapping[Key, Result]) -> list[Row]:
    """The rows of all replicates, in the order of the keys."""
    return [row for result in results.values() for row in result.rows]


def rows_by_place(results: Mapping[Key, Result], *columns: str) -> dict[tuple[Any, ...], list[Row]]:
    """The rows of all replicates by the values of these columns, replicates in order."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in all_rows(results):
        groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    return groups


def mean_of(rows: Iterable[Row], column: str) -> float | None:
    """The mean of a column over the rows that have a value; None where none has one."""
    values = [row[column] for row in rows if row[column] is not None]
    return float(np.mean(values)) if values else None


def mixing(rows: Iterable[Row]) -> Row:
    """The worst R-hat, and the share of fits whose chains disagree; None without chains."""
    rhat = [row["rhat"] for row in rows if row["rhat"] is not None]
    disagree = float(np.mean(np.array(rhat) > MIXED)) if rhat else None
    return {"rhat": max(rhat, default=None), "disagree": disagree}


def write_report(
    out: Path,
    parts: Iterable[Any],
    *,
    tables: Mapping[str, list[dict[str, Any]]],
    text: Iterable[str],
    pictures: Mapping[str, Any],
) -> Report:
    """Write each table, explanation.txt and each picture by its name; show tables and text."""
    import polars as pl

    paragraphs = list(text)
    for name, rows in tables.items():
        write_whole(out / name, pl.DataFrame(rows, infer_schema_length=None).write_csv())
    write_whole(out / "explanation.txt", "\n\n".join(paragraphs) + "\n")
    save_pictures(pictures, out)
    return Report([*parts, *paragraphs], [*tables, "explanation.txt", *pictures])


def save_pictures(pictures: Mapping[str, Any], folder: Path) -> None:
    """Write figures by file name; an SVG is the same for the same figure."""
    import matplotlib as mpl

    for name, figure in pictures.items():
        if name.endswith(".svg"):
            with mpl.rc_context({"svg.hashsalt": "pyvws"}):
                figure.savefig(folder / name, metadata={"Date": None})
        else:
            figure.savefig(folder / name, dpi=120)
