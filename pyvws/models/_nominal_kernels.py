"""The compiled parts of the nominal family: prior, likelihood, gradients, and the sampled scale."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from pyvws._base.checks import Arrays, Data, Floats, Ints
from pyvws._base.kernels import kernel
from pyvws.models._special_functions import exponentials
from pyvws.models.priors import log_level_prior

_LEAST_TOGETHER: Final = 1e-200  # Below it, terms that count may be below the smallest number.


class Paths(NamedTuple):
    """What R rows add to the row before them, of the entries that are not 0.

    These are the most entries that a row has, where each row's further ones start (R + 1,), how
    many of its first ones are those of the row before (R,), and the further ones' column and value.
    """

    deepest: int
    start: Ints
    kept: Ints
    column: Ints
    value: Floats


@kernel
def _log_normal_prior(q: Floats, sd: float, grad: Floats) -> float:
    """Log density of normal coefficients q (K n,) of one sd, without constants; adds its slope."""
    logp, precision = 0.0, 1.0 / (sd * sd)
    for i in range(len(q)):
        logp -= 0.5 * precision * q[i] * q[i]
        grad[i] -= precision * q[i]
    return logp


@kernel
def _fill_etas(q: Floats, n: int, paths: Paths, eta: Floats) -> None:
    """Fill eta (R, n + 1), 0 for the first level; each row adds to what it shares with the last.

    Row r shares kept_r entries with the row before it. Its other entries stand at the places
    start_r to start_{r+1} - 1, so a sum that rows share is made once.
    """
    deepest, start, kept, column, value = paths
    sums = np.zeros((deepest + 1, n))
    for r in range(len(kept)):
        depth = kept[r]
        here = sums[depth]
        for e in range(start[r], start[r + 1]):
            x, beta = value[e], q[column[e] * n : column[e] * n + n]
            depth += 1
            further = sums[depth]
            for level in range(n):
                further[level] = here[level] + x * beta[level]
            here = further
        own = eta[r]
        own[0] = 0.0
        for level in range(n):
            own[level + 1] = here[level]


@kernel
def _add_slopes(n: int, paths: Paths, by_eta: Floats, grad: Floats) -> None:
    """Add to grad (K n,) the slopes in beta that follow from those in eta, by_eta (R, n + 1)."""
    deepest, start, kept, column, value = paths
    sums = np.zeros((deepest + 1, n))
    for r in range(len(kept) - 1, -1, -1):
        depth = kept[r] + start[r + 1] - start[r]
        here, own = sums[depth], by_eta[r]
        for level in range(n):
            here[level] += own[level + 1]
        for e in range(start[r + 1] - 1, start[r] - 1, -1):
            x, slope = value[e], grad[column[e] * n : column[e] * n + n]
            depth -= 1
            shared = sums[depth]
            for level in range(n):
                slope[level] += x * here[level]
                shared[level] += here[level]
                here[level] = 0.0
            here = shared


@kernel
def _fill_relative(q: Floats, n: int, paths: Paths, eta: Floats, top: Floats, p: Floats) -> None:
    """Fill eta and p = exp(eta - top), both (R, n + 1), and each row's largest entry top (R,)."""
    R, L = eta.shape
    _fill_etas(q, n, paths, eta)
    for r in range(R):
        top[r] = 0.0
        for j in range(L):
            top[r] = max(top[r], eta[r, j])
        for j in range(L):
            p[r, j] = eta[r, j] - top[r]
    flat = p.reshape(R * L)
    exponentials(flat, flat, R * L)


@kernel
def _shares(eta: Floats, p: Floats) -> float:
    """Fill p (n + 1,) with P(level) at eta (n + 1,); the log of the sum of exponentials of eta."""
    top = 0.0
    for level in range(len(eta)):
        top = max(top, eta[level])
    total = 0.0
    for level in range(len(eta)):
        p[level] = math.exp(eta[level] - top)
        total += p[level]
    for level in range(len(eta)):
        p[level] /= total
    return top + math.log(total)


