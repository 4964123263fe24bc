"""What several releases of one table cost together, from their statements alone.

Costs add up for one kind of neighbours and one unit of privacy: pure epsilons with pure ones, rhos
of zero-concentrated differential privacy with rhos, and epsilon and delta each on its own. A pure
epsilon is (epsilon, 0), and epsilon^2 / 2 in zCDP. A draw of bounded range has epsilon^2 / 8, which
its statement says. An asymptotic figure never enters a strict sum.

Several releases made with one schema that was paid for pay it once, by its digest.

A release is named by the digest of its statement. A later statement holds the name and the cost of
each earlier release, so a sum misses none whose file is missing, and counts none twice.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyvws._base.checks import choice, whole_number
from pyvws.statement.words import SIGNED, STRICT, claim_of, if_public

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
    replaced = any(_claimed(statement) == _REPLACED for statement in statements)
    return _REPLACED if replaced else "leave-one-out"


def _claimed(statement: Mapping[str, Any]) -> str | None:
    """The neighbours of a strict claim, of a statement or as a later one holds them."""
    claim = statement.get("certified") or {}
    return claim.get("neighbours", statement.get("certified_for"))


def release_cost(statement: Mapping[str, Any], neighbours: str) -> ReleaseCost:
    """The cost of a statement's release for these neighbours.

    A cost for one record left out is converted for a replacement, which is two such steps: from
    (epsilon, delta) to (2 epsilon, (1 + e^epsilon) delta), and from rho of counts to 2 rho. What a
    later statement holds of the release has its costs for both.
    """
    if "cost_by_neighbours" in statement:
        held = statement["cost_by_neighbours"][neighbours]
        known = (held[name] for name in ("epsilon", "zcdp"))
        epsilon, rho = (math.inf if figure is None else float(figure) for figure in known)
        delta, window = float(held["delta"]), held["of_window"]
        word = statement["guarantee"]
        return ReleaseCost(word, epsilon, delta, rho, window, statement["signed"])
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


def digest(statement: Mapping[str, Any]) -> str:
    """The name of a release: SHA-256 of what its statement says, however the file is laid out."""
    content = json.dumps(statement, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()


def releases_known(statements: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each release that the statements are of, or were made after, once, as `_held` describes it.

    Copies of a statement count once. A statement without release_id counts each time, since two
    releases may then say the same.
    """
    own: list[Mapping[str, Any]] = []
    for statement in statements:
        if "release_id" not in statement or statement not in own:
            own.append(statement)
    named = [_held(statement) for statement in own]
    held: Counter[str] = Counter()
    by_name: dict[str, dict[str, Any]] = {}
    for statement in own:
        earlier = earlier_of(statement)
        held |= Counter(one["digest"] for one in earlier)
        by_name |= {one["digest"]: one for one in earlier}
    missing = held - Counter(one["digest"] for one in named)
    return [*(by_name[name] for name in missing.elements()), *named]


def _held(statement: Mapping[str, Any]) -> dict[str, Any]:
    """What a later statement holds of a release: its name, its words and what it costs."""
    costs = {neighbours: release_cost(statement, neighbours) for neighbours in _NEIGHBOURS}
    return {
        "digest": digest(statement),
        "mechanism": statement.get("mechanism"),
        "guarantee": costs[_REPLACED].guarantee,
        "signed": costs[_REPLACED].signed,
        "certified_for": _claimed(statement),
        **({"paid_schema": paid} if (paid := statement.get("paid_schema")) else {}),
        "cost_by_neighbours": {
            neighbours: {
                "epsilon": _finite(cost.epsilon),
                "delta": cost.delta,
                "zcdp": _finite(cost.rho),
                "of_window": cost.window,
            }
            for neighbours, cost in costs.items()
        },
    }


