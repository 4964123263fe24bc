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
        raise InputError(
            "total_epsilon is for draws of a strict fit: mechanism censored, with weights and a "
            "model that no data decide. Leave total_epsilon out."
        )
    once = (run.records_epsilon or 0.0) + (getattr(mechanism, "stage_epsilon", None) or 0.0)
    if once >= total:
        raise InputError(
            f"A first stage and a noisy number of rows cost {once:g}, so nothing is left of "
            f"total_epsilon {total:g} for draws. Raise total_epsilon or lower these."
        )
    draws = run.draws_per_release or run.datasets
    epsilon = epsilon_per_draw(total - once, draws, delta=run.delta or 0.0)
    if mechanism.epsilon not in (total, epsilon):
        raise InputError("epsilon and total_epsilon both set what a draw costs. Leave one out.")
    return replace(mechanism, epsilon=epsilon)
