"""pyvws validate: every number against R and Stan."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from pyvws.errors import OutputError

__all__ = ["validate"]


def validate(
    level: Annotated[
        str, typer.Option(help="LEVEL,LEVEL: exact, density, posterior; all without it.")
    ] = "",
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the rows to this file as well.")
    ] = None,
    cached: Annotated[
        bool, typer.Option("--cached", help="Compare with R's stored results: needs no R.")
    ] = False,
) -> None:
    """Compare every number with R, and every density with Stan, a row a quantity.

    Exit code 0: all within what each row allows, 0 ulp unless it says more. 1: a row failed. 2: a
    row could not run.
    """
    from pyvws.commands._tables import names
    from pyvws.validation import report, runner

    console = Console(stderr=True)
    with console.status("comparing with R") as status:
        rows = runner.run(
            levels=names(level) or None,
            source="cached" if cached else "auto",
            progress=lambda row: status.update(f"{row.id}: {row.verdict}"),
        )
    report.render(rows, Console(width=None if sys.stdout.isatty() else 160))
    if json_file is not None:
        _write_json(json_file, report.to_json(rows))
    raise typer.Exit(runner.exit_code(rows))


def _write_json(path: Path, rows: list[dict[str, Any]]) -> None:
    try:
        path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path} could not be written ({error.strerror}).") from None
