"""The beta density in its mean and precision form, arranged so that no large terms cancel.

With m = mu, r = 1 - mu, a = m kappa, b = r kappa and h(x) = x log x - x - log Gamma(x),

    log Gamma(kappa) - log Gamma(a) - log Gamma(b) + a log v + b log(1 - v)
        = h(a) + h(b) - h(kappa) + kappa (m (log v - log m) + r (log(1 - v) - log r)).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pyvws._base.kernels import kernel
from pyvws.models._coefficient_prior import log_coefficient_prior
from pyvws.models._gamma import stirling_gap
from pyvws.models._logit_link import sigmoid_parts
from pyvws.models._scale_prior import log_half_cauchy

__all__ = ["INVERSE_KAPPA_SCALE", "beta_cell_terms", "beta_log_density", "beta_table"]

INVERSE_KAPPA_SCALE = 5.0
"""1/kappa ~ half-Cauchy(0, 5), as 1/phi of the negative binomial."""


@kernel
def _row(eta: float, kappa: float, whole: Any) -> Any:
    """Of a design row: m, r, log m, log r, the gap h(a) + h(b) - h(kappa), and the derivatives of
    that gap in logit m and in kappa. `whole` is stirling_gap(kappa).
    """
    m, r, log_m, log_r = sigmoid_parts(eta)
    gap_a, slope_a = stirling_gap(m * kappa)
    gap_b, slope_b = stirling_gap(r * kappa)
    by_eta = kappa * m * r * (slope_a - slope_b)
    by_kappa = m * slope_a + r * slope_b - whole[1]
    return m, r, log_m, log_r, gap_a + gap_b - whole[0], by_eta, by_kappa


@kernel
def _term(part: Any, kappa: float, log_v: float, log_rest: float) -> tuple[float, float, float]:
    """log Beta(v | m kappa, r kappa) from `_row`'s m, r, log m, log r and gap, and what its
    derivatives need: m (log v - log m) + r (log(1 - v) - log r) and log(v / (1 - v)).

    At v = 0 the term is infinite, with the sign of 1 - m kappa, or finite where m kappa is 1; at
    v = 1 likewise with r. What its derivatives need is then that of its finite part.
    """
    m, r, log_m, log_r, gap = part
    at_0, at_1 = log_v == -math.inf, log_rest == -math.inf
    near, far = 0.0 if at_0 else log_v, 0.0 if at_1 else log_rest
    miss = m * (near - log_m) + r * (far - log_r)
    term = gap + kappa * miss - near - far
    excess = 0.0
    if at_0:
        excess = m * kappa - 1.0
    elif at_1:
        excess = r * kappa - 1.0
    if excess != 0.0:
        term = -math.inf if excess > 0.0 else math.inf
    return term, miss, near - far


@kernel
def beta_log_density(q: Any, rows: Any, weight: Any, log_v: Any, log_rest: Any, grad: Any) -> float:
    """log prior + sum_i alpha_i log Beta(v_i | mu_i kappa, (1 - mu_i) kappa), up to a constant.

    weight, and the weighted means log_v of log v and log_rest of log(1 - v), are by design row.
    """
    R, K = rows.shape
    D = len(q)
    grad[:] = 0.0
    logp = log_coefficient_prior(q, K, grad)
    kappa = math.exp(-q[D - 1])
    prior, slope = log_half_cauchy(q[D - 1], INVERSE_KAPPA_SCALE)
    logp += prior
    whole = stirling_gap(kappa)
    for r in range(R):
        if weight[r] == 0.0:
            continue
        eta = 0.0
        for k in range(K):
            eta += rows[r, k] * q[k]
        mu, rest, log_mu, log_rest_mu, gap, by_eta, by_kappa = _row(eta, kappa, whole)
        miss = mu * (log_v[r] - log_mu) + rest * (log_rest[r] - log_rest_mu)
        logp += weight[r] * (gap + kappa * miss)
        by_eta += kappa * mu * rest * (log_v[r] - log_rest[r] - eta)
        slope -= kappa * weight[r] * (by_kappa + miss)
        for k in range(K):
            grad[k] += weight[r] * by_eta * rows[r, k]
    grad[D - 1] += slope
    return logp


@kernel
def beta_cell_terms(
    q: Any,
    rows: Any,
    row_of_cell: Any,
    log_v: Any,
    log_rest: Any,
    log_lik: Any,
    by_eta: Any,
    by_extra: Any,
) -> None:
    """log Beta(v | mu kappa, (1 - mu) kappa) of each cell, derivatives in eta and log 1/kappa."""
    K = rows.shape[1]
    kappa = math.exp(-q[len(q) - 1])
    whole = stirling_gap(kappa)
    row, eta = -1, 0.0
    part = _row(eta, kappa, whole)
    for c in range(len(row_of_cell)):
        if row_of_cell[c] != row:  # Cells of a row follow each other.
            row, eta = row_of_cell[c], 0.0
            for k in range(K):
                eta += rows[row, k] * q[k]
            part = _row(eta, kappa, whole)
        log_lik[c], miss, odds = _term(part[:5], kappa, log_v[c], log_rest[c])
        mu, rest, gap_by_eta, by_kappa = part[0], part[1], part[5], part[6]
        by_eta[c] = gap_by_eta + kappa * mu * rest * (odds - eta)
        by_extra[c, 0] = -kappa * (by_kappa + miss)


@kernel
def beta_table(eta: Any, kappa: Any, row_of_cell: Any, log_v: Any, log_rest: Any) -> Any:
    """Log-likelihoods (S, C) from eta (S, R), kappa (S,) and the cells' logarithms (C,)."""
    S, R = eta.shape
    table = np.empty((S, len(row_of_cell)))
    parts = np.empty((R, 5))
    for s in range(S):
        whole = stirling_gap(kappa[s])
        for r in range(R):
            parts[r] = _row(eta[s, r], kappa[s], whole)[:5]
        for c in range(len(row_of_cell)):
            m, r, log_m, log_r, gap = parts[row_of_cell[c]]
            part = m, r, log_m, log_r, gap
            table[s, c] = _term(part, kappa[s], log_v[c], log_rest[c])[0]
    return table
