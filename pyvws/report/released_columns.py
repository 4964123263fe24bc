"""The columns of a release: which are synthetic, what they hold, and their values by dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import narwhals as nw
import numpy as np
import polars as pl

from pyvws.errors import InputError
from pyvws.evaluation.original_and_datasets import OriginalAndDatasets, described
from pyvws.tables.files.csv_lines import csv_header
from pyvws.tables.files.read import CSV_NULLS, UNREADABLE, csv_types, scan_columns
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema

AS_LEFT: Final = "Report on a folder as pyvws synthesize left it."
_EMPTY: Final = "(empty)"
_LOOKED_AT: Final = 10_000  # Rows of a csv that tell its types.
_PLAIN: Final = Column(role="public")
MOST_ROWS: Final = 100_000
"""Pairs of columns are measured on at most so many rows of a dataset."""


@dataclass(frozen=True, slots=True)
class ReportedColumn:
    """A column of the datasets.

    `levels` are the public levels of a category, or none if nothing public has them; None of a
    number. `number` says how a number is read: its missing codes, and the start of its days.
    """

    name: str
    synthetic: bool
    levels: tuple[str, ...] | None
    number: Column = _PLAIN

    @property
    def missing(self) -> bool:
        """Whether the schema lets a number be missing."""
        return self.levels is None and bool(self.number.missing_codes)

    @property
    def is_number(self) -> bool:
        """Whether the column is synthetic and has a number, that is no date, in every row."""
        plain = self.levels is None and self.number.days_since is None
        return self.synthetic and plain and not self.missing


@dataclass(frozen=True, slots=True, eq=False)
class ColumnValues:
    """The values of one column in several tables.

    Each of `tables` has shape (N,): numbers, or codes 0 to L - 1 of the L `levels`. `unit` says
    behind the name what numbers count, if they are dates.
    """

    name: str
    levels: tuple[str, ...] | None
    tables: list[Any]
    unit: str = ""


def read_columns(
    files: Sequence[Path], privacy: Mapping[str, Any], schema: Schema | None
) -> list[ReportedColumn]:
    """The columns of datasets in their order; those not released unchanged are synthetic.

    Columns of new ids are left out.

    A column is a category if the schema says so, if its model is nominal, or if it holds neither
    numbers nor truth values. A number of a table whose schema is not public may be missing if some
    cell is empty.
    """
    kept = privacy.get("columns_released_unchanged")
    unchanged = {str(name) for name in kept} if isinstance(kept, list) else set()
    with readable(str(files[0])):
        kinds = scan(files[0]).collect_schema()
    empty = _with_empty_cells(files) if schema is None and "columns" in privacy else set()
    models = {entry["name"]: entry["model"] for entry in privacy.get("columns", ())}
    columns = []
    for name, kind in kinds.items():
        if name in privacy.get("columns_numbered", ()):
            continue
        synthetic = name not in unchanged
        model = models.get(name, privacy.get("model")) if synthetic else None
        entry = described(schema).get(name)
        if entry is not None:
            columns.append(reported_column(name, synthetic, entry))
            continue
        category = model == "nominal" or not (kind.is_numeric() or kind == pl.Boolean)
        number = replace(_PLAIN, missing=True) if name in empty else _PLAIN
        columns.append(ReportedColumn(name, synthetic, () if category else None, number))
    return columns


def _with_empty_cells(files: Sequence[Path]) -> set[str]:
    """Names of the columns that have an empty cell in some file."""
    names: set[str] = set()
    for file in files:
        with readable(str(file)):
            (counts,) = scan(file).null_count().collect(engine="streaming").to_dicts()
        names |= {name for name, count in counts.items() if count}
    return names


def reported_column(name: str, synthetic: bool, column: Column) -> ReportedColumn:
    """A column of the datasets as a schema says what it holds."""
    levels = tuple(_EMPTY if level is None else level for level in column.coded_levels)
    return ReportedColumn(name, synthetic, levels if column.categorical else None, column)


def read_values(
    column: ReportedColumn, files: Sequence[Path], *, data: pl.Series | None = None
) -> ColumnValues:
    """The values of a column in `data`, if given, and in each file; other columns stay on disk."""
    parts = {} if data is None else {"data": data}
    of_files = {file.name: _read(file, column) for file in files}
    return valued(column, parts | of_files, beside_data=data is not None)


def valued(
    column: ReportedColumn,
    parts: Mapping[Any, pl.Series],
    *,
    beside_data: bool = False,
    remedy: str = AS_LEFT,
) -> ColumnValues:
    """A column of several tables as numbers, or as codes of the levels that any table has.

    Of a number that may be missing the values are those that are there.

    The tables' names and the remedy are for the message of an InputError: for text, or an empty
    cell, in a number.
    With `beside_data` the first table is the data, whose categories the others must spell alike.
    """
    frames = {str(role): pl.DataFrame({column.name: part}) for role, part in parts.items()}
    if column.levels is None:  # Truth values count as 0 and 1.
        frames = {role: frame.cast({pl.Boolean: pl.Float64}) for role, frame in frames.items()}
    tables = OriginalAndDatasets(
        {role: nw.from_native(frame, eager_only=True) for role, frame in frames.items()}
    )
    if column.levels is None:
        numbers = tables.numbers(column.name, column.number)
        for role, part in zip(tables.frames, numbers, strict=True):
            if np.isnan(part).any() and not column.missing:
                raise InputError.by(
                    "output-missing-values", role=role, column=column.name, remedy=remedy
                )
        start = column.number.days_since
        unit = "" if start is None else f", days since {start}"
        return ColumnValues(column.name, None, [part[~np.isnan(part)] for part in numbers], unit)
    spelled = [None if level == _EMPTY else level for level in column.levels]
    codes, code_of = tables.codes(column.name, spelled)
    if beside_data:
        tables.refuse_other_spellings({column.name: (codes, code_of)}, {column.name: spelled})
    labels = [_EMPTY if label is None else label for label in code_of]
    levels = (*column.levels, *sorted({*labels} - {*column.levels}))
    place = np.array([levels.index(label) for label in labels], dtype=np.intp)
    return ColumnValues(column.name, levels, [place[own] for own in codes])


def read_some(columns: Sequence[ReportedColumn], file: Path, rows: int) -> pl.DataFrame:
    """Some columns of a dataset of so many rows: all rows, or evenly spread ones of many."""
    with readable(str(file)):
        plan = scan(file, text=[column.name for column in columns if column.levels is not None])
        if rows > MOST_ROWS:
            place = "place of the row"
            plan = plan.with_row_index(place).filter(pl.col(place) % -(-rows // MOST_ROWS) == 0)
        return plan.select(column.name for column in columns).collect(engine="streaming")


def dataset_rows(file: Path) -> int:
    """The number of rows of a dataset."""
    with readable(str(file)):
        return int(scan(file).select(pl.len()).collect().item())


def _read(file: Path, column: ReportedColumn) -> pl.Series:
    text = [] if column.levels is None else [column.name]
    with readable(f"{file.name}: its column {column.name!r}"):
        return scan(file, text=text).select(column.name).collect()[column.name]


def scan(file: Path, *, text: Sequence[str] = ()) -> pl.LazyFrame:
    """A plan to read a dataset; the columns of a csv that `text` names keep their spelling."""
    kind = file.suffix[1:]
    if kind != "csv":
        return scan_columns(file, kind)
    with file.open("rb") as opened:
        given: Any = {"new_columns": csv_header(opened)}
    kinds = pl.scan_csv(file, infer_schema_length=_LOOKED_AT, **given).collect_schema()
    wanted: dict[str, Any] = {
        name: pl.Float64 if kind.is_integer() else kind for name, kind in kinds.items()
    }
    wanted |= dict.fromkeys(text, pl.String)
    return pl.scan_csv(file, schema_overrides=wanted, **given)


def kinds_in(file: Path, names: Sequence[str]) -> dict[str, pl.DataType]:
    """The types of some columns of a dataset; codes of a csv such as 007 are text."""
    if not names:
        return {}
    with readable(str(file)):
        if file.suffix != ".csv":
            kinds = scan_columns(file, file.suffix[1:]).select(names).collect_schema()
            return dict(kinds)
        with file.open("rb") as opened:
            given: Any = {"new_columns": csv_header(opened)}
        types = csv_types(file, given)
        whole = [name for name in names if types[name].is_integer()]
        cells = pl.scan_csv(file, infer_schema=False, null_values=CSV_NULLS, **given)
        coded = cells.select(
            (pl.col(n) != pl.col(n).cast(types[n]).cast(pl.String)).any() for n in whole
        )
        (more,) = coded.collect(engine="streaming").to_dicts() if whole else [{}]
        return {name: pl.String() if more.get(name) else types[name] for name in names}


@contextmanager
def readable(named: str) -> Iterator[None]:
    """Raise InputError, without a confidential value, if the `named` file cannot be read."""
    try:
        yield
    except UNREADABLE as error:
        raise InputError.by(
            "output-unreadable", named=named, kind=type(error).__name__, as_left=AS_LEFT
        ) from None
