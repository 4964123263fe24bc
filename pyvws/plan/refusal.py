"""What a row of the table of refusals is, how rows are asked, and the rows of delta and targets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pyvws._base.deltas import above_a_record, modest_delta
from pyvws.errors import InputError


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing that a run cannot have.

    `key` stays as it is, whatever becomes of the words. `when` gets settings or a plan, `asked` in
    the words. What it gives is false where nothing is wrong, and is `it` in the words elsewhere.
    """

    key: str
    when: Callable[[Any], Any]
    words: str
    remedy: str


def refuse(asked: Any, rows: Iterable[Refusal]) -> None:
    """Raise InputError, with the row's key, for the first of the rows that holds."""
    for row in rows:
        if it := row.when(asked):
            words = f"{row.words} {row.remedy}".format(asked=asked, it=it)
            raise InputError(words, key=row.key)


def refuse_delta(run: Any, records: int) -> None:
    """Raise InputError for a run's delta above 1 / n, unless its settings accept that.

    The number of records n must be public, or be released with noise.
    """
    refuse((run, records), (_OF_RECORDS,))


def _above(asked: tuple[Any, int]) -> dict[str, Any] | None:
    run, n = asked
    delta = run.delta or run.facts.own_delta
    if run.accept_delta or not above_a_record(delta, n):
        return None
    return {"delta": delta, "n": n, "modest": modest_delta(n)}


_OF_RECORDS = Refusal(
    "delta-of-a-record",
    _above,
    "delta {it[delta]:g} is above 1 over the number of records, {it[n]:,}. So the guarantee would "
    "let one record be published as it is.",
    "Take {it[modest]:g} or less (--delta), or accept it (--accept-delta).",
)

DELTA_OF_PUBLIC_RECORDS = Refusal(
    "delta-of-public-records",
    lambda plan: isinstance(plan.run.records, int) and _above((plan.run, plan.run.records)),
    _OF_RECORDS.words,
    _OF_RECORDS.remedy,
)
"""A row of the table of refusals: before the run, where the number of records is public."""

OF_TARGETS = (
    Refusal(
        "target-of-public-constant",
        lambda plan: plan.run.epsilon is not None and plan.run.facts.public_constant,
        "{it} of mechanism {asked.run.mechanism.name} is public. A search for epsilon would let "
        "one record move {it}, and with it all weights.",
        "Give {it} alone, and the run states the epsilon that comes of it. Or give search_{it} "
        "(--search-{it}) in its place.",
    ),
    Refusal(
        "search-without-target",
        lambda plan: (
            plan.run.facts.needs_target and (plan.run.epsilon is None or plan.run.downscale)
        ),
        "A search of the weights' constant ends at an epsilon, and downscale takes epsilon for "
        "itself.",
        "Give epsilon (--epsilon) without downscale, or the constant itself.",
    ),
)
"""Rows of a constant of the weights: a public one takes no target, and a search needs one."""
