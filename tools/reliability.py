"""Try to break the command line: python tools/reliability.py inputs --count 10000 --seed 1

`inputs` runs generated command lines over broken tables, settings and folders in this process. Each
must end in a one-line error or a right result, and no message may hold a value of a table.
`kills` kills real runs with `kill -9` at random moments, or interrupts them: the output is whole,
or as it was, or not there, and the next run removes what is left. `concurrent` starts many at once.
The tests run small versions of the same; what they share lies in tests/reliability.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
_TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(_TESTS), str(_TESTS / "reliability")]


def inputs(options: argparse.Namespace) -> int:
    """Failures among generated command lines, each shown with how to run it again."""
    from judged_runs import finished_folder, judge, run_case
    from run_here import run_here

    began, failures = time.perf_counter(), 0
    codes: Counter[tuple[str, int | None]] = Counter()
    with tempfile.TemporaryDirectory() as place:
        finished = finished_folder(Path(place))
        numbers = range(options.first, options.first + options.count)
        for number in numbers:
            folder = Path(place) / "case"
            folder.mkdir()
            line, ended = run_case(options.seed, number, folder, finished)
            problem = judge(line, ended, folder)
            codes[line.command, ended.code] += 1
            if problem is not None or options.show:
                failures += problem is not None
                print(f"\n--- {number}: {problem}\n{line.words}\n{ended.err[-1500:]}", flush=True)
                if problem is not None and "unexpected" in ended.err:
                    os.environ["PYVWS_DEBUG"] = "1"
                    print(run_here(*line.words).err[-2500:], flush=True)
                    del os.environ["PYVWS_DEBUG"]
            shutil.rmtree(folder)
            if (number + 1) % 500 == 0:
                print(f"{number + 1}: {failures} failures", file=sys.stderr, flush=True)
    for (command, code), count in sorted(codes.items(), key=str):
        print(f"{command:<12} exit code {code}: {count}")
    print(
        f"{options.count} inputs, {failures} failures, {time.perf_counter() - began:.0f} s "
        f"(seed {options.seed})"
    )
    return failures


def kills(options: argparse.Namespace) -> int:
    """Runs killed or interrupted at random moments, half of them while they write."""
    from broken_runs import break_off

    with _place(records=30_000, options=("--datasets", "30", *options.more)) as place:
        number = getattr(signal, f"SIG{options.signal}")
        signals = [number] * options.count
        found = break_off(place, random.Random(options.seed), signals, _tick)
    return _told(f"{options.count} runs, SIG{options.signal}", found)


def concurrent(options: argparse.Namespace) -> int:
    """Runs at once with an empty cache."""
    from broken_runs import concurrent as at_once

    with _place(records=200, options=("--datasets", "2")) as place:
        found = at_once(place, options.count, alone=place.cache.with_name("cache-of-one"))
    return _told(f"{options.count} runs at once, empty cache", found)


@contextmanager
def _place(*, records: int, options: tuple[str, ...]) -> Iterator[Any]:
    from real_runs import Place, table_with_canaries

    with tempfile.TemporaryDirectory() as name:
        table = table_with_canaries(Path(name) / "table.csv", records)
        yield Place(Path(name) / "runs", table, Path(name) / "cache", options)


def _tick(found: Any) -> None:
    runs = sum(times for thing, times in found.met.items() if thing.startswith("folders left"))
    print(f"{runs} runs: {len(found.problems)} failures", file=sys.stderr, flush=True)


def _told(what: str, found: Any) -> int:
    for thing, times in sorted(found.met.items()):
        print(f"{thing:<40} {times}")
    for problem in found.problems:
        print(f"--- {problem}")
    print(f"{what}: {len(found.problems)} failures")
    return len(found.problems)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("inputs", help="malformed inputs of every command")
    one.add_argument("--count", type=int, default=10_000)
    one.add_argument("--first", type=int, default=0, help="number of the first")
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--show", action="store_true", help="show every run")
    one.set_defaults(run=inputs)
    two = commands.add_parser("kills", help="runs killed or interrupted at random moments")
    two.add_argument("--count", type=int, default=100)
    two.add_argument("--signal", choices=["KILL", "INT", "TERM"], default="KILL")
    two.add_argument("--seed", type=int, default=1)
    two.add_argument("--more", nargs="*", default=(), help="options of the runs, as engine=rstan")
    two.set_defaults(run=kills)
    three = commands.add_parser("concurrent", help="runs at once")
    three.add_argument("--count", type=int, default=24)
    three.set_defaults(run=concurrent)
    options = parser.parse_args()
    if hasattr(options, "more"):
        options.more = tuple(word for pair in options.more for word in _option(pair))
    sys.exit(1 if options.run(options) else 0)


def _option(pair: str) -> tuple[str, str]:
    name, _, value = pair.partition("=")
    return f"--{name}", value


if __name__ == "__main__":
    main()
