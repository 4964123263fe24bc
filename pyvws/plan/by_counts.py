"""The plan of a table whose public cells are counted: what is counted, made once by its schema."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Protocol, Self

import numpy as np

from pyvws._base.checks import Floats, Places
from pyvws.models.registry import family_of
from pyvws.plan.by_schema import SchemaPlan, decoder, levels_of
from pyvws.plan.coded import CodedTable, InCells, OutcomeColumn, ReleasedColumn
from pyvws.tables.design.public import pattern_design
from pyvws.tables.files.frame import Frame, HasColumns, check_columns
from pyvws.tables.schema.parts import UnitsDrawn
from pyvws.tables.schema.write_values import released_type


class CellCounter(Protocol):
    """What a mechanism counts of a table: made once, by a schema."""

    def refuse(self) -> None:
        """Raise InputError for what cannot be counted."""

    def read(self, frame: Frame, units: Places | None) -> InCells:
        """The records of a table, or of `units` (N,) of its rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountsPlan(SchemaPlan):
    """The columns of a schema, and the `counting` of the run: its sets and fine cells."""

    counting: CellCounter

    @property
    def keys(self) -> list[str]:
        """The columns that are counted by, with that of the survey weights."""
        weight = self.schema.weight
        return [*super(CountsPlan, self).keys, *([] if weight is None else [weight])]

    def named(self, table: HasColumns) -> Self:
        check_columns(table, self.keys, role="weight")
        return super(CountsPlan, self).named(table)

    def settled(self) -> Self:
        self.counting.refuse()
        self.run.mechanism.refuse_needs(self.schema, self.run.records)
        return self

    def coded(
        self, frame: Frame, counts: Floats | None, units: Places | None, by_schema: Collection[str]
    ) -> CodedTable:
        """The records in cells; no refusal follows from them."""
        schema, members, drawn = self.schema, self.schema.members, None
        counted = self.counting.read(frame, units)
        if members is not None and units is not None:
            drawn = UnitsDrawn(schema, 0, len(np.unique(units)))
        released = {}
        for name in self.outcomes:
            column = schema.columns[name]
            like = released_type(column, frame[name], by_schema=True)
            released[name] = ReleasedColumn(
                y=counted.values.get(name, np.full(len(frame), np.nan)),
                kind=levels_of(schema, name, like),
                written=decoder(schema, name, like),
                days_since=column.days_since,
            )
        return CodedTable(
            outcomes=tuple(
                self._outcome(name, y)
                for name, y in counted.values.items()
                if not schema.columns[name].is_computed
            ),
            synthesized=released,
            drawn=(),
            public={},
            ids={name: partial(schema.numbered, name) for name in schema.ids},
            counted=counted,
            members=drawn,
        )

    def _outcome(self, name: str, y: Floats) -> OutcomeColumn:
        """A counted column as the run's summary knows columns: values and the schema's family."""
        patterns = self.schema.columns[name].model == "table"
        design = pattern_design(self.schema, name) if patterns else None
        family = family_of(self.schema, name, design)
        return OutcomeColumn(name, y, family, np.empty((len(y), 0)), (), ())
