"""Read an original and synthetic datasets made by any tool, for several subcommands."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from pyvws._base.checks import Floats, choice, positions
from pyvws.commands.options import names
from pyvws.errors import InputError
from pyvws.evaluation.attack_risk import AttackRisk, attack_risk
from pyvws.evaluation.combining_rules import OF, noise_of_records, rule_of
from pyvws.evaluation.original_and_datasets import described
from pyvws.evaluation.released_folder import read_by
from pyvws.evaluation.table_risk import TableRisk, table_risk
from pyvws.report.output_folder import (
    aligned_files,
    columns_of_run,
    dataset_files,
    draws_behind,
    is_output_folder,
    is_released,
    refuse_random_order,
    run_schema,
    said_beside,
    statements_beside,
)
from pyvws.report.released_columns import ColumnValues, ReportedColumn, reported_column, valued
from pyvws.tables.files.frame import check_columns, numeric_column, open_frame, plain_columns
from pyvws.tables.files.headers import named
from pyvws.tables.files.read import read_table
from pyvws.tables.files.row_order import RowNumbers
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema

UNIT_SIZE: Final = "unit_size"
"""The column that has how many records a unit has."""

_OF_CELLS: Final = ("levels", "missing", "range", "decimals")


def chosen_schema(synthetic: Sequence[Path], given: Path | None) -> Schema | None:
    """The schema given, or that of the first run that folders or released files are of.

    A run's schema that is still under review is named on stderr.
    """
    if given is not None:
        return Schema.read(given)
    path = next(filter(None, map(run_schema, synthetic)), None)
    if path is None:
        return None
    schema = Schema.read(path)
    if schema.under_review:
        print(
            f"Warning: {path} is still under review, and so confidential. What it says, such as "
            "levels, comes from the records: review it before a figure leaves.",
            file=sys.stderr,
        )
    return schema


@dataclass(frozen=True, slots=True, eq=False)
class FilesOfTables:
    """Synthetic datasets as their `files` have them; `schema` is `chosen_schema`."""

    files: list[Path]
    datasets: list[pl.DataFrame]
    schema: Schema | None


@dataclass(frozen=True, slots=True, eq=False)
class ComparedTables:
    """Synthetic datasets beside their original; `schema` is `chosen_schema`."""

    original: pl.DataFrame
    datasets: list[pl.DataFrame]
    schema: Schema | None


def read_synthetic(synthetic: Sequence[Path], schema: Path | None) -> FilesOfTables:
    """The datasets of files and of runs' folders."""
    known, files = chosen_schema(synthetic, schema), synthetic_files(synthetic)
    return FilesOfTables(files, [read_by(known, path) for path in files], known)


def rule_of_files(synthetic: Sequence[Path], of: str | None = None) -> dict[str, Any]:
    """What figures are of, by the statements beside the files or else `--of`, and files' draws.

    None where no record was imputed. Raises InputError for `--of` then, and for files of releases
    with several rules.
    """
    if of is not None:
        choice(of, "--of", OF)
    rules = {rule_of(privacy, of)["of"] for privacy in statements_beside(synthetic)}
    if len(rules) > 1:
        raise InputError.by("several-combining-rules")
    draws = draws_behind(synthetic_files(synthetic))
    return {"of": rules.pop() if rules else of, "draw_of_dataset": draws}


def noise_of_files(synthetic: Sequence[Path], rows: int) -> float:
    """`noise_of_records` of the statements beside the files, the largest of several."""
    said = statements_beside(synthetic)
    return max((noise_of_records(privacy, rows) for privacy in said), default=0.0)


def read_tables(original: Path, synthetic: Sequence[Path], schema: Path | None) -> ComparedTables:
    """The datasets with the original.

    A run on one outcome copies its predictors and no other column. Of such a run the original comes
    without the columns that the release does not have; they are named on stderr.
    """
    read = read_synthetic(synthetic, schema)
    known = read.schema
    table = read_by(known, original)
    there = {name for own in read.datasets for name in own.columns}
    absent = [name for name in table.columns if name not in there]
    if known is None and absent and said_beside(synthetic, "mechanism"):
        print(
            "Warning: The comparison leaves out columns that the release lacks: "
            f"{named(absent, table.columns)}.",
            file=sys.stderr,
        )
        table = table.drop(absent)
    return ComparedTables(table, read.datasets, known)


