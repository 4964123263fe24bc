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
Codes = NDArray[np.int32]


class Crossings(NamedTuple):
    """Combinations of columns: where each of Q is counted, by steps of its columns' codes."""

    start: Places  # (Q + 1,) first column of a combination, among `column` and `first`
    column: Places
    first: Places  # where the steps of a column's codes begin, among `step`
    step: Places
    offset: Places  # (Q,) number of the first combination, -1 without any


class SetCells(NamedTuple):
    """Where the cells of the sets are, and the sets of each column."""

    size: Places  # (K,) codes of a column
    sets: Crossings
    with_start: Places  # (K + 1,) first set of a column, among `with_column`
    with_column: Places


class ColumnCases(NamedTuple):
    """What rules force on columns, the tables that give columns, and the columns that follow."""

    skips: Crossings  # by column: its case, among `forced`
    forced: Codes
    tables: Crossings  # by column: its row of a table, else its row is the class
    redrawn: NDArray[np.bool_]  # (K,) whether another row asks for another code
    after_start: Places  # (K + 1,) first column that follows from a column, among `after`
    after: Places


class Shares(NamedTuple):
    """The parameters: shares of classes, and codes' shares by row, as sums and as logs."""

    share_sums: Floats  # (H,)
    log_shares: Floats  # (H,)
    offset: Places  # (K,) first entry of a column in `sums`, by row, then code
    rows: Places  # (K,) rows of a column: H classes, or those of its table
    sums: Floats
    logs: Floats  # as sums, but by code, then row


class NoisePrecision(NamedTuple):
    """The noise: whether it is Laplace's, and 1 / b_q or 1 / sigma_q^2 (Q,)."""

    laplace: bool
    precision: Floats


@inlined_kernel
def _cell(q: int, x: Codes, of: Crossings) -> int:
    """The number of the combination that a record has, of combination q."""
    found = of.offset[q]
    for s in range(of.start[q], of.start[q + 1]):
        found += of.step[of.first[s] + x[of.column[s]]]
    return found


@inlined_kernel
def _forced(k: int, x: Codes, cases: ColumnCases) -> int:
    """The code that rules force on column k of a record, or -1."""
    if cases.skips.offset[k] < 0:
        return -1
    return cases.forced[_cell(k, x, cases.skips)]


@inlined_kernel
def _row(k: int, h: int, x: Codes, cases: ColumnCases) -> int:
    """The row of shares that column k of a record has, in class h."""
    if cases.tables.offset[k] < 0:
        return h
    return _cell(k, x, cases.tables)


@inlined_kernel
def _drawn(k: int, row: int, u: float, cells: SetCells, shares: Shares) -> int:
    """A code of column k from a row of shares, by a uniform number."""
    first = shares.offset[k] + row * cells.size[k]
    low, high = 0, cells.size[k] - 1
    while low < high:
        middle = (low + high) // 2
        if u > shares.sums[first + middle]:
            low = middle + 1
        else:
            high = middle
    return low


@inlined_kernel
def _gain(a: float, b: float, laplace: bool, precision: float) -> float:
    """log P(noise) after less before, where a record leaves a cell of gap a for one of gap b."""
    if laplace:
        return (abs(a) - abs(a + 1.0) + abs(b) - abs(b - 1.0)) * precision
    return (b - a - 1.0) * precision


@inlined_kernel
def _moved(x: Codes, y: Codes, gap: Floats, sets: Crossings) -> None:
    """Count record y in the place of record x."""
    for q in range(len(sets.offset)):
        gap[_cell(q, x, sets)] += 1.0
        gap[_cell(q, y, sets)] -= 1.0
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
    column's row of shares, with the columns that rules then change. The model's probabilities
    cancel, but for those of columns that a table gives, and the ratio of the noise's decides.
    Returns the shares of both kinds that were accepted.
    """
    n, K = x.shape
    sets = cells.sets
    H, Q = len(shares.log_shares), len(sets.offset)
    y = np.empty(K, dtype=np.int32)
    weight = np.empty(H)
    accepted, tried, moved = 0, 0, 0
    for i in range(n):
        record = x[i]
        if whole:
            h = min(int(np.searchsorted(shares.share_sums, rng.random())), H - 1)
            for k in range(K):
                fixed = _forced(k, y, cases)
                if fixed < 0:
                    fixed = _drawn(k, _row(k, h, y, cases), rng.random(), cells, shares)
                y[k] = fixed
            ratio = 0.0
            for q in range(Q):
                a, b = _cell(q, record, sets), _cell(q, y, sets)
                if a != b:
                    ratio += _gain(gap[a], gap[b], noise.laplace, noise.precision[q])
            if ratio >= 0.0 or rng.random() < math.exp(ratio):
                accepted += 1
                z[i] = h
                _moved(record, y, gap, sets)
        h = z[i]
        for _ in range(single):
            k = min(int(rng.random() * K), K - 1)
            if _forced(k, record, cases) >= 0:
                continue
            code = _drawn(k, _row(k, h, record, cases), rng.random(), cells, shares)
            if code == record[k]:
                continue
            tried += 1
            y[:] = record
            y[k] = code
            alone, ratio = True, 0.0
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
                        ratio += shares.logs[first + new] - shares.logs[first + old]
                alone = alone and y[j] == record[j]
            if alone:
                for s in range(cells.with_start[k], cells.with_start[k + 1]):
                    q = cells.with_column[s]
                    a, b = _cell(q, record, sets), _cell(q, y, sets)
                    if a != b:
                        ratio += _gain(gap[a], gap[b], noise.laplace, noise.precision[q])
            else:
                for q in range(Q):
                    a, b = _cell(q, record, sets), _cell(q, y, sets)
                    if a != b:
                        ratio += _gain(gap[a], gap[b], noise.laplace, noise.precision[q])
            if ratio >= 0.0 or rng.random() < math.exp(ratio):
                moved += 1
                if alone:
                    for s in range(cells.with_start[k], cells.with_start[k + 1]):
                        q = cells.with_column[s]
                        gap[_cell(q, record, sets)] += 1.0
                        gap[_cell(q, y, sets)] -= 1.0
                    record[k] = code
                else:
                    _moved(record, y, gap, sets)
        if H > 1:
            z[i] = _class(record, rng.random(), weight, cases, shares)
    return accepted / max(n, 1), moved / max(tried, 1)


@inlined_kernel
def _class(x: Codes, u: float, weight: Floats, cases: ColumnCases, shares: Shares) -> int:
    """A class of a record, by a uniform number, from its probabilities given the record."""
    H = len(weight)
    weight[:] = shares.log_shares
    for k in range(len(x)):
        if cases.tables.offset[k] < 0 and _forced(k, x, cases) < 0:
            first = shares.offset[k] + x[k] * H
            for h in range(H):
                weight[h] += shares.logs[first + h]
    top = weight.max()
    total = 0.0
    for h in range(H):
        weight[h] = math.exp(weight[h] - top)
        total += weight[h]
    left, h = u * total, 0
    while h < H - 1 and left > weight[h]:
        left -= weight[h]
        h += 1
    return h
