"""Pairwise weights: likelihood weights from joint identification risks of pairs [risk2024].

Two records of one pattern M have IR_ij = #{h in M : y_h outside both B(y_i, r) and B(y_j, r)} / |M|
(Equation 6). Records of different patterns have IR_ij = 0 and are no pair. A record's weight is 1
minus the mean of IR_ij over its |M| - 1 pairs (Equations 8 and 9).

The functions count the sums and do not add up IR_ij pair by pair. Let u_h be the number of balls of
the pattern that leave y_h outside. A record h outside i's ball is outside the balls of u_h - 1
other records as well, so

    sum over j != i of |M| IR_ij = sum over h outside i's ball of (u_h - 1),

and a record h outside i's ball makes (u_h - 1 over 2) triples and (u_h - 1 over 3) groups of four.
The counts follow from one sort, two searches and two running sums in whole numbers. For groups of
any size a pattern of n records takes time O(n log n) and memory O(n). Of several outcomes, whose
balls are boxes, each ball is compared with the records that its first outcome reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, choice, finite_number, non_negative
from pyvws.errors import InputError
from pyvws.risks._ball_kernels import boxes_around, sum_in_box
from pyvws.risks.balls import Balls, make_balls, near, outcomes
from pyvws.risks.identification_risk import Known, pattern_codes

Counts = NDArray[np.int64]
Singletons = Literal["refuse", "weight-zero", "weight-one"]

_SINGLETONS: Final = ("refuse", "weight-zero", "weight-one")
_GROUPS: Final = {2: "pair", 3: "triple", 4: "group of four"}
# The number of triples, or of groups of four, times |M| stays below 2^63.
MOST_RECORDS: Final = {3: 2_000_000, 4: 86_000}


def pairwise_weights(
    original: ArrayLike,
    *,
    radius: float | Sequence[float] = 0.2,
    radius_kind: Literal["percentage", "absolute", "fixed"] = "percentage",
    known: Known = None,
    c: float = 1.0,
    g: float = 0.0,
    singletons: Singletons = "refuse",
) -> Floats:
    """Pairwise weights (Equations 6 to 9 of [risk2024], with c and g of supplement section 7).

    alpha_i = c (1 - sum_{j != i} IR_ij / (|M| - 1)) + g, kept within [0, 1]. For c = 1, g = 0 and
    patterns of up to 90 million records the weight is the double nearest to the true fraction.

    Parameters
    ----------
    original : array_like, shape (N,) or (N, P)
        Confidential outcome, or P outcomes, whose ball is a box.
    radius : float or sequence of P floats
        r above 0: a share of |y_i| (0.2 = 20 %) or an absolute distance in the outcome's unit. The
        ball includes its ends.
    radius_kind : {"percentage", "absolute"}
        rho_i = r |y_i|, or rho_i = r; "fixed" is another name of "absolute".
    known : array_like, shape (N,) or (N, P), table, mapping or sequence of P columns, optional
        Public columns. Their joint value is a record's pattern; by default all records share one.
    c : float
        Scale of the weights, at least 0; larger = less protected.
    g : float
        Shift of the weights; larger = less protected.
    singletons : {"refuse", "weight-zero", "weight-one"}
        The rule for a record alone in its pattern, which has no pair. "refuse" raises InputError.
        "weight-zero" takes the record out of the fit. "weight-one" leaves the record unprotected.
        These two rules set the final weight, whatever c and g.

    Returns
    -------
    ndarray, shape (N,)
        Weights in [0, 1]; smaller = more isolated together with others = more protected.

    Raises
    ------
    InputError
        For missing values, a radius not above 0, a negative c, or a pattern of one record.

    Examples
    --------
    >>> pairwise_weights([100.0, 110.0, 400.0], radius=0.2).round(4).tolist()
    [0.8333, 0.8333, 1.0]
    """
    return _weights(original, radius, radius_kind, known, c, g, singletons, order=2)


def three_way_weights(
    original: ArrayLike,
    *,
    radius: float | Sequence[float] = 0.2,
    radius_kind: Literal["percentage", "absolute", "fixed"] = "percentage",
    known: Known = None,
    c: float = 1.0,
    g: float = 0.0,
    singletons: Singletons = "refuse",
) -> Floats:
    """Three-way weights: from joint risks of three records (section 3.2.1 of [risk2024]).

    IR_ijk = #{h in M : y_h outside all three balls} / |M|. The mean of IR_ijk runs over the
    (|M| - 1)(|M| - 2) / 2 triples of a pattern that hold i. alpha_i is 1 minus this mean, then
    scaled by c and shifted by g. At c = 1 and g = 0 the mean risk of i is 1 - alpha_i. The paper
    examined these risks, reports little improvement over pairs, and gives no formula; this one
    carries Equations 6 to 9 on. The sum as defined would take O(|M|^4) steps. The count here takes
    O(|M| log |M|), as in `pairwise_weights`.

    Parameters
    ----------
    original : array_like, shape (N,) or (N, P)
        Confidential outcome, or P outcomes, as in `pairwise_weights`.
    radius : float or sequence of P floats
        r above 0, as in `pairwise_weights`.
    radius_kind : {"percentage", "absolute"}
        As in `pairwise_weights`.
    known : array_like, shape (N,) or (N, P), table, mapping or sequence of P columns, optional
        Public columns, as in `pairwise_weights`.
    c : float
        Scale of the weights, at least 0; larger = less protected.
    g : float
        Shift of the weights; larger = less protected.
    singletons : {"refuse", "weight-zero", "weight-one"}
        The rule for a record whose pattern has fewer than three records.

    Returns
    -------
    ndarray, shape (N,)
        Weights in [0, 1]; smaller = more protected. At c = 1 no weight is below the pairwise one.

    Raises
    ------
    InputError
        As in `pairwise_weights`, and for a pattern of more than 2 million records, whose counts
        leave 64 bits.

    Examples
    --------
    >>> three_way_weights([100.0, 110.0, 400.0, 900.0], radius=0.2).round(4).tolist()
    [0.8333, 0.8333, 0.9167, 0.9167]
    """
    return _weights(original, radius, radius_kind, known, c, g, singletons, order=3)


def four_way_weights(
    original: ArrayLike,
    *,
    radius: float | Sequence[float] = 0.2,
    radius_kind: Literal["percentage", "absolute", "fixed"] = "percentage",
    known: Known = None,
    c: float = 1.0,
    g: float = 0.0,
    singletons: Singletons = "refuse",
) -> Floats:
    """Four-way weights: from joint risks of four records (section 3.2.1 of [risk2024]).

    IR_ijkm = #{h in M : y_h outside all four balls} / |M|, and alpha_i is 1 minus its mean over the
    (|M| - 1)(|M| - 2)(|M| - 3) / 6 groups of four that hold i. The rest is as in
    `three_way_weights`. The sum as defined would take O(|M|^5) steps; the count here takes
    O(|M| log |M|).

    Parameters
    ----------
    original : array_like, shape (N,) or (N, P)
        Confidential outcome, or P outcomes, as in `pairwise_weights`.
    radius : float or sequence of P floats
        r above 0, as in `pairwise_weights`.
    radius_kind : {"percentage", "absolute"}
        As in `pairwise_weights`.
    known : array_like, shape (N,) or (N, P), table, mapping or sequence of P columns, optional
        Public columns, as in `pairwise_weights`.
    c : float
        Scale of the weights, at least 0; larger = less protected.
    g : float
        Shift of the weights; larger = less protected.
    singletons : {"refuse", "weight-zero", "weight-one"}
        The rule for a record whose pattern has fewer than four records.

    Returns
    -------
    ndarray, shape (N,)
        Weights in [0, 1]; smaller = more protected. At c = 1 no weight is below the three-way one.

    Raises
    ------
    InputError
        As in `pairwise_weights`, and for a pattern of more than 86,000 records, whose counts leave
        64 bits.

    Examples
    --------
    >>> four_way_weights([100.0, 110.0, 400.0, 900.0, 990.0], radius=0.2).round(4).tolist()
    [0.95, 0.95, 1.0, 0.95, 0.95]
    """
    return _weights(original, radius, radius_kind, known, c, g, singletons, order=4)


def _weights(
    original: ArrayLike,
    radius: float | Sequence[float],
    radius_kind: str,
    known: Known,
    c: float,
    g: float,
    singletons: str,
    *,
    order: int,
) -> Floats:
    """Weights from groups of `order` records."""
    y = outcomes(original, "original")
    balls = make_balls(y, radius, radius_kind, "box")
    choice(singletons, "singletons", _SINGLETONS)
    scale, shift = non_negative(c, "c"), finite_number(g, "g")
    codes = pattern_codes(known, len(y))
    members_of = np.bincount(codes)
    alone = int(members_of[members_of < order].sum())
    if singletons == "refuse" and alone:
        raise InputError.by(
            "pattern-too-small", alone=alone, y=len(y), order=order, groups=_GROUPS[order]
        )
    weights = np.full(len(y), 1.0 if singletons == "weight-one" else 0.0)
    by_pattern = np.argsort(codes, kind="stable")
    for members in np.split(by_pattern, np.cumsum(members_of)[:-1]):
        if len(members) >= order:
            rows = members[np.argsort(y[members, 0])]
            covered, groups = _covered(y[rows], balls.in_order(rows), order)
            with np.errstate(over="ignore"):
                weights[rows] = np.clip(scale * (covered / groups) + shift, 0.0, 1.0)
    return weights


def _groups_outside(outside: Counts, order: int) -> Counts:
    """(u_h - 1 over order - 1): i's groups whose balls all leave out h, where i's leaves it out."""
    groups = np.ones_like(outside)
    for taken in range(1, order):
        groups = groups * (outside - taken) // taken
    return groups


def _covered(ordered: Floats, balls: Balls, order: int) -> tuple[Counts, int]:
    """For each i (n,) the (record, group) pairs that a ball of the group covers, and all pairs.

    A group of i is i with order - 1 other records. Pairs stand in the order of `ordered` (n, P),
    which ascends in its first outcome.
    """
    n = len(ordered)
    if n > MOST_RECORDS.get(order, n):
        raise InputError.by(
            "patterns-too-large", groups=_GROUPS[order], most_records=MOST_RECORDS[order], n=n
        )
    groups = n * comb(n - 1, order - 1)
    if ordered.shape[1] > 1:
        boxes = balls.centre, balls.reach, *near(ordered, balls)
        outside = n - boxes_around(ordered, *boxes)
        beyond = _groups_outside(outside.astype(np.int64), order)
        return groups - beyond.sum() + sum_in_box(ordered, *boxes, True, beyond), groups
    low, high = (end[:, 0] for end in balls.ends())
    start = np.searchsorted(ordered[:, 0], low, side="left")
    end = np.searchsorted(ordered[:, 0], high, side="right")
    # Balls that begin at or before h, less those that end before it, cover h.
    change = np.bincount(start, minlength=n + 1) - np.bincount(end, minlength=n + 1)
    outside = n - np.cumsum(change[:-1])
    summed = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(_groups_outside(outside, order), out=summed[1:])
    return groups - summed[-1] + summed[end] - summed[start], groups
