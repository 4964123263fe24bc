"""The one writer of `release/` and `confidential/`, for every mechanism and table.

Records and datasets come in batches. A table in memory comes as a single batch.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from pyvws._base.folders import private_write, whole_folder
from pyvws.tables.files.write import TableWriter, TruthWords, table_writer
from pyvws.tables.schema.schema import SCHEMA_FILE


@dataclass(frozen=True, slots=True)
class Output:
    """An output folder under way: a writer for the records, and a writer for each dataset."""

    folder: Path
    records: TableWriter
    datasets: list[TableWriter]

    def finish(
        self,
        *,
        privacy: dict[str, Any],
        posterior: pl.DataFrame,
        summary: dict[str, Any],
        config: str,
        config_with_seed: str,
        console: str,
        schema: str,
        public_schema: str,
        public_tables: Mapping[str, pl.DataFrame],
    ) -> None:
        """Write the files that a run has once. A text that is empty gets no file."""
        release, confidential = self.folder / "release", self.folder / "confidential"
        (release / "privacy.json").write_bytes(_json(privacy))
        for name, text in (("run.toml", config), (SCHEMA_FILE, public_schema)):
            if text:
                (release / name).write_text(text, encoding="utf-8")
        for name, table in public_tables.items():
            with table_writer(release / name, format="parquet", whole=True) as write:
                write(table)
        with _private(confidential / "posterior.parquet", True) as write:
            write(posterior)
        private_write(confidential / "summary.json", _json(summary))
        own = {"run.toml": config_with_seed, SCHEMA_FILE: schema, "engine.log": console}
        for name, text in own.items():
            if text:
                private_write(confidential / name, text.encode())


@contextmanager
def open_output(
    folder: Path, *, datasets: int, format: str, whole: bool, overwrite: bool, words: TruthWords
) -> Iterator[Output]:
    """Yield an output to fill and to finish; `folder` appears whole, or nothing is left behind.

    With `whole` the caller calls each writer once. A csv spells truth values by `words`.
    Raises InputError for a column that no file of the format can hold, and OutputError where the
    folder is not empty or cannot be written.
    """
    with whole_folder(folder, overwrite=overwrite) as partial, ExitStack() as files:
        (partial / "release").mkdir(mode=0o755)
        (partial / "confidential").mkdir(mode=0o700)
        digits = max(2, len(str(datasets)))
        paths = [
            partial / "release" / f"synthetic-{number:0{digits}d}.{format}"
            for number in range(1, datasets + 1)
        ]
        yield Output(
            partial,
            files.enter_context(_private(partial / "confidential" / "records.parquet", whole)),
            [
                files.enter_context(table_writer(p, format=format, whole=whole, words=words))
                for p in paths
            ],
        )


def dataset_bytes(dataset: pl.DataFrame, format: str, words: TruthWords) -> bytes:
    """The content of the file that a synthetic dataset becomes, as `open_output` writes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"dataset.{format}"
        with table_writer(path, format=format, whole=True, words=words) as write:
            write(dataset)
        return path.read_bytes()


def _private(path: Path, whole: bool) -> Any:
    return table_writer(path, format="parquet", mode=0o600, whole=whole)


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, allow_nan=False) + "\n").encode()
