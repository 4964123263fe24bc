"""pyvws init: a commented file of settings for a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pyvws.errors import OutputError


def init(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="File to write.")] = Path("run.toml"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
) -> None:
    """Write a file with every setting of a run, commented, for pyvws synthesize --config.

    Example: pyvws init run.toml
    """
    from pyvws._base.folders import write_whole
    from pyvws.commands.options import template_options
    from pyvws.synthesis.settings_by_name import commented

    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists. Name another file, or use --overwrite.")
    program: Any = context.find_root().command
    write_whole(path, commented(template_options(program.commands["synthesize"])))
    print(f"{path}: set what you need, then pyvws synthesize TABLE --out FOLDER --config {path}")
