"""A finished run: the synthetic datasets and the statement, which may leave, and what must stay."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from pyvws._base.checks import choice
from pyvws.errors import InputError
from pyvws.release.output import open_output
from pyvws.tables.files import FORMATS
from pyvws.tables.row_order import NOT_ALIGNED, RELEASED_ROW
from pyvws.tables.table_writers import NO_PLACE, no_place

__all__ = ["Release"]


@dataclass(frozen=True, slots=True, repr=False)
class Release:
    """The parts of the output folder, in memory. Its `repr` shows the public ones.

    Attributes
    ----------
    datasets : list of tables
        Synthetic datasets in the input's kind (pandas, polars or Arrow): N rows each, all in one
        random order of the records unless `keep_order` was set; with `records`, or a histogram
        under loo neighbours, another number of rows, which are not those of records. Public as
        `write` writes them: in memory levels without a record, what Arrow keeps under missing cells
        and, with `keep_order`, a pandas index come along with the columns released unchanged.
    privacy : dict
        The statement that goes with them, figures rounded up to one decimal. Public.
    records : table, N rows
        Confidential, in the order of the table. released_row, from 1: the record's row in every
        dataset, where rows are those of records (released_row_of_tally where the table's engine
        keeps no order, and records are sorted by their cells). weight and lipschitz_bound (nats) of
        the mechanism's own fit, risk (in [0, 1], larger = riskier) that its weights were made from,
        and weight_final and lipschitz_bound_final of the fit that made the datasets; the same
        without re-weighting.
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
        """The datasets in the order of the table: row i is that of record i. Confidential.

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
            Format of the synthetic datasets.

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
        several = len(self.datasets)
        with open_output(
            target, datasets=several, format=format, whole=True, overwrite=overwrite
        ) as out:
            out.records(nw.from_native(self.records, eager_only=True).to_polars())
            for write, dataset in zip(out.datasets, self.datasets, strict=True):
                write(_in_polars(dataset, format))
            out.finish(
                privacy=self.privacy,
                posterior=nw.from_native(self.posterior, eager_only=True).to_polars(),
                summary=self.summary,
                config=self.config,
                config_with_seed=self.config_with_seed,
                console=self.console,
            )
        return target


def _in_polars(dataset: Any, format: str) -> pl.DataFrame:
    """A dataset of any kind in polars; InputError, without a value, for a column it cannot hold."""
    frame = nw.from_native(dataset, eager_only=True)
    made, strange = [], []
    for name in frame.columns:
        try:
            made.append(frame.select(name).to_polars()[name])
            if made[-1].dtype == pl.Object:
                raise TypeError
        except NO_PLACE:
            strange.append(name)
    if strange:
        raise no_place(strange, frame.columns, format)
    return pl.DataFrame(made)
