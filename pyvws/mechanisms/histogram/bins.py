"""Bins of a histogram: their number, their edges, the counts of records, and the probabilities.

Edges serve a private histogram, so the user fixes them without the data. A bin holds its lower end;
the last bin holds both ends.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, finite_number, finite_vector, whole_number
from pyvws.errors import InputError
from pyvws.r_numbers import rarith


def public_edges(
    edges: ArrayLike | None,
    range: ArrayLike | None,
    bins: int | str | None,
    public_n: int | None,
    n: int | None,
) -> Floats:
    """Edges (B + 1,) as given, or of equal bins of the range; the rule reads public_n or n."""
    if edges is None:
        return equal_edges(*_pair(range), bins=_number(bins, public_n, n))
    if bins is not None or public_n is not None:
        raise InputError.by("edges-and-bins")
    return _ascending(edges)


def cube_root_bins(n: int) -> int:
    """ceil(n^(1/3)) in whole numbers: the default number of bins; InputError for n below 1."""
    records = whole_number(n, "n", least=1)
    bins = math.ceil(records ** (1 / 3))
    # The float power is rounded, and the rounding matters just past a cube.
    while (bins - 1) ** 3 >= records:
        bins -= 1
    while bins**3 < records:
        bins += 1
    return bins


def equal_edges(lower: float, upper: float, *, bins: int) -> Floats:
    """Edges (bins + 1,) of equal bins: lower + (upper - lower) (b / bins), and upper."""
    low, high = finite_number(lower, "lower"), finite_number(upper, "upper")
    parts = whole_number(bins, "bins", least=1)
    if not low < high or math.isinf(high - low):
        raise InputError.by("range-ends-order")
    edges = low + (high - low) * (np.arange(parts + 1) / parts)
    edges[-1] = high
    if (np.diff(edges) <= 0).any():
        raise InputError.by("range-too-narrow", parts=parts)
    return np.asarray(edges, dtype=np.float64)


def bin_counts(outcome: ArrayLike, edges: Floats) -> NDArray[np.int64]:
    """C_j (B,): values in [edges[j], edges[j + 1]), the last bin with its upper end."""
    return np.bincount(bin_places(outcome, edges), minlength=len(edges) - 1).astype(np.int64)


def bin_places(outcome: ArrayLike, edges: ArrayLike) -> NDArray[np.intp]:
    """The bin (N,) of each value; InputError for values outside of all bins."""
    y, cuts = finite_vector(outcome, "outcome"), _ascending(edges)
    outside = int(((y < cuts[0]) | (y > cuts[-1])).sum())
    if outside:
        raise InputError.by("records-outside-range", outside=outside, y=len(y))
    return np.searchsorted(cuts[:-1], y, side="right") - 1


def bin_probabilities(counts: ArrayLike) -> Floats:
    """max(D_j, 0) over its sum (B,), in [0, 1], from noisy counts D_j.

    The result is 1 / B in each bin where no count is above 0.
    """
    kept = np.maximum(finite_vector(counts, "counts"), 0.0)
    total = rarith.sum_in_order(kept)
    return kept / total if total > 0 else np.full(len(kept), 1.0 / len(kept))


def _number(bins: int | str | None, public_n: int | None, n: int | None) -> int:
    """The number of bins: `bins`, or the rule's from a public n; `n` is None where protected."""
    if bins is not None and bins != "cube-root":
        if public_n is not None:
            raise InputError.by("public-n-without-rule")
        if isinstance(bins, str):
            raise InputError.by("bins-words", bins=bins)
        return whole_number(bins, "bins", least=1)
    known = n if public_n is None else whole_number(public_n, "public_n", least=1)
    if known is None:
        raise InputError.by("bins-of-protected-number")
    return cube_root_bins(known)


def _pair(range: Any) -> tuple[float, float]:
    ends = finite_vector(range, "range")
    if len(ends) != 2:
        raise InputError.by("range-length", ends=len(ends))
    return float(ends[0]), float(ends[1])


def _ascending(edges: ArrayLike) -> Floats:
    cuts = finite_vector(edges, "edges")
    with np.errstate(over="ignore"):
        ascend = len(cuts) > 1 and (np.diff(cuts) > 0).all() and np.isfinite(cuts[-1] - cuts[0])
    if not ascend:
        raise InputError.by("edges-not-ascending")
    return cuts
