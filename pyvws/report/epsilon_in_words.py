"""What a release's epsilon means for one record, as a factor and as a guess that a reader holds.

A guess that the table has a record gains by e^epsilon under leave-one-out, and one at its values by
e^(2 epsilon). Under replace-one a guess at the values gains by e^epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import EllipsisType
from typing import Any, Final

from pyvws.sheet import Sheet, number
from pyvws.statement.words import SIGNED, caveat_keys, claim_of

_GUESS: Final = 0.01  # The chance that a reader gives a guess before the release.
_CERTAIN: Final = 0.99
_NO_BOUND: Final = "above 99 %: no bound"
_RAISED: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def factor(epsilon: float) -> str:
    """The factor e^epsilon in three digits, rounded up; from a million on as a power of ten."""
    power = math.floor(epsilon / math.log(10))
    if power < 6:
        unit = 10.0 ** (power - 2)
        return f"{math.ceil(math.exp(epsilon) / unit) * unit:,.{max(2 - power, 0)}f}"
    tenths = math.ceil(10 ** (epsilon / math.log(10) - power + 1))
    tenths, power = (tenths, power) if tenths < 100 else (10, power + 1)
    return f"{tenths / 10:.1f} × 10{str(power).translate(_RAISED)}"


def largest_belief(epsilon: float) -> float:
    """The chance up to which odds times e^epsilon lift a guess that had a chance of 1 in 100."""
    return 1 / (1 + (1 / _GUESS - 1) * math.exp(-epsilon))


def epsilon_in_words(privacy: Mapping[str, Any]) -> tuple[str, Sheet]:
    """Sentences on what the claim says, and a table of both costs: of a dataset and of all.

    `privacy` is a statement; of a strict claim the certified figures stand here. A figure that is
    None is not finite, and limits nothing.
    """
    claimed = privacy.get("certified") or privacy
    costs = {"one dataset": claimed["epsilon_per_dataset"]}
    together = f"all {privacy['datasets']} datasets together"
    if privacy["datasets"] > 1:
        costs[together] = claimed["epsilon_total"]
        if len(set(costs.values())) == 1:
            costs.pop("one dataset")  # One cost for all, as of noisy counts or of one draw.
    return _sentences(privacy, claimed["neighbours"]), Sheet(
        "What epsilon says of this release, and what a guess of 1 % can become",
        ("released", "ε", "factor e^ε, at most", *(f"that {guess}" for guess in guesses(privacy))),
        [
            (label, *_figures(epsilon), *map(become, guesses(privacy, epsilon).values()))
            for label, epsilon in costs.items()
        ],
    )


def guesses(
    privacy: Mapping[str, Any], epsilon: float | EllipsisType | None = ...
) -> dict[str, float | None]:
    """The epsilon of each guess that a reader may hold; None is not finite, and limits nothing.

    Without `epsilon`, the guesses are at all datasets together. Under leave-one-out a guess at
    values counts twice: a record goes, and another comes.
    """
    claimed = privacy.get("certified") or privacy
    own = claimed["epsilon_total"] if epsilon is ... else epsilon
    several = privacy["unit_of_privacy"] != "one record"
    values = "its values are these" if not several else "their values are these"
    if claimed["neighbours"] == "replace-one":
        return {values: own}
    there = "these records are in the table" if several else "a record is in the table"
    return {there: own, values: None if own is None else 2 * own}


def _sentences(privacy: Mapping[str, Any], neighbours: str) -> str:
    keys, delta = caveat_keys(privacy), privacy.get("delta") or 0
    claim = claim_of(privacy["guarantee"])
    fails = f" With probability about {delta:g} this bound does not hold."
    fails = fails if claim == "approximate-dp" else ""
    condition = {
        "none": "The release claims no guarantee. If its figures held, ",
        "asymptotic-dp": "The figures are no proof: they take the weights as given. "
        "An estimated figure needs many records too. If the figures hold, ",
        "dp-if-bounded": "The claim is for values that surely lie in the public range. ",
    }.get(claim, "")
    if claim == "dp" and "as-if-exact" in keys:
        condition = "The claim is for exact draws, and the sampler only comes near them. "
    if "counts-weights-fixed" in keys:
        condition = (
            "The survey weights of others count as fixed, also where one record moves them. "
        )
    if claim != "none" and SIGNED in keys:
        condition = (
            "The schema was proposed from the table. The figures hold only if the person who "
            f"signed it is right that every entry is public. {condition}"
        )
    change = "replacing" if neighbours == "replace-one" else "adding or removing"
    if not condition.endswith(", "):
        change = change.capitalize()
    more = ""
    if neighbours != "replace-one":
        lost = " and δ 1 + e^ε times" if delta else ""
        more = f" For a guess at values, ε counts twice{lost}."
        for key, what in {"records": "records", "number-of-units": "units"}.items():
            if key in keys:
                more += f" The figures do not cover what the number of {what} reveals."
    return (
        f"{condition}{change} {privacy['unit_of_privacy']} changes the chance of any synthetic "
        f"values by at most the factor e^ε.{fails} Smaller is more private. The table takes a "
        f"reader who thinks a guess 1 % likely, and says how likely it can become.{more}"
    )


def _figures(epsilon: float | None) -> tuple[str, str]:
    if epsilon is None or not math.isfinite(epsilon):
        return "not finite", "no limit"
    return number(epsilon), factor(epsilon)


def become(epsilon: float | None, *, short: bool = False) -> str:
    """How likely a guess of 1 % can become, rounded up; from 99 % on there is no bound."""
    if epsilon is None or (belief := largest_belief(epsilon)) > _CERTAIN:
        return "no bound" if short else _NO_BOUND
    return f"{math.ceil(belief * 1000) / 10:g} %"
