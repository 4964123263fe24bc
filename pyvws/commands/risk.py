"""pyvws risk: risks of tables by keys and distances, and identification risks of records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from pyvws.commands.output import (
    AsJson,
    Known,
    Original,
    Policy,
    Quiet,
    Radius,
    Target,
    of_columns,
    tell,
    write_for_owner,
)
from pyvws.errors import UsageError
from pyvws.sheet import Sheet


def risk(
    original: Original,
    synthetic: Annotated[
        list[Path],
        typer.Argument(
            help="Folder that pyvws synthesize wrote, or synthetic datasets; for --outcome, row i "
            "of each stands for record i."
        ),
    ],
    outcome: Annotated[
        str | None,
        typer.Option(help="Number that an intruder looks for; needs rows in the records' order."),
    ] = None,
    known: Known = None,
    radius: Radius = 0.2,
    radius_kind: Annotated[
        str,
        typer.Option(
            help="Whether --radius is a share or a distance.", metavar="percentage|absolute"
        ),
    ] = "percentage",
    policy: Policy = 0.5,
    out: Annotated[
        Path | None,
        typer.Option(help="Parquet file for the risks of each record, which are confidential."),
    ] = None,
    keys: Annotated[
        str | None,
        of_columns(
            help="Columns known of a record; rows in any order. By default those that the schema "
            "proposes."
        ),
    ] = None,
    target: Target = None,
    holdout: Annotated[
        Path | None, typer.Option(help="With --keys: records that made no dataset.")
    ] = None,
    attacks: Annotated[
        bool,
        typer.Option(
            "--attacks",
            help="Also singling out, linkability, inference of --target, and membership, beside "
            "the same attacks on --holdout.",
        ),
    ] = False,
    reference: Annotated[
        Path | None,
        typer.Option(
            help="Makes --attacks with records of neither table, such as a public file; without "
            "it half of --holdout is what membership is measured by."
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(help="schema.toml, for rows in any order; by default that of the run."),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Print risks of synthetic tables; larger = riskier. Works on files made by any tool.

    On rows in any order, by --keys: replicated uniques, disclosure of --target, copies of unique
    records, distances to the closest record, which key makes the risk, and attacks. With --outcome,
    on rows in the records' order: the largest identification risk, its interquartile range and the
    share above a policy, and match risks. The rows of a release are in random order: name the run's
    folder OUT, and OUT/confidential lines them up with the records.

    Example: pyvws risk people.csv out/ --keys age,sex,town --target ill
    """
    import polars as pl

    from pyvws.commands._tables import read_records, read_tables, risks_by_keys
    from pyvws.commands.options import names
    from pyvws.report.evidence import RiskSettings, risk_evidence
    from pyvws.report.output_folder import run_schema

    if keys is not None and outcome is not None:
        raise UsageError.by("keys-and-outcome")
    if outcome is None:
        if keys is None and not any([schema, *map(run_schema, synthetic)]):
            raise UsageError.by("risk-without-keys")
        read = read_tables(original, synthetic, schema)
        asked: Any = None if keys is None else names(keys), names(target), holdout, reference
        risks, attacked = risks_by_keys(read, *asked, attacks=attacks or reference is not None)
        first, *others = [*risks.sheets, *(attacked.sheets if attacked else ())]
        tell(_with_units(first, synthetic), *others, quiet=quiet, as_json=as_json)
        return
    if target or holdout or attacks or reference:
        raise UsageError.by("target-without-keys")
    how: Any = {"radius": radius, "radius_kind": radius_kind, "policy": policy}
    linked = read_records(original, synthetic, outcome, known)
    settings = RiskSettings(known=linked.known, **how)
    found = risk_evidence(outcome, linked.y, linked.datasets, settings)
    if out is not None:
        before, after = (found.by_record[x] for x in ("Data", "Synthetic"))
        risks_of_records = pl.DataFrame({"risk_confidential": before, "risk_synthetic": after})
        write_for_owner(out, risks_of_records.write_parquet, ".parquet")
    tell(_with_units(found.sheet, synthetic), quiet=quiet, as_json=as_json)


def _with_units(sheet: Sheet, synthetic: list[Path]) -> Sheet:
    """The sheet with a note where a statement beside the datasets has another unit."""
    from pyvws.report.output_folder import said_beside
    from pyvws.statement.words import of_single_records

    units = said_beside(synthetic, "unit_of_privacy")
    return replace(sheet, notes=[*sheet.notes, *filter(None, map(of_single_records, units))])
