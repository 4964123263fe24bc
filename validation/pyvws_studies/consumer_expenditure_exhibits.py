"""The tables and figures of [risk2024] and its supplement for a file of expenditure or income."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.evaluation.whack_a_mole import risk_summary, top_records
from pyvws.r_numbers import rarith
from pyvws_studies.consumer_expenditure_findings import findings
from pyvws_studies.consumer_expenditure_fits import (
    FOUR_WAY,
    MARGINAL,
    PAIRWISE,
    RISE,
    SYNTHESIZER,
    THREE_WAY,
    TOPCODING,
    ExpenditureStudy,
    Interval,
)

_SAMPLE: Final = (
    "The paper's own figures need its confidential sample of 6208 units, which is not public: "
    "these are of this file."
)
_BESIDE: Final = (
    "Rows of source paper are as printed, of the paper's confidential sample of 6208 units; rows "
    "of source file are of this file."
)
_DATA: Final = "Data"
RECORDS: Final = "records.csv"

PUBLISHED_4: Final[dict[str, dict[str, Interval]]] = {
    "mean": {
        _DATA: (72075.60, 70068.61, 74037.96),
        SYNTHESIZER: (72377.12, 69639.31, 75284.18),
        MARGINAL: (76641.95, 68431.36, 88069.02),
    },
    "median": {
        _DATA: (50225.15, 48995.01, 52000.00),
        SYNTHESIZER: (50538.50, 48410.30, 52673.39),
        MARGINAL: (54229.08, 51686.27, 57231.27),
    },
    "90 % quantile": {
        _DATA: (153916.30, 147582.40, 159603.80),
        SYNTHESIZER: (152597.10, 146203.30, 159957.80),
        MARGINAL: (134582.40, 127342.40, 142549.80),
    },
    "Earner 2": {
        _DATA: (-45826.20, -49816.29, -41836.11),
        SYNTHESIZER: (-46017.29, -50239.20, -41795.37),
        MARGINAL: (-34738.85, -46792.90, -22684.81),
    },
}
"""Table 4 as printed: estimate, lower and upper end, in dollars."""

PUBLISHED_7: Final = {
    SYNTHESIZER: (0.0151, 3.6e-05),
    MARGINAL: (0.0755, 0.0018),
    PAIRWISE: (0.0356, 0.0004),
}
"""Table 7 as printed: U_m and U_a."""

PUBLISHED_S3: Final = {
    SYNTHESIZER: (0.0151, 3.6e-05),
    PAIRWISE: (0.0356, 0.0004),
    "Pairwise, c = 1.5, g = 0": (0.0382, 0.0004),
    "Pairwise, c = 1, g = 0.1": (0.0286, 0.0002),
}
"""Table 3 of the supplement as printed: U_m and U_a."""

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A numbered table (`rows`) or `figure`, the name of its file, its title and what it shows.

    A `confidential` one has values or risks of single records.
    """

    file: str
    title: str
    text: str
    rows: Rows = field(default_factory=list)
    figure: Any = None
    confidential: bool = False

    def __post_init__(self) -> None:
        if self.figure is not None:
            self.figure.suptitle(self.title, fontsize=10)


def summary(result: ExpenditureStudy) -> Rows:
    """A row for the data, topcoding and each synthesizer.

    Risks lie in [0, 1], larger = riskier: mean, interquartile range, maximum, the largest among
    outcomes other than 0, share above 0.5, and the number of records whose risk is 0.25 above the
    Synthesizer's. U_m and U_a: smaller = closer to the data.
    """
    risks = {_DATA: result.data_risk, TOPCODING: result.topcoded_risk}
    risks |= {name: synthesizer.risk for name, synthesizer in result.results.items()}
    rows = []
    for name, risk in risks.items():
        own, fitted = risk_summary(risk), result.results.get(name)
        others = risk[result.y != 0]
        rows.append(
            {
                "synthesizer": name,
                "mean_weight": None if fitted is None else rarith.mean(fitted.fit.weights),
                "risk_mean": rarith.mean(risk),
                "risk_iqr": own.iqr,
                "risk_max": own.maximum,
                "risk_max_not_zero": float(others.max()) if len(others) else None,
                "share_above": own.share_above,
                "rose": None if fitted is None else int(fitted.moles.rose.sum()),
                "u_m": None if fitted is None else fitted.utility.maximum,
                "u_a": None if fitted is None else fitted.utility.average,
            }
        )
    return rows


