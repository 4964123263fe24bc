"""A lower limit of epsilon from releases alone, of runs on two neighbouring tables.

If a mechanism has epsilon, no event is more than e^epsilon times as likely on one table as on the
other. One half of the releases chooses an event. The event is counted in the other half, and its
two probabilities get exact (Clopper-Pearson) limits. Of datasets the event is of a score: the log
likelihood ratio of normal figures with the means and variances of the choosing half.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import narwhals as nw
import numpy as np
from narwhals.typing import IntoDataFrame
from scipy import stats

from pyvws._base.checks import Floats
from pyvws.tables.files.kinds import distinct
from pyvws.tables.files.labels import as_number
from pyvws.tables.schema.schema import Schema

_MOST_EVENTS: Final = 200
_FAILURE: Final = 0.05
_LEAST_SPREAD: Final = 0.01  # Of a figure's variance over both tables: so few runs tell no less.
_SHARES: Final = np.linspace(0.0, 1.0, 11)
_CHOSEN, _COUNTED = slice(0, None, 2), slice(1, None, 2)

Figures = Mapping[tuple[str, Any], float]


@dataclass(frozen=True, slots=True)
class RepeatedRuns:
    """What datasets of repeated runs tell of one record, or unit; all figures are confidential.

    - `record`: Its place in the table, from 1.
    - `repeats`: Runs on each of the two tables, one dataset of each.
    - `epsilon`: What the datasets show at 95 %, in nats; larger = less private.
    - `most`: The largest epsilon that so many runs can show.
    """

    record: int
    repeats: int
    epsilon: float
    most: float


def repeated_runs(record: int, first: Sequence[Figures], second: Sequence[Figures]) -> RepeatedRuns:
    """The test of R datasets of each of two tables, by the figures of each dataset."""
    names = sorted({name for own in (*first, *second) for name in own}, key=str)
    one, other = (
        np.nan_to_num([[own.get(name, 0.0) for name in names] for own in side])
        for side in (first, second)
    )
    both = np.concatenate([one[_CHOSEN], other[_CHOSEN]]).var(axis=0)
    vary = both > 0.0
    score, sides = np.zeros(2 * len(first)), np.concatenate([one, other])[:, vary]
    for sign, own in ((1.0, one), (-1.0, other)):
        mean = own[_CHOSEN].mean(axis=0)[vary]
        variance = np.maximum(own[_CHOSEN].var(axis=0)[vary], _LEAST_SPREAD * both[vary])
        distance = (sides - mean) ** 2 / variance
        score -= sign * 0.5 * (distance + np.log(variance)).sum(axis=1)
    shown = epsilon_at_least(*np.split(score, 2), failure=_FAILURE)
    miss = (_FAILURE / 4.0) ** (1.0 / (len(first) // 2))  # Where the event tells all runs apart.
    return RepeatedRuns(record, len(first), shown, max(0.0, math.log(miss / (1.0 - miss))))


def figures(dataset: IntoDataFrame, like: nw.DataFrame[Any], schema: Schema) -> Figures:
    """Shares of levels, deciles and means of numbers, and shares of rows that are near a record.

    `like` has the record. A row has some or more of its values. The number of rows is left out.
    """
    frame: nw.DataFrame[Any] = nw.from_native(dataset, eager_only=True)
    found: dict[tuple[str, Any], float] = {("made", ""): 1.0}
    alike = np.zeros(len(frame), dtype=np.intp)
    for name in schema.synthesized:
        places, labels = distinct(frame[name], any_cell=True)
        _, own = distinct(like[name], any_cell=True)
        alike += np.isin(places, [place for place, label in enumerate(labels) if label in own])
        shares = np.bincount(places + 1, minlength=len(labels) + 1) / len(frame)
        numbers = np.array([np.nan, *map(as_number, labels)], dtype=float)
        if schema.columns[name].categorical:
            numbers[:] = np.nan
        told = np.isnan(numbers)
        found |= {
            (name, label): share
            for label, share, tell in zip(["", *labels], shares, told, strict=True)
            if tell
        }
        values = numbers[places + 1]
        if not told.all():
            deciles = np.nanquantile(values, _SHARES)
            found |= {(name, place): float(own) for place, own in enumerate(deciles)}
            found[name, -1] = float(np.nanmean(values))
    return found | {
        ("", k): float((alike >= k).mean()) for k in range(1, 1 + len(schema.synthesized))
    }


def epsilon_at_least(first: Floats, second: Floats, *, failure: float) -> float:
    """A lower limit of the mechanism's epsilon in nats, wrong with a chance of at most `failure`.

    `first` and `second` (R,) hold one number of each of R independent releases of either table.
    """
    least = 0.0
    for seen, other in ((first, second), (second, first)):
        events = _events(seen[_CHOSEN], other[_CHOSEN])
        # Choose the event with the highest limit on the choosing half.
        limits = [_limit(seen[_CHOSEN], other[_CHOSEN], event, failure) for event in events]
        best = events[int(np.argmax(limits))]
        least = max(least, _limit(seen[_COUNTED], other[_COUNTED], best, failure / 2.0))
    return least


def _events(first: Floats, other: Floats) -> list[tuple[float, float]]:
    """Half-lines (low, high] that divide the releases between their quantiles."""
    values = np.unique(
        np.quantile(np.concatenate([first, other]), np.linspace(0, 1, _MOST_EVENTS), method="lower")
    )
    cuts = [-math.inf, *(0.5 * (values[:-1] + values[1:])).tolist()]
    return [pair for cut in cuts for pair in ((-math.inf, cut), (cut, math.inf))]


def _limit(first: Floats, other: Floats, event: tuple[float, float], failure: float) -> float:
    """A lower limit of log P(event | one) / P(event | other)."""
    low, high = event
    hits, others = (int(((low < x) & (x <= high)).sum()) for x in (first, other))
    least = stats.beta.ppf(failure / 2.0, hits, len(first) - hits + 1) if hits else 0.0
    most = stats.beta.ppf(1.0 - failure / 2.0, others + 1, len(other) - others)
    if others == len(other):
        most = 1.0
    return math.log(least / most) if least > 0.0 else -math.inf
