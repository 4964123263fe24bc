"""Largest sizes of a matrix by row and by column in one pass over memory."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel

__all__ = ["add_largest", "largest_sizes"]

# A double without its sign bit is ordered as a whole number is, infinity and NaN above all others;
# and whole numbers have a largest one in any order, so the loops run several at once.
_SIZE: Final = 0x7FFFFFFFFFFFFFFF
_INFINITY: Final = 0x7FF0000000000000


@kernel
def add_largest(block: Any, weight: Any, by_row: Any, by_column: Any) -> None:
    """Raise by_row (B,) to max_c |x_bc| weight_c and by_column (C,) to max_b |x_bc|, in place.

    Columns of weight 0 do not count by row; what is not a number counts as infinite.
    """
    weighted = np.empty(block.shape[1])
    bits, largest_in_column = weighted.view(np.int64), by_column.view(np.int64)
    for b in range(block.shape[0]):
        row = block[b].view(np.int64)
        for c in range(len(row)):
            size = min(row[c] & _SIZE, _INFINITY)
            bits[c] = size
            largest_in_column[c] = max(largest_in_column[c], size)
        for c in range(len(row)):
            weighted[c] = weighted[c] * weight[c] if weight[c] > 0.0 else 0.0
        largest = np.int64(0)
        for c in range(len(row)):
            largest = max(largest, bits[c])
        by_row.view(np.int64)[b] = max(by_row.view(np.int64)[b], largest)


@kernel
def _largest_bits(bits: Any, by_row: Any, by_column: Any) -> None:
    for s in range(bits.shape[0]):
        largest = np.int64(0)
        for i in range(bits.shape[1]):
            size = bits[s, i] & _SIZE
            by_column[i] = max(by_column[i], size)
            largest = max(largest, size)
        by_row[s] = largest


def largest_sizes(matrix: Floats) -> tuple[Floats, Floats]:
    """max_i |x_si| (S,) and max_s |x_si| (N,); infinite where one is infinite or not a number."""
    if matrix.flags.f_contiguous and not matrix.flags.c_contiguous:
        by_column, by_row = largest_sizes(matrix.T)
        return by_row, by_column
    bits = np.ascontiguousarray(matrix).view(np.int64)
    rows, columns = (np.zeros(size, dtype=np.int64) for size in matrix.shape)
    _largest_bits(bits, rows, columns)
    return _as_sizes(rows), _as_sizes(columns)


def _as_sizes(bits: NDArray[np.int64]) -> Floats:
    return np.minimum(bits, _INFINITY).view(np.float64)
