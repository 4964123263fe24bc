"""pyvws tabulate: a table of estimates with standard errors from several synthetic datasets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pyvws.commands.output import (
    AsJson,
    Kind,
    Level,
    OfWhat,
    Overwrite,
    Quiet,
    SchemaOfRun,
    Synthetic,
    of_columns,
    tell,
)
from pyvws.sheet import Sheet, number

if TYPE_CHECKING:
    from pyvws.evaluation.combining_rules import NoisyCells
    from pyvws.evaluation.published_table import PublishedTable
    from pyvws.tables.schema.schema import Schema


def tabulate(
    synthetic: Synthetic,
    by: Annotated[str | None, of_columns(help="Columns whose levels make the cells.")] = None,
    count: Annotated[bool, typer.Option("--count", help="Estimate the number of records.")] = False,
    total: Annotated[str | None, of_columns(help="Estimate totals of these columns.")] = None,
    mean: Annotated[str | None, of_columns(help="Estimate means of these columns.")] = None,
    share: Annotated[str | None, of_columns(help="Estimate the shares of their levels.")] = None,
    quantile: Annotated[str | None, of_columns(help="Estimate quantiles of these columns.")] = None,
    at: Annotated[
        str, typer.Option(help="Levels of the quantiles, between 0 and 1.", metavar="N,N")
    ] = "0.5",
    weights: Annotated[str | None, typer.Option(help="Column of survey weights.")] = None,
    strata: Annotated[str | None, typer.Option(help="Column of strata.")] = None,
    clusters: Annotated[
        str | None, typer.Option(help="Column of clusters; without it the units are.")
    ] = None,
    schema: SchemaOfRun = None,
    level: Level = 0.95,
    kind: Kind = "partial",
    of: OfWhat = None,
    by_unit: Annotated[
        str | None,
        typer.Option(
            help="Column of ids: each unit, such as a household, counts once, by its first record. "
            "Then unit_size is a column, the number of its records.",
            metavar="COL",
        ),
    ] = None,
    counted: Annotated[
        bool,
        typer.Option(
            "--counted",
            help="Intervals of the cells that noisy-counts measured, from the counts and their "
            "noise alone.",
        ),
    ] = False,
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
    spend --epsilon again. Counts and shares of cells that noisy-counts measured come from its noisy
    counts. With --counted nothing else of a release is read.

    With --by-unit the records are units, such as households.

    Example: pyvws tabulate out/ --by sex --mean income --weights w --out table/
    """
    from pyvws._base.checks import choice
    from pyvws._base.folders import check_folder
    from pyvws.commands._tables import (
        chosen_schema,
        noise_of_files,
        of_units,
        read_synthetic,
        rule_of_files,
    )
    from pyvws.commands.options import names, read_numbers
    from pyvws.errors import InputError, UsageError
    from pyvws.evaluation.published_table import tabulate as estimates
    from pyvws.report.output_folder import counts_beside, refuse_systematic
    from pyvws.tables.files.read import read_table

    choice(kind, "--kind", ("partial", "full"))
    if out is not None:
        check_folder(out, overwrite=overwrite)
    for path in synthetic:
        if not path.exists():
            raise InputError.by("no-such-file", original=path)
    counts, capped = counts_beside(synthetic, units=counted)
    rule = rule_of_files(synthetic, of)
    if counted:
        known = chosen_schema(synthetic, schema)
        _counted(
            counts, capped, rule["of"], level, known, out, overwrite, quiet=quiet, as_json=as_json
        )
        return
    levels = read_numbers(at, "--at", two=False)
    read = read_synthetic(synthetic, schema)
    datasets, known = read.datasets, read.schema
    noise = noise_of_files(synthetic, datasets[0].height)
    if kind == "full":
        refuse_systematic(read.files)
    if by_unit is not None:
        if original is not None:
            raise UsageError.by("laplace-by-records")
        datasets, known = of_units(datasets, by_unit, known)
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
        schema=known,
        level=level,
        kind="partial" if kind == "partial" else "full",
        **rule,
        counted=None if by_unit is not None else counts,
        noise_of_records=noise,
        original=None if original is None else read_table(original).with_codes,
        epsilon=epsilon,
    )
    table = replace(table, capped=capped)
    if out is not None:
        _write(table, out, weights, overwrite)
    tell(*table.sheets, quiet=quiet, as_json=as_json)


def _counted(
    counts: NoisyCells | None,
    capped: str | None,
    of_what: Literal["population", "table"],
    level: float,
    schema: Schema | None,
    out: Path | None,
    overwrite: bool,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Show intervals of measured cells; write them to counted.csv of the folder `out`."""
    import polars as pl

    from pyvws._base.folders import whole_folder
    from pyvws.errors import UsageError
    from pyvws.evaluation.counted_cells import counted_cells
    from pyvws.evaluation.published_table import of_capped
    from pyvws.evaluation.whole_tables import SquaredWeights

    if counts is None:
        raise UsageError.by("counted-without-counts")
    of_records = capped or f"the {of_what}"
    squares = SquaredWeights.of(counts)
    asked: Any = {"of": of_what, "level": level, "schema": schema, "squares": squares}
    asked["totals"] = counts.totals
    cells = counted_cells(counts.frame, noise=counts.noise, **asked)
    if out is not None:
        with whole_folder(out, overwrite=overwrite) as folder:
            pl.DataFrame(cells).write_csv(folder / "counted.csv")
    of_counts = "the confidential table" if squares is None else "the population, by weights"
    rows = list(zip(*cells.values(), strict=True))
    ends = (f"lower {level:.0%}", "upper")
    sheet = Sheet(
        f"Cells from noisy counts and their noise alone, shares of {of_records}",
        ("cell", "count", *ends, "share", *ends),
        [(f"{name}: {label}", *numbers) for name, label, *numbers in rows],
        notes=[
            f"Counts are of {capped or of_counts}, by least squares over "
            "all sets in whole cells. The level holds for each cell alone.",
            *of_capped(capped),
        ],
        facts={
            "of": capped or of_what,
            "level": level,
            "noise": counts.noise,
            "rows": [dict(zip(cells, row, strict=True)) for row in rows],
        },
    )
    tell(sheet, quiet=quiet, as_json=as_json)


def _write(table: PublishedTable, out: Path, weights: str | None, overwrite: bool) -> None:
    import polars as pl
    import polars.selectors as cs

    from pyvws._base.folders import whole_folder

    with whole_folder(out, overwrite=overwrite) as folder:
        frame = pl.DataFrame(table.columns).with_columns(cs.float().fill_nan(None))
        frame.write_csv(folder / "table.csv")
        page = table_page(table, weights=weights)
        (folder / "table.html").write_text(page, encoding="utf-8")


def table_page(table: PublishedTable, *, weights: str | None) -> str:
    """The page as HTML, with a part for each statistic; `weights` is the column of weights."""
    from pyvws.report.page import render

    empty = sum(figure.empty == table.datasets for figure in table.figures)
    facts = [
        ("datasets", str(table.datasets), table.made_of),
        ("intervals", f"{table.level:.0%}", "t intervals of the combining rules"),
        ("weights", weights or "none", "column of the survey weights"),
        ("rows without a record", str(empty), f"of {len(table.figures)}"),
    ]
    if table.epsilon is not None:
        facts.append(("ε of Laplace", number(table.epsilon), "besides the ε of the datasets"))
        facts.append(("weights of Laplace", table.weights_of_laplace, "what a record counts there"))
    return render("table.html.j2", command="tabulate", facts_shown=facts, table_=table)
