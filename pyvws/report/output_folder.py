"""Readers of the public and the confidential part of a folder that `pyvws synthesize` wrote."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from pyvws._base.phrase import counted
from pyvws.errors import InputError, PyvwsError
from pyvws.evaluation.combining_rules import NoisyCells
from pyvws.report.released_columns import (
    AS_LEFT,
    ColumnValues,
    ReportedColumn,
    dataset_rows,
    read_columns,
    read_values,
    readable,
    scan,
)
from pyvws.statement.parts import with_released_draws
from pyvws.statement.statement import ROW_ORDERS
from pyvws.statement.words import caveat_keys
from pyvws.tables.files.read import FORMATS, UNREADABLE, file_digest, refuse_damaged
from pyvws.tables.files.row_order import NOT_ALIGNED, RELEASED_ROW, RowNumbers
from pyvws.tables.schema.formula import read_formula
from pyvws.tables.schema.schema import SCHEMA_FILE, Schema

AUDIT_FILE = "audit.json"
_FIRST = 10_000


@dataclass(frozen=True, slots=True)
class DatasetFile:
    """A synthetic dataset on disk: path, number of rows, size in bytes, SHA-256."""

    path: Path
    rows: int
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class PublicPart:
    """`release/`: the statement, the files and their columns, whose values stay on disk.

    The page's programs regress `outcome`, the last synthesized number (None of categories), on
    `predictors`: columns of the run's formula, or the column's predictors in the statement. Without
    either they are the columns released unchanged that have a value twice, which identifiers do not
    have. `cells` has the noisy counts as counts.parquet has them.
    """

    privacy: dict[str, Any]
    files: list[DatasetFile]
    columns: list[ReportedColumn]
    outcome: str | None
    predictors: list[str]
    audit: Mapping[str, Any] = field(default_factory=dict)
    cells: pl.DataFrame | None = None

    @property
    def histogram(self) -> bool:
        """Whether a perturbed histogram made the datasets, so that there is no Lipschitz bound."""
        return "lipschitz_bound" not in self.privacy

    @property
    def counts(self) -> bool:
        """Whether the datasets were imputed from noisy counts of a table."""
        return "counts" in self.privacy

    @property
    def rows(self) -> str:
        """The number of rows of a dataset, or from which to which number where they differ."""
        rows = sorted({file.rows for file in self.files})
        return str(rows[0]) if len(rows) == 1 else f"{rows[0]} to {rows[-1]}"

    @property
    def survey_weight(self) -> str | None:
        """The column of survey weights that datasets follow; None without one."""
        phrases = self.privacy.get("caveat_keys", ())
        keys = ("survey-weights", "counts-weights")  # Exponents, and sums of weights.
        columns = (phrase["values"]["column"] for phrase in phrases if phrase["key"] in keys)
        return next(columns, None)

    @property
    def synthetic(self) -> list[ReportedColumn]:
        """The synthesized columns, in their order in the files."""
        return [column for column in self.columns if column.synthetic]

    def values(self, column: ReportedColumn, *, data: pl.Series | None = None) -> ColumnValues:
        """The values of a column in each dataset, after those of `data`, if given."""
        return read_values(column, [file.path for file in self.files], data=data)


@dataclass(frozen=True, slots=True)
class ConfidentialPart:
    """`confidential/`: the summary, and records and posterior as tables."""

    summary: dict[str, Any]
    records: pl.DataFrame
    posterior: pl.DataFrame


@contextmanager
def as_left(out: Path) -> Iterator[None]:
    """Raise InputError if entries in the files of `out` are missing or have a wrong type."""
    try:
        yield
    except (PyvwsError, OSError):  # These errors already name their cause.
        raise
    except (LookupError, TypeError, AttributeError, *UNREADABLE) as error:
        raise InputError.by(
            "output-other-content", out=out, kind=type(error).__name__, as_left=AS_LEFT
        ) from error


def read_public(out: Path) -> PublicPart:
    """Read `release/` of an output folder, and nothing else."""
    folder = output_part(out, "release")
    privacy = with_released_draws(_json(folder / "privacy.json"))
    paths = _dataset_paths(folder, privacy)
    if paths[0].suffix != ".csv":
        with readable(str(paths[0])):
            refuse_damaged(paths[0], paths[0].suffix[1:])
    schema = folder / SCHEMA_FILE
    with as_left(out):
        known = Schema.read(schema) if schema.is_file() else None
        columns = _released_columns(privacy, paths, known)
        models = {entry["name"]: entry["predictors"] for entry in privacy.get("columns", ())}
    numbers = [
        column.name
        for column in columns
        if column.synthetic and column.levels is None and column.number.days_since is None
    ]
    outcome = next((name for name in reversed(models or numbers) if name in numbers), None)
    # Parts of a number are no columns.
    whole = {column.name for column in columns if not column.missing}
    told = models.get(outcome, [])
    if not models and known is not None and outcome in known.synthesized:
        told = known.predictors_of(outcome)
    of_outcome = [name for name in told if name in whole]
    predictors = _of_formula(folder / "run.toml", columns) or of_outcome
    return PublicPart(
        privacy,
        [DatasetFile(p, dataset_rows(p), p.stat().st_size, file_digest(p)) for p in paths],
        columns,
        outcome,
        predictors
        or _repeated(paths[0], [column.name for column in columns if not column.synthetic]),
        _audit(folder, privacy),
        _parquet(folder / "counts.parquet") if (folder / "counts.parquet").is_file() else None,
    )


def _audit(folder: Path, privacy: Mapping[str, Any]) -> dict[str, Any]:
    """What `pyvws audit --for` was asked for this release; empty without an audit of it."""
    path = folder / AUDIT_FILE
    said = _json(path) if path.is_file() else {}
    return said if said.get("release_id") == privacy.get("release_id") else {}


def run_schema(path: Path) -> Path | None:
    """The schema of an output folder, or of the run that a released file is of.

    None of a run on one outcome, and of a file that no run wrote. A schema under review stands in
    confidential/ alone; InputError where it is out of reach, since it has the missing codes.
    """
    release = _release_of(path)
    statement, public = _said_in(release), release / SCHEMA_FILE
    if public.is_file() or "columns" not in statement:
        return public if public.is_file() and statement else None
    own = release.with_name("confidential") / SCHEMA_FILE
    if not os.access(own, os.R_OK):
        raise InputError.by("output-schema-under-review", release=release, schema_file=SCHEMA_FILE)
    return own


def _released_columns(
    privacy: dict[str, Any], files: Sequence[Path], schema: Schema | None
) -> list[ReportedColumn]:
    columns = read_columns(files, privacy, schema)
    synthetic = [column.name for column in columns if column.synthetic]
    wanted = privacy.get("columns_synthesized")
    if len(synthetic) != 1 if wanted is None else sorted(synthetic) != sorted(wanted):
        many = "one column" if wanted is None else f"{len(wanted)} synthesized columns"
        raise InputError.by(
            "output-lacks-columns",
            files=files[0].name,
            many=many,
            synthetic=len(synthetic),
            as_left=AS_LEFT,
        )
    return columns


def read_confidential(out: Path) -> ConfidentialPart:
    folder = output_part(out, "confidential")
    summary = _json(folder / "summary.json")
    if isinstance(exact := summary.get("privacy"), dict):
        summary["privacy"] = with_released_draws(exact)
    if (folder / AUDIT_FILE).is_file():
        summary["audit"] = _json(folder / AUDIT_FILE)
    return ConfidentialPart(
        summary, _parquet(folder / "records.parquet"), _parquet(folder / "posterior.parquet")
    )


def is_output_folder(path: Path) -> bool:
    """Whether `pyvws synthesize` wrote this folder."""
    return (path / "release" / "privacy.json").is_file()


def is_released(path: Path) -> bool:
    """Whether a path is such a folder, or its folder release/."""
    return (_release_of(path) / "privacy.json").is_file() and path.is_dir()


def dataset_files(out: Path) -> list[Path]:
    """The datasets of an output folder, or of its release/; InputError unless all are there."""
    folder = output_part(out, "release") if is_output_folder(out) else out
    return _dataset_paths(folder, _json(folder / "privacy.json"))


def columns_of_run(out: Path, schema: Schema | None) -> list[ReportedColumn]:
    """The columns of the datasets of an output folder, by its schema."""
    folder = output_part(out, "release")
    privacy = _json(folder / "privacy.json")
    with as_left(out):
        return _released_columns(privacy, _dataset_paths(folder, privacy), schema)


def draws_behind(files: Sequence[Path]) -> list[Any]:
    """A label of the draw behind each file; equal labels stand for one draw.

    The statement beside a released file names the draw. A file without a statement gets a label of
    its own, and so does a file that bears another name than the run gave it, unless the run has a
    single draw.
    """
    return [_draw_behind(file) or place for place, file in enumerate(files)]


def _draw_behind(file: Path) -> tuple[Path, int] | None:
    privacy = with_released_draws(_said_in(file.parent))
    if "draw_of_dataset" not in privacy:
        return None
    with as_left(file.parent):
        draws = privacy["draw_of_dataset"]
        numbered = re.fullmatch(r"synthetic-(\d+)", file.stem)
        place = int(numbered[1]) if numbered else 0
        if len(set(draws)) == 1:
            return file.parent.resolve(), draws[0]
        known = 1 <= place <= len(draws)
        return (file.parent.resolve(), draws[place - 1]) if known else None


def counts_beside(
    paths: Sequence[Path], *, units: bool = False
) -> tuple[NoisyCells | None, str | None]:
    """The noisy counts beside released files or in an output folder; None without any.

    Beside them are the records that they are of, as `records_counted` says it. Counts of whole
    `units` are given where they are asked for: no figure of records is one of these.
    Nothing confidential is read. Raises InputError for files of several such releases.
    """
    folders = dict.fromkeys(map(_release_of, paths))
    having = [folder for folder in folders if (folder / "counts.parquet").is_file()]
    if not having:
        return None, None
    if len(having) > 1:
        raise InputError.by("output-several-releases")
    with as_left(having[0]):
        privacy = _json(having[0] / "privacy.json")
        cells, of = None, records_counted(privacy)
        if units or "slots" not in privacy["counts"]:
            cells = NoisyCells.of(_parquet(having[0] / "counts.parquet"), privacy)
        return cells, of


def records_counted(privacy: Mapping[str, Any]) -> str | None:
    """Which records noisy counts and datasets are of, where a cap leaves out others; else None."""
    if "counts" not in privacy or "unit_column" not in privacy:
        return None
    most = privacy["counts"].get("slots", privacy["counts"]["cap"])
    return f"at most {counted(most, 'record')} of each {privacy['unit_column']!r}"


def statements_beside(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """The statements beside released files or in output folders, each once."""
    return [*filter(None, map(_said_in, dict.fromkeys(map(_release_of, paths))))]


def said_beside(paths: Sequence[Path], entry: str, *, always: bool = True) -> list[str]:
    """An entry of the statements beside released files or in output folders, each value once.

    `always` says whether every statement has the entry.
    """
    said = []
    for statement in statements_beside(paths):
        with as_left(paths[0]):
            if always or entry in statement:
                said.append(statement[entry])
    return list(dict.fromkeys(said))


def refuse_systematic(files: Sequence[Path]) -> None:
    """Raise InputError where a file's statement says that its records are drawn systematically."""
    for file in files:
        with as_left(file.parent):
            keys = caveat_keys({"caveats": [], **_said_in(file.parent)})
        if "systematic" in keys:
            raise InputError.by("output-systematic", file=file)


