"""Small matrices by loops: faster than BLAS at these sizes, the same bits on every processor.

The functions work in place and in one piece. numba compiles a function anew with each that calls
it, and each slice, `np.zeros` and array's arithmetic takes it longer than a loop.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel


@kernel
def solve_lower(R: Floats, right: Floats) -> None:
    """Replace right (K,) by R^-1 right, for lower-triangular R (K, K)."""
    for i in range(len(R)):
        total = right[i]
        for j in range(i):
            total -= R[i, j] * right[j]
        right[i] = total / R[i, i]


@kernel
def solve_upper(R: Floats, right: Floats) -> None:
    """Replace right (K,) by R^-T right, for lower-triangular R (K, K)."""
    K = len(R)
    for i in range(K - 1, -1, -1):
        total = right[i]
        for j in range(i + 1, K):
            total -= R[j, i] * right[j]
        right[i] = total / R[i, i]


class Factors(NamedTuple):
    """Lower-triangular R with R R' = I + B' H B, H B, and R^-1 B' pull as `centre`."""

    R: Floats
    HB: Floats
    centre: Floats


@kernel
def conditional_factors(B: Floats, H: Floats, pull: Floats) -> Factors:
    """The factors of B (K, K), H (K, K) and pull (K,); NaN without a root."""
    K = len(B)
    R, HB, centre = np.empty((K, K)), np.empty((K, K)), np.empty(K)
    for i in range(K):
        for j in range(K):
            HB[i, j] = 0.0
        for k in range(K):
            for j in range(K):
                HB[i, j] += H[i, k] * B[k, j]
    for i in range(K):
        centre[i] = 0.0
        for j in range(K):
            R[i, j] = 0.0
        for k in range(K):
            centre[i] += B[k, i] * pull[k]
            for j in range(K):
                R[i, j] += B[k, i] * HB[k, j]
        R[i, i] += 1.0
    for i in range(K):
        for j in range(i):
            for k in range(j):
                R[i, j] -= R[i, k] * R[j, k]
            R[i, j] /= R[j, j]
            R[j, i] = 0.0
            R[i, i] -= R[i, j] * R[i, j]
            centre[i] -= R[i, j] * centre[j]
        R[i, i] = math.sqrt(R[i, i])
        centre[i] /= R[i, i]
    return Factors(R, HB, centre)


@kernel
def pull_back_factors(R: Floats, HB: Floats, by_R: Floats) -> Floats:
    """The gradient in B (K, K) from by_R (K, K), that in R of `conditional_factors`.

    The gradient in I + B' H B is G = R^-T lower(R' by_R) R^-1, lower() halving the diagonal, and
    that in B is H B (G + G'). by_R above the diagonal is not read.
    """
    K = len(R)
    G, by_B = np.empty((K, K)), np.empty((K, K))
    for i in range(K - 1, -1, -1):
        for j in range(K):
            G[i, j] = 0.0
        for k in range(i, K):
            for j in range(i + 1):
                G[i, j] += R[k, i] * by_R[k, j]
        G[i, i] *= 0.5
        for k in range(i + 1, K):
            for j in range(K):
                G[i, j] -= R[k, i] * G[k, j]
        for j in range(K):
            G[i, j] /= R[i, i]
    for r in range(K):
        for i in range(K - 1, -1, -1):
            for k in range(i + 1, K):
                G[r, i] -= R[k, i] * G[r, k]
            G[r, i] /= R[i, i]
    for i in range(K):
        for j in range(K):
            by_B[i, j] = 0.0
        for k in range(K):
            for j in range(K):
                by_B[i, j] += HB[i, k] * (G[k, j] + G[j, k])
    return by_B
