"""The statements of releases from counts with noise: a histogram, or counts of sets of columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyvws._base.phrase import Phrase
from pyvws.privacy.seller import Spending
from pyvws.statement.parts import LedgerEntry, TableColumns, by_neighbours, figure
from pyvws.statement.statement import Statement
from pyvws.statement.words import forecast_words, with_conditions


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseStatement(Statement):
    """The facts of a release from counts with noise, which are bought once for all datasets.

    - `neighbours` {"replace", "loo"}: The neighbours that epsilon is for: one record or unit
      replaced, or one left out.
    """

    neighbours: str

    @property
    def claimed_for(self) -> str:
        return "replace-one" if self._replaces else "leave-one-out"

    @property
    def _replaces(self) -> bool:
        return self.neighbours == "replace"

    def _costs(self, left_out: float, replaced: float, round_up: bool) -> dict[str, Any]:
        """The entries on the claim, and on what one record left out or replaced costs."""
        if self.guarantee == "none":
            left_out = replaced = math.inf
        epsilon = self.epsilon_per_dataset
        return {
            "guarantee": self.guarantee,
            "neighbours": self.claimed_for,
            "epsilon_per_dataset": figure(epsilon, round_up),
            "epsilon_total": figure(epsilon, round_up),
            **self._delta,
            "epsilon_by_neighbours": by_neighbours((left_out,) * 2, (replaced,) * 2, round_up),
            "certified": self._certified((epsilon, epsilon), round_up),
        }

    @property
    def _delta(self) -> dict[str, float]:
        return {}


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


_OF_REFERENCE = ("counts-reference", "counts-reference-release")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyCountsStatement(NoiseStatement):
    """The facts of a release from noisy counts.

    - `spending`: What the counts may cost and did cost, once for all datasets; larger = less
      private. Its delta is 0 for pure differential privacy.
    - `paid`: What entries of the schema cost that were found under noise before: `digest`,
      `epsilon`, `delta` and `neighbours`, and `run`, the epsilon of the counts alone; empty without
      such a schema.
    - `together`: Epsilon of that schema and the counts together, not above their sum.
    - `records` {"noisy", "public", "exact"}: Where the number of imputed records comes from.
    - `columns`: The synthesized columns, in their order, and those that number the records.
    - `cap`: The most records of a unit that are counted.
    - `slots`: The slots that the one record of a unit has, where units are counted.
    - `noise` {"laplace", "gaussian"}: The kind of the discrete noise.
    - `model` {"classes", "conditionals"}: The model that is fitted to the counts.
    - `sets`, `cells`: Sets of columns, and cells that are counted in all of them. The fine cells of
      a number are a set, and so are the classes of how round it is.
    - `columns_of_chosen_cells`: The numbers whose cells were chosen from noisy counts of finer
      ones.
    - `conversion` {"", "privacy-loss", "zcdp", "normal"}: How (epsilon, delta) follows.
    - `public_seed`: The seed of all that follows the counts.
    - `deviation_of_records`: That of the noise of the number of records; 0 without noise.
    - `predicted`: The k-marginal scores that noisy counts and datasets predict of each of these, by
      the size of the sets of columns; empty where nothing tells them.
    - `kept`: The share of the counted pairs' dependence that the datasets keep; None where noise
      hides it.
    - `population`, `weights`: The noisy sum of survey weights, and what is public of the weights,
      where counts are sums of them. A row then has so many `parts` of the scale of noise.
    - `lost`: The columns of each set whose noisy counts the datasets do not hold.
    - `best_file`: Whether the dataset comes from a fit of the counts, and is no draw.
    - `pairs_not_counted`: The pairs of columns with more cells than a counted pair may have.
    - `reference`: What noisy counts and a public table say of each other, where one is a prior.
    - `totals`: The published totals that datasets meet, and how far they and noisy counts are off.
    - `why_auto`: What "auto" counts and why, where it was asked for.
    - `needs`: What analysts need, and whether it is met.
    """

    spending: Spending
    paid: Mapping[str, Any] = field(default_factory=dict)
    together: float = 0.0
    records: str
    columns: TableColumns
    cap: int
    slots: int | None = None
    noise: str
    model: str
    sets: int
    cells: int
    columns_of_chosen_cells: tuple[str, ...] = ()
    conversion: str
    public_seed: int
    deviation_of_records: float
    predicted: Mapping[str, float] = field(default_factory=dict)
    kept: float | None = None
    population: float | None = None
    weights: Mapping[str, Any] = field(default_factory=dict)
    parts: float = 1.0
    lost: tuple[tuple[str, ...], ...] = ()
    best_file: bool = False
    pairs_not_counted: tuple[str, ...] = ()
    reference: Mapping[str, Any] | None = None
    totals: Mapping[str, Any] | None = None
    why_auto: Phrase | None = None
    needs: tuple[Mapping[str, Any], ...] = ()

    @property
    def epsilon_per_dataset(self) -> float:
        """The cap of what was sold, together with what the schema cost; larger = less private."""
        return self.together if self.paid else self.spending.cap

    @property
    def delta(self) -> float:
        """0 for pure differential privacy."""
        return self.spending.delta + self.paid.get("delta", 0.0)

    @property
    def _delta(self) -> dict[str, float]:
        return {"delta": self.delta}

    @property
    def rho(self) -> float | None:
        """The zero-concentrated differential privacy of Gaussian noise; larger = less private.

        None for other noise, and beside a threshold on values, which fails with its delta.
        """
        if self.paid.get("delta"):
            return None
        prices = [float(one.price) for one in self.spending.measurements]
        return math.fsum(prices) if self.noise == "gaussian" else None

    @property
    def claim_made(self) -> str:
        """ "dp" or "approximate-dp"; "none" where the data had a part in the settings."""
        if self.compared or self.proposed:
            return "none"
        return "approximate-dp" if self.delta else "dp"

    @property
    def guarantee(self) -> str:
        """The word of the claim, also with the condition that others' weights are fixed."""
        claim, fixed = self.claim_made, bool(self.weights.get("calibrated"))
        return with_conditions(claim, signed=self._signed, fixed=fixed)

    @property
    def draws_released(self) -> int:
        """Each dataset is a draw of its own; all of them cost epsilon once."""
        return self.datasets

    def caveats(self, *, exact: bool = False) -> list[Phrase]:
        applies = {
            "counts-replaced": self._replaces,
            "counts-left-out": not self._replaces,
            "counts-once": not self.columns_of_chosen_cells,
            "counts-chosen": bool(self.columns_of_chosen_cells),
            "counts-delta": self.delta > 0.0,
            "counts-model": True,
            "counts-best-file": self.best_file,
            "counts-reference": self.reference is not None and not self.reference["is_release"],
            "counts-reference-release": bool(self.reference and self.reference["is_release"]),
            "counts-totals": self.totals is not None,
            "counts-lost": bool(self.lost),
            "counts-unknown": True,
            "counts-weights": bool(self.weights),
            "counts-weights-fixed": bool(self.weights.get("calibrated")),
            "counts-cap": self.unit is not None and self.slots is None,
            "counts-slots": self.slots is not None,
            "paid-schema": bool(self.paid),
            **self._other_releases,
            "public-settings": True,
            "records": self.records == "exact",
            "public-records": self.records == "public",
            "counts-records": self.records == "noisy",
            **self._of_proposal,
            "compared": self.compared,
        }
        values: dict[str, dict[str, Any]] = {
            "counts-cap": {"cap": self.cap, "column": self.unit},
            "counts-slots": {"slots": self.slots, "column": self.unit},
            "counts-delta": {"delta": self.delta},
            "counts-weights": dict(self.weights),
            "counts-weights-fixed": {"column": self.weights.get("column")},
            "paid-schema": dict(self.paid),
            "counts-chosen": {"columns": ", ".join(map(repr, self.columns_of_chosen_cells))},
            **{key: {"file": (self.reference or {}).get("file")} for key in _OF_REFERENCE},
            "counts-totals": dict(self.totals or {}),
            "counts-lost": {"sets": ", ".join(":".join(columns) for columns in self.lost)},
        }
        return [Phrase(key, values.get(key, {})) for key, holds in applies.items() if holds]

    def ledger(self) -> list[LedgerEntry]:
        public = {"counts-reference": self.reference, "counts-totals": self.totals}
        return [
            *([LedgerEntry(Phrase("proposed"), None)] if self.proposed else []),
            *([LedgerEntry(Phrase("schema"), self.paid["epsilon"])] if self.paid else []),
            LedgerEntry(Phrase("counts"), self.spending.cap),
            *(
                LedgerEntry(Phrase(key, {"file": own["file"]}), 0.0)
                for key, own in public.items()
                if own is not None
            ),
        ]

    def trusted(self) -> list[Phrase]:
        return [Phrase("agency"), Phrase("noise-computation"), Phrase("public-seed")]

    def _facts(self, round_up: bool) -> dict[str, Any]:
        # Of pure noise the other neighbours follow; of another delta no figure would be comparable.
        epsilon, chosen = self.epsilon_per_dataset, self.columns_of_chosen_cells
        other = math.inf if self.delta else epsilon * (0.5 if self._replaces else 2.0)
        both = (other, epsilon) if self._replaces else (epsilon, other)
        uncounted = self.pairs_not_counted
        return {
            **self._unit_column,
            **self.columns.written(round_up),
            "model": self.model,
            **self._costs(*both, round_up),
            "number_of_rows": self.records,
            **({} if self.population is None else {"population": self.population}),
            **({"paid_schema": dict(self.paid)} if self.paid else {}),
            "counts": {
                "sets": self.sets,
                "cells": self.cells,
                **({"columns_of_chosen_cells": list(chosen)} if chosen else {}),
                "noise": self.noise,
                "least_scale": min(x.scale for x in self.spending.measurements) / self.parts,
                "largest_scale": max(x.scale for x in self.spending.measurements) / self.parts,
                "deviation_of_records": self.deviation_of_records,
                **({"predicted": dict(self.predicted)} if self.predicted else {}),
                **({"kept_dependence": self.kept} if self.predicted else {}),
                "rho": self.rho,
                "conversion": self.conversion or None,
                "cap": self.cap,
                **({} if self.slots is None else {"slots": self.slots}),
                "public_seed": self.public_seed,
                **({"weights": dict(self.weights)} if self.weights else {}),
                "best_file" if self.best_file else "from_fits": True,
                **({"pairs_not_counted": list(uncounted)} if uncounted else {}),
                **({"reference": dict(self.reference)} if self.reference is not None else {}),
                **({"totals": dict(self.totals)} if self.totals is not None else {}),
                **({"auto": forecast_words(self.why_auto)} if self.why_auto else {}),
                **({"lost_sets": [*map(list, self.lost)]} if self.lost else {}),
                **({"needs": [*map(dict, self.needs)]} if self.needs else {}),
            },
        }
