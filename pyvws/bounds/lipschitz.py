"""Lipschitz bounds: how far one record can move the log pseudo posterior.

A record's bound is Delta_{alpha,x_i} = max_s |alpha_i log p(x_i | theta_s)|. The database bound is
Delta_{alpha,x} = max_i Delta_{alpha,x_i}, and epsilon_x = 2 Delta_{alpha,x} (Algorithm 1, steps 1
to 3, 6 and 7 of [vws2024]). The bounds are local to the database and estimated from S posterior
draws.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, Ints, choice, log_lik_matrix, threshold_level
from pyvws._base.cores import share_out
from pyvws._base.kernels import kernel
from pyvws.errors import InputError
from pyvws.r_numbers import rarith

Block = tuple[slice, slice, Callable[[], Floats]]
"""Places of B draws, places of C cells, and a function that gives their log-likelihoods (B, C)."""

Accounting = Literal["papers", "window"]
"""What a search aims at: 2 Delta as the papers, or the width of the window of a record's term."""


@dataclass(frozen=True, slots=True)
class LipschitzBounds:
    """Bounds of a log-likelihood matrix, all in nats, all larger = riskier.

    Attributes
    ----------
    by_record : ndarray, shape (N,)
        Delta_{alpha,x_i}: the largest absolute value over the kept draws.
    by_draw : ndarray, shape (S,)
        The largest absolute value over the records, before any draw is dropped.
    database : float
        Delta_{alpha,x}: the `threshold` quantile (type 7) of `by_draw`; at 1 the maximum.
    kept_draws : ndarray of bool, shape (S,)
        Draws whose `by_draw` does not exceed `database`; all draws at a threshold of 1.
    by_column : ndarray, shape (N, K), optional
        For a table of several outcomes, Delta_{alpha,x_ik} of each column alone. The other bounds
        then belong to a record's sum over columns, over all pairings of the columns' draws. Place s
        of `by_draw` pairs the s-th smallest terms of the columns.
    windows : ndarray, shape (N,), optional
        The width w_i of an interval that holds the record's weighted term at the kept draws, where
        some terms are log probabilities (`window_widths`). Without it w_i is 2 Delta_{alpha,x_i}.
    accounting : {"papers", "window"}
        Whether searches aim at 2 Delta_{alpha,x} or at the largest w_i.
    """

    by_record: Floats
    by_draw: Floats
    database: float
    kept_draws: NDArray[np.bool_]
    by_column: Floats | None = None
    windows: Floats | None = None
    accounting: Accounting = "papers"

    @property
    def epsilon(self) -> float:
        """epsilon_x = 2 Delta_{alpha,x}: the cost of one draw, and so of one synthetic dataset."""
        return 2.0 * self.database

    @property
    def epsilon_of_window(self) -> float:
        """max_i w_i: the cost of one draw under leave-one-out, with the weights held fixed."""
        if self.windows is None:
            return self.epsilon
        return self.database if self.by_column is None else float(self.windows.max())

    @property
    def aimed(self) -> LipschitzBounds:
        """The bounds that a search reads: these, or w_i / 2 in the place of Delta_i."""
        if self.accounting == "papers" or self.windows is None:
            return self
        return replace(
            self, by_record=0.5 * self.windows, database=0.5 * self.epsilon_of_window, windows=None
        )

    @property
    def separate(self) -> Floats:
        """2 max_i Delta_{alpha,x_ik} (K,): what a run of each column alone costs."""
        by_column = self.by_record[:, None] if self.by_column is None else self.by_column
        return np.asarray(2.0 * by_column.max(axis=0))

    def clamped(self, limit: float, *, share: float = 1.0) -> LipschitzBounds:
        """A share of the bounds, in nats, of terms that a fit keeps within [-limit, limit]."""
        own = self.by_column
        return LipschitzBounds(
            share * np.minimum(self.by_record, limit),
            share * np.minimum(self.by_draw, limit),
            share * min(self.database, limit),
            self.kept_draws,
            None if own is None else share * np.minimum(own, limit),
        )


