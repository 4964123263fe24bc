"""What several releases of one table cost together, from their statements alone.

Costs add up for one kind of neighbours and one unit of privacy: pure epsilons with pure ones, rhos
of zero-concentrated differential privacy with rhos, and epsilon and delta each on its own. A pure
epsilon is (epsilon, 0), and epsilon^2 / 2 in zCDP. A draw of bounded range has epsilon^2 / 8, which
its statement says. An asymptotic figure never enters a strict sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyvws._base.checks import choice, whole_number
from pyvws.statement.guarantees import STRICT, claim_of, if_public
from pyvws.statement.words import SIGNED

_GUARANTEES: Final = (*STRICT, "asymptotic-dp", "none")
_REPLACED: Final = "replace-one"
_NEIGHBOURS: Final = ("leave-one-out", _REPLACED)


@dataclass(frozen=True, slots=True)
class ReleaseCost:
    """What one release costs all its datasets together, for one kind of neighbours.

    `epsilon` is pure where `delta` is 0, and `rho` its zCDP, infinite where none is known. `window`
    is the window's figure of an asymptotic release, None where it has none. Larger = less private.
    `signed` says that the figures rest on the word of who signed a proposal.
    """

    guarantee: str
    epsilon: float
    delta: float = 0.0
    rho: float = math.inf
    window: float | None = None
    signed: bool = False

    @property
    def strict(self) -> bool:
        """Whether the guarantee holds for every table that the settings admit."""
        return self.guarantee in STRICT


def common_neighbours(statements: Sequence[Mapping[str, Any]]) -> str:
    """The neighbours that all costs are stated for: replace-one if a strict claim is for these."""
    claims = [statement["certified"] for statement in statements if statement.get("certified")]
    replaced = any(claim["neighbours"] == _REPLACED for claim in claims)
    return _REPLACED if replaced else "leave-one-out"


def release_cost(statement: Mapping[str, Any], neighbours: str) -> ReleaseCost:
    """The cost of a statement's release for these neighbours.

    A cost for one record left out is converted for a replacement, which is two such steps: from
    (epsilon, delta) to (2 epsilon, (1 + e^epsilon) delta), and from rho of counts to 2 rho.
    """
    figures = statement["epsilon_by_neighbours"][neighbours]
    epsilon = math.inf if figures["total"] is None else float(figures["total"])
    signed = any(phrase["key"] == SIGNED for phrase in statement.get("caveat_keys", ()))
    guarantee = if_public(statement["guarantee"], signed=signed)  # Earlier versions had no word.
    if claim_of(guarantee) != "approximate-dp":
        pure = epsilon**2 / 2.0 if guarantee in STRICT else math.inf
        rho = min(pure, float(figures.get("total_zcdp", math.inf)))
        window = figures.get("total_of_window")
        return ReleaseCost(guarantee, epsilon, rho=rho, window=window, signed=signed)
    claim, delta = statement["certified"], float(statement["delta"])
    epsilon, rho = float(claim["epsilon_total"]), statement["counts"]["rho"] or math.inf
    if claim["neighbours"] != neighbours:  # Only a replacement is asked of a claim on deletion.
        delta, rho = min(1.0, (1.0 + math.exp(min(epsilon, 700.0))) * delta), 2.0 * rho
        epsilon = 2.0 * epsilon
    return ReleaseCost(guarantee, epsilon, delta, float(rho), signed=signed)


def costs_together(statements: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the releases of one table have cost so far, by kind.

    Returns "unit_of_privacy" and "neighbours" of all figures; "releases" by kind, "strict",
    "asymptotic" and "none"; "strict" with "epsilon" and "delta", pure where delta is 0, and "zcdp";
    "asymptotic" with "epsilon" (2 Delta) and "of_window", 0 without such a release. A figure that
    is not known is None. Releases without a guarantee are in no sum. Raises InputError if there is
    no statement, their units of privacy differ, or one of them was made after releases that are not
    among them.

    >>> both = {"leave-one-out": {"total": 2.0}, "replace-one": {"total": 4.0}}
    >>> said = {"guarantee": "dp", "unit_of_privacy": "one record", "epsilon_by_neighbours": both}
    >>> said["certified"] = {"neighbours": "leave-one-out", "epsilon_total": 2.0}
    >>> costs_together([said, said])["strict"]
    {'epsilon': 4.0, 'delta': 0.0, 'zcdp': 4.0}
    """
    known = max(map(releases_known, statements), default=1)
    whole_number(len(statements), "the number of releases", least=known)
    refuse_other_units(statements)
    neighbours = common_neighbours(statements)
    costs = [release_cost(statement, neighbours) for statement in statements]
    strict = [cost for cost in costs if cost.strict]
    others = [cost for cost in costs if cost.guarantee == "asymptotic-dp"]
    windows = [cost.epsilon if cost.window is None else cost.window for cost in others]
    return {
        "unit_of_privacy": statements[0]["unit_of_privacy"],
        "neighbours": neighbours,
        "releases": {
            "strict": len(strict),
            "asymptotic": len(others),
            "none": len(costs) - len(strict) - len(others),
        },
        "strict": {
            "epsilon": _sum([cost.epsilon for cost in strict]),
            "delta": _sum([cost.delta for cost in strict]),
            "zcdp": _sum([cost.rho for cost in strict]),
        },
        "asymptotic": {
            "epsilon": _sum([cost.epsilon for cost in others]),
            "of_window": _sum(windows),
        },
    }


def refuse_other_units(statements: Sequence[Mapping[str, Any]]) -> None:
    """Raise InputError unless all statements have one unit of privacy."""
    for statement in statements:
        own = statement["unit_of_privacy"]
        choice(own, "the unit of privacy of all releases", (statements[0]["unit_of_privacy"],))


def releases_known(statement: Mapping[str, Any]) -> int:
    """How many releases a statement adds up, its own among them."""
    together = statement.get("costs_together")
    return 1 if together is None else sum(together["releases"].values())


def has_costs(statement: Mapping[str, Any]) -> bool:
    """Whether a statement has all its costs, none below 0, and a claim that is among them.

    One that was edited by hand may lack them, as do the first versions.
    """
    try:
        claim, figures = statement.get("certified"), statement["epsilon_by_neighbours"]
        costs = [release_cost(statement, neighbours) for neighbours in _NEIGHBOURS]
        claimed = (claim["neighbours"], claim["epsilon_total"]) if claim else None
        totals = [(neighbours, figures[neighbours]["total"]) for neighbours in _NEIGHBOURS]
        known = releases_known(statement)
    except (KeyError, TypeError, ValueError, AttributeError):
        return False
    words = (statement.get("mechanism"), statement.get("unit_of_privacy"))
    numbers = [
        number
        for cost in costs
        for number in (cost.epsilon, cost.delta, cost.rho, cost.window or 0.0)
    ]
    return (
        all(isinstance(word, str) for word in words)
        and statement["guarantee"] in _GUARANTEES
        and all(number >= 0.0 for number in (known, *numbers))
        and (claimed in totals if costs[0].strict else claimed is None)
    )


def _sum(figures: Sequence[float]) -> float | None:
    """The sum, None where it is not finite."""
    total = math.fsum(figures)
    return total if math.isfinite(total) else None
