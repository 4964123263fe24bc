"""Columns, seeds and data on their way to and from Stan."""

import numpy as np
import pytest

from pyvws.engines.stan_run import iterations_done, stan_data, stan_seed, variables
from pyvws.models.registry import find_model
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells


@pytest.mark.parametrize("style", ["{0}.{1}.{2}", "{0}[{1},{2}]"])
def test_columns_become_arrays_whatever_their_order(style):
    names = ["lp__", *(style.format("L", i, j) for j in (1, 2) for i in (1, 2)), "b.1", "b.2", "s"]
    values = np.arange(2 * 3 * len(names), dtype=float).reshape(2, 3, -1)
    found = variables(names, values)
    assert {name: array.shape for name, array in found.items()} == {
        "L": (2, 3, 2, 2),
        "b": (2, 3, 2),
        "s": (2, 3),
    }
    np.testing.assert_array_equal(found["L"][..., 1, 0], values[..., 2])
    np.testing.assert_array_equal(found["b"][..., 1], values[..., 6])
    np.testing.assert_array_equal(found["s"], values[..., 7])


def test_seeds_of_any_size_fit_every_stan():
    seeds = {stan_seed(seed) for seed in (0, 1, 2**31, 2**32 + 1, 2**63)}
    assert len(seeds) == 5
    assert all(1 <= seed < 2**31 for seed in seeds)


def test_data_are_the_records_in_their_order():
    y = np.array([3.0, 1.0, 3.0, 0.0])
    X = np.array([[1.0, 0.5], [1.0, -1.0], [1.0, 0.5], [1.0, 2.0]])
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    data = stan_data(PseudoPosterior(find_model("poisson"), make_cells(y, X), weights))
    assert (data["n"], data["K"]) == (4, 2)
    assert data["y"].dtype.kind == "i"
    np.testing.assert_array_equal(data["y"], y)
    np.testing.assert_array_equal(data["X"], X)
    np.testing.assert_array_equal(data["weights"], weights)


def test_progress_is_read_from_the_console(tmp_path):
    (tmp_path / "1.log").write_text(
        "Iteration:    1 / 2000 [  0%]\nIteration:  300 / 2000 [ 15%]\n"
    )
    (tmp_path / "2.log").write_text("Iteration:  200 / 2000 [ 10%]\n")
    (tmp_path / "3.log").write_text("starting\n")
    assert iterations_done(sorted(tmp_path.glob("*.log"))) == 500