def earlier_of(statement: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a statement holds of each release that it was made after."""
    together = statement.get("costs_together") or {}
    return list(together.get("earlier", ()))


def costs_together(statements: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the releases of one table have cost so far, by kind.

    Returns "unit_of_privacy" and "neighbours" of all figures; "releases" by kind, "strict",
    "asymptotic" and "none"; "strict" with "epsilon" and "delta", pure where delta is 0, and "zcdp";
    "asymptotic" with "epsilon" (2 Delta) and "of_window", 0 without such a release. A figure that
    is not known is None. Releases without a guarantee are in no sum. Each release counts once, and
    so do those that a statement was made after. Raises InputError if there is no statement, or
    their units of privacy differ.

    >>> both = {"leave-one-out": {"total": 2.0}, "replace-one": {"total": 4.0}}
    >>> said = {"guarantee": "dp", "unit_of_privacy": "one record", "epsilon_by_neighbours": both}
    >>> said["certified"] = {"neighbours": "leave-one-out", "epsilon_total": 2.0}
    >>> costs_together([said, said])["strict"]
    {'epsilon': 4.0, 'delta': 0.0, 'zcdp': 4.0}
    """
    whole_number(len(statements), "the number of releases", least=1)
    refuse_other_units(statements)
    known = releases_known(statements)
    neighbours = common_neighbours(known)
    costs = [release_cost(one, neighbours) for one in known]
    strict = [cost for cost in costs if cost.strict]
    both = zip(known, costs, strict=True)
    paid = [(one.get("paid_schema"), cost) for one, cost in both if cost.strict]
    less = list(_less_for_schemas(paid, neighbours))
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
            "epsilon": _sum([*(c.epsilon for c in strict), *(-epsilon for epsilon, _ in less)]),
            "delta": _sum([*(c.delta for c in strict), *(-delta for _, delta in less)]),
            "zcdp": _sum([cost.rho for cost in strict]),
        },
        "asymptotic": {
            "epsilon": _sum([cost.epsilon for cost in others]),
            "of_window": _sum(windows),
        },
    }


def _less_for_schemas(
    costs: Sequence[tuple[Mapping[str, Any] | None, ReleaseCost]], neighbours: str
) -> Iterator[tuple[float, float]]:
    """Epsilon and delta that releases cost less whose schema an earlier one was made with too.

    Such a release costs what its counts cost alone, converted as in `release_cost`.
    """
    seen: set[str] = set()
    for paid, cost in costs:
        if paid is None:
            continue
        if paid["digest"] in seen:
            epsilon, delta = float(paid["run"]), cost.delta - float(paid["delta"])
            if paid["neighbours"] == "loo" and neighbours == _REPLACED:
                whole = cost.delta / (1.0 + math.exp(min(cost.epsilon / 2.0, 700.0)))
                delta = max(0.0, whole - float(paid["delta"]))
                delta *= 1.0 + math.exp(min(epsilon, 700.0))
                epsilon *= 2.0
            yield cost.epsilon - epsilon, cost.delta - delta
        seen.add(paid["digest"])


def refuse_other_units(statements: Sequence[Mapping[str, Any]]) -> None:
    """Raise InputError unless all statements have one unit of privacy."""
    for statement in statements:
        own = statement["unit_of_privacy"]
        choice(own, "the unit of privacy of all releases", (statements[0]["unit_of_privacy"],))


def releases_unnamed(statement: Mapping[str, Any]) -> int:
    """How many earlier releases a statement adds up without holding their names and costs."""
    together = statement.get("costs_together")
    known = 1 if together is None else sum(together["releases"].values())
    return known - 1 - len(earlier_of(statement))


def has_costs(statement: Mapping[str, Any]) -> bool:
    """Whether a statement has all its costs, none below 0, and a claim that is among them.

    One that was edited by hand may lack them, as do the first versions.
    """
    try:
        claim, figures = statement.get("certified"), statement["epsilon_by_neighbours"]
        costs = [release_cost(statement, neighbours) for neighbours in _NEIGHBOURS]
        claimed = (claim["neighbours"], claim["epsilon_total"]) if claim else None
        totals = [(neighbours, figures[neighbours]["total"]) for neighbours in _NEIGHBOURS]
        earlier = earlier_of(statement)
        held = [release_cost(one, neighbours) for one in earlier for neighbours in _NEIGHBOURS]
        known = releases_unnamed(statement)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return False
    words = [statement.get("mechanism"), statement.get("unit_of_privacy")]
    words += [one.get(name) for one in earlier for name in ("digest", "mechanism")]
    numbers = [
        number
        for cost in (*costs, *held)
        for number in (cost.epsilon, cost.delta, cost.rho, cost.window or 0.0)
    ]
    return (
        all(isinstance(word, str) for word in words)
        and all(cost.guarantee in _GUARANTEES for cost in (*costs, *held))
        and all(number >= 0.0 for number in (known, *numbers))
        and (claimed in totals if costs[0].strict else claimed is None)
    )


def _sum(figures: Sequence[float]) -> float | None:
    """The sum, None where it is not finite."""
    return math.fsum(figures) if sum(figures) < math.inf else None


def _finite(figure: float) -> float | None:
    """The figure, None where it is not finite: JSON has no infinity."""
    return figure if math.isfinite(figure) else None
