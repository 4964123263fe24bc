"""What a run refuses before it reads a record: one table of conditions.

A refusal after that could be taken for one that tells of the table. The conditions are asked in
their order, when settings make a plan and again when a header and public columns complete it.
"""

from __future__ import annotations

from typing import Any, Final

from pyvws.models.conditional_table import ConditionalTable
from pyvws.plan.plan import Plan, PlannedConditional
from pyvws.plan.refusal import Conditions, delta_above

MOST_PARAMETERS: Final = 20_000  # Some 200 design columns: coefficients have correlations.
_LONGER: Final = 4  # A fit that confirms a searched epsilon has so many times the draws.
_OF_ALL_RECORDS: Final = ("An own Stan program", "A reference")


def _alone(plan: Plan) -> list[str]:
    """What was given of what only a plan of one conditional may have, as messages name it."""
    run = plan.run
    given = {
        "threshold": run.threshold != 1.0,
        "round": run.round,
        _OF_ALL_RECORDS[0]: run.program is not None,
        _OF_ALL_RECORDS[1]: run.facts.reference is not None
        and run.facts.weights_source != "constant",
    }
    return [name for name, holds in given.items() if holds]


def _needs_all_records(plan: Plan) -> str:
    """What needs a term of each record, where a rule leaves records out."""
    needs = [name for name in _alone(plan) if name in _OF_ALL_RECORDS]
    return needs[0] if needs and plan.leaves_records_out else ""


def _beside_counts(plan: Any) -> list[str]:
    """What a mechanism that counts a whole table cannot have beside it."""
    there = {
        "public columns": plan.predictors,
        "model conditionals of whole units": (
            plan.members and plan.run.mechanism.model == "conditionals"
        ),
        "size_shares of members, whose sizes it counts": (
            plan.members is not None and plan.members.size_shares
        ),
        "a reference of whole units": plan.members and plan.run.mechanism.reference,
        "totals of whole units": plan.members and plan.run.mechanism.totals,
        "a weight of whole units": plan.members and plan.schema.weight,
        "needs of whole units": plan.members and plan.run.mechanism.asked,
        "needs of sums of weights": plan.schema.weight and plan.run.mechanism.asked,
        "survey_weight": plan.schema.survey_weight,
        "keep_order": plan.run.keep_order,
        "a noisy number of records, which it has by itself": plan.run.records == "noisy",
    }
    return [name for name, given in there.items() if given]


def _paid(plan: Plan) -> Any:
    """What entries of the schema cost that were found under noise; None without such a schema."""
    return getattr(plan.schema, "paid", None)


def _by_no_family(plan: Plan) -> Any:
    """The first counted column that its own family cannot give: its name, why, and what helps."""
    mechanism = plan.run.mechanism
    return mechanism.by_no_family(plan.schema) if plan.run.facts.takes_table else None


def _too_wide(plan: Plan) -> PlannedConditional | None:
    """The first conditional with more parameters than a sampler can fit."""
    if not plan.run.facts.fits_model or plan.run.program is not None:
        return None
    return next((own for own in plan.conditionals if own.parameters > MOST_PARAMETERS), None)


def _long_tables(plan: Plan) -> dict[str, Any] | None:
    """The first conditional table that cannot hold the draws of the run's longest fit."""
    run, searched = plan.run, plan.run.target_epsilon is not None
    draws = run.settings.draws * run.settings.chains * (_LONGER if searched else 1)
    for conditional in plan.conditionals if run.facts.fits_model else ():
        family = conditional.family
        if isinstance(family, ConditionalTable) and draws > family.most_draws:
            fit = "the fit that confirms epsilon" if searched else "a fit"
            of_table = {"name": conditional.name, "family": family, "shares": len(family.levels)}
            return of_table | {"draws": draws, "fit": fit}
    return None


def _shows_sizes(plan: Plan) -> str:
    """What to choose where a strict run would release the number of records of units."""
    run, facts = plan.run, plan.run.facts
    if plan.unit is None or plan.members is not None:
        return ""
    if facts.takes_table:
        exact = run.mechanism.neighbours == "replace"
        return "neighbours loo, under which the number is noisy" if exact else ""
    return "a public number (--records)" if plan.strict and run.records is None else ""


def _without_window(plan: Plan) -> bool:
    """Whether no term of the run is known to be a log probability, or each one is clamped."""
    run, facts = plan.run, plan.run.facts
    outside = run.program is not None or run.existing_fit is not None
    return bool(outside or facts.clamps or not facts.fits_model)


def _missed(run: Any) -> bool:
    """Whether a run accepts a miss of an epsilon that it cannot miss."""
    aims = run.downscale or run.facts.own_epsilon is not None
    may_miss = aims and run.facts.fits_model and not run.facts.clamps
    return bool(run.accept_above_target and not may_miss)


def _of_data(plan: Plan) -> bool:
    """Whether a run that could be fitted to the table without a clamp has an exact engine."""
    clamps = plan.run.facts.clamps_every_fit or plan.run.facts.reference is not None
    return bool(plan.run.is_exact and (not clamps or plan.run.downscale))


