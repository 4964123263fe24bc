"""Ask conditions whether a run is refused, and refuse a delta above 1 over its records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pyvws._base.deltas import above_a_record, modest_delta
from pyvws.errors import InputError

Conditions = Mapping[str, Callable[[Any], Any]]
"""What a run cannot have, by the key of its sentence in `refusals.toml`.

Each condition gets settings or a plan, `asked` in the sentence. What it gives is false where
nothing is wrong, and is `it` in the sentence elsewhere.
"""


def refuse(asked: Any, conditions: Conditions) -> None:
    """Raise InputError, with its key, for the first of the conditions that holds."""
    for key, holds in conditions.items():
        if it := holds(asked):
            raise InputError.by(key, asked=asked, it=it)


def refuse_delta(run: Any, records: int) -> None:
    """Raise InputError for a run's delta above 1 / n, unless its settings accept that.

    The number of records n must be public, or be released with noise.
    """
    refuse((run, records), OF_RECORDS)


def delta_above(run: Any, n: int) -> dict[str, Any] | None:
    """A run's delta above 1 / n, n and a delta that is not; None for one that is accepted."""
    paid = getattr(run.schema, "paid", None)
    delta = (run.delta or run.facts.own_delta) + (0.0 if paid is None else paid.delta)
    if run.accept_delta or not above_a_record(delta, n):
        return None
    return {"delta": delta, "n": n, "modest": modest_delta(n)}


OF_RECORDS: Final[Conditions] = {"delta-of-a-record": lambda asked: delta_above(*asked)}
"""Of a run and the number of its records."""
