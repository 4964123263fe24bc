"""pyvws validate: compare every number with R and Stan, and with code of others."""

from __future__ import annotations

import json
import shlex
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pyvws.commands.options import PlainCommand
from pyvws.errors import InputError

app = typer.Typer(name="validate", rich_markup_mode=None, add_completion=False)


@app.command(cls=PlainCommand)
def validate(
    level: Annotated[
        str,
        typer.Option(
            metavar="LEVEL,LEVEL",
            help="exact, close, density, posterior, paper, statement, guarantee; all if not given.",
        ),
    ] = "",
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the rows to this file as well.")
    ] = None,
    cached: Annotated[
        bool,
        typer.Option("--cached", help="Compare with stored results of R and Stan: needs neither."),
    ] = False,
    authors: Annotated[
        Path | None,
        typer.Option(help="Checkout of the authors' scripts or R packages to compare with."),
    ] = None,
    listings: Annotated[
        Path | None,
        typer.Option(help="Papers (text, HTML, LaTeX; file or folder) whose listings to run."),
    ] = None,
    report_folder: Annotated[
        Path | None,
        typer.Option(
            "--report", help="Folder for validation.html, validation.json and validation.xml."
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what the folder of --report holds.")
    ] = False,
    errata: Annotated[
        bool, typer.Option("--errata", help="Print the errata list and run nothing.")
    ] = False,
) -> None:
    """Compare every number with R, densities with Stan, and claims with computed privacy losses.

    With --authors or --listings only code of others is compared; add --level for the package's own
    rows as well. Exit code 0: all within what each row allows, 0 ulp unless it says more. 1: a row
    failed. 2: a row could not run. 130: interrupted; what had run is shown and written.
    """
    from pyvws._base.folders import check_folder, write_whole
    from pyvws.commands.options import names
    from pyvws.commands.output import counted_progress
    from pyvws_validation import authors as author_rows
    from pyvws_validation import document, report, runner
    from pyvws_validation import errata as errata_list
    from pyvws_validation import listings as listing_rows

    output = Console(width=None if sys.stdout.isatty() else 160)
    if errata:
        errata_list.render(output)
        return
    for option, path in (("--authors", authors), ("--listings", listings)):
        if path is not None and not path.exists():
            raise InputError.by("path-not-there", option=option, path=path)
    if report_folder is not None:
        check_folder(report_folder, overwrite=overwrite)
    jobs: list[runner.Job] = []
    if level or (authors is None and listings is None):
        jobs += runner.jobs(names(level) or None, "cached" if cached else "auto")
    for part, given, compare in (
        ("authors", authors, author_rows.run),
        ("listings", listings, listing_rows.run),
    ):
        if given is not None:
            compared = compare(given)  # Refuses a wrong folder now.
            jobs.append(runner.Job(id=part, level="exact", part=part, rows=compared.__iter__))
    rows: list[report.Row] = []
    began, clock = datetime.now(UTC), time.perf_counter()
    done, interrupted = 0, False
    work = sum(job.seconds for job in jobs)
    try:
        with counted_progress("validate") as tick:
            for job in jobs:
                for row in runner.performed(job):
                    rows.append(row)
                done += 1
                tick(done, len(jobs), sum(job.seconds for job in jobs[:done]) / work)
    except KeyboardInterrupt:
        interrupted = True
        rows += runner.not_run(jobs[done:])
    report.render(rows, output)
    output.print(
        f"Known slips of the papers: {errata_list.count()}; pyvws validate --errata lists them.",
        highlight=False,
    )
    if json_file is not None:
        write_whole(json_file, json.dumps(report.to_json(rows), indent=2) + "\n")
    if report_folder is not None:
        for path in document.write_report(
            report_folder,
            rows,
            began=began,
            seconds=time.perf_counter() - clock,
            command=shlex.join(["pyvws", *sys.argv[1:]]),
            interrupted=interrupted,
            overwrite=overwrite,
        ):
            print(path)
    if interrupted:
        raise KeyboardInterrupt
    raise typer.Exit(runner.exit_code(rows))
