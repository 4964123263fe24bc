"""Which records an audit leaves out: those that a run may tell most of, and random ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from typing import Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pyvws.release.posterior import FittedRun
from pyvws.tables.design.units import by_record

Places = NDArray[np.intp]

RANDOM: Final = "random"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The records (n,) to leave out together, from 0, and why they were chosen.

    `others` are records of which copies take their place; empty where nothing does.
    """

    kind: str
    records: Places
    others: Places = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def neighbour(self, whole: nw.DataFrame[Any], unit: str | None) -> nw.DataFrame[Any]:
        """The table without the records, with the copies at its end; these are one `unit`."""
        kept = np.delete(np.arange(len(whole)), self.records)
        table = whole[[*kept.tolist(), *self.others.tolist()]]
        if unit is None or not len(self.others):
            return table
        own = [*kept.tolist(), *self.records[:1].tolist() * len(self.others)]
        return table.with_columns(whole[unit][own])


def chosen_records(
    run: FittedRun, count: int, rng: np.random.Generator, *, replace: bool
) -> list[Chosen]:
    """`count` records, or all records of as many units, each kind in turn and none twice.

    Records, or units, whose modelled values are alike move a run alike. So one stands for them,
    but for those that are chosen at random. With `replace` each has another one, at random.
    """
    units = run.loop.source.units
    alike = by_record(run.loop.cells.cell_of_record, units)
    whose = np.arange(len(alike)) if units is None else units.of_record
    rarest = _rarest(run)
    orders: dict[str, Iterator[int]] = {
        "largest bound": iter(np.argsort(-by_record(run.final.maxima, units), kind="stable")),
        "lone level": iter(np.argsort(rarest, kind="stable")[: (rarest < len(rarest)).sum()]),
        "extreme": _extremes(run),
        RANDOM: iter(rng.permutation(len(alike))),
    }
    found: list[Chosen] = []
    kinds_seen: set[int] = set()
    seen: set[int] = set()
    while orders and len(found) < count:
        for kind in [*orders][: count - len(found)]:
            for place in orders[kind]:
                if whose[place] in seen or (kind != RANDOM and alike[place] in kinds_seen):
                    continue
                seen.add(whose[place])
                kinds_seen.add(alike[place])
                own = whose == whose[place]
                found.append(Chosen(kind, np.flatnonzero(own)))
                if replace and not own.all():
                    other = whose[rng.choice(np.flatnonzero(~own))]
                    found[-1] = replaced(found[-1], others=np.flatnonzero(whose == other))
                break
            else:
                del orders[kind]
    return found


def _rarest(run: FittedRun) -> Places:
    """How many records (N,) share a record's rarest level, among the categories of the run."""
    rarest = np.full(run.table.records, run.table.records, dtype=np.intp)
    for outcome in run.table.outcomes:
        if outcome.categorical:
            has = np.isfinite(outcome.y)
            _, level, counts = np.unique(outcome.y[has], return_inverse=True, return_counts=True)
            rarest[has] = np.minimum(rarest[has], counts[level])
    return rarest


def _extremes(run: FittedRun) -> Iterator[int]:
    """The records of the largest and the least value of each number, then of the next ones."""
    orders = []
    for outcome in run.table.outcomes:
        if not outcome.categorical:
            order = np.argsort(outcome.y, kind="stable")
            order = order[np.isfinite(outcome.y[order])]
            orders += [order[::-1], order]
    for nth in range(max(map(len, orders), default=0)):
        yield from (order[nth] for order in orders if nth < len(order))
