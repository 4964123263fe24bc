"""Identification risk by radius and pattern: how isolated a record's value is.

IR_i = #{h in M_i : y_h not in B(y_i, r)} / |M_i| (Algorithm 2 of [vws2024], Equations 1 and 2 of
[risk2024]). M_i holds the records that share i's known values, i among them; the ball
B(y_i, r) = [y_i - rho_i, y_i + rho_i] includes its ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pyvws import rarith
from pyvws._checks import Floats, choice, finite_vector, positive, same_length
from pyvws.errors import InputError

__all__ = ["identification_risk", "pattern_codes"]

RADIUS_KINDS = ("percentage", "absolute", "fixed")


def identification_risk(
    original: Any,
    synthetic: Sequence[Any] | None = None,
    *,
    radius: float = 0.2,
    radius_kind: Literal["percentage", "absolute", "fixed"] = "percentage",
    known: Any = None,
) -> Floats:
    """Identification risk of each record, on the confidential or on synthetic data.

    Parameters
    ----------
    original : array_like, shape (N,)
        Confidential outcome.
    synthetic : sequence of array_like of shape (N,), optional
        Synthetic outcomes, rows as in `original`. Given, the risk of dataset l is
        T_i #{h in M_i : y*_h not in B(y_i, r)} / |M_i| with T_i = 1 when y*_i lies in B(y_i, r)
        and 0 otherwise, averaged over the datasets.
    radius : float
        r above 0: a share of |y_i| (0.2 = 20 %) or an absolute distance in the outcome's unit.
    radius_kind : {"percentage", "absolute"}
        rho_i = r |y_i|, or rho_i = r; "fixed" is another name of "absolute".
    known : array_like, shape (N,) or (N, P), or sequence of P columns, optional
        Public columns whose joint value is a record's pattern; without it all records share one.

    Returns
    -------
    ndarray, shape (N,)
        IR_i in [0, 1]; larger = more isolated = riskier.

    Raises
    ------
    InputError
        For missing values, a radius not above 0, or columns whose lengths differ.

    Examples
    --------
    >>> identification_risk([100.0, 110.0, 400.0], radius=0.2).tolist()
    [0.3333333333333333, 0.3333333333333333, 0.6666666666666666]
    """
    y = finite_vector(original, "original")
    size = positive(radius, "radius")
    choice(radius_kind, "radius_kind", RADIUS_KINDS)
    reach = size * np.abs(y) if radius_kind == "percentage" else np.full(len(y), size)
    low, high = y - reach, y + reach
    codes = pattern_codes(known, len(y))
    if synthetic is None:
        return _share_outside(y, low, high, codes)
    if len(synthetic) == 0:
        raise InputError("synthetic must hold at least one dataset. Got none.")
    risks = np.empty((len(synthetic), len(y)))
    for number, dataset in enumerate(synthetic, start=1):
        values = finite_vector(dataset, f"synthetic dataset {number}")
        same_length(y, values, ("original", f"synthetic dataset {number}"))
        close = (values >= low) & (values <= high)
        risks[number - 1] = close * _share_outside(values, low, high, codes)
    if len(risks) == 1:
        return risks[0]
    return np.array([rarith.mean(column) for column in risks.T])


def pattern_codes(known: Any, n: int) -> NDArray[np.intp]:
    """A whole number for each record (n,), equal where all known columns are equal."""
    if known is None:
        return np.zeros(n, dtype=np.intp)
    codes = np.zeros(n, dtype=np.intp)
    for column in _columns(known):
        if len(column) != n:
            raise InputError(
                f"Each known column needs one value for each record. Got {len(column)} for {n}."
            )
        if any(_is_missing(value) for value in column):
            raise InputError("A known column has missing values: a pattern needs all of them.")
        if column.dtype == object:  # Values of several types cannot be sorted.
            seen: dict[Any, int] = {}
            inverse = np.array([seen.setdefault(value, len(seen)) for value in column])
        else:
            _, inverse = np.unique(column, return_inverse=True)
        _, codes = np.unique(codes * (inverse.max() + 1) + inverse, return_inverse=True)
    return codes


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA has no truth value.
        return True


def _columns(known: Any) -> list[NDArray[Any]]:
    if isinstance(known, (list, tuple)) and len(known) and np.ndim(known[0]) == 1:
        return [np.asarray(column) for column in known]
    table = np.asarray(known)
    return [table] if table.ndim == 1 else list(table.T)


def _share_outside(values: Floats, low: Floats, high: Floats, codes: NDArray[np.intp]) -> Floats:
    """Share of a record's pattern whose values fall outside [low_i, high_i], by two searches."""
    result = np.empty(len(values))
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    for members in np.split(order, starts[1:]):
        ordered = np.sort(values[members])
        inside = np.searchsorted(ordered, high[members], side="right") - np.searchsorted(
            ordered, low[members], side="left"
        )
        result[members] = (len(members) - inside) / len(members)
    return result
