"""The page of a published table: its figures by statistic, and how they were made."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from pyvws.evaluation.published_table import CellFigure, PublishedTable
from pyvws.report.page import Table, number, render


def table_page(table: PublishedTable, *, weights: str | None, capped: str | None = None) -> str:
    """The page as HTML, with a part for each statistic; `weights` is the column of weights.

    `capped` says which records the figures are of, where a cap leaves out others.
    """
    parts = [
        _part(table, list(figures))
        for _, figures in groupby(
            table.figures, key=lambda figure: (figure.statistic, figure.column)
        )
    ]
    empty = sum(figure.empty == table.datasets for figure in table.figures)
    facts = [
        (
            "datasets",
            str(table.datasets),
            f"imputed records, figures of {capped}" if capped else table.rule.words,
        ),
        ("intervals", f"{table.level:.0%}", "t intervals of the combining rules"),
        ("weights", weights or "none", "column of the survey weights"),
        ("rows without a record", str(empty), f"of {len(table.figures)}"),
    ]
    if table.epsilon is not None:
        facts.append(("ε of Laplace", number(table.epsilon), "besides the ε of the datasets"))
        facts.append(("weights of Laplace", table.weights_of_laplace, "what a record counts there"))
    return render(
        "table.html.j2",
        command="tabulate",
        facts_shown=facts,
        parts=parts,
        table_=table,
        capped=capped,
    )


def _part(table: PublishedTable, figures: Sequence[CellFigure]) -> Table:
    first = figures[0]
    point = {"share": "level", "quantile": "quantile"}.get(first.statistic)
    beside = ("Laplace", "its noise") if table.epsilon is not None else ()
    rows = []
    for figure in figures:
        records = "no record" if figure.empty == table.datasets else number(figure.records)
        numbers = (figure.estimate, figure.standard_error, figure.df, figure.lower, figure.upper)
        rows.append(
            (
                *figure.cell,
                *((figure.point,) if point else ()),
                *("" if x != x else number(x, 6) for x in numbers),
                records,
                *(
                    "" if x != x else number(x, 6)
                    for x in (figure.laplace, figure.laplace_noise)
                    if beside
                ),
            )
        )
    return Table(
        f"{first.statistic} of {first.column}" if first.column else "count: sum of the weights",
        (
            *table.by,
            *((point,) if point else ()),
            *("estimate", "standard error", "df", "lower", "upper", "synthetic records"),
            *beside,
        ),
        rows,
    )
