"""Try to break the command line: python tools/reliability.py inputs --count 10000 --seed 1

`inputs` runs generated command lines over broken tables, settings and folders in this process. Each
must end in a one-line error or a right result, and no message may hold a value of a table.
The tests run small versions of the same; what they share lies in tests/reliability.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "reliability"))


def inputs(options: argparse.Namespace) -> int:
    """Failures among generated command lines, each shown with how to run it again."""
    from judged_runs import finished_folder, judge, run_case, run_here

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
                    print(run_here(line.words).err[-2500:], flush=True)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("inputs", help="malformed inputs of every command")
    one.add_argument("--count", type=int, default=10_000)
    one.add_argument("--first", type=int, default=0, help="number of the first")
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--show", action="store_true", help="show every run")
    one.set_defaults(run=inputs)
    options = parser.parse_args()
    sys.exit(1 if options.run(options) else 0)


if __name__ == "__main__":
    main()
