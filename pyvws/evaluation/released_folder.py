"""A release as its folder has it, for whoever reads the data: `release/`, and nothing beside it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import polars as pl

from pyvws.errors import InputError
from pyvws.evaluation.original_and_datasets import described
from pyvws.tables.files.read import FORMATS, UNREADABLE, read_table
from pyvws.tables.schema.schema import SCHEMA_FILE, Schema

STATEMENT: Final = "privacy.json"


@dataclass(frozen=True, slots=True)
class ReleasedFolder:
    """The datasets of a folder, its statement, its schema as text, and its noisy counts."""

    datasets: list[pl.DataFrame]
    privacy: dict[str, Any]
    schema: str
    public_tables: dict[str, pl.DataFrame]

    @classmethod
    def read(cls, path: Path) -> Self:
        """That of a folder that `pyvws synthesize` wrote, or of the folder release/ in it.

        Raises InputError for another folder, and for datasets that are missing or cannot be read.
        """
        folder = path if (path / STATEMENT).is_file() else path / "release"
        try:
            privacy = json.loads((folder / STATEMENT).read_text(encoding="utf-8"))
            schema = folder / SCHEMA_FILE
            text = schema.read_text(encoding="utf-8") if schema.is_file() else ""
            files = sorted(x for x in folder.glob("synthetic-*") if x.suffix[1:] in FORMATS)
            counts = folder / "counts.parquet"
            cells = {counts.name: pl.read_parquet(counts)} if counts.is_file() else {}
            if len(files) != privacy["datasets"]:
                raise InputError.by("folder-of-datasets", folder=path)
            known = Schema.parse(text)
            return cls([read_by(known, file) for file in files], privacy, text, cells)
        except InputError:
            raise
        except (LookupError, TypeError, *UNREADABLE):
            raise InputError.by("folder-of-datasets", folder=path) from None


def read_by(schema: Schema | None, path: Path) -> pl.DataFrame:
    """A table as its file has it, with the levels of a schema that a reader takes for empty."""
    columns = described(schema).items()
    levels = {name: own.coded_levels for name, own in columns if own.categorical}
    return read_table(path).with_levels(levels)
