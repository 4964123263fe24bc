"""The loss of one draw where a neighbour's run finds its own weights, by closed form.

A column without predictors has a Dirichlet pseudo posterior under family table, so the log ratio of
two runs' densities is known at any draw. No figure of a statement covers it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from scipy.special import gammaln

from pyvws._base.checks import Floats
from pyvws.models.conditional_table import ConditionalTable, weighted_counts
from pyvws.release.synthesize import synthesize
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._measured_case import OF_TABLES, Findings, MeasuredRow, expected
from pyvws_validation.report import Measurement

_LEVELS: Final = ("a", "b", "c")
_SEED: Final = 2**60 + 1
_DRAWS: Final = 40_000
_APART: Final = 1.1

LOSSES: Final = {1_000: (43.0, 59.0), 10_000: (425.0, 589.0), 100_000: (4_248.0, 5_889.0)}
"""By the number of records, the losses in nats that the caveat on weights states."""


def shapes(counts: tuple[int, ...]) -> tuple[Floats, float]:
    """The Dirichlet shapes (L,) of a default LW run on these counts, and its stated epsilon."""
    levels = np.repeat(np.arange(len(counts)), counts)
    outcome = np.array(_LEVELS)[levels].tolist()
    with expected(*OF_TABLES):
        release = synthesize(
            pl.DataFrame({"y": outcome}),
            schema=Schema({"y": Column(model="table", levels=_LEVELS)}),
            mechanism="lw",
            datasets=1,
            seed=_SEED,
        )
    weights = release.records["weight_final"].to_numpy()
    sums = weighted_counts(np.zeros(len(levels)), levels, weights, 1, len(_LEVELS))[0]
    prior = ConditionalTable(levels=_LEVELS).concentration / len(_LEVELS)
    return prior + sums, release.privacy["epsilon_per_dataset"]


def median_loss(own: Floats, other: Floats) -> float:
    """The median log ratio of two Dirichlet densities over draws of the first, in nats."""
    draws = np.log(np.random.default_rng(1).dirichlet(own, _DRAWS))
    ratio = draws @ (own - other) + _log_scale(own) - _log_scale(other)
    return float(np.median(ratio))


def _log_scale(shape: Floats) -> float:
    return float(gammaln(shape.sum()) - gammaln(shape).sum())


@dataclass(frozen=True, kw_only=True)
class WeightsLoss(MeasuredRow):
    """Losses of a level's only record under LW's defaults, with weights found anew.

    The tables hold n/2 records a, n/2 - 1 records b, and with or without one record c.
    """

    outside: str = "Not what the caveat on weights says"
    source: str = "the caveat on weights"
    digits: str = ",.4g"

    def found(self) -> Findings:
        measured = []
        for n, stated in LOSSES.items():
            one, epsilon_with = shapes((n // 2, n // 2 - 1, 1))
            none, epsilon_without = shapes((n // 2, n // 2 - 1, 0))
            found = median_loss(one, none), median_loss(none, one)
            words = "with c", "without c"
            measured += [
                Measurement(f"loss {word} at {n:,} records", loss, said / _APART, said * _APART)
                for word, loss, said in zip(words, found, stated, strict=True)
            ]
            epsilons = epsilon_with, epsilon_without
            measured += [
                Measurement(f"stated epsilon {word} at {n:,}", epsilon, 0.0, min(stated))
                for word, epsilon in zip(words, epsilons, strict=True)
            ]
        return Findings(tuple(measured))


WEIGHTS: Final = WeightsLoss(id="guarantee/weights-recomputed", paper="vws2024, Algorithm 1")
