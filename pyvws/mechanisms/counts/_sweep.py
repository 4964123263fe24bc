"""Compiled sweeps over imputed records, given the parameters of classes and tables.

`x` (n, K) are the codes of the imputed records, `z` (n,) their classes, and `gap` (C,) the noisy
counts less those of the records. A record that leaves cell a for cell b changes the probability of
the noise by a ratio that `gap` at both cells decides, so each move takes a few sums.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.kernels import inlined_kernel, kernel

Places = NDArray[np.int64]
Cells = NDArray[np.uint64]
"""Numbers of cells and sets; an index without a sign needs no look whether it is below 0."""
Codes = NDArray[np.int32]


_MOST = 100  # Tries for each record, where rules leave hardly any.
_LEAST = 1e-200  # A sum of products of shares that may have lost a digit to underflow.


class Cliques(NamedTuple):
    """Combinations of columns: where each of Q is counted, by steps of its columns' codes."""

    start: Places  # (Q + 1,) first column of a combination, among `column` and `first`
    column: Places
    first: Places  # where the steps of a column's codes begin, among `step`
    step: Places
    offset: Places  # (Q,) number of the first combination, -1 without any


class SetCells(NamedTuple):
    """The sets of each column, and what its codes add to the numbers of their cells."""

    size: Places  # (K,) codes of a column
    begin: Cells  # (Q,) first cell of a set
    start: Places  # (K + 1,) first set of a column, among `sets`
    sets: Cells
    first: Places  # (K,) first entry of a column in `added`, by code, then by its sets
    added: Cells


class ColumnCases(NamedTuple):
    """What rules force on columns, the tables that give columns, and the columns that follow."""

    skips: Cliques  # by column: its case, among `forced`
    forced: Codes
    left_start: Places  # (K,) first entry of a column in `left`, by case, then code; -1 without
    left: NDArray[np.bool_]
    tables: Cliques  # by column: its row of a table, else its row is the class
    redrawn: NDArray[np.bool_]  # (K,) whether another row asks for another code
    after_start: Places  # (K + 1,) first column that follows from a column, among `after`
    after: Places


class Shares(NamedTuple):
    """The parameters: shares of classes, and codes' shares by row, also as sums."""

    share_sums: Floats  # (H,)
    shares: Floats  # (H,)
    offset: Places  # (K,) first entry of a column in `sums`, by row, then code
    rows: Places  # (K,) rows of a column: H classes, or those of its table
    sums: Floats
    codes: Floats  # shares themselves, by code, then row


class NoisePrecision(NamedTuple):
    """The noise: whether it is Laplace's, and 1 / b_q or 1 / sigma_q^2 (Q,)."""

    laplace: bool
    precision: Floats


@inlined_kernel
def _copy(values: NDArray[np.generic], to: NDArray[np.generic]) -> None:
    """Copy values one by one: an assignment to a slice takes seconds more to compile."""
    for place in range(len(values)):
        to[place] = values[place]


@inlined_kernel
def _cell(q: int, x: Codes, cliques: Cliques) -> int:
    """The number of the combination that a record has, of combination q."""
    cell = cliques.offset[q]
    for s in range(cliques.start[q], cliques.start[q + 1]):
        cell += cliques.step[cliques.first[s] + x[cliques.column[s]]]
    return cell


@inlined_kernel
def _forced(k: int, x: Codes, cases: ColumnCases) -> int:
    """The code that rules force on column k of a record, or -1."""
    if cases.skips.offset[k] < 0:
        return -1
    return cases.forced[_cell(k, x, cases.skips)]


@inlined_kernel
def _keeps(k: int, x: Codes, cells: SetCells, cases: ColumnCases) -> bool:
    """Whether rules leave column k of a record its code."""
    if cases.left_start[k] < 0:
        return True
    case = _cell(k, x, cases.skips) - cases.skips.offset[k]
    return bool(cases.left[cases.left_start[k] + case * cells.size[k] + x[k]])


@inlined_kernel
def _row(k: int, h: int, x: Codes, cases: ColumnCases) -> int:
    """The row of shares that column k of a record has, in class h."""
    if cases.tables.offset[k] < 0:
        return h
    return _cell(k, x, cases.tables)


@inlined_kernel
def _place(u: float, sums: Floats, first: int, size: int) -> int:
    """The first of `size` places whose sum is at least u, or the last one; without a branch."""
    low, left = first, size
    while left > 1:
        half = left // 2
        low += half * (u > sums[low + half - 1])
        left -= half
    return low - first


