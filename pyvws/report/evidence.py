"""The evidence for a disclosure board: risks and utility, measured on the confidential table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from pyvws._base.checks import Floats, positive
from pyvws.evaluation.bootstrap import BootstrapInterval, bootstrap_interval
from pyvws.evaluation.ecdf import EcdfUtility, ecdf_utility
from pyvws.evaluation.match_risk import MatchRisk, match_risk
from pyvws.evaluation.pmse import PropensityScore, logistic_pmse
from pyvws.evaluation.utility_table import UtilityTable, utility_table
from pyvws.r_numbers import rarith
from pyvws.risks.identification_risk import identification_risk

__all__ = ["Evidence", "RiskEvidence", "RiskSettings", "gather"]

_REPLICATES: Final = 200
MOST_DRAWS: Final = 200_000_000  # Intervals that need more drawn values are left empty.


@dataclass(frozen=True, slots=True)
class RiskSettings:
    """Settings for the intruder's knowledge, and limits on the risks that the agency accepts."""

    radius: float = 0.2
    radius_kind: Literal["percentage", "absolute"] = "percentage"
    known: Mapping[str, Any] | None = None
    policy: float = 0.5
    rise: float = 0.25

    def __post_init__(self) -> None:
        positive(self.policy, "policy")
        positive(self.rise, "rise")


@dataclass(frozen=True, slots=True)
class RiskEvidence:
    """Match risks, and risks (N,) in [0, 1] by label: Data, Synthetic and, if given, Unweighted."""

    settings: RiskSettings
    by_record: dict[str, Floats]
    match: MatchRisk


@dataclass(frozen=True, slots=True)
class Evidence:
    """The confidential outcome (N,), and the risks and utility of the synthetic datasets.

    `risk` is None where rows do not belong to records. `intervals` has intervals by statistic, then
    by Data and Synthetic; a table too large for a bootstrap has none. `same_file` says whether the
    table is the very file of the run, None where the run did not note a file.
    """

    y: Floats
    same_file: bool | None
    risk: RiskEvidence | None
    ecdf: EcdfUtility
    table: UtilityTable
    scores: list[PropensityScore]
    intervals: dict[str, dict[str, BootstrapInterval]]


def gather(
    y: Floats,
    outcomes: Sequence[Floats],
    *,
    same_file: bool | None,
    risk: RiskSettings | None = None,
    unweighted: Sequence[Floats] | None = None,
) -> Evidence:
    """Compute the figures of utility and, with `risk`, the figures of risk.

    `unweighted` holds the outcomes of a release without weights, with rows in the order of `y`.
    """
    own = list(outcomes)
    found = None
    if risk is not None:
        how: dict[str, Any] = {
            "radius": risk.radius,
            "radius_kind": risk.radius_kind,
            "known": risk.known,
        }
        by_record = {
            "Data": identification_risk(y, **how),
            "Synthetic": identification_risk(y, own, **how),
        }
        if unweighted is not None:
            by_record["Unweighted"] = identification_risk(y, list(unweighted), **how)
        found = RiskEvidence(risk, by_record, match_risk(y, own, **how))
    return Evidence(
        y,
        same_file,
        found,
        ecdf_utility(y, own),
        utility_table(y, own),
        [_score(y, values) for values in own],
        _intervals(y, own),
    )


def _score(y: Floats, values: Floats) -> PropensityScore:
    """The pMSE of a logistic model with the outcome and its square, on a scale near 1."""
    middle, size = float(np.mean(y)), float(np.std(y)) or 1.0
    designs = [
        np.column_stack([np.ones(len(x)), (x - middle) / size, ((x - middle) / size) ** 2])
        for x in (y, values)
    ]
    return logistic_pmse(*designs)


def _intervals(y: Floats, outcomes: list[Floats]) -> dict[str, dict[str, BootstrapInterval]]:
    statistics = {
        "mean": rarith.mean,
        "median": lambda x: float(rarith.quantile(x, np.array([0.5]))[0]),
        "15th quantile": lambda x: float(rarith.quantile(x, np.array([0.15]))[0]),
        "90th quantile": lambda x: float(rarith.quantile(x, np.array([0.9]))[0]),
    }
    if len(y) * (1 + len(outcomes)) * _REPLICATES * len(statistics) > MOST_DRAWS:
        return {}
    return {
        name: {
            label: bootstrap_interval(data, statistic, n=len(y), replicates=_REPLICATES, seed=123)
            for label, data in (("Data", [y]), ("Synthetic", outcomes))
        }
        for name, statistic in statistics.items()
    }
