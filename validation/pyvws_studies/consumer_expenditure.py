"""The study of sections 2.3 and 3.2 of [risk2024] on a user's own file: its tables and figures."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws._base.folders import write_whole
from pyvws.evaluation.whack_a_mole import risk_summary, top_records
from pyvws.r_numbers import rarith
from pyvws.report.page import Section, picture, render
from pyvws.sheet import Sheet, number
from pyvws_studies._report import table_of, terminal_table
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
from pyvws_studies.consumer_expenditure_fits import run as run
from pyvws_studies.printed import papers

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
CONFIDENTIAL: Final = "confidential"

PRINTED: Final = papers()["risk2024"]

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
    for table, by, which in (("2", result.data_risk, "riskiest"), ("3", result.y, "largest")):
        yield Exhibit(
            f"table-{table}.csv",
            f"Table {table}: risks of the ten {which} records",
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
        _distances(result, PRINTED["table-7"], three),
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
        _distances(result, PRINTED["supplement-table-3"], [SYNTHESIZER, *names]),
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
        for source, table in (("file", of_file), ("paper", PRINTED["table-4"]))
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


_COLUMNS: Final = {
    "synthesizer": ("synthesizer", ""),
    "mean weight": ("mean_weight", ".4f"),
    "risk mean": ("risk_mean", ".4f"),
    "IQR": ("risk_iqr", ".4f"),
    "max": ("risk_max", ".4f"),
    "max, not 0": ("risk_max_not_zero", ".4f"),
    "above 0.5": ("share_above", ".4f"),
    "rose": ("rose", "d"),
    "U_m": ("u_m", ".4f"),
    "U_a": ("u_a", ".5f"),
}


def table(result: ExpenditureStudy) -> Any:
    """Tables for a terminal: risks and utility by synthesizer, estimates, the paper's findings."""
    from rich.console import Group

    title = (
        f"{result.outcome}, n = {len(result.y)} in {result.patterns} patterns, radius "
        f"{result.radius:.0%}, {result.datasets} datasets"
    )
    risks = table_of(title, summary(result), _COLUMNS)
    judged = terminal_table(
        "Findings of the paper", left=["place", "finding", "holds here", "figures"]
    )
    for finding in findings(result):
        holds = "yes" if finding.holds else "NO"
        judged.add_row(finding.place, finding.finding, holds, finding.figures)
    estimates = terminal_table(
        "Estimates and 95 % intervals", left=["synthesizer"], right=result.data
    )
    for name, entries in [("data", result.data)] + [
        (name, synthesized.estimates) for name, synthesized in result.results.items()
    ]:
        estimates.add_row(
            name, *(f"{x:.0f} [{low:.0f}, {high:.0f}]" for x, low, high in entries.values())
        )
    return Group(risks, estimates, judged)


def write(result: ExpenditureStudy, folder: Path) -> list[str]:
    """Write every table and figure, and one page of them; return the files' names.

    The page and what holds values or risks of single records lie in `folder`/confidential, which
    its owner alone can read.
    """
    (folder / CONFIDENTIAL).mkdir(mode=0o700)
    parts, names = exhibits(result), []
    for exhibit in parts:
        names.append(f"{CONFIDENTIAL}/{exhibit.file}" if exhibit.confidential else exhibit.file)
        write_whole(folder / names[-1], _content(exhibit), private=exhibit.confidential)
    names.append(f"{CONFIDENTIAL}/report.html")
    page = _page(result, [exhibit for exhibit in parts if exhibit.file != RECORDS])
    write_whole(folder / names[-1], page, private=True)
    return names


def _content(exhibit: Exhibit) -> str | bytes:
    if exhibit.figure is None:
        return pl.DataFrame(exhibit.rows, infer_schema_length=None).write_csv()
    buffer = io.BytesIO()
    exhibit.figure.savefig(buffer, format="png", dpi=120)
    return buffer.getvalue()


def _page(result: ExpenditureStudy, parts: list[Exhibit]) -> str:
    """The tables and figures under their numbers in the paper, as HTML."""
    lead = (
        "Sections 2.3 and 3.2 of [risk2024] and section 7 of its supplement, for the column "
        f"{result.outcome!r} of {len(result.y)} records. The intruder knows: "
        f"{', '.join(result.known) or 'nothing'}."
    )
    sections = [
        Section(f"part-{place}", exhibit.title, [exhibit.text], [_shown(exhibit)])
        for place, exhibit in enumerate(parts, start=1)
    ]
    title = "Risk-weighted synthesizers"
    given = {"title": title, "lead": lead, "sections": sections, "notes": result.problems}
    return render("study.html.j2", command="study", **given)


def _shown(exhibit: Exhibit) -> Any:
    if exhibit.figure is not None:
        alt = f"{exhibit.title}. {exhibit.text}"
        return picture(exhibit.figure, alt=alt, caption=exhibit.title)
    headings = tuple(exhibit.rows[0])
    rows = [tuple(_text(row[name]) for name in headings) for row in exhibit.rows]
    return Sheet(exhibit.title, headings, rows)


def _text(value: float | str | None) -> str:
    return "" if value is None else value if isinstance(value, str) else number(value)
