"""The statement of a release from one noisy histogram [wasserman2010]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pyvws._base.phrase import Phrase
from pyvws.statement.ledger import LedgerEntry, by_neighbours, certified, figure
from pyvws.statement.relied_on import ReliesOn
from pyvws.statement.statement import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramStatement(Statement):
    """The facts of a release from one noisy histogram [wasserman2010].

    - `claim` {"dp-if-bounded", "none"}: The guarantee that the noise and the edges allow the
      release to claim.
    - `epsilon`: The cost of the noisy counts, once for all datasets; larger = less private.
    - `neighbours` {"replace", "loo"}: The neighbours that epsilon holds for: one record replaced,
      or one record left out.
    - `bins`: Bins of the histogram.
    - `noise_scale`: Scale of the noise on each count, in records; larger = more private.
    - `publishable`: Whether the noise is secret.
    - `range`: The public range of the outcome; None where the range is the data's.
    - `bins_from_records`, `edges_from_data`, `allows_outside`: Whether the number of bins follows
      the number of records, whether the range is the data's, and whether the end bins count the
      values outside the range.
    """

    claim: str
    epsilon: float
    neighbours: str
    bins: int
    noise_scale: float
    publishable: bool
    range: tuple[float, float] | None = None
    bins_from_records: bool
    edges_from_data: bool
    allows_outside: bool

    @property
    def claim_made(self) -> str:
        return self.claim

    @property
    def draws_released(self) -> int:
        return 1

    @property
    def _replaces(self) -> bool:
        return self.neighbours == "replace"

    @property
    def _neighbours(self) -> str:
        return "replace-one" if self._replaces else "leave-one-out"

    def caveats(self, *, exact: bool = False) -> list[Phrase]:
        applies = {
            "replaced": self._replaces,
            "left-out": not self._replaces,
            "one-histogram": True,
            **self._draws_are_fewer,
            "bounded-outcome": True,
            "within-bins": True,
            **self._other_releases,
            "records": self._replaces,
            "certified-for-replacement": self._replaces and self.guarantee != "none",
            "bins-from-records": self.bins_from_records,
            "edges-from-data": self.edges_from_data,
            "compared": self.compared,
            "seeded-noise": not self.publishable,
            "rounded": self.rounded,
            "outside-range": self.allows_outside,
            "unchanged": bool(self.columns_released_unchanged),
            "kept-order": self.keep_order,
        }
        return [Phrase(key) for key, holds in applies.items() if holds]

    def relies_on(self) -> ReliesOn:
        return ReliesOn(
            neighbours=self._neighbours,
            engine="discrete-laplace" if self.publishable else "seeded-laplace",
            exact_draws=self.publishable,
            public_settings={"range": self.range, "bins": self.bins},
        )

    def ledger(self) -> list[LedgerEntry]:
        return [LedgerEntry(Phrase("histogram"), self._composed(self.epsilon)[1])]

    def trusted(self) -> list[Phrase]:
        computed = "noise-computation" if self.publishable else "float-noise-computation"
        return [Phrase("agency"), Phrase("public"), Phrase(computed)]

    def _facts(self, round_up: bool) -> dict[str, Any]:
        # A record left out moves one count by one; a record replaced moves two counts by one.
        replaced = self.epsilon if self._replaces else 2.0 * self.epsilon
        left_out = replaced / 2.0
        if self.bins_from_records:  # The rule takes n, so all bins move where a record is left out.
            left_out = math.inf
        if self.guarantee == "none":  # Edges show two values; seeded noise can be taken off.
            left_out = replaced = math.inf
        own = self._composed(self.epsilon)
        dataset, total = (figure(epsilon, round_up) for epsilon in own)
        return {
            "model": "none",
            "guarantee": self.guarantee,
            "neighbours": self._neighbours,
            "epsilon_per_dataset": dataset,
            "epsilon_total": total,
            "epsilon_by_neighbours": by_neighbours(
                self._composed(left_out), self._composed(replaced), round_up
            ),
            "certified": (
                None if self.guarantee == "none" else certified(self._neighbours, own, round_up)
            ),
            "number_of_rows": "exact" if self._replaces else "noisy",
            "bins": self.bins,
            "noise_scale": self.noise_scale,
            "publishable": self.publishable,
        }
