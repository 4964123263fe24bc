"""Whack-a-mole: records whose risk rises when the model is weighted (section 2.3.2 of [risk2024]).

Weights shrink isolated records towards the others, and can thus leave a record of moderate risk
alone. The functions here show the records whose risk rose, and the figures that a disclosure board
reads of a distribution of risks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, finite_vector, positive, same_length, whole_number
from pyvws.errors import InputError
from pyvws.r_numbers import rarith


@dataclass(frozen=True, slots=True)
class RiskSummary:
    """Largest risk, interquartile range, and the share of records above a policy threshold.

    All three lie in [0, 1]; larger = riskier, or for `iqr` more spread out.
    """

    maximum: float
    iqr: float
    share_above: float


@dataclass(frozen=True, slots=True)
class WhackAMole:
    """The change of each record's risk from the unweighted to the weighted synthesizer.

    `change` (N,) is the weighted minus the unweighted risk, in [-1, 1]; larger = the weights did
    more harm.
    `rose` (N,) marks the records whose risk rose by at least the threshold. `unweighted` and
    `weighted` summarise the two distributions of risks.
    """

    change: Floats
    rose: NDArray[np.bool_]
    unweighted: RiskSummary
    weighted: RiskSummary


@dataclass(frozen=True, slots=True)
class TopRecords:
    """The largest `records` (K,) as places from 0, largest first, and `risks` (K,) by column.

    The table leaves out the outcome. Even so the table is about confidential records.
    """

    records: NDArray[np.intp]
    risks: dict[str, Floats]


def risk_summary(risk: ArrayLike, *, policy: float = 0.5) -> RiskSummary:
    """Maximum, type 7 interquartile range, and share of risks above `policy` (0.5 in the paper).

    Parameters
    ----------
    risk : array_like, shape (N,)
        Risks in [0, 1]; larger = riskier.
    policy : float
        Threshold above 0 that no record should exceed.

    Returns
    -------
    RiskSummary

    Raises
    ------
    InputError
        If a risk is missing or outside [0, 1].

    Examples
    --------
    >>> risk_summary([0.1, 0.2, 0.5, 0.9, 0.7])
    RiskSummary(maximum=0.9, iqr=0.49999999999999994, share_above=0.4)
    """
    values = _risks(risk, "risk")
    low, high = rarith.quantile(values, np.array([0.25, 0.75]))
    above = (values > positive(policy, "policy")).sum() / len(values)
    return RiskSummary(float(values.max()), float(high - low), float(above))


def whack_a_mole(
    unweighted: ArrayLike, weighted: ArrayLike, *, rise: float = 0.25, policy: float = 0.5
) -> WhackAMole:
    """Compare the risks of every record under two synthesizers (Figures 3 and 9 of [risk2024]).

    Parameters
    ----------
    unweighted, weighted : array_like, shape (N,)
        Risks of the same records on synthetic data, from `pyvws.identification_risk`.
    rise : float
        The smallest increase, above 0, that counts as a rise.
    policy : float
        Threshold of `risk_summary`.

    Returns
    -------
    WhackAMole

    Raises
    ------
    InputError
        If a risk is missing or outside [0, 1], the lengths differ, or `rise` is not above 0.

    Examples
    --------
    >>> whack_a_mole([0.1, 0.9], [0.5, 0.2]).rose.tolist()
    [True, False]
    """
    before, after = _risks(unweighted, "unweighted"), _risks(weighted, "weighted")
    same_length(before, after, ("unweighted", "weighted"))
    change = after - before
    return WhackAMole(
        change,
        change >= positive(rise, "rise"),
        risk_summary(before, policy=policy),
        risk_summary(after, policy=policy),
    )


def top_records(by: ArrayLike, risks: Mapping[str, Any], *, count: int = 10) -> TopRecords:
    """The records that are largest in `by`, with their risks (Tables 2 and 3 of [risk2024]).

    - `by` (N,): Values that rank the records: the confidential risk (Table 2) or the outcome (Table
      3).
    - `risks` (mapping of name to array_like of shape (N,)): Columns of the table, such as the risk
      on the data and under each synthesizer.
    - `count`: Number of rows, at least 1; a table with fewer records gives them all.

    Records with equal values keep their order. Raises InputError if a value is missing, a
    risk is outside [0, 1] or a column has another length.

    >>> top_records([5.0, 9.0, 7.0], {"Data": [0.1, 0.2, 0.3]}, count=2).risks["Data"].tolist()
    [0.2, 0.3]
    """
    values = finite_vector(by, "by")
    rows = np.argsort(-values, kind="stable")[: whole_number(count, "count", least=1)]
    columns = {}
    for name, column in risks.items():
        risk = _risks(column, f"risks[{name!r}]")
        same_length(values, risk, ("by", f"risks[{name!r}]"))
        columns[name] = risk[rows]
    return TopRecords(rows, columns)


def _risks(values: ArrayLike, name: str) -> Floats:
    risk = finite_vector(values, name)
    if not ((risk >= 0) & (risk <= 1)).all():
        raise InputError.by("record-outside-0-to-1", name=name)
    return risk
