"""pyvws combine: one regression from several synthetic datasets."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from pyvws.commands.output import AsJson, Kind, Level, OfWhat, Quiet, SchemaOfRun, Synthetic, tell
from pyvws.sheet import Sheet

_COUNTED = {
    True: "The noisy counts have a set with all columns of the formula.",
    False: "No set of the noisy counts has all columns of the formula: these figures depend on the "
    "model.",
}


def combine(
    synthetic: Synthetic,
    formula: Annotated[str, typer.Option(help='As in R: "income ~ region + urban".')],
    kind: Kind = "partial",
    of: OfWhat = None,
    level: Level = 0.95,
    schema: SchemaOfRun = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Combine least-squares coefficients over datasets, with degrees of freedom.

    Works on files made by any tool. The privacy.json beside a released file says which
    draw made it. The datasets of one draw are averaged first, and datasets that all come from one
    draw are refused. Records without a value in a column of the formula are left out, and counted.
    A release from noisy-counts has the rule for imputed records.

    Example: pyvws combine out/release/synthetic-*.csv --formula "Expenditure ~ Urban + Marital"
    """
    from pyvws._base.checks import choice
    from pyvws.commands._tables import read_synthetic, rule_of_files
    from pyvws.errors import InputError
    from pyvws.evaluation.combining_rules import combine_formula, rule_named
    from pyvws.evaluation.counted_cells import are_measured
    from pyvws.evaluation.regression_utility import left_out
    from pyvws.report.output_folder import counts_beside, refuse_systematic

    choice(kind, "--kind", ("partial", "full"))
    counts, capped = counts_beside(synthetic)
    if counts is not None and counts.weights:
        raise InputError.by("combine-of-weights")
    rule = rule_of_files(synthetic, of)
    read = read_synthetic(synthetic, schema)
    files, datasets = read.files, read.datasets
    if kind == "full":
        refuse_systematic(files)
    of_what, draws = rule["of"], rule["draw_of_dataset"]
    coefficients = combine_formula(
        *(datasets, formula),
        kind="partial" if kind == "partial" else "full",
        **rule,
        names=[path.name for path in files],
        schema=read.schema,
    )
    counted = None
    if counts is not None:
        named = [
            name
            for name in datasets[0].columns
            if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", formula)
        ]
        counted = are_measured(named, counts.sets)
    rows = {
        name: {
            "estimate": combined.estimate,
            "standard_error": combined.variance**0.5,
            "df": combined.df,
            **dict(zip(("lower", "upper"), combined.interval(level), strict=True)),
        }
        for name, combined in coefficients.items()
    }
    words = f"rule for {rule_named(kind, of_what).words}"
    if capped:
        words = f"imputed records, figures of {capped}"
    of_draws = "" if len(set(draws)) == len(files) else f" of {len(set(draws))} draws"
    sheet = Sheet(
        f"{formula} over {len(files)} datasets{of_draws}, {words}",
        ("coefficient", "estimate", "standard error", "df", f"lower {level:.0%}", "upper"),
        [(name, *row.values()) for name, row in rows.items()],
        notes=[
            *left_out(coefficients.dropped),
            *([] if counted is None else [_COUNTED[counted]]),
            *([f"The datasets stand for {capped}, not for the whole table."] if capped else []),
        ],
        facts={
            "formula": formula,
            "datasets": len(files),
            "draws": len(set(draws)),
            "kind": kind,
            "of": capped or of_what,
            "counted": counted,
            "level": level,
            "left_out": coefficients.dropped,
            "coefficients": rows,
        },
        digits=6,
    )
    tell(sheet, quiet=quiet, as_json=as_json)
