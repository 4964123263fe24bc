"""Check a confidential table before any work, and make of it what a run reads."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.plan.plan import Plan
from pyvws.synthesis.confidential_table import ConfidentialTable
from pyvws.synthesis.counted_records import counted_records
from pyvws.synthesis.reference import read_reference
from pyvws.synthesis.settings import RunSettings
from pyvws.synthesis.survey_weights import survey_exponents
from pyvws.tables.files.frame import numeric_column, open_frame, plain_columns, unit_codes
from pyvws.tables.schema.members import places_in
from pyvws.tables.schema.read_values import how_many


def check_table(
    table: Any,
    settings: RunSettings,
    *,
    plan: Plan | None = None,
    counts: Floats | None = None,
    units: NDArray[np.intp] | None = None,
    written: Collection[str] = (),
) -> ConfidentialTable:
    """The checked table; InputError if the method cannot take the table.

    `plan` is that of the whole header where the table is a tally, which lacks the columns that are
    only released. `counts` (N,) are the records that each row of a tally stands for, and `units`
    (N,) the kinds of units that the rows belong to, where there are units. The file has text in the
    columns `written`, whose types here follow from the cells, so that no type of a released column
    may follow from them. By a schema, and under a strict claim, that holds for every table.
    """
    if settings.mechanism.facts.takes_table:  # type: ignore[union-attr]
        return counted_records(table, settings)
    frame = open_frame(table, least=2 if counts is None else 1)
    plan = settings.planned(frame, plan)
    by_schema = frame.columns if plan.types_are_public else written
    codes = _units(frame, plan, counts, units)
    coded = plan.coded(frame, counts, codes, by_schema)
    return ConfidentialTable(
        **{part.name: getattr(coded, part.name) for part in fields(coded)},
        plan=plan,
        known=_known(frame, plan),
        released=plan.released,
        implementation=frame.implementation,
        weights=_public_weights(frame, plan),
        reference=read_reference(plan, frame, coded),
        units=codes,
        exponents=survey_exponents(frame, plan, counts),
    )


def _known(frame: nw.DataFrame[Any], plan: Plan) -> list[Any]:
    """The values (N,) of the columns that the mechanism names as known."""
    known = plain_columns(frame, plan.run.mechanism.facts.known, role="known")
    return [np.asarray(column.astype(object)) for column in known.values()]


def _public_weights(frame: nw.DataFrame[Any], plan: Plan) -> Floats | None:
    """The column of weights (N,) that a mechanism names; InputError for a value that is none."""
    name = plan.run.mechanism.facts.weight_column
    if name is None:
        return None
    weights = numeric_column(frame, name, role="weight_column")
    if not ((weights >= 0.0) & (weights <= 1.0)).all():
        raise InputError(
            f"Column {name!r} of weight_column has values outside [0, 1]. Scale it by constants "
            "that are known without the table."
        )
    return weights


def _units(
    frame: nw.DataFrame[Any],
    plan: Plan,
    counts: Floats | None,
    kinds: NDArray[np.intp] | None,
) -> NDArray[np.intp] | None:
    """Each record's unit of privacy (N,), 0 to H - 1; None where a record is a unit.

    A tally has the `kinds` of its units, and `counts` of each.
    """
    name = plan.unit
    if name is None:
        return None
    codes = unit_codes(frame, name) if kinds is None else kinds
    if how_many(places_in(codes) == 0, counts) < 2:
        raise InputError(f"Column {name!r} of unit has one value. A run needs two units or more.")
    return codes
