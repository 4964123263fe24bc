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
_TABLE_5: Final = (
    ("Synthesizer", "synthesizer", 0.3, "0.0451", "0.0006"),
    ("r = 30%", "marginal", 0.3, "0.1061", "0.0040"),
    ("r = 25%", "marginal", 0.25, "0.1124", "0.0045"),
    ("r = 20%", "marginal", 0.2, "0.1152", "0.0048"),
    ("r = 15%", "marginal", 0.15, "0.1088", "0.0043"),
)
_SUPPLEMENT_2: Final = (
    ("Synthesizer", "synthesizer", 0.3, "0.0451", "0.0006"),
    ("Marginal", "marginal", 0.15, "0.1088", "0.0043"),
    ("Pairwise", "pairwise", 0.15, "0.0378", "0.0003"),
)
# Table 6 by rows: estimate, ends and length of the interval, first for the mean, then the median.
_ROWS_6: Final = {
    ("synthesizer", 30): "100.46 96.63 104.34 7.71 97.09 93.00 101.00 8.00",
    ("synthesizer", 20): "100.99 97.28 104.69 7.41 97.60 93.00 101.50 8.50",
    ("synthesizer", 10): "100.95 97.07 104.97 7.90 97.36 93.00 102.00 9.00",
    ("synthesizer", 5): "99.76 96.71 103.33 6.62 96.59 93.00 101.00 8.00",
    ("synthesizer", 1): "102.05 99.97 104.04 4.07 99.82 97.00 102.00 5.00",
    ("marginal", 30): "102.37 99.49 104.87 5.38 101.05 98.00 103.50 5.50",
    ("marginal", 20): "102.60 100.13 105.02 4.89 101.37 98.00 105.00 7.00",
    ("marginal", 10): "102.93 99.92 105.34 5.42 101.63 98.00 105.00 7.00",
    ("marginal", 5): "102.26 99.69 104.64 4.95 101.00 98.00 104.00 6.00",
    ("marginal", 1): "103.78 102.34 105.12 2.78 103.15 101.00 105.00 4.00",
}
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
    zip(
        (name for _, name in _COLUMNS_6),
        ["100.70", "98.68", "102.58", "3.90", "97.93", "95.49", "101.00", "5.51"],
        strict=True,
    )
)
"""Row D of Table 6, which describes the data."""

PUBLISHED: Final[tuple[Published, ...]] = (
    *(
        Published(table, label, column, value, mechanism, radius, 20, statistic)
        for table, rows in (("Table 5", _TABLE_5), ("Supplement, Table 2", _SUPPLEMENT_2))
        for label, mechanism, radius, *values in rows
        for (column, statistic), value in zip(_UTILITY, values, strict=True)
    ),
    *(
        Published(
            "Table 6", f"{mechanism[0].upper()} (L = {L})", column, value, mechanism, 0.2, L, name
        )
        for (mechanism, L), values in _ROWS_6.items()
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
