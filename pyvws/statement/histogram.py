"""The statement of a release from one noisy histogram [wasserman2010]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pyvws._base.phrase import Phrase
from pyvws.statement.ledger import LedgerEntry
from pyvws.statement.statement import NoiseStatement


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramStatement(NoiseStatement):
    """The facts of a release from one noisy histogram [wasserman2010].

    - `claim` {"dp-if-bounded", "none"}: The guarantee that the noise and the edges allow the
      release to claim.
    - `epsilon`: The cost of the noisy counts, once for all datasets; larger = less private.
    - `bins`: Bins of the histogram.
    - `noise_scale`: Scale of the noise on each count, in records; larger = more private.
    - `bins_from_records`, `edges_from_data`, `allows_outside`: Whether the number of bins follows
      the number of records, whether the range is the data's, and whether the end bins count the
      values outside the range.
    """

    claim: str
    epsilon: float
    bins: int
    noise_scale: float
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
    def epsilon_per_dataset(self) -> float:
        return self.epsilon

    @property
    def publishable(self) -> bool:
        """Whether the noise is secret."""
        return self.relies_on.exact_draws

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

    def ledger(self) -> list[LedgerEntry]:
        return [LedgerEntry(Phrase("histogram"), self.epsilon)]

    def trusted(self) -> list[Phrase]:
        computed = "noise-computation" if self.publishable else "float-noise-computation"
        return [Phrase("agency"), Phrase("public"), Phrase(computed)]

    def _facts(self, round_up: bool) -> dict[str, Any]:
        # A record left out moves one count by one; a record replaced moves two counts by one.
        replaced = self.epsilon if self._replaces else 2.0 * self.epsilon
        left_out = replaced / 2.0
        if self.bins_from_records:  # The rule takes n, so all bins move where a record is left out.
            left_out = math.inf
        return {
            "model": "none",
            **self._costs(left_out, replaced, round_up),
            "number_of_rows": "exact" if self._replaces else "noisy",
            "bins": self.bins,
            "noise_scale": self.noise_scale,
            "publishable": self.publishable,
        }
