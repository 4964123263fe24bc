"""Sets whose noisy counts the imputed records do not hold, from the counts and records alone.

Beside the confidential records' counts M a noisy count S is off by its noise alone. So of the
records' counts R, S - R is no larger than noise where R holds what was counted. Two chances say
how often noise is as far off as a set: by its own density, summed over the set's cells, and by the
tie of two columns along the order of their codes, where a tie that runs through many cells stands
out first. Each is held against the number of sets. Of a tie that stands out of its noise among all
sets, the loss is held against the number of such ties.
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

_CHANCE: Final = 0.04  # Sets that each test names in a release by noise alone, on average.
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
    by_cells, lost, standing = np.ones((3, sets))
    for q, (low, high) in enumerate(zip(table.offsets[:-1], table.offsets[1:], strict=True)):
        own, possible = apart[low:high], int(table.possible[low:high].sum())
        size = float((np.abs(own / noisy.scales[q]) ** (1 if noisy.laplace else 2)).sum())
        # Sizes of Laplace noise are exponential, and squares of normal noise chi-square.
        by_cells[q] = gammaincc(possible, size) if noisy.laplace else chdtrc(possible, size)
        if len(table.sets[q]) == 2:
            lost[q], standing[q] = _chances_of_tie(noisy, q, own, counts[low:high])
    among = np.where(stands := standing * sets < _CHANCE, stands.sum(), sets)
    named = np.minimum(2.0 * by_cells * sets, lost * among)
    return [table.sets[q] for q in np.argsort(named, kind="stable") if named[q] < _CHANCE]


def named_sets(sets: Sequence[Sequence[str]]) -> str:
    """The first sets in words, by the names of their columns, and how many more there are."""
    more = len(sets) - _NAMED
    words = ", ".join(" by ".join(columns) for columns in sets[:_NAMED])
    return words + (f" and {counted(more, 'more set')}" if more > 0 else "")


def _chances_of_tie(
    noisy: Measurements, q: int, apart: Floats, counts: Floats
) -> tuple[float, float]:
    """The chances that noise makes as large a loss, and as large a tie, of a pair.

    A tie is the covariance of the columns' ranks by the records' margins. Sums of Laplace noise
    have about the tails of a t distribution with their kurtosis.
    """
    sizes, (low, high) = noisy.table.cliques[q].sizes, noisy.table.offsets[q : q + 2]
    table, tie = counts.reshape(sizes), noisy.table.possible[low:high].reshape(sizes).astype(float)
    for axis in (0, 1):
        margin = table.sum(axis=1 - axis)
        ranks = np.cumsum(margin) - 0.5 * margin
        tie = tie * np.expand_dims(ranks - 0.5 * margin.sum(), 1 - axis)
    squares = float((tie**2).sum())
    if squares == 0.0:
        return 1.0, 1.0
    df = _NORMAL
    if noisy.laplace:
        df = 4.0 + 2.0 * squares**2 / float((tie**4).sum())
    lost, whole = (
        abs(float(tie.ravel() @ own)) / (noisy.deviations[q] * np.sqrt(squares))
        for own in (apart, apart + counts)
    )
    lost, whole = 2.0 * stdtr(df, -np.array([lost, whole]) * np.sqrt(df / (df - 2.0)))
    return float(lost), float(whole)
