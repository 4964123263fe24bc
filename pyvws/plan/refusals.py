"""What a run refuses before it reads a record: one table of conditions, words and remedies.

A refusal after that could be taken for one that tells of the table. The rows are asked in their
order, when settings make a plan and again when a table's header and public columns complete it.
"""

from __future__ import annotations

from typing import Any, Final

from pyvws.models.conditional_table import ConditionalTable
from pyvws.plan.plan import Plan, PlannedConditional
from pyvws.plan.refusal import DELTA_OF_PUBLIC_RECORDS, OF_TARGETS, Refusal

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
        "members": plan.members,
        "survey_weight": plan.schema.survey_weight,
        "keep_order": plan.run.keep_order,
        "a noisy number of records, which it has by itself": plan.run.records == "noisy",
    }
    return [name for name, given in there.items() if given]


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


OF_PLAN: Final = (
    Refusal(
        "histogram-of-table",
        lambda plan: (
            plan.by_schema and not (plan.run.facts.fits_model or plan.run.facts.takes_table)
        ),
        "{asked.run.mechanism.name} is for one outcome: a whole table has too many cells.",
        "Choose noisy-counts, or censored.",
    ),
    Refusal(
        "for-one-outcome",
        lambda plan: len(plan.conditionals) > 1 and _alone(plan),
        "{it[0]} is for one outcome, and the schema makes several conditionals: one a column, and "
        "one more for missing values, points of mass or groups.",
        "Leave it out, or synthesize one plain column.",
    ),
    Refusal(
        "grid-of-table",
        lambda plan: plan.run.is_exact and (len(plan.conditionals) > 1 or plan.unit),
        "Engine grid is for models of up to three parameters, whose units of privacy are records.",
        "Choose native.",
    ),
    Refusal(
        "term-of-each-record",
        _needs_all_records,
        "{it} needs a term of each record, and a rule of the schema leaves records out.",
        "Leave one of them out.",
    ),
    Refusal(
        "weight-column-outcome",
        lambda plan: plan.run.facts.weight_column in plan.outcomes,
        "weight_column names the outcome {asked.run.facts.weight_column!r}, which is confidential.",
        "Name a public column, made without looking at the outcomes of other records.",
    ),
    Refusal(
        "unit-outcome",
        lambda plan: plan.unit in plan.outcomes,
        "unit names the outcome {asked.unit!r}.",
        "Name a column of ids.",
    ),
    Refusal(
        "exponents-clamp",
        lambda plan: plan.exponents is not None and plan.run.facts.clamps,
        "survey_weight {asked.exponents!r} raises likelihoods to powers, which the clamp of "
        "mechanism {asked.run.mechanism.name} is not made for.",
        "Choose a mechanism without a clamp, such as lw, or synthesize the weights as the last "
        "column.",
    ),
    Refusal(
        "exponents-members",
        lambda plan: plan.exponents is not None and plan.members is not None,
        "survey_weight {asked.exponents!r} is of records, and members have whole units drawn, "
        "whose own columns count once.",
        "Synthesize the weights as a column, or leave members out.",
    ),
    Refusal(
        "exponents-stan",
        lambda plan: plan.exponents is not None and plan.run.is_stan,
        "The programs of engine {asked.run.engine} take weights of at most 1, and survey weights "
        "over their mean exceed it.",
        "Choose engine native, or leave survey_weight out.",
    ),
    Refusal(
        "draws-beyond-datasets",
        lambda plan: (plan.run.draws_per_release or 0) > plan.run.datasets,
        "draws_per_release must be at most datasets, {asked.run.datasets}, since a draw without a "
        "dataset would be paid for nothing.",
        "Got {asked.run.draws_per_release}; lower draws_per_release or raise datasets.",
    ),
    Refusal(
        "draws-read-outcome",
        lambda plan: (
            plan.reads_outcome
            and (plan.run.draws_per_release or plan.run.datasets) < plan.run.datasets
        ),
        "This model draws each synthetic value from its record as well as from the posterior "
        "draw. So a draw that is paid once does not pay for several datasets.",
        "Leave draws_per_release out, or choose labels prior.",
    ),
    Refusal(
        "too-few-draws",
        lambda plan: plan.run.draws_needed > plan.run.draws_made,
        "{asked.run.datasets} datasets need {asked.run.draws_needed} posterior draws.",
        "Got {asked.run.draws_made}; raise draws or chains.",
    ),
    Refusal(
        "grid-without-clamp",
        _of_data,
        "Engine grid draws from clamped targets alone, and this run makes a fit to the table "
        "without a clamp.",
        "Choose mechanism censored with weights none, constant, public, reference or staged, "
        "without downscale, or engine native.",
    ),
    Refusal(
        "grid-unconverged",
        lambda plan: plan.run.is_exact and plan.run.accept_unconverged,
        "Engine grid draws exactly and runs no chain on the table, so there is none to accept.",
        "Leave accept_unconverged out.",
    ),
    Refusal(
        "grid-settings",
        lambda plan: (
            not plan.run.is_exact and (plan.run.settings.grid_range or plan.run.settings.grid_steps)
        ),
        "grid_range and grid_steps belong to engine grid.",
        "Choose it or leave them out.",
    ),
    Refusal(
        "program-engine",
        lambda plan: plan.run.program is not None and not plan.run.is_stan,
        "A Stan program needs engine cmdstan, rstan, pystan",
        "by its name.",
    ),
    *OF_TARGETS,
    Refusal(
        "of-other-mechanisms",
        lambda plan: plan.run.of_other_mechanisms,
        "{it[0]} of a run is for the mechanisms {it[1]}.",
        "Leave {it[0]} out, or choose one of them.",
    ),
    Refusal(
        "beside-counts",
        lambda plan: plan.run.facts.takes_table and _beside_counts(plan),
        "{asked.run.mechanism.name} imputes all records and columns anew, so it cannot have "
        "{it[0]}.",
        "Take it out, or choose another mechanism.",
    ),
    Refusal(
        "cap-and-unit",
        lambda plan: (
            plan.run.facts.takes_table and (plan.unit is None) != (plan.run.mechanism.cap is None)
        ),
        "A unit of several records needs a cap (--cap), the most records of a unit that are "
        "counted, and a cap needs a unit in the schema.",
        "Give both or none. Noise grows with the cap: --plan without --mechanism suggests one.",
    ),
    Refusal(
        "exact-number-of-units",
        _shows_sizes,
        "With a unit the exact number of records tells the size of units.",
        "Choose {it}, or leave unit out.",
    ),
    Refusal(
        "counts-family",
        _by_no_family,
        "Column {it[0]!r} cannot be given by its own family under {asked.run.mechanism.name}: "
        "{it[1]}.",
        "{it[2]}, or leave the column to the model classes.",
    ),
    Refusal(
        "too-few-sweeps",
        lambda plan: (
            plan.run.facts.takes_table and plan.run.datasets > plan.run.mechanism.kept_sweeps
        ),
        "Each dataset has a sweep of its own in the second half of the sweeps, and "
        "{asked.run.datasets} datasets need more than {asked.run.mechanism.kept_sweeps} of them.",
        "Raise sweeps (--sweeps), or take fewer datasets.",
    ),
    Refusal(
        "window-of-no-bound",
        lambda plan: plan.run.accounting == "window" and _without_window(plan),
        "The window's figure is for fits of the package's families without a clamp.",
        "Leave accounting (--accounting) out.",
    ),
    Refusal(
        "match-and-epsilon",
        lambda plan: plan.run.epsilon is not None and plan.run.facts.names_bound,
        "match and epsilon both name a bound to meet.",
        "Leave one out.",
    ),
    Refusal(
        "downscale",
        lambda plan: (
            plan.run.downscale
            and not (plan.run.facts.fits_model and plan.run.target_epsilon is not None)
        ),
        "downscale lowers weights until the bound is epsilon / 2.",
        "It needs epsilon, and a mechanism with weights.",
    ),
    Refusal(
        "nothing-to-miss",
        lambda plan: _missed(plan.run),
        "Only weighted-epsilon and downscale can end above the epsilon that was asked for. A "
        "search ends below its epsilon or releases nothing; censored and perturbed-histogram "
        "enforce theirs; other runs aim at none.",
        "Leave accept_above_target (--accept-above-target) out.",
    ),
    Refusal(
        "order-under-loo",
        lambda plan: plan.run.keep_order and plan.run.facts.protects_records,
        "Under loo neighbours no released row is a record's own, so there is no order to keep.",
        "Leave keep_order out, or choose replace.",
    ),
    Refusal(
        "squeeze-clamp",
        lambda plan: (
            plan.run.facts.clamps_every_fit
            and not plan.run.downscale
            and any(getattr(family, "squeeze", 0.0) for family in plan.families)
        ),
        "The clamp of censored takes outcomes at an end of the range as they are, so none is "
        "moved.",
        "Leave squeeze out.",
    ),
    Refusal(
        "reference-levels",
        lambda plan: plan.run.facts.reference is not None and plan.prepared_from_data,
        "A reference needs a model whose settings are all public: the levels of the outcome would "
        "come from two tables.",
        "Give levels (--levels).",
    ),
    Refusal(
        "records-unchanged",
        lambda plan: plan.run.records is not None and plan.unchanged,
        "records draws another number of rows than the table has, and columns that are released "
        "as they are have the table's own.",
        "Take formula and keep out, or records.",
    ),
    Refusal(
        "records-order",
        lambda plan: plan.run.records is not None and plan.run.keep_order,
        "With records set no released row is a record's own, so there is no order to keep.",
        "Leave keep_order or records out.",
    ),
    Refusal(
        "records-histogram",
        lambda plan: (
            plan.run.records is not None
            and not (plan.run.facts.fits_model or plan.run.facts.takes_table)
        ),
        "A perturbed histogram protects the number of records under loo neighbours (--neighbours "
        "loo).",
        "Leave records out.",
    ),
    Refusal(
        "records-read-outcome",
        lambda plan: plan.run.records is not None and plan.reads_outcome,
        "This model draws each synthetic value from one record, so the datasets have as many rows "
        "as there are records.",
        "Leave records out, or choose labels prior.",
    ),
    Refusal(
        "noisy-records-units",
        lambda plan: plan.run.records == "noisy" and plan.unit is not None and not plan.members,
        "A noisy number of rows is for one record more or less, and a unit has several.",
        "Give a public number, or leave records out.",
    ),
    Refusal(
        "noisy-records-epsilon",
        lambda plan: plan.run.records == "noisy" and plan.run.records_epsilon is None,
        "A noisy number of rows costs epsilon of its own.",
        "Say how much by --records-epsilon (records_epsilon=... in Python).",
    ),
    DELTA_OF_PUBLIC_RECORDS,
    Refusal(
        "public-records-epsilon",
        lambda plan: (
            plan.run.records not in (None, "noisy") and plan.run.records_epsilon is not None
        ),
        "A public number of rows costs nothing.",
        "Leave records_epsilon out.",
    ),
    Refusal(
        "members-order",
        lambda plan: (
            plan.unit is not None
            and plan.members is not None
            and (plan.run.keep_order or plan.reads_outcome)
        ),
        "With members in the schema no synthetic record stands for one of the table.",
        "Leave keep_order out, and choose labels prior where a model reads the outcome.",
    ),
    Refusal(
        "unit-mechanism",
        lambda plan: plan.unit is not None and not plan.run.facts.takes_units,
        "unit {asked.unit!r} takes weights of units, and those of this run are of records.",
        "Choose lw, sw, unweighted, or censored with weights none, or leave unit out.",
    ),
    Refusal(
        "unit-program",
        lambda plan: plan.unit is not None and plan.run.program is not None,
        "An own Stan program gives the terms of records, and unit asks for those of units.",
        "Leave one of them out.",
    ),
    Refusal(
        "no-guarantee",
        lambda plan: plan.run.accept_unconverged and not plan.clamped_one_by_one,
        "accept_unconverged gives up the guarantee dp, which this run does not have.",
        "Mechanism censored has it, with weights none, constant, public, reference or staged "
        "and without downscale. The model must read no outcome, and its levels must be given. "
        "Leave accept_unconverged out.",
    ),
    Refusal(
        "types-of-table",
        lambda plan: plan.strict and plan.run.types == "table",
        "One confidential cell can change a type of the table, so a run that claims dp takes its "
        "types from the schema.",
        "Leave types (--types) out.",
    ),
    Refusal(
        "program-clamp",
        lambda plan: plan.run.facts.clamps and plan.run.program is not None,
        "Your own Stan program cannot be censored from outside.",
        "Leave --stan out, or clamp the terms in the program and choose another mechanism.",
    ),
    Refusal(
        "too-wide",
        _too_wide,
        "The predictors of {it.name!r} make {it.K:,} design columns, and its family then has "
        "{it.parameters:,} parameters; at most 20,000 can be fitted.",
        "Name fewer predictors, join levels, or take model table in a schema.",
    ),
    Refusal(
        "too-many-shares",
        _long_tables,
        "The predictors of {it[name]!r} make {it[family].patterns:,} patterns of {it[shares]:,} "
        "shares, and the {it[draws]:,} draws of {it[fit]} are too many for them; at most "
        "{it[family].most_draws:,} are held.",
        "Name fewer predictors, give them fewer levels or cuts, or take fewer draws.",
    ),
)
"""Of a plan and its settings."""
