"""The mechanisms in words, and how a page shows a value of a statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["MECHANISMS", "shown"]


MECHANISMS: Final = {
    "unweighted": (
        "Unweighted",
        "An ordinary posterior: every record has weight 1, none is protected by weights.",
    ),
    "lw": (
        "LW",
        "Weights fall with each record's Lipschitz bound in an unweighted fit: records that move "
        "the posterior most count least (Algorithm 1 of [vws2024]).",
    ),
    "cw": (
        "CW",
        "Weights fall with each record's identification risk: isolated records count least "
        "(Algorithm 2 of [vws2024]).",
    ),
    "marginal": (
        "Marginal",
        "Weights fall with each record's identification risk within its pattern of known columns "
        "[risk2024].",
    ),
    "pairwise": (
        "Pairwise",
        "Weights fall with identification risks averaged over pairs of records in a pattern "
        "[risk2024].",
    ),
    "sw": ("SW", "One weight below 1 for all records [vws2024]."),
    "weighted-epsilon": (
        "Weighted-ε",
        "Weights as LW, and 0 for each record whose bound still exceeds half of epsilon.",
    ),
    "censored": (
        "Censored",
        "Each record's weighted log-likelihood is clamped at half of epsilon within the fit, for "
        "any data and any parameters [global2022].",
    ),
    "perturbed-histogram": (
        "Perturbed histogram",
        "Noise is added to the counts of a histogram with public bins; values are drawn from the "
        "noisy histogram, uniformly within bins [wasserman2010].",
    ),
}


def _figure(value: float) -> str:
    return f"{value:.7g}" if value < 1e6 else str(value)


def shown(value: Any, figure: Callable[[float], str] = _figure) -> str:
    """A value of the statement as a reader sees it, with every digit of a figure rounded up."""
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        nested = any(isinstance(inner, Mapping) for inner in value.values())
        parts = (f"{name}: {shown(inner, figure)}" for name, inner in value.items())
        return ("; " if nested else ", ").join(parts)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return figure(value) if isinstance(value, float) else str(value)
