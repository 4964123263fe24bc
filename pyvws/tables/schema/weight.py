"""The survey weight of a table whose public cells are counted by it, within a public range."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import as_text
from pyvws.errors import InputError
from pyvws.tables.files.kinds import distinct
from pyvws.tables.files.labels import as_digit, as_number

MOST_PARTS: Final = 1024
"""The whole number that the largest weight counts as; a power of 2, so scales are exact."""
CALIBRATED: Final = "calibrated"
WEIGHT_KINDS: Final = (CALIBRATED, "design")


@dataclass(frozen=True, slots=True)
class SurveyWeight:
    """A column of survey weights, and what is public of it.

    - `column`: Name of the column.
    - `low`, `high`: The public range, in units of the weights; 0 <= low < high.
    - `calibrated`: Whether a weight may depend on other records.
    """

    column: str
    low: float
    high: float
    calibrated: bool

    @property
    def middle(self) -> float:
        """The middle of the range, in parts of the largest weight: for forecasts alone."""
        return MOST_PARTS * 0.5 * (self.low + self.high) / self.high

    def read(self, column: nw.Series[Any]) -> WeighedRecords:
        """What each record of a column of any type, with any cells, counts as."""
        places, labels = distinct(column, any_cell=True)
        found = [as_number(as_digit(label)) for label in labels]
        weights = np.array([*(0.0 if x is None else x for x in found), 0.0])
        within = np.clip(weights, self.low, self.high)
        parts = np.rint(within / self.high * MOST_PARTS).astype(np.int64)
        parts[weights <= 0.0] = 0
        clipped = (weights > 0.0) & (within != weights)
        return WeighedRecords(
            parts[places], int(clipped[places].sum()), int((weights <= 0.0)[places].sum())
        )


@dataclass(frozen=True, slots=True)
class WeighedRecords:
    """What records count as in sums of weights; confidential.

    - `parts` (N,): Parts of the largest weight, 0 to `MOST_PARTS`.
    - `clipped`: The number of records whose weight was moved into the public range.
    - `without`: The number of records that count 0: a weight of 0 or below, or none.
    """

    parts: NDArray[np.int64]
    clipped: int
    without: int


def read_weight(
    column: object, bounds: object, kind: object, *, role: str, unit: str | None
) -> SurveyWeight | None:
    """The weight of a schema's entries `weight`, `weight_range` and `weight_kind`; None without.

    InputError for entries that do not belong together, a range that is none, and a weight that is
    the unit or is released.
    """
    if column is None:
        if bounds is not None or kind is not None:
            raise InputError.by("weight-entries-alone")
        return None
    if not isinstance(column, str):
        raise InputError.by("not-text", name="weight", value=as_text(column))
    ends = tuple(bounds) if isinstance(bounds, list | tuple) else ()
    numbers = [x for x in ends if isinstance(x, int | float) and not isinstance(x, bool)]
    if len(ends) != 2 or len(numbers) != 2 or not 0 <= ends[0] < ends[1] or not isfinite(ends[1]):
        raise InputError.by("weight-range", weight=column)
    if kind is not None and kind not in WEIGHT_KINDS:
        raise InputError.by("weight-kind", kind=as_text(kind))
    if column == unit or role != "drop":
        raise InputError.by("weight-role", weight=column)
    return SurveyWeight(column, float(ends[0]), float(ends[1]), kind in (None, CALIBRATED))
