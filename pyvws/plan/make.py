"""Make the plan of a run's settings."""

from __future__ import annotations

from typing import Any

from pyvws.plan.by_counts import CountsPlan
from pyvws.plan.by_formula import FormulaPlan
from pyvws.plan.by_schema import SchemaPlan
from pyvws.plan.plan import Plan
from pyvws.plan.refusal import refuse
from pyvws.plan.refusals import OF_OUTCOME, OF_SCHEMA


def make_plan(run: Any) -> Plan:
    """The plan of settings before a table; InputError for settings that make none."""
    if run.schema is None:
        refuse(run, OF_OUTCOME)
        return FormulaPlan.of(run)
    refuse(run, OF_SCHEMA)
    return (CountsPlan if run.facts.takes_table else SchemaPlan).of(run, run.schema)