@inlined_kernel
def _drawn(k: int, row: int, u: float, cells: SetCells, shares: Shares) -> int:
    """A code of column k from a row of shares, by a uniform number."""
    return _place(u, shares.sums, shares.offset[k] + row * cells.size[k], cells.size[k])


@inlined_kernel
def _shift(to: Cells, k: int, old: int, new: int, cells: SetCells) -> None:
    """Take the cells of a record to where column k has another code."""
    start = cells.start[k]
    m = cells.start[k + 1] - start
    here, there = cells.first[k] + m * old, cells.first[k] + m * new
    for s in range(m):
        to[cells.sets[start + s]] += cells.added[there + s] - cells.added[here + s]


@inlined_kernel
def _gain(a: int, b: int, gap: Floats, q: int, noise: NoisePrecision) -> float:
    """log P(noise) after less before, where a record leaves cell a of set q for cell b."""
    if a == b:
        return 0.0
    if noise.laplace:
        after, before = abs(gap[a] + 1.0) + abs(gap[b] - 1.0), abs(gap[a]) + abs(gap[b])
        return (before - after) * noise.precision[q]
    return (gap[b] - gap[a] - 1.0) * noise.precision[q]


@inlined_kernel
def _taken(x: Codes, y: Codes, at: Cells, to: Cells, gap: Floats) -> None:
    """Count record y, in cells `to`, in the place of record x, in cells `at`."""
    for q in range(len(at)):
        gap[at[q]] += 1.0
        gap[to[q]] -= 1.0
        at[q] = to[q]
    for k in range(len(x)):
        x[k] = y[k]


