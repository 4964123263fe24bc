"""Read once what a run takes of a table besides the columns that its plan codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyvws._base.checks import Bools, Floats, Places
from pyvws._base.secret_noise import secret_keys
from pyvws.errors import InputError
from pyvws.plan.plan import Plan
from pyvws.tables.files.frame import (
    Frame,
    numeric_column,
    plain_columns,
    unit_codes,
    units_by_id,
    units_from_0,
)
from pyvws.tables.schema.members import places_in
from pyvws.tables.schema.read_values import how_many


@dataclass(frozen=True, slots=True)
class ReadRoles:
    """What columns tell by their role in a run.

    They are the known columns' values, the public weights (N,) that a mechanism names, survey
    weights over their mean (N,) where these are exponents, and each record's unit of privacy (N,),
    0 to H - 1, where a unit may have several records.
    """

    known: list[Any]
    weights: Floats | None
    exponents: Floats | None
    units: Places | None


def read_roles(
    frame: Frame, plan: Plan, written: Frame, counts: Floats | None, kinds: Places | None
) -> ReadRoles:
    """The columns with a role; InputError for values that the role cannot have.

    A tally has the `kinds` (N,) of its units, and `counts` (N,) of each row. `written` has the ids
    of units as a file spells them, where the table comes from one.
    """
    facts = plan.run.facts
    named, survey, units = facts.weight_column, plan.exponents, kinds
    known = plain_columns(frame, facts.known, role="known")
    weights = None if named is None else numeric_column(frame, named, role="weight_column")
    weighed = None if survey is None else numeric_column(frame, survey, role="survey_weight")
    if plan.unit is not None and kinds is None:
        strict = plan.refuses_no_record
        of_ids = units_by_id if plan.counts_units else units_from_0
        units = of_ids(written[plan.unit]) if strict else unit_codes(frame, plan.unit)
    if weights is not None and not ((weights >= 0.0) & (weights <= 1.0)).all():
        raise InputError.by("public-weights-outside", named=named)
    if weighed is not None and ((weighed < 0.0).any() or not (weighed > 0.0).any()):
        raise InputError.by("survey-weights-negative", survey=survey)
    refused = None if plan.refuses_no_record else units
    if refused is not None and how_many(places_in(refused) == 0, counts) < 2:
        raise InputError.by("unit-of-one-value", unit=plan.unit)
    exponents = None
    if weighed is not None:
        exponents = weighed / (plan.mean_exponent or np.average(weighed, weights=counts))
    return ReadRoles(
        known=[np.asarray(column.astype(object)) for column in known.values()],
        weights=weights,
        exponents=exponents,
        units=units,
    )


def within_cap(units: Places, cap: int) -> Bools:
    """Which records (N,) count: `cap` of each of the units (N,), each choice as probable.

    Fresh secret keys choose, so what other units keep is independent of a unit that is added.
    """
    order = np.lexsort((secret_keys(len(units)), units))
    kept = np.empty(len(units), dtype=np.bool_)
    kept[order] = places_in(units[order]) < cap
    return kept
