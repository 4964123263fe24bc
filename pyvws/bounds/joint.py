"""Joint Lipschitz bounds of a table: several outcomes, each with draws of its own.

A record x_i = (y_i1, ..., y_iK) has l_i = sum_k l_ik, l_ik = log p_k(y_ik | y_i,<k, z_i; theta_k).
Given the weights the K fits are independent, so any draw of each makes one joint draw. Over all
pairings of the draws, the largest and the smallest alpha-weighted l_i of a record are sums by
column:

    U_i = sum_k max_s alpha_ik l_ik(theta_ks),  V_i = sum_k min_s alpha_ik l_ik(theta_ks).

Then Delta_i = max(|U_i|, |V_i|), Delta = max_i Delta_i and epsilon = 2 Delta: Equation 3 and
Algorithm 1 of [vws2024] with x_i a vector, over the product of the sets of draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyvws._base.checks import Floats, log_lik_matrix, same_length, weight_vector
from pyvws.errors import InputError

__all__ = ["JointBounds", "joint_bounds"]


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
    """

    by_record: Floats
    by_column: Floats
    database: float
    epsilon_of_separate_runs: float

    @property
    def epsilon(self) -> float:
        """2 Delta: the cost of one draw of all columns, and so of one synthetic table."""
        return 2.0 * self.database


def joint_bounds(log_liks: Sequence[Any], *, weights: Any = None) -> JointBounds:
    """The joint bounds of K columns, over the product of the columns' draws.

    Parameters
    ----------
    log_liks : sequence of K array_like, each of shape (S_k, N)
        Unweighted log-likelihood of N records at the S_k draws of each column's fit, in nats. The
        numbers of draws may differ.
    weights : array_like, shape (N,) or (N, K), optional
        alpha_i for all columns of a record, or alpha_ik for each column, in [0, 1]; smaller = more
        protected. Every weight is 1 if left out.

    Returns
    -------
    JointBounds
        With one column these are the bounds of `lipschitz_bounds`. A record with a non-finite
        log-likelihood under a weight above 0 has an infinite bound.

    Raises
    ------
    InputError
        If there is no column, a matrix is not (S, N), the numbers of records differ, or a weight
        lies outside [0, 1].

    Examples
    --------
    >>> bounds = joint_bounds([[[-1.0, -2.0], [-3.0, -0.5]], [[0.5, -1.0]]])
    >>> bounds.by_record.tolist(), bounds.epsilon, bounds.epsilon_of_separate_runs
    ([2.5, 3.0], 6.0, 8.0)
    """
    if not isinstance(log_liks, Sequence | np.ndarray) or not len(log_liks):
        raise InputError("log_liks must be a list of matrices (S, N), one for each column.")
    matrices = [log_lik_matrix(matrix) for matrix in log_liks]
    records = matrices[0].shape[1]
    for matrix in matrices[1:]:
        same_length(matrix.T, matrices[0].T, ("columns of a matrix", "columns of the first"))
    alpha = _by_column(weights, records, len(matrices))
    highest, lowest = (np.zeros(records) for _ in range(2))
    by_column = np.zeros((records, len(matrices)))
    for k, matrix in enumerate(matrices):
        used = alpha[:, k] > 0.0
        terms = np.where(np.isnan(matrix[:, used]), -np.inf, matrix[:, used]) * alpha[used, k]
        top, bottom = terms.max(axis=0), terms.min(axis=0)
        by_column[used, k] = np.maximum(np.abs(top), np.abs(bottom))
        with np.errstate(over="ignore", invalid="ignore"):
            highest[used] += top
            lowest[used] += bottom
    with np.errstate(over="ignore", invalid="ignore"):
        by_record = np.maximum(np.abs(highest), np.abs(lowest))
        by_record[~np.isfinite(by_column).all(axis=1)] = np.inf
        separate = 2.0 * float(by_column.max(axis=0).sum())
    return JointBounds(by_record, by_column, float(by_record.max()), separate)


def _by_column(weights: Any, records: int, columns: int) -> Floats:
    """alpha_ik (N, K) from weights (N,), (N, K) or None."""
    if weights is None:
        return np.ones((records, columns))
    try:
        given = np.asarray(weights)
    except ValueError:
        raise InputError("weights must be numbers, one for each record or (N, K).") from None
    if given.ndim != 2:
        given = np.repeat(weight_vector(weights)[:, None], columns, axis=1)
    if given.shape != (records, columns):
        raise InputError(
            f"weights must have one entry for each of the {records} records, or shape "
            f"{(records, columns)}: a column for each matrix. Got shape {np.shape(weights)}."
        )
    return np.column_stack([weight_vector(column) for column in given.T])