@kernel
def log_density(
    q: Floats,
    K: int,
    n: int,
    deepest: int,
    start: Ints,
    kept: Ints,
    column: Ints,
    value: Floats,
    first: Ints,
    second: Ints,
    total: Floats,
    linear: Floats,
    sd: float,
    grad: Floats,
) -> float:
    """log prior + sum_i alpha_i log P(level_i), from sums of alpha by row.

    A row is the sum of two half rows, of which there are few. So its exponentials are products of
    theirs. `first` and `second` (R,) are the halves of the rows with weights `total` (R,). `linear`
    (K n,) is sum_i alpha_i x_ik 1{level_i = l}, the slope of sum_i alpha_i eta_i in beta.
    """
    grad[:] = 0.0
    logp = _log_normal_prior(q, sd, grad) if sd > 0.0 else log_level_prior(q, K, n, grad)
    H, L = len(kept), n + 1
    paths = Paths(deepest, start, kept, column, value)
    eta, p, by_eta = np.empty((H, L)), np.empty((H, L)), np.zeros((H, L))
    top, own = np.empty(H), np.empty(L)
    _fill_relative(q, n, paths, eta, top, p)
    for r in range(len(total)):
        a, b = first[r], second[r]
        p_a, p_b, by_a, by_b = p[a], p[b], by_eta[a], by_eta[b]
        together = 0.0
        for j in range(L):
            own[j] = p_a[j] * p_b[j]
            together += own[j]
        if together > _LEAST_TOGETHER:
            height = top[a] + top[b] + math.log(together)
        else:  # The halves are for different levels, or eta is not finite.
            for j in range(L):
                own[j] = eta[a, j] + eta[b, j]
            height, together = _shares(own, own), 1.0
        logp -= total[r] * height
        unit = -total[r] / together
        for j in range(L):
            slope = unit * own[j]
            by_a[j] += slope
            by_b[j] += slope
    for i in range(K * n):
        logp += linear[i] * q[i]
        grad[i] += linear[i]
    _add_slopes(n, paths, by_eta, grad)
    return logp


@kernel
def cell_terms(q: Floats, _rows: Floats, row_of_cell: Ints, data: Data, terms: Arrays) -> None:
    """log P(level) of each cell, and its derivatives in the n etas of its row."""
    n, deepest, start, kept, column, value, level = data
    log_lik, _, by_eta = terms
    R, L = len(kept), n + 1
    eta, p, height = np.empty((R, L)), np.empty((R, L)), np.empty(R)
    _fill_relative(q, n, Paths(deepest, start, kept, column, value), eta, height, p)
    for r in range(R):
        together = 0.0
        for j in range(L):
            together += p[r, j]
        height[r] += math.log(together)
        for j in range(L):
            p[r, j] /= together
    for c in range(len(level)):
        r = row_of_cell[c]
        log_lik[c] = eta[r, level[c]] - height[r]
        for j in range(n):
            by_eta[c, j] = (1.0 if level[c] == j + 1 else 0.0) - p[r, j + 1]


@kernel
def cell_slopes(
    _q: Floats,
    _rows: Floats,
    row_of_cell: Ints,
    data: Data,
    terms: Arrays,
    weight: Floats,
    grad: Floats,
) -> None:
    """Adds the gradient of sum_c weight_c l_c."""
    n, deepest, start, kept, column, value, _ = data
    by_eta = terms[2]
    by_row = np.zeros((len(kept), n + 1))
    for c in range(len(row_of_cell)):
        if weight[c] != 0.0:
            own = by_row[row_of_cell[c]]
            for j in range(n):
                own[j + 1] += weight[c] * by_eta[c, j]
    _add_slopes(n, Paths(deepest, start, kept, column, value), by_row, grad)


@kernel
def log_likelihood(
    beta: Floats, n: int, paths: Paths, row_of_cell: Ints, level: Ints, log_lik: Floats
) -> None:
    """Fills log_lik (S, C) with log P(level) of each cell under beta (S, K n)."""
    R, L = len(paths.kept), n + 1
    eta, p, height = np.empty((R, L)), np.empty((R, L)), np.empty(R)
    for s in range(len(beta)):
        _fill_relative(beta[s], n, paths, eta, height, p)
        for r in range(R):
            together = 0.0
            for j in range(L):
                together += p[r, j]
            height[r] += math.log(together)
        for c in range(len(level)):
            r = row_of_cell[c]
            log_lik[s, c] = eta[r, level[c]] - height[r]


