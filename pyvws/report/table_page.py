"""The page of a published table: its figures by statistic, and how they were made."""

from __future__ import annotations

from pyvws.evaluation.published_table import PublishedTable
from pyvws.report.page import render
from pyvws.sheet.sheet import number


def table_page(table: PublishedTable, *, weights: str | None) -> str:
    """The page as HTML, with a part for each statistic; `weights` is the column of weights."""
    empty = sum(figure.empty == table.datasets for figure in table.figures)
    facts = [
        ("datasets", str(table.datasets), table.made_of),
        ("intervals", f"{table.level:.0%}", "t intervals of the combining rules"),
        ("weights", weights or "none", "column of the survey weights"),
        ("rows without a record", str(empty), f"of {len(table.figures)}"),
    ]
    if table.epsilon is not None:
        facts.append(("ε of Laplace", number(table.epsilon), "besides the ε of the datasets"))
        facts.append(("weights of Laplace", table.weights_of_laplace, "what a record counts there"))
    return render("table.html.j2", command="tabulate", facts_shown=facts, table_=table)