def aligned_files(out: Path) -> tuple[list[Path], RowNumbers]:
    """The datasets of an output folder, and the row of record i in each dataset (N,), from 0.

    Raises InputError where no row belongs to a record, or the run kept no link between them.
    """
    paths = dataset_files(out)
    records = _parquet(output_part(out, "confidential") / "records.parquet")
    if RELEASED_ROW not in records.columns:
        raise InputError.by("output-told", out=out, not_aligned=NOT_ALIGNED)
    rows = records[RELEASED_ROW].to_numpy().astype(np.int64) - 1
    if not np.array_equal(np.sort(rows), np.arange(len(rows))):
        raise InputError.by("output-rows-not-once", out=out, as_left=AS_LEFT)
    return paths, rows


def refuse_random_order(path: Path) -> None:
    """Raise InputError for a released file whose statement says that its rows are in random order.

    A folder of such files raises the error too. A file without a statement beside it passes.
    """
    folder = path if path.is_dir() else path.parent
    if _said_in(folder).get("row_order") == ROW_ORDERS[False]:
        raise InputError.by("output-secret-order", path=path)


def _dataset_paths(folder: Path, privacy: dict[str, Any]) -> list[Path]:
    paths = sorted(p for p in folder.glob("synthetic-*") if p.suffix[1:] in FORMATS)
    wanted = privacy.get("datasets")
    if not paths or len(paths) != wanted:
        raise InputError.by(
            "output-number-of-datasets",
            folder=folder,
            paths=len(paths),
            wanted=wanted,
            as_left=AS_LEFT,
        )
    return paths


