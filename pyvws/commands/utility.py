"""pyvws utility: how close synthetic datasets are to the original."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from pyvws.commands.output import (
    AsJson,
    Original,
    Quiet,
    SchemaOfRun,
    Synthetic,
    of_columns,
    tell,
    write_for_owner,
)


def utility(
    original: Original,
    synthetic: Synthetic,
    outcome: Annotated[str | None, typer.Option(help="Judge this column's margin alone.")] = None,
    columns: Annotated[str | None, of_columns(help="Columns to judge; all by default.")] = None,
    schema: SchemaOfRun = None,
    trees: Annotated[
        bool, typer.Option("--trees", help="S_pMSE by trees too (needs scikit-learn).")
    ] = False,
    figure: Annotated[
        Path | None, typer.Option(help="Picture of the associations, .png, .pdf or .svg.")
    ] = None,
    regression: Annotated[
        list[str] | None,
        typer.Option(help="Compare this regression instead; may be repeated.", metavar="FORMULA"),
    ] = None,
    family: Annotated[
        str, typer.Option(help="Of --regression.", metavar="gaussian|logistic|poisson")
    ] = "gaussian",
    table: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare shares of the last column's levels, or its mean, within cells of the "
            "columns before it; may be repeated.",
            metavar="COL,COL",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap and of permutations.")] = 1,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Print scores of synthetic tables, each beside a second sample and independent columns.

    k-marginal, S_pMSE, margins, missing values and associations, each with its direction, its ends
    and what it cannot see. With --outcome: ECDF distances, quantiles and means of one number, or
    the shares of one category's levels. With --regression and --table: coefficients and cells
    with combined intervals beside the data's. Works on files made by any tool. It prints figures
    of the confidential data too.

    Example: pyvws utility people.csv out/
    """
    from pyvws.commands._tables import read_tables, rule_of_files, values_of, with_unit
    from pyvws.commands.options import names
    from pyvws.evaluation.one_column import one_column
    from pyvws.evaluation.regression_utility import cells_beside, regression_utility, together
    from pyvws.evaluation.table_utility import table_utility

    read = read_tables(original, synthetic, schema)
    data = read.original
    known = read.schema
    if regression or table:
        how: Any = {"schema": known, **rule_of_files(synthetic)}
        of_family: Any = family
        figures = [
            regression_utility(data, read.datasets, formula, family=of_family, **how)
            for formula in regression or ()
        ]
        figures += [cells_beside(data, read.datasets, names(words), **how) for words in table or ()]
        tell(*together(figures), quiet=quiet, as_json=as_json)
        return
    if outcome is not None:
        values = values_of(outcome, read, synthetic)
        sheets = one_column(outcome, values.levels, values.tables)
        tell(*sheets, quiet=quiet, as_json=as_json)
        return
    unit = None
    if known is None:
        data, unit = with_unit(data, original, synthetic)
    measures = table_utility(
        data,
        read.datasets,
        schema=known,
        columns=names(columns) or None,
        unit=unit,
        trees=trees,
        seed=seed,
    )
    if figure is not None:
        kind, plot = figure.suffix[1:] or "png", measures.plot()
        write_for_owner(figure, partial(plot.savefig, format=kind), ".png, .pdf or .svg")
    tell(*measures.sheets, quiet=quiet, as_json=as_json)
