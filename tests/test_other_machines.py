"""tools/other_machines.py: an emulated machine leads samplers to other draws, this one does not."""

import contextlib
import io
import os
import subprocess
import sys
from importlib import util
from pathlib import Path
from typing import Any

import pytest
from documents import ROOT

_FIT = """
import numpy as np
import pandas as pd
import pyvws as vws
from pyvws.engines.stan_run import stan_seed
made = vws.synthesize(
    pd.DataFrame({"y": np.arange(40) % 7}), outcome="y", model="poisson", mechanism="unweighted",
    datasets=1, draws=400, chains=1, seed=1,
)
print(made.posterior["beta[1]"].to_numpy()[-5:].tolist(), stan_seed(5))
"""


@pytest.fixture(scope="module")
def machines() -> Any:
    found = util.spec_from_file_location("machines", ROOT / "tools" / "other_machines.py")
    assert found is not None
    assert found.loader is not None
    made = util.module_from_spec(found)
    found.loader.exec_module(made)
    return made


def drawn(**changed: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _FIT],
        env={**os.environ, **changed},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
def test_a_seed_that_is_moved_gives_other_draws_in_every_process(
    machines: Any, tmp_path: Path
) -> None:
    plain = io.StringIO()
    with contextlib.redirect_stdout(plain):
        exec(_FIT, {})
    assert drawn(**machines.shifted(0)) == plain.getvalue()
    moved = drawn(**machines.shifted(1))
    assert moved.split()[0] != plain.getvalue().split()[0]
    assert moved.split()[-1] != plain.getvalue().split()[-1]
    for name in machines.PROCESSORS:
        changed = machines.processor(name, str(tmp_path))
        assert changed["NUMBA_CACHE_DIR"] == str(tmp_path)
        assert "X86_V2" not in changed["NPY_DISABLE_CPU_FEATURES"]  # What NumPy cannot do without.


def test_ci_runs_what_depends_on_draws_twice() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    again = ".venv/bin/python tools/other_machines.py --processors oldest"
    assert lines.index("make test") < lines.index(again)


def test_every_file_that_depends_on_draws_is_run(
    machines: Any, request: pytest.FixtureRequest
) -> None:
    here = Path(__file__).parent
    files = [Path(name) for name in machines.files_with_draws()]
    assert 30 < len(files) < len([*here.rglob("test_*.py")]) / 2
    items = request.session.items
    assert {one.path for one in items if one.get_closest_marker("draws")} <= {*files}
