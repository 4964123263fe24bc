"""The statement of a release from one noisy histogram [wasserman2010]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pyvws._base.phrase import Phrase
from pyvws.statement.ledger import LedgerEntry, by_neighbours, certified, figure
from pyvws.statement.statement import Statement
from pyvws.statement.words import TRUST

__all__ = ["HistogramStatement"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramStatement(Statement):
    """The facts of a release from one noisy histogram [wasserman2010].

    Attributes
    ----------
    guarantee : {"dp-if-bounded", "none"}
        What the noise and the edges allow to claim.
    epsilon : float
        What the noisy counts cost, once for all datasets; larger = less private.
    neighbours : {"replace", "loo"}
        What epsilon holds for: one record replaced, or one left out.
    bins : int
        Bins of the histogram.
    noise_scale : float
        Of the noise on each count, in records; larger = more private.
    publishable : bool
        Whether the noise is secret.
    bins_from_records, edges_from_data, allows_outside : bool
        Whether the number of bins follows the number of records, whether the range is the data's,
        and whether values outside it were counted in the end bins.
    """

    guarantee: str
    epsilon: float
    neighbours: str
    bins: int
    noise_scale: float
    publishable: bool
    bins_from_records: bool
    edges_from_data: bool
    allows_outside: bool

    @property
    def _replaces(self) -> bool:
        return self.neighbours == "replace"

    def caveats(self, *, exact: bool = False) -> list[Phrase]:
        applies = {
            "replaced": self._replaces,
            "left-out": not self._replaces,
            "one-histogram": True,
            "bounded-outcome": True,
            "within-bins": True,
            "other-releases": True,
            "records": self._replaces,
            "bins-from-records": self.bins_from_records,
            "edges-from-data": self.edges_from_data,
            "seeded-noise": not self.publishable,
            "rounded": self.rounded,
            "outside-range": self.allows_outside,
            "unchanged": bool(self.columns_released_unchanged),
            "kept-order": self.keep_order,
        }
        return [Phrase(key) for key, holds in applies.items() if holds]

    def ledger(self) -> list[LedgerEntry]:
        return [LedgerEntry(Phrase("histogram"), self.epsilon)]

    def _trusted(self) -> list[str]:
        return list(TRUST)

    def _facts(self, round_up: bool) -> dict[str, Any]:
        # One count moves where a record is left out, two by one each where it is replaced.
        replaced = self.epsilon if self._replaces else 2.0 * self.epsilon
        left_out = replaced / 2.0
        if self.bins_from_records:  # The rule takes n, so all bins move where a record is left out.
            left_out = math.inf
        if self.guarantee == "none":  # Edges show two values; seeded noise can be taken off.
            left_out = replaced = math.inf
        neighbours = "replace-one" if self._replaces else "leave-one-out"
        own = (self.epsilon, self.epsilon)
        epsilon = figure(self.epsilon, round_up)
        return {
            "model": "none",
            "guarantee": self.guarantee,
            "neighbours": neighbours,
            "epsilon_per_dataset": epsilon,
            "epsilon_total": epsilon,
            "epsilon_by_neighbours": by_neighbours(
                (left_out, left_out), (replaced, replaced), round_up
            ),
            "certified": (
                None if self.guarantee == "none" else certified(neighbours, own, round_up)
            ),
            "number_of_rows": "exact" if self._replaces else "noisy",
            "bins": self.bins,
            "noise_scale": self.noise_scale,
            "publishable": self.publishable,
        }
