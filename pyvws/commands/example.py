"""pyvws example: a made-up table of the package and its schema, to try the other commands on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyvws.errors import OutputError


def example(
    name: Annotated[str, typer.Argument(help="Name of the example: households.")] = "households",
    out: Annotated[Path, typer.Option(help="Folder to write the two files to.")] = Path("."),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the files.")] = False,
) -> None:
    """Write a made-up table, NAME.csv, and its reviewed schema, NAME.toml.

    Example: pyvws example households
    """
    from pyvws._base.folders import write_whole
    from pyvws.tables.files.example import example as made
    from pyvws.tables.files.example import example_schema

    table, schema = out / f"{name}.csv", out / f"{name}.toml"
    texts = {table: made(name).to_csv(index=False), schema: example_schema(name)}
    for path in texts:
        if path.exists() and not overwrite:
            raise OutputError(f"{path} exists. Name another folder, or use --overwrite.")
    out.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        write_whole(path, text)
    print(
        f"{table} holds a made-up table, and {schema} its schema. Try: pyvws synthesize {table} "
        f"--schema {schema} --mechanism noisy-counts --epsilon 1 --delta 1e-6 --out {out / 'out'}"
    )
