"""pyvws risk: identification risks of an original and of synthetic datasets."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pyvws.commands._output import AsJson, Quiet, print_json
from pyvws.errors import OutputError

__all__ = ["risk"]


def risk(
    original: Annotated[
        Path,
        typer.Argument(help="Confidential table: .csv, .parquet, .arrow, or a folder of parts."),
    ],
    synthetic: Annotated[
        list[Path],
        typer.Argument(
            help="Folder that pyvws synthesize wrote, or synthetic datasets with rows alike."
        ),
    ],
    outcome: Annotated[str, typer.Option(help="Column that an intruder looks for.")],
    known: Annotated[
        str | None, typer.Option(help="COL,COL: public columns whose values make the patterns.")
    ] = None,
    radius: Annotated[float, typer.Option(help="0.2 = 20 %, or in the outcome's unit.")] = 0.2,
    radius_kind: Annotated[
        str,
        typer.Option(
            help="Whether --radius is a share or a distance.", metavar="percentage|absolute"
        ),
    ] = "percentage",
    policy: Annotated[float, typer.Option(help="Risk that the agency does not accept.")] = 0.5,
    out: Annotated[
        Path | None, typer.Option(help="Write each record's risks to this parquet; confidential.")
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
    kind: Literal["percentage", "absolute"] = radius_kind  # type: ignore[assignment]
    before = identification_risk(y, radius=radius, radius_kind=kind, known=patterns)
    after = identification_risk(y, values, radius=radius, radius_kind=kind, known=patterns)
    matches = match_risk(y, values, radius=radius, radius_kind=kind, known=patterns)
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
                "radius_kind": kind,
                "policy": policy,
                "datasets": len(values),
                **{label: asdict(summary) for label, summary in found.items()},
                **rates,
            }
        )
    elif not quiet:
        reach = f"{100 * radius:g} %" if kind == "percentage" else f"{radius:g}"
        table = Table(title=escape(f"identification risk of {outcome}, radius {reach}"))
        for heading in ("", "largest", "IQR", f"share above {policy:g}"):
            table.add_column(heading, justify="right" if heading else "left")
        for label, shown in zip(
            ("confidential", f"{len(values)} synthetic"), found.values(), strict=True
        ):
            figures = (shown.maximum, shown.iqr, shown.share_above)
            table.add_row(label, *(f"{value:.4f}" for value in figures))
        console = Console(width=100)
        console.print(table)
        false = matches.mean_false_rate
        said = "none (no single match)" if false is None else f"{false:.4f}"
        console.print(
            f"expected match risk {rates['expected_match_risk']:.2f}, true match rate "
            f"{rates['true_match_rate']:.4f}, false match rate {said}\n"
            "(averages over the datasets)",
            highlight=False,
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
