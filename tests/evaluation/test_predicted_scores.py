"""Scores that datasets predict of each of them, from themselves alone."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws.evaluation.k_marginal import pair_distances, predicted_k_marginals


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
