"""Discrete Laplace noise for release: whole numbers that no seed can bring back.

The noise k has probability tanh(1 / (2 b)) exp(-|k| / b) at scale b. Added to whole counts of which
a neighbour changes at most d in total, it costs epsilon = d / b. A Laplace number of doubles would
not do: which doubles the sum can take depends on the count, so its low bits tell the count apart.

OpenDP draws the noise exactly, in whole numbers of any size, from a cryptographic generator that
the operating system seeds. It is an extra, loaded when noise is first drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import positive
from pyvws.errors import InputError, MissingDependencyError

__all__ = ["add_discrete_laplace"]

Counts = NDArray[np.int64]


def add_discrete_laplace(counts: Any, *, scale: float) -> Counts:
    """Whole counts with discrete Laplace noise, each its own; no two calls give the same.

    Parameters
    ----------
    counts : array_like of int, shape (B,)
        Confidential counts.
    scale : float
        b above 0: the most that a neighbour changes the counts in total, over epsilon. Larger =
        more noise.

    Returns
    -------
    ndarray of int64, shape (B,)
        Noisy counts, some of them negative.

    Raises
    ------
    InputError
        If the counts are not whole numbers of shape (B,), or the scale is not above 0.
    MissingDependencyError
        Where OpenDP is not installed.

    Examples
    --------
    >>> add_discrete_laplace([3, 0, 5], scale=0.4)  # doctest: +SKIP
    array([ 4, 0, 5])
    """
    values = np.asarray(counts)
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iu":
        raise InputError("counts must be whole numbers of shape (B,) with B of at least 1.")
    measurement = laplace(positive(scale, "scale"))
    return np.asarray(measurement(values.tolist()), dtype=np.int64)


def laplace(scale: float) -> Any:
    """OpenDP's discrete Laplace of a vector of whole numbers; `map(d)` gives its epsilon."""
    try:
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_laplace
        from opendp.metrics import l1_distance
    except ImportError:
        raise MissingDependencyError(
            "Secret noise needs OpenDP. Run: pip install 'pyvws[dp]'"
        ) from None
    with _contributed():
        return make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale=scale)


@contextmanager
def _contributed() -> Iterator[None]:
    """OpenDP's "contrib" feature, which its Laplace noise asks for, on for as long as needed.

    It stays as the user set it for the rest of the program.
    """
    from opendp.mod import OpenDPException, assert_features, disable_features, enable_features

    try:
        assert_features("contrib")
    except OpenDPException:
        enable_features("contrib")
        try:
            yield
        finally:
            disable_features("contrib")
    else:
        yield
