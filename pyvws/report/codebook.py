"""What a release holds for its readers: each column, the noisy counts, and what figures rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Final

import polars as pl

from pyvws.report.deciding_pictures import DROWNED, counted_cells
from pyvws.report.output_folder import PublicPart
from pyvws.report.released_columns import ReportedColumn, kinds_in, readable, scan
from pyvws.sheet import Sheet, number
from pyvws.tables.files.labels import as_number
from pyvws.tables.schema.column import part_of
from pyvws.tables.schema.write_values import content_of, says_content

_LEVELS: Final = 12  # So many levels, sets or names are listed.
_TOGETHER: Final = 40  # So many columns stand in one table.


def codebook(public: PublicPart) -> list[Sheet]:
    """Each column's type, values, missing codes with their share in the datasets, and rule.

    Very many columns stand in groups by what they hold.
    """
    untold = [x.name for x in public.columns if not says_content(x.number)]
    kinds = kinds_in(public.files[0].path, untold)
    missing = _missing(public)
    rows = [
        (name, "new ids", "text", "", "", "") for name in public.privacy.get("columns_numbered", ())
    ]
    for column in public.columns:
        kind = kinds.get(column.name)
        told = content_of(column.number) if kind is None else _in_words(kind)
        rules = column.number.rule or ()
        rows.append(
            (
                column.name,
                "synthetic" if column.synthetic else "released unchanged",
                told,
                _values(column),
                missing.get(column.name, "" if column.number.missing_codes else "none"),
                rules if isinstance(rules, str) else "; ".join(rules),
            )
        )
    groups = {"": rows}
    if len(rows) > _TOGETHER:
        groups = {}
        for row in rows:
            groups.setdefault(f" that hold {row[2]}: {{}} of {len(rows)}", []).append(row)
    return [
        Sheet(
            f"The columns{name.format(len(own))}. Missing: the share of rows, as a mean over the "
            "datasets. Numbers are in the table's own unit, since a schema names none.",
            ("column", "is", "holds", "values", "missing", "rule"),
            own,
        )
        for name, own in groups.items()
    ]


def rests_on(public: PublicPart) -> Sheet:
    """Which figures are counted, modelled or unsupported."""
    privacy = public.privacy
    if public.cells is not None:
        rows = _of_counts(privacy, public.cells)
    elif public.histogram:
        rows = [
            ("of the one column", "counted", "Each bin has noise, and values spread evenly in it."),
            ("of the column with others", "unsupported", "Relations are not kept."),
        ]
    else:
        rows = _of_models(privacy, [column.name for column in public.synthetic])
    if unchanged := privacy.get("columns_released_unchanged"):
        rows.append((f"of {some_of(unchanged)} alone", "exact", "The table's own, unchanged."))
    return Sheet("What figures depend on", ("figures", "are", "why"), rows)


_Rows = list[tuple[str, str, str]]


def _of_counts(privacy: Mapping[str, Any], cells: pl.DataFrame) -> _Rows:
    told, (counts, scales) = privacy["counts"], counted_cells(cells)
    sets = [name for name in dict.fromkeys(cells["set"].to_list()) if name != "records"]
    drowned = int((counts < DROWNED * scales).sum())
    rows = [
        (
            f"of a counted set: {some_of(sets)}",
            "counted",
            f"Noise of scale {number(scales.min(), 3)} to {number(scales.max(), 3)} is on each "
            "count. pyvws tabulate --counted gives intervals.",
        ),
        (
            f"of cells below twice their noise: {drowned} of {len(counts)}",
            "unsupported",
            "Noise can be all of such a count. Join cells.",
        ),
        ("of columns that no set has together", "modelled", "They follow from the counted sets."),
        ("of a number within one cell", "modelled", "Counts say only which cell values are in."),
    ]
    if lost := told.get("lost_sets"):
        named = some_of([" by ".join(own) for own in lost])
        rows.append(
            (f"of the datasets on {named}", "unsupported", "Take counts.parquet in their place.")
        )
    if "unit_column" in privacy:
        why = f"At most {told['cap']} of each {privacy['unit_column']} were counted."
        rows.append(("of all records of large units", "unsupported", why))
    return rows


def _of_models(privacy: Mapping[str, Any], names: Sequence[str]) -> _Rows:
    whole = {part_of(name): name for name in names}  # Of a number with points of mass.
    tied = {
        frozenset((whole.get(x["name"], x["name"]), other))
        for x in privacy.get("columns", ())
        for other in x["predictors"]
    }
    apart = [f"{x} by {y}" for x, y in combinations(names, 2) if frozenset((x, y)) not in tied]
    rows = [("of a synthetic column and its predictors", "modelled", "Its family ties them.")]
    if apart:
        rows.append(
            (f"of {some_of(apart)}", "unsupported", "No family ties them but through others.")
        )
    if privacy["mechanism"] != "unweighted":
        why = "Protection draws rare and extreme values towards the bulk."
        rows.append(("of tails and of small groups", "unsupported", why))
    return rows


def files_of_counts(public: PublicPart) -> Sheet:
    """The columns of the files of noisy counts; no rows without noisy counts."""
    folder = public.files[0].path.parent
    rows = [row for row in _HELD if public.cells is not None and (folder / row[0]).is_file()]
    return Sheet("What the noisy counts hold", ("file", "column", "holds"), rows)


_HELD: Final = (
    ("counts.parquet", "set", "the columns of a counted set; records is the number of records"),
    ("counts.parquet", "cell", "number of the cell in its set, from 0"),
    ("counts.parquet", "label", "the levels of the cell, in the order of the set's columns"),
    ("counts.parquet", "count", "the noisy count, which can be below 0"),
    ("counts.parquet", "scale", "the scale of the noise on it, in records"),
    ("cells.parquet", "column", "a number, counted in fine cells of its own"),
    ("cells.parquet", "by", "cells of its values, or roundness of them"),
    ("cells.parquet", "label, count, scale", "as in counts.parquet"),
)


def some_of(names: Sequence[str], most: int = _LEVELS) -> str:
    """The first of some names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _in_words(kind: pl.DataType) -> str:
    return "truth values" if kind == pl.Boolean else "numbers" if kind.is_numeric() else "text"


