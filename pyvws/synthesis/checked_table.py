"""Check a confidential table before any work, and make of it what a run reads."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
from narwhals.typing import IntoFrame
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.plan.plan import Plan
from pyvws.plan.reading import read_roles, within_cap
from pyvws.synthesis.confidential_table import ConfidentialTable
from pyvws.synthesis.reference import read_reference
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.files.frame import open_frame, written_as_text


def check_table(
    table: IntoFrame,
    settings: RunSettings,
    *,
    plan: Plan | None = None,
    counts: Floats | None = None,
    units: NDArray[np.intp] | None = None,
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
    if settings.facts.cap is not None and roles.units is not None:
        kept = within_cap(roles.units, settings.facts.cap)
        if not kept.all():
            frame, roles = frame.filter(kept.tolist()), replace(roles, units=roles.units[kept])
    coded = plan.coded(frame, counts, roles.units, by_schema)
    return ConfidentialTable(
        **{part.name: getattr(read, part.name) for read in (coded, roles) for part in fields(read)},
        plan=plan,
        released=plan.released,
        implementation=frame.implementation,
        reference=read_reference(plan, frame, coded),
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
