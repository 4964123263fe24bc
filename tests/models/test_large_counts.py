"""Counts up to 2^53: log-likelihoods and densities keep the digits that the parameters change."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from pyvws.models._special_functions import LARGE_COUNT, log_factorial
from pyvws.models.registry import find_model
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells

SIZES = [1e5, LARGE_COUNT - 1, LARGE_COUNT, 1e9, 1e12, 1e15]
SHAPES = [1e-3, 0.7, 9.999, 10.0, 300.0, 1e6, 1e10]
# Coefficients of Stirling's series for log Gamma.
STIRLING = [(1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360), (1, 156)]


def log_gamma(x: Decimal) -> Decimal:
    """log Gamma(x) to some 30 digits: by Stirling's series from 100 on."""
    moved = Decimal(0)
    while x < 100:
        moved += x.ln()
        x += 1
    half_log_two_pi = Decimal("0.91893853320467274178032973640561763986")
    value = (x - Decimal("0.5")) * x.ln() - x + half_log_two_pi - moved
    for k, (top, bottom) in enumerate(STIRLING):
        value += Decimal(top) / (Decimal(bottom) * x ** (2 * k + 1))
    return value


def exact(y: float, eta: float, phi: float | None) -> Decimal:
    """The log mass of a count in decimals, of the floats as they are."""
    count, mu = Decimal(y), Decimal(eta).exp()
    if phi is None:
        return count * Decimal(eta) - mu - log_gamma(count + 1)
    shape = Decimal(phi)
    both = (mu + shape).ln()
    return (
        log_gamma(count + shape)
        - log_gamma(shape)
        - log_gamma(count + 1)
        + shape * (shape.ln() - both)
        + count * (Decimal(eta) - both)
    )


def near(size: float, phi: float | None) -> tuple[list[float], float]:
    """Counts within some standard deviations of a mean, and its logarithm."""
    spread = np.sqrt(size + (0.0 if phi is None else size**2 / phi))
    steps = np.array([-1.5, 0.0, 0.3, 2.0])
    return np.floor(np.maximum(size + steps * spread, 0.1 * size)).tolist(), float(np.log(size))


@pytest.mark.runs
@pytest.mark.parametrize("phi", [None, *SHAPES])
@pytest.mark.parametrize("size", SIZES)
def test_log_likelihoods_keep_their_digits(size: float, phi: float | None) -> None:
    model = find_model("poisson" if phi is None else "negative-binomial")
    y, eta = near(size, phi)
    cells = make_cells(np.array(y), np.ones((len(y), 1)))
    draws = {"beta": np.array([[eta]]), "phi": np.array([1.0 if phi is None else phi])}
    found = model.log_likelihood(draws, cells)[0, cells.cell_of_record]
    q = np.array([eta, 0.0] if phi is None else [eta, 0.0, -np.log(phi)])
    clamped, by_eta, by_extra = np.empty((3, len(y), 1))
    row = (q, cells.rows, cells.row_of_cell, model.term_data(cells))
    model.cell_terms(*row, (clamped[:, 0], by_eta[:, 0], by_extra))
    with localcontext() as context:
        context.prec = 50
        wanted = [float(exact(value, eta, phi)) for value in y]
    # Roundings of eta and of terms as large as phi, or as a count below LARGE_COUNT.
    enough = pytest.approx(wanted, rel=1e-7, abs=max(1e-6, 2e-15 * (phi or 0.0)))
    assert found == enough
    assert clamped[cells.cell_of_record, 0] == enough


@pytest.mark.runs
@pytest.mark.parametrize("phi", [None, 0.7, 40.0])
@pytest.mark.parametrize("size", [1e4, 1e9, 1e13])
def test_densities_show_small_steps(size: float, phi: float | None) -> None:
    """Two nearby points of the density differ as the exact sums do; nothing else may remain."""
    model = find_model("poisson" if phi is None else "negative-binomial")
    y, eta = near(size, phi)
    y = y * 50
    cells = make_cells(np.array(y), np.ones((len(y), 1)))
    step = 0.5 / np.sqrt(len(y) * (size if phi is None else min(size, phi)))
    points = [np.array([at, 0.0] if phi is None else [at, 0.0, -np.log(phi)])
              for at in (eta, eta + step)]  # fmt: skip
    values = []
    for weights in (np.ones(len(y)), np.zeros(len(y))):
        density = PseudoPosterior(model, cells, weights).density_and_gradient()
        values.append(density(points[1])[0] - density(points[0])[0])
    with localcontext() as context:
        context.prec = 50
        own = None if phi is None else float(np.exp(np.log(phi)))
        sums = [sum(exact(value, float(point[0]), own) for value in y) for point in points]
        wanted = float(sums[1] - sums[0])
    assert values[0] - values[1] == pytest.approx(wanted, rel=1e-3, abs=1e-3)


def test_factorials_leave_the_same_out_on_both_sides() -> None:
    y = np.array([0.0, 1.0, 20.0, LARGE_COUNT - 1, LARGE_COUNT, 1e15])
    with localcontext() as context:
        context.prec = 50
        for value, found in zip(y.tolist(), log_factorial(y).tolist(), strict=True):
            count = Decimal(value)
            left_out = count * count.ln() - count if value >= LARGE_COUNT else Decimal(0)
            wanted = float(log_gamma(count + 1) - left_out)
            assert found == pytest.approx(wanted, rel=1e-14, abs=1e-14)