def lipschitz_bounds(
    log_lik: ArrayLike,
    *,
    method: Literal["direct", "leave_one_out"] = "direct",
    threshold: float = 1.0,
) -> LipschitzBounds:
    """Lipschitz bounds of a log-likelihood matrix (Algorithm 1 of [vws2024]).

    Parameters
    ----------
    log_lik : array_like, shape (S, N)
        Log-likelihood of N records at S posterior draws, in nats. For the bounds of a weighted fit
        the caller multiplies by the weights first.
    method : {"direct", "leave_one_out"}
        "direct" takes |l_i(theta_s)|. "leave_one_out" takes
        |sum_j l_j(theta_s) - sum_{j != i} l_j(theta_s)|, as the paper's R listing does, with R's
        extended-precision sums. The two methods give the same number but for rounding.
        "leave_one_out" costs S N^2 / 2 sums.
    threshold : float
        Level, in (0, 1], of the quantile of the draws' maxima that is the database bound. Only 1
        supports the guarantee; below 1 the bound is optimistic.

    Returns
    -------
    LipschitzBounds
        A record with a non-finite log-likelihood has an infinite bound (larger = riskier).

    Raises
    ------
    InputError
        If log_lik is not (S, N), or threshold or method is not allowed.

    Examples
    --------
    >>> bounds = lipschitz_bounds([[-1.0, -2.0], [-3.0, -0.5]])
    >>> bounds.by_record.tolist(), bounds.epsilon
    ([3.0, 2.0], 6.0)
    """
    matrix = log_lik_matrix(log_lik)
    level = threshold_level(threshold)
    choice(method, "method", ("direct", "leave_one_out"))
    ratios = matrix if method == "direct" else _leave_one_out(matrix)
    by_draw, by_record = largest_sizes(ratios)
    database, kept = _threshold(by_draw, level)
    if not kept.all():
        kept_record = largest_sizes(ratios[kept])[1]
        by_record = np.where(np.isfinite(by_record), kept_record, np.inf)
    return LipschitzBounds(by_record, by_draw, database, kept)


def blockwise_bounds(
    blocks: Callable[[], Iterable[Block]],
    *,
    draws: int,
    weights: Floats,
    largest_weights: Floats,
    cell_of_record: NDArray[np.intp],
    threshold: float = 1.0,
) -> tuple[LipschitzBounds, Floats]:
    """Bounds of alpha_i l_i, and the unweighted max_s |l_i| (N,), without the (S, N) matrix.

    Each call of `blocks` gives every `Block` of the unweighted log-likelihood by cell, in nats.
    Below a threshold of 1 the function calls `blocks` twice. Weights alpha_i are (N,), and the
    largest weights of the cells are (C,). A weight of 0 makes the record's bound 0. The result has
    the same bits as `lipschitz_bounds` of the whole weighted matrix, since rounding keeps order.
    """
    everything = np.ones(draws, dtype=np.bool_)
    by_draw, maxima = _reduced(blocks(), everything, largest_weights)
    database, kept = _threshold(by_draw, threshold_level(threshold))
    kept_maxima = maxima
    if not kept.all():
        _, kept_maxima = _reduced(blocks(), kept, largest_weights)
        kept_maxima[~np.isfinite(maxima)] = np.inf
    by_record = np.zeros(len(weights))
    positive = weights > 0
    by_record[positive] = weights[positive] * kept_maxima[cell_of_record][positive]
    return LipschitzBounds(by_record, by_draw, database, kept), maxima[cell_of_record]


def _reduced(
    blocks: Iterable[Block], kept: NDArray[np.bool_], largest_weights: Floats
) -> tuple[Floats, Floats]:
    """max_i alpha_i |l_i| of each draw (S,) and max_s |l_i| of each cell (C,), over kept draws.

    The order of the blocks does not change a largest value, so threads change nothing.
    """
    by_draw, maxima = np.zeros(len(kept)), np.zeros(len(largest_weights))
    lock = threading.Lock()

    def reduce(block: Block) -> None:
        rows, columns, compute = block
        log_lik = compute()
        if not kept[rows].all():
            log_lik = log_lik[kept[rows]]
        log_lik = np.ascontiguousarray(log_lik)
        by_row, by_column = np.zeros(len(log_lik)), np.zeros(log_lik.shape[1])
        add_largest(log_lik, largest_weights[columns], by_row, by_column)
        with lock:
            places = np.flatnonzero(kept[rows]) + rows.start
            by_draw[places] = np.maximum(by_draw[places], by_row)
            np.maximum(maxima[columns], by_column, out=maxima[columns])

    share_out(reduce, blocks)
    return by_draw, maxima


