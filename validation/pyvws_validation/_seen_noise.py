"""Losses of runs with secret noise: the noise is left out, and each run shows what was to get it.

The seam is the function that asks OpenDP for noise at a scale. Everything above it is the package's
own way: which numbers get noise, and how much of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Final
from unittest.mock import patch

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from pyvws._base.checks import Floats
from pyvws.evaluation.published_table import tabulate
from pyvws.mechanisms.censored import Censored
from pyvws.privacy import discrete_noise
from pyvws.release.synthesizer import synthesize
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._grid_engine import KnownDraws
from pyvws_validation._privacy_loss import Losses, Outcomes, Runs

_SEED: Final = 2**60 + 1
_MADE: Final = pl.DataFrame({"area": ["a", "b"], "y": [0.5, -0.5], "w": [1.0, 1.0]})
_HEAVIEST: Final = 4.0


@contextmanager
def seen_noise() -> Iterator[list[Floats]]:
    """Numbers over the scale of their noise, an array for each call; nothing gets any noise."""
    seen: list[Floats] = []

    def laplace(scale: float) -> Callable[[Any], Any]:
        def measured(values: ArrayLike) -> Any:
            seen.append(np.asarray(values, dtype=np.float64) / scale)
            return values

        return measured

    with patch.object(discrete_noise, "laplace", laplace):
        yield seen


class _Shown(Runs):
    """Runs whose result is all numbers that get noise, each over its scale."""

    def distance(self, first: Floats, other: Floats) -> float:
        """The loss of all of them together: the noise of each is independent."""
        return float(np.abs(first - other).sum()) if first.shape == other.shape else np.inf


@dataclass(frozen=True, kw_only=True)
class Tables(_Shown):
    """Tables of estimates with Laplace figures of five statistics; a record is (y, w).

    A record weighs w up to 4, or w / 2 where `exponents` of the datasets' fit stand in its place.
    With `each` above 1 it is a unit of as many equal records, without weights. The sign of y is its
    cell.
    """

    function: ClassVar[str] = "pyvws.evaluation.published_table:tabulate"
    each: int = 1
    exponents: bool = False

    def log_probabilities(self, outcomes: Outcomes, epsilon: float, losses: Losses) -> Floats:
        """Every sum that gets noise, over the scale of its noise."""
        y, w = np.repeat(np.array(outcomes, dtype=np.float64), self.each, axis=0).T
        area = np.where(y > 0.0, "a", "b")
        home = np.repeat(np.arange(len(outcomes)), self.each)
        with seen_noise() as seen:
            table = tabulate(
                [_MADE] * 2,
                by={"area": ["a", "b"]},
                count=True,
                total="y",
                mean="y",
                share={"area": ["a", "b"]},
                quantile={"y": [0.25, 0.5]},
                weights=None if self.each > 1 or self.exponents else "w",
                schema=self._schema(),
                original=pl.DataFrame({"area": area, "y": y, "w": w, "home": home}),
                epsilon=epsilon,
            )
        (claim,) = set(table.columns["epsilon_of_laplace"])
        losses.claims |= {"leave-one-out": claim, "replace-one": 2.0 * claim}
        losses.words.update(
            ("dp", neighbours) for neighbours in table.columns["neighbours_of_laplace"]
        )
        return np.concatenate(seen)

    def _schema(self) -> Schema:
        columns = {
            "area": Column(model="table", levels=("a", "b")),
            "y": Column(model="normal", range=(-1.0, 1.0)),
            "w": Column(role="drop", range=(0.0, _HEAVIEST)),
            "home": Column(role="id"),
        }
        given: dict[str, Any] = {}
        if self.each > 1:
            given = {
                "unit": "home",
                "members": {"sizes": [1, self.each], "summaries": {"n": "size"}},
            }
        elif self.exponents:
            given = {"survey_weight": "w", "mean_survey_weight": 2.0}
        return Schema(columns, **given)


@dataclass(frozen=True, kw_only=True)
class NoisyRows(_Shown):
    """Strict runs with a noisy number of rows; the claim is the ledger's for that number."""

    def log_probabilities(self, outcomes: Outcomes, epsilon: float, losses: Losses) -> Floats:
        """The number of records over the scale of its noise."""
        draws = np.zeros((4, 3))
        with seen_noise() as seen, warnings.catch_warnings(action="ignore"):
            release = synthesize(
                pl.DataFrame({"y": outcomes}, schema={"y": pl.Float64}),
                outcome="y",
                model="normal",
                mechanism=Censored(epsilon=1.0, weights="none"),
                engine=KnownDraws([draws]),
                draws=len(draws),
                chains=1,
                datasets=2,
                records="noisy",
                records_epsilon=epsilon,
                seed=_SEED,
            )
        (cost,) = (
            entry["epsilon"] for entry in release.privacy["ledger"] if entry["key"] == "rows"
        )
        certified = release.privacy["certified"] or {"neighbours": "none"}
        losses.claims |= {"leave-one-out": min(cost, epsilon), "replace-one": 0.0}
        losses.words.add((release.privacy["guarantee"], certified["neighbours"]))
        return np.concatenate(seen)
