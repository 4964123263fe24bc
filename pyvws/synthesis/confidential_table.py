"""A confidential table as a run sees it: checked, its parts, and the synthetic tables of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.typing import IntoFrame

from pyvws._base.checks import Floats, Places, Values
from pyvws.errors import InputError
from pyvws.plan.coded import CodedTable
from pyvws.plan.plan import Plan
from pyvws.plan.reading import read_roles, within_cap
from pyvws.synthesis.reference import Reference, read_reference
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.files.frame import (
    Frame,
    OutcomeKind,
    narwhal_view,
    open_frame,
    with_columns,
    written_as_text,
)
from pyvws.tables.files.hidden_values import with_sorted_levels, without_notes
from pyvws.tables.files.row_order import RowNumbers
from pyvws.tables.files.steps import LargeTable, lazy_source, named_errors


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidentialTable(CodedTable):
    """The parts of a confidential table, by a plan.

    Besides the coded columns these are the known columns' values, the columns to release in order,
    for a mechanism that names them the public weights (N,) and the public records, each record's
    unit of privacy (N,), 0 to H - 1, where a unit may have several records, the survey weights over
    their mean (N,) where these are exponents, and how many equal records each row of a tally stands
    for (N,).
    """

    plan: Plan
    known: list[Any]
    released: list[str]
    implementation: Any
    weights: Floats | None = None
    reference: Reference | None = None
    units: Places | None = None
    exponents: Floats | None = None
    counts: Floats | None = None

    @property
    def records(self) -> int:
        """N, the number of rows."""
        return len(self.outcomes[0].y)

    @property
    def unchanged(self) -> tuple[str, ...]:
        """The columns that are released as they are."""
        return tuple(self.plan.public)

    @property
    def sought(self) -> dict[str, tuple[Floats, OutcomeKind]]:
        """What a search for copies of each outcome compares: its values before rounding."""
        return {name: (column.sought, column.kind) for name, column in self.synthesized.items()}

    @property
    def breaking(self) -> dict[str, int]:
        """The number of records that break a rule, of each column where there are any."""
        breaking = {name: own.breaking for name, own in self.synthesized.items() if own.breaking}
        if self.members is not None and self.members.impossible:
            breaking["members"] = self.members.impossible
        return breaking

    @property
    def unknown(self) -> dict[str, int]:
        """The number of records whose value counts nothing, since the settings do not know it."""
        return {name: own.unknown for name, own in self.synthesized.items() if own.unknown}

    def written(
        self, values: Values, backend: nw.Implementation, *, first: int = 1
    ) -> list[nw.Series[Any]]:
        """The synthesized columns as they are released, of synthetic values by column.

        New ids go with them: those among the values, or else from the number `first` on.
        """
        columns = (own for name, own in self.synthesized.items() if name in self.released)
        series = [column.written(values, backend) for column in columns]
        rows = np.arange(first, first + len(series[0]))
        numbers = {name: values.get(name, rows) for name in self.ids}
        return [*series, *(self.ids[name](own, backend) for name, own in numbers.items())]

    @property
    def sha256(self) -> str:
        """Digest of the outcomes and the design matrices as float64, and of rows where given."""
        digest = hashlib.sha256()
        for outcome in self.outcomes:
            for array in (outcome.y, outcome.design, outcome.rows):
                if array is not None:
                    digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def datasets(
        self, source: IntoFrame, values: Sequence[Values], *, order: RowNumbers | None
    ) -> list[Any]:
        """The columns to release of the native table `source`, once for each mapping of values.

        Synthetic values replace the synthesized columns. Row j belongs to record order[j], without
        pandas' label of the record; without an order row j belongs to record j. A table without
        columns released unchanged may have another number of rows. Rows of whole units belong to no
        record.
        """
        frame = open_frame(source, least=0).select(self.released)
        if order is not None and len(frame):  # Without a record no row is one.
            frame = nw.maybe_reset_index(frame[order])
        elif self.members is not None:  # No row is a record's, also where there are as many.
            frame = nw.maybe_reset_index(frame)
        frame = nw.from_native(with_sorted_levels(frame.to_native(), self.levels), eager_only=True)
        return [
            without_notes(with_columns(frame, self.written(own, frame.implementation)))
            for own in values
        ]


def check_table(
    table: IntoFrame,
    settings: RunSettings,
    *,
    plan: Plan | None = None,
    counts: Floats | None = None,
    units: Places | None = None,
    released: IntoFrame | None = None,
) -> ConfidentialTable:
    """The checked table; InputError if the method cannot take the table.

    `plan` is that of the whole header where the table is a tally, which lacks the columns that are
    only released. `counts` (N,) are the records that each row of a tally stands for, and `units`
    (N,) the kinds of units that the rows belong to, where there are units. Where `released` has the
    same cells as text, types here follow from the cells, so that no type of a released column may
    follow from them. By a schema, and under a strict claim, that holds for every table.
    """
    frame = open_frame(table, least=least_records(settings) if counts is None else 1)
    plan = (plan or settings.plan.on(frame)).designed(frame)
    written = () if released is None else written_as_text(frame, released)
    by_schema = frame.columns if plan.types_are_public else written
    file = frame if released is None else open_frame(released, least=0)
    file = file if plan.unit in file.columns else frame
    roles = read_roles(frame, plan, file, counts, units)
    if roles.units is not None and (plan.counts_units or settings.facts.cap is not None):
        if plan.counts_units:
            kept = roles.units >= 0
        else:
            kept = within_cap(roles.units, settings.facts.cap or 1)
        if not kept.all():
            frame, roles = frame.filter(kept.tolist()), replace(roles, units=roles.units[kept])
    coded = plan.coded(frame, counts, roles.units, by_schema)
    return ConfidentialTable(
        **{part.name: getattr(read, part.name) for read in (coded, roles) for part in fields(read)},
        plan=plan,
        released=plan.released,
        implementation=frame.implementation,
        reference=read_reference(plan, frame, coded),
        counts=counts,
    )


def least_records(settings: RunSettings) -> int:
    """The least number of records that a run takes.

    Where a strict claim hides how many there are, a refusal at 1 would tell of a second one. A fit
    needs one record, so it tells an empty table from others.
    """
    if settings.facts.protects_records or settings.facts.takes_table:
        return 0
    hides = settings.records is not None or settings.plan.unit is not None
    return 1 if settings.plan.refuses_no_record and hides else 2


def collected(table: IntoFrame, settings: RunSettings) -> tuple[Frame, bool]:
    """A view of a table in memory; of a lazy frame the columns that the run reads, loaded once.

    The function also says whether the rows have an order of their own. If the frame's engine
    promises no order, the function sorts the rows by their values, public columns first, so that
    the same seed gives the same release. Raises InputError for members without an order, and for
    settings that have an entry for each record.
    """
    frame = narwhal_view(table)
    if not isinstance(frame, nw.LazyFrame):
        return frame, True
    source = lazy_source(frame, keep_order=settings.keep_order)
    plan = settings.plan.on(source)
    columns = [name for name in source.columns if name in {*plan.read, *plan.ids}]
    ordered = isinstance(source, LargeTable)
    if not ordered and plan.members is not None:
        raise InputError.by("members-in-order", source=source.name)
    if not ordered and settings.has_entries_by_record:
        raise InputError.by("arrays-in-steps")
    with named_errors(source.name, columns, source.columns):
        rows = frame.select(columns).collect()
        if not ordered:
            units = [] if plan.unit is None else [plan.unit]
            rows = rows.sort(list(dict.fromkeys([*plan.public, *units, *plan.modelled])))
        return rows, ordered