def exhibits(result: ExpenditureStudy) -> list[Exhibit]:
    """The summary and findings, then what the paper and its supplement number, in their order."""
    return [
        Exhibit(
            "table.csv",
            "Risks and utility by synthesizer",
            f"{len(result.y)} records in {result.patterns} patterns of what the intruder knows, "
            f"radius {result.radius:.0%}, {result.datasets} datasets. Risks: larger = riskier. "
            "ECDF distances: smaller = more useful.",
            summary(result),
        ),
        Exhibit(
            "findings.csv",
            "Findings of the paper on this file",
            "Each row is a finding of the paper's confidential sample, and whether it holds here. "
            "Largest risks, and risks above 0.5, are those of outcomes other than 0.",
            [
                {**asdict(finding), "holds": "yes" if finding.holds else "no"}
                for finding in findings(result)
            ],
        ),
        *_of_the_paper(result),
        *_of_the_supplement(result),
        _records(result),
    ]


def _of_the_paper(result: ExpenditureStudy) -> Iterable[Exhibit]:
    from pyvws import plots

    synthesizers = result.results
    risks = {
        _DATA: result.data_risk,
        **{name: synthesizers[name].risk for name in (SYNTHESIZER, MARGINAL, PAIRWISE)},
        TOPCODING: result.topcoded_risk,
    }
    three = [SYNTHESIZER, MARGINAL, PAIRWISE]
    yield Exhibit(
        "table-1.csv",
        "Table 1: variables",
        "Number of distinct values of each column that the study reads. " + _SAMPLE,
        [
            {"variable": name, "role": _role(result, name), "values": values}
            for name, values in result.columns.items()
        ],
    )
    yield _violins("figure-2.png", "Figure 2", risks, [SYNTHESIZER, MARGINAL, TOPCODING])
    for number, by, which in (("2", result.data_risk, "riskiest"), ("3", result.y, "largest")):
        yield Exhibit(
            f"table-{number}.csv",
            f"Table {number}: risks of the ten {which} records",
            "Values are given by range. The last column names the highest case among Synthesizer, "
            f"Marginal and Topcoding. {_SAMPLE}",
            _top(result, by, risks),
            confidential=True,
        )
    yield Exhibit(
        "table-4.csv",
        "Table 4: estimates and 95 % intervals",
        "Mean and quantiles by bootstrap, the coefficient by the combining rules for partially "
        f"synthetic data. {_BESIDE}",
        _estimates(result),
    )
    yield _moles("figure-3.png", "Figure 3", result, [MARGINAL])
    yield _violins("figure-8.png", "Figure 8", risks, three)
    yield _moles("figure-9.png", "Figure 9", result, [MARGINAL, PAIRWISE])
    yield _moles(
        "section-3.2.1.png",
        "Section 3.2.1 (no figure in the paper)",
        result,
        [PAIRWISE, THREE_WAY, FOUR_WAY],
    )
    yield Exhibit(
        "figure-10.png",
        "Figure 10: estimates and 95 % intervals",
        f"The lines are the data's estimate and interval. {_SAMPLE}",
        figure=plots.intervals(_by_statistic(result, {name: name for name in three}), result.data),
    )
    yield Exhibit(
        "table-7.csv",
        "Table 7: ECDF distances",
        f"Table 1 of the supplement is its first two rows. {_BESIDE}",
        _distances(result, PUBLISHED_7, three),
    )


def _of_the_supplement(result: ExpenditureStudy) -> Iterable[Exhibit]:
    from pyvws import plots

    names = {PAIRWISE: "c = 1, g = 0"}
    names |= {name: name.removeprefix(f"{PAIRWISE}, ") for name in result.adjusted}
    synthesizers = {label: result.results[name] for name, label in names.items()}
    yield Exhibit(
        "supplement-figure-5.png",
        "Supplement, Figure 5: Pairwise weights against the outcome",
        f"A weight of 1 = no protection. {_SAMPLE}",
        figure=plots.weights_against_outcome(
            result.y,
            {label: own.fit.weights for label, own in synthesizers.items()},
            name=result.outcome,
        ),
        confidential=True,
    )
    yield Exhibit(
        "supplement-figure-6.png",
        "Supplement, Figure 6: estimates and 95 % intervals under c and g",
        f"The lines are the data's estimate and interval. {_SAMPLE}",
        figure=plots.intervals(
            _by_statistic(result, {SYNTHESIZER: SYNTHESIZER, **names}), result.data
        ),
    )
    yield Exhibit(
        "supplement-table-3.csv",
        "Supplement, Table 3: ECDF distances under c and g",
        _BESIDE,
        _distances(result, PUBLISHED_S3, [SYNTHESIZER, *names]),
    )
    risks = {_DATA: result.data_risk, SYNTHESIZER: result.results[SYNTHESIZER].risk}
    risks |= {label: own.risk for label, own in synthesizers.items()}
    yield _violins("supplement-figure-7.png", "Supplement, Figure 7", risks, list(risks)[1:])


