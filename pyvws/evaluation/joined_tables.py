"""Noisy counts of sets that share margins, joined by generalised least squares.

Sets of all combinations of their columns' codes share margins: with the schema, generalised least
squares over all of them takes the place of S. Noise is alike in the cells of a set, so each part of
a table that some columns alone have (its analysis of variance) is the mean of the sets that have
these columns, by the inverse of their variances. Records that have no cell in some of the sets make
it wrong by as many records at most. A sum over cells of a joined table has the variance of its own
parts, so margins and shares within margins follow with theirs.
Published totals are exact figures of the population, and enter as sets nearly without noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, combinations
from typing import Any, Final, NamedTuple

import narwhals as nw
import numpy as np
from narwhals.typing import IntoDataFrame

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.evaluation.squared_weights import SquaredWeights
from pyvws.mechanisms.counts.by_rule import counted_columns
from pyvws.mechanisms.counts.coding import CountedColumn
from pyvws.mechanisms.counts.measurements import NUMBER, OF_SQUARES
from pyvws.mechanisms.counts.workload import OF_ALL
from pyvws.tables.schema.schema import Schema

Totals = Sequence[Mapping[str, Any]]
"""Sets of published totals with their columns, as a statement has them."""

COLUMNS: Final = ("set", "cell", "label", "count", "scale")
"""The columns of counts.parquet of a release."""

_EXACT: Final = 1e-9  # The variance of published totals in rows, nearly 0.


class CountRow(NamedTuple):
    """A row of counts.parquet."""

    set: str
    cell: int
    label: str
    records: int
    scale: float


def read_rows(counts: IntoDataFrame) -> list[CountRow]:
    frame = nw.from_native(counts, eager_only=True)
    lacking = [name for name in COLUMNS if name not in frame.columns]
    if lacking:
        raise InputError.by("counts-lack-columns", lacking=", ".join(lacking))
    read = map(CountRow._make, zip(*(frame[name].to_list() for name in COLUMNS), strict=True))
    rows = [row for row in read if row.set != NUMBER and not row.set.startswith(OF_SQUARES)]
    total = [row.records for row in rows if row.set == OF_ALL]
    if len(total) != 1 or total[0] < 1:
        raise InputError.by("counts-without-total")
    return rows


class JointTable(NamedTuple):
    """The counts of all combinations of codes, an axis for each of the `columns`.

    `variance` is that of the noise of each count.
    """

    columns: tuple[str, ...]
    counts: Floats
    variance: float


class JoinedTables(NamedTuple):
    """Whole tables by least squares, the weights of their parts, and tables with barred cells."""

    joined: dict[str, JointTable]
    weights: dict[tuple[str, ...], float]
    barred: dict[str, JointTable]
    columns: Mapping[str, CountedColumn]
    published: Sequence[JointTable] = ()

    def totals_of(self, names: Iterable[str]) -> JointTable | None:
        """Published totals of a set with these columns, as rows; None without any."""
        having = (own for own in self.published if {*names} <= {*own.columns})
        return next(having, None)

    def squares(self, name: str, squares: SquaredWeights) -> Floats:
        """The sums of squared weights in all cells of a table, by those of its columns."""
        columns, counts, _ = self.joined[name] if name in self.joined else self.barred[name]
        rows = np.maximum(counts, 0.0)
        if not columns:
            return rows * squares.raked(rows.reshape(1), {})[0]
        codes = dict(zip(columns, np.indices(counts.shape).reshape(counts.ndim, -1), strict=True))
        known = {k: own for k, own in codes.items() if k in squares.sums}
        return rows * squares.raked(rows.ravel(), known).reshape(counts.shape)


def joined_tables(
    rows: Iterable[CountRow],
    variances: Mapping[float, float],
    schema: Schema | None,
    totals: Totals = (),
) -> JoinedTables:
    """The tables of a release.

    A whole table has a count for all combinations of the codes of the schema's columns. The number
    of records is one. In a table with barred cells these have no record.
    """
    known = columns_of(schema)
    by_set: dict[str, list[CountRow]] = {}
    for row in rows:
        by_set.setdefault(row.set, []).append(row)
    [of_all] = by_set.pop(OF_ALL)
    total = JointTable((), np.array(float(of_all.records)), variances[of_all.scale])
    whole, barred = ({OF_ALL: total} if total.variance else {}), {}
    for name, own in by_set.items():
        columns, variance = tuple(name.split(":")), variances[own[0].scale]
        if not all(column in known for column in columns) or not variance:
            continue
        counts = np.zeros([known[column].size for column in columns])
        if counts.size == len(own):
            counts.flat[:] = [row.records for row in own]
            whole[name] = JointTable(columns, counts, variance)
        elif counts.size > max(row.cell for row in own):
            counts.flat[[row.cell for row in own]] = [row.records for row in own]
            barred[name] = JointTable(columns, counts, variance)
    published = []
    for said in totals if known else ():
        shape = [known[column].size for column in said["columns"]]
        of_set = np.array(said["totals"]).reshape(shape)
        of_set = of_set * (float(total.counts) / of_set.sum())
        published.append(JointTable(tuple(said["columns"]), of_set, _EXACT))
    exact = {f"totals {place}": own for place, own in enumerate(published)}
    joined, weights = _least_squares(whole | exact)
    total = joined.get(OF_ALL, total)
    total = total._replace(counts=np.maximum(total.counts, 1.0))
    joined = {name: own for name, own in joined.items() if name not in exact}
    return JoinedTables(joined | {OF_ALL: total}, weights, barred, known, published)


def _least_squares(
    tables: Mapping[str, JointTable],
) -> tuple[dict[str, JointTable], dict[tuple[str, ...], float]]:
    """Tables that agree on the margins that they share, by generalised least squares.

    Beside them are the weights of their parts, by the parts' columns.
    """
    sums: dict[tuple[str, ...], tuple[Floats, float]] = {}
    for columns, counts, variance in tables.values():
        for own in subsets(columns):
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
        for own in subsets(columns):
            part, weight = sums[own]
            shape = tuple(
                size if column in own else 1
                for column, size in zip(columns, counts.shape, strict=True)
            )
            repeated = counts.size // math.prod(shape)
            joined += (part / weight).reshape(shape) / repeated
            kept = math.prod(1.0 - 1.0 / size for size in part.shape)
            variance += kept / (weight * repeated**2)
        found[name] = JointTable(columns, joined, variance)
    return found, {own: weight for own, (_, weight) in sums.items()}


def subsets(columns: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    return chain.from_iterable(combinations(columns, k) for k in range(len(columns) + 1))


def columns_of(schema: Schema | None) -> dict[str, CountedColumn]:
    return {k: x for own in filter(None, [schema]) for k, x in counted_columns(own).items()}