def _values(column: ReportedColumn) -> str:
    """The public levels or range of a column; empty where the schema has neither."""
    own = column.number
    if own.levels is not None:
        return some_of(own.levels)
    ends = map(own.label_of_number, own.range or ())
    whole = "whole numbers" if own.is_whole and own.days_since is None else ""
    decimals = f"{own.decimals} decimals" if own.decimals else ""
    return ", ".join(filter(None, [" to ".join(ends), whole or decimals]))


def _missing(public: PublicPart) -> dict[str, str]:
    """By column that may be missing, its codes and the share of such cells."""
    columns = [column for column in public.columns if column.number.missing_codes]
    if not columns:
        return {}
    names = [column.name for column in columns]
    shares = pl.DataFrame()
    for file in public.files:
        with readable(str(file.path)):
            plan = scan(file.path, text=names).select(_is_missing(x).mean() for x in columns)
            shares = shares.vstack(plan.collect(engine="streaming"))
    means = shares.mean().to_dicts()[0]
    return {
        column.name: ", ".join("empty" if x is None else x for x in column.number.missing_codes)
        + f": {means[column.name]:.1%}"
        for column in columns
    }


def _is_missing(column: ReportedColumn) -> pl.Expr:
    """Whether a cell is empty or has a code, which a file may spell as 9.0."""
    codes = [code for code in column.number.missing_codes if code is not None]
    numbers = [number for number in map(as_number, codes) if number is not None]
    text = pl.col(column.name).cast(pl.String)
    spelled = text.is_in(codes) | text.cast(pl.Float64, strict=False).is_in(numbers)
    return (text.is_null() | spelled.fill_null(False)).alias(column.name)
