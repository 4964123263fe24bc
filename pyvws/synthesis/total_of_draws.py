"""What a draw may cost where a run's settings name the total of all draws."""

from __future__ import annotations

from dataclasses import replace

from pyvws.errors import InputError
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.plan.plan import Plan
from pyvws.statement.several_draws import epsilon_per_draw


def sharing(plan: Plan, total: float) -> Mechanism:
    """The mechanism of a plan's run, at the epsilon with which all draws together cost `total`.

    `total` is in nats; larger = less private. A first stage and a noisy number of rows are paid
    first. Raises InputError for a run that will not claim "dp" of draws, and where nothing is left
    for them.
    """
    run, mechanism = plan.run, plan.run.mechanism
    if not (plan.strict and run.facts.clamps):
        raise InputError.by("total-epsilon-not-strict")
    once = (run.records_epsilon or 0.0) + (getattr(mechanism, "stage_epsilon", None) or 0.0)
    if once >= total:
        raise InputError.by("stage-and-rows-above-epsilon", once=once, total=total)
    draws = run.draws_per_release or run.datasets
    epsilon = epsilon_per_draw(total - once, draws, delta=run.delta or 0.0)
    if mechanism.epsilon not in (total, epsilon):
        raise InputError.by("epsilon-and-total")
    return replace(mechanism, epsilon=epsilon)
