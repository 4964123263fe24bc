"""pyvws risk: identification risks of an original and of synthetic datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from pyvws.errors import OutputError

__all__ = ["risk"]


def risk(
    original: Annotated[Path, typer.Argument(help="Confidential table, .csv or .parquet.")],
    synthetic: Annotated[list[Path], typer.Argument(help="Synthetic datasets, rows alike.")],
    outcome: Annotated[str, typer.Option(help="Column that an intruder looks for.")],
    known: Annotated[
        str | None, typer.Option(help="COL,COL: public columns whose values make the patterns.")
    ] = None,
    radius: Annotated[float, typer.Option(help="0.2 = 20 %, or in the outcome's unit.")] = 0.2,
    radius_kind: Annotated[
        str, typer.Option(help="percentage or absolute.", metavar="percentage|absolute")
    ] = "percentage",
    policy: Annotated[float, typer.Option(help="Risk that the agency does not accept.")] = 0.5,
    out: Annotated[
        Path | None, typer.Option(help="Write each record's risks to this parquet; confidential.")
    ] = None,
) -> None:
    """Print the largest risk, its interquartile range and the share above a policy, and match
    risks.

    Works on files made by any tool. Larger = riskier.

    Example: pyvws risk ce.csv out/release/synthetic-01.csv --outcome Expenditure --known Urban
    """
    from pyvws.commands._tables import read_records
    from pyvws.evaluation.match_risk import match_risk
    from pyvws.evaluation.whack_a_mole import risk_summary
    from pyvws.identification_risk import identification_risk

    y, values, patterns = read_records(original, synthetic, outcome, known)
    kind: Literal["percentage", "absolute"] = radius_kind  # type: ignore[assignment]
    before = identification_risk(y, radius=radius, radius_kind=kind, known=patterns)
    after = identification_risk(y, values, radius=radius, radius_kind=kind, known=patterns)
    matches = match_risk(y, values, radius=radius, radius_kind=kind, known=patterns)
    table = Table(title=f"identification risk of {outcome}, radius {radius:g} ({radius_kind})")
    for heading in ("", "largest", "IQR", f"share above {policy:g}"):
        table.add_column(heading, justify="right" if heading else "left")
    for label, risks in (("confidential", before), (f"{len(values)} synthetic", after)):
        found = risk_summary(risks, policy=policy)
        table.add_row(label, f"{found.maximum:.4f}", f"{found.iqr:.4f}", f"{found.share_above:.4f}")
    console = Console(width=100)
    console.print(table)
    console.print(
        f"averaged over the datasets: expected match risk {matches.expected.mean():.2f}, true "
        f"match rate {matches.true_rate.mean():.4f}, false match rate "
        f"{matches.false_rate.mean():.4f}",
        highlight=False,
    )
    if out is not None:
        _write(out, {"risk_confidential": before, "risk_synthetic": after})


def _write(path: Path, columns: dict[str, object]) -> None:
    import io

    import polars as pl

    from pyvws.report._folder import private_write

    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer)
    try:
        private_write(path, buffer.getvalue())
    except OSError as error:
        raise OutputError(
            f"{path} could not be written ({error.strerror}). Name a file that does not exist."
        ) from None