@kernel
def sweep(
    x: Codes,
    z: Places,
    gap: Floats,
    cells: SetCells,
    cases: ColumnCases,
    shares: Shares,
    noise: NoisePrecision,
    whole: bool,
    single: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Move each record once as a whole, if `whole`, and `single` columns of it; then its class.

    A whole proposal is a record of the model, with its class. A single one is a code from the
    column's row of shares, with the columns that rules then change. A record that rules bar is not
    accepted. The model's probabilities cancel, but for those of columns that a table gives, and the
    ratio of the noise's decides.
    Returns the shares of both kinds that were accepted.
    """
    n, K = x.shape
    H, Q = len(shares.shares), len(cells.begin)
    y = np.empty(K, dtype=np.int32)
    at, to = np.empty(Q, dtype=np.uint64), np.empty(Q, dtype=np.uint64)
    weight = np.empty(H)
    accepted, tried, moved = 0, 0, 0
    for i in range(n):
        record = x[i]
        if whole or single > 0:
            _copy(cells.begin, at)
            for k in range(K):
                m = cells.start[k + 1] - cells.start[k]
                for s in range(m):
                    at[cells.sets[cells.start[k] + s]] += cells.added[
                        cells.first[k] + m * record[k] + s
                    ]
        if whole:
            h = _place(rng.random(), shares.share_sums, 0, H)
            _copy(at, to)
            possible = True
            for k in range(K):
                fixed = _forced(k, y, cases)
                if fixed < 0:
                    fixed = _drawn(k, _row(k, h, y, cases), rng.random(), cells, shares)
                y[k] = fixed
                possible = possible and _keeps(k, y, cells, cases)
                if fixed != record[k]:
                    _shift(to, k, record[k], fixed, cells)
            ratio = 0.0
            for q in range(Q):
                ratio += _gain(at[q], to[q], gap, q, noise)
            if possible and (ratio >= 0.0 or rng.random() < math.exp(ratio)):
                accepted += 1
                z[i] = h
                _taken(record, y, at, to, gap)
        h = z[i]
        for _ in range(single):
            k = min(int(rng.random() * K), K - 1)
            if _forced(k, record, cases) >= 0:
                continue
            code = _drawn(k, _row(k, h, record, cases), rng.random(), cells, shares)
            if code == record[k]:
                continue
            tried += 1
            before_move = record[k]
            record[k] = code
            possible = _keeps(k, record, cells, cases)
            record[k] = before_move
            begin, end = cells.start[k], cells.start[k + 1]
            alone, ratio = True, 0.0
            if cases.after_start[k] < cases.after_start[k + 1]:
                _copy(record, y)
                y[k] = code
                for s in range(cases.after_start[k], cases.after_start[k + 1]):
                    j = cases.after[s]
                    before, fixed = _forced(j, record, cases), _forced(j, y, cases)
                    if fixed >= 0:
                        y[j] = fixed
                    else:
                        old, new = _row(j, h, record, cases), _row(j, h, y, cases)
                        if before >= 0 or (old != new and cases.redrawn[j]):
                            y[j] = _drawn(j, new, rng.random(), cells, shares)
                        elif old != new:
                            first = shares.offset[j] + record[j] * shares.rows[j]
                            ratio += math.log(shares.codes[first + new] / shares.codes[first + old])
                    alone = alone and y[j] == record[j]
                    possible = possible and _keeps(j, y, cells, cases)
            if not possible:
                continue
            if alone:
                for s in range(begin, end):
                    to[cells.sets[s]] = at[cells.sets[s]]
                _shift(to, k, record[k], code, cells)
                for s in range(begin, end):
                    q = cells.sets[s]
                    ratio += _gain(at[q], to[q], gap, q, noise)
            else:
                _copy(at, to)
                for j in range(K):
                    if y[j] != record[j]:
                        _shift(to, j, record[j], y[j], cells)
                for q in range(Q):
                    ratio += _gain(at[q], to[q], gap, q, noise)
            if ratio >= 0.0 or rng.random() < math.exp(ratio):
                moved += 1
                if alone:
                    record[k] = code
                    for s in range(begin, end):
                        q = cells.sets[s]
                        gap[at[q]] += 1.0
                        gap[to[q]] -= 1.0
                        at[q] = to[q]
                else:
                    _taken(record, y, at, to, gap)
        if H > 1:
            z[i] = _class(record, rng.random(), weight, cases, shares)
    return accepted / max(n, 1), moved / max(tried, 1)


@kernel
def impossible_records(
    n: int,
    needed: NDArray[np.bool_],
    cells: SetCells,
    cases: ColumnCases,
    shares: Shares,
    rng: np.random.Generator,
) -> tuple[Codes, Places]:
    """Records (m, K) that rules bar, drawn beside n that they leave, and their classes (m,).

    Only the `needed` columns (K,) are drawn: those that decide whether a record is barred.
    """
    K, H = len(needed), len(shares.shares)
    y = np.zeros(K, dtype=np.int32)
    found, of_class = np.empty((n, K), dtype=np.int32), np.empty(n, dtype=np.int64)
    kept, m = 0, 0
    while kept < n and m < _MOST * n:
        h = _place(rng.random(), shares.share_sums, 0, H)
        possible = True
        for k in range(K):
            if needed[k]:
                fixed = _forced(k, y, cases)
                if fixed < 0:
                    fixed = _drawn(k, _row(k, h, y, cases), rng.random(), cells, shares)
                y[k] = fixed
                possible = possible and _keeps(k, y, cells, cases)
        if possible:
            kept += 1
            continue
        if m == len(of_class):
            found = np.concatenate((found, np.empty_like(found)))
            of_class = np.concatenate((of_class, np.empty_like(of_class)))
        found[m] = y
        of_class[m] = h
        m += 1
    return found[:m], of_class[:m]


@inlined_kernel
def _summed(weight: Floats) -> float:
    """Replace weights by their running sums, and return the last one."""
    total = 0.0
    for h in range(len(weight)):
        total += weight[h]
        weight[h] = total
    return total


@inlined_kernel
def _class(x: Codes, u: float, weight: Floats, cases: ColumnCases, shares: Shares) -> int:
    """A class of a record, by a uniform number, from its probabilities given the record."""
    H = len(weight)
    _copy(shares.shares, weight)
    for k in range(len(x)):
        if cases.tables.offset[k] < 0 and _forced(k, x, cases) < 0:
            first = shares.offset[k] + x[k] * H
            for h in range(H):
                weight[h] *= shares.codes[first + h]
    total = _summed(weight)
    if total < _LEAST:
        for h in range(H):
            weight[h] = math.log(shares.shares[h])
        for k in range(len(x)):
            if cases.tables.offset[k] < 0 and _forced(k, x, cases) < 0:
                first = shares.offset[k] + x[k] * H
                for h in range(H):
                    weight[h] += math.log(shares.codes[first + h])
        most = weight[0]
        for h in range(1, H):
            most = max(most, weight[h])
        for h in range(H):
            weight[h] = math.exp(weight[h] - most)
        total = _summed(weight)
    return _place(u * total, weight, 0, H)


@kernel
def drawn_of_common(counts: Places, common: Floats, rng: np.random.Generator) -> Places:
    """How many records of each class and code (H, L) are draws of the common shares.

    `common` (L,) are these shares times the concentration.
    """
    H, L = counts.shape
    drawn = np.zeros((H, L), dtype=np.int64)
    for h in range(H):
        for code in range(L):
            for i in range(counts[h, code]):
                if i == 0 or rng.random() * (common[code] + i) < common[code]:
                    drawn[h, code] += 1
    return drawn
