"""What a synthetic column does that its data never does: range, moments, quantiles, shares.

Two shares p and q differ where they do so by more than chance and a tolerance. With s = the root of
m (1 - m), m the mean of p and q, chance is 3 s (1/N + 1/n)^(1/2) for N records of the data and n
rows of a synthetic dataset, and the tolerance is a share of s, or 1 point where that is more. So
half of the records differ from half by 5 points, at a repeated value, and 1 % from 1 % by 1 point.
Shares among the records with one value of a predictor have a wider tolerance, and 5 for the 3.

Means, standard deviations and shares below quantiles have the margin of a bootstrap to first order:
each record has an influence on the figure, and their root mean square over N^(1/2) is the standard
error of a second sample. Records of a unit are drawn together. Noise of counts adds what it does to
the figure. A figure differs where it does so by more than 3 of these errors and a tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from pyvws._base.checks import Floats, dataset_list, same_length, vector
from pyvws.errors import InputError
from pyvws.evaluation.sample_errors import CellNoise, SampleErrors

TROUBLES: Final = {
    "negative": "negative values, which the data never has",
    "below": "values below the smallest of the data",
    "above": "values above the largest of the data",
    "far": "values far outside the range of the data",
    "fractions": "fractions, where all numbers of the data are whole",
    "repeated": "another share of records at a value that repeats",
    "mean": "another mean than the data",
    "spread": "another standard deviation than the data",
    "quantiles": "other quantiles than the data",
    "missing": "another share of missing values",
    "levels": "other shares of levels than the data",
    "order": "other shares than the data given a predictor, under a family of ordered levels",
    "slope": "other shares than the data given a predictor of few values that enters as a slope",
    "given": "other shares than the data given a predictor",
}
"""What a synthetic column does that its data does not, by key."""

_REPEATED: Final = 0.05  # A number repeats where so large a share of the records has it.
_MOST: Final = 10  # So many repeated values, or levels that differ, are listed at most.
_LEVELS: Final = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_LEAST: Final = 0.01  # Shares that differ by less are alike.
_OF_SHARES: Final = 0.1  # The tolerance of shares at repeated values and levels, as a share of s.
_OF_QUANTILES: Final = 0.15  # The tolerance of the shares below quantiles, as a share of s,
_OF_TAILS: Final = 0.2  # and at most this share of what lies beyond.
_OF_MEANS: Final = 0.01  # The tolerance of means, in standard deviations,
_OF_SPREADS: Final = 0.05  # and that of standard deviations, as a share of them.
_CHANCE: Final = 3.0
_BEYOND: Final = 8.0  # 8 / N beyond the data's own range: by chance once in exp(8) tables.
_FAR: Final = 3.0  # Lengths of the data's range.
_FEWEST: Final = 3  # Fewer datasets than these do not tell a far value from a rare one.
_GROUPS: Final = 30  # A predictor of more values than these has too few records at each.
_IN_GROUP: Final = 30  # Nor are fewer records than these told of.
_OF_GROUPS: Final = 0.2  # The tolerance of shares given a predictor.
_CHANCE_OF_GROUPS: Final = 5.0  # Of the many shares given predictors the furthest is told of.


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic of a column, and the range of it over the synthetic datasets.

    `data` is confidential. `mean`, `lowest` and `highest` are over the datasets. All have the
    column's unit, or are shares of records in [0, 1]; None where a dataset has no number. `trouble`
    is a key of `TROUBLES` where the column differs from its data here, and empty elsewhere.
    """

    name: str
    data: float | None
    mean: float | None
    lowest: float | None
    highest: float | None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class ColumnCheck:
    """The statistics of a column, in their order. They are confidential."""

    statistics: tuple[Statistic, ...]

    @property
    def troubles(self) -> tuple[str, ...]:
        """Keys of `TROUBLES`, in their order: what the synthetic column does that its data never
        does."""
        troubles = {statistic.trouble for statistic in self.statistics}
        return tuple(key for key in TROUBLES if key in troubles)


