"""Public records of an earlier release, and a table's records seen from a fit to them.

Weights from a reference are strict, because nothing of the confidential table enters the fit or the
constants that scale the sizes: a record's size depends on the record and on public records alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.mechanisms.weighing import ReferenceSizes
from pyvws.models.model import Model
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.draws import Posterior
from pyvws.posterior.log_likelihood import largest_terms
from pyvws.synthesis.families import first_code
from pyvws.tables.design.cells import Cells, make_cells
from pyvws.tables.design.model_matrix import recoded_design
from pyvws.tables.design.patterns import PatternDesign
from pyvws.tables.design.public import PublicDesign
from pyvws.tables.files.frame import check_columns, open_frame, outcome_column
from pyvws.tables.files.read import FORMATS, read_table
from pyvws.tables.schema.formula import read_formula
from pyvws.tables.schema.read_values import coded_column
from pyvws.tables.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class Reference:
    """M public records, and the N records of a table in the coding of the public records.

    Attributes
    ----------
    model : Model
        The run's family, prepared for the public records.
    cells : Cells
        The public records.
    table : Cells, optional
        The table's records whose levels the public records have; None if there is no such record.
    known : ndarray of bool, shape (N,)
        Which records these are.
    """

    model: Model
    cells: Cells
    table: Cells | None
    known: NDArray[np.bool_]

    def sizes(self, posterior: Posterior, clamp: Clamp) -> ReferenceSizes:
        """max_s |term| of the table's records and of the public records, in nats.

        The terms are those that the clamp sees, before weights. A record with a level that the
        public records lack has an infinite size.
        """
        by_record = np.full(len(self.known), np.inf)
        if self.table is not None:
            by_record[self.known] = largest_terms(self.model, posterior, self.table, clamp)
        public = largest_terms(self.model, posterior, self.cells, clamp)
        finite = public[np.isfinite(public)]
        low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
        if low == high:
            raise InputError(
                "All records of the reference have terms of one size, so the reference gives "
                "weights no scale. Choose a reference whose outcome varies."
            )
        return ReferenceSizes(by_record, float(low), float(high))


def read_reference(
    path: str,
    frame: nw.DataFrame[Any],
    y: Floats,
    *,
    outcome: str,
    model: Model,
    formula: str,
    round: bool,
) -> Reference:
    """The reference at a path, and the table `frame` with outcomes y (N,) in its coding.

    The path is an output folder of a run, its release folder, or a table file. All synthetic
    datasets of a release are taken together. Raises InputError, which names no value of the table,
    for records that the model cannot take, and for predictors that the reference lacks.
    """
    try:
        public = _records(Path(path), [*read_formula(formula).columns, outcome])
        labels = model.outcome_labels
        coded = None if labels is None else coded_column(public, outcome, labels, role="outcome")
        found = outcome_column(public, outcome) if coded is None else coded.codes
        found = np.rint(found) if round else found
        _refuse_same(found, y)
        prepared = model.prepare(found, outcome)
        recoded = recoded_design(public, frame, formula, outcome=outcome)
    except InputError as error:
        raise InputError(f"reference: {error}") from None
    known = recoded.known
    own = make_cells(prepared.encode(y[known]), recoded.matrix[known]) if known.any() else None
    cells = make_cells(prepared.encode(found), recoded.design.matrix)
    return Reference(prepared, cells, own, known)


def read_coded_reference(
    path: str,
    schema: Schema,
    name: str,
    *,
    model: Model,
    design: PublicDesign | PatternDesign,
    coded: Mapping[str, Floats],
    rounded: bool,
) -> Reference:
    """The reference at a path by a schema of one conditional, and the `coded` table beside it.

    The schema codes both, so the public records have every level that the table has. Raises
    InputError as `read_reference` does.
    """
    try:
        public = schema.coded(_records(Path(path), list(schema.used)), by_schema=schema.used)
        found = np.rint(public[name]) if rounded else public[name]
        _refuse_same(found, coded[name])
        first = first_code(model)
        prepared = model.prepare(found - first, name)
    except InputError as error:
        raise InputError(f"reference: {error}") from None
    cells, own = (
        make_cells(prepared.encode(y - first), design.matrix(values, n=len(y)))
        for y, values in ((found, public), (coded[name], coded))
    )
    return Reference(prepared, cells, own, np.ones(len(coded[name]), dtype=np.bool_))


def _refuse_same(public: Floats, y: Floats) -> None:
    """Raise InputError where the outcomes of public records (M,) are those of the table (N,)."""
    if len(public) == len(y) and (np.sort(public) == np.sort(y)).all():
        raise InputError(
            "it has as many records as the table, with the same outcomes. A reference is "
            "public. Name a release of other records, such as last year's."
        )


def _records(path: Path, columns: list[str]) -> nw.DataFrame[Any]:
    """The named columns of all public records."""
    folders = [path / "release", path]
    for folder in folders:
        files = sorted(p for p in folder.glob("synthetic-*") if p.suffix[1:] in FORMATS)
        if files:
            break
    tables = [read_table(file).frame for file in files or [path]]
    for table in tables:
        check_columns(nw.from_native(table), columns, role="the run")
    try:
        whole = pl.concat([table.select(columns) for table in tables], how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        raise InputError(
            f"{path.name}: the columns of its datasets have different types. Name one dataset."
        ) from None
    return open_frame(whole)