def risks_by_keys(
    tables: ComparedTables,
    keys: Sequence[str] | None,
    target: Sequence[str],
    holdout: Path | None,
    reference: Path | None = None,
    *,
    attacks: bool,
) -> tuple[TableRisk, AttackRisk | None]:
    """Risks of rows in any order, and of attacks beside the hold-out where they are asked for.

    Without `keys` the schema proposes them.
    """
    known = tables.schema
    held, public = (path if path is None else read_by(known, path) for path in (holdout, reference))
    asked: Any = {"keys": keys, "schema": known}
    risks = table_risk(tables.original, tables.datasets, target=target, holdout=held, **asked)
    if not attacks:
        return risks, None
    asked |= {"keys": risks.known.keys, "secret": target, "control": held, "reference": public}
    return risks, attack_risk(tables.original, tables.datasets, **asked)


def values_of(name: str, tables: ComparedTables, synthetic: Sequence[Path]) -> ColumnValues:
    """A column of the original, then of each dataset.

    A schema says what is a category; without one it is what a run says, or a column without
    numbers.
    """
    runs = filter(is_output_folder, synthetic)
    by_name = {own.name: own for path in runs for own in columns_of_run(path, tables.schema)}
    if name in described(tables.schema):
        by_name[name] = reported_column(name, True, described(tables.schema)[name])
    parts = {"original": tables.original} | {
        f"synthetic dataset {number}": one for number, one in enumerate(tables.datasets, start=1)
    }
    for role, table in parts.items():
        check_columns(open_frame(table), [name], role=f"{role}: outcome")
    numeric = parts["original"][name].dtype.is_numeric()
    column = by_name.get(name) or ReportedColumn(name, True, None if numeric else ())
    of_name = {role: table[name] for role, table in parts.items()}
    return valued(column, of_name, beside_data=True, remedy="Remove or impute these records first.")


def with_unit(
    data: pl.DataFrame, original: Path, synthetic: Sequence[Path]
) -> tuple[pl.DataFrame, str | None]:
    """The original with the column of units that a statement beside the datasets names, if any."""
    unit = next(iter(said_beside(synthetic, "unit_column", always=False)), None)
    if unit is None or unit in data.columns:
        return data, unit
    table = read_table(original).with_codes
    return (data.with_columns(table[unit]), unit) if unit in table.columns else (data, None)


def of_units(
    datasets: Sequence[pl.DataFrame], unit: str, schema: Schema | None
) -> tuple[list[pl.DataFrame], Schema]:
    """The first record of each unit with its number of records, and what is public of these."""
    for frame in datasets:
        check_columns(frame, [unit], role="--by-unit")
        if UNIT_SIZE in frame.columns:
            raise InputError.by("by-unit-column-taken", unit_size=UNIT_SIZE)
    size = pl.len().over(unit).cast(pl.String).alias(UNIT_SIZE)
    units = [
        frame.with_columns(size).unique(subset=unit, keep="first", maintain_order=True)
        for frame in datasets
    ]
    most = max(int(frame[UNIT_SIZE].cast(pl.Int64).max() or 1) for frame in units)  # type: ignore[arg-type]
    kept = {
        name: Column(role="public", **{entry: getattr(column, entry) for entry in _OF_CELLS})
        for name, column in described(schema).items()
        if column.role in ("public", "synthesize")
    }
    return units, Schema(
        {**kept, UNIT_SIZE: Column(role="public", levels=tuple(map(str, range(1, most + 1))))}
    )


def read_original(path: Path, columns: Sequence[ReportedColumn]) -> pl.DataFrame:
    """The confidential table of a release; InputError for a released column that it lacks."""
    frame = read_table(path).with_codes
    checked = open_frame(frame)
    check_columns(checked, [column.name for column in columns], role=path.name)
    for column in columns:
        if column.is_number:
            _outcome(checked, column.name, path)
    return frame