@dataclass(frozen=True, slots=True)
class Predictor:
    """A predictor of the column that is checked, in the same coding in all datasets.

    - `name`: Name of the predictor.
    - `original` (N,): Its values in the confidential data.
    - `synthetic` (sequence of array_like, each of shape (N_l,)): Its values in the synthetic
      datasets.
    - `trouble`: The key of `TROUBLES` where the column differs from its data given the predictor.
    """

    name: str
    original: Any
    synthetic: Sequence[Any]
    trouble: str = "given"


@dataclass(frozen=True, slots=True)
class _Values:
    """The sorted distinct values of a column that are numbers, and the records up to each."""

    values: Floats
    up_to: Floats
    records: float
    missing: float

    @classmethod
    def of(cls, y: Floats, counts: Floats | None) -> _Values:
        """`counts` (N,) says how many records have each value, one if not given."""
        there = ~np.isnan(y)
        many: Floats = np.ones(len(y)) if counts is None else counts
        values, place = np.unique(y[there], return_inverse=True)
        at: Floats = np.bincount(place, weights=many[there], minlength=len(values)).astype(
            np.float64
        )
        return cls(values, np.cumsum(at), float(many[there].sum()), float(many[~there].sum()))

    @property
    def shares(self) -> Floats:
        """The share of the records that has each value."""
        return np.diff(self.up_to, prepend=0.0) / self.records

    @property
    def share_missing(self) -> float:
        return self.missing / (self.missing + self.records)

    @property
    def mean(self) -> float:
        with np.errstate(all="ignore"):
            return float((self.values * self.shares).sum())

    @property
    def sd(self) -> float:
        with np.errstate(all="ignore"):
            return math.sqrt(float(((self.values - self.mean) ** 2 * self.shares).sum()))

    def below(self, x: float, *, or_at: bool = False) -> float:
        """The share of the records below x, or at it too."""
        place = np.searchsorted(self.values, x, side="right" if or_at else "left")
        return float(self.up_to[place - 1]) / self.records if place else 0.0

    def middle(self, x: float) -> float:
        """The share below x and half of the share at x."""
        return (self.below(x) + self.below(x, or_at=True)) / 2

    def at(self, points: Floats) -> Floats:
        """The share of the records at each point."""
        up_to = np.concatenate([[0.0], self.up_to]) / self.records
        left, right = (np.searchsorted(self.values, points, side) for side in ("left", "right"))
        return up_to[right] - up_to[left]

    def quantile(self, level: float) -> float:
        """The smallest value with at least this share of the records at it or below it."""
        place = np.searchsorted(self.up_to, level * self.records * (1 - 1e-12))
        return float(self.values[min(int(place), len(self.values) - 1)])


