"""Estimates of a survey from one dataset, with variances by linearisation [lumley2004].

The variance is that of clusters drawn with replacement within strata, as R's ``svydesign`` has it
without a finite population correction. With z_c the sum of a cluster's linearised values and n_h
clusters in stratum h it is sum_h n_h / (n_h - 1) sum_c (z_c - mean of h)^2. A cell is a domain: the
clusters of the whole dataset count, and those without a record of the cell add z_c = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from pyvws._base.checks import Floats, finite_vector, open_unit_interval, positions, same_length
from pyvws.errors import InputError
from pyvws.r_numbers import rarith

Places: TypeAlias = ArrayLike | None
"""The places (n,) of a cell's records, from 0; None stands for all records."""

_UPPER: Final = 0.975  # Woodruff's interval has the level 95 %, as svyquantile's has.


@dataclass(frozen=True, slots=True, eq=False)
class SurveyDesign:
    """Weights and design of N records.

    - `weights` (N,): Survey weights, at least 0.
    - `stratum`, `cluster` (N,): Codes from 0. Every cluster lies in one stratum.
    - `sizes` (H,): The number of clusters in each stratum, at least 2.
    - `squares` (N,): How many times its squared weight a record has in variances, 1 without. It is
      for records that are clusters of one stratum.
    """

    weights: Floats
    stratum: NDArray[np.intp]
    cluster: NDArray[np.intp]
    sizes: NDArray[np.intp]
    squares: Floats | None = None


@dataclass(frozen=True, slots=True)
class SurveyEstimate:
    """An estimate, and its variance in the unit squared; NaN where the data give none.

    The variance has `df` degrees of freedom where these count.
    """

    estimate: float
    variance: float
    df: float = field(default=np.inf, repr=False)