def synthetic_files(paths: Sequence[Path]) -> list[Path]:
    """The paths, with the datasets of a run in the place of its folder, or of its release/."""
    return [
        file for path in paths for file in (dataset_files(path) if is_released(path) else [path])
    ]


@dataclass(frozen=True, slots=True, eq=False)
class LinkedRecords:
    """The outcome `y` (N,) and `datasets` of it in the same order, and `known` columns (N,)."""

    y: Floats
    datasets: list[Floats]
    known: dict[str, NDArray[Any]] | None


def read_records(
    original: Path, synthetic: Sequence[Path], outcome: str, known: str | None
) -> LinkedRecords:
    """Outcomes of files that hold the same records in the same order, and the known columns.

    A path may be the folder of a run; the function then lines the run's datasets up with the
    records. Raises InputError if a synthetic file has other rows, or other values in a known
    column.
    """
    for path in filter(is_output_folder, synthetic):
        _check_columns_of_run(path, outcome, names(known))
    frame = open_frame(read_table(original).frame)
    y = _outcome(frame, outcome, original)
    if outcome in names(known):
        raise InputError.by("known-has-outcome", outcome=outcome)
    patterns = plain_columns(frame, names(known), role="known")
    values = []
    for path, rows in _in_an_order(synthetic):
        table = open_frame(read_table(path).frame)
        if len(table) != len(y) or not (rows is None or len(rows) == len(y)):
            raise InputError.by(
                "rows-differ", path=path.name, table=len(table), original=original.name, y=len(y)
            )
        table = table if rows is None else table[rows]
        values.append(_outcome(table, outcome, path))
        for name in set(patterns) & set(table.columns):
            other = _different(frame[name], table[name])
            if other.any():
                raise InputError.by(
                    "known-values-differ",
                    path=path.name,
                    name=name,
                    original=original.name,
                    other=positions(other),
                )
    columns = {name: own.astype(object).to_numpy() for name, own in patterns.items()}
    return LinkedRecords(y, values, columns or None)


def _check_columns_of_run(path: Path, outcome: str, known: Sequence[str]) -> None:
    """Refuse a category as the outcome, and synthetic columns as known ones."""
    reported = columns_of_run(path, chosen_schema([path], None))
    columns = {column.name: column for column in reported if column.synthetic}
    numbers = [name for name, column in columns.items() if column.levels is None]
    if outcome in columns and outcome not in numbers:
        hint = f"Name one of {', '.join(map(repr, numbers))}." if numbers else "It has none."
        raise InputError.by("risk-of-category", outcome=outcome, path=path, hint=hint)
    for name in known:
        if name in columns and name != outcome:
            raise InputError.by("known-is-synthetic", name=name, path=path)


def _in_an_order(synthetic: Sequence[Path]) -> Iterator[tuple[Path, RowNumbers | None]]:
    """Each file, and the row of each record (N,); None if the rows have the records' order."""
    for path in synthetic:
        if is_output_folder(path):
            files, rows = aligned_files(path)
            yield from ((file, rows) for file in files)
        else:
            refuse_random_order(path)
            yield path, None


def _outcome(frame: nw.DataFrame[Any], outcome: str, path: Path) -> Floats:
    check_columns(frame, [outcome], role=f"{path.name}: outcome")
    if not frame[outcome].dtype.is_numeric():
        kind = str(frame[outcome].dtype).partition("(")[0]
        raise InputError.by("risk-outcome-not-numeric", path=path.name, outcome=outcome, kind=kind)
    return numeric_column(frame, outcome, role=path.name)


def _different(first: nw.Series[Any], second: nw.Series[Any]) -> NDArray[np.bool_]:
    """The rows where two columns differ; two file formats may type the same values differently."""
    if first.dtype != second.dtype:
        numeric = first.dtype.is_numeric() and second.dtype.is_numeric()
        common = nw.Float64 if numeric else nw.String
        try:
            first, second = first.cast(common), second.cast(common)
        except pl.exceptions.PolarsError:  # A duration and text, for example, are never equal.
            return np.ones(len(first), dtype=np.bool_)
    return np.asarray((first != second).fill_null(True).to_numpy(), dtype=np.bool_)
