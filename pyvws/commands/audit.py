"""pyvws audit: what single records move of a whole run, weights and searches too."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pyvws.commands.options import given_settings
from pyvws.commands.output import AsJson, Original, Quiet, counted_progress, tell
from pyvws.commands.synthesize import as_read, take_config


def audit(
    context: typer.Context,
    table: Original,
    records: Annotated[
        int, typer.Option(help="Records, or units, to leave out, one at a time.")
    ] = 20,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put another record, or unit, in the place of each.")
    ] = False,
    repeats: Annotated[
        int,
        typer.Option(help="Whole runs to compare with and without a record, such as 100; 0: none."),
    ] = 0,
    canaries: Annotated[
        int,
        typer.Option(help="Made-up records to try under noisy-counts, such as 1000; 0 for none."),
    ] = 0,
    minutes: Annotated[float, typer.Option(help="The longest time that it may take.")] = 30.0,
    seed: Annotated[
        int | None, typer.Option(help="Seed of all runs; a secret one if not given.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="Settings of the run, from a TOML file.", is_eager=True, callback=take_config
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Leave records out one at a time, run everything anew, and print the loss of one draw.

    The runs recompute weights and searches, which a statement of the fit alone does not cover. All
    that is printed is confidential. An audit finds faults; a small figure proves nothing.

    Under noisy-counts, --canaries puts made-up records into a copy that is never released. The
    audit compares what the noisy counts tell of them with the claim and the stated noise.

    Example: pyvws audit people.csv --schema schema.toml --mechanism lw --records 20
    """
    from pyvws.auditing.audit import audit as audited
    from pyvws.synthesis.settings import RunSettings
    from pyvws.synthesis.settings_by_name import arranged
    from pyvws.tables.files.read import read_table

    settings: dict[str, Any] = given_settings(context, own="records")
    run = RunSettings(**arranged(settings))
    frame = as_read(run, read_table(table, every_line=run.plan.refuses_no_record))
    with counted_progress("audit") as tick:
        found = audited(
            frame,
            records=records,
            replace=replace,
            repeats=repeats,
            canaries=canaries,
            minutes=minutes,
            seed=seed,
            progress=(lambda _done, _total: None) if quiet or as_json else tick,
            **settings,
        )
    tell(*found.sheets, quiet=quiet, as_json=as_json)
