"""The privacy cost of a release, and the statement of this cost.

Every draw of the pseudo posterior that makes synthetic datasets costs epsilon_x = 2 Delta_{alpha,x}
under leave-one-out neighbours; d draws compose to d epsilon_x. Datasets of one draw are
post-processing of this draw, so m datasets from d draws cost d epsilon_x, however large m is. A run
estimates Delta on one database from finitely many draws, so the guarantee is asymptotic (Theorem 1
of [vws2024]). Where a mechanism clamps each term to a window that is epsilon wide, no draw exceeds
that: from -epsilon / 2 to epsilon / 2 [global2022], or from -epsilon to 0 (the deviance clamp).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.phrase import Phrase
from pyvws.statement.ledger import (
    ColumnCost,
    Epsilons,
    LedgerEntry,
    by_neighbours,
    certified,
    figure,
)
from pyvws.statement.relied_on import ReliesOn
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
    - `columns`: The conditionals of a table's columns, in their order; empty for a run on one
      outcome.
    - `columns_synthesized`: The columns of a table that are synthesized together; some are several
      conditionals or none.
    - `columns_numbered`: The columns of a table that number the synthetic records, in the place of
      ids.
    - `members`: Whether whole units are drawn; the number of rows below is then that of units.
    - `claim` {"dp", "asymptotic-dp", "none"}: The strongest guarantee that the mechanism may claim.
    - `unchecked` {"mechanism", "model", "engine"}: The parts that are the agency's own. The package
      checks no claim of these parts.
    - `mechanism_words`: Title and explanation of a mechanism of the agency's own; empty for the
      package's own.
    - `reweighted`, `searched`: Whether Algorithm 3 ran, and whether the run searched a constant
      over refits.
    - `of_search`: Keys of caveats on the choice of constants: "shift", "room" and
      "reweighted-below".
    - `lipschitz_bound`: Delta_{alpha,x} of the fit that made the datasets, in nats; larger = less
      private. For a censored fit, the bound that the fit enforces.
    - `enforced`, `data_weights`, `prepared_from_data`: Whether the fit clamps each record's term to
      a window twice as wide as the bound, whether weights come from the data, and whether the
      model's levels come from the data.
    - `downweights`: Whether any weight of the fit that made the datasets is below 1.
    - `confirmed`: Whether the bound is the larger of two: a fit's, and that of a longer fit under
      the same weights, whose draws no search or truncation has seen.
    - `window`: max_i w_i of that fit: what one of its draws costs under leave-one-out with the
      weights held fixed. None where no term is known to be a log probability.
    - `accounting` {"papers", "window"}: Whether a search aimed at 2 Delta or at the window's
      figure.
    - `target`: The epsilon that the settings ask for.
    - `delta`: The public delta that the settings name for a total of all draws.
    - `growth`: How much the bound rises when the number of draws doubles, in nats.
    - `draws`: Posterior draws S behind the bound.
    - `draws_per_release`: Posterior draws d that the datasets come from; one draw a dataset if
      None.
    - `threshold`: Quantile of the draws' maxima that the bound takes; 1 = the maximum.
    - `reads_outcome`: Whether a synthetic value depends on the record's own outcome besides the
      draw.
    - `mechanism_caveats`, `model_caveats`: The caveats that the mechanism and the model's family
      add.
    - `own_program` {"", "own-program", "unchecked-program"}: Whether the model is a Stan program of
      the agency's own, and whether the engine compared the program's log_lik with its target.
    - `problems`: Sentences on convergence of the fit that made the datasets.
    - `short_seed`: Whether an intruder can find the seed by trying all seeds that are as small.
    - `uses`: Uses of the confidential data that epsilon does not account for, in their order.
    - `accepts_unconverged`: Whether the settings accept chains that fail their diagnostics, which
      gives up "dp".
    - `records` {"exact", "public", "noisy"}: Where the number of rows comes from: the table, the
      settings, or the table with noise.
    - `records_epsilon`: The epsilon of a noisy number of rows, once for all datasets; 0 otherwise.
    - `weights_source` {"none", "public", "reference", "staged", "table"}: Where the weights come
      from: nowhere (all are 1), a public column, a fit to public records, one draw of an earlier
      clamped fit, or the whole confidential table.
    - `stage_epsilon`: The epsilon of the draw that staged weights come from, once for all datasets;
      0 otherwise.
    - `clamp` {"deviance", "half"}: The kind of the clamp of an enforced bound.
    - `engine`: Name of the engine that drew.
    - `exact_draws`: Whether the engine draws from the clamped target itself, without a chain.
    - `approximated`: Whether any draws are resampled from an approximation, which is never "dp".
    """

    model: str
    reweighted: bool
    searched: bool
    lipschitz_bound: float
    columns: tuple[ColumnCost, ...] = ()
    columns_synthesized: tuple[str, ...] = ()
    columns_numbered: tuple[str, ...] = ()
    members: bool = False
    of_search: tuple[str, ...] = ()
    claim: str = "dp"
    unchecked: tuple[str, ...] = ()
    mechanism_words: Mapping[str, str] = field(default_factory=dict)
    enforced: bool = False
    data_weights: bool = True
    prepared_from_data: bool = False
    downweights: bool = True
    confirmed: bool = False
    window: float | None = None
    accounting: str = "papers"
    target: float | None = None
    delta: float | None = None
    growth: float = 0.0
    draws: int
    draws_per_release: int | None = None
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
    weights_source: str = "table"
    stage_epsilon: float = 0.0
    clamp: str = "half"
    engine: str = "native"
    exact_draws: bool = False
    approximated: bool = False

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
        given_up = self.claim == "none" or self.reads_outcome or self.accepts_unconverged
        if given_up or not np.isfinite(self.lipschitz_bound):
            return "none"
        if self.enforced:
            from_data = self.data_weights or self.prepared_from_data or self.proposed
            if from_data or self.unchecked or self.compared:
                return "asymptotic-dp"
            return "none" if self.approximated else "dp"
        return "asymptotic-dp" if self.downweights and self.threshold == 1.0 else "none"

    @property
    def draws_released(self) -> int:
        return self.draws_per_release or self.datasets

    @property
    def epsilon_per_dataset(self) -> float:
        """epsilon_x = 2 Delta_{alpha,x}; larger = less private."""
        return 2.0 * self.lipschitz_bound

    @property
    def aimed_epsilon(self) -> float:
        """The figure of a dataset that a search aimed at; larger = less private."""
        if self.accounting == "papers" or self.window is None:
            return self.epsilon_per_dataset
        return self.window

    @property
    def epsilon_total(self) -> float:
        """draws_released x epsilon_per_dataset, plus records_epsilon and stage_epsilon."""
        return self._left_out[1]

    @property
    def _left_out(self) -> Epsilons:
        """Epsilons for one record more or less; a dataset shows the number of rows too.

        Every dataset depends on the draw that staged weights come from.
        """
        once = self.records_epsilon + self.stage_epsilon
        return self._composed(self.epsilon_per_dataset, once=once)

    @property
    def _replaced(self) -> Epsilons:
        """Twice the draws' epsilons: a term moves by epsilon in both directions. n stays."""
        return self._composed(2.0 * self.epsilon_per_dataset, once=2.0 * self.stage_epsilon)

    @property
    def _windows(self) -> tuple[Epsilons, Epsilons] | None:
        """The window's epsilons for one record more or less, and for one replaced.

        A replacement moves the terms of two records, so it costs two windows.
        """
        if self.window is None:
            return None
        left_out = self._composed(self.window, once=self.records_epsilon)
        return left_out, self._composed(2.0 * self.window)

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
        epsilon, stage = self.epsilon_per_dataset, self.stage_epsilon
        return {
            "leave-one-out": self._several_draws(epsilon, stage=stage, noise=self.records_epsilon),
            "replace-one": self._several_draws(2.0 * epsilon, stage=2.0 * stage, noise=0.0),
        }

    def caveats(self, *, exact: bool = False) -> list[Phrase]:
        figures = {"problems": " ".join(self.problems)} if exact else {}
        values: dict[str, dict[str, Any]] = {
            "units": {"column": self.unit},
            "estimated": {"draws": self.draws},
            "threshold": {"threshold": self.threshold},
            "problems": figures,
            "problems-of-draws": figures,
        }
        applies = self._of_claim | self._of_composition | self._of_rows | self._of_settings
        left_out = {_UNCLAMPED} if self.enforced else set()
        return [
            *(Phrase(key, values.get(key, {})) for key, holds in applies.items() if holds),
            *self.mechanism_caveats,
            *(phrase for phrase in self.model_caveats if phrase.key not in left_out),
        ]

    @property
    def _of_claim(self) -> dict[str, bool]:
        """Which caveats on the claim and its figures hold."""
        return {
            "weights": self.data_weights,  # First: no figure of the statement covers them.
            "leave-one-out": self.unit is None,
            "units": self.unit is not None,
            "estimated": not self.enforced,
            "enforced": self.enforced and self.unit is None,
            "enforced-for-units": self.enforced and self.unit is not None,
            "as-if-exact": self.enforced and not self.exact_draws,
            "exact-draws": self.enforced and self.exact_draws,
            "approximated": self.approximated,
            "public-settings": self.strict,
            "window": self.window is not None,
            "prepared": self.prepared_from_data,
            **self._of_proposal,
        }

    @property
    def _of_composition(self) -> dict[str, bool]:
        """Which caveats on several draws and releases, seeds, chains and neighbours hold."""
        strict, fewer = self.strict, self._draws_are_fewer
        return {
            "compared": self.compared,
            "composition": not any(fewer.values()),
            "composition-of-draws": any(fewer.values()),
            "several-draws": strict,
            **fewer,
            **self._other_releases,
            "short-seed": self.short_seed and not self.exact_draws,
            "short-seed-of-rows": self.short_seed and self.exact_draws,
            "rounded-figures": True,
            "figures": not self.enforced,
            "convergence": self.enforced and not (strict or self.exact_draws),
            "converged": strict and not self.exact_draws,
            "accepts-unconverged": self.accepts_unconverged,
            "domain": strict,
            "certified-for-replacement": strict and self.records == "exact",
            "certified-for-deletion": strict and self.records != "exact",
        }

    @property
    def _of_rows(self) -> dict[str, bool]:
        """Which caveats on records and columns that a reader sees hold."""
        counted = "units" if self.members else "records"
        return {
            "number-of-units" if self.members else "records": self.records == "exact",
            f"public-{counted}": self.records == "public",
            f"noisy-{counted}": self.records == "noisy",
            "growth": not self.enforced and self.growth > 0,
            "unchanged": bool(self.columns_released_unchanged),
            "kept-order": self.keep_order,
            "systematic": self.public_settings.get("sampling") == "systematic",
        }

    @property
    def _of_settings(self) -> dict[str, bool]:
        """Which caveats on searches, own parts and settings hold."""
        above = self.target is not None and self.aimed_epsilon > self.target
        return {
            "searched": self.searched,
            "confirmed": self.confirmed,
            "chosen": self.searched and not (self.confirmed or self.enforced),
            "unweighted": not (self.downweights or self.enforced),
            "unchecked-mechanism": "mechanism" in self.unchecked,
            "unchecked-model": "model" in self.unchecked,
            "unchecked-engine": "engine" in self.unchecked,
            "above-target": above,
            **dict.fromkeys(self.of_search, True),
            "own-program": self.own_program == "own-program",
            "unchecked-program": self.own_program == "unchecked-program",
            "reads-outcome": self.reads_outcome,
            "threshold": self.threshold < 1.0 and not self.enforced,
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
        rows = [LedgerEntry(Phrase("units" if self.members else "rows"), self.records_epsilon)]
        weights = {
            "reference": [LedgerEntry(Phrase("reference-fit"), 0.0)],
            "staged": [LedgerEntry(Phrase("first-stage"), self.stage_epsilon)],
        }
        return [
            *([LedgerEntry(Phrase("proposed"), None)] if self.proposed else []),
            *([LedgerEntry(Phrase("shift"), None)] if "shift" in self.of_search else []),
            *(LedgerEntry(use, None) for use in self.uses),
            *weights.get(self.weights_source, []),
            LedgerEntry(phrase, self._composed(self.epsilon_per_dataset)[1]),
            *(rows if self.records == "noisy" else []),
        ]

    def trusted(self) -> list[Phrase]:
        """What a reader must trust; of exact draws other sentences are true."""
        others = EXACT_TRUST if self.exact_draws else {}
        return [Phrase(others.get(phrase.key, phrase.key)) for phrase in Statement.trusted(self)]

    @property
    def _claimed(self) -> str:
        """The neighbours of a strict claim, else those of the figures."""
        return "replace-one" if self.strict and self.records == "exact" else "leave-one-out"

    def relies_on(self) -> ReliesOn:
        return ReliesOn(
            neighbours=self._claimed,
            clamp=self.clamp if self.enforced else "",
            epsilon=self.epsilon_per_dataset,
            weights_source="table" if self.data_weights else self.weights_source,
            stage_epsilon=self.stage_epsilon,
            engine=self.engine,
            exact_draws=self.exact_draws,
            approximated=self.approximated,
            public_settings=self.public_settings,
        )

    def _certified(self, round_up: bool) -> dict[str, Any] | None:
        """The neighbours of a strict claim: an exact n shows that a record was left out.

        None where the claim is not strict.
        """
        if not self.strict:
            return None
        figures = self._replaced if self._claimed == "replace-one" else self._left_out
        return certified(self._claimed, figures, round_up)

    def _facts(self, round_up: bool) -> dict[str, Any]:
        def written(value: float) -> float | None:
            return figure(value, round_up)

        own = {"unchecked": list(self.unchecked), "mechanism_words": dict(self.mechanism_words)}
        table = {}
        if self.columns:
            table = {
                "columns_synthesized": list(self.columns_synthesized),
                **(
                    {"columns_numbered": list(self.columns_numbered)}
                    if self.columns_numbered
                    else {}
                ),
                "columns": [column.written(round_up) for column in self.columns],
                "epsilon_of_separate_runs": written(sum(column.epsilon for column in self.columns)),
            }
        of_draws = {
            name: {
                "total_by_delta": {
                    at: written(total) for at, total in figures["total_by_delta"].items()
                },
                "total_zcdp": figures["total_zcdp"],
            }
            for name, figures in self._of_draws.items()
        }
        together = {}
        if of_draws:
            left_out = of_draws["leave-one-out"]
            together = {"epsilon_total_by_delta": left_out["total_by_delta"]}
        both = by_neighbours(self._left_out, self._replaced, round_up, windows=self._windows)
        window = {}
        if self.window is not None:
            window = {"epsilon_of_window": written(self.window), "accounting": self.accounting}
        return {
            **{name: value for name, value in own.items() if value},
            **({"unit_column": self.unit} if self.unit is not None else {}),
            **table,
            "reweighted": self.reweighted,
            "model": self.model,
            "guarantee": self.guarantee,
            "neighbours": "leave-one-out",
            "lipschitz_bound": written(self.lipschitz_bound),
            "bound_is": "enforced" if self.enforced else "estimated",
            "bound_growth_per_doubling": None if self.enforced else written(self.growth),
            "epsilon_target": self.target,
            "epsilon_per_dataset": written(self.epsilon_per_dataset),
            **window,
            "epsilon_total": written(self.epsilon_total),
            **together,
            "epsilon_by_neighbours": {
                name: {**figures, **of_draws.get(name, {})} for name, figures in both.items()
            },
            "certified": self._certified(round_up),
            "number_of_rows": self.records,
            "draws": self.draws,
            "threshold": self.threshold,
        }
