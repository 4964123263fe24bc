"""pyvws report: two pages from an output folder, one for the board and one for the public."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console

from pyvws.commands.options import names
from pyvws.commands.output import (
    AsJson,
    Known,
    Policy,
    Quiet,
    Radius,
    RadiusKind,
    Target,
    Unit,
    print_json,
)
from pyvws.errors import InputError, UsageError

if TYPE_CHECKING:
    from pyvws.report.output_folder import ConfidentialPart, PublicPart

_CELLS: Final = 100_000_000
"""Cells of all datasets, beyond which risks by keys have to be asked for."""


def report(
    out: Annotated[Path, typer.Argument(help="Folder that pyvws synthesize wrote.")],
    original: Annotated[
        Path | None,
        typer.Option(help="Confidential table: adds risks of records and utility, for the board."),
    ] = None,
    outcome: Annotated[
        str | None, typer.Option(help="Synthesized column; the run's if not given.")
    ] = None,
    known: Known = None,
    radius: Radius = 0.2,
    radius_kind: Unit = RadiusKind.percentage,
    policy: Policy = 0.5,
    rise: Annotated[
        float, typer.Option(help="Smallest rise of a risk that is pointed out.")
    ] = 0.25,
    unweighted: Annotated[
        Path | None,
        typer.Option(help="Output folder of a run without weights, to tell whose risk rose."),
    ] = None,
    keys: Annotated[
        str | None,
        typer.Option(
            help="Columns that an intruder may know of a record, for risks of rows in any order; "
            "by default those that the schema proposes.",
            metavar="COL,COL",
        ),
    ] = None,
    target: Target = None,
    holdout: Annotated[
        Path | None,
        typer.Option(
            help="Records that made no dataset: adds attacks beside them; needs --target."
        ),
    ] = None,
    title: Annotated[
        str, typer.Option(help="What is released; it stands at the top of both pages.")
    ] = "Synthetic data",
    agency: Annotated[
        str, typer.Option(help="Who releases it; it stands at the top of both pages.")
    ] = "",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the pages; other files stay as they are.")
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write OUT/confidential/report.html for the disclosure board, and OUT/release/report.html,
    which may leave the building.

    The second is made from OUT/release alone: the statement's rounded figures and the synthetic
    datasets. Beside it go nist-sp-800-226.html, the layers of the claim, and registry.json, a draft
    for the registry of deployments. All are single files that work offline.

    Example: pyvws report out/ --original ce.csv --keys Age,Urban --agency "Office of Statistics"
    """
    from pyvws.report.output_folder import as_left, read_confidential, read_public
    from pyvws.report.page import Heading
    from pyvws.report.reports import check_pages, write_pages

    if original is None and (known or unweighted or outcome or keys):
        raise UsageError.by("risk-without-original")
    if (target or holdout) and not keys:
        raise UsageError.by("target-without-keys")
    public, confidential = read_public(out), read_confidential(out)
    check_pages(out, overwrite=overwrite)
    evidence = None
    if original is not None:
        ball = {"radius": radius, "radius_kind": radius_kind.value}
        with as_left(out):
            evidence = _evidence(
                out,
                public,
                confidential,
                original,
                _named(out, public, outcome, known or unweighted),
                unweighted,
                known,
                {**ball, "policy": policy, "rise": rise},
                None if keys is None else names(keys),
                (names(target), holdout),
                told=not (quiet or as_json),
            )
    public_path, board_path = write_pages(
        out, public, confidential, evidence, Heading(title, agency), overwrite=overwrite
    )
    if as_json:
        print_json({"board": str(board_path), "public": str(public_path)})
    elif not quiet:
        print(f"for the board, confidential: {board_path}\nmay leave the building: {public_path}")


def _named(
    out: Path, public: PublicPart, outcome: str | None, wanted: Path | str | None
) -> str | None:
    """The synthesized number whose risks are measured; None of a table if nobody names one."""
    columns = [column.name for column in public.synthetic]
    numbers = [column.name for column in public.synthetic if column.is_number]
    listed = ", ".join(map(repr, columns))
    if outcome is None:
        if len(columns) > 1 and wanted:
            among = ", ".join(map(repr, numbers)) or "no column, since none is always a number"
            raise InputError.by("known-without-outcome", among=among)
        return numbers[0] if len(columns) == 1 and numbers else None
    if outcome not in columns:
        raise InputError.by("outcome-not-synthetic", out=out, listed=listed, outcome=outcome)
    if outcome not in numbers:
        raise InputError.by("risk-outcome-category", outcome=outcome)
    return outcome


def _evidence(
    out: Path,
    public: PublicPart,
    confidential: ConfidentialPart,
    original: Path,
    outcome: str | None,
    unweighted: Path | None,
    known: str | None,
    risk: dict[str, Any],
    keys: Sequence[str] | None,
    asked: tuple[Sequence[str], Path | None],
    *,
    told: bool,
) -> Any:
    """Utility against the confidential table, and the risks of a column where rows are linked.

    `asked` has the targets and a hold-out of the risks of rows in any order. Without `keys` these
    are measured where the run's schema proposes some and the tables are not too large.
    """
    from pyvws.commands._tables import read_original, read_records, read_tables, risks_by_keys
    from pyvws.evaluation.known_keys import proposed_keys
    from pyvws.report.evidence import RiskSettings, gather, risk_evidence
    from pyvws.report.margins import scores_of
    from pyvws.report.output_folder import output_part, run_schema
    from pyvws.report.released_columns import ColumnValues
    from pyvws.tables.files.read import file_digest, file_kind
    from pyvws.tables.files.row_order import NOT_ALIGNED, RELEASED_ROW
    from pyvws.tables.schema.schema import Schema

    summary = confidential.summary
    if not original.exists():
        raise InputError.by("no-such-file", original=original)
    file_kind(original)
    of_file = summary.get("input_sha256_of", "file") == "file"
    same = file_digest(original) == summary["input_sha256"] if of_file else None
    aligned = RELEASED_ROW in confidential.records.columns
    if not aligned and (known or unweighted):
        raise InputError.by("leave-known-out", not_aligned=NOT_ALIGNED)
    if told:
        Console(stderr=True).print("comparing with the confidential table", highlight=False)
    alone = not public.privacy.get("columns")
    of_records, data = None, None
    columns: Any = None
    if outcome is not None and aligned:
        folders = [out]
        if unweighted is not None:
            output_part(unweighted, "release")
            folders.append(unweighted)
        linked, here = read_records(original, folders, outcome, known), len(public.files)
        own, others = linked.datasets[:here], linked.datasets[here:]
        settings = RiskSettings(known=linked.known, **risk)
        of_records = risk_evidence(outcome, linked.y, own, settings, unweighted=others or None)
        columns = [ColumnValues(outcome, None, [linked.y, *own])] if alone else None
    if columns is None:
        data = read_original(original, public.columns)
        columns = (public.values(column, data=data[column.name]) for column in public.synthetic)
    scores = schema = None
    if data is not None:
        of_run = run_schema(out)
        schema = None if of_run is None else Schema.read(of_run)
        scores = scores_of(public, data, schema)
    by_keys = attacks = None
    cells = len(public.columns) * sum(file.rows for file in public.files)
    if keys or (cells <= _CELLS and proposed_keys(schema, [x.name for x in public.columns])):
        read = read_tables(original, [out], None)
        by_keys, attacks = risks_by_keys(read, keys, *asked, attacks=asked[-1] is not None)
    found: Any = {"scores": scores, "risk": of_records, "by_keys": by_keys, "attacks": attacks}
    return gather(columns, same_file=same, alone=alone, **found)
