"""Classes fitted to noisy counts, and the one file that carries the fit."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.mechanisms.counts import fitted_classes as fits
from pyvws.mechanisms.counts import fitted_counts, given_records, skips
from pyvws.mechanisms.counts.best_file import best_file, best_records
from pyvws.mechanisms.counts.drawn_fits import along_ranks, drawn_fits
from pyvws.mechanisms.counts.fitted_classes import PenalisedCounts, fitted_classes, one_fit
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.skips import barred_pairs, rule_patterns
from pyvws.mechanisms.counts.whole_records import swapped, whole_numbers
from pyvws.mechanisms.counts.workload import workload
from pyvws.posterior.cell_family import CountedTable

pytestmark = pytest.mark.runs
_RECORDS = 2_000
_SCHEMA = vws.Schema(
    {
        "age": vws.Column(model="normal", range=(0, 90), cuts=(15, 30, 60), decimals=0),
        "sex": vws.Column(model="nominal", levels=("f", "m")),
        "job": vws.Column(
            model="nominal", levels=("1", "2", "3"), missing="N", rule="N only where age < 15"
        ),
        "own": vws.Column(
            model="nominal", levels=("0", "1"), rule="never 1 where sex == 'f' and job == 'N'"
        ),
    }
)
_SETS = ("pairs", "age/30:sex:job/2/N", "sex")


def _records() -> np.ndarray:
    rng = np.random.default_rng(4)
    age, sex = rng.choice(4, _RECORDS, p=(0.2, 0.3, 0.4, 0.1)), rng.integers(0, 2, _RECORDS)
    missing = workload(_SCHEMA, _SETS).columns["job"].code_of("N")
    levels = [code for code in range(4) if code != missing]
    job = np.where(rng.random(_RECORDS) < 0.8, np.maximum(age - 1, 0), rng.integers(0, 3, _RECORDS))
    job = np.where(age == 0, missing, np.array(levels)[job])
    own = np.where((sex == 0) & (age == 0), 0, rng.random(_RECORDS) < 0.3 + 0.1 * age)
    return np.column_stack([age, sex, job, own]).astype(np.int32)


def _noisy(
    x: np.ndarray, scale: float, laplace: bool = False, sets: tuple[str, ...] = _SETS
) -> Measurements:
    table = workload(_SCHEMA, sets)
    noise = np.rint(np.random.default_rng(5).normal(0, scale, len(table.possible)))
    counts = np.where(table.possible, table.counts(x) + noise.astype(np.int64), 0)
    scales = scale + 0.1 * np.arange(len(table.sets))
    return Measurements(table=table, counts=counts, scales=scales, laplace=laplace, records=len(x))


@pytest.mark.parametrize("sets", [_SETS, (*_SETS, "age:sex*5")])
@pytest.mark.parametrize("laplace", [False, True])
def test_slopes_are_those_of_the_value(laplace: bool, sets: tuple[str, ...]) -> None:
    """Also where a pair has more of the budget, and its columns less of the prior."""
    counts = PenalisedCounts(_noisy(_records(), 4.0, laplace, sets))
    assert len(counts.others) == 2
    own = dict(zip(counts.table.columns, counts.prior[counts.offsets[:-1]], strict=True))
    part = 5.0 if len(sets) > len(_SETS) else 1.0
    assert own["age"] == own["sex"] == pytest.approx(own["job"] / part)
    at = counts.start(6, np.random.default_rng(1))
    _, slopes = counts.penalised(at)
    step = 1e-5
    for x, slope in zip(at[:2], slopes, strict=True):
        for place in np.ndindex(x.shape):
            here = x[place]
            if not np.isfinite(here):
                assert slope[place] == 0.0
                continue
            values = []
            for moved in (here - step, here + step):
                x[place] = moved
                values.append(counts.penalised(at)[0])
            x[place] = here
            assert (values[1] - values[0]) / (2 * step) == pytest.approx(
                slope[place], rel=1e-4, abs=1e-3
            )


def test_a_fit_of_exact_counts_has_them_and_its_file_too() -> None:
    x = _records()
    noisy = _noisy(x, 0.1)
    fitted = fitted_classes(noisy, classes=20, seed=3)
    made = best_records(fitted, len(x), np.random.default_rng(2), noisy)
    far = np.abs(noisy.table.counts(made) - noisy.table.counts(x))
    assert np.abs(far).mean() < 4.0  # 20 for a bootstrap.
    assert fitted.shares.sum() == pytest.approx(1.0)
    start = PenalisedCounts(noisy).start(20, np.random.default_rng(3))
    assert fitted.misfit < 0.01 * PenalisedCounts(noisy).misfit(
        np.exp(start.shares) / np.exp(start.shares).sum(), start.prior
    )


def test_a_fit_holds_a_pair_with_more_budget_nearer_to_its_counts() -> None:
    """Of the same counts with the same noise, so that the prior alone is another."""
    x, off = _records(), []
    for sets in (("pairs",), ("pairs", "age:own*20")):
        noisy = _noisy(x, 20.0, sets=sets)
        q = [own.columns for own in noisy.table.cliques].index(("age", "own"))
        counted = noisy.counts[slice(*noisy.table.offsets[q : q + 2])].reshape(4, 2)
        pairs = fitted_classes(noisy, classes=8, seed=1).pairs(len(x))[:4, -2:]
        off.append(abs(_slope(pairs) - _slope(counted.astype(float))))
    assert off[1] < 0.7 * off[0]


def _slope(pairs: np.ndarray) -> float:
    """The covariance of the codes of two columns by their table."""
    table, codes = pairs / pairs.sum(), np.arange(len(pairs))
    return float(codes @ table[:, 1] - (codes @ table.sum(axis=1)) * table[:, 1].sum())


@pytest.mark.parametrize("off", [0.0, 0.05])
def test_margins_of_a_fit_move_to_counts_that_stand_out_and_stay_within_noise(off: float) -> None:
    x = _records()
    counts = PenalisedCounts(_noisy(x, 6.0))
    exact = PenalisedCounts(_noisy(x, 1e-3)).margins
    fitted = exact + off * np.where(np.arange(len(exact)) == counts.offsets[2], 1.0, 0.0)
    fitted[counts.offsets[2] + 1] -= off  # Of job.
    margins = counts.near_margins(fitted)
    own = slice(*counts.offsets[2:4])
    assert np.abs(margins - exact)[own].max() < (0.01 if off else 1e-9)
    np.testing.assert_allclose(
        margins[: own.start], fitted[: own.start], atol=0.01 if off else 1e-9
    )
    shares, profiles = np.array([0.4, 0.6]), np.stack([exact, fitted])
    raked = counts.raked(shares, profiles, margins)
    np.testing.assert_allclose(shares @ raked, margins, atol=1e-9)


def _every() -> tuple[np.ndarray, np.ndarray]:
    """All combinations of codes, and whether rules leave each."""
    table = workload(_SCHEMA, _SETS)
    sizes = [column.size for column in table.columns.values()]
    every = np.array([*np.ndindex(*sizes)], dtype=np.int32)
    codes = table.by_name(every)
    kept = np.all([skip.keeps(codes, codes[name]) for name, skip in table.skips.items()], axis=0)
    return every, kept


@pytest.mark.parametrize(("most", "only"), [(64, True), (3, False), (1, False)])
def test_patterns_hold_all_records_that_rules_leave_and_no_other(
    monkeypatch: pytest.MonkeyPatch, most: int, only: bool
) -> None:
    monkeypatch.setattr(skips, "MOST_PATTERNS", most)
    table, (every, kept) = workload(_SCHEMA, _SETS), _every()
    patterns = rule_patterns(table.columns, table.skips)
    assert len(patterns) <= most
    sizes = [column.size for column in table.columns.values()]
    places = every + np.append(0, np.cumsum(sizes)[:-1])
    within = patterns[:, places].all(axis=2).sum(axis=0)
    assert (within[kept] == 1).all()
    assert ((within == kept).all()) == only


def test_barred_pairs_are_those_of_no_record_that_one_rule_leaves() -> None:
    table, (every, _) = workload(_SCHEMA, _SETS), _every()
    sizes = [column.size for column in table.columns.values()]
    places = every + np.append(0, np.cumsum(sizes)[:-1])
    barred = barred_pairs(table.columns, table.skips)
    found, codes, names = np.zeros_like(barred), table.by_name(every), [*table.columns]
    for name, skip in table.skips.items():
        kept = skip.keeps(codes, codes[name])
        for parent in skip.rows.columns:
            pair = places[:, [names.index(parent), names.index(name)]]
            there = {(a, b) for a, b in pair[kept].tolist()}
            for a, b in {(a, b) for a, b in pair.tolist()} - there:
                found[a, b] = found[b, a] = True
    assert (barred == found).all()
    assert barred.any()


@given(seed=st.integers(0, 10**6))
def test_patterns_have_the_margins_of_records_under_the_rules(seed: int) -> None:
    table, (every, kept) = workload(_SCHEMA, _SETS), _every()
    sizes = [column.size for column in table.columns.values()]
    offsets = np.append(0, np.cumsum(sizes))
    ones = np.zeros((kept.sum(), offsets[-1]))
    np.put_along_axis(ones, every[kept] + offsets[:-1], 1.0, axis=1)
    margins = np.random.default_rng(seed).dirichlet(np.ones(len(ones))) @ ones
    patterns = rule_patterns(table.columns, table.skips)
    shares, codes = fits._under_rules(patterns, margins, offsets)
    assert shares @ codes == pytest.approx(margins, abs=0.02)
    assert shares.sum() == pytest.approx(1.0)
    assert np.add.reduceat(codes, offsets[:-1], axis=1) == pytest.approx(1.0)
    assert not codes[~patterns].any()


@given(seed=st.integers(0, 10**6), H=st.integers(1, 12), n=st.integers(1, 300))
def test_whole_numbers_are_near_what_is_expected(seed: int, H: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    profiles = rng.dirichlet(np.full(5, 0.5), H)
    profiles[:, 4] = 0.0
    number = rng.multinomial(n, np.full(H, 1.0 / H))
    profiles /= profiles.sum(axis=1, keepdims=True)
    whole = whole_numbers(profiles, number, np.array([0, 5]))
    assert (whole >= 0).all()
    assert (whole.sum(axis=1) == number).all()
    assert not whole[profiles == 0.0].any()
    assert np.abs(whole.sum(axis=0) - number @ profiles).max() < 2.0


@pytest.mark.parametrize("laplace", [False, True])
def test_gaps_of_pairs_with_more_budget_leave_no_mean_behind(laplace: bool) -> None:
    """The mean number of each code, against that of all codes; other pairs have nothing of it."""
    counts = PenalisedCounts(_noisy(_records(), 1.0, laplace, ("pairs", "age:sex*4")))
    gap = np.random.default_rng(2).normal(0.0, 50.0, counts.square.shape)
    gap = 0.5 * (gap + gap.T)
    along = counts.by_numbers(gap, counts.precision)
    numbers, ages, sexes = counts.table.columns["age"].numbers, slice(0, 4), slice(4, 6)
    apart = gap[sexes, ages] - gap[sexes, ages].mean(axis=0)
    apart -= apart.mean(axis=1, keepdims=True)
    assert along[sexes, ages] @ numbers == pytest.approx(apart @ numbers)
    assert along[sexes, ages].sum(axis=1) == pytest.approx(0.0, abs=1e-9)
    along[sexes, ages] = 0.0
    assert not along.any()


def test_the_count_of_a_code_that_most_have_says_how_many_have_the_others() -> None:
    """Counts of eleven rare codes have eleven times its variance."""
    rng, n, shares = np.random.default_rng(8), 18_000, np.append(0.98, np.full(11, 0.02 / 11))
    x = np.column_stack([rng.choice(12, n, p=shares), *rng.integers(0, 4, (8, n))])
    levels = [tuple(map(str, range(L))) for L in (12, *[4] * 8)]
    schema = {f"c{k}": vws.Column(model="nominal", levels=own) for k, own in enumerate(levels)}
    table = workload(vws.Schema(schema), ("pairs",))
    true = np.concatenate([np.bincount(c) for c in x.T]) / n
    fitted = np.append(true[:12] * 1.4, true[12:] + 0.002 * np.tile([1, -1], 16))
    fitted[0] -= fitted[:12].sum() - 1.0
    exact, scales, found = table.counts(x.astype(np.int32)), np.full(len(table.sets), 12.0), []
    for seed in range(8):
        noise = np.rint(np.random.default_rng(seed).normal(0.0, 12.0, len(exact)))
        noisy = Measurements(table, exact + noise.astype(np.int64), scales, False, n)
        found.append(PenalisedCounts(noisy).near_margins(fitted)[1:12].sum())
    assert np.mean(found) == pytest.approx(true[1:12].sum(), abs=0.002)
    assert np.std(found) < 0.0016


@pytest.mark.parametrize("laplace", [False, True])
def test_draws_have_the_covariance_of_ranks_of_the_counts(laplace: bool) -> None:
    """Which noise hides: a best file has hardly anything of it."""
    counts = PenalisedCounts(_noisy(_records(), 600.0, laplace, ("pairs",)))
    shares, profiles = one_fit(counts, 3, np.random.default_rng(1))
    fitted = (profiles * shares[:, None]).T @ profiles
    ages, sexes = slice(0, 4), slice(4, 6)
    ranks = [np.cumsum(m) - 0.5 * m - 0.5 for m in (counts.margins[ages], counts.margins[sexes])]

    def covariance(shares_of_pairs: np.ndarray) -> float:
        return float(ranks[0] @ shares_of_pairs[ages, sexes] @ ranks[1])

    counted = covariance(counts.square / counts.noisy.records)
    made = fitted + along_ranks(counts, shares, profiles)
    assert made[ages, sexes].min() >= 0.0
    assert made[ages, sexes].sum(axis=1) == pytest.approx((shares @ profiles)[ages], rel=1e-3)
    assert covariance(made) == pytest.approx(counted, rel=1e-3)
    shrunken = covariance(fitted + counts.ties(shares, profiles))
    assert abs(shrunken - counted) > 0.5 * abs(covariance(fitted) - counted)


@pytest.mark.parametrize(("times", "left"), [(1.0, 10.0), (20.0, 0.0)])
def test_swaps_follow_the_pair_of_more_weight_where_two_contradict(
    times: float, left: float
) -> None:
    rng = np.random.default_rng(1)
    first, other = rng.integers(0, 2, (2, 400))
    x = np.column_stack([first, other, other]).astype(np.int32)
    gap, weights = np.zeros((6, 6)), np.ones((3, 3))
    more = 10.0 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    gap[:2, 2:4], gap[:2, 4:] = more, -more
    gap += gap.T
    weights[0, 1] = weights[1, 0] = times
    swapped(x, np.array([0, 400]), gap, np.array([0, 2, 4, 6]), np.array([0]), weights, 3, rng)
    assert gap[0, 2] == pytest.approx(left, abs=1.0)
    assert gap[0, 4] == pytest.approx(left - 20.0, abs=1.0)


def test_swaps_bring_pairs_nearer_and_leave_each_class_its_codes() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 3, (400, 3)).astype(np.int32)
    offsets, start = np.array([0, 3, 6, 9]), np.array([0, 150, 400])

    def pairs() -> np.ndarray:
        ones = np.eye(9)[x + offsets[:-1]].sum(axis=1)
        counted = ones.T @ ones
        for k in range(3):
            counted[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = 0.0
        return np.asarray(counted)

    expected = np.full((9, 9), 400 / 9.0)
    for k in range(3):
        expected[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = 0.0
    gap = expected - pairs()
    before, own = (gap**2).sum(), [np.sort(x[:150], axis=0), np.sort(x[150:], axis=0)]
    assert swapped(x, start, gap, offsets, np.arange(3), np.ones((3, 3)), 3, rng) > 0
    assert gap == pytest.approx(expected - pairs())
    assert (gap**2).sum() < 0.6 * before
    assert (np.sort(x[:150], axis=0) == own[0]).all()
    assert (np.sort(x[150:], axis=0) == own[1]).all()
    assert ((x[:, 0] == 1) & (x[:, 2] == 2)).any()
    gap[1, 8] = gap[8, 1] = -1e9  # What a rule bars.
    swapped(x, start, gap, offsets, np.arange(3), np.ones((3, 3)), 3, rng)
    assert not ((x[:, 0] == 1) & (x[:, 2] == 2)).any()


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize(
    "tables", [("job:age",), ("sex",), ("job:age:sex",), ("age",), ("sex", "age", "job")]
)
def test_a_given_column_keeps_rules_and_counts(tables: tuple[str, ...], several: bool) -> None:
    """So do columns whose rules read it, which follow from what they read."""
    x, rng = _records(), np.random.default_rng(6)
    table = workload(_SCHEMA, ("pairs",), tables)
    noise = np.rint(rng.normal(0, 6, len(table.possible))).astype(np.int64)
    counts = (table.counts(x) + noise) * table.possible
    scales = np.full(len(table.sets), 6.0)
    noisy = Measurements(table, counts, scales, laplace=False, records=len(x))
    made = best_file(noisy, classes=8, seed=1)
    if several:
        made = drawn_fits(noisy, datasets=2, classes=8, seed=1)
    for codes in made.codes:
        by_name = table.by_name(codes)
        for name, skip in table.skips.items():
            assert skip.keeps(by_name, by_name[name]).all()
        assert np.abs(table.counts(codes) - table.counts(x)).mean() < 0.03 * len(x)


def test_a_given_column_has_the_margin_of_all_sets_that_have_it() -> None:
    """One pair alone has it with the noise of all its cells: here it is 1.4 times as far off."""
    x, rng, off = _records(), np.random.default_rng(7), []
    table = workload(_SCHEMA, ("pairs",), ("own:age",))
    scales = np.full(len(table.sets), 40.0)
    for _ in range(30):
        noise = np.rint(rng.normal(0, 40, len(table.possible))).astype(np.int64)
        counts = (table.counts(x) + noise) * table.possible
        noisy = Measurements(table, counts, scales, laplace=False, records=len(x))
        (codes,) = best_file(noisy, classes=2, seed=1).codes
        off.append((codes[:, 3] == 1).sum() - (x[:, 3] == 1).sum())
    assert np.sqrt(np.mean(np.square(off))) < 1.15 * 40


def test_shares_next_to_nothing_are_raked_to_a_number() -> None:
    """Once they were multiplied beyond all numbers, and the last code took all records."""
    rows, codes = np.zeros(2, dtype=np.int64), np.arange(3)
    table = CountedTable(rows, codes, np.array([[90.0, 5.0, 5.0]]), 1.0)
    other = CountedTable(np.arange(2), codes, np.array([[40.0, 5.0, 5.0], [50.0, 0, 0]]), 1.0)
    records = np.array([[1e-310, 25.0, 25.0], [1e-310, 50.0, 0.0]])
    raked = given_records._raked(records, [table, other])
    assert raked.sum(axis=1) == pytest.approx([50.0, 50.0])
    assert raked[:, 0] == pytest.approx([40.0, 50.0], abs=5.0)


def test_more_patterns_codes_and_cells_than_a_fit_takes_have_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, table = _records(), workload(_SCHEMA, ("pairs", "age:sex:job:own"))
    noisy = Measurements(
        table, table.counts(x), np.full(len(table.sets), 1.0), laplace=False, records=len(x)
    )
    for place, name, few in (
        (skips, "MOST_PATTERNS", 2),
        (fitted_counts, "_MOST_CODES", 8),
        (fitted_counts, "MOST_CELLS", 20),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, few)
            (codes,) = best_file(noisy, classes=8, seed=1).codes
        by_name = table.by_name(codes)
        for ruled, skip in table.skips.items():
            assert skip.keeps(by_name, by_name[ruled]).all()
        assert np.abs(table.counts(codes) - table.counts(x)).mean() < 0.02 * len(x)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("laplace", [False, True])
def test_rules_beyond_the_patterns_are_kept_and_cost_little(
    monkeypatch: pytest.MonkeyPatch, laplace: bool, several: bool
) -> None:
    x, noisy = _records(), _noisy(_records(), 20.0, laplace)
    off = []
    for most in (64, 1):
        monkeypatch.setattr(skips, "MOST_PATTERNS", most)
        made = best_file(noisy, classes=8, seed=1)
        if several:
            made = drawn_fits(noisy, datasets=2, classes=8, seed=1)
        for codes in made.codes:
            by_name = noisy.table.by_name(codes)
            for ruled, skip in noisy.table.skips.items():
                assert skip.keeps(by_name, by_name[ruled]).all()
        gaps = [noisy.table.counts(codes) - noisy.table.counts(x) for codes in made.codes]
        off.append(np.abs(gaps).mean())
    assert off[1] < 1.4 * off[0]


def test_a_strong_diagonal_stays_where_classes_are_few_or_a_table_gives_it() -> None:
    rng, n = np.random.default_rng(1), 6_000
    race, age = rng.integers(0, 8, n), rng.integers(0, 6, n)
    head = np.where(rng.random(n) < 0.9, race, rng.integers(0, 8, n))
    x = np.column_stack([race, age, head, rng.random(n) < 0.1 * age]).astype(np.int32)
    sizes = {"race": 8, "age": 6, "headrace": 8, "own": 2}
    schema = vws.Schema(
        {
            name: vws.Column(model="nominal", levels=tuple(map(str, range(size))))
            for name, size in sizes.items()
        }
    )
    for tables in ((), ("alike",), ("own:age/3",)):
        table = workload(schema, ("pairs",), tables)
        noise = np.rint(rng.normal(0, 20, len(table.possible))).astype(np.int64)
        scales = np.full(len(table.sets), 20.0)
        noisy = Measurements(table, table.counts(x) + noise, scales, laplace=False, records=n)
        made = best_file(noisy, classes=4, seed=1).codes[0]
        assert np.mean(made[:, 0] == made[:, 2]) == pytest.approx(np.mean(race == head), abs=0.1)
        assert made[made[:, 1] > 2, 3].mean() == pytest.approx(0.4, abs=0.1)


def test_a_column_of_a_table_is_as_tied_to_others_as_classes_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The table alone hides what it shares with others beside the column that gives it."""
    rng, n, off = np.random.default_rng(0), 4_000, []
    names = ("headrace", *(f"q{k}x" for k in range(4)), "race")
    x = np.where(rng.random((n, 6)) < 0.6, rng.integers(0, 3, (n, 1)), rng.integers(0, 4, (n, 6)))
    x[:, 5] = np.where(rng.random(n) < 0.7, x[:, 0], x[:, 5])
    columns = dict.fromkeys(names, vws.Column(model="table", levels=tuple("0123")))
    columns["race"] = replace(columns["race"], predictors=("headrace",))
    schema = vws.Schema(columns)
    table = workload(schema, ("pairs",), ("alike",))
    assert fitted_counts.of_classes(table) == [*names]
    assert not fitted_counts.of_classes(workload(schema, ("pairs",), (), conditionals=True))
    q = [k for k, c in enumerate(table.cliques) if "race" in c.columns and c.columns[0] != names[0]]
    noise = np.random.default_rng(2).normal(0, 15, (4, len(table.possible)))
    for held in (names, names[:5]):
        for module in (fitted_counts, given_records):
            monkeypatch.setattr(module, "of_classes", lambda _, held=held: [*held])
        for own in table.counts(x) + np.rint(noise).astype(np.int64):
            noisy = Measurements(table, own, np.full(len(table.sets), 15.0), False, records=n)
            (codes,) = best_file(noisy, classes=20, seed=1).codes
            off.append(np.abs(table.counts(codes, q) - table.counts(x, q)).sum())
    assert sum(off[:4]) < 0.93 * sum(off[4:])


