"""pyvws combine: one regression from several synthetic datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyvws.commands._output import AsJson, Quiet, print_json, print_table


def combine(
    synthetic: Annotated[list[Path], typer.Argument(help="Synthetic datasets, or a run's folder.")],
    formula: Annotated[str, typer.Option(help='As in R: "income ~ region + urban".')],
    kind: Annotated[
        str,
        typer.Option(help="Whether some columns were synthesized or all.", metavar="partial|full"),
    ] = "partial",
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    schema: Annotated[
        Path | None, typer.Option(help="schema.toml; by default that of the run, if any.")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Combine least-squares coefficients over datasets, with degrees of freedom.

    Works on files made by any tool. Beside a released file its privacy.json says which draw made
    it: the datasets of one draw are averaged first, and datasets that all come from one draw are
    refused. Records without a value in a column of the formula are left out, and counted.

    Example: pyvws combine out/release/synthetic-*.csv --formula "Expenditure ~ Urban + Marital"
    """
    from pyvws._base.checks import choice
    from pyvws.commands._tables import left_out, read_synthetic
    from pyvws.evaluation.combining_rules import SYNTHETIC, combine_formula
    from pyvws.report.output_folder import draws_behind, refuse_systematic

    choice(kind, "--kind", ("partial", "full"))
    files, datasets, said = read_synthetic(synthetic, schema)
    if kind == "full":
        refuse_systematic(files)
    draws = draws_behind(files)
    found = combine_formula(
        *(datasets, formula),
        kind="partial" if kind == "partial" else "full",
        draw_of_dataset=draws,
        names=[path.name for path in files],
        schema=said,
    )
    rows = {
        name: {
            "estimate": combined.estimate,
            "standard_error": combined.variance**0.5,
            "df": combined.df,
            **dict(zip(("lower", "upper"), combined.interval(level), strict=True)),
        }
        for name, combined in found.items()
    }
    if as_json:
        print_json(
            {
                "formula": formula,
                "datasets": len(files),
                "draws": len(set(draws)),
                "kind": kind,
                "level": level,
                "left_out": found.dropped,
                "coefficients": rows,
            }
        )
    elif not quiet:
        of = "" if len(set(draws)) == len(files) else f" of {len(set(draws))} draws"
        print_table(
            f"{formula} over {len(files)} datasets{of}, {SYNTHETIC[kind]}",
            ("estimate", "standard error", "df", f"lower {level:.0%}", "upper"),
            (
                (name, *(f"{x:.1f}" if key == "df" else f"{x:.6g}" for key, x in row.items()))
                for name, row in rows.items()
            ),
            *left_out(found.dropped),
        )
