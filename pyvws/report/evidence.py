"""The evidence for a disclosure board: risks and utility, measured on the confidential table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import numpy as np

from pyvws._base.checks import Floats, positive
from pyvws.evaluation.attack_risk import AttackRisk
from pyvws.evaluation.bootstrap import BootstrapInterval, bootstrap_interval
from pyvws.evaluation.match_risk import MatchRisk, match_risk
from pyvws.evaluation.one_column import (
    EcdfUtility,
    LevelMargin,
    UtilityTable,
    ecdf_utility,
    utility_table,
)
from pyvws.evaluation.pmse import PropensityScore, logistic_pmse
from pyvws.evaluation.table_risk import TableRisk
from pyvws.evaluation.table_scores import TableUtility
from pyvws.evaluation.whack_a_mole import RiskSummary, risk_summary
from pyvws.r_numbers import rarith
from pyvws.report.margins import NumberMargin, margin_of
from pyvws.report.released_columns import ColumnValues
from pyvws.risks.identification_risk import identification_risk
from pyvws.sheet import InSheets, Sheet, number

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
class RiskEvidence(InSheets):
    """The confidential column (N,) that an intruder looks for, and what follows from it.

    Match risks, and risks (N,) in [0, 1] by label: Data, Synthetic and, if given, Unweighted.
    """

    name: str
    y: Floats
    settings: RiskSettings
    by_record: dict[str, Floats]
    match: MatchRisk

    @property
    def summaries(self) -> dict[str, RiskSummary]:
        """The risks by label in three figures each."""
        policy = self.settings.policy
        return {label: risk_summary(x, policy=policy) for label, x in self.by_record.items()}

    @property
    def sheet(self) -> Sheet:
        """The risks by label, and what an intruder matches."""
        how, match = self.settings, self.match
        reach = f"{100 * how.radius:g} %" if how.radius_kind == "percentage" else f"{how.radius:g}"
        false = match.mean_false_rate
        rate = "none (no single match)" if false is None else number(false)
        rates = {
            "expected_match_risk": match.expected.mean(),
            "true_match_rate": match.true_rate.mean(),
            "false_match_rate": false,
        }
        own = self.summaries
        return Sheet(
            f"Identification risks of {self.name}, radius {reach}, in [0, 1]; larger = riskier",
            ("fit", "mean", "largest", "IQR", f"share above {how.policy:g}"),
            [
                (x, rarith.mean(self.by_record[x]), one.maximum, one.iqr, one.share_above)
                for x, one in own.items()
            ],
            notes=[
                f"Averaged over the datasets: {number(rates['expected_match_risk'])} records "
                "are expected to be matched, true match rate "
                f"{number(rates['true_match_rate'])}, false match rate {rate} (larger = safer)."
            ],
            facts={
                "outcome": self.name,
                "radius": how.radius,
                "radius_kind": how.radius_kind,
                "policy": how.policy,
                "datasets": len(match.expected),
                "confidential": asdict(own["Data"]),
                "synthetic": asdict(own["Synthetic"]),
                **rates,
            },
        )


@dataclass(frozen=True, slots=True)
class Closeness:
    """What takes time: pMSE of each dataset, and intervals by statistic and by Data and Synthetic.

    A table too large for a bootstrap has no intervals.
    """

    scores: list[PropensityScore]
    intervals: dict[str, dict[str, BootstrapInterval]]


@dataclass(frozen=True, slots=True)
class NumberEvidence:
    """A number beside its confidential values, which are the first table of the margin.

    `closeness` is measured of a single synthesized column alone.
    """

    margin: NumberMargin
    ecdf: EcdfUtility
    table: UtilityTable
    closeness: Closeness | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """The risks and the utility of the synthetic datasets, the confidential table's beside them.

    `risk` is None where rows do not belong to records, and where no column of a table was named.
    `by_keys` has the risks of rows in any order, None where nobody said what an intruder knows.
    `attacks` is None where no hold-out was given.
    The data are the first table of each category's margin. A run on one outcome has no `scores`.
    `same_file` says whether the table is the very file of the run, None where the run did not note
    a file.
    """

    same_file: bool | None
    numbers: list[NumberEvidence]
    categories: list[LevelMargin]
    scores: TableUtility | None
    risk: RiskEvidence | None
    by_keys: TableRisk | None = None
    attacks: AttackRisk | None = None


def gather(
    columns: Iterable[ColumnValues],
    *,
    same_file: bool | None,
    alone: bool = True,
    scores: TableUtility | None = None,
    risk: RiskEvidence | None = None,
    by_keys: TableRisk | None = None,
    attacks: AttackRisk | None = None,
) -> Evidence:
    """Compute the figures of utility, column by column; of each, the data are the first table.

    With `alone`, a number's closeness is measured too.
    """
    numbers, categories = [], []
    for values in columns:
        margin = margin_of(values)
        if isinstance(margin, LevelMargin):
            categories.append(margin)
            continue
        y, *own = values.tables
        closeness = None
        if alone:
            closeness = Closeness([_score(y, table) for table in own], _intervals(y, own))
        numbers.append(
            NumberEvidence(margin, ecdf_utility(y, own), utility_table(y, own), closeness)
        )
    return Evidence(same_file, numbers, categories, scores, risk, by_keys, attacks)


def risk_evidence(
    name: str,
    y: Floats,
    datasets: Sequence[Floats],
    settings: RiskSettings,
    *,
    unweighted: Sequence[Floats] | None = None,
) -> RiskEvidence:
    """The figures of risk of a column `y` (N,); the datasets have their rows in its order.

    `unweighted` holds the column of a release without weights, in the same order.
    """
    own = list(datasets)
    how: Any = {name: getattr(settings, name) for name in ("radius", "radius_kind", "known")}
    by_record = {
        "Data": identification_risk(y, **how),
        "Synthetic": identification_risk(y, own, **how),
    }
    if unweighted is not None:
        by_record["Unweighted"] = identification_risk(y, list(unweighted), **how)
    return RiskEvidence(name, y, settings, by_record, match_risk(y, own, **how))


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
