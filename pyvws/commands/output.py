"""Print a command's result: sheets for people, one JSON object for programs, or nothing."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyvws.errors import OutputError
from pyvws.sheet import Sheet, plain_console, print_json, print_sheets

if TYPE_CHECKING:
    from rich.console import Console

    from pyvws.synthesis.fit_sources import FitProgress
    from pyvws.synthesis.loop import Listener

_SPEED_SECONDS = 600.0  # How far back the speed of results is measured: some take minutes.
_LINES = 20  # Lines of progress without a terminal.


of_columns = partial(typer.Option, metavar="COL,COL")


class RadiusKind(StrEnum):
    """A radius as a share of the value, or in the outcome's unit."""

    percentage = "percentage"
    absolute = "absolute"


Original = Annotated[
    Path,
    typer.Argument(help="Confidential table: .csv, .txt, .parquet, .arrow, or a folder of parts."),
]
Known = Annotated[str | None, of_columns(help="Public columns that an intruder knows.")]
Radius = Annotated[float, typer.Option(help="0.2 = 20 %, or in the outcome's unit.")]
Unit = Annotated[RadiusKind, typer.Option(help="Whether --radius is a share or a distance.")]
Policy = Annotated[float, typer.Option(help="Risk that the agency does not accept.")]
OfWhat = Annotated[
    str | None,
    typer.Option(
        "--of",
        help="Imputed records, as of noisy-counts: estimate the population, the default for them, "
        "or the confidential table.",
        metavar="population|table",
    ),
]
Synthetic = Annotated[list[Path], typer.Argument(help="Synthetic datasets, or a run's folder.")]
SchemaOfRun = Annotated[
    Path | None, typer.Option(help="schema.toml; by default that of the run, if any.")
]
Level = Annotated[float, typer.Option(help="Level of the intervals.")]
Kind = Annotated[
    str, typer.Option(help="Whether some columns were synthesized or all.", metavar="partial|full")
]
Target = Annotated[str | None, of_columns(help="With --keys: columns to learn.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the folder whole.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Print nothing but errors and warnings, those on stderr.")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout, and no progress.")
]


