"""Sets whose noisy counts the records do not hold."""

import numpy as np
import pytest
from scipy.special import gammaincc
from scipy.stats import chi2, laplace

import pyvws as vws
from pyvws.mechanisms.counts.measurements import Measurements, lost_sets
from pyvws.mechanisms.counts.workload import workload

_LEVELS = ("1", "2", "3", "4", "5", "6")
_TABLE = workload(
    vws.Schema({name: vws.Column(model="nominal", levels=_LEVELS) for name in "abcd"}), ("pairs",)
)
_N = 3_000


def _records(rng: np.random.Generator, shift: int = 0) -> np.ndarray:
    """b follows a along the order of its codes, or by the place of a level after the next."""
    a, c, d = rng.integers(0, 6, (3, _N))
    b = np.where(rng.random(_N) < 0.6, (a + shift) % 6, rng.integers(0, 6, _N))
    return np.column_stack([a, b, c, d]).astype(np.int32)


def _noisy(codes: np.ndarray, rng: np.random.Generator, kind: str, scale: float) -> Measurements:
    draw = rng.laplace if kind == "laplace" else rng.normal
    noise = np.rint(draw(0.0, scale, len(_TABLE.possible))).astype(np.int64)
    return Measurements(
        table=_TABLE,
        counts=_TABLE.counts(codes) + noise,
        scales=np.full(len(_TABLE.sets), scale),
        laplace=kind == "laplace",
        records=_N,
    )


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("shift", [0, 3])
def test_a_tie_that_records_lost_is_named_first(kind: str, shift: int) -> None:
    """Records with a column in a random order keep its margin, and lose its ties alone."""
    rng = np.random.default_rng(4)
    codes = _records(rng, shift)
    noisy = _noisy(codes, rng, kind, 20.0)
    assert lost_sets(noisy, [codes]) == []
    without = codes.copy()
    without[:, 1] = rng.permutation(without[:, 1])
    assert lost_sets(noisy, [without])[0] == ("a", "b")
    assert lost_sets(noisy, [codes, codes, without])[0] == ("a", "b")


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_true_records_are_named_as_seldom_as_said(kind: str) -> None:
    """At most one set in ten releases by noise alone; 600 releases, three standard errors."""
    rng = np.random.default_rng(8)
    codes = _records(rng)
    named = [len(lost_sets(_noisy(codes, rng, kind, 15.0), [codes])) for _ in range(600)]
    assert 0.02 < np.mean(named) < 0.1 + 3.0 * 0.013


def test_the_size_of_noise_has_the_distributions_that_chances_are_taken_of() -> None:
    rng = np.random.default_rng(1)
    size = np.abs(laplace.rvs(size=(20_000, 5), random_state=rng)).sum(axis=1)
    assert (size > 8.0).mean() == pytest.approx(gammaincc(5, 8.0), abs=0.01)
    square = (rng.normal(size=(20_000, 5)) ** 2).sum(axis=1)
    assert (square > 8.0).mean() == pytest.approx(chi2.sf(8.0, 5), abs=0.015)
