"""Discrete Laplace noise for release: whole numbers that no seed can bring back.

The noise k has probability tanh(1 / (2 b)) exp(-|k| / b) at scale b. A neighbour changes the whole
counts by at most d in total. Noise added to these counts costs epsilon = d / b. Laplace noise in
doubles would not do: the count decides which doubles the sum can take, so the low bits of the sum
tell counts apart.

OpenDP draws the noise exactly, in whole numbers of any size, from a cryptographic generator that
the operating system seeds. OpenDP is an extra, which the package loads at the first draw of noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import positive
from pyvws._base.secret_noise import contributed
from pyvws.errors import InputError

Counts = NDArray[np.int64]


def add_discrete_laplace(counts: ArrayLike, *, scale: float) -> Counts:
    """Counts (B,) with new secret discrete Laplace noise each, some of them negative then.

    `scale` is b above 0, in records: d / epsilon, where d is the most that a neighbour changes the
    counts in total. Larger = more noise. Raises InputError for counts that are not whole numbers,
    or a scale not above 0, and MissingDependencyError where OpenDP is not installed.
    """
    values = np.asarray(counts)
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iu":
        raise InputError.by("noise-of-no-counts")
    measurement = laplace(positive(scale, "scale"))
    return np.asarray(measurement(values.tolist()), dtype=np.int64)


def laplace(scale: float) -> Any:
    """OpenDP's discrete Laplace mechanism for a vector of whole numbers; `map(d)` gives epsilon."""
    with contributed():
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_laplace
        from opendp.metrics import l1_distance

        return make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale=scale)
