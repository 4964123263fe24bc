"""Errors in a clamp: what each replaces, the wrong version, and the runs whose loss must show it.

Each error leaves the statement as it is, so the run claims more than it keeps, or less.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from statement_mistakes import Wrong, windows_times

from pyvws.models import _outcome_scale
from pyvws.models.model import Model

TERMS = "pyvws.posterior.pseudo_posterior:table_of_one"
DENSITY = "pyvws.posterior.joint_target:JointTarget.density_and_gradient"


@dataclasses.dataclass(frozen=True)
class OtherClamp:
    """A clamp with another window, or another shift of each cell."""

    window: tuple[float, float]
    shift: Callable[[Any, Any], Any]


def by_cells(change: Callable[..., Any]) -> Wrong:
    """The clamp's shift (C,) by `change(model, cells, shift)`."""

    def wrong(terms: Any) -> Any:
        def made(model: Any, cells: Any, weights: Any, clamp: Any) -> Any:
            def other(model: Any, cells: Any) -> Any:
                return change(model, cells, clamp.shift(model, cells))

            return terms(model, cells, weights, OtherClamp(clamp.window, other))

        return made

    return wrong


def shift_of_the_mean(model: Model, cells: Any, shift: Any) -> Any:
    """One shift for all records: the mean of the table's."""
    return np.full(len(shift), np.average(shift, weights=cells.multiplicity))


def least_sd_of_the_table(model: Model, cells: Any, shift: Any) -> Any:
    """The public range ends at a tenth of the table's own standard deviation."""
    spread = float(np.clip(np.std(np.clip(cells.outcome, -1e6, 1e6)), 0.5, None))
    return _outcome_scale.highest_normal(cells, 0.1 * spread)


def window_of_draws(terms: Any) -> Any:
    """No clamp where no record's term moves by epsilon between draws: here, from a rough fit."""

    def made(model: Any, cells: Any, weights: Any, clamp: Any) -> Any:
        near = dataclasses.replace(cells, values=np.clip(cells.values, -1e3, 1e3))
        centre = model.start(near, weights).centre
        draws = model.constrain(centre + np.array([[0.0], [1e-3]]), cells.n_coefficients)
        with np.errstate(invalid="ignore"):
            moved = np.ptp(model.log_likelihood(draws, cells), axis=0)
        if (moved <= clamp.epsilon).all():
            clamp = OtherClamp((-np.inf, np.inf), clamp.shift)
        return terms(model, cells, weights, clamp)

    return made


def weights_of_the_largest(terms: Any) -> Any:
    """alpha_i = 1 / (1 + |y_i|), divided by the largest of the table."""

    def made(model: Any, cells: Any, _weights: Any, clamp: Any) -> Any:
        alpha = 1.0 / (1.0 + np.abs(cells.outcome[cells.cell_of_record]))
        return terms(model, cells, alpha / (4.0 * alpha.max()), clamp)

    return made


def high_end_above(share: float) -> Wrong:
    """The window ends `share` of epsilon above 0."""

    def wrong(terms: Any) -> Any:
        def made(model: Any, cells: Any, weights: Any, clamp: Any) -> Any:
            low, high = clamp.window
            wider = OtherClamp((low, high + share * clamp.epsilon), clamp.shift)
            return terms(model, cells, weights, wider)

        return made

    return wrong


def window_before_the_shift(density: Any) -> Any:
    """The window is asked of alpha l, and what is added is alpha (l - a)."""

    def wrong(target: Any) -> Any:
        low, high = target.clamp.window
        unshifted = OtherClamp((low, high), lambda _, cells: np.zeros(cells.n_cells))
        asked = dataclasses.replace(target, clamp=unshifted)
        evaluate, asked_terms, terms = density(asked), asked.terms(), target.terms()

        def added(q: Any) -> tuple[float, Any]:
            value, gradient = evaluate(q)
            of_window = asked_terms(q)
            within = (low < of_window) & (of_window < high)
            gaps = np.where(within, terms(q) - of_window, 0.0)
            return value + float(gaps.sum()), gradient

        return added

    return wrong


_DISCRETE = ["poisson", "negative-binomial", "logistic", "ordinal"]
_CONTINUOUS = ["normal", "normal-log", "gamma", "beta"]
_ALL = [*_DISCRETE, *_CONTINUOUS, "normal-mixture", "poisson-predictor", "normal-in-steps"]

# The error, what it replaces, the wrong version, and the row of which a loss then lies above its
# claim. A probability, and a mixture whose components all lie within the public range, have no term
# above 0: an upper end above 0 is none of their errors.
CLAMP_MISTAKES: tuple[tuple[str, str, Wrong, str], ...] = tuple(
    (what, place, wrong, f"guarantee/{row}")
    for what, place, wrong, rows in (
        ("window over draws", TERMS, window_of_draws, ["deviance-normal", "censored-normal"]),
        ("shift of the mean", TERMS, by_cells(shift_of_the_mean), ["deviance-poisson"]),
        ("least sd of the table", TERMS, by_cells(least_sd_of_the_table), ["deviance-normal"]),
        ("weights of the largest", TERMS, weights_of_the_largest, ["deviance-poisson"]),
        ("window before the shift", DENSITY, window_before_the_shift, ["deviance-normal"]),
        (
            *("upper end above 0", TERMS, high_end_above(0.02)),
            [f"deviance-{name}" for name in (*_CONTINUOUS, "normal-in-steps")],
        ),
        (
            *("epsilon times 1.02", TERMS, windows_times(1.02)),
            [*(f"deviance-{name}" for name in _ALL), "censored-normal", "censored-beta"],
        ),
        ("epsilon twice", TERMS, windows_times(2.0), ["deviance-ordinal", "censored-gamma"]),
    )
    for row in rows
)
