"""The columns that an intruder may know of a record, and which of them makes the risk.

Where nobody names keys, a schema proposes them. Let U be the records that are alone with all keys
q, so that d_q = 1. The contributions of a key k are

- alone: the share of U that is alone no more where k is not known,
- minimal: the share, among minimal sample uniques of at most M keys, of those that have k. That is
  a set of keys with values that one record has alone, while no part of it is such a set
  [manning2008],
- replicated: the share of replicated uniques, d_q = s_q = 1, that are so no more without k, as a
  mean over the datasets that have any.

A record can be alone by several sets at once. No single key then makes it so, alone is 0, and
minimal tells which keys do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, takewhile
from math import comb
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws.evaluation.original_and_datasets import described
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema

MOST_LEVELS: Final = 20
MOST_KEYS: Final = 10
_AGES: Final = tuple(float(age) for age in range(10, 120, 10))
_LARGEST_SET: Final = 3
MOST_CELLS: Final = 100_000_000
"""So many records times sets of keys are looked at."""

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """Keys with the edges of the bins that some are compared by.

    `by` says what proposed them: "known" or "levels" of a schema; empty where somebody named them.
    `left_out` counts further columns that could have been proposed.
    """

    keys: tuple[str, ...]
    bins: Mapping[str, Sequence[float]] = field(default_factory=dict)
    by: str = ""
    left_out: int = 0

    @property
    def words(self) -> str:
        """How the keys were proposed; empty where somebody named them."""
        binned = ", ".join(self.bins)
        parts = {
            "known": "The schema proposes the keys, by known = true",
            "levels": f"The schema proposes the keys: columns of at most {MOST_LEVELS} levels"
            f"{', and ' * bool(binned)}{binned}{' by tens' * bool(binned)}",
        }
        more = f" It has {self.left_out} more such columns." if self.left_out else ""
        keys = ", ".join(self.keys)
        return f"{parts[self.by]}. They are {keys}.{more} Name others by --keys." if self.by else ""


@dataclass(frozen=True, slots=True)
class KeyContribution:
    """What one key adds to the risk: shares in [0, 1]; larger = it makes more of the risk."""

    key: str
    alone: float
    minimal: float
    replicated: float


def proposed_keys(
    schema: Schema | None, names: Collection[str], *, but: Collection[str] = ()
) -> KnownKeys | None:
    """The keys that a schema proposes among the columns `names`; None where it proposes none.

    They are the columns with known = true. Where there are none, they are categories of 2 to 20
    levels, and ages by tens, without those with known = false: the first 10 in the schema's order.
    A known number counts by its cuts, where it has some.
    """
    columns = {
        name: column
        for name, column in described(schema).items()
        if name in names and name not in but and column.role in ("public", "synthesize")
    }
    known = [name for name, column in columns.items() if column.known]
    if known:
        cuts = {name: columns[name].cuts for name in known if not columns[name].categorical}
        return KnownKeys(tuple(known), {name: x for name, x in cuts.items() if x}, "known")
    found = [name for name, column in columns.items() if _may_be_known(name, column)]
    keys = tuple(found[:MOST_KEYS])
    ages = {name: _AGES for name in keys if not columns[name].categorical}
    return KnownKeys(keys, ages, "levels", len(found) - len(keys)) if keys else None


def _may_be_known(name: str, column: Column) -> bool:
    if column.known is False:
        return False
    if column.categorical:
        return 2 <= len(column.coded_levels) <= MOST_LEVELS
    age = re.fullmatch(r"(.*[^a-z])?ages?(p|[^a-z].*)?", name.lower())
    return age is not None and column.days_since is None


def key_contributions(
    keys: Sequence[str],
    pairs: Iterable[tuple[NDArray[Any], NDArray[Any]]],
    *,
    most_cells: int = MOST_CELLS,
) -> tuple[tuple[KeyContribution, ...], int]:
    """The contributions of keys, and the largest size M of the sets that were looked at.

    `pairs` are codes (K, N) of the original and (K, N_s) of each dataset, from 0 on and alike in
    both. Combinations of codes are compared by sums of random 64-bit numbers: two of a million
    records share one by chance with probability 3e-8. M is 3, or less where sets times records
    exceed `most_cells`, which bounds the datasets too.

    >>> codes = np.array([[0, 0, 1, 1], [0, 1, 0, 0]])
    >>> [round(x.alone, 2) for x in key_contributions(["a", "b"], [(codes, codes)])[0]]
    [0.5, 1.0]
    """
    replicated: list[list[float]] = []
    alone: list[float] = []
    minimal, largest, looked = [0.0] * len(keys), 1, 0
    for original, synthetic in pairs:
        first, second = _hashes(original, synthetic, np.random.default_rng(1))
        d, s = _times(first.sum(axis=0)), _times(second.sum(axis=0))
        if not alone:
            lone = first[:, d(first.sum(axis=0)) == 1]
            alone = [_no_more(lone, row, (first,)) for row in range(len(keys))]
            minimal, largest = _minimal_shares(first, most_cells)
        whole = first.sum(axis=0)
        both = first[:, (d(whole) == 1) & (s(whole) == 1)]
        if both.shape[1]:
            replicated.append([_no_more(both, row, (first, second)) for row in range(len(keys))])
        looked += first.size + second.size
        if looked * len(keys) > most_cells:
            break
    means = np.mean(replicated or [[0.0] * len(keys)], axis=0).tolist()
    shares = zip(keys, alone, minimal, means, strict=True)
    return tuple(KeyContribution(*own) for own in shares), largest


def _hashes(
    original: NDArray[Any], synthetic: NDArray[Any], rng: np.random.Generator
) -> tuple[Hashes, Hashes]:
    """A random number for each code of each key, (K, N) and (K, N_s)."""
    sizes = 1 + np.maximum(original.max(axis=1), synthetic.max(axis=1))
    of_codes = [rng.integers(0, 2**64, size, dtype=np.uint64) for size in sizes.tolist()]
    first, second = (
        np.array([own[codes] for own, codes in zip(of_codes, table, strict=True)])
        for table in (original, synthetic)
    )
    return first, second


def _times(hashes: Hashes) -> Callable[[Hashes], NDArray[np.intp]]:
    """A function: how often each of some hashes is among these."""
    ordered = np.sort(hashes)
    return lambda wanted: np.asarray(
        ordered.searchsorted(wanted, "right") - ordered.searchsorted(wanted, "left"), dtype=np.intp
    )


def _no_more(records: Hashes, row: int, tables: Sequence[Hashes]) -> float:
    """The share of records (K, n), alone in tables by all keys, that are not without one of them.

    0 of no records.
    """
    if not records.shape[1]:
        return 0.0
    wanted = records.sum(axis=0) - records[row]
    still = np.ones(len(wanted), dtype=np.bool_)
    for table in tables:
        still &= _times(table.sum(axis=0) - table[row])(wanted) == 1
    return float(1.0 - still.mean())


def _minimal_shares(hashes: Hashes, most_cells: int) -> tuple[list[float], int]:
    """By key, its share among minimal sample uniques, and the largest size of their sets."""
    K, N = hashes.shape
    fits = takewhile(
        lambda size: size == 1 or sum(comb(K, s) for s in range(1, size + 1)) * N <= most_cells,
        range(1, min(_LARGEST_SET, K) + 1),
    )
    largest = max(fits)
    unique: dict[tuple[int, ...], NDArray[np.bool_]] = {}
    having = np.zeros(K)
    total = 0
    for size in range(1, largest + 1):
        for chosen in combinations(range(K), size):
            of_set = hashes[list(chosen)].sum(axis=0)
            alone = _times(of_set)(of_set) == 1
            if size < largest:
                unique[chosen] = alone
            new = alone.copy()
            for part in combinations(chosen, size - 1):
                if part:
                    new &= ~unique[part]
            found = int(new.sum())
            having[list(chosen)] += found
            total += found
    return (having / max(total, 1)).tolist(), largest
