"""A table whose public cells are counted: what the counting reads of it, record by record.

No refusal follows from the records: a value that the schema does not know is in no cell, and of a
unit of more records than the cap as many count, by chance. The package says in confidential/ how
many are in no cell.
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pyvws._base.secret_noise import secret_keys
from pyvws.mechanisms.counts.coding import CountedColumn
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.models.of_schema import family_of
from pyvws.plan.coded import OutcomeColumn, ReleasedColumn
from pyvws.synthesis.confidential_table import ConfidentialTable, CountedRecords
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.design.patterns import pattern_design
from pyvws.tables.files.frame import open_frame, units_by_id
from pyvws.tables.schema.column import part_of
from pyvws.tables.schema.members import places_in
from pyvws.tables.schema.schema import Schema
from pyvws.tables.schema.write_values import native_levels, released_type


def counted_records(table: Any, settings: RunSettings, released: Any = None) -> ConfidentialTable:
    """The table as its cells are counted; InputError for a column that the table lacks.

    `released` has the same cells as they are written, where the table comes from a file.
    """
    frame = open_frame(table, least=0)
    plan = settings.plan.on(frame)
    schema = cast(Schema, plan.schema)
    mechanism = cast(NoisyCounts, settings.mechanism)
    counted = mechanism.counted_table(schema)
    codes, values = counted.read(frame)
    finest = mechanism.fine_cells(schema)
    read = {name: column.read(frame[name]) for name, column in finest.columns.items()}
    fine = {name: own for name, (own, _) in read.items()}
    classes = {name: own.codes(*read[name]) for name, own in finest.roundness.items()}
    units = None
    if schema.unit is not None:
        written = frame if released is None else open_frame(released, least=0)
        units = units_by_id(written[schema.unit]) + 1  # Records without an id are one unit.
        kept = _kept(units, cast(int, mechanism.cap))
        units = units[kept]
        codes, values = codes[kept], {name: x[kept] for name, x in values.items()}
        fine, classes = ({n: x[kept] for n, x in of.items()} for of in (fine, classes))
    released = {}
    for name in schema.synthesized:
        column = schema.columns[name]
        like = released_type(column, frame[name], by_schema=True)
        kind: Any = "real" if column.days_since is None else "date"
        if column.categorical:
            kind = native_levels(column.coded_levels, like)
        released[name] = ReleasedColumn(
            y=values.get(name, np.full(len(codes), np.nan)),
            kind=kind,
            written=partial(_written, schema, name, like),
            days_since=column.days_since,
        )
    return ConfidentialTable(
        plan=plan,
        outcomes=tuple(
            _outcome(schema, column, values[column.name])
            for column in counted.columns
            if column.name in values and not column.column.is_computed
        ),
        synthesized=released,
        drawn=(),
        public={},
        known=[],
        released=plan.released,
        implementation=frame.implementation,
        units=units,
        ids={name: partial(schema.numbered, name) for name in schema.ids},
        counted=CountedRecords(counted, codes, fine, classes),
    )


def _kept(units: NDArray[np.intp], cap: int) -> NDArray[np.bool_]:
    """Which records (N,) count: `cap` of each of the units (N,), each choice as probable.

    Fresh secret keys choose, so what other units keep is independent of a unit that is added.
    """
    order = np.lexsort((secret_keys(len(units)), units))
    kept = np.empty(len(units), dtype=np.bool_)
    kept[order] = places_in(units[order]) < cap
    return kept


def _outcome(schema: Schema, column: CountedColumn, y: Any) -> OutcomeColumn:
    """A counted column as the run's summary knows columns: its values and the schema's family."""
    patterns = schema.columns[column.name].model == "table"
    design = pattern_design(schema, column.name) if patterns else None
    family = family_of(schema, column.name, design)
    return OutcomeColumn(column.name, y, family, np.empty((len(y), 0)), (), ())


def _written(schema: Schema, name: str, like: Any, values: Any, _backend: Any) -> Any:
    return schema.decoded(name, values[name], like=like, parts=values.get(part_of(name)))
