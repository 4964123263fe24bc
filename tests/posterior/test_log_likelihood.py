"""The log-likelihood in blocks: the same bits as in one piece, and never all of it at once."""

import subprocess
import sys

import numpy as np
import pytest
from pyvws_validation._stan_case import SAMPLED, seeded_target
from record_terms import record_log_likelihood

from pyvws._base.cores import one_core
from pyvws.bounds.lipschitz import blockwise_bounds
from pyvws.posterior import log_likelihood
from pyvws.posterior.draws import Diagnostics, Posterior
from pyvws.posterior.log_likelihood import log_likelihood_blocks
from pyvws.tables.design.cells import make_cells


def _drawn(target, S):
    q = target.start().centre + np.random.default_rng(2).normal(0, 0.3, (S, target.dimension))
    draws = target.model.constrain(q, target.cells.n_coefficients)
    return Posterior(draws, 1, Diagnostics(1.0, 1.0, 1.0, 0), 0.0, "none")


@pytest.mark.runs
@pytest.mark.parametrize("model", SAMPLED)
def test_blocks_of_any_size_on_any_threads_hold_the_same_bits(model, monkeypatch):
    target = seeded_target(model, 60, 2, seed=5)
    cells, posterior = target.cells, _drawn(target, 23)
    whole = record_log_likelihood(target.model, posterior, cells)
    largest = np.zeros(cells.n_cells)
    np.maximum.at(largest, cells.cell_of_record, target.weights)

    def bounds():
        return blockwise_bounds(
            lambda: log_likelihood_blocks(target.model, posterior, cells),
            draws=23,
            weights=target.weights,
            largest_weights=largest,
            cell_of_record=cells.cell_of_record,
            threshold=0.9,
        )

    found, maxima = bounds()
    monkeypatch.setattr(log_likelihood, "CELLS", 7)
    monkeypatch.setattr(log_likelihood, "ENTRIES", 30)
    assert len(list(log_likelihood_blocks(target.model, posterior, cells))) > 20
    np.testing.assert_array_equal(record_log_likelihood(target.model, posterior, cells), whole)
    for again, maxima_again in (bounds(), _alone(bounds)):
        np.testing.assert_array_equal(again.by_record, found.by_record)
        np.testing.assert_array_equal(again.by_draw, found.by_draw)
        np.testing.assert_array_equal(maxima_again, maxima)
    np.testing.assert_array_equal(maxima, np.abs(whole).max(axis=0))


def _alone(make):
    with one_core():
        return make()


def test_what_is_not_finite_counts_as_infinite():
    cells = make_cells(np.array([0.0, 1.0, 2.0]), np.ones((3, 1)))
    table = np.array([[-1.0, np.nan, -2.0], [np.inf, -3.0, -4.0]])
    found, maxima = blockwise_bounds(
        lambda: [(slice(0, 2), slice(0, 3), lambda: table)],
        draws=2,
        weights=np.array([0.0, 0.5, 1.0]),
        largest_weights=np.array([0.0, 0.5, 1.0]),
        cell_of_record=cells.cell_of_record,
    )
    assert maxima.tolist() == [np.inf, np.inf, 4.0]
    assert found.by_draw.tolist() == [np.inf, 4.0]
    assert found.by_record.tolist() == [0.0, np.inf, 4.0]


def test_some_cells_are_a_table_of_their_own():
    cells = make_cells(np.array([3.0, 1.0, 2.0, 1.0]), np.array([[0.0], [1.0], [0.0], [1.0]]))
    part = cells.part(slice(2, 3))
    assert (part.rows.tolist(), part.values.tolist()) == ([[1.0]], [1.0])
    assert (part.n_cells, part.n_records) == (1, 1)


_RUN = """
import resource, sys
import numpy as np, pandas as pd
import pyvws
def fit(n, draws):
    frame = pd.DataFrame({"x": np.random.default_rng(1).normal(size=n)})
    return pyvws.synthesize(frame, outcome="x", model="normal", mechanism="unweighted", datasets=1,
                            draws=draws, warmup=200, chains=2, seed=1)
fit(100, 500)
used = int(open("/proc/self/status").read().split("VmData:")[1].split()[0]) << 10
limit = used + (150 << 20)
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
n, S = 100_000, 1000
release = fit(n, S // 2)
assert release.summary["cells"] == n and len(release.posterior) == S
assert 8 * n * S > 5 * (150 << 20)
try:
    np.ones((S, n))
except MemoryError:
    print("kept")
"""


@pytest.mark.runs
@pytest.mark.skipif(sys.platform != "linux", reason="Linux limits a process's own memory")
def test_draws_times_records_are_never_in_memory_at_once():
    done = subprocess.run([sys.executable, "-c", _RUN], capture_output=True, text=True, check=False)
    assert done.stdout == "kept\n", done.stderr[-2000:]
