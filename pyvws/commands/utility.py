"""pyvws utility: how near synthetic datasets come to the original."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

__all__ = ["utility"]


def utility(
    original: Annotated[Path, typer.Argument(help="Confidential table, .csv or .parquet.")],
    synthetic: Annotated[list[Path], typer.Argument(help="Synthetic datasets.")],
    outcome: Annotated[str, typer.Option(help="Synthesized column.")],
) -> None:
    """Print ECDF distances, quantiles and means, and the propensity score error.

    Works on files made by any tool; the quantiles printed are those of the confidential data too.
    Smaller distances = more useful.

    Example: pyvws utility ce.csv out/release/synthetic-*.csv --outcome Expenditure
    """
    import pandas as pd

    from pyvws import rarith
    from pyvws.commands._tables import read_outcomes
    from pyvws.evaluation.ecdf import ecdf_utility
    from pyvws.evaluation.pmse import pmse
    from pyvws.evaluation.utility_table import utility_table

    y, values = read_outcomes(original, synthetic, outcome)
    distance = ecdf_utility(y, values)
    found = utility_table(y, values)
    table = Table(title=f"{outcome}: data and {len(values)} synthetic datasets")
    for heading in ("", *found.names):
        table.add_column(heading, justify="right" if heading else "left")
    for label, row in (
        ("data", found.original),
        ("synthetic, average", found.average),
        ("synthetic, lowest", found.lowest),
        ("synthetic, highest", found.highest),
    ):
        table.add_row(label, *(f"{value:.6g}" for value in row))
    console = Console(width=100)
    console.print(table)
    scores = [
        pmse(
            pd.DataFrame({"value": y}),
            pd.DataFrame({"value": x}),
            formula="~ value + I(value^2)",
        )
        for x in values
    ]
    console.print(
        f"U_m {distance.maximum:.4f}, U_a {distance.average:.6f} (smaller = nearer)\n"
        f"pMSE {rarith.mean([s.value for s in scores]):.3g}, "
        f"{rarith.mean([s.ratio for s in scores]):.2f} times what chance gives (1 = alike)",
        highlight=False,
    )
