"""Public records of an earlier release, and a table's records seen from a fit to them.

Weights from a reference are strict, because nothing of the confidential table enters the fit or the
constants that scale the sizes: a record's size depends on the record and on public records alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from pyvws._base.checks import Bools, Places
from pyvws.errors import InputError
from pyvws.mechanisms.weighing import ReferenceSizes
from pyvws.models.model import Model
from pyvws.models.sequence import TableCells, TableModel
from pyvws.plan.coded import CodedTable, refuse_same
from pyvws.plan.plan import Plan
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.draws import Posterior
from pyvws.posterior.log_likelihood import largest_terms
from pyvws.tables.design.cells import Cells, make_cells
from pyvws.tables.design.units import Units
from pyvws.tables.files.frame import Frame, check_columns, open_frame, unit_codes
from pyvws.tables.files.public import public_files
from pyvws.tables.files.read import read_table


@dataclass(frozen=True, slots=True)
class Reference:
    """M public records, and the N records of a table in the coding of the public records.

    - `model`: The run's family, prepared for the public records, or those of all columns of a
      table.
    - `cells`: The public records.
    - `table`: The table's records whose levels the public records have; None if there is no such
      record, or if weights need none.
    - `known` (N,): Which records these are.
    - `units`: The units of the public records, where the run has units of several records.
    """

    model: Model | TableModel
    cells: Cells | TableCells
    table: Cells | None
    known: Bools
    units: Units | None = None

    def sizes(self, posterior: Posterior, clamp: Clamp) -> ReferenceSizes:
        """max_s |term| of the table's records and of the public records or units, in nats.

        The terms are those that the clamp sees, before weights. A record with a level that the
        public records lack has an infinite size.
        """
        by_record = np.full(len(self.known), np.inf)
        if self.table is not None:
            by_record[self.known] = largest_terms(self.model, posterior, self.table, clamp)
        counted: Any = self.cells if self.units is None else self.units
        public = largest_terms(self.model, posterior, counted, clamp)
        finite = public[np.isfinite(public)]
        low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
        if low == high:
            raise InputError.by("reference-of-one-size")
        exceeded = float(np.quantile(finite, 0.95))
        return ReferenceSizes(by_record, float(low), float(high), exceeded)


def read_reference(plan: Plan, frame: Frame, coded: CodedTable) -> Reference | None:
    """The public records that a mechanism names, and the table in their coding; None without any.

    The path is an output folder of a run, its release folder, or a table file. All synthetic
    datasets of a release are taken together. Raises InputError, which names no value of the table,
    for records that the model cannot take, and for predictors that the reference lacks.
    """
    path = plan.run.facts.reference
    if path is None:
        return None
    try:
        records, units = _records(Path(path), plan.referred, plan.unit)
        if len(plan.conditionals) > 1:
            return _of_columns(plan, records, units, coded)
        public = plan.beside(records, frame, coded)
    except InputError as error:
        raise InputError.by("in-reference", error=error) from None
    known, encode = public.known, public.model.encode
    own = make_cells(encode(public.y[known]), public.own[known]) if known.any() else None
    cells = make_cells(encode(public.outcome), public.design)
    places = [(cells.cell_of_record, cells.n_cells)]
    of_units = None if units is None else Units.of(cells, units, places)
    return Reference(public.model, cells, own, known, of_units)


def _of_columns(plan: Plan, records: Frame, units: Places | None, coded: CodedTable) -> Reference:
    """The public records of a table of several columns, of whose own records nothing is asked."""
    public = plan.coded(records, None, units, records.columns)
    values = [[own.y for own in table.synthesized.values()] for table in (public, coded)]
    outcomes = (np.column_stack(columns) for columns in values)
    refuse_same(*outcomes, warns=plan.refuses_no_record)
    columns = tuple(outcome.conditional(None) for outcome in public.outcomes)
    cells = TableCells.of(columns, len(records))
    nobody = np.zeros(len(coded.outcomes[0].y), dtype=np.bool_)
    places = [(column.places(len(records)), column.cells.n_cells) for column in columns]
    of_units = None if units is None else Units.of(cells, units, places)
    return Reference(TableModel(columns), cells, None, nobody, of_units)


def _records(path: Path, columns: list[str], unit: str | None) -> tuple[Frame, Places | None]:
    """The named columns of all public records, and each record's unit where there are units.

    One id in two datasets stands for two units.
    """
    tables = [read_table(file).frame for file in public_files(path)]
    for table in tables:
        check_columns(nw.from_native(table), columns, role="the run")
    units = None
    if unit is not None:
        of_each = [unit_codes(open_frame(table), unit) for table in tables]
        before = np.cumsum([0, *(int(codes.max()) + 1 for codes in of_each)])
        units = np.concatenate([codes + at for codes, at in zip(of_each, before, strict=False)])
    try:
        whole = pl.concat([table.select(columns) for table in tables], how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        raise InputError.by("ledger-column-types", path=path.name) from None
    return open_frame(whole), units
