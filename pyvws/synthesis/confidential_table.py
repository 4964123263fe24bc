"""A confidential table as a run sees it: its parts, and how synthetic tables are made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.typing import IntoFrame
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.models.model import Model
from pyvws.plan.coded import CodedTable
from pyvws.plan.plan import Plan
from pyvws.synthesis.reference import Reference
from pyvws.tables.files.frame import OutcomeKind, open_frame, with_columns
from pyvws.tables.files.hidden_values import with_sorted_levels, without_notes
from pyvws.tables.files.row_order import RowNumbers


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidentialTable(CodedTable):
    """The parts of a confidential table, by a plan.

    Besides the coded columns these are the known columns' values, the columns to release in order,
    for a mechanism that names them the public weights (N,) and the public records, each record's
    unit of privacy (N,), 0 to H - 1, where a unit may have several records, and the survey weights
    over their mean (N,) where these are exponents.
    """

    plan: Plan
    known: list[Any]
    released: list[str]
    implementation: Any
    weights: Floats | None = None
    reference: Reference | None = None
    units: NDArray[np.intp] | None = None
    exponents: Floats | None = None

    @property
    def records(self) -> int:
        """N, the number of rows."""
        return len(self.outcomes[0].y)

    @property
    def unchanged(self) -> tuple[str, ...]:
        """The columns that are released as they are."""
        synthetic = {*self.synthesized, *self.ids}
        return tuple(name for name in self.released if name not in synthetic)

    @property
    def sought(self) -> dict[str, tuple[Floats, OutcomeKind]]:
        """What a search for copies of each outcome compares: its values before rounding."""
        return {name: (column.sought, column.kind) for name, column in self.synthesized.items()}

    @property
    def breaking(self) -> dict[str, int]:
        """The number of records that break a rule, of each column where there are any."""
        breaking = {
            name: column.breaking for name, column in self.synthesized.items() if column.breaking
        }
        if self.members is not None and self.members.impossible:
            breaking["members"] = self.members.impossible
        return breaking

    @property
    def unknown(self) -> dict[str, int]:
        """The number of records whose value counts nothing, since the settings do not know it."""
        return {name: own.unknown for name, own in self.synthesized.items() if own.unknown}

    def written(
        self, values: Mapping[str, Floats], backend: Any, *, first: int = 1
    ) -> list[nw.Series[Any]]:
        """The synthesized columns as they are released, of synthetic values by column.

        New ids go with them: those among the values, or else from the number `first` on.
        """
        columns = {
            name: column for name, column in self.synthesized.items() if name in self.released
        }
        series = [column.written(values, backend) for column in columns.values()]
        rows = np.arange(first, first + len(series[0]))
        numbers = {name: values.get(name, rows) for name in self.ids}
        return [*series, *(self.ids[name](own, backend) for name, own in numbers.items())]

    @property
    def families(self) -> dict[str, Model]:
        """The prepared family of each column."""
        return {outcome.name: outcome.model for outcome in self.outcomes}

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
        self, source: IntoFrame, values: Sequence[Mapping[str, Floats]], *, order: RowNumbers | None
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
