"""A family made elsewhere, by its term over `TermRegression`: fit, bounds, clamp and release."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np
import polars as pl
import pytest
from scipy import stats

import pyvws as vws
from pyvws._base.checks import Floats
from pyvws.models.model import Draws
from pyvws.models.registry import find_model
from pyvws.models.term_regression import TermRegression
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells


@numba.njit
def _term(eta: float, y: float) -> tuple[float, float]:
    ratio = y * math.exp(-eta)
    return -eta - ratio, ratio - 1.0


@dataclass(frozen=True, slots=True)
class Exponential(TermRegression):
    """y_i ~ Exponential(mean exp(X_i beta))."""

    name: ClassVar[str] = "exponential"
    term: ClassVar[Any] = staticmethod(_term)

    def simulate(self, eta: Floats, draw: Draws, rng: np.random.Generator) -> Floats:
        return rng.exponential(np.exp(eta))


@numba.njit
def _logistic_term(eta: float, y: float) -> tuple[float, float]:
    p = 1.0 / (1.0 + math.exp(-eta))
    return (math.log(p) if y > 0.0 else math.log(1.0 - p)), y - p


@dataclass(frozen=True, slots=True)
class ByTerm(TermRegression):
    """The package's logistic regression, by its term."""

    name: ClassVar[str] = "by-term"
    term: ClassVar[Any] = staticmethod(_logistic_term)

    def simulate(self, eta: Floats, draw: Draws, rng: np.random.Generator) -> Floats:
        return (rng.random(len(eta)) < 1.0 / (1.0 + np.exp(-eta))).astype(np.float64)


@pytest.mark.runs  # Its kernels are compiled in each process.
def test_a_family_by_its_term_has_the_density_and_the_start_of_the_packages_own() -> None:
    rng = np.random.default_rng(4)
    X = np.ones((80, 3))
    X[:, 1:] = rng.integers(0, 3, (80, 2))
    weights, y = rng.random(80), rng.integers(0, 2, 80).astype(np.float64)
    cells, points = make_cells(y, X), rng.normal(0.0, 0.5, (5, 9))
    own, known = ByTerm(), find_model("logistic")
    for clamp in (None, Clamp(0.9)):
        values = PseudoPosterior(own, cells, weights, clamp=clamp).density_and_gradient()
        expected = PseudoPosterior(known, cells, weights, clamp=clamp).density_and_gradient()
        for point in points:
            assert values(point)[0] == pytest.approx(expected(point)[0], rel=1e-11)
            np.testing.assert_allclose(values(point)[1], expected(point)[1], atol=1e-10)
    start, rough = own.start(cells, weights), known.start(cells, weights)
    np.testing.assert_allclose(start.centre, rough.centre, atol=1e-3)
    assert start.information is not None
    assert rough.information is not None
    np.testing.assert_allclose(start.information, rough.information, rtol=1e-3)


@pytest.mark.runs
def test_its_log_likelihood_terms_and_density_are_those_of_its_records() -> None:
    rng = np.random.default_rng(1)
    y, X = rng.exponential(2.0, 60).round(1) + 0.1, np.ones((60, 2))
    X[:, 1] = rng.integers(0, 3, 60)
    weights, model = rng.random(60), find_model(Exponential())
    cells = make_cells(y, X)
    points = rng.normal(0.0, 0.4, (4, model.dimension(2)))
    draws = model.constrain(points, 2)
    np.testing.assert_allclose(model.unconstrain(draws), points, atol=1e-12)
    expected = stats.expon.logpdf(y, scale=np.exp(draws["beta"] @ X.T))
    found = model.log_likelihood(draws, cells)[:, cells.cell_of_record]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    plain = PseudoPosterior(model, cells, weights).density_and_gradient()
    far = PseudoPosterior(model, cells, weights, clamp=Clamp(2e6)).density_and_gradient()
    prior = PseudoPosterior(model, cells, np.zeros(60)).density_and_gradient()
    for point, terms in zip(points, expected, strict=True):
        value, gradient = plain(point)
        assert value - prior(point)[0] == pytest.approx(weights @ terms, rel=1e-10)
        clamped = far(point)
        assert clamped[0] == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(clamped[1], gradient, rtol=1e-9, atol=1e-9)


@pytest.mark.draws
@pytest.mark.parametrize("mechanism", ["lw", vws.Censored(epsilon=6, weights="none", clamp="half")])
def test_a_release_is_made_with_it(mechanism: Any) -> None:
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"y": rng.exponential(3.0, 200), "x": rng.integers(0, 2, 200)})
    release = vws.synthesize(
        *(table,), outcome="y", model=Exponential(), formula="~ x", mechanism=mechanism,
        datasets=2, draws=1000, warmup=500, chains=2, seed=3,
    )  # fmt: skip
    made = release.datasets[0]["y"].to_numpy()
    assert (made > 0).all()
    assert 1.0 < made.mean() < 9.0
