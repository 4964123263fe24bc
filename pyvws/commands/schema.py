"""pyvws schema: a proposal of what is public of a table, for somebody to review."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pyvws._base.phrase import Phrase
from pyvws.commands.output import AsJson, Original, Quiet, tell
from pyvws.errors import InputError, OutputError, UsageError
from pyvws.sheet import Sheet

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
        bool, typer.Option("--plan", help="Forecast what runs by the proposal would cost, too.")
    ] = False,
    reference: Annotated[
        str | None,
        typer.Option(
            help="Public records for --plan in the place of the table's: a file, or the output "
            "folder of an earlier run."
        ),
    ] = None,
    accept: Annotated[
        str | None,
        typer.Option(help="Sign a proposal by your name: every entry is public.", metavar="NAME"),
    ] = None,
    private: Annotated[
        bool,
        typer.Option(
            "--private",
            help="Find levels and ranges under noise, at --epsilon and --delta, for noisy-counts.",
        ),
    ] = False,
    epsilon: Annotated[
        float | None, typer.Option(help="With --private: what the schema costs, once.")
    ] = None,
    delta: Annotated[
        float, typer.Option(help="With --private: delta of that, which private levels need.")
    ] = 0.0,
    known: Annotated[
        Path | None,
        typer.Option(
            help="With --private: a schema of what you know, with levels, range or cuts "
            '"private" where they are to be found.'
        ),
    ] = None,
    records: Annotated[
        int | None, typer.Option(help="With --private: a public number of records.")
    ] = None,
    neighbours: Annotated[
        str, typer.Option(help="With --private: one record left out (loo), or replaced (replace).")
    ] = "loo",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Propose a schema of a table: roles, models, levels and ranges of its columns.

    The proposal looks at the records, so it is under review until you have checked that it is
    public. Sign it then: set `reviewed = true`, or your name, at the top of the file. Or name the
    proposal with --accept, where every entry is known without the records. With --private the
    schema costs epsilon and needs no signature: nothing stands in it that was not paid for.

    \b
    Examples:
      pyvws schema people.csv --out proposal.toml
      pyvws schema proposal.toml --accept "A. Steward" --out schema.toml
      pyvws schema people.csv --private --epsilon 0.3 --delta 5e-7
    """
    from pyvws.commands.synthesize import forecast_records
    from pyvws.statement.words import forecast_words
    from pyvws.synthesis.forecast import forecast
    from pyvws.tables.files.headers import display_names, record_instead
    from pyvws.tables.files.read import read_table
    from pyvws.tables.proposal.nearly import broken_rules
    from pyvws.tables.proposal.reasons import reasons
    from pyvws.tables.schema.schema import Schema

    if reference is not None and not plan:
        raise UsageError.by("reference-without-forecast")
    if out.exists():
        if table.exists() and out.samefile(table):
            raise OutputError(f"{out} is the table. Name another file.")
        if not overwrite:
            raise OutputError(f"{out} exists. Name another file, or use --overwrite.")
    of_purchase = (epsilon, delta or None, known, records)
    if not private and any(one is not None for one in of_purchase):
        raise UsageError.by("purchase-without-private")
    if private:
        if accept is not None or plan or epsilon is None:
            raise UsageError.by("private-alone")
        asked = {"known": known, "records": records, "neighbours": neighbours}
        _buy(table, out, {"epsilon": epsilon, "delta": delta, **asked}, quiet, as_json)
        return
    if accept is not None:
        _accept(table, accept, out, plan, quiet, as_json)
        return
    source = read_table(table)
    schema = Schema.propose(source.as_spelled)
    schema.write(out)
    expected: list[str] = []
    if plan:
        read = source if reference is None else forecast_records(table, reference)
        public = reference is not None
        try:
            expected = forecast(schema, read.with_codes, public=public, mechanism="lw").lines
        except InputError as error:  # The proposal is written all the same.
            expected = [forecast_words(Phrase("none", {"why": error}))]
    labels = display_names(list(schema.columns))
    broken = broken_rules(schema, source.with_codes, labels)
    columns = {labels[name]: column for name, column in schema.columns.items()}
    accepted = out.with_name("accepted.toml")
    said = (
        f"Or: pyvws schema {out} --accept NAME --out {accepted} signs it as it is, if you know "
        "every entry without the records."
    )
    why = reasons(schema.columns, labels)
    sheet = Sheet(
        f"{out}: a proposal for {len(columns)} columns",
        ("", "role", "model", "review"),
        [
            (name, column.role, column.model or "", ", ".join(column.review))
            for name, column in columns.items()
        ],
        notes=[
            *(f"{name}: {column.note}." for name, column in columns.items() if column.note),
            *why,
            *broken,
            *([_ROW_NAMES] if source.row_names else []),
            *([_UNNAMED] if record_instead(list(schema.columns)) else []),
            "The proposal has looked at the table. Entries with values of its records: "
            f"{len(schema.to_review)}. The records decided the other entries too.",
            "Check each against what is known of the survey, correct it, and take its name out of "
            "review.",
            "Then sign the file: set reviewed = true, or your name, at its top.",
            *([said] if schema.why_not_accepted is None else []),
            'Until then the file is confidential, and a run counts it as "not accounted".',
            f"Then: pyvws synthesize {table} --schema {out} --mechanism lw --plan forecasts the "
            "cost.",
            *([] if schema.why_not_accepted is None else [schema.why_not_accepted]),
            *expected,
        ],
        facts={
            "schema": str(out),
            "columns": {
                name: {key: getattr(column, key) for key in ("role", "model", "note", "review")}
                for name, column in columns.items()
            },
            "to_review": len(schema.to_review),
            "reviewed": schema.reviewed,
            "why_not_accepted": schema.why_not_accepted,
            "why": why,
            "broken_rules": broken,
            **({"forecast": expected} if plan else {}),
        },
    )
    tell(sheet, quiet=quiet, as_json=as_json)