def check_column(
    original: ArrayLike,
    synthetic: Sequence[Any],
    *,
    levels: Sequence[str] | None = None,
    counts: ArrayLike | None = None,
    predictors: Sequence[Predictor] = (),
    units: ArrayLike | None = None,
    noise: CellNoise | None = None,
    beyond_is_trouble: bool = True,
) -> ColumnCheck:
    """Compare a column of the confidential data with its synthetic columns.

    A well-specified model is told of trouble by chance in under 5 % of runs. A share beyond the
    range of the data is trouble above 1 % and above 8 of N records. A quantile differs where the
    shares below the data's quantile do (see the module), so it needs no unit.

    - `original` (N,): Confidential numbers, NaN where missing; or codes 1 to L of `levels`.
    - `synthetic` (sequence of array_like, each of shape (N_l,)): Synthetic values in the same
      coding. A single dataset stands in a list too.
    - `levels` (sequence of str, optional): Labels of a category's levels.
    - `counts` (N,): The records that each entry of `original` stands for, one if not given.
    - `predictors` (sequence of Predictor): The furthest share of levels, or below a quartile, given
      a value of each is among the statistics. A predictor of more than 30 values is left out.
    - `units` (N,): The unit of each record, as whole numbers from 0 on, where units have several
      records. Not beside counts.
    - `noise` (CellNoise, optional): The noise of the counts that made a number.
    - `beyond_is_trouble`: Whether a range beyond the data's is trouble. A strict claim allows it,
      since the data's ends stay hidden. Negative values that the data never has stay trouble.

    The result has `statistics`, which are confidential, and `troubles`. Raises InputError for an
    empty list, another number of counts, codes that are none of the levels', or a column of the
    data without values.

    >>> data = [0.0] * 60 + [float(x) for x in range(1, 41)]
    >>> check_column(data, [[x - 9.5 for x in data]]).troubles
    ('negative', 'fractions', 'repeated', 'mean', 'quantiles')
    >>> check_column(data, [data[::-1]]).troubles
    ()
    """
    y = vector(original, "original")
    records = None if counts is None else vector(counts, "counts")
    if records is not None:
        same_length(y, records, ("original", "counts"))
    columns = [
        vector(dataset, f"synthetic dataset {number}")
        for number, dataset in enumerate(dataset_list(synthetic, "synthetic"), start=1)
    ]
    data, own = _Values.of(y, records), [_Values.of(values, None) for values in columns]
    if not data.records:
        raise InputError.by("original-without-numbers")
    if levels is not None and any(
        not np.isin(x.values, np.arange(1.0, len(levels) + 1.0)).all() for x in (data, *own)
    ):
        raise InputError.by("codes-of-category")
    if levels is None:
        there = ~np.isnan(y)
        many, of_unit = (None if x is None else np.asarray(x)[there] for x in (records, units))
        filled = [column for column in own if column.records]
        rows = min((column.records for column in filled), default=0.0)
        errors = SampleErrors(y[there], many, of_unit, len(filled), rows, noise)
        statistics = _of_numbers(data, own, errors, beyond_is_trouble=beyond_is_trouble)
    else:
        statistics = _of_levels(data, own, levels)
    if predictors:
        if levels is None:
            edges = np.unique([data.quantile(level) for level in (0.25, 0.5, 0.75)])
            events = _Events(tuple(f"share up to {edge:.7g}" for edge in edges), edges)
        else:
            events = _Events(tuple(f"share of level {level!r}" for level in levels))
        for predictor in predictors:
            statistics += _of_predictor(events, y, columns, predictor, records)
    return ColumnCheck(tuple(statistics))


@dataclass(frozen=True, slots=True)
class _Events:
    """What is counted given a predictor: each level, or the values up to each of some numbers."""

    labels: tuple[str, ...]
    edges: Floats | None = None

    def shares(self, y: Floats, x: Floats, values: Floats, counts: Floats | None) -> Any:
        """The share of each event (G, E) given each of the predictor's values, and records (G,)."""
        place = np.minimum(np.searchsorted(values, x), len(values) - 1)
        there = (values[place] == x) & ~np.isnan(y)
        weights = None if counts is None else counts[there]
        if self.edges is None:
            code, width = y[there].astype(np.intp) - 1, len(self.labels)
        else:
            code, width = np.searchsorted(self.edges, y[there]), len(self.labels) + 1
        at = place[there] * width + code
        table = np.bincount(at, weights=weights, minlength=len(values) * width).astype(np.float64)
        table = table.reshape(len(values), width)
        records = table.sum(axis=1)
        if self.edges is not None:
            table = table.cumsum(axis=1)[:, :-1]
        with np.errstate(invalid="ignore"):
            return table / records[:, None], records


def _of_predictor(
    events: _Events, y: Floats, columns: list[Floats], predictor: Predictor, counts: Floats | None
) -> list[Statistic]:
    """The share that differs most given a value of a predictor, for its limit."""
    x = vector(predictor.original, predictor.name)
    same_length(y, x, ("original", predictor.name))
    values = np.unique(x[~np.isnan(x)])
    if not 2 <= len(values) <= _GROUPS:
        return []
    p, records = events.shares(y, x, values, counts)
    each = [
        events.shares(own, vector(given, predictor.name), values, None)
        for own, given in zip(columns, predictor.synthetic, strict=True)
    ]
    q = np.mean([shares for shares, _ in each], axis=0)
    rows = np.min([rows for _, rows in each], axis=0)
    enough = (records >= _IN_GROUP) & (rows >= _IN_GROUP)
    if not enough.any():
        return []
    p, q, own = p[enough], q[enough], np.stack([shares[enough] for shares, _ in each])
    chance = np.sqrt(1 / records[enough] + 1 / rows[enough])[:, None]
    excess = np.abs(p - q) / _limit(p, q, chance, _OF_GROUPS, _CHANCE_OF_GROUPS)
    g, event = np.unravel_index(int(excess.argmax()), excess.shape)
    name = f"{events.labels[event]} given {predictor.name} {values[enough][g]:.7g}"
    trouble = predictor.trouble if excess[g, event] > 1 else ""
    return [_statistic(name, float(p[g, event]), own[:, g, event], trouble)]


