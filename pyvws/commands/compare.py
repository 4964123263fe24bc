"""pyvws compare: mechanisms, constants and epsilons on one table under one budget of time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pyvws.commands.options import given_settings, read_numbers
from pyvws.commands.output import AsJson, Original, Overwrite, Quiet, counted_progress, tell
from pyvws.commands.synthesize import take_config

_INTERRUPTED = 130


def compare(
    context: typer.Context,
    table: Original,
    out: Annotated[
        Path, typer.Option(help="Folder; it keeps the points, so a second run goes on.")
    ],
    epsilons: Annotated[
        str | None, typer.Option(help="Targets for a dataset, as in 3,6,12.", metavar="N,N")
    ] = None,
    choice: Annotated[
        list[str] | None,
        typer.Option(
            help="A mechanism and its settings, as 'lw reweight' or 'lw c=0.5'. Repeatable; those "
            "that need no more settings if not given.",
            metavar="WORDS",
        ),
    ] = None,
    t: Annotated[
        str | None,
        typer.Option(
            help="Bounds in nats, as .2,.5,1,2,5: inverse at each. For a public file, which says "
            "which t to take.",
            metavar="N,N",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Runs of each point, for the bands.")] = 4,
    minutes: Annotated[float, typer.Option(help="After this time no fit goes on.")] = 10.0,
    jobs: Annotated[
        int | None, typer.Option(help="Seeds at once; one a processor if not given.")
    ] = None,
    score: Annotated[
        str | None, typer.Option(help="What to go by.", metavar="k_marginal|margins|associations")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed that the others follow from.")] = 1,
    config: Annotated[
        Path | None,
        typer.Option(
            help="Settings that all choices share, from a TOML file.",
            is_eager=True,
            callback=take_config,
        ),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Say which mechanism to take at an epsilon, and why.

    Each choice is run on the table under several seeds and scored against it. OUT/confidential gets
    a table, a figure, a page, and settings for pyvws synthesize, whose release says in its ledger
    that settings were compared. All that is printed is confidential too.

    Example: pyvws compare people.csv --schema schema.toml --epsilons 6,12 --out compared/
    """
    from pyvws.comparison.compare import compare as compared
    from pyvws.tables.files.read import keep_codes, read_table
    from pyvws.tables.schema.schema import Schema

    settings: dict[str, Any] = given_settings(context, own="t")
    source = read_table(table)
    frame = source.frame
    if "schema" in settings:
        columns = Schema.read(settings["schema"]).columns
        levels = [name for name, column in columns.items() if column.categorical]
        frame = keep_codes(source.frame, source.as_written, levels)
    asked = () if epsilons is None else read_numbers(epsilons, "--epsilons", two=False)
    with counted_progress("compare") as tick:
        try:
            comparison = compared(
                frame,
                out,
                epsilons=asked,
                choices=choice or None,
                t=() if t is None else read_numbers(t, "--t", two=False),
                seeds=seeds,
                minutes=minutes,
                jobs=jobs,
                seed=seed,
                score=score,
                overwrite=overwrite,
                progress=(lambda _done, _total: None) if quiet or as_json else tick,
                **settings,
            )
        except KeyboardInterrupt:
            print(
                f"Error: Interrupted; finished points are kept in {out}. The same command goes on "
                "from there.",
                file=sys.stderr,
            )
            sys.exit(_INTERRUPTED)
    tell(*comparison.sheets, quiet=quiet, as_json=as_json)
    if not (quiet or as_json):
        print(f"confidential: {out / 'confidential' / 'comparison.html'}")