@kernel
def information(
    shares: Floats, start: Ints, column: Ints, value: Floats, total: Floats, H: Floats
) -> None:
    """Adds to the lower half of H (K n, K n) the information on beta; shares (R, n)."""
    n = shares.shape[1]
    W = np.empty((n, n))
    for r in range(len(total)):
        if total[r] == 0.0:
            continue
        for a in range(n):
            for b in range(n):
                W[a, b] = -total[r] * shares[r, a] * shares[r, b]
            W[a, a] += total[r] * shares[r, a]
        for e in range(start[r], start[r + 1]):
            for f in range(start[r], e + 1):
                x = value[e] * value[f]
                i, j = column[e] * n, column[f] * n
                for a in range(n):
                    for b in range(n):
                        H[i + a, j + b] += x * W[a, b]


@kernel
def _add_turned(A: Floats, z: Floats, t: Floats) -> None:
    """Add A' z to t (m,), for a lower triangle A (m, m) and the first m entries of z."""
    for i in range(len(A)):
        x, row = z[i], A[i]
        for j in range(i + 1):
            t[j] += x * row[j]


@kernel
def _turn_back(A: Floats, by_t: Floats, gradient: Floats) -> None:
    """Overwrite the first m entries of gradient with A by_t, the slopes in z of `_add_turned`.

    The upper triangle of the array has A' too, whose rows a processor reads in their order.
    """
    m = len(A)
    for i in range(m):
        gradient[i] = 0.0
    for j in range(m):
        x, column, slopes = by_t[j], A[j, j:], gradient[j:m]
        for i in range(len(column)):
            slopes[i] += x * column[i]


@kernel
def restore(
    z: Floats, A: Floats, centre: Floats, h: Floats, width: Floats, K: int, n: int, q: Floats
) -> tuple[float, Any]:
    """Fill q (D,) from z (D,); the log Jacobian up to a constant, and a state.

    With t = A' z, of the rough posterior's covariance, beta_i = D_i (D_i b_i + t_i) around the
    rough fit b. D_i = sqrt((h_i + 1 / s0^2) / (h_i + 1 / s^2)) is the posterior's width at scale s
    over that at the rough scale s0, for information h_i on beta_i alone. So coefficients that the
    data say little of shrink with their scale, and there is no funnel.
    """
    m = K * n
    for d in range(m, len(z)):
        q[d] = width[d - m] * z[d] + centre[d]
    t, D = np.zeros(m), np.empty(m)
    _add_turned(A, z, t)
    jacobian = 0.0
    for k in range(K):
        now, rough = math.exp(-2.0 * q[m + k]), math.exp(-2.0 * centre[m + k])
        for i in range(k * n, (k + 1) * n):
            D[i] = math.sqrt((h[i] + rough) / (h[i] + now))
            q[i] = D[i] * (D[i] * centre[i] + t[i])
            jacobian += math.log(D[i])
    return jacobian, (D, t)


@kernel
def pull_back(
    state: Arrays,
    q: Floats,
    A: Floats,
    centre: Floats,
    h: Floats,
    width: Floats,
    K: int,
    n: int,
    gradient: Floats,
) -> None:
    """Turn the gradient in q (D,) into the gradient in z in place, with the Jacobian's added."""
    m = K * n
    D, t = state
    by_t = np.empty(m)
    for k in range(K):
        now = math.exp(-2.0 * q[m + k])
        for i in range(k * n, (k + 1) * n):
            by_t[i] = gradient[i] * D[i]
            rise = now / (h[i] + now)  # Of log D_i in log s.
            gradient[m + k] += rise * (by_t[i] * (2.0 * D[i] * centre[i] + t[i]) + 1.0)
    for d in range(m, len(gradient)):
        gradient[d] *= width[d - m]
    _turn_back(A, by_t, gradient)


@kernel
def restore_normal(z: Floats, A: Floats, centre: Floats, q: Floats) -> tuple[float, int]:
    """Fill q = b + A' z around the rough fit b where the scales are given; 0, and no state."""
    for i in range(len(q)):
        q[i] = centre[i]
    _add_turned(A, z, q)
    return 0.0, 0


@kernel
def pull_back_normal(_state: int, _q: Floats, A: Floats, _centre: Floats, gradient: Floats) -> None:
    """Turn the gradient in q (D,) into the gradient in z in place."""
    _turn_back(A, gradient.copy(), gradient)
