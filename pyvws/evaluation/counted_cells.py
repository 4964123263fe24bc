"""Intervals of the cells that noisy counts measured, from the counts and their noise alone.

A release from noisy counts holds S = M + Z for each cell. M is the confidential count, and Z is
discrete noise of a public scale [canonne2020]. So S is an unbiased estimate of M, and no model
enters. With q the smallest whole number that |Z| exceeds with a chance of at most 1 - level, S - q
to S + q holds M. A share divides S by the noisy number of records n. Its variance for the
confidential table is (var Z + p^2 var Z_n) / n^2. For the population it is p (1 - p) / n more.

Sets of all combinations of their columns' codes share margins: with the schema, generalised least
squares over all of them takes the place of S. Noise is alike in the cells of a set, so each part of
a table that some columns alone have (its analysis of variance) is the mean of the sets that have
these columns, by the inverse of their variances. Records that have no cell in some of the sets make
it wrong by as many records at most.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, combinations
from typing import Any, Final, Literal, NamedTuple

import narwhals as nw
import numpy as np
from narwhals.typing import IntoDataFrame
from scipy.special import ndtri

from pyvws._base.checks import Floats, choice, open_unit_interval
from pyvws.errors import InputError
from pyvws.evaluation.combining_rules import OF
from pyvws.mechanisms.counts.coding import counted_columns
from pyvws.mechanisms.counts.workload import OF_ALL
from pyvws.tables.schema.schema import Schema

COLUMNS: Final = ("set", "cell", "label", "count", "scale")
"""The columns of counts.parquet of a release."""

_FAR: Final = 40.0  # Scales: what lies beyond has a chance below 1e-17.


def noise_probabilities(
    scale: float, noise: Literal["laplace", "gaussian"]
) -> tuple[Floats, Floats]:
    """Whole numbers z (K,) and their probabilities under discrete noise of a scale in records.

    The probabilities add up to 1, and are proportional to exp(-|z| / scale) for "laplace" and to
    exp(-z^2 / (2 scale^2)) for "gaussian". At scale 0 the noise is 0.
    """
    if scale == 0.0:
        return np.zeros(1), np.ones(1)
    reach = math.ceil(_FAR * scale) + 1
    z = np.arange(-reach, reach + 1, dtype=np.float64)
    apart = np.abs(z) / scale
    mass = np.exp(
        -apart if choice(noise, "noise", ("laplace", "gaussian")) == "laplace" else -0.5 * apart**2
    )
    return z, mass / mass.sum()


def counted_cells(
    counts: IntoDataFrame,
    *,
    noise: Literal["laplace", "gaussian"],
    of: Literal["population", "table"] = "population",
    level: float = 0.95,
    schema: Schema | None = None,
) -> dict[str, list[Any]]:
    """Intervals of all measured cells, from noisy counts alone.

    Parameters
    ----------
    counts : pandas, polars or Arrow table
        counts.parquet of a release in its own order, with the columns `set`, `cell`, `label`,
        `count` and `scale`.
    noise : {"laplace", "gaussian"}
        The kind of the discrete noise, as the statement says it.
    of : {"population", "table"}
        Whose shares the intervals of shares are of. Those of the population take the confidential
        records for a simple random sample of it.
    level : float
        Level of the intervals, in (0, 1).
    schema : Schema, optional
        That of the release. Then counts are least-squares estimates over all sets in whole cells,
        which are nearer to the confidential counts; else each cell has its noisy count alone.

    Returns
    -------
    dict of str to list
        A row for each cell, with `set` and `label`. `count`, `lower` and `upper` of the
        confidential table are in records. By itself a noisy count's interval holds the count with a
        chance of at least `level`; with a schema with about `level`. `share`, `share_lower` and
        `share_upper` of `of` follow by the normal distribution. Counts and shares below 0 stay as
        they are, and ends of intervals are at least 0.

    Raises
    ------
    InputError
        For a table without these columns or without the number of records, and for a level or a
        word out of range.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("records", 0, "", 400, 0.0), ("sex", 0, "f", 150, 3.0), ("sex", 1, "m", 251, 3.0)]
    >>> found = counted_cells(pd.DataFrame(rows, columns=COLUMNS), noise="gaussian", of="table")
    >>> found["lower"], found["upper"], [round(x, 3) for x in found["share"]]
    ([144, 245], [156, 257], [0.375, 0.627])
    """
    choice(of, "of", OF)
    upper = 0.5 + 0.5 * open_unit_interval(level, "level")
    frame = nw.from_native(counts, eager_only=True)
    lacking = [name for name in COLUMNS if name not in frame.columns]
    if lacking:
        raise InputError.by("counts-lack-columns", lacking=", ".join(lacking))
    whole = {name: frame[name].to_list() for name in COLUMNS}
    rows = list(zip(*(whole[name] for name in ("set", "label", "count", "scale")), strict=True))
    (*_, n, n_scale), *more = [row for row in rows if row[0] == OF_ALL] or [(0,) * 4]
    if more or n < 1:
        raise InputError.by("counts-without-total")
    widths = {scale: _width_and_variance(scale, noise, level) for scale in {*whole["scale"]}}
    columns: dict[str, list[Any]] = {name: [] for name in _RETURNED}
    z = float(ndtri(upper))
    total, of_total = float(n), widths[n_scale][1]
    known = [counted_columns(own) for own in filter(None, [schema])]
    sizes = {column: own.size for columns in known for column, own in columns.items()}
    variances = {scale: variance for scale, (_, variance) in widths.items()}
    noisy = _whole_tables(rows, variances, sizes)
    if n_scale > 0.0:
        noisy[OF_ALL] = _Table((), np.array(total), of_total)
    noisy = _least_squares(noisy)
    if n_scale > 0.0:
        total, of_total = max(1.0, float(noisy[OF_ALL].counts)), noisy[OF_ALL].variance
    places = dict.fromkeys(noisy, 0)
    found: float
    half: float
    for name, label, count, scale in rows:
        if name == OF_ALL:
            continue
        half, variance = widths[scale]
        found, mean = count, 0.0
        if (joined := noisy.get(name)) is not None:
            found, mean = float(joined.counts.flat[places[name]]), 1.0 / joined.counts.size
            places[name] += 1
            # Sums of noise are nearer to normal than noise is.
            half = max(z, half / math.sqrt(variance)) * math.sqrt(joined.variance)
            variance = joined.variance
        share = found / total
        inside = min(max(share, 0.0), 1.0)
        # A joined table's mean cell is its part of the total, so a share has none of that noise.
        spread = (variance + ((inside - mean) ** 2 - mean**2) * of_total) / total**2
        spread += inside * (1.0 - inside) / total if of == "population" else 0.0
        ends = (share - z * math.sqrt(spread), share + z * math.sqrt(spread))
        row = (
            *(name, label, found, max(0, found - half), max(0, found + half)),
            *(share, max(0.0, ends[0]), max(0.0, ends[1])),
        )
        for column, value in zip(_RETURNED, row, strict=True):
            columns[column].append(value)
    return columns


_RETURNED: Final = (
    *("set", "label", "count", "lower", "upper"),
    *("share", "share_lower", "share_upper"),
)


def _width_and_variance(
    scale: float, noise: Literal["laplace", "gaussian"], level: float
) -> tuple[int, float]:
    """The q of an interval S - q to S + q, and the variance of the noise."""
    z, mass = noise_probabilities(scale, noise)
    at_least = np.cumsum(mass[z >= 0] + np.where(z[z >= 0] > 0, mass[z >= 0], 0.0))
    return int(np.searchsorted(at_least, level * (1.0 - 1e-12))), float(mass @ z**2)


class _Table(NamedTuple):
    """The counts of all combinations of codes, an axis for each of the `columns`.

    `variance` is that of the noise of each count.
    """

    columns: tuple[str, ...]
    counts: Floats
    variance: float


def _whole_tables(
    rows: Iterable[tuple[str, str, int, float]],
    variances: Mapping[float, float],
    sizes: Mapping[str, int],
) -> dict[str, _Table]:
    """The sets whose cells are all combinations of the codes of columns of those sizes."""
    by_set: dict[str, list[tuple[int, float]]] = {}
    for name, _, count, scale in rows:
        by_set.setdefault(name, []).append((count, scale))
    tables = {}
    for name, own in by_set.items():
        columns, variance = tuple(name.split(":")), variances[own[0][1]]
        shape = tuple(sizes.get(column, 0) for column in columns)
        if math.prod(shape) == len(own) and variance > 0.0:
            counts = np.array([count for count, _ in own], dtype=np.float64)
            tables[name] = _Table(columns, counts.reshape(shape), variance)
    return tables


def _least_squares(tables: Mapping[str, _Table]) -> dict[str, _Table]:
    """Tables that agree on the margins that they share, by generalised least squares."""
    sums: dict[tuple[str, ...], tuple[Floats, float]] = {}
    for columns, counts, variance in tables.values():
        for own in _subsets(columns):
            others = tuple(k for k, name in enumerate(columns) if name not in own)
            part = counts.sum(axis=others)
            for axis in range(part.ndim):
                part = part - part.mean(axis=axis, keepdims=True)
            weight = part.size / (counts.size * variance)
            known, before = sums.get(own, (0.0, 0.0))
            sums[own] = known + weight * part, before + weight
    found = {}
    for name, (columns, counts, _) in tables.items():
        joined, variance = np.zeros(counts.shape), 0.0
        for own in _subsets(columns):
            part, weight = sums[own]
            shape = tuple(
                size if column in own else 1
                for column, size in zip(columns, counts.shape, strict=True)
            )
            repeated = counts.size // math.prod(shape)
            joined += (part / weight).reshape(shape) / repeated
            kept = math.prod(1.0 - 1.0 / size for size in part.shape)
            variance += kept / (weight * repeated**2)
        found[name] = _Table(columns, joined, variance)
    return found


def _subsets(columns: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    return chain.from_iterable(combinations(columns, k) for k in range(len(columns) + 1))


def measured_columns(sets: Iterable[str]) -> list[frozenset[str]]:
    """The columns of each set that noisy counts measured in the columns' own cells.

    `sets` are names as in counts.parquet, such as "sex:age". A set with coarser cuts, such as
    "sex:age/30/60", counted groups of cells, and is left out.
    """
    return [
        frozenset(name.split(":"))
        for name in dict.fromkeys(sets)
        if "/" not in name and name != OF_ALL
    ]


def is_measured(columns: Sequence[str], sets: Iterable[frozenset[str]]) -> bool:
    """Whether one of the `sets` of columns has all `columns`, so that their cells were counted."""
    return any({*columns} <= counted for counted in sets)
