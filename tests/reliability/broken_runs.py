"""What must hold after runs that were killed or interrupted, and of runs at one time."""

import random
import shutil
import signal
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from real_runs import Place, digest, killed, old_folder, writing_seconds

__all__ = ["Found", "break_off", "concurrent"]

WAYS: dict[str, tuple[str, ...]] = {"in memory": (), "in steps": ("--memory", "1B")}


@dataclass(slots=True)
class Found:
    """Problems, and how often each thing was met."""

    problems: list[str] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)


def break_off(
    place: Place,
    rng: random.Random,
    signals: Sequence[signal.Signals],
    tell: Callable[[Found], object] = lambda _found: None,
) -> Found:
    """Send each signal to a run, into a new folder or over an old one, in memory or in steps.

    After each the output is the old folder byte for byte, none, or the new one whole; after the
    next run nothing is left beside it, in the temporary folder, or in the cache.
    """
    found = Found()
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # In the background; runs inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    place.finish("out")  # Fills the cache.
    taken = {way: writing_seconds(place, "--overwrite", *more) for way, more in WAYS.items()}
    whole = digest(place.folder / "out")
    for number in signals:
        way = rng.choice(list(WAYS))
        old = _prepare(place, rng)
        seconds, writing = taken[way]
        more = ("--overwrite", *WAYS[way])
        when, run = killed(place, rng, number=number, seconds=seconds, writing=writing, more=more)
        _, error = run.communicate(timeout=600)
        said = f"{way}, {when}, over {'an old folder' if old else 'none'}"
        state = _state(place.folder / "out", old, whole)
        found.met[f"{when}: {state}"] += 1
        if state == "half-written":
            found.problems.append(f"{said}: the folder is half-written")
        if number == signal.SIGKILL:
            found.problems += [f"{said}: {problem}" for problem in _open_to_others(place)]
        elif run.returncode == 130:
            last = error.strip().splitlines()[-1]
            if last != "Error: Interrupted; nothing was left half-written.":
                found.problems.append(f"{said}: it said {error[-300:]!r}")
            found.problems += [f"{said}: left {name}" for name in place.left_behind("out")]
        elif run.returncode not in (0, -number):  # 0: too late; -number: before it began.
            found.problems.append(f"{said}: exit code {run.returncode}, {error[-300:]!r}")
        elif run.returncode == -number:
            found.met["before it began"] += 1
        found.met[f"folders left by it: {len(place.partial())}"] += 1
        place.finish("out", "--overwrite", *WAYS[way])
        if digest(place.folder / "out") != whole:
            found.problems.append(f"{said}: the next run made something else")
        found.problems += [f"{said}: {name} after the next" for name in place.left_behind("out")]
        tell(found)
    return found


def _prepare(place: Place, rng: random.Random) -> str | None:
    shutil.rmtree(place.folder / "out", ignore_errors=True)
    return old_folder(place.folder / "out") if rng.random() < 0.5 else None


def _state(out: Path, old: str | None, whole: str) -> str:
    if not out.exists():
        return "none"
    made = digest(out)
    complete = (out / "confidential" / "summary.json").exists()
    if made == whole and complete:
        return "the new one"
    return "the old one" if made == old else "half-written"


def _open_to_others(place: Place) -> Iterator[str]:
    """Partial folders, old ones aside, that others than their owner may enter."""
    for path in [*place.partial(), *place.temporary.iterdir()]:
        if path.name.endswith(".old") or not path.is_dir():
            continue
        if (path / "confidential").exists() and stat.S_IMODE(
            (path / "confidential").stat().st_mode
        ) != 0o700:
            yield f"{path.name}/confidential is open to others"


def concurrent(place: Place, count: int, *, alone: Path) -> Found:
    """Start `count` runs at once: into folders of their own, and some into two shared ones.

    One shared folder is there already and may be replaced; of the runs into the other, which
    replace nothing, exactly one may succeed. `alone` is the cache of the run that all are compared
    with, which goes before.
    """
    first = replace(place, cache=alone, folder=place.folder / "1")
    first.finish()
    expected = digest(first.folder / "out")
    shutil.rmtree(first.folder)
    shutil.rmtree(first.temporary)
    found = Found()
    old_folder(place.folder / "replaced")
    shared = max(2, count // 6)
    targets = ["first"] * shared + ["replaced"] * shared
    targets += [f"out-{number}" for number in range(count - len(targets))]
    runs = [
        (target, place.start(target, *(["--overwrite"] if target == "replaced" else [])))
        for target in targets
    ]
    for target, run in runs:
        _, error = run.communicate(timeout=3600)
        found.met[f"{target.partition('-')[0]}: exit code {run.returncode}"] += 1
        refused = "is not empty. Name another folder" in error
        one_line = len(error.strip().splitlines()) == 1 and error.startswith("Error: ")
        if run.returncode and not (target == "first" and refused and one_line):
            found.problems.append(f"{target}: exit code {run.returncode}, {error[-300:]!r}")
    if (found.met["first: exit code 0"], found.met["first: exit code 1"]) != (1, shared - 1):
        found.problems.append("not exactly one run has the folder that none may replace")
    for target in set(targets):
        made = place.folder / target
        if not made.is_dir() or digest(made) != expected:
            found.problems.append(f"{target} is not what a run alone makes")
    found.problems += [f"left {name}" for name in place.left_behind(*targets)]
    return found
