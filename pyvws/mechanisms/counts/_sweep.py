"""Compiled sweeps over imputed records, given the parameters of latent classes.

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


class SetCells(NamedTuple):
    """Where the cells of the sets are: strides by set and column, and the sets of each column."""

    size: Places  # (K,) codes of a column
    start: Places  # (Q + 1,) first column of a set, among `column` and `stride`
    column: Places
    stride: Places
    offset: Places  # (Q,) first cell of a set
    with_start: Places  # (K + 1,) first set of a column, among `with_column`
    with_column: Places


class SkipCases(NamedTuple):
    """The skips of the columns: parents and strides, forced codes, and the columns that follow."""

    start: Places  # (K + 1,) first parent of a column, among `parent` and `stride`
    parent: Places
    stride: Places
    offset: Places  # (K,) first case of a column in `forced`, -1 without rules
    forced: Codes
    after_start: Places  # (K + 1,) first column that follows from a column, among `after`
    after: Places


class ClassShares(NamedTuple):
    """The parameters of the classes: shares, and codes' shares by class, as sums and as logs."""

    share_sums: Floats  # (H,)
    log_shares: Floats  # (H,)
    offset: Places  # (K,) first entry of a column in `sums`, by class, then code
    sums: Floats
    logs: Floats  # as sums, but by code, then class


class NoisePrecision(NamedTuple):
    """The noise: whether it is Laplace's, and 1 / b_q or 1 / sigma_q^2 (Q,)."""

    laplace: bool
    precision: Floats


@inlined_kernel
def _cell(q: int, x: Codes, cells: SetCells) -> int:
    """The cell of a record in set q."""
    found = cells.offset[q]
    for s in range(cells.start[q], cells.start[q + 1]):
        found += x[cells.column[s]] * cells.stride[s]
    return found


@inlined_kernel
def _forced(k: int, x: Codes, rules: SkipCases) -> int:
    """The code that rules force on column k of a record, or -1."""
    if rules.offset[k] < 0:
        return -1
    case = rules.offset[k]
    for s in range(rules.start[k], rules.start[k + 1]):
        case += x[rules.parent[s]] * rules.stride[s]
    return rules.forced[case]


@inlined_kernel
def _drawn(k: int, h: int, u: float, cells: SetCells, classes: ClassShares) -> int:
    """A code of column k from class h, by a uniform number."""
    first = classes.offset[k] + h * cells.size[k]
    low, high = 0, cells.size[k] - 1
    while low < high:
        middle = (low + high) // 2
        if u > classes.sums[first + middle]:
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
def _moved(x: Codes, y: Codes, gap: Floats, cells: SetCells) -> None:
    """Count record y in the place of record x."""
    for q in range(len(cells.offset)):
        gap[_cell(q, x, cells)] += 1.0
        gap[_cell(q, y, cells)] -= 1.0
    for k in range(len(x)):
        x[k] = y[k]


@kernel
def sweep(
    x: Codes,
    z: Places,
    gap: Floats,
    cells: SetCells,
    rules: SkipCases,
    classes: ClassShares,
    noise: NoisePrecision,
    whole: bool,
    single: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Move each record once as a whole, if `whole`, and `single` columns of it; then its class.

    A whole proposal is a record of the model, with its class; a single one is a code of the
    record's class, with the columns that rules then change. The model's probabilities cancel, and
    the ratio of the noise's decides. Returns the shares of both kinds that were accepted.
    """
    n, K = x.shape
    H, Q = len(classes.log_shares), len(cells.offset)
    y = np.empty(K, dtype=np.int32)
    weight = np.empty(H)
    accepted, tried, moved = 0, 0, 0
    for i in range(n):
        record = x[i]
        if whole:
            h = min(int(np.searchsorted(classes.share_sums, rng.random())), H - 1)
            for k in range(K):
                fixed = _forced(k, y, rules)
                y[k] = _drawn(k, h, rng.random(), cells, classes) if fixed < 0 else fixed
            ratio = 0.0
            for q in range(Q):
                a, b = _cell(q, record, cells), _cell(q, y, cells)
                if a != b:
                    ratio += _gain(gap[a], gap[b], noise.laplace, noise.precision[q])
            if ratio >= 0.0 or rng.random() < math.exp(ratio):
                accepted += 1
                z[i] = h
                _moved(record, y, gap, cells)
        h = z[i]
        for _ in range(single):
            k = min(int(rng.random() * K), K - 1)
            if _forced(k, record, rules) >= 0:
                continue
            code = _drawn(k, h, rng.random(), cells, classes)
            if code == record[k]:
                continue
            tried += 1
            y[:] = record
            y[k] = code
            alone = True
            for s in range(rules.after_start[k], rules.after_start[k + 1]):
                j = rules.after[s]
                before, fixed = _forced(j, record, rules), _forced(j, y, rules)
                if fixed >= 0:
                    y[j] = fixed
                elif before >= 0:
                    y[j] = _drawn(j, h, rng.random(), cells, classes)
                alone = alone and y[j] == record[j]
            ratio = 0.0
            if alone:
                for s in range(cells.with_start[k], cells.with_start[k + 1]):
                    q = cells.with_column[s]
                    a, b = _cell(q, record, cells), _cell(q, y, cells)
                    ratio += _gain(gap[a], gap[b], noise.laplace, noise.precision[q])
            else:
                for q in range(Q):
                    a, b = _cell(q, record, cells), _cell(q, y, cells)
                    if a != b:
                        ratio += _gain(gap[a], gap[b], noise.laplace, noise.precision[q])
            if ratio >= 0.0 or rng.random() < math.exp(ratio):
                moved += 1
                if alone:
                    for s in range(cells.with_start[k], cells.with_start[k + 1]):
                        q = cells.with_column[s]
                        gap[_cell(q, record, cells)] += 1.0
                        gap[_cell(q, y, cells)] -= 1.0
                    record[k] = code
                else:
                    _moved(record, y, gap, cells)
        if H > 1:
            z[i] = _class(record, rng.random(), weight, cells, rules, classes)
    return accepted / max(n, 1), moved / max(tried, 1)


@inlined_kernel
def _class(
    x: Codes, u: float, weight: Floats, cells: SetCells, rules: SkipCases, classes: ClassShares
) -> int:
    """A class of a record, by a uniform number, from its probabilities given the record."""
    H = len(weight)
    weight[:] = classes.log_shares
    for k in range(len(x)):
        if _forced(k, x, rules) < 0:
            first = classes.offset[k] + x[k] * H
            for h in range(H):
                weight[h] += classes.logs[first + h]
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
