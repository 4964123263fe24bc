"""Compare a paper's printed figure with the same figure recomputed in replicates.

The paper's figure comes from one run. R independent runs of this package give an interval that
holds a further run with a stated probability: mean +- t sd sqrt(1 + 1 / R). Here t is the quantile
of Student's t with R - 1 degrees of freedom. The rounding of the printed figure widens the
interval. Two mechanisms of one replicate see the same records, so the difference between the two
mechanisms is free of the spread between samples.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pyvws._base.checks import whole_number
from pyvws._base.folders import private_folder
from pyvws._base.resumable_jobs import Key, Result
from pyvws_studies._report import terminal_table
from pyvws_studies.replicates import ReplicatedStudy, no_report, run_study

LEVEL: Final = 0.99
"""Probability that a further run lies inside; one of a hundred right figures lies outside."""


@dataclass(frozen=True, slots=True)
class Printed:
    """One printed figure: the paper's key, its place, and its `value` as printed.

    `mean`, `low` and `high` are the mean of the recomputed figures and the interval that should
    hold the printed one; `how` says what the study repeated, how often, and the interval's level.
    """

    paper: str
    table: str
    row: str
    column: str
    value: str
    mean: float
    low: float
    high: float
    how: str

    @property
    def inside(self) -> bool:
        """Whether the printed figure lies in the interval."""
        return self.low <= float(self.value) <= self.high

    @property
    def place(self) -> str:
        """For example "Table 1, CW, median: lower"."""
        return ", ".join(filter(None, (self.table, self.row, self.column)))


@cache
def papers() -> dict[str, Any]:
    """What the papers print: the tables of `papers.toml` by the paper's key and their own."""
    return tomllib.loads(Path(__file__).with_name("papers.toml").read_text(encoding="utf-8"))


def half_unit(value: str) -> float:
    """Half of the last printed decimal."""
    return 0.5 * 10.0 ** -len(value.partition(".")[2])


class PredictionInterval(NamedTuple):
    """The mean of runs, and the ends of the interval of one further run."""

    mean: float
    low: float
    high: float


def interval_of(values: ArrayLike, *, rounding: float = 0.0) -> PredictionInterval:
    """Mean of the runs' values (R,) and the interval of a further run."""
    from scipy.stats import t

    figures = np.asarray(values, dtype=np.float64)
    runs = whole_number(figures.size, "replicates", least=2)
    mean, deviation = float(figures.mean()), float(np.std(figures, ddof=1))
    half = float(t.ppf(0.5 + LEVEL / 2, runs - 1)) * deviation * math.sqrt(1 + 1 / runs)
    half += rounding * (1 + 1e-9)
    return PredictionInterval(mean, mean - half, mean + half)


def replicates_of(
    study: ReplicatedStudy, *, replicates: int, seed: int, jobs: int | None
) -> dict[Key, Result]:
    """The results of a study's replicates; no folder keeps the results."""
    silent = replace(study, report=no_report)
    with private_folder() as folder:
        place = folder / study.name
        return run_study(silent, place, replicates=replicates, seed=seed, jobs=jobs).results


def printed_tables(cells: Sequence[Printed], *more: str) -> Iterator[Any]:
    """A table for a terminal for each printed one, or for each statistic of a wide one."""

    def place(cell: Printed) -> tuple[str, ...]:
        return cell.paper, cell.table, cell.column.rpartition(":")[0]

    for at in dict.fromkeys(map(place, cells)):
        own = [cell for cell in cells if place(cell) == at]
        yield _printed_table(", ".join(filter(None, (*at, *more))), own)


def _printed_table(title: str, cells: Sequence[Printed]) -> Any:
    """Each printed figure, in or OUT, and the figure's interval."""
    table = terminal_table(title, left=["", *dict.fromkeys(cell.column for cell in cells)])
    table.caption = cells[0].how
    for label in dict.fromkeys(cell.row for cell in cells):
        of_row = {cell.column: cell for cell in cells if cell.row == label}
        table.add_row(label, *(_formatted(of_row[name]) for name in of_row))
    return table


def _formatted(cell: Printed) -> str:
    decimals = len(cell.value.partition(".")[2])
    ends = f"[{cell.low:.{decimals}f}, {cell.high:.{decimals}f}]"
    return f"{cell.value} {'in' if cell.inside else 'OUT'} {ends}"


POWER: Final = 0.9
"""Probability with which a study tells `PairedDifference.detectable` from 0."""
_QUANTILES: Final = (0.5 + LEVEL / 2, POWER)


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The statistic of mechanism `second` minus that of `first`, over R replicates.

    The interval at `LEVEL` is mean +- t sd / sqrt(R). It would exclude a true mean difference of
    size `detectable` from 0 with probability `POWER`. With one replicate these are NaN.
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
    def excludes_zero(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class Recomputed:
    """Printed figures beside recomputed figures, and the differences between mechanisms."""

    cells: list[Printed]
    pairs: list[PairedDifference] = field(default_factory=list)

    def pair_verdicts(self, cell: Printed) -> str:
        """For example "told apart from LW; not told apart from CW"; "" for a cell in no pair."""
        others: dict[bool, list[str]] = {True: [], False: []}
        for pair in self.pairs:
            names = [pair.first, pair.second]
            if pair.statistic == cell.column and cell.row in names:
                names.remove(cell.row)
                others[pair.excludes_zero] += names
        words = {True: "told apart from", False: "not told apart from"}
        return "; ".join(
            f"{words[apart]} {', '.join(names)}" for apart, names in others.items() if names
        )


def paired_difference(
    first: str, second: str, statistic: str, first_values: ArrayLike, other: ArrayLike
) -> PairedDifference:
    """The difference `other` (R,) minus `one` (R,); both list the replicates in the same order."""
    from scipy.stats import t

    gap = np.asarray(other, dtype=np.float64) - np.asarray(first_values, dtype=np.float64)
    R, mean = gap.size, float(gap.mean())
    error = float(np.std(gap, ddof=1)) / math.sqrt(R) if R > 1 else math.nan
    half, beyond = ((float(t.ppf(p, R - 1)) if R > 1 else math.nan) for p in _QUANTILES)
    ends = mean - half * error, mean + half * error
    return PairedDifference(first, second, statistic, mean, *ends, (half + beyond) * error, R)


def paired_table(title: str, pairs: Sequence[PairedDifference]) -> Any:
    """A table for a terminal: each difference, its interval, and whether that excludes 0."""
    headings = ("statistic", "difference", f"{LEVEL:.0%} interval", "told apart", "detectable")
    table = terminal_table(title, left=[""], right=headings)
    for pair, after in zip(pairs, [*pairs[1:], None], strict=True):
        table.add_row(
            f"{pair.second} less {pair.first}",
            pair.statistic,
            f"{pair.mean:+.3g}",
            f"[{pair.low:.3g}, {pair.high:.3g}]",
            "yes" if pair.excludes_zero else "no",
            f"{pair.detectable:.2g}",
            end_section=after is None or (after.first, after.second) != (pair.first, pair.second),
        )
    table.caption = (
        f"Paired over {pairs[0].replicates} replicates. Told apart: the interval leaves 0 out. "
        f"Detectable: a true difference of this size is told apart with probability {POWER:g}."
    )
    return table
