"""Errors in the engine grid, in shared draws and in staged weights, each with the row it must fail.

Each entry is the error, what it replaces, the wrong version and the row. Each error leaves the
statement as it is.
"""

import dataclasses
from typing import Any

import numpy as np
from statement_mistakes import Wrong


def grid_of(change: Any) -> Wrong:
    """The engine's settings by `change(settings, values)`, which reads the outcomes (C,)."""

    def wrong(sample: Any) -> Any:
        def made(self: Any, target: Any, settings: Any, **more: Any) -> Any:
            return sample(self, target, change(settings, target.cells.values), **more)

        return made

    return wrong


def range_of_the_table(settings: Any, values: Any) -> Any:
    """The first axis ends at the table's largest outcome, where that lies within the range."""
    low, high, *others = settings.grid_range
    return dataclasses.replace(settings, grid_range=(low, min(high, max(values)), *others))


def steps_of_the_table(settings: Any, values: Any) -> Any:
    """A step more on the first axis where the table has more distinct outcomes than two."""
    first, *others = settings.grid_steps
    return dataclasses.replace(settings, grid_steps=(first + (len(values) > 2), *others))


def units_times(factor: float) -> Wrong:
    """Each record moves a score by `factor` times the units that its window has."""
    return lambda units: lambda clamp: round(factor * units(clamp))


def prior_of_the_table(scored: Any) -> Any:
    """The scores begin at a tenth of a nat a point for each distinct outcome."""

    def made(target: Any, points: Any, told: Any) -> Any:
        scores = scored(target, points, told)
        more = np.arange(len(scores)) * len(target.cells.values) * (1 << 24) // 10
        return scores + more

    return made


def a_prior_cast(_: Any) -> Any:
    """The prior of far points overflows to -inf, and is cast to a whole number as it is."""

    def made(grid: Any) -> Any:
        found = grid.log_prior()
        found[found < found.max() - 300.0] = -np.inf
        with np.errstate(invalid="ignore"):
            return np.rint((found - found.max()) * (1 << 24)).astype(np.int64)

    return made


def a_draw_each(predictors: Any) -> Any:
    """Each dataset has a draw of its own."""
    return lambda self, fit, datasets, draws=None: predictors(self, fit, datasets)


def a_second_draw(weights: Any) -> Any:
    """Each weight is the smaller of two draws' of the stage, of which one is paid."""

    def made(loop: Any, clamp: Any, **scale: Any) -> Any:
        one, other = (weights(loop, clamp, **scale) for _ in range(2))
        return dataclasses.replace(one, weights=np.minimum(one.weights, other.weights))

    return made


def of_an_unpaid_fit(weights: Any) -> Any:
    """The weights are those of a fit that clamps nothing, beside a stage that is paid."""

    def made(loop: Any, clamp: Any, **scale: Any) -> Any:
        paid = loop.fit(np.ones(loop.cells.n_records), "first stage", clamp=clamp)
        free = weights(loop, dataclasses.replace(clamp, epsilon=1e6), **scale)
        return dataclasses.replace(free, stages=(paid,))

    return made


def a_stage_too_wide(weights: Any) -> Any:
    """The stage's window is 1.02 times as wide as the statement says."""

    def made(loop: Any, clamp: Any, **scale: Any) -> Any:
        wide = dataclasses.replace(clamp, epsilon=1.02 * clamp.epsilon)
        found = weights(loop, wide, **scale)
        stages = tuple(dataclasses.replace(stage, clamp=clamp) for stage in found.stages)
        return dataclasses.replace(found, stages=stages)

    return made


SAMPLE = "pyvws.engines.grid:GridEngine.sample"
PRIOR = "pyvws.engines.grid:public_scores"
SCORES = "pyvws.engines.grid:whole_scores"
UNITS = "pyvws.engines.grid:window_units"
PREDICTORS = "pyvws.synthesis.loop:SynthesisLoop.predictors"
STAGE = "pyvws.mechanisms.censored:weights_from_stage"

JOINT_MISTAKES: tuple[tuple[str, str, Wrong, str], ...] = tuple(
    (what, place, wrong, f"guarantee/{row}")
    for what, place, wrong, rows in (
        (
            *("range of the table", SAMPLE, grid_of(range_of_the_table)),
            ["grid-normal", "grid-normal-in-steps", "grid-poisson"],
        ),
        ("steps of the table", SAMPLE, grid_of(steps_of_the_table), ["grid-normal", "grid-beta"]),
        ("prior of the table", SCORES, prior_of_the_table, ["grid-normal"]),
        ("units times 1.02", UNITS, units_times(1.02), ["grid-poisson", "grid-gamma"]),
        ("a prior cast", PRIOR, a_prior_cast, ["extreme-grid-negative-binomial-to-400"]),
        (
            *("a draw each", PREDICTORS, a_draw_each),
            [f"draws-{name}" for name in ("1-of-3-datasets", "2-of-3-datasets")],
        ),
        ("a draw each", PREDICTORS, a_draw_each, ["draws-1-of-3-datasets-in-steps"]),
        ("a second draw", STAGE, a_second_draw, ["staged-poisson"]),
        ("an unpaid fit", STAGE, of_an_unpaid_fit, ["staged-poisson"]),
        ("a stage too wide", STAGE, a_stage_too_wide, ["staged-poisson", "staged-normal"]),
    )
    for row in rows
)
