"""Cases of `pyvws.weights`: LW, CW and marginal, SW, re-weighting and truncation."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.risks.identification_risk import identification_risk
from pyvws.weights import weights as package
from pyvws_validation._draws import Draws


def count_weights(original: Floats, radius: float, c: float, g: float) -> Floats:
    """CW weights straight from the outcome: Algorithm 2, steps 1 to 4."""
    risk = identification_risk(original, radius=radius)
    return package.risk_weights(risk, c=c, g=g)


def reference_weights(sizes: Floats, public: Floats, c: float, g: float) -> Floats:
    """Weights from sizes (N,), on the scale of the sizes (M,) of public records."""
    finite = public[np.isfinite(public)]
    return package.fixed_scale_weights(sizes, low=finite.min(), high=finite.max(), c=c, g=g)


def staged_weights(log_lik: Floats, saturated: Floats, scale: float, c: float, g: float) -> Floats:
    """Weights from the log-likelihood (N,) at one draw of a first stage, and its suprema (N,)."""
    sizes = np.abs(np.minimum(log_lik - saturated, 0.0))
    return package.fixed_scale_weights(sizes, high=scale, c=c, g=g)


def _not_finite(seed: int, *shape: int) -> dict[str, Any]:
    """Records at -Inf for one draw and at NaN for all; seeds 4 and 5 drop draws as well."""
    log_lik = Draws(seed).log_lik(*shape)
    if log_lik.shape[1] > 3:
        log_lik[0, 1] = -np.inf
        if seed < 4:
            log_lik[:, 2] = np.nan
    return {"log_lik": log_lik}


def _bounds(seed: int, *shape: int) -> dict[str, Any]:
    bounds = np.abs(Draws(seed).log_lik(*shape)).max(axis=0)
    if len(bounds) > 3:
        bounds[3] = np.inf
    return {"by_record": bounds}


def _risks(seed: int, records: int) -> dict[str, Any]:
    """Risks as counts over a pattern's size, 0 and 1 among them."""
    risk = Draws(seed).whole(records, records + 1) / records
    risk[0] = 1.0 if seed % 2 else 0.0
    return {"risk": risk}


def _scalar(seed: int, *shape: int) -> dict[str, Any]:
    """A bound to meet; seed 1's bound lies above the unweighted bound, so that the weight is 1."""
    target, gap = Draws(seed).uniform(2, 2.0, 6.0)
    unweighted = target - 0.25 * gap if seed == 1 else target + gap
    return {"n": shape[0], "target": float(target), "unweighted": float(unweighted)}


def _inverse(seed: int, records: int) -> dict[str, Any]:
    """Bounds on either side of t; one equals t, one is 0, one is infinite, and two are equal."""
    draws, t = Draws(seed), 0.5 * seed
    bounds = draws.uniform(records, 0.01, 9.0)
    if records > 4:
        bounds[:5] = t, 0.0, np.inf, 7.0, 7.0
    return {"by_record": bounds, "t": t, "power": (1.0, 0.5, 2.0, 1.5, 0.3)[seed - 1]}


# Strict weights inside a clamp


def _column(seed: int, *shape: int) -> dict[str, Any]:
    return {"column": np.clip(Draws(seed).uniform(shape[0], -0.2, 1.2), 0.0, 1.0)}


def _sizes(seed: int, records: int) -> dict[str, Any]:
    """Sizes below, within and above those of the public records; one of each is infinite."""
    draws = Draws(seed)
    sizes, public = draws.uniform(records, 0.0, 9.0), draws.uniform(records + 2, 1.0, 6.0)
    if records > 3:
        sizes[1], public[2] = np.inf, np.inf
    return {"sizes": sizes, "public": public}


def _stage(seed: int, records: int) -> dict[str, Any]:
    """Log-likelihoods below their suprema, one at it, one above it by rounding, one at -Inf."""
    draws = Draws(seed)
    saturated = draws.uniform(records, -4.0, 2.0)
    log_lik = saturated - draws.uniform(records, 0.0, 9.0)
    if records > 3:
        log_lik[:3] = saturated[0], np.nextafter(saturated[1], np.inf), -np.inf
    return {"log_lik": log_lik, "saturated": saturated, "scale": 4.0 + seed}


# Algorithm 3, Weighted-epsilon and downscaling


def _to_reweight(seed: int, records: int) -> dict[str, Any]:
    """Weights, some 0 and some 1, and their bounds; one bound of 0 has a positive weight."""
    draws = Draws(seed)
    weights = np.clip(draws.uniform(records, -0.2, 1.2), 0.0, 1.0)
    bounds = weights * draws.uniform(records, 2.0, 9.0)
    if records > 3:
        weights[0], bounds[0] = 0.4, 0.0
        weights[1], bounds[1] = 0.0, 0.0
    return {"weights": weights, "by_record": bounds}


_EPSILONS: Final = (5.0, 8.0, 3.0, np.inf, 14.0)


def _to_truncate(seed: int, records: int) -> dict[str, Any]:
    """Bounds on either side of epsilon / 2; one equals epsilon / 2, one is 0, one is infinite."""
    draws = Draws(seed)
    weights = np.clip(draws.uniform(records, -0.2, 1.2), 0.0, 1.0)
    bounds = weights * draws.uniform(records, 1.0, 9.0)
    if records > 3:
        weights[:3], bounds[:3] = 0.4, (0.5 * _EPSILONS[seed - 1], 0.0, np.inf)
    return {"weights": weights, "by_record": bounds, "epsilon": _EPSILONS[seed - 1]}
