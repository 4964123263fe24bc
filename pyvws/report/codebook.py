"""The codebook of a release: what each column holds, by the released schema and the datasets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from pyvws.report.output_folder import PublicPart
from pyvws.report.released_columns import ReportedColumn, kinds_in, readable, scan
from pyvws.sheet import Sheet
from pyvws.tables.files.labels import as_number
from pyvws.tables.schema.write_values import content_of, says_content

_LEVELS: Final = 12  # So many levels of a category are listed.


def codebook(public: PublicPart) -> Sheet:
    """Each column's type, values, missing codes with their share in the datasets, and rule."""
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
                missing.get(column.name, ""),
                rules if isinstance(rules, str) else "; ".join(rules),
            )
        )
    return Sheet(
        "The columns. The share of missing values is a mean over the synthetic datasets.",
        ("column", "is", "holds", "values", "missing", "rule"),
        rows,
    )


def _in_words(kind: pl.DataType) -> str:
    return "truth values" if kind == pl.Boolean else "numbers" if kind.is_numeric() else "text"


def _values(column: ReportedColumn) -> str:
    """The public levels or range of a column; empty where the schema has neither."""
    own = column.number
    if own.levels is not None:
        more = len(own.levels) - _LEVELS
        return ", ".join(own.levels[:_LEVELS]) + (f" and {more} more" if more > 0 else "")
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
        column.name: f"{_codes(column.number.missing_codes)}: {means[column.name]:.1%}"
        for column in columns
    }


def _codes(codes: Sequence[str | None]) -> str:
    return ", ".join("empty" if code is None else code for code in codes)


def _is_missing(column: ReportedColumn) -> pl.Expr:
    """Whether a cell is empty or has a code, which a file may spell as 9.0."""
    codes = [code for code in column.number.missing_codes if code is not None]
    numbers = [number for number in map(as_number, codes) if number is not None]
    text = pl.col(column.name).cast(pl.String)
    spelled = text.is_in(codes) | text.cast(pl.Float64, strict=False).is_in(numbers)
    return (text.is_null() | spelled.fill_null(False)).alias(column.name)
