"""The study of section 2.3 and 3.2 of [risk2024] on a user's own file: its report.

Files that hold values or risks of single records, and the page of all tables and figures, go into
a folder `confidential` that its owner alone can read.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from pyvws._base.folders import write_whole
from pyvws_studies._tables import terminal_table
from pyvws_studies.consumer_expenditure_exhibits import RECORDS, Exhibit, exhibits, summary
from pyvws_studies.consumer_expenditure_findings import findings
from pyvws_studies.consumer_expenditure_fits import ExpenditureStudy
from pyvws_studies.consumer_expenditure_fits import run as run

CONFIDENTIAL: Final = "confidential"

Page = Callable[[str, str, Sequence[Exhibit], Sequence[str]], str]

_COLUMNS: Final = {
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
    """Two tables for a terminal: risks and utility by synthesizer, and the paper's findings."""
    from rich.console import Group

    risks = terminal_table(
        f"{result.outcome}, n = {len(result.y)} in {result.patterns} patterns, radius "
        f"{result.radius:.0%}, {result.datasets} datasets",
        left=["synthesizer"],
        right=_COLUMNS,
    )
    for row in summary(result):
        risks.add_row(
            row["synthesizer"],
            *(
                "" if row[name] is None else f"{row[name]:{style}}"
                for name, style in _COLUMNS.values()
            ),
        )
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


def write(result: ExpenditureStudy, folder: Path, *, page: Page | None = None) -> list[str]:
    """Write every table and figure, and with a `page` one page of them; return the files' names.

    The page and what holds single records lie in `folder`/confidential. `page` makes the HTML of a
    title, a lead, exhibits and notes.
    """
    (folder / CONFIDENTIAL).mkdir(mode=0o700)
    parts, names = exhibits(result), []
    for exhibit in parts:
        inside = exhibit.confidential
        names.append(f"{CONFIDENTIAL}/{exhibit.file}" if inside else exhibit.file)
        write_whole(folder / names[-1], _content(exhibit), private=inside)
    if page is not None:
        lead = (
            "Sections 2.3 and 3.2 of [risk2024] and section 7 of its supplement, for the column "
            f"{result.outcome!r} of {len(result.y)} records. The intruder knows: "
            f"{', '.join(result.known) or 'nothing'}."
        )
        paged = [exhibit for exhibit in parts if exhibit.file != RECORDS]
        text = page("Risk-weighted synthesizers", lead, paged, result.problems)
        names.append(f"{CONFIDENTIAL}/report.html")
        write_whole(folder / names[-1], text, private=True)
    return names


def _content(exhibit: Exhibit) -> str | bytes:
    import polars as pl

    if exhibit.figure is None:
        return pl.DataFrame(exhibit.rows, infer_schema_length=None).write_csv()
    buffer = io.BytesIO()
    exhibit.figure.savefig(buffer, format="png", dpi=120)
    return buffer.getvalue()
