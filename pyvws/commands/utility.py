"""pyvws utility: how close synthetic datasets are to the original."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyvws.commands._output import AsJson, Original, Quiet, print_json, print_table

if TYPE_CHECKING:
    from pyvws._base.checks import Floats
    from pyvws.report.margins import LevelMargin

__all__ = ["utility"]


def utility(
    original: Original,
    synthetic: Annotated[list[Path], typer.Argument(help="Synthetic datasets, or a run's folder.")],
    outcome: Annotated[str, typer.Option(help="Synthesized column.")],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Print ECDF distances, quantiles and means, and the propensity score error; of a category,
    the shares of its levels.

    Works on files made by any tool. It prints figures of the confidential data too. Smaller
    distances = more useful.

    Example: pyvws utility ce.csv out/release/synthetic-*.csv --outcome Expenditure
    """
    from pyvws.commands._tables import read_column
    from pyvws.report.margins import LevelMargin, margin_of

    found = read_column(original, synthetic, outcome)
    margin = margin_of(found)
    if isinstance(margin, LevelMargin):
        _tell_shares(margin, quiet=quiet, as_json=as_json)
    else:
        _tell_numbers(outcome, found.tables, quiet=quiet, as_json=as_json)


def _tell_numbers(outcome: str, tables: Sequence[Floats], *, quiet: bool, as_json: bool) -> None:
    import pandas as pd

    from pyvws.evaluation.ecdf import ecdf_utility
    from pyvws.evaluation.pmse import pmse
    from pyvws.evaluation.utility_table import utility_table
    from pyvws.r_numbers import rarith

    y, *values = tables
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


def _tell_shares(margin: LevelMargin, *, quiet: bool, as_json: bool) -> None:
    """Print the share of each level in the data and in the datasets, and their distance."""
    data, own = margin.shares[0], margin.shares[1:]
    rows = zip(data, own.mean(axis=0), own.min(axis=0), own.max(axis=0), strict=True)
    by_level = dict(zip(margin.levels, rows, strict=True))
    names = ("data", "average", "lowest", "highest")
    if as_json:
        shares = {level: dict(zip(names, row, strict=True)) for level, row in by_level.items()}
        print_json(
            {
                "outcome": margin.name,
                "datasets": len(own),
                "distance": margin.distance,
                "levels": shares,
            }
        )
    elif not quiet:
        print_table(
            f"{margin.name}: shares in the data and in {len(own)} synthetic datasets",
            names,
            ((level, *(f"{share:.4f}" for share in row)) for level, row in by_level.items()),
            f"distance {margin.distance:.4f}: the share of rows that would have to change "
            "(smaller = nearer)",
        )
