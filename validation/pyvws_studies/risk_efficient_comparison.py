"""The risk-efficient paper's printed figures for its simulated counts, beside replicates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.r_numbers import rarith
from pyvws.r_numbers.r_random import RRandom
from pyvws_studies.printed import (
    LEVEL,
    PairedDifference,
    Printed,
    half_unit,
    interval_of,
    paired_difference,
    papers,
)
from pyvws_studies.simulated_data import risk_efficient_counts


@dataclass(frozen=True, slots=True)
class Published:
    """One printed figure, and the row and column of a replicate that it belongs to."""

    table: str
    row: str
    column: str
    value: str
    mechanism: str
    radius: float
    datasets: int
    statistic: str


_UTILITY: Final = (("U_m", "u_m"), ("U_a", "u_a"))
_OF_PAPER: Final = papers()["risk2024"]
_COLUMNS_6: Final = tuple(
    (f"{statistic}: {column}", f"{statistic}{suffix}")
    for statistic in ("mean", "median")
    for column, suffix in (
        ("estimate", ""),
        ("lower", "_lower"),
        ("upper", "_upper"),
        ("length", "_length"),
    )
)

DATA_ROW: Final[dict[str, str]] = dict(
    zip((name for _, name in _COLUMNS_6), _OF_PAPER["table-6"]["D"].split(), strict=True)
)
"""Row D of Table 6, which describes the data."""

PUBLISHED: Final[tuple[Published, ...]] = (
    *(
        Published(table, label, column, value, mechanism, radius, 20, statistic)
        for table, rows in _OF_PAPER["utility"].items()
        for label, mechanism, radius, *values in rows
        for (column, statistic), value in zip(_UTILITY, values, strict=True)
    ),
    *(
        Published("Table 6", f"{mechanism[0].upper()} (L = {L})", column, value, *where, name)
        for mechanism in ("synthesizer", "marginal")
        for L, values in _OF_PAPER["table-6"][mechanism].items()
        for where in [(mechanism, 0.2, int(L))]
        for (column, name), value in zip(_COLUMNS_6, values.split(), strict=True)
    ),
)

Rows = list[dict[str, Any]]

PAIRS = (
    ("Table 5", "Synthesizer", "r = 15%"),
    ("Table 5", "r = 30%", "r = 20%"),
    ("Table 5", "r = 20%", "r = 15%"),
    ("Supplement, Table 2", "Synthesizer", "Pairwise"),
    ("Supplement, Table 2", "Marginal", "Pairwise"),
    ("Table 6", "S (L = 20)", "M (L = 20)"),
)
"""Pairs of rows whose figures the paper compares: table, first row, second row."""


def compare(rows: Rows, data_seed: int) -> list[Printed]:
    """Each published figure beside the interval of a further run on the data of one seed."""
    cells = []
    for published in PUBLISHED:
        values = replicated(rows, data_seed, published)
        if len(values) > 1:
            how = f"{len(values)} fits of the data of R's seed {data_seed}; {LEVEL:.0%} interval"
            interval = interval_of(values, rounding=half_unit(published.value))
            place = (published.table, published.row, published.column)
            cells.append(Printed("risk2024", *place, published.value, *interval, how))
    return cells


def differences(rows: Rows, data_seed: int) -> list[PairedDifference]:
    """The difference of each of `PAIRS` in each column, paired by the replicates' data and seed."""
    published = {(figure.table, figure.row, figure.column): figure for figure in PUBLISHED}
    pairs = []
    for table, first, second in PAIRS:
        for column in (at for name, row, at in published if (name, row) == (table, first)):
            own, other = (
                replicated(rows, data_seed, published[table, row, column])
                for row in (first, second)
            )
            if len(own) and len(other):
                pairs.append(paired_difference(first, second, column, own, other))
    return pairs


def replicated(rows: Rows, data_seed: int, published: Published) -> Floats:
    """The replicates' values (R,) of one published figure on the data of one seed."""
    wanted = (data_seed, published.mechanism, published.radius, published.datasets)
    of_row = itemgetter("data_seed", "mechanism", "radius", "datasets")
    return np.array([row[published.statistic] for row in rows if of_row(row) == wanted])


def simulate(settings: Mapping[str, Any], data_seed: int) -> Floats:
    """The counts (n,) under one of R's seeds."""
    return risk_efficient_counts(data_seed, settings["n"])


def statistics(settings: Mapping[str, Any], datasets: list[Floats]) -> dict[str, float]:
    """Mean and median with intervals, as two calls of `pyvws.bootstrap_interval` give them."""
    n, times = settings["n"], settings["bootstrap"]
    most = max(settings["datasets"], *settings["other_datasets"])
    places = _places(settings["bootstrap_seed"], n, most * times)
    pooled = np.empty((2, len(datasets) * times))
    for number, values in enumerate(datasets):
        part = slice(number * times, (number + 1) * times)
        samples = values[places[part]]
        # Counts: their sums have no rounding, so a plain division gives R's mean.
        pooled[0, part], pooled[1, part] = samples.sum(axis=1) / n, np.median(samples, axis=1)
    intervals = {}
    for name, values in zip(("mean", "median"), pooled, strict=True):
        lower, upper = (float(value) for value in rarith.quantile(values, [0.025, 0.975]))
        intervals[name], intervals[f"{name}_lower"] = rarith.mean(values), lower
        intervals[f"{name}_upper"], intervals[f"{name}_length"] = upper, upper - lower
    return intervals


@cache
def _places(seed: int, n: int, count: int) -> NDArray[np.uint16]:
    """`count` samples of n places 0, ..., n - 1 with replacement, shape (count, n)."""
    stream = RRandom(seed)
    places = np.empty((count, n), dtype=np.uint16)
    for row in places:
        row[:] = stream.sample(n, n) - 1
    return places
