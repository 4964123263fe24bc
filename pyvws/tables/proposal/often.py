"""Which values enough records and units have, so that a proposal may list them.

A level, an end of a range or a rule that fewer than ten records have, or fewer than five units,
could give a record back. So a proposal lists none. Of fewer than 50 records or units nobody may
accept a proposal as it is, and it shows what there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.tables.schema.acceptance import LEAST_RECORDS as _LEAST_ACCEPTED

Bools = NDArray[np.bool_]
Codes = NDArray[np.intp]

_LEAST_RECORDS: Final = 10
_LEAST_UNITS: Final = 5


@dataclass(frozen=True, slots=True, eq=False)
class Often:
    """What enough records (N,) have: `units` (N,) are codes from 0 of the unit of each.

    Where chance is judged a record counts as `each` (N,): 1 over the records of its unit. `asked`
    says whether somebody could accept the proposal.
    """

    units: Codes
    each: Floats
    asked: bool

    @classmethod
    def of(cls, units: Codes) -> Self:
        """That of a whole table."""
        each = 1.0 / np.bincount(units)[units]
        return cls(units, each, len(np.unique(units)) >= _LEAST_ACCEPTED)

    def among(self, rows: Bools) -> Self:
        """That of the records in `rows` (N,) alone."""
        return type(self)(self.units[rows], self.each[rows], self.asked)

    def _are_enough(self, records: Any, units: Any) -> Bools:
        if not self.asked:
            return np.asarray(records) > 0
        return (np.asarray(records) >= _LEAST_RECORDS) & (np.asarray(units) >= _LEAST_UNITS)

    def enough(self, rows: Bools) -> bool:
        """Whether enough records are among the `rows` (N,)."""
        return bool(self._are_enough(rows.sum(), len(np.unique(self.units[rows]))))

    def codes(self, codes: NDArray[np.intp], size: int) -> Bools:
        """Which codes (L,) from 0 to `size` - 1 enough records have, of (N,); -1 is no code."""
        there = codes >= 0
        pairs = np.unique(self.units[there].astype(np.int64) * size + codes[there])
        counts = (np.bincount(own, minlength=size) for own in (codes[there], pairs % size))
        return self._are_enough(*counts)

    def numbers(self, values: Floats) -> Floats:
        """The different numbers among (N,) that enough records have, which rise."""
        known, codes = np.unique(values, return_inverse=True)
        return np.asarray(known[self.codes(codes.reshape(-1), len(known)) & ~np.isnan(known)])

    def innermost(self, values: Floats) -> tuple[float, float] | None:
        """The first numbers (N,) from either end that enough records are at or beyond.

        None where there is none, or one lies beyond the other.
        """
        order = np.argsort(values, kind="stable")
        ends = []
        for rows in (order, order[::-1]):
            new = np.zeros(len(rows), dtype=np.intp)
            new[np.unique(self.units[rows], return_index=True)[1]] = 1
            met = self._are_enough(np.arange(1, len(rows) + 1), np.cumsum(new))
            if not met.any():
                return None
            ends.append(float(values[rows[np.argmax(met)]]))
        return (ends[0], ends[1]) if ends[0] <= ends[1] else None
