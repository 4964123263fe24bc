"""The statement of a verification answer: what one noisy count of agreeing parts costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyvws._base.phrase import Phrase
from pyvws.statement.noise import NoiseStatement
from pyvws.statement.parts import LedgerEntry
from pyvws.statement.words import with_conditions


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationStatement(NoiseStatement):
    """The facts of an answer on a release, which has no datasets of its own.

    A unit left out changes one part. So does one replaced, as it takes the coin of the other: coins
    do not depend on units. Both cost `epsilon`, whatever the size of a unit.

    - `epsilon`: The cost of the answer; larger = less private.
    - `question`: What was asked, what public figures predict, and the answer.
    - `weight`: The column of survey weights of the regression; empty without one.
    - `fixed`: Whether a weight may depend on other records, which the claim holds fixed.
    """

    epsilon: float
    question: Mapping[str, Any]
    weight: str = ""
    fixed: bool = False

    @property
    def claim_made(self) -> str:
        return "dp"

    @property
    def guarantee(self) -> str:
        return with_conditions(self.claim_made, signed=self._signed, fixed=self.fixed)

    @property
    def draws_released(self) -> int:
        return 0

    @property
    def epsilon_per_dataset(self) -> float:
        """The cost of the answer."""
        return self.epsilon

    def caveats(self, *, exact: bool = False) -> list[Phrase]:
        asked = self.question
        found = [
            Phrase("verification", {"parts": asked["parts"], "scale": asked["scale"]}),
            Phrase("verification-meaning", {"coefficient": asked["coefficient"]}),
        ]
        if self.fixed:
            found.append(Phrase("counts-weights-fixed", {"column": self.weight}))
        further = ["further-releases", "public-settings"]
        return found + [Phrase(x) for x in (*further, *(["proposed-and-signed"] * self._signed))]

    def ledger(self) -> list[LedgerEntry]:
        asked = {name: self.question[name] for name in ("coefficient", "formula")}
        return [LedgerEntry(Phrase("verification", asked), self.epsilon)]

    def trusted(self) -> list[Phrase]:
        return [Phrase("agency"), Phrase("noise-computation")]

    def _facts(self, round_up: bool) -> dict[str, Any]:
        return {
            **self._unit_column,
            "model": "none",
            **self._costs(self.epsilon, self.epsilon, round_up),
            "number_of_rows": "none",
            "verification": dict(self.question),
        }
