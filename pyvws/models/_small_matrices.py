"""Small matrices by loops: faster than BLAS at these sizes, the same bits on every processor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pyvws._base.kernels import kernel

__all__ = [
    "cholesky",
    "product",
    "pull_back_cholesky",
    "solve_lower",
    "solve_upper",
    "transposed_product",
    "transposed_times",
]


@kernel
def product(A: Any, B: Any) -> Any:
    """A B for square matrices (K, K)."""
    K = len(A)
    out = np.zeros((K, K))
    for i in range(K):
        for k in range(K):
            for j in range(K):
                out[i, j] += A[i, k] * B[k, j]
    return out


@kernel
def transposed_product(A: Any, B: Any) -> Any:
    """A' B for square matrices (K, K)."""
    K = len(A)
    out = np.zeros((K, K))
    for k in range(K):
        for i in range(K):
            for j in range(K):
                out[i, j] += A[k, i] * B[k, j]
    return out


@kernel
def transposed_times(A: Any, b: Any) -> Any:
    """A' b for A (K, K) and b (K,)."""
    K = len(A)
    out = np.zeros(K)
    for k in range(K):
        for i in range(K):
            out[i] += A[k, i] * b[k]
    return out


@kernel
def solve_lower(R: Any, right: Any) -> Any:
    """R^-1 right for lower-triangular R (K, K) and right (K,)."""
    K = len(right)
    out = np.empty(K)
    for i in range(K):
        total = right[i]
        for j in range(i):
            total -= R[i, j] * out[j]
        out[i] = total / R[i, i]
    return out


@kernel
def solve_upper(R: Any, right: Any) -> Any:
    """R^-T right for lower-triangular R (K, K) and right (K,)."""
    K = len(right)
    out = np.empty(K)
    for i in range(K - 1, -1, -1):
        total = right[i]
        for j in range(i + 1, K):
            total -= R[j, i] * out[j]
        out[i] = total / R[i, i]
    return out


@kernel
def cholesky(M: Any) -> Any:
    """Lower-triangular R with R R' = M; NaN where M is not positive definite."""
    K = len(M)
    R = np.zeros((K, K))
    for i in range(K):
        for j in range(i + 1):
            total = M[i, j]
            for k in range(j):
                total -= R[i, k] * R[j, k]
            R[i, j] = math.sqrt(total) if i == j else total / R[j, j]
    return R


@kernel
def pull_back_cholesky(R: Any, by_R: Any) -> Any:
    """The gradient in M (K, K) from by_R, the gradient in the factor R = `cholesky`(M).

    R^-T lower(R' by_R) R^-1, lower() halving the diagonal; by_R above the diagonal is not read.
    """
    K = len(R)
    inner = transposed_product(R, by_R)
    for i in range(K):
        inner[i, i] *= 0.5
        for j in range(i + 1, K):
            inner[i, j] = 0.0
    by_M = np.empty((K, K))
    column = np.empty(K)
    for j in range(K):
        for i in range(K):
            column[i] = inner[i, j]
        solved = solve_upper(R, column)
        for i in range(K):
            by_M[i, j] = solved[i]
    for i in range(K):
        solved = solve_upper(R, by_M[i])
        for j in range(K):
            by_M[i, j] = solved[j]
    return by_M
