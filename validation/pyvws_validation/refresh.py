"""Store what R, Stan and the cases give anew: ``python -m pyvws_validation.refresh``.

Run this module after a change to an R reference, a Stan program or a case, from a checkout with R,
rstan and PyStan, and commit the written files. The module compares nothing: run the cases live as
well.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

from pyvws.engines.registry import engine_version
from pyvws.errors import PyvwsError
from pyvws.r import bridge
from pyvws_validation import expected, uncovered
from pyvws_validation._stan_answers import Recorder, save_answers
from pyvws_validation.cases import CASES, stan_cases
from pyvws_validation.runner import live_results


def refresh(folder: Path | None = None) -> list[Path]:
    """Write the results of every script, and return the files; needs R."""
    r_version = bridge.r_versions()["R"]
    against_r = sorted(CASES, key=lambda case: case.script)
    return [
        expected.save(
            script, [(case, list(live_results(case))) for case in cases], r_version, folder
        )
        for script, cases in groupby(against_r, key=lambda case: case.script)
    ]


def refresh_stan(folder: Path | None = None) -> Path:
    """Write Stan's answers to every case of a density, and return the file; needs both Stans."""
    cases = [case for case in stan_cases() if case.kind == "density"]
    versions = {case.engine: engine_version(case.engine) for case in cases}
    recorders = {case.id: Recorder(case.engine) for case in cases}
    for case in cases:
        case.judge(recorders[case.id])
    return save_answers(recorders, versions, folder)


def main() -> int:
    """Refresh, list the files, and return an exit code."""
    try:
        paths = [*refresh(), refresh_stan(), uncovered.save()]
    except PyvwsError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write("".join(f"{path}\n" for path in paths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
