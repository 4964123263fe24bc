"""pyvws utility: how close synthetic datasets are to the original."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyvws.commands._output import AsJson, Original, Quiet, print_json, print_table

__all__ = ["utility"]


def utility(
    original: Original,
    synthetic: Annotated[list[Path], typer.Argument(help="Synthetic datasets, or a run's folder.")],
    outcome: Annotated[str, typer.Option(help="Synthesized column.")],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Print ECDF distances, quantiles and means, and the propensity score error.

    Works on files made by any tool. It prints quantiles of the confidential data too. Smaller
    distances = more useful.

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
    frame = pd.DataFrame({"value": y})
    scores = [
        pmse(frame, pd.DataFrame({"value": x}), formula="~ value + I(value^2)") for x in values
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
                **{label: dict(zip(found.names, row, strict=True)) for label, row in rows.items()},
            }
        )
    elif not quiet:
        print_table(
            f"{outcome}: data and {len(values)} synthetic datasets",
            found.names,
            (
                (label if label == "data" else f"synthetic, {label}", *(f"{x:.6g}" for x in row))
                for label, row in rows.items()
            ),
            f"U_m {distance.maximum:.4f}, U_a {distance.average:.6f} (smaller = nearer)",
            f"pMSE {value:.3g}, {ratio:.2f} times what chance gives (1 = alike)",
        )
