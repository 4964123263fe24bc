"""Proportional odds for kernels: P(level j) = F(c_j - eta) - F(c_{j-1} - eta), F logistic.

For two cuts a < b a distance g apart, F(b) - F(a) = F(b) (1 - F(a)) (1 - exp(-g)): three factors
whose logarithms lose no digits in either tail.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pyvws._base.kernels import kernel
from pyvws.models._coefficient_prior import log_coefficient_prior
from pyvws.models._logit_link import log_sigmoid
from pyvws.models._scale_prior import log_half_t

__all__ = ["GAP_SCALE", "ordinal_cell_terms", "ordinal_log_density", "ordinal_table"]

GAP_SCALE = 2.5
"""Gaps between cuts ~ half-t(3, 0, 2.5)."""


@kernel
def _cuts(gaps: Any) -> tuple[Any, Any]:
    """Cuts (J - 1,) from 0 up by the gaps (J - 2,), and log(1 - exp(-gap)) of each level (J,)."""
    J = len(gaps) + 2
    cuts, inner = np.zeros(J - 1), np.zeros(J)
    for j in range(1, J - 1):
        cuts[j] = cuts[j - 1] + gaps[j - 1]
        inner[j] = math.log(-math.expm1(-gaps[j - 1]))
    return cuts, inner


@kernel
def _level(level: int, eta: float, cuts: Any) -> tuple[float, float, float]:
    """Log-likelihood but for `inner`, and its derivatives in the cuts above and below."""
    value, by_above, by_below = 0.0, 0.0, 0.0
    if level < len(cuts):
        value, by_above = log_sigmoid(cuts[level] - eta)
    if level > 0:
        log_over, under = log_sigmoid(eta - cuts[level - 1])
        value += log_over
        by_below = -under
    return value, by_above, by_below


@kernel
def ordinal_log_density(
    q: Any, rows: Any, row_of_cell: Any, level: Any, weight: Any, level_weight: Any, grad: Any
) -> float:
    """log prior + sum_i alpha_i log P(level_i); sums of alpha by cell (C,) and by level (J,)."""
    K, J = rows.shape[1], len(level_weight)
    first = len(q) - (J - 2)
    grad[:] = 0.0
    logp = log_coefficient_prior(q, K, grad)
    gaps = np.exp(q[first:])
    cuts, inner = _cuts(gaps)
    by_cut = np.zeros(J - 1)
    row, eta = -1, 0.0
    for c in range(len(level)):
        if weight[c] == 0.0:
            continue
        if row_of_cell[c] != row:  # Cells of a row follow each other.
            row, eta = row_of_cell[c], 0.0
            for k in range(K):
                eta += rows[row, k] * q[k]
        j = level[c]
        value, by_above, by_below = _level(j, eta, cuts)
        logp += weight[c] * value
        if j < J - 1:
            by_cut[j] += weight[c] * by_above
        if j > 0:
            by_cut[j - 1] += weight[c] * by_below
        slope = -weight[c] * (by_above + by_below)
        for k in range(K):
            grad[k] += slope * rows[row, k]
    beyond = 0.0
    for j in range(J - 2, 0, -1):
        prior, slope = log_half_t(q[first + j - 1], GAP_SCALE)
        logp += prior
        beyond += by_cut[j]
        inside = 0.0
        if level_weight[j] > 0.0:
            logp += level_weight[j] * inner[j]
            inside = level_weight[j] / math.expm1(gaps[j - 1])
        grad[first + j - 1] += slope + gaps[j - 1] * (beyond + inside)
    return logp


@kernel
def ordinal_cell_terms(
    q: Any,
    rows: Any,
    row_of_cell: Any,
    level: Any,
    J: int,
    log_lik: Any,
    by_eta: Any,
    by_extra: Any,
) -> None:
    """log P(level) of each cell, and its derivatives in eta and in the log gaps."""
    K = rows.shape[1]
    gaps = np.exp(q[len(q) - (J - 2) :])
    cuts, inner = _cuts(gaps)
    row, eta = -1, 0.0
    for c in range(len(level)):
        if row_of_cell[c] != row:
            row, eta = row_of_cell[c], 0.0
            for k in range(K):
                eta += rows[row, k] * q[k]
        j = level[c]
        value, by_above, by_below = _level(j, eta, cuts)
        log_lik[c] = value + inner[j]
        by_eta[c] = -(by_above + by_below)
        for m in range(J - 2):  # Gap m moves every cut after the first m + 1.
            change = 0.0
            if j > m and j < J - 1:
                change += by_above
            if j > m + 1:
                change += by_below
            if j == m + 1:
                change += 1.0 / math.expm1(gaps[m])
            by_extra[c, m] = gaps[m] * change


@kernel
def ordinal_table(eta: Any, gaps: Any, row_of_cell: Any, level: Any) -> Any:
    """Log-likelihoods (S, C) from eta (S, R) and gaps (S, J - 2)."""
    S, C = len(eta), len(level)
    table = np.empty((S, C))
    for s in range(S):
        cuts, inner = _cuts(gaps[s])
        for c in range(C):
            table[s, c] = _level(level[c], eta[s, row_of_cell[c]], cuts)[0] + inner[level[c]]
    return table
