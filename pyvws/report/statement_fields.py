"""What each word and number of a privacy statement means: its direction, range and unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["FIELDS", "GUARANTEES", "MECHANISMS", "Field", "shown"]


@dataclass(frozen=True, slots=True)
class Field:
    """What a number is, the range it can take, and which way is which."""

    meaning: str
    range: str
    direction: str


_EPSILON = "0 and up, no unit (nats)"
FIELDS: Final[dict[str, Field]] = {
    "epsilon_per_dataset": Field(
        "Bound on how far one record can change the log-probability of the synthetic values of one "
        "dataset. What the number of rows tells is apart from it.",
        _EPSILON,
        "larger = less private",
    ),
    "epsilon_total": Field(
        "The same for all datasets together.", _EPSILON, "larger = less private"
    ),
    "epsilon_by_neighbours": Field(
        "What one dataset shows, and all together, for a table with one record left out and for "
        "one with a record replaced. None where bins follow the number of records, or their "
        "edges the data. What an exact number of rows tells of a record left out is not in the "
        "figures.",
        _EPSILON,
        "larger = less private",
    ),
    "certified": Field(
        "The neighbours and the epsilons that a strict claim is for; none without a strict claim. "
        "Where the table's own number of records is released, a record is replaced.",
        _EPSILON,
        "larger = less private",
    ),
    "number_of_rows": Field(
        "exact: that of the table. public: named in the settings. noisy: the table's with noise.",
        "exact, public or noisy",
        "exact shows whether a record was left out",
    ),
    "epsilon_target": Field(
        "The epsilon of a dataset that was asked for; none if nothing was.",
        _EPSILON,
        "larger = less private",
    ),
    "lipschitz_bound": Field(
        "Delta: the largest weighted log-likelihood of a record over the posterior draws, half of "
        "epsilon_per_dataset.",
        "0 and up, in nats",
        "larger = less private",
    ),
    "bound_growth_per_doubling": Field(
        "How much the bound rises on average when the number of draws doubles; none where the "
        "bound is enforced.",
        "0 and up, in nats",
        "larger = the bound is less settled",
    ),
    "bound_is": Field(
        "estimated: taken from finitely many draws on one database. enforced: clamped, so that no "
        "record can exceed it.",
        "estimated or enforced",
        "enforced is stronger",
    ),
    "draws": Field(
        "Posterior draws behind the bound.", "1 and up", "larger = a better settled bound"
    ),
    "threshold": Field(
        "Quantile of the draws' maxima that the bound takes; 1 is the maximum.",
        "above 0, up to 1",
        "below 1 = optimistic, no guarantee",
    ),
    "datasets": Field("Synthetic datasets released.", "1 and up", "larger = less private"),
    "bins": Field("Bins of the noisy histogram.", "1 and up", "larger = finer, but noisier"),
    "noise_scale": Field(
        "Scale of the noise on each count.", "above 0, in records", "larger = more private"
    ),
    "publishable": Field(
        "Whether the noise was drawn from a secure source.", "yes or no", "no = not for release"
    ),
    "row_order": Field(
        "random: a row's place tells nothing of its record. as in the table: the rows of the "
        "confidential table, one after the other.",
        "random or as in the table",
        "random is stronger",
    ),
    "reweighted": Field(
        "Whether weights were raised again where that left the bound as it was.", "yes or no", "-"
    ),
}

GUARANTEES: Final = {
    "dp": (
        "Differential privacy",
        "Holds for every table that the settings admit: each record's influence is clamped, and "
        "no weight depends on the data. certified says for which neighbours.",
    ),
    "dp-if-bounded": (
        "Differential privacy for bounded data",
        "Holds for every database whose outcome surely lies in the range that was fixed without "
        "looking at the data.",
    ),
    "asymptotic-dp": (
        "Asymptotic differential privacy",
        "The bound was found on this database. It holds for all databases only in the limit of "
        "many records, and is not proven for this number of records.",
    ),
    "none": (
        "No guarantee",
        "Nothing is promised. Where epsilon is given, it only describes these draws.",
    ),
}

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
