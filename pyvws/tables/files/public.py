"""A table of public records: a file, the datasets of an earlier release, or a frame."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import narwhals as nw
import polars as pl

from pyvws.errors import InputError
from pyvws.tables.files.frame import Frame, open_frame
from pyvws.tables.files.read import FORMATS, read_table

MOST_VALUES: Final = 200_000_000  # Some 2 GB of text and codes.


class PublicTable(str):
    """A public table as a setting: its path as it was given, or "frame" for a `frame` in memory."""

    frame: Frame | None

    def __new__(cls, given: Any) -> PublicTable:
        """The table of a path, a frame, or another such setting."""
        if isinstance(given, PublicTable):
            return given
        is_path = isinstance(given, str | os.PathLike)
        made = super().__new__(cls, os.fspath(given) if is_path else "frame")
        made.frame = None if is_path else open_frame(given, least=0)
        return made

    @property
    def file(self) -> str:
        """The name of the file or folder, without the folders that hold it."""
        return str(self) if self.frame is not None else Path(self).name

    @property
    def is_release(self) -> bool:
        """Whether it is the folder of an earlier release."""
        return (
            self.frame is None and Path(self).is_dir() and public_files(Path(self)) != [Path(self)]
        )

    @property
    def rows(self) -> Frame:
        """All rows with all columns; of a file the cells are text."""
        if self.frame is not None:
            return self.frame
        return nw.from_native(read_table(Path(self)).as_written)

    def records(self, names: Collection[str]) -> Frame:
        """The records with those of the named columns that the table has, cell by cell.

        All datasets of a release are taken together. Raises InputError for a table without two of
        the columns, without records, or of more values than memory may hold.
        """
        tables = [self.frame] if self.frame is not None else []
        for file in [] if tables else public_files(Path(self)):
            tables.append(nw.from_native(read_table(file).as_written))
        there = [name for name in tables[0].columns if name in names]
        if len(there) < 2:
            raise InputError.by("reference-columns", file=self.file, found=len(there))
        values = len(there) * sum(map(len, tables))
        if values == 0:
            raise InputError.by("reference-empty", file=self.file)
        if values > MOST_VALUES:
            most = MOST_VALUES // len(there)
            raise InputError.by("reference-too-large", file=self.file, most=most)
        if self.frame is not None:
            return self.frame.select(there)
        own = [table.to_native().select(pl.col(there).cast(pl.String)) for table in tables]
        return nw.from_native(pl.concat(own))


def public_files(path: Path) -> list[Path]:
    """The datasets of a run's output or release folder, in their order, or else the path itself."""
    for folder in (path / "release", path):
        files = sorted(p for p in folder.glob("synthetic-*") if p.suffix[1:] in FORMATS)
        if files:
            return files
    return [path]
