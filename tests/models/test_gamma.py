"""log Gamma(y + phi) - log Gamma(phi) against exact sums, from tiny phi to the Poisson limit."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import digamma

from pyvws.models._special_functions import log_gamma, log_rising, log_rising_sum, stirling_gap

COUNTS = [0, 1, 2, 3, 7, 40, 999, 20000]
SHAPES = [1e-300, 1e-8, 1e-3, 0.3, 1.0, 4.75, 9.999, 10.0, 10.001, 57.0]
LARGE_SHAPES = [1e3, 1e5, 1e8, 1e12]


def rising(y, phi):
    return log_rising(float(y), phi, *log_gamma(phi))


def by_sums(y, phi):
    """sum_j log(phi + j) and sum_j 1/(phi + j), j < y, each rounded once at the end."""
    return (
        math.fsum(math.log(phi + j) for j in range(y)),
        math.fsum(1.0 / (phi + j) for j in range(y)),
    )


@pytest.mark.runs
@pytest.mark.parametrize("phi", SHAPES + LARGE_SHAPES)
@pytest.mark.parametrize("y", COUNTS)
def test_against_exact_sums(y, phi):
    value, slope = rising(y, phi)
    exact, exact_slope = by_sums(y, phi)
    # A few roundings of terms as large as log Gamma(y + phi) below 10, of the result above.
    size = abs(exact) if phi >= 10 else max(abs(exact), abs(math.lgamma(phi)), 10.0)
    assert value == pytest.approx(exact, rel=0, abs=1e-14 * size)
    assert slope == pytest.approx(exact_slope, rel=2e-14, abs=5e-14 if phi > 1e-3 else 0)


@pytest.mark.parametrize("phi", LARGE_SHAPES)
@pytest.mark.parametrize("y", [1, 7, 300])
def test_the_poisson_limit_loses_no_digits(y, phi):
    """Gamma(y + phi) / (Gamma(phi) phi^y) = prod (1 + j/phi) tends to 1; lgamma would cancel."""
    product = math.fsum(math.log1p(float(Fraction(j) / Fraction(phi))) for j in range(y))
    value, slope = rising(y, phi)
    rounding = 4 * math.ulp(value)
    assert abs(value - y * math.log(phi) - product) <= rounding
    assert slope == pytest.approx(by_sums(y, phi)[1], rel=1e-14)


def test_log_gamma_against_the_c_library():
    for x in [1e-300, 1e-8, 0.1, 1.0, 1.5, 2.0, 9.9, 10.0, 170.0, 1e6, 1e15]:
        value, slope = log_gamma(x)
        assert value == pytest.approx(math.lgamma(x), rel=1e-15, abs=1e-14)
        assert slope == pytest.approx(digamma(x), rel=1e-14, abs=1e-14)


@pytest.mark.runs
@pytest.mark.parametrize("phi", [1e-8, 2.5, 300.0, 1e12])
def test_sums_against_a_loop(phi):
    y = np.array([0.0, 1.0, 5.0, 40.0, 999.0])
    weight = np.array([2.0, 0.5, 0.0, 1.25, 3.0])
    parts = [rising(v, phi) for v in y]
    total, slope = log_rising_sum(y, weight, phi)
    assert total == pytest.approx(sum(w * p[0] for w, p in zip(weight, parts, strict=True)))
    assert slope == pytest.approx(sum(w * p[1] for w, p in zip(weight, parts, strict=True)))
    assert log_rising_sum(y, np.zeros(5), phi) == (0.0, 0.0)


def test_a_weight_of_zero_leaves_even_an_endless_term_out():
    total, slope = log_rising_sum(np.array([1.0, np.inf]), np.array([1.0, 0.0]), 3.0)
    assert total == pytest.approx(math.log(3.0), rel=1e-14)
    assert slope == pytest.approx(1 / 3, rel=1e-14)


# x, x log x - x - log Gamma(x) and log x - digamma(x) from 400 decimal digits.
GAPS = [
    (1e-300, -690.7755278982137, 9.999999999999999e299),
    (1e-30, -69.07755278982137, 9.999999999999999e29),
    (1e-08, -18.420680932387015, 99999982.1565349),
    (0.001, -6.915086640662836, 993.6678166528282),
    (0.2, -2.0459514049176044, 3.679601984158088),
    (1.0, -1.0, 0.5772156649015329),
    (2.0, -0.6137056388801094, 0.27036284546147815),
    (6.3, -0.01188019922059392, 0.08145945648965963),
    (9.999, 0.2239726147717171, 0.05083767078797707),
    (10.0, 0.22402344985898723, 0.05083250392732458),
    (10.001, 0.22407427977992164, 0.05082733811650707),
    (57.0, 1.101125127406557, 0.008797577952852378),
    (1000.0, 2.53485577295584, 0.000500083333325),
    (100000000.0, 8.291401837938176, 5.0000000083333336e-09),
    (1000000000000000.0, 16.350449664250668, 5e-16),
]


@pytest.mark.parametrize(("x", "value", "slope"), GAPS)
def test_the_gap_to_stirlings_leading_terms(x, value, slope):
    found = stirling_gap(x)
    # Below 10, terms of up to 15 cancel; from 10 on, none do.
    assert found[0] == pytest.approx(value, rel=1e-15, abs=8e-15 if x < 10 else 0)
    assert found[1] == pytest.approx(slope, rel=1e-15, abs=2e-15 if x < 10 else 0)
