"""The mechanisms, one in each module, and the protocol of the loop that fits them.

Each name loads its module at its first use.
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
    return import_module("pyvws")._handed_on(name)


def __dir__() -> list[str]:
    return sorted(_NAMES)
