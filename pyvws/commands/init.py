"""pyvws init: a commented file of settings for a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_type_hints

import typer

from pyvws.errors import OutputError

__all__ = ["init"]

_NUMBERS = {int | None: " A whole number.", float | None: " A number."}


def init(
    path: Annotated[Path, typer.Argument(help="File to write.")] = Path("run.toml"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
) -> None:
    """Write a file with every setting of a run, commented, for pyvws synthesize --config.

    Example: pyvws init run.toml
    """
    from pyvws._base.folders import write_whole
    from pyvws.commands._values import options_of
    from pyvws.commands.synthesize import synthesize
    from pyvws.synthesis.config import commented

    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists. Name another file, or use --overwrite.")
    kinds = get_type_hints(synthesize)
    options = [
        (
            name,
            getattr(option.default, "value", option.default),
            f"{option.help or ''}{_NUMBERS.get(kinds[name], '')}",
        )
        for name, option in options_of(synthesize).items()
    ]
    write_whole(path, commented(options))
    print(f"{path}: set what you need, then pyvws synthesize TABLE --out FOLDER --config {path}")
