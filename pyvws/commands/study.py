"""pyvws study: the studies of the papers, repeated, resumed and run over all processors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pyvws.commands._study_files import FILE_COMMANDS
from pyvws.studies.registry import STUDIES

__all__ = ["study"]

_INTERRUPTED = 130
_LINES = 20  # Of progress where there is no terminal.

study = typer.Typer(
    help="Run a study of the papers. --out keeps each replicate, so an interrupted study goes on.",
    no_args_is_help=True,
)


@study.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    show: Annotated[bool, typer.Option("--list", help="List the studies and leave.")] = False,
) -> None:
    """Run a study of the papers. --out keeps each replicate, so an interrupted study goes on."""
    if show:
        commands = context.command.commands  # type: ignore[attr-defined]
        width = max(map(len, commands))
        for name, command in commands.items():
            print(f"{name:<{width}}  {command.get_short_help_str(limit=200)}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        raise typer.BadParameter("Name a study; --list shows them.")


def _replicated(name: str) -> Callable[..., None]:
    """The command of a study in replicates."""

    def run(
        out: Annotated[Path, typer.Option(help="Folder for the replicates and the tables.")],
        replicates: Annotated[
            int | None, typer.Option(help="Replicates in all; more of them extend a study.")
        ] = None,
        jobs: Annotated[
            int | None, typer.Option(help="Replicates at once; all processors without it.")
        ] = None,
        backend: Annotated[
            str, typer.Option(help="loky (this machine) or dask.", metavar="loky|dask")
        ] = "loky",
        scheduler: Annotated[
            str | None, typer.Option(help="With dask: the scheduler, as tcp://host:8786.")
        ] = None,
        seed: Annotated[int, typer.Option(help="Each replicate's seed follows from it.")] = 1,
        overwrite: Annotated[
            bool, typer.Option("--overwrite", help="Empty the folder first.")
        ] = False,
    ) -> None:
        from pyvws.studies._replicates import run_study
        from pyvws.studies.registry import find_study

        done = 0
        with _progress(name) as tick:

            def progress(now: int, total: int) -> None:
                nonlocal done
                done = now
                tick(now, total)

            try:
                found = run_study(
                    find_study(name),
                    out,
                    replicates=replicates,
                    seed=seed,
                    jobs=jobs,
                    backend=backend,  # type: ignore[arg-type]
                    scheduler=scheduler,
                    overwrite=overwrite,
                    progress=progress,
                )
            except KeyboardInterrupt:
                interrupted = True
            else:
                interrupted = False
        if interrupted:
            print(
                f"Error: Interrupted; {done} results are kept in {out}. The same command goes on "
                "from there.",
                file=sys.stderr,
            )
            sys.exit(_INTERRUPTED)
        console = Console(width=None if sys.stdout.isatty() else 140)
        for shown in found.report.shown:
            console.print(shown, highlight=False)
        for file in ("replicates.csv", *found.report.files):
            print(out / file)

    run.__doc__ = f"{STUDIES[name].about}."
    return run


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, some lines elsewhere; both on stderr."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn(name), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=None)

        def tick(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)
            if not console.is_terminal and (done * _LINES // total > (done - 1) * _LINES // total):
                print(f"{name}: {done} of {total} results", file=sys.stderr, flush=True)

        yield tick


for _name in STUDIES:
    study.command(_name)(_replicated(_name))
for _name, _command in FILE_COMMANDS.items():
    study.command(_name)(_command)
