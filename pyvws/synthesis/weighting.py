"""Run a mechanism: its weighted fit, and the risks that its weights were made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.mechanisms.settings import (
    Censored,
    CountWeighted,
    LipschitzWeighted,
    Mechanism,
    PairwiseWeighted,
    ScalarWeighted,
    Unweighted,
    WeightedEpsilon,
)
from pyvws.risks.identification_risk import identification_risk
from pyvws.risks.pairwise import pairwise_weights
from pyvws.synthesis.loop import SynthesisLoop
from pyvws.synthesis.weighted_fit import WeightedFit
from pyvws.weights.bound_search import Window
from pyvws.weights.target_search import log_spread, room_below
from pyvws.weights.truncation import downscale, weighted_epsilon_weights
from pyvws.weights.weights import risk_weights, scaled_bounds, weights_from_bounds

__all__ = ["Downscaling", "Weighting", "data_weights", "run_mechanism", "target_window"]

_LABELS = {"cw": "CW", "marginal": "Marginal", "pairwise": "Pairwise"}


@dataclass(frozen=True, slots=True)
class Downscaling:
    """Lower each weight until its bound is epsilon / 2, refit, and again, `passes` times at most.

    What is aimed for lies lower by the room that the noise of the bound asks for. `psi` is one
    constant factor for all records instead of each record's own.
    """

    epsilon: float
    passes: int
    psi: float | None = None


@dataclass(frozen=True, slots=True)
class Weighting:
    """A mechanism's own fit, before any re-weighting.

    `risk` (N,) lies in [0, 1], larger = riskier: the share that weights fall with for CW, Marginal
    and Pairwise, else the unweighted bounds between their smallest and largest. `constants` holds
    what a search found. `bound` is epsilon / 2 where terms are clamped.
    """

    fit: WeightedFit
    risk: Floats
    constants: dict[str, float] = field(default_factory=dict)
    bound: float | None = None


def target_window(epsilon: float, tolerance: float) -> Window:
    """Where Delta_{alpha,x} may end: at most epsilon / 2, and less by a share `tolerance` of it.

    It ends lower where its noise asks for more room (`pyvws.weights.target_search.stay_below`).
    """
    return Window.below(0.5 * epsilon, tolerance)


def run_mechanism(
    loop: SynthesisLoop,
    mechanism: Mechanism,
    *,
    y: Floats,
    known: Sequence[Any],
    tolerance: float,
    epsilon: float | None = None,
    downscaling: Downscaling | None = None,
    confirm: bool = True,
) -> Weighting:
    """Fit as the mechanism says; y (N,), known columns (N,) each.

    With `epsilon` the mechanism's constant is searched until 2 Delta ends below it. Without
    `confirm`, for a step that is not the last, no further draws check the fit that ends a search
    or downscaling.
    """
    window = None if epsilon is None else target_window(epsilon, tolerance)
    if isinstance(mechanism, Censored):
        return _censored(loop, mechanism, y=y, known=known, downscaling=downscaling)
    if isinstance(mechanism, CountWeighted):
        risk = _count_risk(loop, mechanism, y, known)
        made = _count(loop, mechanism, risk, tolerance=tolerance, window=window, confirm=confirm)
    else:
        made = _from_bounds(loop, mechanism, window, confirm)
    if downscaling is None:
        return made
    fit = _downscaled(loop, made.fit, downscaling, confirm=confirm)
    return Weighting(fit, made.risk, made.constants)


def _from_bounds(
    loop: SynthesisLoop, mechanism: Mechanism, window: Window | None, confirm: bool
) -> Weighting:
    """LW, Weighted-epsilon, SW and the unweighted fit."""
    unweighted = loop.unweighted().bounds.by_record
    varied = len(np.unique(unweighted[np.isfinite(unweighted)])) > 1
    risk = scaled_bounds(unweighted) if varied else np.ones(len(unweighted))
    if window is not None and isinstance(mechanism, LipschitzWeighted | ScalarWeighted):
        return _to_target(loop, mechanism, window, risk, confirm)
    if isinstance(mechanism, LipschitzWeighted):
        return Weighting(loop.lipschitz(c=mechanism.c, g=mechanism.g), risk)
    if isinstance(mechanism, ScalarWeighted):
        return Weighting(loop.scalar(match=mechanism.match), risk)
    if isinstance(mechanism, WeightedEpsilon):
        fit = loop.lipschitz(c=mechanism.c, g=mechanism.g)
        for number in range(mechanism.passes):
            weights = weighted_epsilon_weights(
                fit.weights, fit.bounds.by_record, epsilon=mechanism.epsilon
            )
            if (weights == fit.weights).all() or (number and not weights.any()):
                break  # Nothing to take out, or nothing would be left.
            if not weights.any():
                raise InputError(
                    "epsilon / 2 lies below the bound of every record, so none keeps a weight and "
                    "the synthetic data would say nothing of the table. Ask for a larger epsilon, "
                    "or lower all weights first by a smaller c."
                )
            fit = loop.fit(weights, "Weighted-epsilon")
        return Weighting(fit, risk)
    return Weighting(loop.unweighted(), risk)


def _to_target(
    loop: SynthesisLoop,
    mechanism: LipschitzWeighted | ScalarWeighted,
    window: Window,
    risk: Floats,
    confirm: bool,
) -> Weighting:
    bounds = loop.unweighted().bounds.by_record
    loop.refuse_needless(window.high)
    if isinstance(mechanism, ScalarWeighted):
        fit, weight = loop.below(
            lambda weight: np.full(len(bounds), weight),
            window,
            symbol="weight",
            label="SW",
            largest=1.0,
            confirm=confirm,
        )
        return Weighting(fit, risk, {"weight": weight})
    g = mechanism.g
    fit, c = loop.below(
        lambda c: weights_from_bounds(bounds, c=c, g=g),
        window,
        symbol="c",
        label="LW",
        confirm=confirm,
    )
    return Weighting(fit, risk, {"c": c})


def _count(
    loop: SynthesisLoop,
    mechanism: CountWeighted,
    risk: Floats,
    *,
    tolerance: float,
    window: Window | None,
    confirm: bool,
) -> Weighting:
    label, g = _LABELS[mechanism.name], mechanism.g

    def weights_at(c: float) -> Floats:
        return risk_weights(risk, c=c, g=g)

    if window is not None:
        loop.refuse_needless(window.high)
        fit, c = loop.below(weights_at, window, symbol="c", label=label, confirm=confirm)
    elif mechanism.match is None:
        return Weighting(loop.count(risk, c=mechanism.c, g=g, label=label), risk)
    else:
        match = mechanism.match
        fit, c = loop.count_matched(risk, match=match, g=g, tolerance=tolerance, label=label)
    return Weighting(fit, risk, {"c": c})


def _count_risk(
    loop: SynthesisLoop, mechanism: CountWeighted | Censored, y: Floats, known: Sequence[Any]
) -> Floats:
    """Risks (N,) among all records of the table, each with its multiplicity."""
    each = loop.cells.one_by_one()
    ball: dict[str, Any] = {
        "radius": mechanism.radius,
        "radius_kind": mechanism.radius_kind,
        "known": [column[each] for column in known] or None,
    }
    if isinstance(mechanism, PairwiseWeighted):
        risk = np.asarray(1.0 - pairwise_weights(y[each], **ball))
    else:
        risk = identification_risk(y[each], **ball)
    found = np.empty(len(y))
    found[each] = risk  # Equal records have equal risks.
    return found


def _censored(
    loop: SynthesisLoop,
    mechanism: Censored,
    *,
    y: Floats,
    known: Sequence[Any],
    downscaling: Downscaling | None,
) -> Weighting:
    """Weights as LW, CW or none has them, then a fit whose terms are clamped."""
    n = loop.cells.n_records
    if mechanism.weights == "lw":
        risk = scaled_bounds(loop.unweighted().bounds.by_record)
        weights = loop.lipschitz_weights(c=mechanism.c, g=mechanism.g)
        label = "Censored LW"
    elif mechanism.weights == "cw":
        risk = _count_risk(loop, mechanism, y, known)
        weights = risk_weights(risk, c=mechanism.c, g=mechanism.g)
        label = "Censored CW"
    else:
        risk, weights, label = np.ones(n), np.ones(n), "Censored"
    if downscaling is not None:
        fit = loop.fit(weights, "before clamping")
        weights = _downscaled(loop, fit, downscaling, confirm=False).weights
    bound = 0.5 * mechanism.epsilon
    return Weighting(loop.fit(weights, label, bound=bound), risk, bound=bound)


def _downscaled(
    loop: SynthesisLoop, fit: WeightedFit, rule: Downscaling, *, confirm: bool
) -> WeightedFit:
    """The last of the refits, `passes` at most; one whose bound is met is confirmed if asked."""
    label, half = f"{fit.label} downscaled", 0.5 * rule.epsilon
    for left in range(rule.passes, -1, -1):
        if confirm and fit.bounds.database <= half:
            fit = loop.confirmed(fit)
        if fit.bounds.database <= half or left == 0:
            break
        epsilon = rule.epsilon * room_below(log_spread(fit.bounds.by_draw))
        weights = downscale(fit.weights, fit.bounds.by_record, epsilon=epsilon, psi=rule.psi)
        fit = loop.fit(weights, label)
    return fit


def data_weights(mechanism: Mechanism, *, downscaled: bool) -> bool:
    """Whether any weight depends on the confidential data."""
    plain = isinstance(mechanism, Unweighted) or (
        isinstance(mechanism, Censored) and mechanism.weights == "none"
    )
    return downscaled or not plain
