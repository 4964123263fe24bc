"""pyvws utility: how near synthetic datasets come to the original."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pyvws.commands._output import AsJson, Quiet, print_json

__all__ = ["utility"]


def utility(
    original: Annotated[
        Path,
        typer.Argument(help="Confidential table: .csv, .parquet, .arrow, or a folder of parts."),
    ],
    synthetic: Annotated[list[Path], typer.Argument(help="Synthetic datasets, or a run's folder.")],
    outcome: Annotated[str, typer.Option(help="Synthesized column.")],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Print ECDF distances, quantiles and means, and the propensity score error.

    Works on files made by any tool; the quantiles printed are those of the confidential data too.
    Smaller distances = more useful.

    Example: pyvws utility ce.csv out/release/synthetic-*.csv --outcome Expenditure
    """
    import pandas as pd

    from pyvws.commands._tables import read_outcomes
    from pyvws.evaluation.ecdf import ecdf_utility
    from pyvws.evaluation.pmse import pmse
    from pyvws.evaluation.utility_table import utility_table
    from pyvws.r_numbers import rarith

    y, values = read_outcomes(original, synthetic, outcome)
    distance = ecdf_utility(y, values)
    found = utility_table(y, values)
    scores = [
        pmse(
            pd.DataFrame({"value": y}),
            pd.DataFrame({"value": x}),
            formula="~ value + I(value^2)",
        )
        for x in values
    ]
    value, ratio = rarith.mean([s.value for s in scores]), rarith.mean([s.ratio for s in scores])
    rows = {
        "data": found.original,
        "average": found.average,
        "lowest": found.lowest,
        "highest": found.highest,
    }
    if as_json:
        print_json(
            {
                "outcome": outcome,
                "datasets": len(values),
                "u_m": distance.maximum,
                "u_a": distance.average,
                "pmse": value,
                "pmse_ratio": ratio,
                **{of: dict(zip(found.names, row, strict=True)) for of, row in rows.items()},
            }
        )
    elif not quiet:
        table = Table(title=escape(f"{outcome}: data and {len(values)} synthetic datasets"))
        for heading in ("", *found.names):
            table.add_column(heading, justify="right" if heading else "left")
        for of, row in rows.items():
            table.add_row(
                of if of == "data" else f"synthetic, {of}", *(f"{figure:.6g}" for figure in row)
            )
        console = Console(width=100)
        console.print(table)
        console.print(
            f"U_m {distance.maximum:.4f}, U_a {distance.average:.6f} (smaller = nearer)\n"
            f"pMSE {value:.3g}, {ratio:.2f} times what chance gives (1 = alike)",
            highlight=False,
        )
