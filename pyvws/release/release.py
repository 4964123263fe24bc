"""A finished run: its public datasets and statement, and its confidential tables and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import polars as pl
from narwhals.typing import IntoDataFrame, IntoFrame

from pyvws._base.checks import choice
from pyvws.errors import InputError
from pyvws.evaluation.original_and_datasets import described
from pyvws.release.output import open_output
from pyvws.sheet import Sheet, html
from pyvws.tables.files.frame import check_columns, numeric_column, open_frame
from pyvws.tables.files.read import FORMATS
from pyvws.tables.files.row_order import NOT_ALIGNED, RELEASED_ROW
from pyvws.tables.files.write import NO_PLACE, no_place
from pyvws.tables.schema.schema import Schema
from pyvws.tables.schema.write_values import truth_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Release:
    """The parts of an output folder, in memory. The `repr` of a release shows public parts only.

    Attributes
    ----------
    datasets : list of tables
        Synthetic datasets in the input's kind (pandas, polars or Arrow). Each has N rows, in one
        random order of the records unless `keep_order` was set. With `records`, or a histogram
        under loo neighbours, the number of rows differs and no row belongs to a record. The files
        of `write` are public. In memory, columns released unchanged also carry levels without a
        record, values that Arrow keeps under missing cells and, with `keep_order`, a pandas index.
    privacy : dict
        The statement that goes with the datasets, figures rounded up to one decimal. Public.
    records : table, N rows
        Confidential, in the order of the table. released_row, from 1, is the record's row in every
        dataset, if rows belong to records. It is released_row_of_tally where the table's engine
        keeps no order, and records are sorted by their cells. weight and lipschitz_bound (nats) are
        of the mechanism's own fit, and risk (in [0, 1], larger = riskier) gave its weights.
        weight_final and lipschitz_bound_final are of the fit that made the datasets; without
        re-weighting they equal weight and lipschitz_bound. Of a table, lipschitz_bound_final_COLUMN
        is the bound in a column. With `by_column`, weight_final_COLUMN is the weight in it, and
        weight and weight_final are means over the columns.
    posterior : table, S rows
        Confidential. chain, draw and every parameter of the fit that made the datasets.
    summary : dict
        Confidential. Exact Delta and epsilon, diagnostics, fits, search, checks of the synthetic
        columns, timings, versions, seed, settings.
    console : str
        Confidential. What Stan printed, if it sampled.
    config, config_with_seed : str
        The settings as TOML for `pyvws synthesize --config`: public, and confidential.
    schema, public_schema : str
        The schema of a table as TOML: confidential, and public. The public text has no notes, and
        is empty while the schema is under review.
    public_tables : mapping of str to polars table
        What `release/` holds beside the datasets, by the name of its file: noisy counts.

    Examples
    --------
    >>> import polars as pl, pyvws as vws
    >>> table = pl.DataFrame({"visits": [3, 5, 8, 4] * 20})
    >>> asked = {"model": "poisson", "mechanism": "lw", "g": 0.5}
    >>> release = vws.synthesize(table, outcome="visits", **asked, datasets=1, seed=1)
    >>> release.datasets[0].height, release.privacy["unit_of_privacy"]
    (80, 'one record')
    """

    datasets: list[Any]
    privacy: dict[str, Any]
    records: Any
    posterior: Any
    summary: dict[str, Any]
    console: str = ""
    config: str = ""
    config_with_seed: str = ""
    schema: str = ""
    public_schema: str = ""
    public_tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def __repr__(self) -> str:
        """One line of public figures, so that a notebook or a log shows no record."""
        names = ("mechanism", "guarantee", "epsilon_total")
        text = ", ".join(f"{name}={self.privacy.get(name)!r}" for name in names)
        return f"Release({len(self.datasets)} datasets, {text})"

    def _repr_html_(self) -> str:
        """The public figures of the statement as a table, for a notebook."""
        facts = {**self.privacy, "datasets": len(self.datasets)}
        names = (
            *("mechanism", "guarantee", "neighbours", "epsilon_per_dataset", "epsilon_of_window"),
            *("epsilon_total", "datasets", "columns_synthesized", "columns_released_unchanged"),
        )
        rows = [
            (name, ", ".join(facts[name]) if isinstance(facts[name], list) else facts[name])
            for name in names
            if name in facts
        ]
        return html([Sheet("Release: what its statement says", ("", "value"), rows)])

    def plot(self, original: IntoFrame) -> Figure:
        """The columns before and after: associations, or the densities of a single number.

        Confidential, since it shows the original.

        Parameters
        ----------
        original : pandas, polars or Arrow table
            The confidential records; rows may be in any order.

        Returns
        -------
        matplotlib.figure.Figure
            Of several columns: matrices (K, K) of associations in [-1, 1], as `pyvws.associations`
            defines them. They stand for the original, for the mean over the datasets, and for their
            difference, of which 0 is the best. Of one number: densities in the unit of the number.

        Raises
        ------
        InputError
            For a table that lacks a column of the datasets, and where a single category was
            released.
        """
        from pyvws.evaluation.table_utility import table_utility
        from pyvws.plots.datasets import densities

        first = nw.from_native(self.datasets[0], eager_only=True)
        before = open_frame(original, least=1)
        check_columns(before, first.columns, role="original", header=first.columns)
        if len(first.columns) > 1:
            columns = before.select(first.columns).to_native()
            return table_utility(columns, self.datasets, s_pmse=False).plot()
        (name,) = first.columns
        values = [
            nw.from_native(dataset, eager_only=True)[name].to_numpy() for dataset in self.datasets
        ]
        if values[0].dtype.kind not in "iufb":
            raise InputError.by("no-picture-of-category")
        after = {"Synthetic": np.concatenate(values).astype(np.float64)}
        return densities(after, numeric_column(before, name, role="original"), name=name)

    def aligned(self) -> list[Any]:
        """The datasets in the order of the table: row i belongs to record i. Confidential.

        Raises InputError where rows do not belong to records, as in datasets of a histogram under
        loo neighbours.
        """
        records = nw.from_native(self.records, eager_only=True)
        if RELEASED_ROW not in records.columns:
            raise InputError.by("rows-of-no-record", why=NOT_ALIGNED)
        rows = records[RELEASED_ROW].to_numpy() - 1
        if (rows == np.arange(len(rows))).all():
            return list(self.datasets)
        parts = (nw.from_native(dataset, eager_only=True)[rows] for dataset in self.datasets)
        return [nw.maybe_reset_index(dataset).to_native() for dataset in parts]

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
            target,
            datasets=several,
            format=format,
            whole=True,
            overwrite=overwrite,
            words=truth_words(described(Schema.parse(self.schema))),
        ) as out:
            out.records(nw.from_native(self.records, eager_only=True).to_polars())
            for write, dataset in zip(out.datasets, self.datasets, strict=True):
                write(_in_polars(dataset, format))
            parts = {part.name: getattr(self, part.name) for part in fields(self)}
            del parts["datasets"], parts["records"]
            parts["posterior"] = nw.from_native(self.posterior, eager_only=True).to_polars()
            out.finish(**parts)
        return target


def _in_polars(dataset: IntoDataFrame, format: str) -> pl.DataFrame:
    """A dataset of any kind in polars; InputError, without a value, for a column it cannot hold."""
    frame = nw.from_native(dataset, eager_only=True)
    columns, strange = [], []
    for name in frame.columns:
        try:
            columns.append(frame.select(name).to_polars()[name])
            if columns[-1].dtype == pl.Object:
                raise TypeError
        except NO_PLACE:
            strange.append(name)
    if strange:
        raise no_place(strange, frame.columns, format)
    return pl.DataFrame(columns)
