"""Refuse, before a table is read, what would stop a fit to any table that the settings admit."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws._base.setting import check_needs, settings_of
from pyvws.engines.registry import check_table, is_exact
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import InputError
from pyvws.mechanisms.counts.sets import counted_table
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.mechanisms.registry import mechanisms_that
from pyvws.models.model import Model
from pyvws.models.registry import is_own
from pyvws.tables.design.cells import make_cells

_NO_CELLS: Final = make_cells(np.ones(1), np.ones((1, 1))).part(slice(0, 0))


def refuse_design(
    engine: Any, settings: SamplerSettings, mechanism: Mechanism, family: Model, K: int
) -> None:
    """Raise InputError for K design columns that an exact engine does not take."""
    if is_exact(engine) and not family.prepared_from_data:
        from pyvws.engines.public_grid import check_grid

        check_grid(settings, family, K, mechanism.facts.windows)


def refuse_windows(
    mechanism: Mechanism, families: tuple[Model, ...], engine: Any, *, program: bool
) -> None:
    """Raise InputError for a clamp that the families, the engine or an own program cannot have.

    `families` has one of each conditional. Those of several conditionals are one target.
    """
    if mechanism.facts.clamps and program:
        raise InputError(
            "Your own Stan program cannot be censored from outside. Leave --stan out, or clamp "
            "the terms in the program and choose another mechanism."
        )
    for family in families:
        for clamp in () if is_own(family) else mechanism.facts.windows:
            clamp.shift(family, _NO_CELLS)
    if len(families) > 1 and mechanism.facts.clamps:
        check_table(engine)


def refuse_grid(run: Any) -> None:
    """Raise InputError for grid settings without the engine, and for runs that it cannot make."""
    if is_exact(run.engine):
        mechanism = run.mechanism
        clamps = mechanism.facts.clamps_every_fit or mechanism.facts.reference is not None
        if not clamps or run.downscale:
            raise InputError(
                "Engine grid draws from clamped targets alone, and this run makes a fit "
                "to the table without a clamp. Choose mechanism censored with weights none, "
                "public, reference or staged, without downscale, or engine native."
            )
        if run.accept_unconverged:
            raise InputError(
                "Engine grid draws exactly and runs no chain on the table, so there is none to "
                "accept. Leave accept_unconverged out."
            )
    elif run.settings.grid_range or run.settings.grid_steps:
        raise InputError(
            "grid_range and grid_steps belong to engine grid. Choose it or leave them out."
        )


def refuse_other_mechanisms(run: Any) -> None:
    """Raise InputError for a setting of other mechanisms, or one that needs another setting."""
    declarations = {one.name: one for one in settings_of(type(run))}
    given = {
        name: getattr(run, name)
        for name, one in declarations.items()
        if getattr(run, name) != one.default
    }
    check_needs(declarations, given)
    for name in given:
        only = declarations[name].only
        if only and not getattr(run.mechanism.facts, only):
            raise InputError(
                f"{name} of a run is for the mechanisms {', '.join(mechanisms_that(only))}. "
                f"Leave {name} out, or choose one of them."
            )


def refuse_counts(run: Any) -> None:
    """Raise InputError for what a mechanism that counts a whole table cannot have."""
    mechanism, schema = run.mechanism, run.public_table
    if not mechanism.facts.takes_table:
        return
    if schema is None:
        raise InputError(
            f"{mechanism.name} counts the columns of a schema (--schema), which pyvws schema "
            "proposes. For one number with a range perturbed-histogram does as well."
        )
    beside = [
        ("public columns", schema.public),
        ("members", schema.members),
        ("survey_weight", schema.survey_weight),
        ("keep_order", run.keep_order),
        ("a noisy number of records, which it has by itself", run.records == "noisy"),
    ]
    for what, there in beside:
        if there:
            raise InputError(
                f"{mechanism.name} imputes all records and columns anew, so it cannot have {what}. "
                "Take it out, or choose another mechanism."
            )
    if (schema.unit is None) != (mechanism.cap is None):
        raise InputError(
            "A unit of several records needs a cap (--cap), the most records of a unit that are "
            "counted, and a cap needs a unit in the schema."
        )
    if mechanism.neighbours == "replace" and schema.unit is not None:
        raise InputError(
            "With a unit the exact number of records tells the size of units. Choose neighbours "
            "loo, under which the number is noisy, or leave unit out."
        )
    counted_table(schema, mechanism.measure)


def refuse_targets(run: Any) -> None:
    """Raise InputError for two bounds to meet, none, or a miss that the run cannot have."""
    mechanism = run.mechanism
    if run.epsilon is not None and mechanism.facts.names_bound:
        raise InputError("match and epsilon both name a bound to meet. Leave one out.")
    if run.downscale and not (mechanism.facts.fits_model and run.target_epsilon is not None):
        raise InputError(
            "downscale lowers weights until the bound is epsilon / 2. It needs epsilon, and a "
            "mechanism with weights."
        )
    aims = run.downscale or mechanism.facts.own_epsilon is not None
    may_miss = aims and mechanism.facts.fits_model and not mechanism.facts.clamps
    if run.accept_above_target and not may_miss:
        raise InputError(
            "Only weighted-epsilon and downscale can end above the epsilon that was asked for. "
            "A search ends below its epsilon or releases nothing; censored and "
            "perturbed-histogram enforce theirs; other runs aim at none. Leave "
            "accept_above_target (--accept-above-target) out."
        )


def refuse_unconverged(accepted: bool) -> None:
    """Raise InputError for accepted chains of a run that has no guarantee to give up."""
    if accepted:
        raise InputError(
            "accept_unconverged gives up the guarantee dp, which this run does not have. A run "
            "has it under censored with weights none, public, reference or staged, without "
            "downscale, and with a model that reads no outcome and whose levels are given. "
            "Leave accept_unconverged out."
        )


def refuse_types(own: bool) -> None:
    """Raise InputError for the table's own types in a run that claims dp."""
    if own:
        raise InputError(
            "One confidential cell can change a type of the table, so a run that claims dp "
            "takes its types from the schema. Leave types (--types) out."
        )


def refuse_pairs(run: Any) -> None:
    """Raise InputError for an order, a squeeze or a reference that the run cannot have."""
    if run.keep_order and run.mechanism.facts.protects_records:
        raise InputError(
            "Under loo neighbours no released row is a record's own, so there is no order to "
            "keep. Leave keep_order out, or choose replace."
        )
    if (
        run.mechanism.facts.clamps_every_fit
        and not run.downscale
        and any(getattr(one, "squeeze", 0.0) for one in run.families)
    ):
        raise InputError(
            "The clamp of censored takes outcomes at an end of the range as they are, so none "
            "is moved. Leave squeeze out."
        )
    if run.mechanism.facts.reference is not None and run.prepared_from_data:
        raise InputError(
            "A reference needs a model whose settings are all public: the levels of the "
            "outcome would come from two tables. Give levels (--levels)."
        )
