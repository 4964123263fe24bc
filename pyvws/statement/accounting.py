"""The privacy cost of a release, and the statement of this cost.

Every draw of the pseudo posterior that makes synthetic datasets costs epsilon_x = 2 Delta_{alpha,x}
under leave-one-out neighbours; d draws compose to d epsilon_x. Datasets of one draw are
post-processing of this draw, so m datasets from d draws cost d epsilon_x, however large m is. A run
estimates Delta on one database from finitely many draws, so the guarantee is asymptotic (Theorem 1
of [vws2024]). Where a mechanism clamps each term to a window that is epsilon wide, no draw exceeds
that: from -epsilon / 2 to epsilon / 2 [global2022], or from -epsilon to 0 (the deviance clamp).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.phrase import Phrase
from pyvws.statement.parts import (
    Epsilons,
    LedgerEntry,
    NumberOfRows,
    StatedBound,
    TableColumns,
    by_neighbours,
    figure,
)
from pyvws.statement.several_draws import total_epsilon
from pyvws.statement.statement import Statement
from pyvws.statement.words import EXACT_TRUST

DELTAS = (1e-6, 1e-9)
"""The public deltas at which a strict statement says what all draws cost together."""

_UNCLAMPED = "no-upper-limit"  # A family's caveat, which clamped terms make untrue.


def growth_per_doubling(by_draw: Floats) -> float:
    """How much the largest bound of S draws exceeds, on average, the largest of a random half.

    by_draw (S,) in nats; larger = the bound is less settled. Place j of the bounds, sorted
    downwards, is the half's largest with probability near 2^-(j + 1). Not finite if a bound is not.
    """
    falling = np.sort(by_draw)[::-1][:64]
    if not np.isfinite(falling[0]):
        return float(falling[0])
    shares = 0.5 ** np.arange(1, len(falling) + 1)
    return float(falling[0] - shares @ falling / shares.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyStatement(Statement):
    """The facts of a release from a pseudo posterior.

    - `model`: Name as on the command line; of a table, the names of its columns' families.
    - `claim` {"dp", "asymptotic-dp", "none"}: The strongest guarantee that the mechanism may claim.
    - `bound`, `rows`, `columns`: Parts of the statement; a run on one outcome has no columns.
    - `draws_per_release`: Posterior draws d that the datasets come from; one draw a dataset if
      None.
    - `delta`: The public delta that the settings name for a total of all draws.
    - `problems`: Sentences on convergence of the fit that made the datasets.
    - `uses`: Uses of the confidential data that epsilon does not account for, in their order.
    - `brought`: The caveats that the mechanism, the plan and the model's family add.
    """

    model: str
    claim: str = "dp"
    bound: StatedBound
    rows: NumberOfRows
    columns: TableColumns | None = None
    problems: tuple[str, ...] = ()
    uses: tuple[Phrase, ...] = ()
    draws_per_release: int | None = None
    delta: float | None = None
    brought: tuple[Phrase, ...] = ()

    @property
    def enforced(self) -> bool:
        """Whether the fit clamps each record's term to a window twice as wide as the bound."""
        return self.relies_on.clamp != ""

    @property
    def claim_made(self) -> str:
        """The claim of the release: "dp", "asymptotic-dp" or "none".

        It is never stronger than the mechanism's claim. It is "dp" where the fit clamps
        terms, neither weights nor terms depend on other records, settings were not compared on the
        table, mechanism, model and engine are the package's, no draw is of an approximation, and
        the settings do not accept chains that fail their diagnostics. It is "asymptotic-dp" for
        other weighted mechanisms at the full maximum, other censored mechanisms among them. It is
        "none" otherwise, as where the fit downweights no record, where the settings accept such
        chains, and where synthetic values depend on the data besides the posterior draw.
        """
        relied, bound = self.relies_on, self.bound
        given_up = self.claim == "none" or relied.reads_outcome or relied.accepts_unconverged
        if given_up or not np.isfinite(bound.lipschitz_bound):
            return "none"
        if self.enforced:
            from_data = relied.data_weights or relied.prepared_from_data or self.proposed
            if from_data or relied.unchecked or self.compared:
                return "asymptotic-dp"
            return "none" if relied.approximated else "dp"
        return "asymptotic-dp" if bound.downweights and bound.threshold == 1.0 else "none"

    @property
    def draws_released(self) -> int:
        return self.draws_per_release or self.datasets

    @property
    def epsilon_per_dataset(self) -> float:
        """epsilon_x = 2 Delta_{alpha,x}; larger = less private."""
        return 2.0 * self.bound.lipschitz_bound

    @property
    def aimed_epsilon(self) -> float:
        """The figure of a dataset that a search aimed at; larger = less private."""
        if self.bound.accounting == "papers" or self.bound.window is None:
            return self.epsilon_per_dataset
        return self.bound.window

    @property
    def epsilon_total(self) -> float:
        """draws_released x epsilon_per_dataset, plus records_epsilon and stage_epsilon."""
        return self._left_out[1]

    @property
    def _left_out(self) -> Epsilons:
        """Epsilons for one record more or less; a dataset shows the number of rows too.

        Every dataset depends on the draw that staged weights come from.
        """
        once = self.rows.records_epsilon + self.relies_on.stage_epsilon
        return self._composed(self.epsilon_per_dataset, once=once)

    @property
    def _replaced(self) -> Epsilons:
        """Twice the draws' epsilons: a term moves by epsilon in both directions. n stays."""
        stage = self.relies_on.stage_epsilon
        return self._composed(2.0 * self.epsilon_per_dataset, once=2.0 * stage)

    @property
    def _windows(self) -> tuple[Epsilons, Epsilons] | None:
        """The window's epsilons for one record more or less, and for one replaced.

        A replacement moves the terms of two records, so it costs two windows.
        """
        if self.bound.window is None:
            return None
        left_out = self._composed(self.bound.window, once=self.rows.records_epsilon)
        return left_out, self._composed(2.0 * self.bound.window)

    def _several_draws(self, epsilon: float, *, stage: float, noise: float) -> dict[str, Any]:
        """What all draws cost together under a strict claim: epsilon by delta, and in zCDP.

        The draws are of one fit, and each is of bounded range epsilon. A first stage and a noisy
        number of records are paid beside them, each by its own rule, and are no draws of this fit.
        """
        deltas = sorted({*DELTAS, float(self.delta or DELTAS[0])}, reverse=True)
        draws = self.draws_released
        return {
            "total_by_delta": {
                str(delta): total_epsilon(epsilon, draws, delta=delta) + stage + noise
                for delta in deltas
            },
            "total_zcdp": (draws * epsilon**2 + stage**2) / 8.0 + noise**2 / 2.0,
        }

    @property
    def _of_draws(self) -> dict[str, dict[str, Any]]:
        """The totals of several draws by neighbours; none without a strict claim."""
        if not self.strict:
            return {}
        epsilon, stage = self.epsilon_per_dataset, self.relies_on.stage_epsilon
        noise = self.rows.records_epsilon
        return {
            "leave-one-out": self._several_draws(epsilon, stage=stage, noise=noise),
            "replace-one": self._several_draws(2.0 * epsilon, stage=2.0 * stage, noise=0.0),
        }

    def caveats(self, *, exact: bool = False) -> list[Phrase]:
        figures = {"problems": " ".join(self.problems)} if exact else {}
        values: dict[str, dict[str, Any]] = {
            "units": {"column": self.unit},
            "estimated": {"draws": self.bound.draws},
            "threshold": {"threshold": self.bound.threshold},
            "problems": figures,
            "problems-of-draws": figures,
        }
        applies = self._of_claim | self._of_composition | self._of_rows | self._of_settings
        untrue = {_UNCLAMPED} if self.enforced else set()
        return [
            *(Phrase(key, values.get(key, {})) for key, holds in applies.items() if holds),
            *(phrase for phrase in self.brought if phrase.key not in untrue),
        ]

    @property
    def _of_claim(self) -> dict[str, bool]:
        """Which caveats on the claim and its figures hold."""
        relied = self.relies_on
        return {
            "weights": relied.data_weights,  # First: no figure of the statement covers them.
            "leave-one-out": self.unit is None,
            "units": self.unit is not None,
            "estimated": not self.enforced,
            "enforced": self.enforced and self.unit is None,
            "enforced-for-units": self.enforced and self.unit is not None,
            "as-if-exact": self.enforced and not relied.exact_draws,
            "exact-draws": self.enforced and relied.exact_draws,
            "approximated": relied.approximated,
            "public-settings": self.strict,
            "window": self.bound.window is not None,
            "prepared": relied.prepared_from_data,
            **self._of_proposal,
        }

    @property
    def _of_composition(self) -> dict[str, bool]:
        """Which caveats on several draws and releases, seeds, chains and neighbours hold."""
        relied, rows = self.relies_on, self.rows
        strict, fewer = self.strict, self._draws_are_fewer
        return {
            "compared": self.compared,
            "composition": not any(fewer.values()),
            "composition-of-draws": any(fewer.values()),
            "several-draws": strict,
            **fewer,
            **self._other_releases,
            "short-seed": relied.short_seed and not relied.exact_draws,
            "short-seed-of-rows": relied.short_seed and relied.exact_draws,
            "rounded-figures": True,
            "figures": not self.enforced,
            "convergence": self.enforced and not (strict or relied.exact_draws),
            "converged": strict and not relied.exact_draws,
            "accepts-unconverged": relied.accepts_unconverged,
            "domain": strict,
            "certified-for-replacement": strict and rows.records == "exact",
            "certified-for-deletion": strict and rows.records != "exact",
        }

    @property
    def _of_rows(self) -> dict[str, bool]:
        """Which caveats on records and columns that a reader sees hold."""
        return {
            **self.rows.caveats(),
            "growth": not self.enforced and self.bound.growth > 0,
            "unchanged": bool(self.columns_released_unchanged),
            "kept-order": self.keep_order,
            "systematic": self.relies_on.public_settings.get("sampling") == "systematic",
        }

    @property
    def _of_settings(self) -> dict[str, bool]:
        """Which caveats on searches, own parts and settings hold."""
        relied, bound = self.relies_on, self.bound
        above = bound.target is not None and self.aimed_epsilon > bound.target
        return {
            "searched": bound.searched,
            "confirmed": bound.confirmed,
            "chosen": bound.searched and not (bound.confirmed or self.enforced),
            "unweighted": not (bound.downweights or self.enforced),
            "unchecked-mechanism": "mechanism" in relied.unchecked,
            "unchecked-model": "model" in relied.unchecked,
            "unchecked-engine": "engine" in relied.unchecked,
            "above-target": above,
            **dict.fromkeys(bound.of_search, True),
            "own-program": relied.own_program == "own-program",
            "unchecked-program": relied.own_program == "unchecked-program",
            "reads-outcome": relied.reads_outcome,
            "threshold": bound.threshold < 1.0 and not self.enforced,
            "rounded": self.rounded,
            "problems": bool(self.problems) and not self.enforced,
            "problems-of-draws": bool(self.problems) and self.enforced,
        }

    def ledger(self) -> list[LedgerEntry]:
        values = {"number": self.datasets}
        phrase = Phrase("datasets", values)
        if self.draws_released == 1 < self.datasets:
            phrase = Phrase("datasets-of-draw", values)
        elif self.draws_released < self.datasets:
            phrase = Phrase("datasets-of-draws", {**values, "draws": self.draws_released})
        weights = {
            "reference": [LedgerEntry(Phrase("reference-fit"), 0.0)],
            "staged": [LedgerEntry(Phrase("first-stage"), self.relies_on.stage_epsilon)],
        }
        return [
            *([LedgerEntry(Phrase("proposed"), None)] if self.proposed else []),
            *([LedgerEntry(Phrase("shift"), None)] if "shift" in self.bound.of_search else []),
            *(LedgerEntry(use, None) for use in self.uses),
            *weights.get(self.relies_on.weights_source, []),
            LedgerEntry(phrase, self._composed(self.epsilon_per_dataset)[1]),
            *self.rows.ledger(),
        ]

    def trusted(self) -> list[Phrase]:
        """What a reader must trust; of exact draws other sentences are true."""
        others = EXACT_TRUST if self.relies_on.exact_draws else {}
        return [Phrase(others.get(phrase.key, phrase.key)) for phrase in Statement.trusted(self)]

    @property
    def claimed_for(self) -> str:
        """An exact n shows that a record was left out."""
        return "replace-one" if self.strict and self.rows.records == "exact" else "leave-one-out"

    def _facts(self, round_up: bool) -> dict[str, Any]:
        written = partial(figure, round_up=round_up)
        of_draws, together = self._of_draws, {}
        for figures in of_draws.values():
            by_delta = figures["total_by_delta"]
            figures["total_by_delta"] = {at: written(total) for at, total in by_delta.items()}
        if of_draws:
            left_out = of_draws["leave-one-out"]
            together = {"epsilon_total_by_delta": left_out["total_by_delta"]}
        claimed = self._replaced if self.claimed_for == "replace-one" else self._left_out
        both = by_neighbours(self._left_out, self._replaced, round_up, windows=self._windows)
        window, bound = {}, self.bound
        if bound.window is not None:
            of_window = written(bound.window)
            window = {"epsilon_of_window": of_window, "accounting": bound.accounting}
        return {
            **self.relies_on.own_parts,
            **self._unit_column,
            **({} if self.columns is None else self.columns.written(round_up)),
            "reweighted": bound.reweighted,
            "model": self.model,
            "guarantee": self.guarantee,
            "neighbours": "leave-one-out",
            **bound.written(self.enforced, round_up),
            "epsilon_target": bound.target,
            "epsilon_per_dataset": written(self.epsilon_per_dataset),
            **window,
            "epsilon_total": written(self.epsilon_total),
            **together,
            "epsilon_by_neighbours": {
                name: {**figures, **of_draws.get(name, {})} for name, figures in both.items()
            },
            "certified": self._certified(claimed, round_up),
            **self.rows.written(),
            "draws": bound.draws,
            "threshold": bound.threshold,
        }
