"""Claims of noisy counts: losses of whole runs, the conversion to (epsilon, delta), and the noise.

The losses are of all small tables and of all neighbours of these tables. The conversions are held
against plain sums of probabilities. Runs of one public seed have to differ, as no seed may bring
the noise back.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.privacy.discrete_noise import composed_delta, delta_of_rho
from pyvws.release.release import Release
from pyvws.release.synthesizer import synthesize
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.members import Members
from pyvws.tables.schema.schema import Schema
from pyvws_validation._counted_losses import (
    COLUMNS,
    DELTA,
    IN_GROUPS,
    IN_NUMBERS,
    IN_ORDER,
    OF_GROUPS,
    OF_NUMBERS,
    OF_ORDER,
    OF_TABLES,
    OF_WEIGHTS,
    RECORDS,
    WEIGHED,
    CountedRuns,
    gaussian_loss,
    hockey_stick,
    loss_distribution,
)
from pyvws_validation._measured_case import Findings, MeasuredRow
from pyvws_validation._paid_losses import paid_losses
from pyvws_validation._privacy_loss import RELATIONS, Word, word
from pyvws_validation.cases.guarantee import ComputedLoss, SampledLoss
from pyvws_validation.cases.noise import DrawnNoise
from pyvws_validation.report import Measurement

_PAPER: Final = "canonne2020, theorem 7"
_SEED: Final = 2**60 + 1
_TESTED: Final = 2.0
_NEARLY: Final = 0.985

TABLES: Final = tuple(
    table for size in range(3) for table in combinations_with_replacement(RECORDS, size)
)
"""All tables of up to two of the records: the neighbours have one more."""

UNITS: Final[tuple[Any, ...]] = (
    RECORDS[:1],
    RECORDS[1:2] * 4,
    (RECORDS[1], RECORDS[0], RECORDS[2], RECORDS[2]),
    (RECORDS[4], RECORDS[4], RECORDS[2], RECORDS[3]),
)
"""Units of one record and of more than the cap."""

SLOTS: Final = Members(sizes=(1, 2), of_unit=("sex",), summaries={"persons": "size"})
"""Units of two slots, whose rows may differ in a column of the unit, and may be more."""

OF_WAVES: Final = {
    "sex": COLUMNS["sex"],
    "job": Column(model="nominal", levels=("1", "2")),
    "age": COLUMNS["age"],
}
"""A column of the unit, and a category that says the slot of a row."""

PANEL: Final[tuple[Any, ...]] = (
    (("f", "1", "3"),),
    (("m", "2", "20"), ("m", "2", "3"), ("m", "1", "20")),  # Twice in one slot.
    (("f", "2", "39"), ("m", "x", "3")),  # Another sex, in no slot.
    (("x", None, "?"),),
)

TABLES_OF_UNITS: Final = ((), *((unit,) for unit in UNITS), UNITS[1:], UNITS)


@dataclass(frozen=True, kw_only=True)
class Conversion(MeasuredRow):
    """The delta of discrete Gaussian noise at epsilon, beside a plain sum over the noise.

    1 / sigma_q^2 is a whole multiple w_q of `u`. The sum's losses are whole numbers of u / 2, so
    nothing is rounded. What follows from rho has to be at least the sum.
    """

    outside: str = "Not the delta of the noise"
    paper: str = _PAPER
    u: float
    multiples: tuple[int, ...]
    epsilon: float

    @property
    def function(self) -> str:
        return "pyvws.privacy.discrete_noise:composed_delta"

    def found(self) -> Findings:
        moves = [(1.0, (w * self.u) ** -0.5) for w in self.multiples]
        summed = hockey_stick(*loss_distribution(moves, step=0.5 * self.u), self.epsilon)
        exact = composed_delta(self.u, self.multiples, self.epsilon)
        by_rho = delta_of_rho(0.5 * self.u * sum(self.multiples), self.epsilon)
        return Findings(
            (
                Measurement("delta over the sum's", exact / summed, 1.0 - 1e-9, 1.0 + 1e-6),
                Measurement("delta from rho over the sum's", by_rho / summed, 1.0, 1e3),
            )
        )


@dataclass(frozen=True, kw_only=True)
class FreshNoise(MeasuredRow):
    """Two runs of one table under one public seed: their counts and numbers of rows differ."""

    outside: str = "The seed brings the noise back"
    paper: str = _PAPER
    delta: float

    def found(self) -> Findings:
        first, other = (_release(RECORDS, 0.1, self.delta).public_tables for _ in range(2))
        moved = first["counts.parquet"]["count"] != other["counts.parquet"]["count"]
        what = f"share of {len(moved)} counts that differ"
        return Findings((Measurement(what, float(np.mean(moved.to_numpy())), 0.5, 1.0),))


@dataclass(frozen=True, kw_only=True)
class ReleasedCost(MeasuredRow):
    """What the noise of all released counts costs, over the claim: plain sums over the scales.

    Pairs with the wide category are too large until cells of the number are chosen.
    """

    outside: str = "Not the cost that is stated"
    paper: str = _PAPER
    delta: float

    def found(self) -> Findings:
        wide = tuple(map(str, range(400)))
        columns = {
            "code": Column(model="table", levels=wide),
            "pay": Column(model="normal", range=(0, 1000), decimals=0, predictors=()),
            "sex": Column(model="table", levels=("f", "m"), predictors=()),
        }
        with warnings.catch_warnings(action="ignore"):
            release = synthesize(
                pl.DataFrame({"code": ["1", "2"], "pay": [10, 900], "sex": ["f", "m"]}),
                schema=Schema(columns),
                mechanism=NoisyCounts(epsilon=1.0, delta=self.delta, classes=2, measure="pairs"),
                datasets=1,
                seed=_SEED,
            )
        names = {"counts.parquet": ["set"], "cells.parquet": ["column", "by"]}
        scales = [
            float(own["scale"][0])
            for file, by in names.items()
            for _, own in release.public_tables[file].group_by(by)
        ]
        cost = sum(1.0 / b for b in scales)
        if self.delta:
            moves = tuple((1.0, sigma) for sigma in scales)
            cost = gaussian_loss(moves, self.delta, step=1e-4)
        spending = release.privacy["spending"]
        return Findings(
            (
                Measurement("cost over the claim", cost / spending["cap"], 0.98, 1.0 + 1e-4),
                Measurement("sold over the cost", spending["sold"] / cost, 1.0 - 1e-4, 1.01),
            )
        )


def _release(table: Sequence[Any], epsilon: float, delta: float, **given: Any) -> Release:
    with warnings.catch_warnings(action="ignore"):
        return synthesize(
            pl.DataFrame(table, schema=dict.fromkeys(COLUMNS, pl.String), orient="row"),
            schema=Schema(COLUMNS),
            mechanism="noisy-counts",
            epsilon=epsilon,
            delta=delta,
            classes=2,
            datasets=1,
            seed=_SEED,
            **{"measure": "pairs", **given},
        )


def counts_releases(database: tuple[Any, ...], count: int, seed: int) -> tuple[Floats, set[Word]]:
    """The noisy count of the cell of a girl of 3, of `count` releases; the noise has no seed."""
    numbers, words = [], set()
    for _ in range(count):
        release = _release(database, _TESTED, 0.0, measure=("sex:age:job",), records=2)
        words.add(word(release.privacy))
        counts = release.public_tables["counts.parquet"]
        (hers,) = counts.filter(pl.col("label") == "f, 0 to 15, N")["count"]
        numbers.append(float(hers))
    return np.array(numbers), words


def _losses(name: str, share: float = _NEARLY, epsilon: float = 1.0, **given: Any) -> ComputedLoss:
    own: dict[str, Any] = {"bases": TABLES, "extremes": RECORDS}
    if "cap" in given or "members" in given:
        own = {"bases": TABLES_OF_UNITS, "extremes": UNITS}
    runs = CountedRuns(**{**own, "neighbours": "loo", **given})
    return ComputedLoss(
        id=f"guarantee/counts-{name}",
        paper=_PAPER,
        runs=runs,
        share={RELATIONS[runs.neighbours]: share},
        epsilons=(epsilon,),
    )


def _alone(records: Sequence[Any]) -> dict[str, Any]:
    """No record, and each record alone."""
    return {"bases": ((), *((record,) for record in records)), "extremes": records}


_BY_FAMILY: Final[dict[str, Any]] = {
    "model": "conditionals",
    "measure": ("predictors", "sex:age/15:job/N*2"),
}
_AGES: Final[dict[str, Any]] = {
    "columns": {"age": COLUMNS["age"]},
    "bases": ((), (("3",),), (("?",), ("39",))),
    "extremes": (("3",), ("39",), ("1e300",), (None,)),
}
_OF_TABLES: Final[dict[str, Any]] = {
    "tables": ("age:sex", "job:age/15"),
    "measure": ("sex:age/15",),
    "bases": TABLES[:7],
}
_OF_ONE_SUM: Final = 0.7  # A replaced record of equal weight does not move the sum of weights.
_WEIGHED: Final[dict[str, Any]] = {"columns": OF_WEIGHTS, "weighted": True}
_TOTALS: Final = pl.DataFrame({"sex": ["f", "m"], "total": [7.5, 5.0]})
_UNITS_WEIGHED: Final = (WEIGHED[:1] * 2, WEIGHED[2:4], (*WEIGHED[1:2], *WEIGHED[5:7]))
_OF_SLOTS: Final[dict[str, Any]] = {"members": SLOTS, "bases": ((), UNITS[1:])}
_OF_WAVES: Final[dict[str, Any]] = {
    "members": replace(SLOTS, slot="job"),
    "columns": OF_WAVES,
    "bases": ((), PANEL[:3]),
    "extremes": PANEL,
}
_SMALL: Final[dict[str, Any]] = {"measure": ("sex:age:job",), "records": 5, "bases": TABLES[:7]}

CASES: Final[tuple[MeasuredRow, ...]] = (
    _losses("loo"),
    _losses("replace", neighbours="replace"),
    _losses("loo-delta", delta=DELTA),
    _losses("replace-delta", neighbours="replace", delta=DELTA),
    _losses("auto", measure=("auto",), bases=TABLES[:3]),
    _losses("auto-delta", measure=("auto",), bases=TABLES[:3], delta=DELTA),
    _losses("units", cap=2),
    _losses("units-delta", cap=2, delta=DELTA),
    _losses("slots", **_OF_SLOTS),
    _losses("slots-delta", delta=DELTA, **_OF_SLOTS),
    _losses("slots-replace", neighbours="replace", **{**_OF_SLOTS, "bases": ((), UNITS[1:3])}),
    _losses("waves", **_OF_WAVES),
    _losses("small-noise", epsilon=12.0, delta=DELTA, **_SMALL),
    _losses("conditionals", columns=OF_TABLES, bases=TABLES[:7], **_BY_FAMILY),
    _losses("regressions", bases=TABLES[:4], **_BY_FAMILY),
    _losses("tables", neighbours="replace", **_OF_TABLES),
    _losses("groups", columns=OF_GROUPS, **_alone(IN_GROUPS)),
    _losses("chosen-cells", columns=OF_NUMBERS, **_alone(IN_NUMBERS)),
    _losses("chosen-cells-delta", columns=OF_NUMBERS, delta=DELTA, **_alone(IN_NUMBERS)),
    _losses("order", columns=OF_ORDER, **_alone(IN_ORDER)),
    _losses("order-delta", columns=OF_ORDER, delta=DELTA, **_alone(IN_ORDER[:3])),
    _losses("one-column", **_AGES),
    _losses("weights", **_WEIGHED, **_alone(WEIGHED)),
    _losses("weights-delta", delta=DELTA, **_WEIGHED, **_alone(WEIGHED[:3])),
    _losses("totals", **_WEIGHED, **_alone(WEIGHED[:4]), totals=_TOTALS),
    _losses(
        "weights-replaced", _OF_ONE_SUM, **_WEIGHED, **_alone(WEIGHED[:4]), neighbours="replace"
    ),
    _losses(
        *("weights-units", _NEARLY),
        **{"cap": 2, "extremes": _UNITS_WEIGHED, "bases": ((), _UNITS_WEIGHED), **_WEIGHED},
    ),
    Conversion(id="guarantee/counts-conversion-one", u=4.0, multiples=(1,), epsilon=1.0),
    Conversion(id="guarantee/counts-conversion-small", u=0.5, multiples=(1, 2, 5), epsilon=3.0),
    Conversion(id="guarantee/counts-conversion-many", u=0.002, multiples=(6, 8) * 10, epsilon=1.0),
    ReleasedCost(id="guarantee/counts-released-cost", delta=0.0),
    ReleasedCost(id="guarantee/counts-released-cost-delta", delta=DELTA),
    *paid_losses("korolova2009", DELTA),
    FreshNoise(id="guarantee/counts-fresh-noise", delta=0.0),
    FreshNoise(id="guarantee/counts-fresh-noise-delta", delta=DELTA),
    *(
        DrawnNoise(
            id=f"guarantee/drawn-noise-gaussian-{scale:g}", paper=_PAPER, scale=scale, gaussian=True
        )
        for scale in (0.5, 3.0, 50.0)
    ),
    SampledLoss(
        id="guarantee/tester-counts",
        paper=_PAPER,
        releases=counts_releases,
        databases=(RECORDS[1:2] * 2, RECORDS[1:2] * 2 + RECORDS[:1]),
        epsilon=_TESTED,
        share=0.15,
        count=400,
    ),
)
