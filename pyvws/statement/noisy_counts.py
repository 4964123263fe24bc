"""The statement of a release from noisy counts of sets of columns [canonne2020]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pyvws._base.phrase import Phrase
from pyvws.privacy.seller import Spending
from pyvws.statement.ledger import LedgerEntry
from pyvws.statement.parts import TableColumns
from pyvws.statement.statement import NoiseStatement


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyCountsStatement(NoiseStatement):
    """The facts of a release from noisy counts.

    - `spending`: What the counts may cost and did cost, once for all datasets; larger = less
      private. Its delta is 0 for pure differential privacy.
    - `records` {"noisy", "public", "exact"}: Where the number of imputed records comes from.
    - `columns`: The synthesized columns, in their order, and those that number the records.
    - `cap`: The most records of a unit that are counted.
    - `noise` {"laplace", "gaussian"}: The kind of the discrete noise.
    - `model` {"classes", "conditionals"}: The model whose posterior gives the imputed records.
    - `sets`, `cells`: Sets of columns, and cells that are counted in all of them. The fine cells of
      a number are a set, and so are the classes of how round it is.
    - `columns_of_chosen_cells`: The numbers whose cells were chosen from noisy counts of finer
      ones.
    - `conversion` {"", "privacy-loss", "zcdp"}: How (epsilon, delta) follows from the noise.
    - `public_seed`: The seed of all that follows the counts.
    - `apart`: The share of counted sets for which the chains disagree, where that is said.
    """

    spending: Spending
    records: str
    columns: TableColumns
    cap: int
    noise: str
    model: str
    sets: int
    cells: int
    columns_of_chosen_cells: tuple[str, ...] = ()
    conversion: str
    public_seed: int
    apart: float | None = None

    @property
    def epsilon_per_dataset(self) -> float:
        """The cap of what was sold, once for all datasets; larger = less private."""
        return self.spending.cap

    @property
    def delta(self) -> float:
        """0 for pure differential privacy."""
        return self.spending.delta

    @property
    def _delta(self) -> dict[str, float]:
        return {"delta": self.delta}

    @property
    def rho(self) -> float | None:
        """The zero-concentrated differential privacy of Gaussian noise; larger = less private."""
        prices = [float(one.price) for one in self.spending.measurements]
        return math.fsum(prices) if self.noise == "gaussian" else None

    @property
    def claim_made(self) -> str:
        """ "dp" or "approximate-dp"; "none" where the data had a part in the settings."""
        if self.compared or self.proposed:
            return "none"
        return "approximate-dp" if self.delta else "dp"

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
            "counts-chains": self.apart is not None,
            "counts-unknown": True,
            "counts-cap": self.unit is not None,
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
            "counts-delta": {"delta": self.delta},
            "counts-chosen": {"columns": ", ".join(map(repr, self.columns_of_chosen_cells))},
            "counts-chains": {"share": self.apart},
        }
        return [Phrase(key, values.get(key, {})) for key, holds in applies.items() if holds]

    def ledger(self) -> list[LedgerEntry]:
        return [
            *([LedgerEntry(Phrase("proposed"), None)] if self.proposed else []),
            LedgerEntry(Phrase("counts"), self.epsilon_per_dataset),
        ]

    def trusted(self) -> list[Phrase]:
        return [Phrase("agency"), Phrase("noise-computation"), Phrase("public-seed")]

    def _facts(self, round_up: bool) -> dict[str, Any]:
        # Of pure noise the other neighbours follow; of another delta no figure would be comparable.
        epsilon, chosen = self.epsilon_per_dataset, self.columns_of_chosen_cells
        other = math.inf if self.delta else epsilon * (0.5 if self._replaces else 2.0)
        both = (other, epsilon) if self._replaces else (epsilon, other)
        return {
            **self._unit_column,
            **self.columns.written(round_up),
            "model": self.model,
            **self._costs(*both, round_up),
            "number_of_rows": self.records,
            "counts": {
                "sets": self.sets,
                "cells": self.cells,
                **({"columns_of_chosen_cells": list(chosen)} if chosen else {}),
                "noise": self.noise,
                "least_scale": min(one.scale for one in self.spending.measurements),
                "largest_scale": max(one.scale for one in self.spending.measurements),
                "rho": self.rho,
                "conversion": self.conversion or None,
                "cap": self.cap,
                "public_seed": self.public_seed,
            },
        }