OF_PLAN: Final[Conditions] = {
    "histogram-of-table": lambda plan: (
        plan.by_schema and not (plan.run.facts.fits_model or plan.run.facts.takes_table)
    ),
    "for-one-outcome": lambda plan: len(plan.conditionals) > 1 and _alone(plan),
    "grid-of-table": lambda plan: plan.run.is_exact and (len(plan.conditionals) > 1 or plan.unit),
    "term-of-each-record": _needs_all_records,
    "weight-column-outcome": lambda plan: plan.run.facts.weight_column in plan.outcomes,
    "unit-outcome": lambda plan: plan.unit in plan.outcomes,
    "exponents-clamp": lambda plan: plan.exponents is not None and plan.run.facts.clamps,
    "exponents-members": lambda plan: plan.exponents is not None and plan.members is not None,
    "exponents-stan": lambda plan: plan.exponents is not None and plan.run.is_stan,
    "draws-beyond-datasets": lambda plan: (plan.run.draws_per_release or 0) > plan.run.datasets,
    "draws-read-outcome": lambda plan: (
        plan.reads_outcome and (plan.run.draws_per_release or plan.run.datasets) < plan.run.datasets
    ),
    "too-few-draws": lambda plan: plan.run.draws_needed > plan.run.draws_made,
    "grid-without-clamp": _of_data,
    "grid-unconverged": lambda plan: plan.run.is_exact and plan.run.accept_unconverged,
    "grid-settings": lambda plan: (
        not plan.run.is_exact and (plan.run.settings.grid_range or plan.run.settings.grid_steps)
    ),
    "program-engine": lambda plan: plan.run.program is not None and not plan.run.is_stan,
    "target-of-public-constant": lambda plan: (
        plan.run.epsilon is not None and plan.run.facts.public_constant
    ),
    "search-without-target": lambda plan: (
        plan.run.facts.needs_target and (plan.run.epsilon is None or plan.run.downscale)
    ),
    "of-other-mechanisms": lambda plan: plan.run.of_other_mechanisms,
    "beside-counts": lambda plan: plan.run.facts.takes_table and _beside_counts(plan),
    "weight-mechanism": lambda plan: (
        not plan.run.facts.takes_table and getattr(plan.schema, "weight", None)
    ),
    "paid-schema-mechanism": lambda plan: _paid(plan) and not plan.run.facts.takes_table,
    "paid-schema-neighbours": lambda plan: (
        _paid(plan)
        and (_paid(plan).neighbours, _paid(plan).unit)
        != (getattr(plan.run.mechanism, "neighbours", "loo"), plan.unit)
    ),
    "cap-and-unit": lambda plan: (
        plan.run.facts.takes_table
        and (plan.unit is None or plan.counts_units) != (plan.run.mechanism.cap is None)
    ),
    "slot-without-counts": lambda plan: (
        plan.members is not None and not plan.counts_units and plan.members.slot
    ),
    "exact-number-of-units": _shows_sizes,
    "counts-family": _by_no_family,
    "reference-without-fit": lambda plan: (
        plan.run.facts.takes_table
        and plan.run.mechanism.reference is not None
        and plan.run.mechanism.model != "classes"
    ),
    "window-of-no-bound": lambda plan: plan.run.accounting == "window" and _without_window(plan),
    "match-and-epsilon": lambda plan: plan.run.epsilon is not None and plan.run.facts.names_bound,
    "downscale": lambda plan: (
        plan.run.downscale
        and not (plan.run.facts.fits_model and plan.run.target_epsilon is not None)
    ),
    "nothing-to-miss": lambda plan: _missed(plan.run),
    "order-under-loo": lambda plan: plan.run.keep_order and plan.run.facts.protects_records,
    "squeeze-clamp": lambda plan: (
        plan.run.facts.clamps_every_fit
        and not plan.run.downscale
        and any(getattr(family, "squeeze", 0.0) for family in plan.families)
    ),
    "reference-levels": lambda plan: (
        plan.run.facts.reference is not None and plan.prepared_from_data
    ),
    "records-unchanged": lambda plan: plan.run.records is not None and plan.unchanged,
    "records-order": lambda plan: plan.run.records is not None and plan.run.keep_order,
    "records-histogram": lambda plan: (
        plan.run.records is not None
        and not (plan.run.facts.fits_model or plan.run.facts.takes_table)
    ),
    "records-read-outcome": lambda plan: plan.run.records is not None and plan.reads_outcome,
    "noisy-records-units": lambda plan: (
        plan.run.records == "noisy" and plan.unit is not None and not plan.members
    ),
    "noisy-records-epsilon": lambda plan: (
        plan.run.records == "noisy" and plan.run.records_epsilon is None
    ),
    "delta-of-public-records": lambda plan: (
        isinstance(plan.run.records, int) and delta_above(plan.run, plan.run.records)
    ),
    "public-records-epsilon": lambda plan: (
        plan.run.records not in (None, "noisy") and plan.run.records_epsilon is not None
    ),
    "members-order": lambda plan: (
        plan.unit is not None
        and plan.members is not None
        and (plan.run.keep_order or plan.reads_outcome)
    ),
    "unit-mechanism": lambda plan: plan.unit is not None and not plan.run.facts.takes_units,
    "unit-program": lambda plan: plan.unit is not None and plan.run.program is not None,
    "no-guarantee": lambda plan: plan.run.accept_unconverged and not plan.clamped_one_by_one,
    "types-of-table": lambda plan: plan.strict and plan.run.types == "table",
    "program-clamp": lambda plan: plan.run.facts.clamps and plan.run.program is not None,
    "too-wide": _too_wide,
    "too-many-shares": _long_tables,
}
"""Of a plan and its settings."""
