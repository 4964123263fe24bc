"""S_pMSE of tables: pMSE of a logistic model with all two-way terms, over its null expectation.

The model has a term for each column and for the product of each two columns, as synthpop's
``utility.gen`` has [snoke2018] [raab2021]. A category enters by its levels. A number enters by its
value, and where it is missing by a level of its own. With k coefficients, N records and a share c
of them synthetic the null expectation is (k - 1) (1 - c)^2 c / N.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.evaluation.pmse import PropensityScore, logistic_pmse, tree_pmse

_MOST_COEFFICIENTS: Final = 400
_MOST_RECORDS: Final = 50_000

Plain = Mapping[str, NDArray[Any]]
"""Columns (N,) by name: whole numbers are codes of a category, floats numbers, NaN if missing."""


@dataclass(frozen=True, slots=True)
class TwoWayScore:
    """The pMSE with its null distribution, and the columns whose rarest levels count as one.

    `score.ratio` is S_pMSE: 1 is expected of a correct synthesizer, larger = easier to tell apart.
    `unseen` counts the pairs of columns for whose products the model has no room.
    """

    score: PropensityScore
    folded: tuple[str, ...]
    unseen: int = 0


def two_way_pmse(
    original: Plain, synthetic: Plain, *, most: int = _MOST_COEFFICIENTS
) -> TwoWayScore:
    """pMSE of the main effects and all products of two columns of plain tables.

    Where the model would have more than `most` coefficients, each category keeps its most common
    levels, equally many in each, and the others count as one. Where two levels each are still too
    many, products of columns that stand near each other come first, and the others are left out. Of
    a table with more than 50,000 records the function takes as many, evenly spaced.

    >>> table = {"a": np.array([0, 0, 1, 1]), "b": np.array([0, 1, 0, 1])}
    >>> two_way_pmse(table, table).score.value < 1e-20
    True
    """
    both, count = _stacked(original, synthetic)
    levels = {
        name: len(np.unique(values)) for name, values in both.items() if not _is_number(values)
    }
    kept = _kept_levels(both, levels, most)
    blocks = [_block(values, kept) for values in both.values()]
    chosen = _chosen_pairs([block.shape[1] for block in blocks], most)
    products = [
        (blocks[i][:, :, None] * blocks[j][:, None, :]).reshape(len(blocks[i]), -1)
        for i, j in chosen
    ]
    design = np.column_stack([np.ones(len(blocks[0])), *blocks, *products])
    folded = tuple(name for name, many in levels.items() if many > kept)
    unseen = comb(len(blocks), 2) - len(chosen)
    return TwoWayScore(logistic_pmse(design[:count], design[count:]), folded, unseen)


def tree_score(
    original: Plain, synthetic: Plain, *, leaf: int = 20, permutations: int = 20, seed: int = 1
) -> float:
    """S_pMSE of a classification tree: pMSE over (1 - c) times its mean under permuted labels.

    The factor brings the mean of two independent samples to that of an original that is held fixed,
    as synthpop's does for c = 1/2.
    """
    both, count = _stacked(original, synthetic)
    design = np.column_stack([_block(values, len(values)) for values in both.values()])
    score = tree_pmse(
        design[:count], design[count:], leaf=leaf, permutations=permutations, seed=seed
    )
    return score.ratio * len(design) / count


def _stacked(original: Plain, synthetic: Plain) -> tuple[dict[str, NDArray[Any]], int]:
    """The columns of both tables, original records first, and the number of original records."""
    sizes = [len(next(iter(table.values()))) for table in (original, synthetic)]
    rows = [np.linspace(0, size - 1, min(size, _MOST_RECORDS)).astype(np.intp) for size in sizes]
    stacked = {
        name: np.concatenate([original[name][rows[0]], synthetic[name][rows[1]]])
        for name in original
    }
    return stacked, len(rows[0])


def _is_number(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "f"


def _kept_levels(both: Plain, levels: Mapping[str, int], most: int) -> int:
    """How many levels of each category the model can have."""
    numbers = [1 + bool(np.isnan(values).any()) for values in both.values() if _is_number(values)]

    def coefficients(kept: int) -> int:
        widths = [*numbers, *(min(many, kept) - 1 for many in levels.values())]
        products = (sum(widths) ** 2 - sum(width * width for width in widths)) // 2
        return 1 + sum(widths) + products

    kept = max(levels.values(), default=2)
    while kept > 2 and coefficients(kept) > most:
        kept -= 1
    return kept


def _chosen_pairs(widths: Sequence[int], most: int) -> list[tuple[int, int]]:
    """The pairs of columns, in order, whose products fit; those near each other in a ring first."""
    K, room, chosen = len(widths), most - 1 - sum(widths), []
    pairs = combinations(range(K), 2)
    for i, j in sorted(pairs, key=lambda pair: min(pair[1] - pair[0], K - pair[1] + pair[0])):
        room -= widths[i] * widths[j]
        if room < 0:
            break
        chosen.append((i, j))
    return sorted(chosen)


def _block(values: NDArray[Any], kept: int) -> Floats:
    """A column's part of the design (N, w): all its levels but the most common, or its numbers."""
    if _is_number(values):
        gone = np.isnan(values)
        there = values[~gone]
        spread = float(there.std()) if len(there) else 0.0
        scaled = np.where(gone, 0.0, values - (there.mean() if len(there) else 0.0))
        scaled = np.where(gone, 0.0, scaled) / (spread or 1.0)
        return np.column_stack([scaled, gone.astype(np.float64)]) if gone.any() else scaled[:, None]
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.minimum(np.arange(len(order)), kept - 1)
    own = place[codes]
    return np.asarray(own[:, None] == np.arange(1, min(len(order), kept)), dtype=np.float64)
