"""Joint Lipschitz bounds of a table: several outcomes, each with draws of its own.

A record x_i = (y_i1, ..., y_iK) has l_i = sum_k l_ik, l_ik = log p_k(y_ik | y_i,<k, z_i; theta_k).
Given the weights the K fits are independent, so any draw of each makes one joint draw. Over all
pairings of the draws, the largest and the smallest alpha-weighted l_i of a record are sums by
column:

    U_i = sum_k max_s alpha_ik l_ik(theta_ks),  V_i = sum_k min_s alpha_ik l_ik(theta_ks).

Then Delta_i = max(|U_i|, |V_i|), Delta = max_i Delta_i and epsilon = 2 Delta: Equation 3 and
Algorithm 1 of [vws2024] with x_i a vector, over the product of the sets of draws.

A log probability never exceeds 0. With B_i the sum of Delta_ik over the columns that are log
densities, the weighted term of a record lies in [-Delta_i, min(Delta_i, B_i)] at every draw. One
draw then costs max_i [Delta_i + min(Delta_i, B_i)] with the weights held fixed (docs/strict.md).

Of units of several records the bounds are those of records, with l_h = sum_j l_hj in the place of
l_i. The sums of each column run over the product of the columns' draws, and neighbours differ by
one unit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array

from pyvws._base.checks import Floats, log_lik_matrix, same_length, weight_vector
from pyvws._base.cores import share_out
from pyvws.bounds.lipschitz import Accounting, Block, LipschitzBounds, blockwise_bounds
from pyvws.errors import InputError
from pyvws.tables.design.units import UnitKinds

_SEEN: Final = 200  # Records of the largest bounds, whose terms tell how bounds grow with draws.


@dataclass(frozen=True, slots=True)
class JointBounds:
    """Bounds of a table's records, all in nats, all larger = riskier.

    Attributes
    ----------
    by_record : ndarray, shape (N,)
        Delta_i: the largest size of a record's weighted sum over all pairings of the draws.
    by_column : ndarray, shape (N, K)
        Delta_ik = max_s |alpha_ik l_ik(theta_ks)| of each column alone.
    database : float
        Delta = max_i Delta_i.
    epsilon_of_separate_runs : float
        sum_k 2 max_i Delta_ik: the cost of one run a column under the same weights. Never below
        `epsilon`.
    windows : ndarray, shape (N,)
        w_i = Delta_i + min(Delta_i, B_i), the width of an interval that holds the record's weighted
        term at all draws. B_i is the sum of Delta_ik over the columns that are log densities.
    """

    by_record: Floats
    by_column: Floats
    database: float
    epsilon_of_separate_runs: float
    windows: Floats

    @property
    def epsilon(self) -> float:
        """2 Delta: the cost of one draw of all columns, and so of one synthetic table."""
        return 2.0 * self.database

    @property
    def epsilon_of_window(self) -> float:
        """max_i w_i: the cost of one draw under leave-one-out, with the weights held fixed.

        It is Delta where all terms are log probabilities, and 2 Delta where all are log densities.
        """
        return float(self.windows.max())


def joint_bounds(
    log_liks: Sequence[Any],
    *,
    weights: ArrayLike | None = None,
    probabilities: Sequence[bool] | NDArray[np.bool_] | None = None,
) -> JointBounds:
    """The joint bounds of K columns, over the product of the columns' draws.

    Parameters
    ----------
    log_liks : sequence of K array_like, each of shape (S_k, N)
        Unweighted log-likelihood of N records at the S_k draws of each column's fit, in nats. The
        numbers of draws may differ.
    weights : array_like, shape (N,) or (N, K), optional
        alpha_i for all columns of a record, or alpha_ik for each column, in [0, 1]; smaller = more
        protected. Every weight is 1 if left out.
    probabilities : sequence of K bool, optional
        Whether all terms of a column are log probabilities, which never exceed 0. Log densities if
        left out.

    Returns
    -------
    JointBounds
        With one column these are the bounds of `lipschitz_bounds`. A record with a non-finite
        log-likelihood under a weight above 0 has an infinite bound.

    Raises
    ------
    InputError
        If there is no column, a matrix is not (S, N), or the numbers of records differ. Also if a
        weight lies outside [0, 1], or a column of log probabilities has a term above 0.

    Examples
    --------
    >>> bounds = joint_bounds([[[-1.0, -2.0], [-3.0, -0.5]], [[0.5, -1.0]]])
    >>> bounds.by_record.tolist(), bounds.epsilon, bounds.epsilon_of_separate_runs
    ([2.5, 3.0], 6.0, 8.0)
    """
    if not isinstance(log_liks, Sequence | np.ndarray) or not len(log_liks):
        raise InputError.by("log-liks-not-a-list")
    matrices = [log_lik_matrix(matrix) for matrix in log_liks]
    records = matrices[0].shape[1]
    for matrix in matrices[1:]:
        same_length(matrix.T, matrices[0].T, ("columns of a matrix", "columns of the first"))
    alpha = _by_column(weights, records, len(matrices))
    high, low = (np.zeros((records, len(matrices))) for _ in range(2))
    for k, matrix in enumerate(matrices):
        used = alpha[:, k] > 0.0
        terms = np.where(np.isnan(matrix[:, used]), -np.inf, matrix[:, used])
        high[used, k], low[used, k] = terms.max(axis=0), terms.min(axis=0)
    by_record, by_column = _of_ends(high, low, alpha)
    discrete = _discrete(probabilities, len(matrices))
    if (high[:, discrete] > 0.0).any():
        raise InputError.by("log-probability-above-0")
    with np.errstate(over="ignore"):
        separate = 2.0 * float(by_column.max(axis=0).sum())
        windows = _windows(by_record, by_column, discrete)
    return JointBounds(by_record, by_column, float(by_record.max()), separate, windows)


def _discrete(
    probabilities: Sequence[bool] | NDArray[np.bool_] | None, columns: int
) -> NDArray[np.bool_]:
    """Whether the terms of each column (K,) are log probabilities; none where not said."""
    is_probability = np.zeros(columns, bool) if probabilities is None else np.asarray(probabilities)
    if is_probability.shape != (columns,) or is_probability.dtype != np.bool_:
        raise InputError.by("probabilities-length", columns=columns)
    return is_probability


def _windows(by_record: Floats, by_column: Floats, discrete: NDArray[np.bool_]) -> Floats:
    """w_i (N,) from Delta_i (N,) and Delta_ik (N, K)."""
    return window_widths(by_record, by_column[:, ~discrete].sum(axis=1))


def _of_ends(high: Floats, low: Floats, alpha: Floats) -> tuple[Floats, Floats]:
    """Delta_i (N,) and Delta_ik (N, K) of terms alpha_ik l_ik, l_ik between low and high (N, K).

    A weight of 0 makes the term 0, whatever the ends are.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        top, bottom = (np.where(alpha > 0.0, end * alpha, 0.0) for end in (high, low))
        by_column = np.maximum(np.abs(top), np.abs(bottom))
        highest, lowest = (np.zeros(len(alpha)) for _ in range(2))
        for k in range(alpha.shape[1]):  # One column after the other, as a reader adds them up.
            highest += top[:, k]
            lowest += bottom[:, k]
        by_record = np.maximum(np.abs(highest), np.abs(lowest))
    by_record[~np.isfinite(by_column).all(axis=1)] = np.inf
    return by_record, by_column


