"""Synthetic values that a fit brings along as y_rep, in the place of a family's prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.models.model import Draws
from pyvws.models.sequence import DrawnColumn, draws_of
from pyvws.plan.coded import OutcomeColumn
from pyvws.posterior.draws import Y_REP
from pyvws.tables.files.row_order import RowNumbers

OWN_MODEL: Final = "own"
"""The statement's word for the family of a fit that brings its synthetic values along."""


def given_values(
    columns: Sequence[DrawnColumn], draw: Draws, rows: RowNumbers | int
) -> dict[str, Floats]:
    """Synthetic values by column, in the table's coding, from y_rep of one draw (S = 1).

    Row j stands for record rows[j]; a number stands for all records in their order. Raises
    InputError for values that the column cannot have: nothing can draw them again.
    """
    values: dict[str, Floats] = {}
    for column in columns:
        own = (draws_of(draw, column.column) or draw)[Y_REP][0]
        drawn = own if isinstance(rows, int) else own[rows]
        finish = column.finish
        finite = bool(np.isfinite(drawn).all())
        if not finite or (
            column.model is not None
            and column.model.whole_numbers
            and (drawn != np.floor(drawn)).any()
        ):
            kind = "whole numbers" if finite else "finite numbers"
            raise InputError.by("y-rep-values", column=column.column, kind=kind)
        drawn = drawn + column.first
        if finish is not None:
            drawn = finish.rounded(drawn)
            if np.any(finish.refused(drawn, values)):
                raise InputError.by("y-rep-breaks-rules", column=column.column)
            drawn = finish.settled(drawn, values)
        values[column.column] = drawn
    return values


def check_given(outcome: OutcomeColumn) -> None:
    """Raise InputError where the family would put the outcome on another scale than y_rep's."""
    if not np.array_equal(outcome.encoded, outcome.y - outcome.first):
        raise InputError.by("y-rep-unit", outcome=outcome.name)


def refuse_own_outcome(outcome: OutcomeColumn, y_rep: Floats | None) -> None:
    """Raise InputError where y_rep (S, N) has the records' own outcomes at most draws.

    Draws from parameters repeat no whole column, unless all of its values are one.
    """
    if y_rep is None or y_rep.shape[1] != len(outcome.y) or np.ptp(outcome.y) == 0.0:
        return
    if (y_rep == outcome.y - outcome.first).all(axis=1).mean() > 0.5:
        raise InputError.by("y-rep-is-the-data", outcome=outcome.name)


def brings_values(run: Any) -> bool:
    """Whether the fit brings synthetic values along, so that no family's prediction is used."""
    return run.existing_fit is not None or (run.program is not None and run.program.predicts)


def refuse_beside_given(run: Any) -> None:
    """Raise InputError for settings of a prediction that a run with y_rep does not make."""
    if not brings_values(run):
        return
    fewer = run.draws_per_release is not None and run.draws_per_release < run.datasets
    asked = {
        "draws_per_release": fewer,
        "records": run.records is not None,
        "sampling": run.sampling != "independent",
    }
    given = [name for name, holds in asked.items() if holds]
    if given:
        raise InputError.by("y-rep-with-setting", given=", ".join(given))


def refuse_without_order(run: Any) -> None:
    """Raise InputError for a run whose settings have an entry for each record, in their order."""
    program = run.program is not None and any(np.ndim(value) for value in run.program.data.values())
    if program or run.existing_fit is not None or run.facts.weights_source == "outside":
        raise InputError.by("arrays-in-steps")
