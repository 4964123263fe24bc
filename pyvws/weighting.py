"""Run a mechanism: its weighted fit, and the risks that its weights were made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyvws._checks import Floats
from pyvws.identification_risk import identification_risk
from pyvws.loop import SynthesisLoop, WeightedFit
from pyvws.mechanisms import (
    CountWeighted,
    LipschitzWeighted,
    Mechanism,
    PairwiseWeighted,
    ScalarWeighted,
)
from pyvws.pairwise import pairwise_weights
from pyvws.weights import scaled_bounds

__all__ = ["Weighting", "run_mechanism"]

_LABELS = {"cw": "CW", "marginal": "Marginal", "pairwise": "Pairwise"}


@dataclass(frozen=True, slots=True)
class Weighting:
    """A mechanism's own fit, before any re-weighting.

    `risk` (N,) lies in [0, 1], larger = riskier: the share that weights fall with for CW, Marginal
    and Pairwise, else the unweighted bounds between their smallest and largest. `constants` holds
    what a search found.
    """

    fit: WeightedFit
    risk: Floats
    constants: dict[str, float]


def run_mechanism(
    loop: SynthesisLoop,
    mechanism: Mechanism,
    *,
    y: Floats,
    known: Sequence[Any],
    tolerance: float,
) -> Weighting:
    """Fit as the mechanism says; y (N,), known columns (N,) each."""
    if isinstance(mechanism, CountWeighted):
        return _count(loop, mechanism, y=y, known=known, tolerance=tolerance)
    if isinstance(mechanism, LipschitzWeighted):
        fit = loop.lipschitz(c=mechanism.c, g=mechanism.g)
    elif isinstance(mechanism, ScalarWeighted):
        fit = loop.scalar(match=mechanism.match)
    else:
        fit = loop.unweighted()
    bounds = loop.unweighted().bounds.by_record
    varied = len(np.unique(bounds[np.isfinite(bounds)])) > 1
    return Weighting(fit, scaled_bounds(bounds) if varied else np.ones(len(bounds)), {})


def _count(
    loop: SynthesisLoop,
    mechanism: CountWeighted,
    *,
    y: Floats,
    known: Sequence[Any],
    tolerance: float,
) -> Weighting:
    ball: dict[str, Any] = {
        "radius": mechanism.radius,
        "radius_kind": mechanism.radius_kind,
        "known": list(known) or None,
    }
    if isinstance(mechanism, PairwiseWeighted):
        risk = 1.0 - pairwise_weights(y, **ball)
    else:
        risk = identification_risk(y, **ball)
    label = _LABELS[mechanism.name]
    g = mechanism.g
    if mechanism.match is None:
        return Weighting(loop.count(risk, c=mechanism.c, g=g, label=label), risk, {})
    fit, c = loop.count_matched(risk, match=mechanism.match, g=g, tolerance=tolerance, label=label)
    return Weighting(fit, risk, {"c": c})