def _of_levels(data: _Values, own: list[_Values], levels: Sequence[str]) -> list[Statistic]:
    """The share of the most frequent level, and of the levels that differ, furthest first."""
    shares = np.zeros((1 + len(own), len(levels)))
    for row, column in zip(shares, [data, *own], strict=True):
        row[column.values.astype(np.intp) - 1] = column.shares
    mean = shares[1:].mean(axis=0)
    rows = max(1.0, min(column.records for column in own))
    bad = [
        code
        for code in range(len(levels))
        if _parts(shares[0, code], mean[code], data.records, rows, _OF_SHARES)
    ]
    bad.sort(key=lambda code: -abs(mean[code] - shares[0, code]))
    first = int(shares[0].argmax())
    listed = bad[:_MOST] if first in bad[:_MOST] else [first, *bad[:_MOST]]
    return [
        _statistic(
            f"share of level {levels[code]!r}",
            float(shares[0, code]),
            shares[1:, code],
            "levels" if code in bad else "",
        )
        for code in listed
    ]


def _of_numbers(
    data: _Values, own: list[_Values], errors: SampleErrors, *, beyond_is_trouble: bool
) -> list[Statistic]:
    statistics = []
    if any(column.missing for column in (data, *own)):
        p, q = data.share_missing, [column.share_missing for column in own]
        rows = min(column.missing + column.records for column in own)
        bad = _parts(p, float(np.mean(q)), data.missing + data.records, rows, _OF_SHARES)
        statistics.append(_statistic("share missing", p, q, "missing" if bad else ""))
    if there := [column for column in own if column.records]:
        statistics += _of_moments(data, there, errors)
        statistics += _of_range(data, there, beyond_is_trouble=beyond_is_trouble)
        statistics += _of_repeated(data, there)
        statistics += _of_quantiles(data, there, errors)
    return statistics


def _of_moments(data: _Values, own: list[_Values], errors: SampleErrors) -> list[Statistic]:
    """Mean and standard deviation, which differ by more than chance, noise and a tolerance.

    A constant has neither chance nor tolerance: the share at its value tells.
    """
    mean, sd, statistics = data.mean, data.sd, []
    means, sds = [column.mean for column in own], [column.sd for column in own]

    def of_spread(x: Floats) -> Floats:
        return ((x - mean) ** 2 / sd - sd) / 2

    for name, of_data, figures, tolerance, trouble, influence in (
        ("mean", mean, means, _OF_MEANS, "mean", lambda x: x - mean),
        ("standard deviation", sd, sds, _OF_SPREADS, "spread", of_spread),
    ):
        bad = False
        with np.errstate(all="ignore"):
            if sd > 0.0:
                squares = [(influence(x.values) ** 2 * x.shares).sum() for x in own]
                error = errors.error(influence, float(np.mean(squares)))
                limit = tolerance * sd + _CHANCE * error
                bad = bool(abs(np.mean(figures) - of_data) > limit)
        statistics.append(_statistic(name, of_data, figures, trouble if bad else ""))
    return statistics


