"""Scores and kept dependence that noisy counts and datasets tell, without the table."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyvws as vws
from pyvws.evaluation.k_marginal import pair_distances, predicted_k_marginals
from pyvws.evaluation.predicted_quality import PredictedQuality, predicted_quality
from pyvws.mechanisms.counts.best_file import Imputed, best_file
from pyvws.mechanisms.counts.drawn_fits import drawn_fits
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


@pytest.mark.draws
def test_the_noise_that_fits_added_moves_datasets_as_that_of_the_counts_does() -> None:
    rng, found = np.random.default_rng(3), []
    x = _records(rng, tied=0.4)
    for seed in range(6):
        noisy = _noisy(x, rng, 80.0)
        made = drawn_fits(noisy, datasets=4, classes=15, seed=seed)
        counts = np.array([_TABLE.counts(codes) for codes in made.codes])
        off, noise = counts - counts.mean(axis=0), noisy.counts - _TABLE.counts(x)
        sums = (made.noise * off).sum() / 3, noise @ counts.mean(axis=0), (off**2).sum() / 3
        found.append([own / noise.size / 80.0**2 for own in sums])
    added, true, between = np.mean(found, axis=0)
    assert added == pytest.approx(true, abs=0.04)
    assert between > added + 0.04  # Chance is in datasets too.


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


def test_what_pairs_lose_that_nobody_counted_is_not_told() -> None:
    """Both files of margins are near each other, and neither is near the table's pairs."""
    rng = np.random.default_rng(5)
    x, told = _records(rng), {"margins": {"margins"}, "pairs": {"margins", "pairs", "triples"}}
    for measure, scores in told.items():
        table = workload(vws.Schema(_SCHEMA), (measure,))
        noise = np.rint(rng.normal(0.0, 5.0, len(table.possible))).astype(np.int64)
        scales = np.full(len(table.sets), 5.0)
        noisy = Measurements(table, table.counts(x) + noise, scales, laplace=False, records=_N)
        assert {*_of_file(noisy, 5)[1].scores} == scores


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 4))
@settings(max_examples=30)
def test_scores_between_datasets_by_a_loop(seed: int, m: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    datasets = [rng.integers(0, 1 + rng.integers(1, 4), (7, columns)) for _ in range(m)]
    found = predicted_k_marginals(datasets)
    for name, k in {"margins": 1, "pairs": 2, "triples": 3}.items():
        distances = []
        for a, b in [
            *list(pairwise(datasets))[:3],
            *zip(datasets[:1], datasets[2:3], strict=False),
        ]:
            for at in combinations(range(columns), k):
                cells = [[tuple(row) for row in x[:, at].tolist()] for x in (a, b)]
                apart = [
                    abs(cells[0].count(c) - cells[1].count(c)) / 7 for c in {*cells[0], *cells[1]}
                ]
                distances.append(sum(apart))
        assert (name in found) == bool(distances)
        if distances:
            assert found[name] == pytest.approx(500.0 * (2.0 - np.mean(distances)))
    if m == 2 and columns > 1:
        assert found["pairs"] == pytest.approx(pair_distances(*datasets).score)


def test_one_dataset_predicts_nothing() -> None:
    assert predicted_k_marginals([np.zeros((5, 3), dtype=np.int64)]) == {}
    assert predicted_k_marginals([np.zeros((0, 3), dtype=np.int64)] * 2) == {}


def test_independent_draws_predict_their_distance_from_the_truth() -> None:
    """A posterior that is right: shares of the table and of datasets are draws of one law."""
    rng = np.random.default_rng(5)
    predicted, true = [], []
    for _ in range(8):
        shares = rng.dirichlet(np.full(24, 0.7))
        codes = np.column_stack([axis.ravel() for axis in np.indices((4, 3, 2))])
        noisy = rng.dirichlet(400.0 * shares + 1.0, 5)
        table, *datasets = (codes[rng.choice(24, 3000, p=own)] for own in noisy)
        predicted.append(predicted_k_marginals(datasets)["pairs"])
        true.append(np.mean([pair_distances(table, one).score for one in datasets]))
    assert np.mean(predicted) == pytest.approx(np.mean(true), abs=5.0)
    assert np.mean(true) < 980.0
