"""Families that become another, or a law known by heart, at special parameters."""

from __future__ import annotations

import numpy as np

from pyvws.io.cells import make_cells
from pyvws.models.registry import find_model

_RNG = np.random.default_rng(8)
_X = np.column_stack([np.ones(60), _RNG.integers(0, 3, (60, 2)) / 2.0])
_BETA = _RNG.normal(size=(5, 3))


def _log_likelihood(model, y, **draws):
    cells = make_cells(y, _X)
    return model.log_likelihood({"beta": _BETA, **draws}, cells)[:, cells.cell_of_record]


def test_negative_binomial_tends_to_poisson():
    y = _RNG.poisson(4.0, 60).astype(float)
    near = _log_likelihood(find_model("negative_binomial"), y, phi=np.full(5, 1e12))
    np.testing.assert_allclose(near, _log_likelihood(find_model("poisson"), y), rtol=1e-9)


def test_beta_with_both_shapes_one_is_uniform():
    y = _RNG.uniform(0.001, 0.999, 60)
    flat = {"beta": np.zeros((5, 3)), "kappa": np.full(5, 2.0)}
    np.testing.assert_allclose(_log_likelihood(find_model("beta"), y, **flat), 0.0, atol=1e-14)
