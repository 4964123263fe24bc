"""The papers' numbers from arrays, for auditors and for scripts that come from R.

Each name loads its module at its first use.
"""

from __future__ import annotations

from typing import Final

import pyvws

_NAMES: Final = (
    "AttributeRisk",
    "JointBounds",
    "LipschitzBounds",
    "NoisyHistogram",
    "RRandom",
    "attribute_risk",
    "bootstrap_interval",
    "censored_share",
    "clamp_log_likelihood",
    "combine",
    "downscale",
    "ecdf_utility",
    "epsilon_per_draw",
    "four_way_weights",
    "identification_risk",
    "inverse_weights",
    "joint_bounds",
    "lipschitz_bounds",
    "lipschitz_weights",
    "pairwise_weights",
    "perturbed_histogram",
    "quantile",
    "reweight",
    "risk_summary",
    "risk_weights",
    "scalar_weights",
    "synthesize_from_histogram",
    "three_way_weights",
    "topcode",
    "total_epsilon",
    "utility_table",
    "weighted_epsilon_weights",
    "whack_a_mole",
)

__all__ = [*_NAMES]
__getattr__, __dir__ = pyvws._door(__name__, _NAMES)
