"""A printed figure beside the same figure recomputed: a Monte Carlo interval and a verdict.

The paper's figure is one run. R runs of ours, alike and independent, give an interval that holds a
further such run with a stated probability: mean +- t sd sqrt(1 + 1 / R), t the quantile of
Student's t with R - 1 degrees of freedom. Rounding of the printed figure widens it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from pyvws._base.checks import whole_number
from pyvws._base.private_folder import private_folder
from pyvws.studies._replicates import ReplicatedStudy, Report, run_study
from pyvws.studies._results import Key, Result

__all__ = [
    "LEVEL",
    "Printed",
    "half_unit",
    "interval_of",
    "prediction_interval",
    "printed_table",
    "replicates_of",
]

LEVEL: Final = 0.99
"""Probability that a further run lies inside; of a hundred right figures one lies outside."""


@dataclass(frozen=True, slots=True)
class Printed:
    """One printed figure.

    Attributes
    ----------
    paper, table, row, column : str
        Key of `pyvws._base.references` and the place.
    value : str
        As printed.
    mean, low, high : float
        Mean of the recomputed figures, and the interval that is to hold the printed one.
    how : str
        What was repeated, how often, and the level.
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


def half_unit(value: str) -> float:
    """Half of the last printed decimal."""
    return 0.5 * 10.0 ** -len(value.partition(".")[2])


def prediction_interval(
    mean: float, deviation: float, runs: int, *, rounding: float = 0.0
) -> tuple[float, float]:
    """The interval of one further run, from mean and standard deviation (n - 1) of `runs` runs."""
    from scipy.stats import t

    whole_number(runs, "replicates", least=2)
    half = float(t.ppf(0.5 + LEVEL / 2, runs - 1)) * deviation * math.sqrt(1 + 1 / runs)
    half += rounding * (1 + 1e-9)
    return mean - half, mean + half


def interval_of(values: Sequence[float], *, rounding: float = 0.0) -> tuple[float, float, float]:
    """Mean of the runs' values and their `prediction_interval`."""
    found = np.asarray(values, dtype=np.float64)
    whole_number(found.size, "replicates", least=2)
    mean = float(found.mean())
    deviation = float(np.std(found, ddof=1))
    return (mean, *prediction_interval(mean, deviation, found.size, rounding=rounding))


def replicates_of(
    study: ReplicatedStudy, *, replicates: int, seed: int, jobs: int | None
) -> dict[Key, Result]:
    """The results of a study's replicates, kept in no folder."""
    silent = replace(study, report=_no_report)
    with private_folder() as folder:
        place = folder / study.name
        return run_study(silent, place, replicates=replicates, seed=seed, jobs=jobs).results


def printed_table(title: str, cells: Sequence[Printed]) -> Any:
    """The figures of one table for a terminal: printed, in or OUT, and the interval."""
    from rich.table import Table

    made = Table(title=title, caption=cells[0].how)
    made.add_column("")
    for column in dict.fromkeys(cell.column for cell in cells):
        made.add_column(column)
    for label in dict.fromkeys(cell.row for cell in cells):
        of_row = {cell.column: cell for cell in cells if cell.row == label}
        made.add_row(label, *(_shown(of_row[name]) for name in of_row))
    return made


def _shown(cell: Printed) -> str:
    decimals = len(cell.value.partition(".")[2])
    ends = f"[{cell.low:.{decimals}f}, {cell.high:.{decimals}f}]"
    return f"{cell.value} {'in' if cell.inside else 'OUT'} {ends}"


def _no_report(_settings: Mapping[str, Any], _results: Mapping[Key, Result], _out: Path) -> Report:
    return Report([], [])
