"""pyvws tabulate: a table of estimates with standard errors from several synthetic datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pyvws.commands._output import AsJson, Overwrite, Quiet, print_json, print_table


def tabulate(
    synthetic: Annotated[list[Path], typer.Argument(help="Synthetic datasets, or a run's folder.")],
    by: Annotated[
        str | None, typer.Option(help="Columns whose levels make the cells.", metavar="COL,COL")
    ] = None,
    count: Annotated[bool, typer.Option("--count", help="Estimate the number of records.")] = False,
    total: Annotated[
        str | None, typer.Option(help="Estimate totals of these columns.", metavar="COL,COL")
    ] = None,
    mean: Annotated[
        str | None, typer.Option(help="Estimate means of these columns.", metavar="COL,COL")
    ] = None,
    share: Annotated[
        str | None, typer.Option(help="Estimate the shares of their levels.", metavar="COL,COL")
    ] = None,
    quantile: Annotated[
        str | None, typer.Option(help="Estimate quantiles of these columns.", metavar="COL,COL")
    ] = None,
    at: Annotated[
        str, typer.Option(help="Levels of the quantiles, between 0 and 1.", metavar="N,N")
    ] = "0.5",
    weights: Annotated[str | None, typer.Option(help="Column of survey weights.")] = None,
    strata: Annotated[str | None, typer.Option(help="Column of strata.")] = None,
    clusters: Annotated[str | None, typer.Option(help="Column of clusters.")] = None,
    schema: Annotated[
        Path | None, typer.Option(help="schema.toml; by default that of the run, if any.")
    ] = None,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    kind: Annotated[
        str,
        typer.Option(help="Whether some columns were synthesized or all.", metavar="partial|full"),
    ] = "partial",
    original: Annotated[
        Path | None,
        typer.Option(help="Confidential table: adds the figures by the Laplace mechanism."),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="What the Laplace figures may cost together.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for table.csv and the page table.html.")
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Estimate totals, means, shares and quantiles of public cells, with standard errors.

    The cells are the levels of the schema, whether a record has them or not. Works on files made by
    any tool. With --original the same figures by the Laplace mechanism stand beside them; they
    spend --epsilon again.

    Example: pyvws tabulate out/ --by sex --mean income --weights w --out table/
    """
    from pyvws._base.checks import choice
    from pyvws._base.folders import check_folder
    from pyvws.commands._options import names, read_numbers
    from pyvws.commands._tables import read_synthetic
    from pyvws.evaluation.published_table import tabulate as estimates
    from pyvws.report.output_folder import draws_behind, refuse_systematic
    from pyvws.tables.files.read import read_table

    choice(kind, "--kind", ("partial", "full"))
    if out is not None:
        check_folder(out, overwrite=overwrite)
    levels = read_numbers(at, "--at", two=False)
    files, datasets, said = read_synthetic(synthetic, schema)
    if kind == "full":
        refuse_systematic(files)
    table = estimates(
        datasets,
        by=names(by),
        count=count,
        total=names(total),
        mean=names(mean),
        share=names(share),
        quantile=dict.fromkeys(names(quantile), levels),
        weights=weights,
        strata=strata,
        clusters=clusters,
        schema=said,
        level=level,
        kind="partial" if kind == "partial" else "full",
        draw_of_dataset=draws_behind(files),
        original=None if original is None else read_table(original).spelled,
        epsilon=epsilon,
    )
    if out is not None:
        _write(table, out, weights, overwrite)
    if as_json:
        print_json({"datasets": table.datasets, "kind": kind, "level": level, **_by_row(table)})
    elif not quiet:
        _tell(table)


def _by_row(table: Any) -> dict[str, Any]:
    columns = table.columns
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return {
        "epsilon_of_laplace": table.epsilon,
        "unit_of_laplace": table.unit_of_laplace,
        "outside_the_cells": table.outside,
        "rows": rows,
    }


def _write(table: Any, out: Path, weights: str | None, overwrite: bool) -> None:
    import polars as pl
    import polars.selectors as cs

    from pyvws._base.folders import whole_folder
    from pyvws.report.table_page import table_page

    with whole_folder(out, overwrite=overwrite) as folder:
        frame = pl.DataFrame(table.columns).with_columns(cs.float().fill_nan(None))
        frame.write_csv(folder / "table.csv")
        (folder / "table.html").write_text(table_page(table, weights=weights), encoding="utf-8")


def _tell(table: Any) -> None:
    from pyvws.evaluation.combining_rules import SYNTHETIC

    beside = ("Laplace", "its noise") if table.epsilon is not None else ()
    said = [] if not table.outside else [f"{table.outside:.3g} of the records lie in no cell."]
    if beside:
        said.append(
            f"The Laplace figures spend epsilon {table.epsilon:g} besides that of the datasets, "
            f"for {table.unit_of_laplace} more or less; their noise is without the sampling of the "
            "survey."
        )
        said += [table.remark_on_laplace] if table.remark_on_laplace else []
    print_table(
        f"estimates from {table.datasets} datasets, {SYNTHETIC[table.kind]}",
        ("estimate", "standard error", f"lower {table.level:.0%}", "upper", "records", *beside),
        (
            (
                " ".join(filter(None, (one.statistic, one.column, one.point, *one.cell))),
                *(
                    "" if x != x else f"{x:.6g}"
                    for x in (one.estimate, one.standard_error, one.lower, one.upper)
                ),
                "none" if one.empty == table.datasets else f"{one.records:.6g}",
                *("" if x != x else f"{x:.6g}" for x in (one.laplace, one.laplace_noise) if beside),
            )
            for one in table.figures
        ),
        *said,
    )
