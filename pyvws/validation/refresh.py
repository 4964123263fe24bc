"""Store R's results anew, and what the cases run: ``python -m pyvws.validation.refresh``.

Run this module after a change to an R reference or to a case, from a checkout with R, and commit
the written files. The module compares nothing: run the cases live as well.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

from pyvws.errors import PyvwsError
from pyvws.r import bridge
from pyvws.validation import expected, uncovered
from pyvws.validation.cases import CASES
from pyvws.validation.runner import live_results

__all__ = ["main", "refresh"]


def refresh(folder: Path | None = None) -> list[Path]:
    """Write the results of every script and return the files.

    Raises MissingDependencyError without R, and RError if a reference fails.
    """
    r_version = bridge.r_versions()["R"]
    against_r = sorted(CASES, key=lambda case: case.script)
    return [
        expected.save(
            script, [(case, list(live_results(case))) for case in cases], r_version, folder
        )
        for script, cases in groupby(against_r, key=lambda case: case.script)
    ]


def main() -> int:
    """Refresh, list the files, and return an exit code."""
    try:
        paths = [*refresh(), uncovered.save()]
    except PyvwsError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write("".join(f"{path}\n" for path in paths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
