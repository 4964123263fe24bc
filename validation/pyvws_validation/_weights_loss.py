"""The loss of one draw where a neighbour's run finds its own weights, by closed form.

A column without predictors has a Dirichlet pseudo posterior under family table, so the log ratio of
two runs' densities is known at any draw. No figure of a statement covers it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from string import ascii_letters
from typing import Any, Final

import numpy as np
import polars as pl
from scipy.special import gammaln

from pyvws._base.checks import Floats
from pyvws.models.conditional_table import ConditionalTable, weighted_counts
from pyvws.release.synthesizer import synthesize
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._measured_case import OF_TABLES, Findings, MeasuredRow, expected
from pyvws_validation.report import Measurement

_LEVELS: Final = tuple(ascii_letters)
SEED: Final = 2**60 + 1
_DRAWS: Final = 40_000
_APART: Final = 1.1
_ANY: Final = 1e6

LOSSES: Final = {1_000: (43.0, 59.0), 100_000: (4_248.0, 5_889.0)}
"""By the number of records, the losses in nats that the caveat on weights states."""
MOST_AT_PUBLIC_T: Final = 2.0
"""The loss in nats that 99 in 100 draws stay below, by the caveat on a public t."""
LEAST_OF_MANY: Final = 20.0
"""What 1 in 100 draws lose at least where a prior of 1 record has 50 levels, in nats."""
LEAST_OF_SEARCH: Final = {1_000: 10.0, 100_000: 300.0}
"""By the number of records, what half of the draws lose by the caveat on a searched t, in nats."""


def shapes(
    counts: tuple[int, ...], *, concentration: float | None = None, **settings: Any
) -> tuple[Floats, float]:
    """The Dirichlet shapes (L,) of a run on these counts, and its stated epsilon; LW by default."""
    levels, known = np.repeat(np.arange(len(counts)), counts), _LEVELS[: len(counts)]
    table, schema = table_of(counts, concentration)
    with expected(*OF_TABLES):
        release = synthesize(
            table, schema=schema, **{"mechanism": "lw", "datasets": 1, "seed": SEED, **settings}
        )
    weights = release.records["weight_final"].to_numpy()
    sums = weighted_counts(np.zeros(len(levels)), levels, weights, 1, len(known))[0]
    sums += ConditionalTable(known, concentration).prior_count
    return sums, release.privacy["epsilon_per_dataset"]


def table_of(
    counts: tuple[int, ...], concentration: float | None = None
) -> tuple[pl.DataFrame, Schema]:
    """A table of one column with these counts (L,) of its levels, and its schema."""
    levels = np.repeat(np.arange(len(counts)), counts)
    prior = {} if concentration is None else {"concentration": concentration}
    column = Column(model="table", levels=_LEVELS[: len(counts)], settings=prior)
    return pl.DataFrame({"y": np.array(_LEVELS)[levels].tolist()}), Schema({"y": column})


def loss(own: Floats, other: Floats, share: float = 0.5) -> float:
    """The log ratio of two Dirichlet densities below which a share of the first one's draws lie."""
    draws = np.log(np.random.default_rng(1).dirichlet(own, _DRAWS))
    ratio = draws @ (own - other) + _log_scale(own) - _log_scale(other)
    return float(np.quantile(ratio, share))


def _log_scale(shape: Floats) -> float:
    return float(gammaln(shape.sum()) - gammaln(shape).sum())


@dataclass(frozen=True, kw_only=True)
class WeightsLoss(MeasuredRow):
    """Losses of a level's only record, with weights found anew.

    The tables hold levels by `shares` with one record less of the last, and with or without one
    record of a further level. A loss that a share `of_draws` stay below lies in the two ranges
    `said`, by the number of records. With `above_stated` both exceed the epsilons that runs state.
    """

    outside: str = "Not what the caveat on weights says"
    source: str = "the caveat on weights"
    digits: str = ",.4g"
    settings: Mapping[str, Any] = field(default_factory=dict)
    shares: tuple[float, ...] = (0.5, 0.5)
    of_draws: float = 0.5
    said: Mapping[int, tuple[tuple[float, float], ...]]
    above_stated: bool = True

    def found(self) -> Findings:
        measured = []
        for n, ranges in self.said.items():
            first = [round(n * share) for share in self.shares]
            first[-1] -= 1
            one, epsilon_with = shapes((*first, 1), **self.settings)
            none, epsilon_without = shapes((*first, 0), **self.settings)
            found = loss(one, none, self.of_draws), loss(none, one, self.of_draws)
            last = _LEVELS[len(first)]
            words = f"with {last}", f"without {last}"
            measured += [
                Measurement(f"loss {word} at {n:,} records", lost, low, high)
                for word, lost, (low, high) in zip(words, found, ranges, strict=True)
            ]
            if self.above_stated:
                measured += [
                    Measurement(f"stated epsilon {word} at {n:,}", epsilon, 0.0, min(found))
                    for word, epsilon in zip(words, (epsilon_with, epsilon_without), strict=True)
                ]
        return Findings(tuple(measured))


AT_T: Final[dict[str, Any]] = {"mechanism": "inverse", "t": 2.0}
_FOUR: Final = (0.6, 0.3, 0.1)
_FIFTY: Final = (1 / 49,) * 49

WEIGHTS: Final = WeightsLoss(
    id="guarantee/weights-recomputed",
    paper="vws2024, Algorithm 1",
    said={n: ((a / _APART, a * _APART), (b / _APART, b * _APART)) for n, (a, b) in LOSSES.items()},
)
_LITTLE: Final = ((0.0, MOST_AT_PUBLIC_T),) * 2
_MUCH: Final = ((0.0, _ANY), (LEAST_OF_MANY, _ANY))
AT_PUBLIC_T: Final = tuple(
    WeightsLoss(
        id=f"guarantee/inverse-recomputed-{len(shares) + 1}-levels{'-thin-prior' * bool(prior)}",
        paper="vws2024, section 2.1, under a map of pyvws",
        settings=AT_T | prior,
        shares=shares,
        of_draws=0.99,
        said=dict.fromkeys(LOSSES, ranges),
        above_stated=False,
    )
    for shares, ranges, prior in (
        ((0.5, 0.5), _LITTLE, {}),
        (_FOUR, _LITTLE, {}),
        (_FIFTY, _LITTLE, {}),
        (_FIFTY, _MUCH, {"concentration": 1.0}),
    )
)
AT_SEARCHED_T: Final = WeightsLoss(
    id="guarantee/inverse-searched-recomputed",
    paper="vws2024, section 2.1, under a map of pyvws",
    settings={"mechanism": "inverse", "search_t": True, "epsilon": 4.0},
    shares=_FOUR,
    said={n: ((least, _ANY),) * 2 for n, least in LEAST_OF_SEARCH.items()},
)
