"""What a study tells apart: differences between two mechanisms of one replicate, over replicates.

Both mechanisms of a replicate saw the same records, so the spread of samples leaves the difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from pyvws.studies._printed import LEVEL, Printed

__all__ = ["POWER", "PairedDifference", "Recomputed", "paired_difference", "paired_table"]

POWER: Final = 0.9
"""Probability with which a study tells `PairedDifference.detectable` from 0."""
_QUANTILES: Final = (0.5 + LEVEL / 2, POWER)


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """A statistic of `second` less that of `first`, over replicates.

    Attributes
    ----------
    first, second, statistic : str
        The two mechanisms, and what is compared: rows and column of a printed table.
    mean, low, high : float
        Mean difference and its Monte Carlo interval at `LEVEL`, mean +- t sd / sqrt(R).
    detectable : float
        Size of a true mean difference whose interval would leave 0 out with probability `POWER`.
    replicates : int
        R. With one replicate the ends and `detectable` are not numbers.
    """

    first: str
    second: str
    statistic: str
    mean: float
    low: float
    high: float
    detectable: float
    replicates: int

    @property
    def told_apart(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class Recomputed:
    """Printed figures beside recomputed ones, and what the replicates tell apart."""

    cells: list[Printed]
    pairs: list[PairedDifference] = field(default_factory=list)

    def told_apart(self, cell: Printed) -> str:
        """For example "told apart from LW; not told apart from CW"; "" for what is in no pair."""
        others: dict[bool, list[str]] = {True: [], False: []}
        for pair in self.pairs:
            names = [pair.first, pair.second]
            if pair.statistic == cell.column and cell.row in names:
                names.remove(cell.row)
                others[pair.told_apart] += names
        words = {True: "told apart from", False: "not told apart from"}
        return "; ".join(
            f"{words[apart]} {', '.join(names)}" for apart, names in others.items() if names
        )


def paired_difference(
    first: str, second: str, statistic: str, one: ArrayLike, other: ArrayLike
) -> PairedDifference:
    """The difference `other` (R,) less `one` (R,), values of replicates in one order."""
    from scipy.stats import t

    gap = np.asarray(other, dtype=np.float64) - np.asarray(one, dtype=np.float64)
    R, mean = gap.size, float(gap.mean())
    error = float(np.std(gap, ddof=1)) / math.sqrt(R) if R > 1 else math.nan
    half, beyond = ((float(t.ppf(p, R - 1)) if R > 1 else math.nan) for p in _QUANTILES)
    ends = mean - half * error, mean + half * error
    return PairedDifference(first, second, statistic, mean, *ends, (half + beyond) * error, R)


def paired_table(title: str, pairs: Sequence[PairedDifference]) -> Any:
    """The differences for a terminal: each with its interval, and whether that leaves 0 out."""
    from rich.table import Table

    made = Table(title=title)
    made.add_column("")
    for heading in ("statistic", "difference", f"{LEVEL:.0%} interval", "told apart", "detectable"):
        made.add_column(heading, justify="right")
    for pair, after in zip(pairs, [*pairs[1:], None], strict=True):
        made.add_row(
            f"{pair.second} less {pair.first}",
            pair.statistic,
            f"{pair.mean:+.3g}",
            f"[{pair.low:.3g}, {pair.high:.3g}]",
            "yes" if pair.told_apart else "no",
            f"{pair.detectable:.2g}",
            end_section=after is None or (after.first, after.second) != (pair.first, pair.second),
        )
    made.caption = (
        f"Paired over {pairs[0].replicates} replicates. Told apart: the interval leaves 0 out. "
        f"Detectable: a true difference of this size is told apart with probability {POWER:g}."
    )
    return made