def _of_range(data: _Values, own: list[_Values], *, beyond_is_trouble: bool) -> list[Statistic]:
    """The ends, and what lies beyond the ends or between whole numbers."""
    least, most = float(data.values[0]), float(data.values[-1])
    ends = [[float(column.values[place]) for column in own] for place in (0, -1)]
    reach = [(least - x, y - most) for x, y in zip(*ends, strict=True)]
    enough = beyond_is_trouble and len(own) >= _FEWEST and most > least
    far = [enough and min(side) > _FAR * (most - least) for side in zip(*reach, strict=True)]
    beyond = [[x.below(least) for x in own], [1 - x.below(most, or_at=True) for x in own]]
    below = "negative" if least >= 0 and min(ends[0]) < 0 else "below"
    too_many = [
        np.mean(shares) > max(_LEAST, _BEYOND / data.records)
        and (beyond_is_trouble or trouble == "negative")
        for shares, trouble in zip(beyond, (below, "above"), strict=True)
    ]
    statistics = [
        _statistic("smallest", least, ends[0], "far" if far[0] else ""),
        _statistic("largest", most, ends[1], "far" if far[1] else ""),
        _statistic("share below the data's smallest", 0.0, beyond[0], below if too_many[0] else ""),
        _statistic(
            "share above the data's largest", 0.0, beyond[1], "above" if too_many[1] else ""
        ),
    ]
    if (data.values == np.round(data.values)).all():
        parts = [float(x.shares[x.values != np.round(x.values)].sum()) for x in own]
        bad = np.mean(parts) > _LEAST
        statistics.append(_statistic("share of fractions", 0.0, parts, "fractions" if bad else ""))
    return statistics


def _of_repeated(data: _Values, own: list[_Values]) -> list[Statistic]:
    """The share at each value that repeats, in the data or in the datasets."""
    found = {float(x) for part in (data, *own) for x in part.values[part.shares >= _REPEATED]}
    points = np.array(sorted(found))
    of_data, of_own = data.at(points), np.column_stack([column.at(points) for column in own])
    means = of_own.mean(axis=1)
    often = np.maximum(of_data, means)
    most = [place for place in np.argsort(-often, kind="stable") if often[place] >= _REPEATED]
    rows = min(column.records for column in own)
    statistics = []
    for place in sorted(most[:_MOST]):
        p, q = float(of_data[place]), of_own[place].tolist()
        bad = _parts(p, float(means[place]), data.records, rows, _OF_SHARES)
        name = f"share at {points[place]:.7g}"
        statistics.append(_statistic(name, p, q, "repeated" if bad else ""))
    return statistics


def _of_quantiles(data: _Values, own: list[_Values], errors: SampleErrors) -> list[Statistic]:
    statistics = []
    for level in _LEVELS:
        x = data.quantile(level)
        p, q = data.middle(x), float(np.mean([column.middle(x) for column in own]))

        def influence(values: Floats, x: float = x, p: float = p) -> Floats:
            return np.where(values == x, 0.5, values < x) - p

        beyond = min(p, 1.0 - p)
        tolerance = min(_OF_QUANTILES * math.sqrt(p * (1.0 - p)), _OF_TAILS * beyond)
        tolerance += 1.0 / data.records  # Of few records one moves the share by so much.
        limit = tolerance + _CHANCE * errors.error(influence, q * (1.0 - q))
        quantiles = [column.quantile(level) for column in own]
        bad = abs(q - p) > limit
        statistics.append(
            _statistic(f"quantile {100 * level:g} %", x, quantiles, "quantiles" if bad else "")
        )
    return statistics


def _parts(p: float, q: float, records: float, rows: float, tolerance: float) -> bool:
    """Whether two shares differ by more than chance and the tolerance, as the module says."""
    return bool(abs(p - q) > _limit(p, q, math.sqrt(1 / records + 1 / rows), tolerance, _CHANCE))


def _limit(
    p: Floats | float, q: Floats | float, chance: Floats | float, tolerance: float, times: float
) -> Any:
    """How far two shares may differ, with chance (1/N + 1/n)^(1/2)."""
    m = (p + q) / 2
    s = np.sqrt(np.maximum(m * (1 - m), 0.0))
    return np.maximum(_LEAST, tolerance * s) + times * s * chance


def _statistic(name: str, data: float, own: Floats | Sequence[float], trouble: str) -> Statistic:
    mean, lowest, highest = (_finite(float(f(own))) for f in (np.mean, np.min, np.max))
    return Statistic(name, _finite(data), mean, lowest, highest, trouble)


def _finite(x: float) -> float | None:
    return float(x) if math.isfinite(x) else None
