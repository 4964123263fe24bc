"""What a study writes and shows: tables as csv, an explanation, pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pyvws._base.folders import write_whole
from pyvws._base.resumable_jobs import Key, Result
from pyvws_studies.replicates import Report

Row = dict[str, Any]


def all_rows(results: Mapping[Key, Result]) -> list[Row]:
    """The rows of all replicates, in the order of the keys."""
    return [row for result in results.values() for row in result.rows]


def write_report(
    out: Path,
    parts: Iterable[Any],
    *,
    tables: Mapping[str, list[dict[str, Any]]],
    text: Iterable[str] = (),
    pictures: Mapping[str, Any],
) -> Report:
    """Write tables and pictures by name, and a text as explanation.txt; show parts and text."""
    import polars as pl

    paragraphs = list(text)
    for name, rows in tables.items():
        write_whole(out / name, pl.DataFrame(rows, infer_schema_length=None).write_csv())
    if paragraphs:
        write_whole(out / "explanation.txt", "\n\n".join(paragraphs) + "\n")
    save_pictures(pictures, out)
    said = ["explanation.txt"] if paragraphs else []
    return Report([*parts, *paragraphs], [*tables, *said, *pictures])


def save_pictures(pictures: Mapping[str, Any], folder: Path) -> None:
    """Write figures by file name; an SVG is the same for the same figure, and has its label."""
    import matplotlib as mpl

    for name, figure in pictures.items():
        if name.endswith(".svg"):
            with mpl.rc_context({"svg.hashsalt": "pyvws"}):
                said = {"Date": None, "Description": figure.get_label() or None}
                figure.savefig(folder / name, metadata=said)
        else:
            figure.savefig(folder / name, dpi=120)


def terminal_table(title: str, *, left: Iterable[str] = (), right: Iterable[str] = ()) -> Any:
    """A rich table: the `left` headings are of text columns, the `right` headings of numbers."""
    from rich.table import Table

    table = Table(title=title)
    for heading in left:
        table.add_column(heading)
    for heading in right:
        table.add_column(heading, justify="right")
    return table


def table_of(
    title: str,
    rows: Iterable[Mapping[str, Any]],
    columns: Mapping[str, tuple[str, str]],
    *,
    left: int = 1,
    group: str = "",
    caption: str | None = None,
) -> Any:
    """A terminal table of rows by key: by heading the key of a column and the form of its numbers.

    The first `left` columns are text. An entry that is not there is empty. A line stands between
    rows that differ in `group`.
    """
    table = terminal_table(title, left=[*columns][:left], right=[*columns][left:])
    listed = list(rows)
    for row, after in zip(listed, [*listed[1:], {}], strict=True):
        entries = [(row.get(key), form) for key, form in columns.values()]
        table.add_row(
            *(
                "" if x is None else x if isinstance(x, str) else f"{x:{form}}"
                for x, form in entries
            ),
            end_section=row.get(group) != after.get(group),
        )
    table.caption = caption
    return table
