"""Sets whose noisy counts the imputed records do not hold, from the counts and records alone.

Beside the confidential records' counts M a noisy count S is off by its noise alone. So of the
records' counts R, S - R is no larger than noise where R holds what was counted. Two chances say
how often noise is as far off as a set: by its own density, summed over the set's cells, and by the
tie of two columns along the order of their codes, where a tie that runs through many cells stands
out first. A model that smooths a tie away fails the second in most cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy.special import chdtrc, gammaincc, stdtr

from pyvws._base.checks import Floats
from pyvws._base.phrase import counted
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.measurements import Measurements

_BY_TIE: Final = 0.08  # Sets that noise alone names in a release at most, on average,
_BY_CELLS: Final = 0.02  # and by cells.
_NAMED: Final = 5
_NORMAL: Final = 1e6  # Degrees of freedom, of about a normal distribution.


def lost_sets(noisy: Measurements, datasets: Sequence[Codes]) -> list[tuple[str, ...]]:
    """The columns of each set from whose noisy counts the datasets (n, K) are too far.

    The mean of the datasets' counts is compared. It is post-processing of the noisy counts, so it
    costs nothing. The set that is furthest off comes first.
    """
    table, sets = noisy.table, len(noisy.table.sets)
    counts = np.mean([table.counts(codes) for codes in datasets], axis=0)
    apart = (noisy.counts - counts) * table.possible
    power = 1 if noisy.laplace else 2
    chances = []
    for q, (low, high) in enumerate(zip(table.offsets[:-1], table.offsets[1:], strict=True)):
        own, possible = apart[low:high], int(table.possible[low:high].sum())
        size = float((np.abs(own / noisy.scales[q]) ** power).sum())
        # Sizes of Laplace noise are exponential, and squares of normal noise chi-square.
        chance = gammaincc(possible, size) if noisy.laplace else chdtrc(possible, size)
        along = 1.0
        if len(table.sets[q]) == 2:
            along = _chance_of_tie(noisy, q, own, counts[low:high])
        chances.append(min(chance / _BY_CELLS, along / _BY_TIE))
    order = np.argsort(chances, kind="stable")
    return [table.sets[q] for q in order if chances[q] < 1.0 / sets]


def named_sets(sets: Sequence[Sequence[str]]) -> str:
    """The first sets in words, by the names of their columns, and how many more there are."""
    more = len(sets) - _NAMED
    words = ", ".join(" by ".join(columns) for columns in sets[:_NAMED])
    return words + (f" and {counted(more, 'more set')}" if more > 0 else "")


def _chance_of_tie(noisy: Measurements, q: int, apart: Floats, counts: Floats) -> float:
    """The chance that noise moves the rank covariance of a pair by as much.

    Sums of Laplace noise have about the tails of a t distribution with their kurtosis.
    """
    sizes, (low, high) = noisy.table.cliques[q].sizes, noisy.table.offsets[q : q + 2]
    table, tie = counts.reshape(sizes), noisy.table.possible[low:high].reshape(sizes).astype(float)
    for axis in (0, 1):
        margin = table.sum(axis=1 - axis)
        ranks = np.cumsum(margin) - 0.5 * margin
        tie = tie * np.expand_dims(ranks - 0.5 * margin.sum(), 1 - axis)
    squares = float((tie**2).sum())
    if squares == 0.0:
        return 1.0
    off = abs(float((tie.ravel() * apart).sum())) / (noisy.deviations[q] * np.sqrt(squares))
    df = _NORMAL
    if noisy.laplace:
        df = 4.0 + 2.0 * squares**2 / float((tie**4).sum())
    return float(2.0 * stdtr(df, -off * np.sqrt(df / (df - 2.0))))
