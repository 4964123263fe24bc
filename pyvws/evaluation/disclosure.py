"""Identity and attribute disclosure by keys, without aligned rows [raab2024].

A key q is a combination of values that an intruder knows, and d_q and s_q count its records in the
original (N_d records) and in a synthetic table (N_s). d_tq and s_tq count those with target t.

- repU = sum of d_q over q with d_q = 1 and s_q = 1, over N_d: replicated uniques.
- DiSCO = sum of d_tq over (t, q) with s_tq = s_q > 0, over N_d: all synthetic records with the key
  have one target, and the original record has it too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import same_length
from pyvws.errors import InputError


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
