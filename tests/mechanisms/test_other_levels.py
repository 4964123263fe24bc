"""Levels for other values: noise gives them no records, and records that have them keep them."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyvws as vws
from pyvws.mechanisms.counts import fitted_counts
from pyvws.mechanisms.counts.best_file import best_file
from pyvws.mechanisms.counts.drawn_fits import drawn_fits
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.tables.files.frame import open_frame

pytestmark = pytest.mark.runs
_N = 1_000


def _column(levels: str, **given: Any) -> vws.Column:
    return vws.Column(model="nominal", levels=(*levels, "other"), outside="other", **given)


def _noisy(
    seed: int, others: int, rule: str | None = None, scale: float = 15.0, **asked: Any
) -> Measurements:
    """Noisy counts of records of which the first `others` have other values in column a."""
    columns = {"a": _column("xyz"), "b": _column("uv", rule=rule), "c": _column("01")}
    rng = np.random.default_rng(seed)
    drawn = {name: rng.choice([*own.levels[:-1]], _N) for name, own in columns.items()}  # type: ignore[index]
    drawn["a"][:others] = "?"
    if rule is not None:
        drawn["b"][drawn["a"] == "x"] = "other"
    given = {"epsilon": 1.0, "delta": 1e-5, "tables": ("none",), **asked}
    counting = vws.NoisyCounts(**{"measure": "pairs", **given}).counting(vws.Schema(columns))
    table = counting.table
    exact = table.counts(counting.read(open_frame(pl.DataFrame(drawn))).codes)
    noise = np.rint(rng.normal(0.0, scale, len(exact))).astype(np.int64)
    scales = np.full(len(table.sets), scale)
    return Measurements(table, exact + noise, scales, False, _N, totals=counting.totals)


def _others(noisy: Measurements, column: int) -> int:
    """The records with an other value in a column of the best file."""
    (codes,) = best_file(noisy, classes=10, seed=1).codes
    own = [*noisy.table.columns.values()][column]
    return int((codes[:, column] == own.code_of("other")).sum())


@settings(max_examples=8)
@given(st.integers(0, 1_000), st.booleans())
def test_a_level_without_records_gets_none_and_one_with_records_keeps_them(
    seed: int, filled: bool
) -> None:
    noisy = _noisy(seed, 200 if filled else 0)
    left = fitted_counts.within_reach(noisy)
    barred = {name for name, skip in left.table.skips.items() if skip.barred}
    by_count = {
        name
        for name in noisy.table.columns
        if noisy.of_column(name)[0][-1] < 2.0 * noisy.of_column(name)[1]
    }
    assert barred == by_count
    assert ("a" not in barred) or not filled
    for k, name in enumerate(noisy.table.columns):
        assert (_others(noisy, k) == 0) == (name in barred)
        # Of what is measured no cell has the level, and every other cell is as it was.
        for q, crossed in enumerate(left.table.cliques):
            own = slice(*left.table.offsets[q : q + 2])
            if name in crossed.columns:
                axis = crossed.columns.index(name)
                cells = np.moveaxis(left.table.possible[own].reshape(crossed.sizes), axis, 0)
                assert cells[-1].any() == (name not in barred and bool(cells.any()))
    kept = left.table.possible
    assert (left.counts[kept] == noisy.counts[kept]).all()
    assert not left.counts[~kept].any()
    assert abs(_others(noisy, 0) - (200 if filled else 0)) < 60


def test_noise_makes_records_of_a_level_that_is_not_left_out(monkeypatch: Any) -> None:
    noisy = [_noisy(seed, 0, scale=40.0) for seed in range(6)]
    left = sum(_others(own, k) for own in noisy for k in range(3))
    monkeypatch.setattr(fitted_counts, "where_seen", lambda own: own)
    assert sum(_others(own, k) for own in noisy for k in range(3)) > 2 * left + 90


def test_draws_have_none_either() -> None:
    noisy = next(own for own in map(_noisy, range(20), [0] * 20) if not _others(own, 0))
    imputed = drawn_fits(noisy, datasets=2, classes=10, seed=1)
    assert not any((codes[:, 0] == 3).any() for codes in imputed.codes)


def test_what_a_rule_or_a_published_total_gives_stays() -> None:
    noisy = _noisy(1, 0, rule="other where a == 'x'")
    assert "b" in fitted_counts.within_reach(noisy).table.skips
    assert not _others(_noisy(1, 0), 0)
    assert _others(noisy, 1) == pytest.approx(333, abs=60)
    totals = pl.DataFrame({"a": ["x", "y", "z", "other"], "total": [400, 300, 290, 10]})
    published = _noisy(1, 0, totals=totals)
    assert "a" not in fitted_counts.within_reach(published).table.skips


@pytest.mark.parametrize("given_by", ["a", "b:a"])
def test_a_column_that_others_give_has_none_either(given_by: str) -> None:
    other = _noisy(1, 0, tables=(given_by,))
    k = [*other.table.columns].index(given_by[0])
    seen = other.of_column(given_by[0])[0][-1] >= 2.0 * other.of_column(given_by[0])[1]
    assert (_others(other, k) == 0) == (not seen)