@dataclass(frozen=True, slots=True)
class ColumnTerms:
    """The log-likelihoods of one column's cells at S draws, in nats and without weights.

    `blocks` gives every `Block` of them, `at` those of some cells (m,) as (S, m), and
    `cell_of_record` (N,) is each record's cell among the `n_cells`, -1 where its term is 0.
    `probability` says whether all of them are log probabilities, which never exceed 0.
    """

    blocks: Callable[[], Iterable[Block]]
    at: Callable[[NDArray[np.intp]], Floats]
    cell_of_record: NDArray[np.intp]
    n_cells: int
    probability: bool = False


def blockwise_joint_bounds(
    columns: Sequence[ColumnTerms],
    *,
    draws: int,
    weights: Floats,
    exponents: Floats | None = None,
    threshold: float = 1.0,
    accounting: Accounting = "papers",
) -> tuple[LipschitzBounds, Floats]:
    """Joint bounds of the weighted l_i, and the unweighted bounds (N,), without any (S, N) matrix.

    `weights` are alpha_i (N,) or alpha_ik (N, K). The bounds have the same bits as `joint_bounds`
    of the whole matrices, and of one column as `lipschitz_bounds`, whose `threshold` it may have.
    `by_draw` of several columns pairs their draws by rank, for the records of the largest bounds.
    With `exponents` e_i (N,) of at least 0 both are bounds of e_i l_i. With `accounting` window the
    unweighted bounds are half the widths of the unweighted terms' windows.
    """
    K = len(columns)
    if K == 1:
        bounds, maxima = _of_one(columns[0], draws, weights, exponents, threshold)
        if not columns[0].probability:
            return bounds, maxima
        aimed = 0.5 * maxima if accounting == "window" else maxima
        return replace(bounds, windows=bounds.by_record, accounting=accounting), aimed
    high, low = (np.empty((len(weights), K)) for _ in range(2))
    for k, column in enumerate(columns):
        most, least = _ends(column)
        high[:, k], low[:, k] = _by_cell(most, column), _by_cell(least, column)
    alpha, alone = _by_column(weights, len(weights), K), np.ones((len(weights), K))
    if exponents is not None:
        alpha, alone = alpha * exponents[:, None], alone * exponents[:, None]
    by_record, by_column = _of_ends(high, low, alpha)
    maxima, alone_by_column = _of_ends(high, low, alone)
    discrete = np.array([column.probability for column in columns])
    windows = None
    if discrete.any():
        windows = _windows(by_record, by_column, discrete)
        if accounting == "window":
            maxima = 0.5 * _windows(maxima, alone_by_column, discrete)
    top = np.argsort(by_record)[-_SEEN:]
    sums = np.zeros((draws, len(top)))
    with np.errstate(invalid="ignore"):
        for k, column in enumerate(columns):
            has = column.cell_of_record[top] >= 0
            used, place = np.unique(column.cell_of_record[top[has]], return_inverse=True)
            terms = np.nan_to_num(column.at(used), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
            of_top = np.sort(terms, axis=0)[:, place]
            own = alpha[top[has], k]
            sums[:, has] += np.where(own > 0.0, of_top * own, 0.0)
    by_draw = np.abs(sums).max(axis=1)
    by_draw[np.isnan(by_draw)] = np.inf
    database = float(by_record.max())
    everything = np.ones(draws, dtype=np.bool_)
    bounds = LipschitzBounds(
        by_record, by_draw, database, everything, by_column, windows, accounting
    )
    return bounds, maxima


def _of_one(
    column: ColumnTerms, draws: int, weights: Floats, exponents: Floats | None, threshold: float
) -> tuple[LipschitzBounds, Floats]:
    """Bounds of one column's alpha_i e_i l_i, and max_s |e_i l_i| (N,); 0 without a term."""
    has, times = column.cell_of_record >= 0, 1.0 if exponents is None else exponents
    raised = weights.reshape(len(weights)) * times
    largest = np.zeros(column.n_cells)
    np.maximum.at(largest, column.cell_of_record[has], raised[has])
    bounds, maxima = blockwise_bounds(
        column.blocks,
        draws=draws,
        weights=raised[has],
        largest_weights=largest,
        cell_of_record=column.cell_of_record[has],
        threshold=threshold,
    )
    by_record, sizes = np.zeros((2, len(weights)))
    by_record[has], sizes[has] = bounds.by_record, maxima
    return replace(bounds, by_record=by_record), sizes * times


def _by_cell(of_cells: Floats, column: ColumnTerms) -> Floats:
    """The cells' values (C,) by record (N,), 0 for a record without a term."""
    return np.append(of_cells, 0.0)[column.cell_of_record]


def _ends(column: ColumnTerms) -> tuple[Floats, Floats]:
    """The largest and the smallest log-likelihood of each cell, (C,); NaN counts as -inf."""
    high, low = (np.full(column.n_cells, end) for end in (-np.inf, np.inf))
    lock = threading.Lock()

    def reduce(block: Block) -> None:
        _, cells, compute = block
        computed = compute()
        computed = np.where(np.isnan(computed), -np.inf, computed)
        most, least = computed.max(axis=0), computed.min(axis=0)
        with lock:
            np.maximum(high[cells], most, out=high[cells])
            np.minimum(low[cells], least, out=low[cells])

    share_out(reduce, column.blocks())
    return high, low


def _by_column(weights: ArrayLike | None, records: int, columns: int) -> Floats:
    """alpha_ik (N, K) from weights (N,), (N, K) or None."""
    if weights is None:
        return np.ones((records, columns))
    try:
        given = np.asarray(weights)
    except ValueError:
        raise InputError.by("weights-not-numbers") from None
    if given.ndim != 2:
        given = np.repeat(weight_vector(weights)[:, None], columns, axis=1)
    if given.shape != (records, columns):
        raise InputError.by(
            "weights-shape", records=records, it=(records, columns), shape=np.shape(weights)
        )
    return np.column_stack([weight_vector(column) for column in given.T])


def window_widths(by_record: Floats, of_densities: Floats) -> Floats:
    """w_i = Delta_i + min(Delta_i, B_i), in nats; larger = riskier.

    The weighted term of record i lies in [-Delta_i, min(Delta_i, B_i)] at every draw: a log
    probability is at most 0, and log densities add at most B_i (N,), the sum of their bounds.
    """
    return np.asarray(by_record + np.minimum(by_record, of_densities))


ENTRIES: Final = 1 << 20  # Log-likelihoods of records at once, 8 MB.


def unit_terms(terms: ColumnTerms, kinds: UnitKinds, draws: int) -> ColumnTerms:
    """The log-likelihoods of the kinds of units at S draws, from those of the records' cells.

    A block has some kinds of units at all draws. No matrix of all units by draws is made. A record
    whose log-likelihood is not a number makes its unit's sum -inf. A unit of one record has the
    record's own terms, to the bit.
    """

    most = max(1, ENTRIES // max(1, draws))  # Cells of records at once.

    def at(places: NDArray[np.intp]) -> Floats:
        counts = kinds.counts[places]
        used, place = np.unique(counts.indices, return_inverse=True)
        sparse = csc_array(
            csr_array((counts.data, place, counts.indptr), shape=(len(places), len(used)))
        )
        sums = np.zeros((len(places), draws))
        for first in range(0, len(used), most):
            cells = slice(first, first + most)
            values = terms.at(used[cells])
            values = np.ascontiguousarray(np.where(np.isnan(values), -np.inf, values).T)
            sums += sparse[:, cells] @ values
        return np.ascontiguousarray(sums.T)

    def blocks() -> Iterator[Block]:
        lengths = np.cumsum(np.diff(kinds.counts.indptr)) // most
        starts = np.flatnonzero(np.diff(lengths, prepend=-1))
        for start, end in zip(starts, [*starts[1:], kinds.n_kinds], strict=False):
            places = np.arange(start, end)
            yield slice(0, draws), slice(int(start), int(end)), partial(at, places)

    return ColumnTerms(blocks, at, kinds.of_unit, kinds.n_kinds, terms.probability)
