"""Run the parts, print and write the tables: `python -m benchmarks`.

    python -m benchmarks                                  all of it, most of an hour
    python -m benchmarks --small --check                  two minutes, as in continuous integration
    python -m benchmarks --only pipeline,bounds           parts
    python -m benchmarks --only pairwise --authors PATH   with the authors' scripts

Peers that are not installed are left out and named.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.markdown import Markdown

from benchmarks import (
    _report,
    bounds,
    counts,
    engines,
    first_use,
    forecasts,
    households,
    joint,
    mixture,
    pairwise,
    pipeline,
    proposals,
    random_numbers,
    samplers,
    scale,
    tables,
)
from benchmarks._floors import FLOORS, better
from benchmarks._found import Found, Plan
from benchmarks._worker import JobFailedError
from pyvws.errors import PyvwsError

PARTS: Final[dict[str, Callable[[Plan], Found]]] = {
    "engines": engines.run,
    "pipeline": pipeline.run,
    "bounds": bounds.run,
    "scale": scale.run,
    "tables": tables.run,
    "counts": counts.run,
    "households": households.run,
    "proposals": proposals.run,
    "joint": joint.run,
    "first_use": first_use.run,
    "forecasts": forecasts.run,
    "mixture": mixture.run,
    "pairwise": pairwise.run,
    "random_numbers": random_numbers.run,
    "samplers": samplers.run,
}
_SMALL: Final = ("engines", "pipeline", "bounds", "scale")
_ATTEMPTS: Final = 3


def measure(part: Callable[[Plan], Found], plan: Plan, attempts: int) -> tuple[Found, int]:
    """What a part finds, run again while a figure fails its floor; each figure is its best.

    Also how often it ran. The tables are those of the last run.
    """
    best: dict[str, float] = {}
    runs = 0
    while runs == 0 or (runs < attempts and failing(best)):
        found, runs = part(plan), runs + 1
        for name, value in found.figures.items():
            best[name] = better(name, best.get(name, value), value)
    return Found(found.tables, best, found.left_out), runs


def failing(figures: dict[str, float]) -> list[str]:
    """Figures under half their floor."""
    return [name for name, value in figures.items() if FLOORS[name].fails(value)]


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    """The command's options."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--only", metavar="PARTS", help=f"of {', '.join(PARTS)}, with commas")
    parser.add_argument("--small", action="store_true", help="a version of some two minutes")
    parser.add_argument(
        "--check",
        action="store_true",
        help="exit 1 if a ratio stays under half its floor in three runs of its part",
    )
    parser.add_argument("--authors", type=Path, metavar="PATH", help="the authors' public scripts")
    parser.add_argument("--cap", type=float, default=120.0, help="most seconds of one fit (120)")
    parser.add_argument("--largest", type=int, default=8, help="growth to 10^LARGEST records (8)")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args(arguments)
    options.parts = options.only.split(",") if options.only else list(PARTS)
    if options.only is None and options.small:
        options.parts = list(_SMALL)
    unknown = sorted(set(options.parts) - set(PARTS))
    if unknown:
        parser.error(f"--only knows {', '.join(PARTS)}. Got {', '.join(unknown)}.")
    return options


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """0; 1 where a check fails or a part does, 2 where the report cannot be written."""
    options = options_of(arguments)
    plan = Plan(
        small=options.small,
        cap=options.cap,
        largest=options.largest,
        authors=options.authors,
        say=_say,
    )
    began, start = datetime.now(UTC), time.perf_counter()
    about = _report.machine()
    found: dict[str, Found] = {}
    figures: dict[str, float] = {}
    repeated, broken = [], []
    for name in options.parts:
        since = time.perf_counter()
        try:
            found[name], runs = measure(PARTS[name], plan, _ATTEMPTS if options.check else 1)
        except JobFailedError as error:
            broken.append(f"{name} failed: {error}")
            found[name], runs = Found([], {}, broken[-1:]), 1
        figures |= found[name].figures
        repeated += [f"{name} ran {runs} times"] if runs > 1 else []
        _say(f"{name}: {time.perf_counter() - since:.0f} s")
    given = [f"--only {options.only}"] if options.only else []
    given += [f"--{name}" for name in ("small", "check") if getattr(options, name)]
    made = _report.content(
        found,
        figures,
        about,
        began=began,
        seconds=time.perf_counter() - start,
        options=", ".join([*given, *repeated]),
    )
    page = _report.to_markdown(made)
    Console().print(Markdown(page)) if sys.stdout.isatty() else print(page)
    try:
        _report.write(options.out, made, page)
    except PyvwsError as error:
        _say(str(error))
        return 2
    failed = failing(figures) if options.check else []
    for name in failed:
        _say(f"{name}: {figures[name]:.3g}, the floor is {FLOORS[name]}")
    for line in broken:
        _say(line)
    return 1 if failed or broken else 0


if __name__ == "__main__":
    sys.exit(main())
