"""Columns that nearly follow from an earlier one, as the noisy counts of their pair show.

A mixture needs a class for each code of such a column, and for each combination of the codes of two
of them. A table of the column by the earlier one needs none. The choice reads the noisy counts
alone, so it costs nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts.chosen_cells import kept_of
from pyvws.mechanisms.counts.given_columns import given_by_tables
from pyvws.mechanisms.counts.noisy_tables import NoisyTables

_LEAST_NATS: Final = 1.0  # What two classes can tell is left to classes.
_LEAST_SHARE: Final = 0.5  # Of the column's entropy.
_FAR: Final = 6.0  # Standard deviations, beyond what noise reaches.


def with_following(noisy: NoisyTables) -> NoisyTables:
    """The noisy tables with columns that nearly follow from earlier ones given by these.

    Of the earlier columns that a set has beside it, the one that tells most gives a column.
    Columns that tables give already stay. Without `following` of the table it returns `noisy`.
    """
    table, giving = noisy.table, {}
    if not table.following:
        return noisy
    columns = {column.name: column for column in table.columns}
    names = [*columns]
    for k in sorted({*range(1, len(names))} - {*table.given}):
        (nats, share), j = max((_told(noisy, j, k), j) for j in range(k))
        if nats >= _LEAST_NATS and share >= _LEAST_SHARE:
            giving[names[k]] = (names[j],)
    given = table.given | given_by_tables(giving, {}, columns)
    return replace(noisy, table=replace(table, given=given))


def _told(noisy: NoisyTables, j: int, k: int) -> tuple[float, float]:
    """The mutual information of columns j and k in nats, and as a share of the entropy of k.

    Of what the counts have beyond those of independent columns the share `kept_of` is kept. So
    noise alone tells nothing.
    """
    found = noisy.summed((j, k))
    if found is None:
        return 0.0, 0.0
    counts, variance = found
    first, second = (np.maximum(counts.sum(axis=axis), 0.0) for axis in (1, 0))
    alone = np.outer(first, second)
    if not alone.any():
        return 0.0, 0.0
    alone *= max(float(counts.sum()), 1.0) / alone.sum()
    beyond = counts - alone
    shares = np.maximum(alone + kept_of(beyond, variance, far=_FAR) * beyond, 0.0)
    shares /= shares.sum()
    own = _entropy(shares.sum(axis=0))
    nats = own + _entropy(shares.sum(axis=1)) - _entropy(shares)
    return nats, nats / own if own > 0.0 else 0.0


def _entropy(shares: Floats) -> float:
    """The entropy of shares, in nats."""
    some = shares[shares > 0.0]
    return -float(some @ np.log(some))
