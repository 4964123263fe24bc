"""pyvws audit: what single records move of a whole run, weights and searches too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyvws.commands.options import given_settings
from pyvws.commands.output import AsJson, Original, Quiet, counted_progress, tell
from pyvws.commands.synthesize import as_read, take_config
from pyvws.errors import InputError

if TYPE_CHECKING:
    from pyvws.auditing.audit import Audit, CanaryAudit


def _take_run(context: typer.Context, out: Path | None) -> Path | None:
    """Make the settings and the seed of a run the options' defaults."""
    if out is not None:
        take_config(context, out / "confidential" / "run.toml")
    return out


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
    of_run: Annotated[
        Path | None,
        typer.Option(
            "--for",
            help="Folder of a run on this table: audit it with its settings and seed, and note "
            "there that an audit was made.",
            is_eager=True,
            callback=_take_run,
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

    --for takes the folder of a run. The release then says that an audit was made, and the figures
    go to confidential/.

    Example: pyvws audit people.csv --schema schema.toml --mechanism lw --records 20
    """
    from pyvws.auditing.audit import audit as audited
    from pyvws.synthesis.settings import RunSettings
    from pyvws.synthesis.settings_by_name import arranged
    from pyvws.tables.files.read import read_table

    settings: dict[str, Any] = given_settings(context, own="records")
    if of_run is not None:
        _check_run(context, of_run, table, settings)
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
    if of_run is not None:
        asked = {"replace": replace, "repeats": repeats}
        _note(of_run, found, {"canaries": canaries} if canaries else {"records": records, **asked})
    tell(*found.sheets, quiet=quiet, as_json=as_json)


def _check_run(context: typer.Context, out: Path, table: Path, settings: dict[str, Any]) -> None:
    """Raise InputError for a table and settings other than those of the run in a folder."""
    from pyvws.report.output_folder import read_confidential
    from pyvws.tables.files.read import file_digest

    summary = read_confidential(out).summary
    if file_digest(table) != summary["input_sha256"]:
        raise InputError.by("audit-of-other-table", out=out, table=table.name)
    for name in (*settings, "seed", "config"):
        if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE":
            raise InputError.by("audit-of-other-settings", name=name.replace("_", "-"))


def _note(out: Path, found: Audit | CanaryAudit, asked: dict[str, Any]) -> None:
    """Write the figures to confidential/, and to release/ what was asked, which tells nothing."""
    from pyvws._base.folders import write_whole
    from pyvws.auditing.audit import Audit
    from pyvws.report.output_folder import AUDIT_FILE, read_confidential, read_public

    privacy, own = read_public(out).privacy, read_confidential(out).summary["privacy"]
    if isinstance(found, Audit):
        stated = (1 + found.replaced) * own["epsilon_per_dataset"]
        if abs(found.stated - stated) > 1e-6 * stated:
            raise InputError.by("audit-of-other-run", out=out)
    figures = {**asked, **found.sheets[0].facts}
    write_whole(out / "confidential" / AUDIT_FILE, json.dumps(figures) + "\n", private=True)
    said = {"release_id": privacy["release_id"], **asked}
    write_whole(out / "release" / AUDIT_FILE, json.dumps(said) + "\n")
