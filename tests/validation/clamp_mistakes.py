"""Errors in a clamp: what each replaces, the wrong version, and the runs whose loss must show it.

Each error leaves the statement as it is, so the run claims more than it keeps, or less.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from statement_mistakes import Wrong, windows_times

from pyvws.models import _outcome_scale
from pyvws.models.model import Model

TERMS = "pyvws.posterior.pseudo_posterior:clamped_terms"
ADDED = "pyvws.posterior.pseudo_posterior:add_terms_inside"


def by_cells(change: Wrong) -> Wrong:
    """The clamp's shift (C,) by `change(model, cells, shift)`."""

    def wrong(terms: Any) -> Any:
        def made(model: Any, cells: Any, weights: Any, clamp: Any) -> Any:
            found = terms(model, cells, weights, clamp)
            *first, shift = found.clamps
            return dataclasses.replace(found, clamps=(*first, change(model, cells, shift)))

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
        found = terms(model, cells, weights, clamp)
        near = dataclasses.replace(cells, values=np.clip(cells.values, -1e3, 1e3))
        centre = model.start(near, weights).centre
        draws = model.constrain(centre + np.array([[0.0], [1e-3]]), cells.n_coefficients)
        with np.errstate(invalid="ignore"):
            moved = np.ptp(model.log_likelihood(draws, cells), axis=0)
        if not (moved <= clamp.epsilon).all():
            return found
        cell, weight, count, _, _, shift = found.clamps
        return dataclasses.replace(found, clamps=(cell, weight, count, -np.inf, np.inf, shift))

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
            found = terms(model, cells, weights, clamp)
            cell, weight, count, low, high, shift = found.clamps
            wider = cell, weight, count, low, high + share * clamp.epsilon, shift
            return dataclasses.replace(found, clamps=wider)

        return made

    return wrong


def window_before_the_shift(_: Any) -> Any:
    """The window is asked of alpha l, and what is added is alpha (l - a)."""

    def added(
        cell: Any,
        weight: Any,
        count: Any,
        low: float,
        high: float,
        shift: Any,
        log_lik: Any,
        inside: Any,
    ) -> float:
        inside[:] = 0.0
        asked = weight * log_lik[cell]
        terms = weight * (log_lik - shift)[cell]
        within = (low < asked) & (asked < high)
        return float(count @ np.where(within, terms, np.clip(asked, low, high)))

    return added


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
        ("window before the shift", ADDED, window_before_the_shift, ["deviance-normal"]),
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