def _of_formula(path: Path, columns: list[ReportedColumn]) -> list[str]:
    """Columns of the formula in the settings file `path`; none where the file does not exist."""
    names = [column.name for column in columns]
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
        return [name for name in read_formula(settings["formula"]).columns if name in names]
    except (OSError, ValueError, LookupError, TypeError, InputError):
        return []


def _repeated(path: Path, names: list[str]) -> list[str]:
    """The named columns that have a value twice among the first records."""
    with readable(str(path)):
        first = scan(path).head(_FIRST).collect()
    return [name for name in first.columns if name in names and first[name].is_duplicated().any()]


def output_part(out: Path, name: str) -> Path:
    """The folder `name` inside an output folder; InputError where no such folder exists."""
    folder = out / name
    if not folder.is_dir():
        raise InputError.by("output-lacks-folder", out=out, name=name)
    return folder


def _release_of(path: Path) -> Path:
    """The folder release/ of an output folder, such a folder itself, or the one of a file."""
    if not path.is_dir():
        return path.parent
    return path if (path / "privacy.json").is_file() else path / "release"


def _said_in(release: Path) -> dict[str, Any]:
    """The statement in a folder of released files; empty where there is none."""
    statement = release / "privacy.json"
    return _json(statement) if statement.is_file() else {}


def _json(path: Path) -> dict[str, Any]:
    with readable(str(path)):
        content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise InputError.by("output-not-json", path=path, as_left=AS_LEFT)
    return content


def _parquet(path: Path) -> pl.DataFrame:
    with readable(str(path)):
        refuse_damaged(path, "parquet")
        return pl.read_parquet(path)