def survey_design(
    weights: ArrayLike, strata: ArrayLike | None = None, clusters: ArrayLike | None = None
) -> SurveyDesign:
    """The design of N records with weights (N,).

    `strata` and `clusters` (N,) hold labels. Without clusters each record is one. Equal labels of
    clusters in two strata stand for two clusters. Raises InputError for negative or missing
    weights, for lengths that differ, and for a stratum of one cluster, which has no variance.
    """
    w = finite_vector(weights, "weights")
    if (w < 0).any():
        raise InputError.by("weights-negative", it=positions(w < 0))
    stratum = _codes(strata, np.zeros(len(w), np.intp), w, "strata")
    within = _codes(clusters, np.arange(len(w)), w, "clusters")
    pairs, cluster = np.unique(stratum * (within.max() + 1) + within, return_inverse=True)
    sizes = np.bincount(pairs // (within.max() + 1))
    if (sizes < 2).any():
        raise InputError.by("stratum-of-one-cluster", it=int((sizes < 2).sum()), sizes=len(sizes))
    return SurveyDesign(w, stratum, cluster, sizes)


def survey_total(y: ArrayLike, design: SurveyDesign, rows: Places = None) -> SurveyEstimate:
    """The weighted total of a cell, as R's ``svytotal``.

    `rows` (n,) are the places of the cell's records, from 0, and y (n,) has their values. By
    default both are of all records. The total of a cell without records is 0.

    >>> survey_total([1.0, 3.0], survey_design([10.0, 10.0]))
    SurveyEstimate(estimate=40.0, variance=400.0)
    """
    values, places = _inside(y, design, rows)
    z = values * design.weights[places]
    return SurveyEstimate(_sum(z), _variance(z, places, design))


def survey_mean(y: ArrayLike, design: SurveyDesign, rows: Places = None) -> SurveyEstimate:
    """The weighted mean of a cell, as R's ``svymean``: sum w y / sum w.

    y and `rows` (n,) are as in `survey_total`. The mean of a cell without weight is NaN.

    >>> survey_mean([1.0, 3.0], survey_design([10.0, 10.0]))
    SurveyEstimate(estimate=2.0, variance=1.0)
    """
    values, places = _inside(y, design, rows)
    whole = _sum(design.weights[places])
    if whole == 0.0:
        return SurveyEstimate(np.nan, np.nan)
    shares = design.weights[places] / whole
    mean = _sum(values * shares)
    return SurveyEstimate(mean, _variance((values - mean) * shares, places, design))


def survey_quantile(
    y: ArrayLike, level: float, design: SurveyDesign, rows: Places = None
) -> SurveyEstimate:
    """The weighted quantile of a cell, as R's ``svyquantile`` with its defaults.

    y and `rows` (n,) are as in `survey_total`. The quantile is the smallest value whose weighted
    share of records at or below it is at least `level`. Its standard error is that of Woodruff: the
    95 % interval of this share, turned into values by the same rule, has a length of 2 t standard
    errors, with t for the cell's clusters less its strata. The variance is NaN where the interval
    leaves [0, 1], and for a cell with no more clusters than strata.

    survey 4.1 gives the second value where the level is below the share of the smallest one. This
    function gives the smallest.

    >>> survey_quantile([1.0, 3.0, 4.0], 0.5, survey_design([10.0, 10.0, 5.0])).estimate
    3.0
    """
    p = open_unit_interval(level, "level")
    values, places = _inside(y, design, rows)
    weighted = design.weights[places] > 0
    values, places = values[weighted], places[weighted]
    if not len(places):
        return SurveyEstimate(np.nan, np.nan)
    order = np.argsort(values, kind="stable")
    rising = values[order]
    reached = np.cumsum(design.weights[places][order], dtype=np.longdouble).astype(np.float64)
    quantile = _at(rising, reached, p)
    share = survey_mean(values <= quantile, design, places)
    first = np.unique(design.cluster[places], return_index=True)[1]
    df = len(first) - len(np.unique(design.stratum[places][first]))
    if df == 0:
        return SurveyEstimate(quantile, np.nan)
    t = float(stdtrit(df, _UPPER))
    half = t * float(np.sqrt(share.variance))
    low, high = share.estimate - half, share.estimate + half
    if low < 0 or high > 1:
        return SurveyEstimate(quantile, np.nan)
    width = _at(rising, reached, high) - _at(rising, reached, low)
    return SurveyEstimate(quantile, (width / (2.0 * t)) ** 2)


def _at(rising: Floats, reached: Floats, level: float) -> float:
    """The first of the rising values whose reached weight is at least a share of the whole."""
    last = int(np.searchsorted(reached, level * reached[-1], side="right")) - 1
    if last >= 0 and (level - reached[last] / reached[-1] == 0.0 or last == len(rising) - 1):
        return float(rising[last])
    return float(rising[last + 1])


def _sum(values: Floats) -> float:
    return rarith.sum_in_order(values) if len(values) else 0.0


def _inside(y: ArrayLike, design: SurveyDesign, rows: Places) -> tuple[Floats, NDArray[np.intp]]:
    """The values of the cell's records, and the places of these records."""
    places = np.arange(len(design.weights)) if rows is None else np.asarray(rows, dtype=np.intp)
    if not len(places):
        return np.empty(0), places
    values = finite_vector(y, "y")
    same_length(values, places, ("y", "rows"))
    return values, places


def _variance(z: Floats, rows: NDArray[np.intp], design: SurveyDesign) -> float:
    """The variance of the sum of z, values of `rows`; other rows have z = 0."""
    if not len(z):
        return 0.0
    if design.squares is not None:
        N = len(design.weights)
        squares = float(design.squares[rows] @ z**2) - float(z.sum()) ** 2 / N
        return max(0.0, N / (N - 1) * squares)
    _, first, place = np.unique(design.cluster[rows], return_index=True, return_inverse=True)
    sums = np.bincount(place, weights=z)
    strata, stratum = np.unique(design.stratum[rows][first], return_inverse=True)
    n = design.sizes[strata]
    means = np.bincount(stratum, weights=sums) / n
    present = np.bincount(stratum, weights=(sums - means[stratum]) ** 2)
    absent = (n - np.bincount(stratum)) * means**2
    return float((n / (n - 1) * (present + absent)).sum())


def _codes(
    labels: ArrayLike | None, default: NDArray[np.intp], weights: Floats, name: str
) -> NDArray[np.intp]:
    """Codes (N,) of labels from 0, or the default without labels."""
    if labels is None:
        return default
    given = np.asarray(labels)
    if given.ndim != 1:
        raise InputError.by("shape-not-n", name=name, shape=given.shape)
    same_length(given, weights, (name, "weights"))
    return np.unique(given, return_inverse=True)[1]