def _buy(table: Path, out: Path, asked: dict[str, Any], quiet: bool, as_json: bool) -> None:
    """Write a schema whose private entries are found under noise; nothing else is read."""
    from pyvws.synthesis.private_schema import buy_schema, purchase_notes
    from pyvws.tables.files.headers import display_names, record_instead
    from pyvws.tables.files.read import read_table

    source = read_table(table, every_line=True)
    schema = buy_schema(source.as_written, **asked)
    schema.write(out)
    labels, paid = display_names(list(schema.columns)), schema.paid
    assert paid is not None
    delta = f", delta {paid.delta:g}" if paid.delta else ""
    sheet = Sheet(
        f"{out}: paid for, epsilon {paid.epsilon:g}{delta}",
        ("", "role", "model", "paid for", "on your word"),
        [
            (
                labels[name],
                column.role,
                column.model or "",
                ", ".join(paid.entries.get(name, ())),
                ", ".join(paid.word.get(name, ())),
            )
            for name, column in schema.columns.items()
        ],
        notes=[
            *purchase_notes(schema, labels),
            *([_UNNAMED] if record_instead(list(schema.columns)) else []),
            "Each line of the file says whether it is public, paid for or on your word. You answer "
            "for the last kind: it must be known without the records.",
            "A second search pays again. All releases made with this file pay it once. Each run "
            "states what it and the schema cost together, which is at most the sum.",
            f"Then: pyvws synthesize {table} --schema {out} --mechanism noisy-counts --epsilon E "
            f"--delta D --out out",
        ],
        facts={"schema": str(out), "paid": paid.written},
    )
    tell(sheet, quiet=quiet, as_json=as_json)


def _accept(proposal: Path, by: str, out: Path, plan: bool, quiet: bool, as_json: bool) -> None:
    """Write a proposal as one all of whose entries somebody says are public."""
    from pyvws.tables.schema.schema import Schema

    if plan:
        raise UsageError.by("forecast-and-accept")
    proposed = Schema.read(proposal)
    if proposed.reviewed is None:
        raise UsageError.by("no-proposal-to-sign", proposal=proposal.name)
    signed = proposed.accepted(by)
    signed.write(out)
    taken = {name: column.review for name, column in proposed.columns.items() if column.review}
    sheet = Sheet(
        f"{out}: signed by {by}",
        ("", "you say that these are public"),
        [(name, ", ".join(review)) for name, review in taken.items()],
        notes=[
            f"You say of {len(proposed.to_review)} entries that anybody may know them without a "
            "look at the records, as from a questionnaire, a codebook or an earlier publication.",
            "No epsilon covers an entry that only the records tell. So a strict claim of a run "
            "says its condition: it is dp-if-public, and approximate-dp-if-public with delta.",
        ],
        facts={"schema": str(out), "reviewed": by, "accepted": taken},
    )
    tell(sheet, quiet=quiet, as_json=as_json)