def test_a_tie_along_the_order_of_codes_stays_though_its_cells_drown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng, n = np.random.default_rng(7), 9_000
    latent = rng.normal(size=n)
    ends = np.linspace(-1.4, 1.4, 11)
    ordered = [np.searchsorted(ends[::step], latent + rng.normal(size=n)) for step in (1, 2)]
    x = np.column_stack([*ordered, rng.integers(0, 2, (n, 6))]).astype(np.int32)
    columns = {
        f"c{k}": vws.Column(model="nominal", levels=tuple(map(str, range(size))))
        for k, size in enumerate(x.max(axis=0) + 1)
    }
    table = workload(vws.Schema(columns), ("pairs",))

    def mean_tie() -> float:
        found = []
        for seed in range(4):
            noise = np.random.default_rng(seed).laplace(0.0, 60.0, len(table.possible))
            counts = table.counts(x) + np.rint(noise).astype(np.int64)
            noisy = Measurements(table, counts, np.full(len(table.sets), 60.0), True, n)
            made = best_file(noisy, classes=4, seed=1).codes[0]
            found.append(np.corrcoef(made[:, 0], made[:, 1])[0, 1])
        return float(np.mean(found) / np.corrcoef(x[:, 0], x[:, 1])[0, 1])

    held = mean_tie()
    monkeypatch.setattr(PenalisedCounts, "ordered", lambda _counts, gap, *_: 0.0 * gap)
    assert held > mean_tie() + 0.15
    assert held > 0.6


