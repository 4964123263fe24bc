"""Match risks of synthetic data: expected match risk, true and false match rate.

These are the measures of the R package of Hornby and Hu [hornby2021], after Reiter and Mitra. Here
an intruder picks one of the c_i records inside a record's ball. `pyvws.identification_risk` is
another measure: the share of the record's pattern *outside* the ball.

Two things differ from the R package, and are as in `pyvws.identification_risk`. The R package gives
a negative outcome a radius below 0, so that no record matches the outcome. Its Euclidean distance
has one radius for all outcomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pyvws._base.checks import Floats, choice
from pyvws.r_numbers import rarith
from pyvws.risks.balls import count_inside, make_balls, outcomes
from pyvws.risks.identification_risk import Known, paired_outcomes, pattern_codes


@dataclass(frozen=True, slots=True)
class MatchRisk:
    """Match risks; larger = riskier, except for `false_rate`, where larger = safer.

    `expected` (L,) is the number of records, from 0 to N, that an intruder is expected to find in
    each dataset. `true_rate` (L,) is the share of all records that have a single match, and a
    correct one. `false_rate` (L,) is the share of the single matches that are wrong; a dataset
    without single matches has NaN. `by_record` (N,) is T_i / c_i, averaged over the datasets, in
    [0, 1].
    """

    expected: Floats
    true_rate: Floats
    false_rate: Floats
    by_record: Floats

    @property
    def mean_false_rate(self) -> float | None:
        """Average of `false_rate` over the datasets with single matches, in [0, 1]; larger = safer.

        None where no dataset has a single match.
        """
        rates = self.false_rate[np.isfinite(self.false_rate)]
        return float(rates.mean()) if len(rates) else None


def match_risk(
    original: ArrayLike,
    synthetic: Sequence[Any],
    *,
    radius: float | Sequence[float] = 0.2,
    radius_kind: Literal["percentage", "absolute", "fixed"] = "percentage",
    known: Known = None,
    norm: Literal["box", "euclidean"] = "box",
    ball: Literal["open", "closed"] = "open",
) -> MatchRisk:
    """Expected match risk, true and false match rate of each synthetic dataset [hornby2021].

    c_i counts the records with i's known values and a synthetic value in B(y_i, r). T_i = 1 when
    record i is one of these records. The expected match risk is the sum of T_i / c_i. The true
    match rate is #{c_i T_i = 1} / N. The false match rate is #{c_i (1 - T_i) = 1} / #{c_i = 1}.

    Parameters
    ----------
    original : array_like, shape (N,) or (N, P)
        Confidential outcome, or P outcomes that an intruder knows together.
    synthetic : sequence of L array_like of the shape of `original`
        Synthetic outcomes, with the rows in the order of `original`.
    radius : float
        As in `pyvws.identification_risk`.
    radius_kind : {"percentage", "absolute", "fixed"}
        As in `pyvws.identification_risk`.
    known : optional
        As in `pyvws.identification_risk`.
    norm : {"box", "euclidean"}
        As in `pyvws.identification_risk`.
    ball : {"open", "closed"}
        An "open" ball leaves out its edge, as in the R package. A "closed" ball holds its edge, as
        in the risks of [risk2024]. An open ball of radius 0 is empty.

    Returns
    -------
    MatchRisk
        The three risks of each dataset, and the risk of each record.

    Raises
    ------
    InputError
        For missing values, a radius not above 0, or columns whose lengths differ.

    Examples
    --------
    >>> found = match_risk([100.0, 110.0, 400.0], [[105.0, 400.0, 390.0]])
    >>> found.expected.tolist(), found.true_rate.tolist(), found.false_rate.tolist()
    ([1.5], [0.3333333333333333], [0.5])
    """
    y = outcomes(original, "original")
    balls = make_balls(y, radius, radius_kind, norm)
    closed = choice(ball, "ball", ("open", "closed")) == "closed"
    codes = pattern_codes(known, len(y))
    order = np.lexsort((y[:, 0], codes))
    balls, codes = balls.in_order(order), codes[order]
    expected, true_rate, false_rate, shares = [], [], [], []
    for values in paired_outcomes(y, synthetic):
        here = values[order]
        matches = np.empty(len(y), dtype=np.intp)
        own = np.empty(len(y), dtype=np.bool_)
        matches[order] = count_inside(here, balls, codes, closed=closed)
        own[order] = balls.hold(here, closed=closed)
        share = own / np.maximum(matches, 1)
        single = matches == 1
        expected.append(rarith.sum_in_order(share))
        true_rate.append((single & own).sum() / len(y))
        with np.errstate(invalid="ignore"):
            false_rate.append(np.float64((single & ~own).sum()) / single.sum())
        shares.append(share)
    return MatchRisk(
        np.array(expected),
        np.array(true_rate),
        np.array(false_rate),
        rarith.column_means(np.array(shares)),
    )
