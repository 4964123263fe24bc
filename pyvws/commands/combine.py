"""pyvws combine: one regression from several synthetic datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pyvws.commands._output import AsJson, Quiet, print_json
from pyvws.errors import InputError

__all__ = ["combine"]


def combine(
    synthetic: Annotated[list[Path], typer.Argument(help="Synthetic datasets, or a run's folder.")],
    formula: Annotated[str, typer.Option(help='As in R: "income ~ region + urban".')],
    kind: Annotated[
        str, typer.Option(help="partial or full: which columns were synthesized.")
    ] = "partial",
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Combine least-squares coefficients over datasets, with degrees of freedom.

    Works on files made by any tool.

    Example: pyvws combine out/release/synthetic-*.csv --formula "Expenditure ~ Urban + Marital"
    """
    from pyvws.commands._tables import synthetic_files
    from pyvws.evaluation.combining_rules import combine_formula
    from pyvws.tables.files import read_table

    if kind not in ("partial", "full"):
        raise InputError(f"--kind must be partial or full. Got {kind!r}.")
    chosen: Literal["partial", "full"] = "partial" if kind == "partial" else "full"
    files = synthetic_files(synthetic)
    tables = [read_table(path).frame for path in files]
    found = combine_formula(tables, formula, kind=chosen, names=[path.name for path in files])
    intervals = {name: combined.interval(level) for name, combined in found.items()}
    if as_json:
        print_json(
            {
                "formula": formula,
                "datasets": len(files),
                "kind": kind,
                "level": level,
                "coefficients": {
                    name: {
                        "estimate": combined.estimate,
                        "standard_error": combined.variance**0.5,
                        "df": combined.df,
                        "lower": intervals[name][0],
                        "upper": intervals[name][1],
                    }
                    for name, combined in found.items()
                },
            }
        )
    elif not quiet:
        title = f"{formula} over {len(files)} datasets, {kind}ly synthetic"
        table = Table(title=escape(title))
        for heading in ("", "estimate", "standard error", "df", f"lower {level:.0%}", "upper"):
            table.add_column(heading, justify="right" if heading else "left")
        for name, combined in found.items():
            lower, upper = intervals[name]
            table.add_row(
                escape(name),
                f"{combined.estimate:.6g}",
                f"{combined.variance**0.5:.6g}",
                f"{combined.df:.1f}",
                f"{lower:.6g}",
                f"{upper:.6g}",
            )
        Console(width=100).print(table)