def test_one_dataset_is_the_best_file_and_says_so(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    words: dict[str, Any] = {"age": "0", "sex": "f", "job": "N", "own": "0"}
    frame = pl.DataFrame([words] * 40 + [{**words, "age": "40", "job": "2"}] * 60)
    run = {"schema": _SCHEMA, "mechanism": "noisy-counts", "epsilon": 5.0}
    release = vws.synthesize(frame, **run, datasets=1, seed=2)
    assert release.privacy["counts"]["best_file"]
    assert "counts-best-file" in json.dumps(release.privacy)
    release.write(tmp_path / "out")
    made = CliRunner().invoke(app, ["reproduce", str(tmp_path / "out")])
    assert made.exit_code == 0, made.output
    assert CliRunner().invoke(app, ["report", str(tmp_path / "out")]).exit_code == 0
    told_of = {"release": "follow from the fit", "confidential": "Mean squared misfit"}
    for part, words_of_fit in told_of.items():
        told = (tmp_path / "out" / part / "report.html").read_text(encoding="utf-8")
        assert words_of_fit in " ".join(told.split())
    with refused("too-few-datasets"):
        vws.combine_formula(release, "own ~ age")
    two = vws.synthesize(frame, **run, datasets=2, seed=2)
    assert "best_file" not in two.privacy["counts"]
    assert {"dp"} == {release.privacy["guarantee"], two.privacy["guarantee"]}
    assert release.privacy["epsilon_total"] == two.privacy["epsilon_total"]


@pytest.mark.parametrize("neighbours", ["loo", "replace"])
@pytest.mark.parametrize("records", [0, 1])
def test_no_record_and_one_give_a_file(neighbours: str, records: int) -> None:
    pytest.importorskip("opendp")
    frame = pl.DataFrame(
        {"a": ["x"] * records, "b": ["u"] * records}, schema=dict.fromkeys("ab", pl.String)
    )
    levels = {"a": ("x", "y"), "b": ("u", "v")}
    columns = {name: vws.Column(model="nominal", levels=own) for name, own in levels.items()}
    (made,) = vws.synthesize(
        frame,
        schema=vws.Schema(columns),
        mechanism=vws.NoisyCounts(epsilon=1.0, neighbours=neighbours, measure="pairs"),
        datasets=1,
    ).datasets
    assert neighbours == "loo" or len(made) == records


def test_counted_cells_of_a_file_that_is_not_there_are_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["tabulate", str(tmp_path / "none.csv"), "--counted"])
    assert result.exception is not None
    with refused("no-such-file", original=tmp_path / "none.csv"):
        raise result.exception