def _violins(file: str, title: str, risks: Mapping[str, Any], names: list[str]) -> Exhibit:
    from pyvws import plots

    own = {name: risks[name] for name in [_DATA, *names]}
    return Exhibit(
        file,
        f"{title}: distributions of identification risks",
        f"The bars are means; higher = riskier. {_SAMPLE}",
        figure=plots.risk_violins({"": own}),
        confidential=True,
    )


def _moles(file: str, title: str, result: ExpenditureStudy, names: list[str]) -> Exhibit:
    from pyvws import plots

    return Exhibit(
        file,
        f"{title}: whack-a-mole",
        f"Each point is a record; those that rose by {RISE:g} or more are large. {_SAMPLE}",
        figure=plots.whack_a_mole_scatter(
            result.results[SYNTHESIZER].risk,
            {name: result.results[name].risk for name in names},
            rise=RISE,
        ),
        confidential=True,
    )


def _role(result: ExpenditureStudy, name: str) -> str:
    if name == result.outcome:
        return "outcome, synthesized"
    return "predictor, known to the intruder" if name in result.known else "predictor"


def _top(result: ExpenditureStudy, by: Floats, risks: Mapping[str, Any]) -> Rows:
    compared = (SYNTHESIZER, MARGINAL, TOPCODING)
    top = top_records(by, {name: risks[name] for name in (_DATA, *compared)})
    rows = []
    for place, record in enumerate(top.records):
        row = {name: float(column[place]) for name, column in top.risks.items()}
        high = max(row[name] for name in compared)
        marked = [name for name in compared if row[name] == high > 0]
        rows.append(
            {"value": value_range(float(result.y[record])), **row, "highest": " and ".join(marked)}
        )
    return rows


def value_range(value: float) -> str:
    """The decade of a value, such as (10000, 100000), or (-1, 1)."""
    size = abs(value)
    if size < 1:
        return "(-1, 1)"
    # Digits before the point: a logarithm would round some powers of ten down.
    digits = len(str(int(size)))
    low, high = 10 ** (digits - 1), 10**digits
    return f"({low}, {high})" if value > 0 else f"(-{high}, -{low})"


def _estimates(result: ExpenditureStudy) -> Rows:
    """Table 4: this file's rows, then the printed ones."""
    of_file = {
        statistic: {
            _DATA: entry,
            **{name: own.estimates[statistic] for name, own in result.results.items()},
        }
        for statistic, entry in result.data.items()
    }
    return [
        {
            "source": source,
            "statistic": statistic,
            "synthesizer": name,
            **dict(zip(("estimate", "lower", "upper"), map(float, entry), strict=True)),
        }
        for source, table in (("file", of_file), ("paper", PUBLISHED_4))
        for statistic, by_name in table.items()
        for name, entry in by_name.items()
    ]


def _by_statistic(
    result: ExpenditureStudy, names: Mapping[str, str]
) -> dict[str, dict[str, Interval]]:
    """(estimate, lower, upper) by statistic and label."""
    return {
        statistic: {
            label: result.results[name].estimates[statistic] for name, label in names.items()
        }
        for statistic in result.data
    }


def _distances(
    result: ExpenditureStudy, published: Mapping[str, tuple[float, float]], names: list[str]
) -> Rows:
    """U_m and U_a: this file's rows, then the printed ones."""
    utilities = {name: result.results[name].utility for name in names}
    of_file = {name: (own.maximum, own.average) for name, own in utilities.items()}
    return [
        {"source": source, "synthesizer": name, "u_m": pair[0], "u_a": pair[1]}
        for source, table in (("file", of_file), ("paper", published))
        for name, pair in table.items()
    ]


def _records(result: ExpenditureStudy) -> Exhibit:
    """Risks and weights of each record, in the file's order."""
    columns: dict[str, Any] = {
        result.outcome: result.y,
        "risk, Data": result.data_risk,
        "risk, Topcoding": result.topcoded_risk,
    }
    for name, synthesizer in result.results.items():
        columns |= {f"weight, {name}": synthesizer.fit.weights, f"risk, {name}": synthesizer.risk}
    return Exhibit(
        RECORDS,
        "Every record",
        "Weights and risks of each record, in the order of the file.",
        [
            dict(zip(columns, map(float, row), strict=True))
            for row in np.column_stack(list(columns.values()))
        ],
        confidential=True,
    )
