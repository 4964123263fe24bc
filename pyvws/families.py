"""The families of outcomes: what `model=` takes in place of a family's short name.

Each name loads its module at its first use.
"""

from __future__ import annotations

from typing import Final

import pyvws

_NAMES: Final = (
    "Beta",
    "ConditionalTable",
    "Gamma",
    "Logistic",
    "NegativeBinomial",
    "Nominal",
    "Normal",
    "NormalMixture",
    "Ordinal",
    "Poisson",
    "TruncatedNormal",
)

__all__ = [*_NAMES]
__getattr__, __dir__ = pyvws._door(__name__, _NAMES)