@contextmanager
def console_listener(console: Console) -> Iterator[Listener]:
    """A listener that draws a bar for each fit on a terminal, and plain lines elsewhere."""
    from rich import progress

    from pyvws.synthesis.loop import Listener

    columns = (
        *(progress.TextColumn("{task.description}", markup=False), progress.BarColumn()),
        *(progress.TimeElapsedColumn(), progress.TextColumn("left")),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        count = 0
        last: progress.TaskID | None = None

        def fit(label: str) -> FitProgress:
            nonlocal count, last
            if last is not None:
                bars.update(last, completed=1, total=1)
            count += 1
            title = f"fit {count}: {label}"
            task = last = bars.add_task(title)
            if not console.is_terminal:
                console.print(title)

            def tell(done: int, total: int, doing: Sequence[str] = ()) -> None:
                now = f", {doing[0]}" if doing else ""
                more = f" and {len(doing) - 1} more" if len(doing) > 1 else ""
                bars.update(task, description=title + now + more, completed=done, total=total)

            return tell

        yield Listener(fit=fit, line=bars.console.print)
        if last is not None:
            bars.update(last, completed=1, total=1)


@contextmanager
def fit_listener(console: Console, *, silent: bool) -> Iterator[Listener]:
    """A listener that shows the progress of fits on a console, or shows nothing if silent."""
    from pyvws._base.kernels import announce_compiling
    from pyvws.synthesis.loop import SILENT

    if silent:
        yield SILENT
        return
    printed = False

    def tell() -> None:
        nonlocal printed
        if not printed:
            console.print("compiling, once on this machine: this may take a minute")
        printed = True

    with console_listener(console) as listener, announce_compiling(tell):
        yield listener


@contextmanager
def counted_progress(name: str) -> Iterator[Callable[..., None]]:
    """Show progress on stderr, as a bar on a terminal and as some lines elsewhere.

    The result takes how many are done and how many there are. Where some take much longer than
    others, it also takes the share of the work that is done, from which the time left follows.
    """
    from rich import progress

    console = plain_console(stderr=True)
    counted = progress.TextColumn("{task.fields[counted]}")
    with progress.Progress(
        *(progress.TextColumn(name), progress.BarColumn(), counted, progress.TimeElapsedColumn()),
        *(progress.TextColumn("left"), progress.TimeRemainingColumn()),
        console=console,
        disable=not console.is_terminal,
        speed_estimate_period=_SPEED_SECONDS,
    ) as bar:
        task = bar.add_task(name, total=None, counted="")

        def tick(done: int, total: int, share: float | None = None) -> None:
            completed = done if share is None else share * total
            bar.update(task, completed=completed, total=total, counted=f"{done}/{total}")
            if not console.is_terminal and (done * _LINES // total > (done - 1) * _LINES // total):
                print(f"{name}: {done} of {total} results", file=sys.stderr, flush=True)

        yield tick


def tell(*sheets: Sheet, quiet: bool, as_json: bool) -> None:
    """Print the sheets of a result, or one JSON object of their facts, or nothing."""
    if as_json:
        print_json({name: fact for sheet in sheets for name, fact in sheet.facts.items()})
    elif not quiet:
        print_sheets(sheets)


def write_for_owner(path: Path, write: Callable[[io.BytesIO], object], kinds: str) -> None:
    """Write a new file with figures of the confidential data, for its owner alone."""
    from pyvws._base.folders import private_write

    content = io.BytesIO()
    try:
        write(content)
        private_write(path, content.getvalue())
    except (OSError, ValueError) as error:
        why = f" ({error.strerror})" if isinstance(error, OSError) else ""
        raise OutputError(
            f"{path} could not be written{why}. Name a {kinds} file that does not exist."
        ) from None


def tell_release(
    privacy: dict[str, Any], out: Path, problems: list[str], *, quiet: bool, as_json: bool
) -> None:
    """Print the released statement of a run and the folder of the release, but no exact figures."""
    from pyvws._base.phrase import counted
    from pyvws.statement.words import SIGNED, caveat_keys

    if as_json:
        places = {name: str(out / name) for name in ("release", "confidential")}
        print_json({**places, "privacy": privacy, "warnings": problems})
    elif not quiet:
        claimed, unit = privacy["certified"] or privacy, privacy["unit_of_privacy"]
        whose = "" if unit == "one record" else f", for {unit}"
        claim = f"guarantee {privacy['guarantee']} ({claimed['neighbours']} neighbours{whose}): "
        if privacy["guarantee"] == "none":
            claim = "guarantee none, so these figures bound nothing: "
        print(
            f"{counted(privacy['datasets'], 'synthetic dataset')} in {out / 'release'}\n"
            f"{claim}epsilon {claimed['epsilon_per_dataset']} a dataset, "
            f"{claimed['epsilon_total']} in total"
        )
        if "counts" in privacy:
            print(f"one cost for all datasets, at delta {privacy['delta']:g}")
        if privacy["certified"]:
            for neighbours, figures in privacy["epsilon_by_neighbours"].items():
                if neighbours != claimed["neighbours"] and figures["total"] is not None:
                    print(
                        f"not certified, for {neighbours} neighbours: epsilon "
                        f"{figures['per_dataset']} a dataset, {figures['total']} in total"
                    )
        relied = privacy["relies_on"]
        if privacy["certified"] and relied["clamp"]:
            print(
                f"relies on: clamp {relied['clamp']['kind']}, weights "
                f"{relied['weights']['source']}, draws of {relied['sampler']['engine']} "
                f"{relied['sampler']['draws']}; privacy.json has the public settings and what is "
                "not covered"
            )
        target = privacy.get("epsilon_target")
        said = {
            SIGNED: "the figures hold only if every entry of the schema is public, as somebody "
            "signed",
            "proposed": "the schema is under review: sign it first, since no guarantee covers what "
            "it took from the records",
            "above-target": f"the epsilon asked for, {target}, was not reached",
            "room": f"of the epsilon asked for, {target}, more than 5 % is not spent: the search "
            "leaves room for the noise of the bound",
            "reweighted-below": "re-weighting ended below the bound to meet, which is safe",
        }
        if privacy["guarantee"] == "none":
            del said[SIGNED]
        keys = caveat_keys(privacy)
        print(*(f"{line}\n" for key, line in said.items() if key in keys), sep="", end="")
