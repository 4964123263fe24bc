"""A family made elsewhere, in one file over `Regression`: fit, bounds, clamp and release."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from scipy import stats

import pyvws as vws
from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel
from pyvws.models.model import Draws, Start
from pyvws.models.priors import log_coefficient_prior
from pyvws.models.registry import find_model
from pyvws.models.regression import (
    LOG,
    Regression,
    add_slope,
    linear,
    predictors,
    row_sums,
    scoring_start,
)
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import Cells, make_cells


@kernel
def _log_density(q: Any, rows: Any, weight: Any, total: Any, grad: Any) -> float:
    grad[:] = 0.0
    logp = log_coefficient_prior(q, rows.shape[1], grad)
    for r in range(len(rows)):
        eta = linear(q, rows, r)
        ratio = total[r] * math.exp(-eta)
        logp -= weight[r] * eta + ratio
        add_slope(grad, ratio - weight[r], rows, r)
    return logp


@kernel
def _records(parts: Any, row_of_cell: Any, data: Any, found: Any) -> None:
    (eta,), (y,), (log_lik, by_eta, _) = parts, data, found
    for c in range(len(y)):
        ratio = y[c] * math.exp(-eta[row_of_cell[c]])
        log_lik[c] = -eta[row_of_cell[c]] - ratio
        by_eta[c] = ratio - 1.0


@kernel
def _cell_terms(q: Any, rows: Any, *rest: Any) -> None:
    _records((predictors(q, rows),), *rest)


@dataclass(frozen=True, slots=True)
class Exponential(Regression):
    """y_i ~ Exponential(mean exp(X_i beta))."""

    name: ClassVar[str] = "exponential"
    whole_numbers: ClassVar[bool] = False
    log_density: ClassVar[Callable[..., float]] = staticmethod(_log_density)
    cell_terms: ClassVar[Callable[..., None]] = staticmethod(_cell_terms)
    records: ClassVar[Callable[..., None]] = staticmethod(_records)

    def prepare(self, outcome: Floats, column: str) -> Exponential:
        return self

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        return (cells.rows, *row_sums(cells, weights))

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        return (cells.outcome,)

    def start(self, cells: Cells, weights: Floats) -> Start:
        weight, total = row_sums(cells, weights)

        def scores(mean: Floats) -> tuple[Floats, Floats]:
            return total / mean - weight, weight

        return scoring_start(cells.rows, (total + 1) / (weight + 1), scores, link=LOG, extra=0)

    def simulate(self, eta: Floats, draw: Draws, rng: np.random.Generator) -> Floats:
        return rng.exponential(np.exp(eta))


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
