"""What a release costs, and the statement that says so.

Every draw of the pseudo posterior makes one synthetic dataset at epsilon_x = 2 Delta_{alpha,x}
under leave-one-out neighbours; m datasets from m draws compose to m epsilon_x. Delta is estimated
on one database from finitely many draws, so the guarantee is asymptotic (Theorem 1 of [vws2024]),
never strict.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

import numpy as np

__all__ = ["PrivacyStatement", "rounded_up"]

_EXACT = Context(prec=400)  # Digits enough for the largest float and one decimal.


def rounded_up(value: float) -> float | None:
    """The value rounded up to one decimal, never down; None where it is not finite."""
    if not np.isfinite(value):
        return None
    tenth = Decimal("0.1")
    return float(Decimal(float(value)).quantize(tenth, rounding=ROUND_CEILING, context=_EXACT))


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyStatement:
    """The facts from which both forms of the statement are written.

    Attributes
    ----------
    mechanism, model : str
        Names as on the command line.
    reweighted, searched : bool
        Whether Algorithm 3 ran, and whether k or c was searched over refits.
    lipschitz_bound : float
        Delta_{alpha,x} of the fit that made the datasets, in nats; larger = less private.
    datasets, draws : int
        Synthetic datasets released, and posterior draws S behind the bound.
    threshold : float
        Quantile of the draws' maxima that the bound takes; 1 = the maximum.
    columns_released_unchanged : tuple of str
        Columns that are released as they are, treated as public.
    rounded : bool
        Whether the outcome was rounded to whole numbers first.
    reads_outcome : bool
        Whether a synthetic value depends on the record's own outcome besides the draw.
    model_caveats : tuple of str
        Sentences that the model's family adds.
    problems : tuple of str
        Sentences on convergence of the fit that made the datasets.
    """

    mechanism: str
    model: str
    reweighted: bool
    searched: bool
    lipschitz_bound: float
    datasets: int
    draws: int
    threshold: float
    columns_released_unchanged: tuple[str, ...]
    rounded: bool
    reads_outcome: bool
    model_caveats: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def guarantee(self) -> str:
        """ "asymptotic-dp" for weighted mechanisms at the full maximum, else "none".

        Also "none" where synthetic values depend on the data besides the posterior draw.
        """
        weighted = self.mechanism != "unweighted" and not self.reads_outcome
        bounded = bool(np.isfinite(self.lipschitz_bound))
        return "asymptotic-dp" if weighted and bounded and self.threshold == 1.0 else "none"

    @property
    def epsilon_per_dataset(self) -> float:
        """epsilon_x = 2 Delta_{alpha,x}; larger = less private."""
        return 2.0 * self.lipschitz_bound

    @property
    def epsilon_total(self) -> float:
        """datasets x epsilon_per_dataset, by sequential composition."""
        return self.datasets * self.epsilon_per_dataset

    def caveats(self) -> list[str]:
        """What a reader must know before relying on the numbers, a sentence each."""
        said = [
            "Neighbours are databases that differ by the deletion of one record; where one record "
            "is replaced instead, the same epsilon is not claimed: each figure doubles.",
            f"The Lipschitz bound is estimated from {self.draws} draws of an approximate sampler "
            "on this database alone; the guarantee holds asymptotically in the number of records, "
            "not strictly.",
            "The weights are computed from the whole confidential database and from fits to it; "
            "the method treats them as given, and their own disclosure is not accounted.",
            f"Each synthetic dataset spends epsilon_per_dataset; all {self.datasets} together "
            "spend epsilon_total.",
            "Figures here are rounded up to one decimal, each on its own.",
            "The number of records is released.",
        ]
        if self.columns_released_unchanged:
            said.append(
                "The columns under columns_released_unchanged are the confidential table's own, "
                "row by row; the guarantee covers the synthesized outcome given them and does not "
                "protect them."
            )
        if self.searched:
            said.append(
                "A tuning constant was searched over several fits to the confidential data until "
                "the bound met its target; the search is not accounted."
            )
        if self.mechanism == "unweighted":
            said.append(
                "No record is downweighted, so no guarantee is claimed; the bound only describes "
                "these draws."
            )
        if self.mechanism == "sw":
            said.append(
                "One weight for all records downweights every record at any number of records, "
                "while the asymptotic result asks that downweighting become sparse."
            )
        if self.reads_outcome:
            said.append(
                "Each synthetic value is drawn given the record's own confidential outcome as well "
                "as the posterior draw, so no guarantee is claimed and epsilon describes the draw "
                "alone."
            )
        said.extend(self.model_caveats)
        if self.threshold < 1.0:
            said.append(
                f"The bound is the {self.threshold:g} quantile of the draws' maxima, which is "
                "optimistic, so no guarantee is claimed."
            )
        if self.rounded:
            said.append("The confidential outcome was rounded to whole numbers before modelling.")
        if self.problems:
            said.append(
                "Convergence diagnostics fell short, so the bound may be understated: "
                + " ".join(self.problems)
            )
        return said

    def exact(self) -> dict[str, Any]:
        """The statement with exact figures, for the confidential folder."""
        return self._written(self.lipschitz_bound, self.epsilon_per_dataset, self.epsilon_total)

    def released(self) -> dict[str, Any]:
        """The statement for the release: figures rounded up to one decimal."""
        return self._written(
            rounded_up(self.lipschitz_bound),
            rounded_up(self.epsilon_per_dataset),
            rounded_up(self.epsilon_total),
        )

    def _written(
        self, bound: float | None, per_dataset: float | None, total: float | None
    ) -> dict[str, Any]:
        return {
            "mechanism": self.mechanism,
            "reweighted": self.reweighted,
            "model": self.model,
            "guarantee": self.guarantee,
            "neighbours": "leave-one-out",
            "lipschitz_bound": bound,
            "epsilon_per_dataset": per_dataset,
            "epsilon_total": total,
            "datasets": self.datasets,
            "draws": self.draws,
            "threshold": self.threshold,
            "columns_released_unchanged": list(self.columns_released_unchanged),
            "caveats": self.caveats(),
        }