def _threshold(by_draw: Floats, level: float) -> tuple[float, NDArray[np.bool_]]:
    """The quantile L of the draws' maxima, and the draws that do not exceed it."""
    if level == 1.0:
        return float(by_draw.max()), np.ones(len(by_draw), dtype=np.bool_)
    database = float(rarith.quantile(by_draw, level))
    return database, np.asarray(by_draw <= database)


def _leave_one_out(log_lik: Floats) -> Floats:
    """|sum of a row - sum of the row without i|, every sum in order and in extended precision.

    The sum without record i starts from the sum of the first i - 1 terms, which the full sum has
    too. The loop adds each later term to all such sums at once.
    """
    if not np.isfinite(log_lik).all():
        raise InputError.by("leave-one-out-infinite")
    draws, records = log_lik.shape
    without = np.zeros((records, draws), dtype=np.longdouble)
    prefix = np.zeros(draws, dtype=np.longdouble)
    for i, column in enumerate(np.ascontiguousarray(log_lik.T).astype(np.longdouble)):
        without[:i] += column
        without[i] = prefix
        prefix = prefix + column
    full = prefix.astype(np.float64)
    return np.abs(full - without.astype(np.float64)).T


# The bits of a double without its sign, read as a whole number, keep the order of the doubles.
# Infinity and NaN come last. The largest whole number is the same in any order of comparison, so
# the compiler may compare several numbers at once.
_SIZE: Final = 0x7FFFFFFFFFFFFFFF
_INFINITY: Final = 0x7FF0000000000000


def add_largest(block: Floats, weight: Floats, by_row: Floats, by_column: Floats) -> None:
    """Raise by_row (B,) to max_c |x_bc| weight_c and by_column (C,) to max_b |x_bc|, in place.

    Columns of weight 0 do not count by row. NaN counts as infinite.
    """
    weighted = np.empty(block.shape[1])
    rows, columns = by_row.view(np.int64), by_column.view(np.int64)
    bits = weighted.view(np.int64)
    _add_largest_bits(block.view(np.int64), weight, rows, columns, weighted, bits)


@kernel
def _add_largest_bits(
    block: Ints, weight: Floats, by_row: Ints, by_column: Ints, weighted: Floats, bits: Ints
) -> None:
    """As `add_largest`, of bits; overwrites `weighted` (C,), whose bits are `bits`."""
    for b in range(block.shape[0]):
        for c in range(block.shape[1]):
            size = block[b, c] & _SIZE
            size = size if size < _INFINITY else _INFINITY
            bits[c] = size
            by_column[c] = size if size > by_column[c] else by_column[c]
        for c in range(block.shape[1]):
            weighted[c] = weighted[c] * weight[c] if weight[c] > 0.0 else 0.0
        largest = by_row[b]
        for c in range(block.shape[1]):
            largest = bits[c] if bits[c] > largest else largest
        by_row[b] = largest


@kernel
def _largest_bits(bits: Ints, by_row: Ints, by_column: Ints) -> None:
    for s in range(bits.shape[0]):
        largest = np.int64(0)
        for i in range(bits.shape[1]):
            size = bits[s, i] & _SIZE
            by_column[i] = max(by_column[i], size)
            largest = max(largest, size)
        by_row[s] = largest


def largest_sizes(matrix: Floats) -> tuple[Floats, Floats]:
    """max_i |x_si| (S,) and max_s |x_si| (N,); infinite where an entry is infinite or NaN."""
    if matrix.flags.f_contiguous and not matrix.flags.c_contiguous:
        by_column, by_row = largest_sizes(matrix.T)
        return by_row, by_column
    bits = np.ascontiguousarray(matrix).view(np.int64)
    rows, columns = (np.zeros(size, dtype=np.int64) for size in matrix.shape)
    _largest_bits(bits, rows, columns)
    return _as_sizes(rows), _as_sizes(columns)


def _as_sizes(bits: NDArray[np.int64]) -> Floats:
    return np.minimum(bits, _INFINITY).view(np.float64)


def centre_and_spread(by_record: Floats, counts: Floats | None = None) -> tuple[float, float]:
    """Mean and standard deviation of finite bounds (N,), at least two, in nats, to R's bits.

    Each bound stands for `counts` (N,) records, by default 1.
    """
    each = by_record if counts is None else np.repeat(by_record, counts.astype(np.intp))
    return rarith.mean(each), float(np.sqrt(rarith.var(each)))
