"""What a release costs, and the statement that says so.

Every draw of the pseudo posterior makes one synthetic dataset at epsilon_x = 2 Delta_{alpha,x}
under leave-one-out neighbours; m datasets from m draws compose to m epsilon_x. Delta is estimated
on one database from finitely many draws, so the guarantee is asymptotic (Theorem 1 of [vws2024]).
Where each term is clamped at epsilon / 2 [global2022], no draw can exceed it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.phrase import Phrase
from pyvws.statement.ledger import Epsilons, LedgerEntry, by_neighbours, certified, figure
from pyvws.statement.statement import Statement
from pyvws.statement.words import SEED_TRUST, TRUST

__all__ = ["PrivacyStatement", "growth_per_doubling"]

_UNCLAMPED = "no-upper-limit"  # A family's caveat that no longer applies where terms are clamped.


def growth_per_doubling(by_draw: Floats) -> float:
    """How much the largest of S draws' bounds exceeds, on average, that of a random half of them.

    by_draw (S,) in nats; larger = the bound is less settled. Sorted downwards, the largest of a
    half is place j with probability near 2^-(j + 1). Not finite where the largest bound is not.
    """
    falling = np.sort(by_draw)[::-1][:64]
    if not np.isfinite(falling[0]):
        return float(falling[0])
    shares = 0.5 ** np.arange(1, len(falling) + 1)
    return float(falling[0] - shares @ falling / shares.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyStatement(Statement):
    """The facts of a release from a pseudo posterior.

    Attributes
    ----------
    model : str
        Name as on the command line.
    claim : {"dp", "asymptotic-dp", "none"}
        The strongest word that the mechanism may have.
    unchecked : tuple of {"mechanism", "model"}
        Which of them are the agency's own: the package checks no claim of theirs.
    mechanism_words : mapping of str to str
        Title and explanation of a mechanism of the agency's own; those of the others are known.
    reweighted, searched : bool
        Whether Algorithm 3 ran, and whether a constant was searched over refits.
    lipschitz_bound : float
        Delta_{alpha,x} of the fit that made the datasets, in nats; larger = less private. Of a
        censored fit, the bound that it enforces.
    enforced, data_weights, prepared_from_data : bool
        Whether each record's term is clamped at the bound, whether weights come from the data, and
        whether the model's levels do.
    downweights : bool
        Whether any weight of the fit that made the datasets is below 1.
    confirmed : bool
        Whether the bound is the larger one of a fit and of a longer one under the same weights,
        whose draws no search or truncation has seen.
    target : float, optional
        The epsilon that was asked for.
    growth : float
        How much the bound rises when the number of draws doubles, in nats.
    draws : int
        Posterior draws S behind the bound.
    threshold : float
        Quantile of the draws' maxima that the bound takes; 1 = the maximum.
    reads_outcome : bool
        Whether a synthetic value depends on the record's own outcome besides the draw.
    mechanism_caveats, model_caveats : tuple of Phrase
        What the mechanism and the model's family add to the caveats.
    own_program : {"", "own-program", "unchecked-program"}
        Whether the model is a Stan program of the agency's own, and whether its log_lik was held
        against its target.
    problems : tuple of str
        Sentences on convergence of the fit that made the datasets.
    short_seed : bool
        Whether the seed can be found by trying all that are as small.
    uses : tuple of Phrase
        Uses of the confidential data that are not accounted, in their order.
    accepts_unconverged : bool
        Whether the settings accept chains that fail their diagnostics, which gives up "dp".
    records : {"exact", "public", "noisy"}
        Where the number of rows comes from: the table, the settings, or the table with noise.
    records_epsilon : float
        What a noisy number of rows costs, once for all datasets; 0 otherwise.
    """

    model: str
    reweighted: bool
    searched: bool
    lipschitz_bound: float
    claim: str = "dp"
    unchecked: tuple[str, ...] = ()
    mechanism_words: Mapping[str, str] = field(default_factory=dict)
    enforced: bool = False
    data_weights: bool = True
    prepared_from_data: bool = False
    downweights: bool = True
    confirmed: bool = False
    target: float | None = None
    growth: float = 0.0
    draws: int
    threshold: float
    reads_outcome: bool
    model_caveats: tuple[Phrase, ...]
    mechanism_caveats: tuple[Phrase, ...] = ()
    problems: tuple[str, ...]
    uses: tuple[Phrase, ...] = ()
    own_program: str = ""
    short_seed: bool = False
    accepts_unconverged: bool = False
    records: str = "exact"
    records_epsilon: float = 0.0

    @property
    def guarantee(self) -> str:
        """ "dp", "asymptotic-dp" or "none".

        No more than the mechanism claims. "dp" where terms are clamped, neither weights nor terms
        depend on other records, mechanism and model are the package's, and the settings do not
        accept chains that fail their diagnostics;
        "asymptotic-dp" for the other weighted mechanisms at the full maximum, other censored ones
        among them. "none" otherwise, as where no record is downweighted, and where synthetic values
        depend on the data besides the posterior draw.
        """
        if self.claim == "none" or self.reads_outcome or not np.isfinite(self.lipschitz_bound):
            return "none"
        if self.enforced:
            local = not (self.data_weights or self.prepared_from_data or self.unchecked)
            if local and self.accepts_unconverged:
                return "none"
            return "dp" if local else "asymptotic-dp"
        return "asymptotic-dp" if self.downweights and self.threshold == 1.0 else "none"

    @property
    def epsilon_per_dataset(self) -> float:
        """epsilon_x = 2 Delta_{alpha,x}; larger = less private."""
        return 2.0 * self.lipschitz_bound

    @property
    def epsilon_total(self) -> float:
        """datasets x epsilon_per_dataset, by sequential composition, and the number of rows."""
        return self.datasets * self.epsilon_per_dataset + self.records_epsilon

    @property
    def _left_out(self) -> Epsilons:
        """What one record more or less can change; a dataset shows the number of rows too."""
        return self.epsilon_per_dataset + self.records_epsilon, self.epsilon_total

    @property
    def _replaced(self) -> Epsilons:
        """Twice what the draws cost: a term moves by epsilon, in both directions. n stays."""
        dataset = 2.0 * self.epsilon_per_dataset
        return dataset, self.datasets * dataset

    def caveats(self, *, exact: bool = False) -> list[Phrase]:
        strict = self.guarantee == "dp"
        above = self.target is not None and self.epsilon_per_dataset > self.target
        applies = {
            "leave-one-out": True,
            "estimated": not self.enforced,
            "enforced": self.enforced,
            "weights": self.data_weights,
            "prepared": self.prepared_from_data,
            "composition": True,
            "other-releases": True,
            "short-seed": self.short_seed,
            "rounded-figures": True,
            "figures": not self.enforced,
            "convergence": self.enforced and not strict,
            "converged": strict,
            "accepts-unconverged": self.accepts_unconverged,
            "domain": strict,
            "certified-for-replacement": strict and self.records == "exact",
            "certified-for-deletion": strict and self.records != "exact",
            "records": self.records == "exact",
            "public-records": self.records == "public",
            "noisy-records": self.records == "noisy",
            "growth": not self.enforced and self.growth > 0,
            "unchanged": bool(self.columns_released_unchanged),
            "kept-order": self.keep_order,
            "searched": self.searched,
            "confirmed": self.confirmed,
            "chosen": self.searched and not (self.confirmed or self.enforced),
            "unweighted": not (self.downweights or self.enforced),
            "unchecked-mechanism": "mechanism" in self.unchecked,
            "unchecked-model": "model" in self.unchecked,
            "above-target": above,
            "own-program": self.own_program == "own-program",
            "unchecked-program": self.own_program == "unchecked-program",
            "reads-outcome": self.reads_outcome,
            "threshold": self.threshold < 1.0 and not self.enforced,
            "rounded": self.rounded,
            "problems": bool(self.problems) and not self.enforced,
            "problems-of-draws": bool(self.problems) and self.enforced,
        }
        figures = {"problems": " ".join(self.problems)} if exact else {}
        values: dict[str, dict[str, Any]] = {
            "estimated": {"draws": self.draws},
            "threshold": {"threshold": self.threshold},
            "problems": figures,
            "problems-of-draws": figures,
        }
        left_out = {_UNCLAMPED} if self.enforced else set()
        return [
            *(Phrase(key, values.get(key, {})) for key, holds in applies.items() if holds),
            *self.mechanism_caveats,
            *(said for said in self.model_caveats if said.key not in left_out),
        ]

    def ledger(self) -> list[LedgerEntry]:
        made = Phrase("datasets", {"number": self.datasets})
        rows = [LedgerEntry(Phrase("rows"), self.records_epsilon)]
        return [
            *(LedgerEntry(use, None) for use in self.uses),
            LedgerEntry(made, self.datasets * self.epsilon_per_dataset),
            *(rows if self.records == "noisy" else []),
        ]

    def _trusted(self) -> list[str]:
        return [*TRUST, SEED_TRUST]

    def _certified(self, round_up: bool) -> dict[str, Any] | None:
        """For which neighbours a strict claim holds: an exact n shows that a record was left out.

        None where the claim is not strict.
        """
        if self.guarantee != "dp":
            return None
        if self.records == "exact":
            return certified("replace-one", self._replaced, round_up)
        return certified("leave-one-out", self._left_out, round_up)

    def _facts(self, round_up: bool) -> dict[str, Any]:
        def written(value: float) -> float | None:
            return figure(value, round_up)

        own = {"unchecked": list(self.unchecked), "mechanism_words": dict(self.mechanism_words)}
        return {
            **{name: said for name, said in own.items() if said},
            "reweighted": self.reweighted,
            "model": self.model,
            "guarantee": self.guarantee,
            "neighbours": "leave-one-out",
            "lipschitz_bound": written(self.lipschitz_bound),
            "bound_is": "enforced" if self.enforced else "estimated",
            "bound_growth_per_doubling": None if self.enforced else written(self.growth),
            "epsilon_target": self.target,
            "epsilon_per_dataset": written(self.epsilon_per_dataset),
            "epsilon_total": written(self.epsilon_total),
            "epsilon_by_neighbours": by_neighbours(self._left_out, self._replaced, round_up),
            "certified": self._certified(round_up),
            "number_of_rows": self.records,
            "draws": self.draws,
            "threshold": self.threshold,
        }
