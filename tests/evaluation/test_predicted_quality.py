"""Scores and kept dependence that noisy counts tell of datasets, without the table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyvws as vws
from pyvws.evaluation.k_marginal import predicted_k_marginals
from pyvws.evaluation.predicted_quality import PredictedQuality, predicted_quality
from pyvws.mechanisms.counts.best_file import Imputed, best_file
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.workload import workload

_N = 4_000
_LEVELS = tuple("12345")
_SCHEMA = {name: vws.Column(model="nominal", levels=_LEVELS) for name in "abcd"}
_TABLE = workload(vws.Schema(_SCHEMA), ("pairs",))


def _records(rng: np.random.Generator, tied: float = 0.6) -> np.ndarray:
    """Each column repeats the one before it with a chance, and else is any."""
    x = rng.integers(0, 5, (_N, 4))
    for k in range(1, 4):
        x[:, k] = np.where(rng.random(_N) < tied, x[:, k - 1], x[:, k])
    return x.astype(np.int32)


def _noisy(x: np.ndarray, rng: np.random.Generator, scale: float) -> Measurements:
    noise = np.rint(rng.normal(0.0, scale, len(_TABLE.possible))).astype(np.int64)
    scales = np.full(len(_TABLE.sets), scale)
    return Measurements(_TABLE, _TABLE.counts(x) + noise, scales, laplace=False, records=_N)


def _imputed(codes: list[np.ndarray]) -> Imputed:
    return Imputed(codes, [{}] * len(codes), misfit=1.0, classes=1)


def _half_kept(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Records that keep about half of what ties pairs of columns: half of them have no tie."""
    return np.concatenate([x[::2], rng.permuted(x[1::2], axis=0)])


def _made(noisy: Measurements, seed: int) -> Imputed:
    return best_file(noisy, classes=15, seed=seed)


def _of_file(noisy: Measurements, seed: int) -> tuple[Imputed, PredictedQuality]:
    imputed = _made(noisy, 1)
    return imputed, predicted_quality(noisy, imputed, lambda own: _made(own, 2), seed=seed)


@pytest.mark.draws
@pytest.mark.parametrize("scale", [10.0, 40.0])
def test_a_best_file_tells_its_scores_and_what_it_keeps(scale: float) -> None:
    rng = np.random.default_rng(3)
    x = _records(rng)
    imputed, found = _of_file(_noisy(x, rng, scale), 5)
    true = predicted_k_marginals([x, imputed.codes[0]])
    for name, most in (("margins", 6.0), ("pairs", 15.0), ("triples", 30.0)):
        assert found.scores[name] == pytest.approx(true[name], abs=most)
    assert found.kept is not None
    assert found.kept > 0.85


@settings(max_examples=4)
@given(fitted=st.booleans(), seed=st.integers(0, 2**32 - 1))
def test_dependence_that_records_lost_is_told(fitted: bool, seed: int) -> None:
    """Datasets that do not follow the noise: the share follows from sums over cells."""
    rng = np.random.default_rng(seed)
    x = _records(rng)
    noisy = _noisy(x, rng, 15.0)
    codes = [_half_kept(x, rng) for _ in range(1 if fitted else 3)]
    same = _imputed(codes)
    found = predicted_quality(noisy, same, lambda _own: same, seed=6)
    assert found.kept == pytest.approx(0.5, abs=0.12)
    whole = _imputed([x] * len(codes))
    own = predicted_quality(noisy, whole, lambda _own: whole, seed=6)
    assert own.kept == pytest.approx(1.0, abs=0.12)


def test_draws_that_are_too_far_from_the_counts_say_so() -> None:
    """Draws near each other, and far from the table: the counts tell what the draws cannot."""
    rng = np.random.default_rng(8)
    x = _records(rng)
    near = [_half_kept(x, np.random.default_rng(1)) for _ in range(3)]
    for own, codes in zip(np.random.default_rng(2).integers(0, _N, (3, 40)), near, strict=True):
        codes[own] = rng.integers(0, 5, (40, 4))
    noisy, draws = _noisy(x, rng, 15.0), _imputed(near)
    found = predicted_quality(noisy, draws, lambda own: _made(own, 2), seed=1)
    true, between = (predicted_k_marginals(own)["pairs"] for own in ([x, near[0]], near))
    assert true < found.scores["pairs"] < between - 20.0


def test_what_noise_hides_is_not_told() -> None:
    rng = np.random.default_rng(5)
    x = _records(rng, tied=0.0)
    _, found = _of_file(_noisy(x, rng, 60.0), 5)
    assert found.kept is None
    assert {*found.scores} == {"margins", "pairs", "triples"}
    noisy = _noisy(x, rng, 60.0)
    nothing = predicted_quality(noisy, _imputed([x[:0]]), lambda own: _made(own, 2), seed=1)
    assert nothing == PredictedQuality({}, None)
