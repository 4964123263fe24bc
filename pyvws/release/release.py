"""A finished run: the synthetic datasets and statement that may leave, and what must not."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from pyvws._base.checks import choice
from pyvws._base.folders import private_write, whole_folder
from pyvws.errors import InputError
from pyvws.tables.files import FORMATS, write_table
from pyvws.tables.hidden_values import without_hidden
from pyvws.tables.row_order import NOT_ALIGNED, RELEASED_ROW
from pyvws.tables.table_writers import NO_PLACE, no_place

__all__ = ["Release", "json_bytes", "parquet_bytes", "synthetic_name"]


@dataclass(frozen=True, slots=True, repr=False)
class Release:
    """The parts of the output folder, in memory. Its `repr` shows the public ones.

    Attributes
    ----------
    datasets : list of tables
        Synthetic datasets, N rows each, in the input's kind (pandas, polars or Arrow), all in one
        random order of the records unless `keep_order` was set. Public as `write` writes them: in
        memory levels without a record, what Arrow keeps under missing cells and, with `keep_order`,
        a pandas index come along with the columns released unchanged.
    privacy : dict
        The statement that goes with them, figures rounded up to one decimal. Public.
    records : table, N rows
        Confidential, in the order of the table. released_row, from 1: the record's row in every
        dataset. weight and lipschitz_bound (nats) of the mechanism's own fit, risk (in
        [0, 1], larger = riskier) that its weights were made from, and weight_final and
        lipschitz_bound_final of the fit that made the datasets; the same without re-weighting.
    posterior : table, S rows
        Confidential. chain, draw and every parameter of the fit that made the datasets.
    summary : dict
        Confidential. Exact Delta and epsilon, diagnostics, fits, search, timings, versions, seed,
        settings.
    console : str
        Confidential. What Stan printed, if it sampled.
    config, config_with_seed : str
        The settings as TOML for `pyvws synthesize --config`: public, and confidential.
    """

    datasets: list[Any]
    privacy: dict[str, Any]
    records: Any
    posterior: Any
    summary: dict[str, Any]
    console: str = ""
    config: str = ""
    config_with_seed: str = ""

    def __repr__(self) -> str:
        """One line of what is public, so that a notebook or a log shows no record."""
        shown = ("mechanism", "guarantee", "epsilon_total")
        said = ", ".join(f"{name}={self.privacy.get(name)!r}" for name in shown)
        return f"Release({len(self.datasets)} datasets, {said})"

    def aligned(self) -> list[Any]:
        """The datasets with row i that of record i, for risks of records. Confidential.

        Raises InputError where rows are not those of records, as of a histogram under loo
        neighbours.
        """
        records = nw.from_native(self.records, eager_only=True)
        if RELEASED_ROW not in records.columns:
            raise InputError(NOT_ALIGNED)
        rows = records[RELEASED_ROW].to_numpy() - 1
        if (rows == np.arange(len(rows))).all():
            return list(self.datasets)
        made = (nw.from_native(dataset, eager_only=True)[rows] for dataset in self.datasets)
        return [nw.maybe_reset_index(dataset).to_native() for dataset in made]

    def write(self, folder: str | Path, *, overwrite: bool = False, format: str = "csv") -> Path:
        """Write `release/` and `confidential/` into `folder`, whole or not at all.

        Parameters
        ----------
        folder : path
            A folder that does not exist or is empty, unless `overwrite`.
        overwrite : bool
            Replace what the folder holds.
        format : {"csv", "parquet", "arrow"}
            Of the synthetic datasets.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        InputError
            For another format, or a kept column that no file of that format can hold.
        OutputError
            If the folder is not empty or cannot be written; nothing is left behind.
        """
        choice(format, "format", FORMATS)
        target = Path(folder)
        with whole_folder(target, overwrite=overwrite) as partial:
            release = partial / "release"
            release.mkdir(mode=0o755)
            for number, dataset in enumerate(self.datasets, start=1):
                path = release / synthetic_name(number, len(self.datasets), format)
                write_table(_writable(dataset, format), path, format=format)
            (release / "privacy.json").write_bytes(json_bytes(self.privacy))
            if self.config:
                (release / "run.toml").write_text(self.config, encoding="utf-8")
            confidential = partial / "confidential"
            confidential.mkdir(mode=0o700)
            private_write(confidential / "records.parquet", parquet_bytes(self.records))
            private_write(confidential / "posterior.parquet", parquet_bytes(self.posterior))
            private_write(confidential / "summary.json", json_bytes(self.summary))
            if self.config_with_seed:
                private_write(confidential / "run.toml", self.config_with_seed.encode())
            if self.console:
                private_write(confidential / "engine.log", self.console.encode())
        return target


def synthetic_name(number: int, datasets: int, format: str) -> str:
    """The file of the dataset of that number, from 1."""
    return f"synthetic-{number:0{max(2, len(str(datasets)))}d}.{format}"


def _polars(table: Any) -> pl.DataFrame:
    return nw.from_native(table, eager_only=True).to_polars()


def _writable(dataset: Any, format: str) -> pl.DataFrame:
    """A dataset for its file; InputError, without a value, for a column that has no place there."""
    frame = nw.from_native(dataset, eager_only=True)
    made, strange = [], []
    for name in frame.columns:
        try:
            column = frame.select(name).to_polars()[name]
            if column.dtype == pl.Object:
                raise TypeError
            empty_cell = column.clear(1).to_frame()
            if format == "csv":
                empty_cell.write_csv()  # Its type is refused, whatever it holds.
            else:
                without_hidden(empty_cell)
        except NO_PLACE:
            strange.append(name)
        else:
            made.append(column)
    if strange:
        raise no_place(strange, frame.columns, format)
    return pl.DataFrame(made)


def parquet_bytes(table: Any) -> bytes:
    """A table of any kind as a parquet file."""
    buffer = io.BytesIO()
    _polars(table).write_parquet(buffer)
    return buffer.getvalue()


def json_bytes(content: dict[str, Any]) -> bytes:
    """A dictionary as a JSON file."""
    return (json.dumps(content, indent=2, allow_nan=False) + "\n").encode()
