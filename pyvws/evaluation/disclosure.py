"""Disclosure without aligned rows: by keys [raab2024], and by the closest record [gower1971].

A key q is a combination of values that an intruder knows, and d_q and s_q count its records in the
original (N_d records) and in a synthetic table (N_s). d_tq and s_tq count those with target t.

- repU = sum of d_q over q with d_q = 1 and s_q = 1, over N_d: replicated uniques.
- DiSCO = sum of d_tq over (t, q) with s_tq = s_q > 0, over N_d: all synthetic records with the key
  have one target, and the original record has it too.

The distance of two records is the mean over the columns of what they differ in: 0 or 1 for a
category, for a number the difference over the original's range, at most 1. Two missing values do
not differ; a missing value and a number differ by 1.

Attacks have rates a and c of success on original and on control records [giomi2023], and risk =
(a - c) / (1 - c): what the datasets tell of their own records beyond what they tell of everybody.
A rate of r in n attacks is the centre of Wilson's interval, (r + z^2/2) / (n + z^2), with half
width z sqrt(r (n - r) / n + z^2/4) / (n + z^2). The error of the risk follows from both: da / (1 -
c) and dc (1 - a) / (1 - c)^2, as a root of squares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, finite_vector, same_length
from pyvws.errors import InputError
from pyvws.evaluation.original_and_datasets import Plain

_BLOCK: Final = 200  # Records at a time, fewer where their distances would fill 80 MB.
_DISTANCES: Final = 10_000_000
_Z: Final = 1.959963984540054  # 95 %.


@dataclass(frozen=True, slots=True)
class ReplicatedUniques:
    """Shares in [0, 1] of records that are alone with their key; larger = riskier.

    `original` (UiO) of the original records are alone, `synthetic` (UiS) of the synthetic ones.
    `present` (UiOiS) of the original records are alone and have their key in the synthetic table,
    and `replicated` (repU) are alone in both. Without synthesis `replicated` is `original`.
    """

    original: float
    synthetic: float
    present: float
    replicated: float


@dataclass(frozen=True, slots=True)
class AttributeDisclosure:
    """Shares in [0, 1] of the original records; larger = riskier.

    `original` (Dorig): all original records with the record's key have one target. `present` (iS):
    the key occurs in the synthetic table. `synthetic` (DiS): all synthetic records with the key
    have one target. `correct` (DiSCO): and it is the record's own. `both` (DiSDiO): and the key's
    original records have no other. Without synthesis `correct` is `original`.
    """

    original: float
    present: float
    synthetic: float
    correct: float
    both: float


@dataclass(frozen=True, slots=True)
class AttackScore:
    """One attack: rates in [0, 1], larger = riskier.

    - `name`: Such as "linkability"; of a secret column "inference SECRET".
    - `attack`, `control`: How often it is right on original and on control records.
    - `risk`: (attack - control) / (1 - control), at most 1; a negative risk is chance.
    - `lower`, `upper`: The ends of its 95 % interval.
    - `naive`: How often random guesses are right on original records.
    - `attacks`, `control_attacks`: How many were made.
    """

    name: str
    attack: float
    control: float
    risk: float
    lower: float
    upper: float
    naive: float
    attacks: int
    control_attacks: int


def replicated_uniques(original: ArrayLike, synthetic: ArrayLike) -> ReplicatedUniques:
    """Unique keys of an original (N_d,) and a synthetic table (N_s,), given as codes from 0 on.

    >>> replicated_uniques([0, 1, 1, 2], [0, 2, 2, 3]).replicated
    0.25
    """
    first, second = _codes(original, "original"), _codes(synthetic, "synthetic")
    d, s = _counts(first, second)
    alone = d == 1
    return ReplicatedUniques(
        original=float(alone.sum() / len(first)),
        synthetic=float((s == 1).sum() / len(second)),
        present=float((alone & (s > 0)).sum() / len(first)),
        replicated=float((alone & (s == 1)).sum() / len(first)),
    )


def attribute_disclosure(
    original: ArrayLike,
    original_target: ArrayLike,
    synthetic: ArrayLike,
    synthetic_target: ArrayLike,
) -> AttributeDisclosure:
    """What keys (N_d,) and (N_s,) tell of a target; all are codes from 0 on.

    >>> attribute_disclosure([0, 0, 1], [5, 6, 5], [0, 0, 1], [5, 5, 6]).correct
    0.3333333333333333
    """
    first, second = _codes(original, "original"), _codes(synthetic, "synthetic")
    own, other = _codes(original_target, "targets"), _codes(synthetic_target, "targets")
    same_length(first, own, ("original", "original_target"))
    same_length(second, other, ("synthetic", "synthetic_target"))
    width = 1 + max(own.max(), other.max())
    d, s = _counts(first, second)
    _, cells = np.unique(
        np.concatenate([first * width + own, second * width + other]), return_inverse=True
    )
    d_t, s_t = _counts(cells[: len(first)], cells[len(first) :])
    keys, places = first, cells[: len(first)]
    one_target = np.zeros(len(s), dtype=np.bool_)
    one_target[second] = s_t[cells[len(first) :]] == s[second]
    disclosed = one_target[keys] & (s[keys] > 0)
    correct = disclosed & (s_t[places] > 0)
    alone = d_t[places] == d[keys]
    shares = (alone, s[keys] > 0, disclosed, correct, correct & alone)
    return AttributeDisclosure(*(float(share.mean()) for share in shares))


def _codes(values: ArrayLike, name: str) -> NDArray[np.intp]:
    codes = np.asarray(values)
    if codes.ndim != 1 or codes.size == 0 or codes.dtype.kind not in "iu" or codes.min() < 0:
        raise InputError.by("not-counts-vector", name=name)
    return codes.astype(np.intp)


def _counts(
    first: NDArray[np.intp], second: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """How often each code occurs in each."""
    width = int(max(first.max(), second.max())) + 1
    return np.bincount(first, minlength=width), np.bincount(second, minlength=width)


def closest_distances(
    records: Plain,
    others: Plain,
    ranges: Mapping[str, float],
    *,
    itself: NDArray[np.intp] | None = None,
) -> Floats:
    """The distance (M,) from each of `records` to the closest of `others` (N,), in [0, 1].

    `ranges` has the range of each number. `itself` (M,) is the place among `others` of each record
    that is one of them, which is left out. Smaller = riskier.

    >>> records, others = {"x": np.array([1.0, 8.0])}, {"x": np.array([2.0, 4.0])}
    >>> closest_distances(records, others, {"x": 10.0}).tolist()
    [0.1, 0.4]
    """
    nearest = np.empty(len(next(iter(records.values()))))
    for rows, total in distance_blocks(records, others, ranges):
        if itself is not None:
            total[np.arange(len(total)), np.asarray(itself)[rows]] = np.inf
        nearest[rows] = total.min(axis=1) / len(records)
    return nearest


def distance_blocks(
    records: Plain, others: Plain, ranges: Mapping[str, float]
) -> Iterator[tuple[slice, Floats]]:
    """Some rows of `records` at a time, and their distances (B, N) to all `others`.

    The distances are sums over the columns, as `closest_distances` has their means.
    """
    size, of_others = (len(next(iter(table.values()))) for table in (records, others))
    block = max(1, min(_BLOCK, _DISTANCES // of_others))
    for start in range(0, size, block):
        rows = slice(start, min(start + block, size))
        total: Any = 0.0
        for name, values in records.items():
            total = total + _differences(values[rows], others[name], ranges.get(name, 1.0))
        yield rows, total


def share_nearer(first: ArrayLike, second: ArrayLike) -> float:
    """The share of pairs of distances (M,) and (N,) with the first one smaller; ties count half.

    1/2 = alike, larger = the first ones are nearer.

    >>> share_nearer([0.1, 0.2], [0.2, 0.3])
    0.875
    """
    near, far = finite_vector(first, "first"), np.sort(finite_vector(second, "second"))
    below = np.searchsorted(far, near, side="left") + np.searchsorted(far, near, side="right")
    return float(1.0 - below.mean() / (2.0 * len(far)))


def score_of(name: str, hits: Sequence[float], trials: Sequence[int], naive: float) -> AttackScore:
    """Rates and the risk of `hits` in `trials`, of the original and of the control group."""
    (a, da), (c, dc) = map(rate, hits, trials)
    risk = (a - c) / (1.0 - c)
    error = float(np.hypot(da / (1.0 - c), dc * (1.0 - a) / (1.0 - c) ** 2))
    return AttackScore(name, a, c, risk, risk - error, risk + error, naive, *trials)


def rate(hits: float, trials: float) -> tuple[float, float]:
    """The centre and half width of Wilson's 95 % interval."""
    whole, spread = trials + _Z**2, hits * (trials - hits) / trials
    return (hits + _Z**2 / 2) / whole, _Z / whole * float(np.sqrt(spread + _Z**2 / 4))


def _differences(values: NDArray[Any], others: NDArray[Any], width: float) -> Floats:
    if values.dtype.kind != "f":
        return (values[:, None] != others[None, :]).astype(np.float64)
    gone, lost = np.isnan(values), np.isnan(others)
    x, y = np.where(gone, 0.0, values), np.where(lost, 0.0, others)
    gap: Floats = np.minimum(np.abs(x[:, None] - y[None, :]) / (width or 1.0), 1.0)
    if width == 0.0:
        gap = (x[:, None] != y[None, :]).astype(np.float64)
    if gone.any() or lost.any():
        gap[gone[:, None] != lost[None, :]] = 1.0
        gap[gone[:, None] & lost[None, :]] = 0.0
    return gap
