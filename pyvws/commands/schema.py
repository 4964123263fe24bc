"""pyvws schema: a proposal of what is public of a table, for somebody to review."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyvws.commands._output import AsJson, Original, Quiet, print_json, print_table
from pyvws.errors import OutputError

_UNNAMED = (
    "The first line of the file looks like a record, so columns have their places for names here. "
    "If the file has no header, add one before you go on: a release shows its names of columns."
)
_ROW_NAMES = (
    "The first column numbers the rows and has no name, as R and pandas write row names. It is "
    "left out of the proposal and of every run on this file."
)


def schema(
    table: Original,
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("schema.toml"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Forecast what runs by the proposal would cost, too."),
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Propose a schema of a table: roles, models, levels and ranges of its columns.

    The proposal looks at the records, so it is under review until you have checked that it is
    public. Sign it then: set `reviewed = true`, or your name, at the top of the file.

    Example: pyvws schema people.csv --out schema.toml
    """
    from pyvws.commands._forecast import forecast
    from pyvws.tables.files.headers import record_instead, shown_names
    from pyvws.tables.files.read import read_table
    from pyvws.tables.proposal.reasons import broken_rules, reasons
    from pyvws.tables.schema.schema import Schema

    if out.exists():
        if table.exists() and out.samefile(table):
            raise OutputError(f"{out} is the table. Name another file.")
        if not overwrite:
            raise OutputError(f"{out} exists. Name another file, or use --overwrite.")
    source = read_table(table)
    found = Schema.propose(source.spelled)
    found.write(out)
    expected = forecast(found, source.spelled) if plan else []
    shown = shown_names(list(found.columns))
    broken = broken_rules(found, source.spelled, shown)
    columns = {shown[name]: one for name, one in found.columns.items()}
    if as_json:
        print_json(
            {
                "schema": str(out),
                "columns": {
                    name: {
                        "role": one.role,
                        "model": one.model,
                        "note": one.note,
                        "review": one.review,
                    }
                    for name, one in columns.items()
                },
                "to_review": len(found.to_review),
                "reviewed": found.reviewed,
                "why": reasons(found.columns, shown),
                "broken_rules": broken,
                **({"forecast": expected} if plan else {}),
            }
        )
    elif not quiet:
        print_table(
            f"{out}: a proposal for {len(columns)} columns",
            ("role", "model", "review"),
            (
                (name, one.role, one.model or "", ", ".join(one.review))
                for name, one in columns.items()
            ),
            *(f"{name}: {one.note}." for name, one in columns.items() if one.note),
            *reasons(found.columns, shown),
            *broken,
            *([_ROW_NAMES] if source.row_names else []),
            *([_UNNAMED] if record_instead(list(found.columns)) else []),
            "The proposal has looked at the table. Entries with values of its records: "
            f"{len(found.to_review)}. The records decided the other entries too.",
            "Check each against what is known of the survey, correct it, and take its name out of "
            "review.",
            "Then sign the file: set reviewed = true, or your name, at its top.",
            'Until then the file is confidential, and a run counts it as "not accounted".',
            *expected,
        )
