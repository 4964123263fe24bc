"""Columns that tables of others give, in the best file: beside the records of a fit of the rest.

A row of a table has whole numbers of each code by its noisy counts, drawn to the column's margin as
far as noise hides the row. Codes are then swapped between records of a row towards the noisy counts
of the column with others, so far as these stand out of the noise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts.cliques import clique
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.fitted_classes import kept_of_gap, most_by_chance, on_simplex
from pyvws.mechanisms.counts.given_columns import GivenColumn
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.whole_records import swapped, whole_numbers
from pyvws.mechanisms.counts.workload import Workload

Integers = NDArray[np.signedinteger[Any]]

_PASSES: Final = 4  # Of swaps over all records.


def are_countable(table: Workload) -> bool:
    """Whether each given column has a counted table by one other, and the rest sets without it."""
    ruled = {*table.skips}.union(*(skip.rows.columns for skip in table.skips.values()))
    for name, own in table.given.items():
        sets = [{*c.columns} - {*c.groups} for c in table.cliques if name in c.columns]
        wanted = {name} if own.redrawn else {name, *own.rows.columns}
        several = len(own.rows.columns) > 1 or own.family is not None
        if name in ruled or several or not any(wanted <= one for one in sets):
            return False
    rest = [table.cliques[q] for q in _kept(table)]
    alone = {name for crossed in rest for name in crossed.columns if name not in crossed.groups}
    return bool(alone) and alone == {*table.columns} - {*table.given} and not table.differences


def rest_of(table: Workload) -> Workload:
    """The columns that no table gives, and the sets of these alone."""
    kept = _kept(table)
    offsets = np.append(0, np.cumsum(table.sizes[kept])).astype(np.int64)
    return replace(
        table,
        columns={name: own for name, own in table.columns.items() if name not in table.given},
        given={},
        cliques=tuple(table.cliques[q] for q in kept),
        weights=tuple(table.weights[q] for q in kept),
        offsets=offsets,
        possible=table.possible[_cells(table)],
    )


def without_given(noisy: Measurements) -> Measurements:
    """The noisy counts of the sets of `rest_of`."""
    table = noisy.table
    counts, scales = noisy.counts[_cells(table)], noisy.scales[_kept(table)]
    return replace(noisy, table=rest_of(table), counts=counts, scales=scales)


def _kept(table: Workload) -> list[int]:
    return [q for q, c in enumerate(table.cliques) if not {*table.given} & {*c.columns}]


def _cells(table: Workload) -> NDArray[np.int64]:
    return np.concatenate([np.arange(*table.offsets[q : q + 2]) for q in _kept(table)])


def with_given(x: Codes, noisy: Measurements, rng: np.random.Generator) -> Codes:
    """Codes (n, K) of records whose codes x (n, .) the fit of the rest gives."""
    table = noisy.table
    codes = dict(zip((name for name in table.columns if name not in table.given), x.T, strict=True))
    for name in (name for name in table.columns if name in table.given):
        own = table.given[name]
        rows = own.rows.cells(codes)
        number = np.bincount(rows, minlength=own.rows.size)
        shares = _shares(noisy, name, own, number)
        whole = whole_numbers(shares, number, np.array([0, shares.shape[1]]))
        within = np.tile(np.arange(shares.shape[1], dtype=np.int32), len(shares))
        drawn = np.repeat(within, whole.ravel())  # Row by row.
        order = np.argsort(rows, kind="stable")
        drawn = drawn[np.lexsort((rng.random(len(rows)), rows[order]))]
        others = [*codes]
        y = np.column_stack([*(codes[other][order] for other in others), drawn])
        sizes = [table.columns[one].size for one in (*others, name)]
        offsets = np.append(0, np.cumsum(sizes)).astype(np.int64)
        gap = np.zeros((offsets[-1], offsets[-1]))
        for k, other in enumerate(others):
            by_row = _crossed(rows[order], y[:, k], (len(shares), sizes[k]))
            expected = shares.T @ by_row
            expected += _standing_out(noisy, name, other, expected)
            expected -= _crossed(drawn, y[:, k], expected.shape)
            gap[offsets[-2] :, offsets[k] : offsets[k + 1]] = expected
        gap += gap.T
        start, last = np.append(0, np.cumsum(number)), np.array([len(others)])
        swapped(y, start, gap, offsets, last, _PASSES, rng)
        codes[name] = np.empty(len(rows), dtype=np.int32)
        codes[name][order] = y[:, -1]
    return np.column_stack([codes[name] for name in table.columns])


def _shares(noisy: Measurements, name: str, own: GivenColumn, number: Integers) -> Floats:
    """The shares (rows, L) of a column's codes in rows of so many records."""
    columns, rows = noisy.table.columns, own.rows
    possible = np.broadcast_to(own.prior > 0.0, (rows.size, columns[name].size))
    if own.redrawn:  # A row has codes of its own.
        found = noisy.summed((name,))
        assert found is not None
        counts, variance = possible * found[0], found[1]
    else:
        found = noisy.summed((*rows.columns, name))
        assert found is not None
        by_codes = clique(columns, rows.columns)
        row = rows.cells({other: code.astype(np.int32) for other, code in by_codes.codes.items()})
        counts = np.zeros(possible.shape)
        np.add.at(counts, row, found[0].reshape(by_codes.size, -1))
        variance = found[1] * by_codes.size / rows.size
    margin = possible * (on_simplex(counts.sum(axis=0), float(number.sum())) + 0.5)
    margin /= margin.sum(axis=1, keepdims=True)
    gap = counts - number[:, None] * margin
    cells = possible.sum(axis=1, keepdims=True)
    squares = (gap**2).sum(axis=1, keepdims=True) / variance
    near = number[:, None] * margin + kept_of_gap(cells, squares) * gap
    shares = margin.copy()
    for r in np.flatnonzero(number).tolist():
        inside = possible[r]
        shares[r, inside] = on_simplex(near[r, inside], float(number[r])) / number[r]
    return np.asarray(shares)


def _crossed(a: Integers, b: Integers, shape: tuple[int, ...]) -> Floats:
    """Records by two codes, as counts of that shape."""
    cell = a.astype(np.int64) * shape[1] + b
    return np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


def _standing_out(noisy: Measurements, name: str, other: str, expected: Floats) -> Floats:
    """What noisy counts of a pair have more than expected ones, so far as it stands out."""
    table, pair = noisy.table, clique(noisy.table.columns, (name, other))
    for q, crossed in enumerate(table.cliques):
        if crossed.columns == pair.columns and not crossed.groups:
            own = slice(*table.offsets[q : q + 2])
            shape, turned = crossed.sizes, crossed.columns[0] == other
            counts, possible = noisy.counts[own].reshape(shape), table.possible[own].reshape(shape)
            counts, possible = (counts.T, possible.T) if turned else (counts, possible)
            gap = np.where(possible, counts - expected, 0.0)
            squares = np.sum(gap**2) / noisy.deviations[q] ** 2
            likely = most_by_chance(possible.sum(), noisy.laplace)
            return np.asarray(kept_of_gap(likely, squares) * gap)
    return np.zeros_like(expected)
