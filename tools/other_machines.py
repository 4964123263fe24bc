"""The tests that depend on posterior draws, as other processors and other seeds run them.

    python tools/other_machines.py                        # every processor and ten seeds
    python tools/other_machines.py --processors oldest    # one processor, as .ci/run does
    python tools/other_machines.py --seeds 3 tests/models # one test folder under three seeds

A processor is emulated: numba compiles for it into an empty cache, and NumPy, OpenBLAS and the C
library leave out the instructions that it lacks, so last bits of densities differ and samplers
take other paths. A seed moves the seed of every sampler, which gives wholly other draws. At the end
each figure's range over all runs is printed, and the tests that failed. Exit code 1 where one did.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
SHIFTED = ROOT / "tests" / "other_draws"

# Each with what numba compiles for, OpenBLAS's kernels, the NumPy features it has, and what the C
# library has to leave out.
PROCESSORS = {
    "oldest": ("generic", "", "Nehalem", (), "-AVX2,-FMA,-FMA4,-AVX512F"),
    "haswell": ("haswell", "+avx,+avx2,+fma,+bmi,+bmi2", "Sandybridge", ("X86_V3",), "-AVX512F"),
    "skylake": ("nehalem", "+sse4.2", "SkylakeX", ("X86_V3", "X86_V4"), "-FMA,-FMA4"),
}


def processor(name: str, cache: str) -> dict[str, str]:
    """The environment that emulates a processor."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    numba_name, features, blas, has, lacks = PROCESSORS[name]
    left_out = [f for f in __cpu_dispatch__ if f not in has and __cpu_features__[f]]
    return {
        "NUMBA_CPU_NAME": numba_name,
        "NUMBA_CPU_FEATURES": features,
        "NUMBA_CACHE_DIR": cache,
        "OPENBLAS_CORETYPE": blas,
        "NPY_DISABLE_CPU_FEATURES": ",".join(left_out),
        "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={lacks}",
    }


def shifted(seed: int) -> dict[str, str]:
    """The environment that moves the seed of every sampler."""
    path = os.pathsep.join([str(SHIFTED), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {"PYVWS_TEST_SEED_SHIFT": str(seed), "PYTHONPATH": path}


def files_with_draws() -> list[str]:
    """The test files that have such tests: no other need be imported."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(file) for file in files if "mark.draws" in file.read_text(encoding="utf-8")]


def run(name: str, changed: dict[str, str], chosen: list[str]) -> Iterator[tuple[str, str, float]]:
    """(test or figure, "failed", "passed" or what the page shows, value) of one run."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "results.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-m", "draws and not evidence"]
        command += ["-p", "no:cacheprovider"]
        command += ["-o", "junit_family=xunit1"]  # The other family has no place for figures.
        command += ["--numprocesses", "2", "--dist", "loadfile"]
        began = time.monotonic()
        done = subprocess.run(
            [*command, f"--junit-xml={file}", *chosen],
            cwd=ROOT,
            env={**os.environ, **changed},
            check=False,
        )
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
        if done.returncode > 1 or not file.exists():
            sys.exit(f"{name}: pytest broke off")
        for case in ElementTree.parse(file).iter("testcase"):
            failed = case.find("failure") is not None or case.find("error") is not None
            yield f"{case.get('classname')}::{case.get('name')}", "failed", float(failed)
            for figure in case.iter("property"):
                shown, printed = str(figure.get("value")).split()
                yield str(figure.get("name")), shown, float(printed)


def main() -> None:
    given = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    given.add_argument("--processors", default=None, help=f"of {', '.join(PROCESSORS)}; or none")
    given.add_argument("--seeds", type=int, default=None, help="how many; 10 if neither is given")
    given.add_argument("tests", nargs="*", help="files or folders; all if none")
    asked = given.parse_args()
    neither = asked.processors is None and asked.seeds is None
    names = asked.processors.split(",") if asked.processors else list(PROCESSORS) * neither
    seeds = 10 if neither else asked.seeds or 0
    failed: dict[str, list[str]] = {}
    figures: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as cache:
        machines = {name: processor(name, cache) for name in names}
        machines |= {f"seed {shift}": shifted(shift) for shift in range(1, seeds + 1)}
        for machine, changed in machines.items():
            for what, shown, value in run(machine, changed, asked.tests or files_with_draws()):
                if shown != "failed":
                    figures.setdefault((what, shown), []).append(value)
                elif value:
                    failed.setdefault(what, []).append(machine)
    for (what, shown), values in figures.items():
        print(f"{what}: {shown}, here {min(values):g} to {max(values):g}")
    for test, machines_of in failed.items():
        print(f"FAILED {test}: {', '.join(machines_of)}")
    print(f"{len(machines)} machines, {len(failed)} tests failed on one or more")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
