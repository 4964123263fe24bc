"""The mechanisms, one in each module, and the protocol of the loop that fits them.

Each name here is the one that `pyvws` has: ``vws.mechanisms.NoisyCounts`` is ``vws.NoisyCounts``.
"""

from importlib import import_module
from typing import Any, Final

_NAMES: Final = (
    "Censored",
    "CountWeighted",
    "GivenWeights",
    "InverseWeighted",
    "LipschitzWeighted",
    "MarginalWeighted",
    "NoisyCounts",
    "PairwiseWeighted",
    "PerturbedHistogram",
    "ScalarWeighted",
    "Unweighted",
    "WeightedEpsilon",
)

__all__ = [*_NAMES]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'pyvws.mechanisms' has no attribute {name!r}")
    return getattr(import_module("pyvws"), name)


def __dir__() -> list[str]:
    return sorted(_NAMES)
