"""pyvws risk: identification risks of an original and of synthetic datasets."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from pyvws.commands._output import (
    AsJson,
    Known,
    Original,
    Policy,
    Quiet,
    Radius,
    print_json,
    print_table,
)
from pyvws.errors import OutputError

__all__ = ["risk"]


def risk(
    original: Original,
    synthetic: Annotated[
        list[Path],
        typer.Argument(
            help="Folder that pyvws synthesize wrote, or synthetic datasets with rows alike."
        ),
    ],
    outcome: Annotated[str, typer.Option(help="Column that an intruder looks for.")],
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
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Print the largest risk, its interquartile range and the share above a policy, and match
    risks.

    Works on files made by any tool. Larger = riskier. The rows of a release are in random order:
    name the run's folder OUT, and OUT/confidential lines them up with the records.

    Example: pyvws risk ce.csv out/ --outcome Expenditure --known Urban
    """
    from pyvws.commands._tables import read_records
    from pyvws.evaluation.match_risk import match_risk
    from pyvws.evaluation.whack_a_mole import risk_summary
    from pyvws.risks.identification_risk import identification_risk

    y, values, patterns = read_records(original, synthetic, outcome, known)
    ball: Any = {"radius": radius, "radius_kind": radius_kind, "known": patterns}
    before, after = identification_risk(y, **ball), identification_risk(y, values, **ball)
    matches = match_risk(y, values, **ball)
    found = {
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
                **{label: asdict(summary) for label, summary in found.items()},
                **rates,
            }
        )
    elif not quiet:
        reach = f"{100 * radius:g} %" if radius_kind == "percentage" else f"{radius:g}"
        false = rates["false_match_rate"]
        said = "none (no single match)" if false is None else f"{false:.4f}"
        labels = ("confidential", f"{len(values)} synthetic")
        print_table(
            f"identification risk of {outcome}, radius {reach}",
            ("largest", "IQR", f"share above {policy:g}"),
            (
                (label, f"{one.maximum:.4f}", f"{one.iqr:.4f}", f"{one.share_above:.4f}")
                for label, one in zip(labels, found.values(), strict=True)
            ),
            f"expected match risk {rates['expected_match_risk']:.2f}, true match rate "
            f"{rates['true_match_rate']:.4f}, false match rate {said}",
            "(averages over the datasets)",
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
