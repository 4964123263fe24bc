"""Columns that nearly follow from an earlier one: noisy counts name them, and noise names none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyvws as vws
from pyvws.mechanisms.counts.classes import impute
from pyvws.mechanisms.counts.following import with_following
from pyvws.mechanisms.counts.noisy_tables import NoisyTables

L = 8


def schema(columns: int) -> vws.Schema:
    levels = tuple(f"v{code}" for code in range(L))
    names = "abcdef"[:columns]
    return vws.Schema({name: vws.Column(model="table", levels=levels) for name in names})


def noisy_tables(codes: np.ndarray, *, deviation: float, seed: int, **words) -> NoisyTables:
    """Counts of records (n, K) under Gaussian noise of a public seed."""
    table = vws.NoisyCounts(epsilon=1.0, **words).counted_table(schema(codes.shape[1]))
    counts = table.counts(codes.astype(np.int32))
    noise = np.random.default_rng(seed).normal(0.0, deviation, len(counts))
    counts = counts + np.rint(noise).astype(np.int64)
    scales = np.full(len(table.sets), deviation)
    return NoisyTables(table=table, counts=counts, scales=scales, laplace=False, records=len(codes))


def found(noisy: NoisyTables) -> dict[str, str]:
    columns = noisy.table.columns
    given = with_following(noisy).table.given
    return {columns[k].name: columns[one.rows.places[0]].name for k, one in given.items()}


def tied(n: int, kept: float, seed: int) -> np.ndarray:
    """Records of a, b, c and d: c has a's code and d has b's with probability `kept`."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, L, (n, 2))
    other = rng.integers(0, L, (n, 2))
    return np.column_stack([first, np.where(rng.random((n, 2)) < kept, first, other)])


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(0, 3000),
    deviation=st.floats(0.5, 400.0),
    even=st.floats(0.2, 5.0),
)
def test_independent_columns_do_not_follow_whatever_the_noise(seed, n, deviation, even):
    rng = np.random.default_rng(seed)
    shares = [rng.dirichlet(np.full(L, even)) for _ in range(4)]
    codes = np.column_stack([rng.choice(L, n, p=own) for own in shares]).reshape(n, 4)
    assert found(noisy_tables(codes, deviation=max(deviation, n / 200), seed=seed)) == {}


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), kept=st.floats(0.9, 1.0), deviation=st.floats(0.5, 8.0))
def test_columns_that_nearly_follow_are_found_with_the_one_that_gives_them(seed, kept, deviation):
    noisy = noisy_tables(tied(2000, kept, seed), deviation=deviation, seed=seed)
    assert found(noisy) == {"c": "a", "d": "b"}


def test_weak_ties_tables_of_the_user_and_other_words_stay_as_they_are():
    codes = tied(2000, 1.0, 1)
    assert found(noisy_tables(tied(2000, 0.3, 1), deviation=2.0, seed=1)) == {}
    named = noisy_tables(codes, deviation=2.0, seed=1, tables=["following", "c:b"])
    assert found(named) == {"c": "b", "d": "b"}
    for words in ({"tables": ["alike"]}, {"tables": "none"}):
        assert found(noisy_tables(codes, deviation=2.0, seed=1, **words)) == {}
    two = codes % 2  # Classes hold a column of two levels.
    assert found(noisy_tables(two, deviation=2.0, seed=1)) == {}
    by_families = noisy_tables(codes, deviation=2.0, seed=1, model="conditionals")
    assert with_following(by_families) is by_families
    apart = noisy_tables(codes, deviation=2.0, seed=1, measure=["a", "b", "c", "d"])
    assert found(apart) == {}  # No set has two of them.


@pytest.mark.draws
def test_two_ties_stay_that_few_classes_cannot_hold():
    codes = tied(2000, 0.98, 4)
    noisy = noisy_tables(codes, deviation=5.0, seed=4)
    without = replace(noisy, table=replace(noisy.table, following=False))
    kept = []
    for each in (noisy, without):
        imputed = impute(each, datasets=1, classes=12, sweeps=60, seed=2)
        made = imputed.codes[0]
        kept.append(((made[:, 0] == made[:, 2]).mean(), (made[:, 1] == made[:, 3]).mean()))
    assert imputed.following == {}
    assert min(kept[0]) > 0.9
    assert min(kept[1]) < 0.8
