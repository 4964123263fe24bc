"""Multinomial counts: a binomial number for each category, of what the ones before left."""

from __future__ import annotations

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel
from pyvws.r_numbers._binomial import binomial
from pyvws.r_numbers._stream import Stream

__all__ = ["conditional_shares", "fill_multinomial"]


def conditional_shares(shares: Floats) -> Floats:
    """Each category's share of what those before it leave; R adds up in extended precision."""
    exact = shares.astype(np.longdouble)
    total = np.add.accumulate(exact)[-1]
    left = np.subtract.accumulate(np.concatenate([[total], exact[:-1]]))
    part = np.divide(exact, left, out=np.ones_like(exact), where=left > 0.0)
    return np.asarray(np.minimum(part, 1.0), dtype=np.float64)


@kernel
def fill_multinomial(stream: Stream, size: float, shares: Floats, values: Floats) -> None:
    """A vector of counts in each column of `values` (K, n)."""
    categories, n = values.shape
    for i in range(n):
        left = size
        for k in range(categories - 1):
            drawn = 0.0
            if left > 0.0 and shares[k] > 0.0:
                drawn = binomial(stream, left, shares[k])
            values[k, i] = drawn
            left -= drawn
        values[categories - 1, i] = left
