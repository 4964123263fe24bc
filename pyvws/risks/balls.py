"""Balls around confidential values: how large they are, and what lies inside.

For one outcome the ball B(y_i, r) is an interval. For P outcomes the ball is by default a box, with
every outcome within its own reach rho_ip. Under the Euclidean norm the ball is the ellipsoid with
half-axes rho_ip, so that units of outcomes never mix. A closed ball includes its edge, as in the
papers' risks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, choice, finite_vector, positions, positive, vector
from pyvws.errors import InputError

RADIUS_KINDS: Final = ("percentage", "absolute", "fixed")
NORMS: Final = ("box", "euclidean")
_MARGIN: Final = 1.0 + 1e-9  # The search along one outcome goes a little past a rounded edge.


@dataclass(frozen=True, slots=True)
class Balls:
    """A ball for each record: `centre` and `reach` (N, P) in the outcomes' units, and the norm."""

    centre: Floats
    reach: Floats
    norm: str

    def in_order(self, order: NDArray[np.intp]) -> Balls:
        """The same balls with the records in another order."""
        return Balls(self.centre[order], self.reach[order], self.norm)

    def ends(self) -> tuple[Floats, Floats]:
        """centre - reach and centre + reach, (N, P) each; infinite where a float cannot hold it."""
        with np.errstate(over="ignore"):
            return self.centre - self.reach, self.centre + self.reach

    def hold(self, values: Floats, *, closed: bool = True) -> NDArray[np.bool_]:
        """Whether each record's own row of `values` (N, P) is inside its ball, shape (N,)."""
        if self.norm == "box" or self.centre.shape[1] == 1:
            low, high = self.ends()
            if closed:
                return np.asarray(((values >= low) & (values <= high)).all(axis=1))
            return np.asarray(((values > low) & (values < high)).all(axis=1))
        squared = np.zeros(len(values))
        for p in range(values.shape[1]):
            off, reach = values[:, p] - self.centre[:, p], self.reach[:, p]
            with np.errstate(divide="ignore", invalid="ignore"):
                share = off / reach
            share[reach == 0] = np.where(off[reach == 0] == 0, 0.0 if closed else np.inf, np.inf)
            squared += share * share
        return squared <= 1 if closed else squared < 1


def amounts(values: ArrayLike, name: str) -> Floats:
    """Values of any shape as floats; InputError, with the column's name, for other than amounts."""
    try:
        array = np.asarray(values)
    except ValueError:  # Rows of several lengths.
        raise InputError.by("balls-shape", name=name) from None
    label = getattr(values, "name", None)
    category = str(getattr(values, "dtype", "")) == "category" or array.dtype.kind not in "iufO"
    if not category and array.dtype.kind == "O":
        category = any(isinstance(value, (str, bool, np.bool_)) for value in array.flat)
    try:
        if not category:
            return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    named = f" (column {label!r})" if isinstance(label, str) and label else ""
    raise InputError.by("balls-not-numeric", name=name, named=named)


def outcomes(values: ArrayLike, name: str) -> Floats:
    """Outcomes (N, P) without missing values, from shape (N,) or (N, P)."""
    table = np.ascontiguousarray(amounts(values, name))
    if np.ndim(table) != 2:
        return finite_vector(table, name)[:, None]
    if 0 in table.shape:
        raise InputError.by("balls-empty", name=name)
    bad = np.asarray(~np.isfinite(table).all(axis=1))
    if bad.any():
        raise InputError.by("balls-missing-values", name=name, bad=positions(bad))
    return table


def make_balls(y: Floats, radius: float | Sequence[float], radius_kind: str, norm: str) -> Balls:
    """The balls around y (N, P): rho_ip = r_p |y_ip| ("percentage") or r_p.

    `radius` is one number above 0, or one for each outcome. Raises InputError for another number
    of radii, a radius not above 0, or an unknown word.
    """
    choice(radius_kind, "radius_kind", RADIUS_KINDS)
    choice(norm, "norm", NORMS)
    if np.ndim(radius) == 0:
        size = np.full(y.shape[1], positive(radius, "radius"))
    else:
        size = np.array([positive(r, "radius") for r in vector(radius, "radius")])
    if len(size) != y.shape[1]:
        raise InputError.by("radius-length", size=len(size), shape=y.shape[1])
    with np.errstate(over="ignore"):  # An infinite reach holds all numbers.
        reach = size * np.abs(y) if radius_kind == "percentage" else np.tile(size, (len(y), 1))
    return Balls(y, reach, norm)


def count_inside(
    values: Floats, balls: Balls, codes: NDArray[np.intp], *, closed: bool = True
) -> NDArray[np.intp]:
    """Count the rows of `values` (N, P) of each record's pattern in the record's ball, shape (N,).

    Records come in the order of their pattern `codes`. One outcome takes two searches a record.
    Several outcomes take a search along the first outcome, and a check of each row found.
    """
    inside = np.empty(len(values), dtype=np.intp)
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    count = _along_a_line if values.shape[1] == 1 else _in_space
    for start, stop in zip(starts, np.append(starts[1:], len(codes)), strict=True):
        part = slice(start, stop)
        centre, reach = balls.centre[part], balls.reach[part]
        inside[part] = count(values[part], Balls(centre, reach, balls.norm), closed)
    return inside


def _along_a_line(values: Floats, balls: Balls, closed: bool) -> NDArray[np.intp]:
    ordered = np.sort(values[:, 0])
    low, high = (end[:, 0] for end in balls.ends())
    first, last = ("left", "right") if closed else ("right", "left")
    places = np.searchsorted(ordered, high, side=last)  # type: ignore[call-overload]
    places -= np.searchsorted(ordered, low, side=first)  # type: ignore[call-overload]
    return np.maximum(places, 0)  # An open ball of radius 0 is empty.


def _in_space(values: Floats, balls: Balls, closed: bool) -> NDArray[np.intp]:
    from pyvws.risks._ball_kernels import count_ellipsoid, sum_in_box

    ordered = np.ascontiguousarray(values[np.argsort(values[:, 0])])
    start, end = near(ordered, balls)
    given = ordered, balls.centre, balls.reach, start, end, closed
    each = np.ones(len(ordered), dtype=np.intp)
    return sum_in_box(*given, each) if balls.norm == "box" else count_ellipsoid(*given)


def near(ordered: Floats, balls: Balls) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where the points that may lie in each ball start and end, (N,) each, in rows of `ordered`.

    `ordered` (M, P) rises in its first outcome. The search goes a little past a rounded edge.
    """
    first, wide = balls.centre[:, 0], balls.reach[:, 0] * _MARGIN
    start = np.searchsorted(ordered[:, 0], np.nextafter(first - wide, -np.inf), side="left")
    end = np.searchsorted(ordered[:, 0], np.nextafter(first + wide, np.inf), side="right")
    return start, end
