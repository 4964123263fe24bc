"""pyvws demo: every mechanism on the 2024 paper's mixture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pyvws.commands.options import PlainCommand
from pyvws.commands.output import Overwrite, console_listener, plain_console

app = typer.Typer(name="demo", rich_markup_mode=None, add_completion=False)


@app.command(cls=PlainCommand)
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figures and the table.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Seed of data, sampling and synthesis.")] = 2024,
    overwrite: Overwrite = False,
) -> None:
    """Run the mechanisms of the 2024 paper on its negative binomial mixture (section 3.2)."""
    from pyvws._base.folders import check_folder, whole_folder
    from pyvws_studies import negative_binomial_mixture as study

    check_folder(out, overwrite=overwrite)
    console = plain_console(stderr=True)
    with console_listener(console) as listener:
        result = study.run(seed=seed, listener=listener)
    with whole_folder(out, overwrite=overwrite) as folder:
        names = study.write(result, folder)
    Console(width=120).print(study.table(result))
    for name in names:
        print(out / name)
