"""Chains of the compiled NUTS, on densities of known moments."""

from typing import Any

import numba
import numpy as np
import pytest
from numba import carray

from pyvws._base.checks import Floats
from pyvws.engines import nuts_steps as compiled
from pyvws.engines.compiled_target import DENSITY, DRAW, function_list
from pyvws.engines.nuts import window_ends

_SPREADS = np.array([0.01, 1.0, 30.0])
_CORRELATION = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.8], [0.0, 0.8, 1.0]])
_PRECISION = np.linalg.inv(_CORRELATION * np.outer(_SPREADS, _SPREADS))


@numba.cfunc(DENSITY)
def _normal(D: Any, z_at: Any, slope_at: Any, value_at: Any, _words: Any) -> int:
    z, slope = carray(z_at, D), carray(slope_at, D)
    carray(value_at, 1)[0] = 0.0
    for i in range(D):
        slope[i] = 0.0
        for j in range(D):
            slope[i] -= _PRECISION[i, j] * z[j]
        carray(value_at, 1)[0] += 0.5 * z[i] * slope[i]
    return 0


@numba.cfunc(DENSITY)
def _kinked(D: Any, z_at: Any, slope_at: Any, value_at: Any, _words: Any) -> int:
    """A Laplace density: its slope jumps at 0."""
    z, slope = carray(z_at, D), carray(slope_at, D)
    carray(value_at, 1)[0] = 0.0
    for i in range(D):
        slope[i] = -np.sign(z[i])
        carray(value_at, 1)[0] -= abs(z[i])
    return 0


@numba.cfunc(DENSITY)
def _walled(D: Any, z_at: Any, slope_at: Any, value_at: Any, _words: Any) -> int:
    """A normal density that ends at 0.5."""
    z, slope = carray(z_at, D), carray(slope_at, D)
    carray(value_at, 1)[0] = -0.5 * z[0] * z[0]
    slope[0] = -z[0]
    return 1 if z[0] > 0.5 else 0


@numba.cfunc(DENSITY)
def _ignoring(D: Any, z_at: Any, slope_at: Any, value_at: Any, _words: Any) -> int:
    """The second parameter has no slope."""
    z, slope = carray(z_at, D), carray(slope_at, D)
    carray(value_at, 1)[0] = -0.5 * z[0] * z[0]
    slope[0], slope[1] = -z[0], 0.0
    return 0


@numba.cfunc(DENSITY)
def _nowhere(D: Any, z_at: Any, slope_at: Any, value_at: Any, _words: Any) -> int:
    return 1


@numba.cfunc(DRAW)
def _same(D: Any, z_at: Any, q_at: Any, _words: Any) -> int:
    carray(q_at, D)[:] = carray(z_at, D)
    return 0


def _begun(K: int, D: int, seed: int, warmup: int) -> tuple[Any, ...]:
    """No rows, a stream, points to start from, no records, and when the variances are learnt."""
    rng = np.random.default_rng(seed)
    starts, near = rng.uniform(-0.01, 0.01, (50, D)), rng.uniform(-0.01, 0.01, (20, D))
    no_rows = np.arange(K), np.empty(D), None
    return *no_rows, rng, starts, near, 0, window_ends(warmup), round(0.9 * warmup)


def _chain(
    *densities: Any, sizes: tuple[int, ...], warmup: int, draws: int, seed: int = 1
) -> tuple[Floats, Any, bool]:
    """Draws (draws, D) of independent blocks, the chain's counts, and whether it started."""
    counts, drawn = np.zeros(5, dtype=np.int64), np.empty((draws, sum(sizes)))
    started = compiled.sample_chain(
        function_list(densities),
        function_list([_same] * len(densities), DRAW),
        *(np.zeros(1, np.int64), np.zeros(len(densities) + 1, np.int64), np.cumsum([0, *sizes])),
        *_begun(len(densities), sum(sizes), seed, warmup),
        *(0.8, 1, drawn, counts),
    )
    return drawn, counts, started


@pytest.mark.draws
def test_a_normal_density_whose_parameters_differ_in_spread() -> None:
    z, counts, started = _chain(_normal, sizes=(3,), warmup=300, draws=4000)
    assert started
    scaled = z / _SPREADS
    assert np.abs(scaled.mean(axis=0)).max() < 0.1
    np.testing.assert_allclose(np.cov(scaled.T), _CORRELATION, atol=0.12)
    assert counts[compiled.DIVERGED] == 0
    assert counts[compiled.DONE] == 4300
    assert counts[compiled.LEAPFROGS] < 20 * 4300


@pytest.mark.draws
def test_blocks_of_other_kinds_move_side_by_side() -> None:
    z, _, _ = _chain(_normal, _kinked, sizes=(3, 4), warmup=300, draws=6000)
    np.testing.assert_allclose(np.cov((z[:, :3] / _SPREADS).T), _CORRELATION, atol=0.12)
    assert np.abs(z[:, 3:].mean(axis=0)).max() < 0.15
    np.testing.assert_allclose(np.abs(z[:, 3:]).mean(axis=0), 1.0, atol=0.12)
    np.testing.assert_allclose((z[:, 3:] ** 2).mean(axis=0), 2.0, atol=0.5)


@pytest.mark.draws
def test_a_point_of_no_density_ends_a_trajectory() -> None:
    z, counts, _ = _chain(_walled, sizes=(1,), warmup=100, draws=5000)
    assert z.max() <= 0.5
    assert 0 < counts[compiled.DIVERGED] < 5000
    # The mean and the variance of a normal density cut off at 0.5, by its ratio of Mills.
    assert z.mean() == pytest.approx(-0.509, abs=0.08)
    assert z.var() == pytest.approx(0.486, abs=0.08)


def test_the_same_stream_gives_the_same_steps() -> None:
    made = [_chain(_normal, sizes=(3,), warmup=20, draws=20, seed=seed)[0] for seed in (3, 3, 4)]
    np.testing.assert_array_equal(made[0], made[1])
    assert not np.array_equal(made[0], made[2])


@pytest.mark.draws
def test_a_parameter_that_the_density_ignores_moves_at_a_variance_of_its_own() -> None:
    z, _, _ = _chain(_ignoring, sizes=(2,), warmup=100, draws=2000)
    assert np.isfinite(z).all()
    assert z[:, 0].var() == pytest.approx(1.0, abs=0.2)


def test_a_chain_without_a_start_says_so_and_one_asked_to_stop_ends() -> None:
    assert not _chain(_nowhere, sizes=(1,), warmup=20, draws=20)[2]
    counts = np.zeros(5, dtype=np.int64)
    counts[compiled.STOP] = 1
    assert compiled.sample_chain(
        function_list([_normal]),
        function_list([_same], DRAW),
        *(np.zeros(1, np.int64), np.zeros(2, np.int64), np.array([0, 3])),
        *_begun(1, 3, 1, 20),
        *(0.8, 1, np.empty((10, 3)), counts),
    )
    assert counts[compiled.DONE] == 0
