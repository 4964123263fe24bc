"""pyvws risk: risks of tables by keys and distances, and identification risks of records."""

from __future__ import annotations

from dataclasses import asdict
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
    print_json,
    print_table,
)
from pyvws.errors import OutputError, UsageError


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
        typer.Option(help="Columns known of a record; rows in any order.", metavar="COL,COL"),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="With --keys: columns to learn.", metavar="COL,COL")
    ] = None,
    holdout: Annotated[
        Path | None, typer.Option(help="With --keys: records that made no dataset.")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="With --keys: schema.toml; by default that of the run.")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Print risks of synthetic tables; larger = riskier. Works on files made by any tool.

    With --keys, on rows in any order: replicated uniques, disclosure of --target, copies of unique
    records and distances to the closest record. With --outcome, on rows in the records' order: the
    largest identification risk, its interquartile range and the share above a policy, and match
    risks. The rows of a release are in random order: name the run's folder OUT, and
    OUT/confidential lines them up with the records.

    Example: pyvws risk people.csv out/ --keys age,sex,town --target ill
    """
    if keys is not None:
        if outcome is not None:
            raise UsageError("--keys and --outcome ask for different risks. Give one of them.")
        _tell_table(original, synthetic, schema, keys, target, holdout, quiet, as_json)
        return
    if outcome is None:
        raise UsageError(
            "Name columns that an intruder may know, --keys COL,COL. Or name a number, --outcome "
            "COL, where row i of each file stands for the same record."
        )
    from pyvws.commands._tables import read_records
    from pyvws.evaluation.match_risk import match_risk
    from pyvws.evaluation.whack_a_mole import risk_summary
    from pyvws.risks.identification_risk import identification_risk

    y, values, patterns = read_records(original, synthetic, outcome, known)
    ball: Any = {"radius": radius, "radius_kind": radius_kind, "known": patterns}
    before, after = identification_risk(y, **ball), identification_risk(y, values, **ball)
    matches = match_risk(y, values, **ball)
    summaries = {
        label: risk_summary(risks, policy=policy)
        for label, risks in (("confidential", before), ("synthetic", after))
    }
    rates = {
        "expected_match_risk": matches.expected.mean(),
        "true_match_rate": matches.true_rate.mean(),
        "false_match_rate": matches.mean_false_rate,
    }
    if out is not None:
        _write(out, {"risk_confidential": before, "risk_synthetic": after})
    if as_json:
        print_json(
            {
                "outcome": outcome,
                "radius": radius,
                "radius_kind": radius_kind,
                "policy": policy,
                "datasets": len(values),
                **{label: asdict(summary) for label, summary in summaries.items()},
                **rates,
            }
        )
    elif not quiet:
        reach = f"{100 * radius:g} %" if radius_kind == "percentage" else f"{radius:g}"
        false = rates["false_match_rate"]
        shown_rate = "none (no single match)" if false is None else f"{false:.4f}"
        labels = ("confidential", f"{len(values)} synthetic")
        print_table(
            f"identification risk of {outcome}, radius {reach}",
            ("largest", "IQR", f"share above {policy:g}"),
            (
                (label, f"{own.maximum:.4f}", f"{own.iqr:.4f}", f"{own.share_above:.4f}")
                for label, own in zip(labels, summaries.values(), strict=True)
            ),
            f"expected match risk {rates['expected_match_risk']:.2f}, true match rate "
            f"{rates['true_match_rate']:.4f}, false match rate {shown_rate}",
            "(averages over the datasets)",
            *_of_units(synthetic),
        )


def _of_units(synthetic: list[Path]) -> list[str]:
    """A line where a statement beside the datasets has another unit of privacy than a record."""
    from pyvws.report.output_folder import said_beside
    from pyvws.statement.words import of_single_records

    return list(filter(None, map(of_single_records, said_beside(synthetic, "unit_of_privacy"))))


def _tell_table(
    original: Path,
    synthetic: list[Path],
    schema: Path | None,
    keys: str,
    target: str | None,
    holdout: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Print each risk beside that of the data as they are and of independent columns."""
    from pyvws.commands._tables import read_tables
    from pyvws.commands.options import names
    from pyvws.evaluation.table_risk import table_risk
    from pyvws.tables.files.read import read_table

    table, datasets, known = read_tables(original, synthetic, schema)
    held = read_table(holdout).with_codes if holdout else None
    risks = table_risk(
        table, datasets, keys=names(keys), target=names(target), holdout=held, schema=known
    )
    if as_json:
        print_json({score.name: asdict(score) for score in risks.scores})
        return
    if quiet:
        return
    closest = "its closest hold-out record" if held is not None else "records of the data are apart"
    kinds = {score.name.split()[0]: score.blind for score in risks.scores}
    notes = (
        ("Numbers among the keys are compared as they are: {}.", risks.exact),
        ("Numbers among the targets are compared by tenths of the data: {}.", risks.by_data),
    )
    print_table(
        f"{original.name} and {len(datasets)} synthetic datasets: risks by {keys}",
        ("synthetic", "without synthesis", "independent"),
        (
            (own.name, *(f"{x:.4f}" for x in (own.value, own.without_synthesis, own.independent)))
            for own in risks.scores
        ),
        "Shares from 0 (best) to 1 (worst); larger = riskier. without synthesis: the data released",
        "as they are. independent: each column of the data in an order of its own.",
        f"closest: how often a synthetic record is nearer to a record of the data than {closest}; "
        "0.5 = as an independent sample.",
        *(
            f"{own.name}: {own.chance:.4f} of records drawn independently of these would equal a "
            f"lone one; up to {own.chance + own.chance_margin:.4f} is chance."
            for own in risks.scores
            if own.chance is not None
        ),
        *(f"{name} cannot see {blind}." for name, blind in kinds.items()),
        "None bounds what an intruder can learn, as epsilon does. --outcome has the risks of "
        "single records; it needs rows in the order of the records.",
        *(text.format(", ".join(columns)) for text, columns in notes if columns),
        *_of_units(synthetic),
    )


def _write(path: Path, columns: dict[str, object]) -> None:
    import io

    import polars as pl

    from pyvws._base.folders import private_write

    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer)
    try:
        private_write(path, buffer.getvalue())
    except OSError as error:
        raise OutputError(
            f"{path} could not be written ({error.strerror}). Name a file that does not exist."
        ) from None
