"""The terms of units: the sums of their records' log-likelihoods, l_h = sum_j l_hj.

The bounds of units are those of records with l_h in the place of l_i. Of one outcome l_h(theta_s)
is a sum at one draw, so its largest size is of the sum, and not the sum of the records' largest
sizes. Of a table the sums of each column run over the product of the columns' draws,

    U_h = sum_k max_s alpha_h sum_j l_hjk(theta_ks),

and neighbours differ by one unit (Equation 3 and Algorithm 1 of [vws2024] with units as the
independent records).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from pyvws._base.checks import Floats
from pyvws.bounds.joint import ColumnTerms
from pyvws.bounds.lipschitz import Block
from pyvws.tables.design.units import UnitKinds

ENTRIES: Final = 1 << 20  # Log-likelihoods of records at once, 8 MB.


def unit_terms(terms: ColumnTerms, kinds: UnitKinds, draws: int) -> ColumnTerms:
    """The log-likelihoods of the kinds of units at S draws, from those of the records' cells.

    A block has some kinds of units at all draws. No matrix of all units by draws is made. A record
    whose log-likelihood is not a number makes its unit's sum -inf. A unit of one record has the
    record's own terms, to the bit.
    """

    most = max(1, ENTRIES // max(1, draws))  # Cells of records at once.

    def at(places: NDArray[np.intp]) -> Floats:
        counts = kinds.counts[places]
        used, place = np.unique(counts.indices, return_inverse=True)
        sparse = csc_array(
            csr_array((counts.data, place, counts.indptr), shape=(len(places), len(used)))
        )
        sums = np.zeros((len(places), draws))
        for first in range(0, len(used), most):
            cells = slice(first, first + most)
            values = terms.at(used[cells])
            values = np.ascontiguousarray(np.where(np.isnan(values), -np.inf, values).T)
            sums += sparse[:, cells] @ values
        return np.ascontiguousarray(sums.T)

    def blocks() -> Iterator[Block]:
        lengths = np.cumsum(np.diff(kinds.counts.indptr)) // most
        starts = np.flatnonzero(np.diff(lengths, prepend=-1))
        for start, end in zip(starts, [*starts[1:], kinds.n_kinds], strict=False):
            places = np.arange(start, end)
            yield slice(0, draws), slice(int(start), int(end)), partial(at, places)

    return ColumnTerms(blocks, at, kinds.of_unit, kinds.n_kinds, terms.probability)
