"""The same seed gives the same release: on any number of processors, in any process."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pyvws_validation._stan_case import SAMPLED, seeded_target
from threadpoolctl import threadpool_limits

# More rows than BLAS leaves to one thread, and columns enough that it adds them up in parts.
_ROWS, _COLUMNS = 20_011, 9

_RELEASES = """
import os, sys, warnings
import numpy as np, polars as pl, pyvws as vws

if sys.argv[1] == "one":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
warnings.simplefilter("ignore", vws.ConvergenceWarning)
rng, n = np.random.default_rng(4), 3000
table = pl.DataFrame({
    "visits": rng.negative_binomial(3, 0.1, n),
    "age": rng.integers(20, 80, n) / 10,
    "town": rng.choice(["north", "east", "south"], n),
})
run = vws.Synthesizer(
    outcome="visits", formula="~ age + town", mechanism="lw", reweight=True, tolerance=0.3,
    datasets=2,
    settings=vws.SamplerSettings(draws=100, warmup=100, chains=2),
)
run.fit(table, seed=7).write("memory")
table.write_parquet("table.parquet")
run.fit_to("table.parquet", "steps", seed=7)
"""


@pytest.mark.parametrize("name", SAMPLED)
def test_no_rough_fit_or_prediction_knows_the_number_of_threads(name: str) -> None:
    target = seeded_target(name, _ROWS, _COLUMNS, seed=3)
    model, cells = target.model, target.cells
    assert len(cells.rows) > 10_000
    q = 0.1 * np.random.default_rng(1).normal(size=(1, target.dimension))
    draw = model.constrain(q, _COLUMNS)
    design, outcome = cells.rows[cells.row_of_cell], cells.outcome
    made = []
    for threads in (1, 3):
        with threadpool_limits(threads, user_api="blas"):
            start = target.start()
            rng = np.random.default_rng(2)
            predicted = model.predict(draw, design, rng, outcome=outcome)
        made.append((start.scattered(q), start.centre, predicted))
    for one, other in zip(*made, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux binds processes")
def test_a_release_is_the_same_bytes_on_one_processor_and_on_all(tmp_path: Path) -> None:
    """Two processes with other hashes of words, in memory and in steps."""
    found = []
    for cores, hashes in (("one", "1"), ("all", "2")):
        folder = tmp_path / cores
        folder.mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": hashes}
        command = [sys.executable, "-c", _RELEASES, cores]
        subprocess.run(command, cwd=folder, env=environment, check=True, timeout=300)
        found.append(
            {
                path.relative_to(folder): path.read_bytes()
                for path in folder.rglob("*")
                # The summary holds the seconds that the run took.
                if path.is_file() and path.name != "summary.json"
            }
        )
    one, every = found
    assert len(one) == 2 * 7 + 1
    assert one.keys() == every.keys()
    assert [name for name in one if one[name] != every[name]] == []
