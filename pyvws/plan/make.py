"""Make the plan of a run's settings, and refuse settings that make none."""

from __future__ import annotations

from typing import Any, Final

from pyvws.plan.by_counts import CountsPlan
from pyvws.plan.by_formula import FormulaPlan
from pyvws.plan.by_schema import SchemaPlan
from pyvws.plan.plan import Plan
from pyvws.plan.refusal import Refusal, refuse
from pyvws.tables.schema.schema import Schema


def _weights_change(run: Any) -> str:
    """The settings that change the one weight of a record, where weights are by column."""
    given = [name for name in ("reweight", "downscale", "epsilon") if getattr(run, name)]
    return ", ".join(given) if run.facts.by_column else ""


OF_OUTCOME: Final = (
    Refusal(
        "by-column-alone",
        lambda run: run.facts.by_column,
        "by_column gives each column of a table its own weights, and this run has one column.",
        "Give a schema (--schema), or leave by_column (--by-column) out.",
    ),
    Refusal(
        "counts-without-schema",
        lambda run: run.facts.takes_table,
        "{asked.mechanism.name} counts a schema's columns (--schema). pyvws schema proposes one.",
        "For one number with a range perturbed-histogram does as well.",
    ),
    Refusal(
        "outcome-name",
        lambda run: not isinstance(run.outcome, str),
        "outcome must be the name of one column.",
        "Name it (--outcome). Several columns take a schema (--schema).",
    ),
    Refusal(
        "round-with-entries",
        lambda run: run.column is not None and run.round,
        "round is for a column without entries.",
        "Give decimals = 0 in its place.",
    ),
    Refusal(
        "column-of-own-model",
        lambda run: run.column is not None and "model" in run.unchecked,
        "column is for a family of the package.",
        "Leave column or the model out.",
    ),
)
"""Of settings without a schema, before there is a plan."""

OF_SCHEMA: Final = (
    Refusal(
        "by-column-weights",
        _weights_change,
        "by_column gives a record several weights, and reweight, downscale and epsilon are for one "
        "weight a record.",
        "Leave {it} out, or by_column (--by-column).",
    ),
    Refusal(
        "schema-kind",
        lambda run: not isinstance(run.schema, Schema),
        "schema must be a path or a vws.Schema,",
        "as vws.Schema.read gives it.",
    ),
    Refusal(
        "schema-beside-formula",
        lambda run: ", ".join(run.of_one_outcome),
        "A schema says columns, families and predictors itself.",
        "Leave {it} out.",
    ),
)
"""Of settings with a schema, before there is a plan."""


def make_plan(run: Any) -> Plan:
    """The plan of settings before a table; InputError for settings that make none."""
    if run.schema is None:
        refuse(run, OF_OUTCOME)
        return FormulaPlan.of(run)
    refuse(run, OF_SCHEMA)
    return (CountsPlan if run.facts.takes_table else SchemaPlan).of(run, run.schema)
