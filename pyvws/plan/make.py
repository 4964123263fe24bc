"""Make the plan of a run's settings, and refuse settings that make none."""

from __future__ import annotations

from typing import Any, Final

from pyvws.plan.by_counts import CountsPlan
from pyvws.plan.by_formula import FormulaPlan
from pyvws.plan.by_schema import SchemaPlan
from pyvws.plan.plan import Plan
from pyvws.plan.refusal import Conditions, refuse
from pyvws.tables.schema.schema import Schema

OF_OUTCOME: Final[Conditions] = {
    "by-column-alone": lambda run: run.facts.by_column,
    "counts-without-schema": lambda run: run.facts.takes_table,
    "outcome-name": lambda run: not isinstance(run.outcome, str),
    "round-with-entries": lambda run: run.column is not None and run.round,
    "column-of-own-model": lambda run: run.column is not None and "model" in run.unchecked,
}
"""Of settings without a schema, before there is a plan."""

OF_SCHEMA: Final[Conditions] = {
    "by-column-weights": lambda run: ", ".join(
        name
        for name in ("reweight", "downscale", "epsilon")  # They change a record's one weight.
        if run.facts.by_column and getattr(run, name)
    ),
    "schema-kind": lambda run: not isinstance(run.schema, Schema),
    "schema-beside-formula": lambda run: ", ".join(run.of_one_outcome),
}
"""Of settings with a schema, before there is a plan."""


def make_plan(run: Any) -> Plan:
    """The plan of settings before a table; InputError for settings that make none."""
    if run.schema is None:
        refuse(run, OF_OUTCOME)
        return FormulaPlan.of(run)
    refuse(run, OF_SCHEMA)
    if run.facts.takes_table:
        return CountsPlan.of(run, run.schema, counting=run.mechanism.counting(run.schema))
    return SchemaPlan.of(run, run.schema)
