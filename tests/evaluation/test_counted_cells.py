"""Intervals from noisy counts and their noise alone, and figures that were counted."""

import itertools
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyvws as vws
from pyvws import InputError, combine
from pyvws.evaluation.combining_rules import NoisyCells
from pyvws.evaluation.counted_cells import (
    CountedFigures,
    are_measured,
    counted_cells,
)
from pyvws.evaluation.public_cells import CellStatistic
from pyvws.evaluation.whole_tables import COLUMNS, noise_probabilities


def counts(*rows: tuple[str, str, int, float]) -> pl.DataFrame:
    given = [(name, 0, label, count, scale) for name, label, count, scale in rows]
    return pl.DataFrame(given, schema=list(COLUMNS), orient="row")


@given(
    st.floats(0.2, 30.0),
    st.sampled_from(["laplace", "gaussian"]),
    st.sampled_from([0.5, 0.8, 0.95, 0.99]),
)
def test_an_interval_holds_the_count_with_the_level_and_no_wider_one_is_given(scale, noise, level):
    """By the noise's own probabilities: S - q to S + q, of the smallest q that will do."""
    found = counted_cells(
        counts(("records", "", 900, 0.0), ("a", "x", 500, scale)), noise=noise, level=level
    )
    q = found["upper"][0] - 500
    assert found["lower"] == [500 - q]
    z = np.arange(-2000, 2001)
    mass = np.exp(-np.abs(z) / scale if noise == "laplace" else -(z**2) / (2 * scale**2))
    mass /= mass.sum()
    assert mass[np.abs(z) <= q].sum() >= level - 1e-9
    assert q == 0 or mass[np.abs(z) < q].sum() < level + 1e-9


@given(st.floats(0.2, 30.0), st.sampled_from(["laplace", "gaussian"]))
def test_the_probabilities_of_the_noise_by_a_loop(scale, noise):
    z, mass = noise_probabilities(scale, noise)
    assert mass.sum() == pytest.approx(1.0)
    for k, p in itertools.islice(zip(z, mass, strict=True), len(z) // 2, None, 3):
        gap = k / scale if noise == "laplace" else 0.5 * (k / scale) ** 2
        assert p / mass[len(z) // 2] == pytest.approx(math.exp(-gap), rel=1e-9, abs=1e-300)


def test_shares_of_the_table_and_of_the_population_by_hand():
    """The noise of n adds p^2 of its variance; a sample adds p (1 - p) / n."""
    frame = counts(("records", "", 200, 4.0), ("a", "x", 50, 3.0), ("a", "y", -2, 3.0))
    table = counted_cells(frame, noise="gaussian", of="table")
    assert table["share"] == [0.25, -0.01]
    half = 1.959964 * math.sqrt(9.0 + 0.25**2 * 16.0) / 200
    assert table["share_upper"][0] == pytest.approx(0.25 + half, rel=1e-4)
    assert table["share_lower"][1] == 0.0
    assert table["lower"] == [44, 0]
    whole = counted_cells(frame, noise="gaussian", of="population")
    half = 1.959964 * math.sqrt((9.0 + 0.25**2 * 16.0) / 200**2 + 0.25 * 0.75 / 200)
    assert whole["share_lower"][0] == pytest.approx(0.25 - half, rel=1e-4)
    assert whole["lower"] == table["lower"]


SIZES = {"a": 2, "b": 3, "c": 2}
CODES = vws.Schema(
    {
        name: vws.Column(model="nominal", levels=tuple(f"{name}{code}" for code in range(size)))
        for name, size in SIZES.items()
    }
)
SETS = (("a", "b"), ("b", "c"), ("a", "b", "c"), ("c",), ("a",))


@given(
    st.lists(st.sampled_from(SETS), min_size=1, max_size=4, unique=True),
    st.integers(0, 10**6),
    st.booleans(),
)
def test_least_squares_over_sets_by_one_dense_system(sets, seed, noisy_number):
    """Estimates and their variances are those of the normal equations over all combinations."""
    rng = np.random.default_rng(seed)
    scales = [*rng.integers(2, 9, len(sets)).astype(float), 5.0]
    grid = np.array([*np.ndindex(*SIZES.values())])
    place = {name: k for k, name in enumerate(SIZES)}
    rows, lines, names = [("records", "", 400, 5.0 if noisy_number else 0.0)], [], []
    for own, scale in zip(sets, scales, strict=False):
        for codes in np.ndindex(*(SIZES[name] for name in own)):
            rows.append((":".join(own), "", int(rng.integers(20, 60)), scale))
            lines.append((grid[:, [place[name] for name in own]] == codes).all(axis=1))
            names.append(scale)
    found = counted_cells(counts(*rows), noise="gaussian", of="table", schema=CODES)
    design, y = np.array(lines, float), np.array([row[2] for row in rows[1:]], float)
    spread, cells = np.array(names), len(y)
    if noisy_number:
        design = np.vstack([design, np.ones(len(grid))])
        y, spread = np.append(y, 400.0), np.append(spread, 5.0)
    root = design / spread[:, None]
    covariance = design @ np.linalg.pinv(root.T @ root, rcond=1e-10) @ design.T
    fitted = covariance @ (y / spread**2)
    assert np.allclose(found["count"], fitted[:cells])
    half = np.array(found["upper"]) - found["count"]
    expected = np.sqrt(np.diag(covariance))[:cells]
    widest = 1.0 + 1.0 / spread[:cells]  # An interval of one noisy count has whole ends.
    kept = fitted[:cells] > 0.0  # No end lies below 0.
    ratio = half / (1.959964 * expected)
    assert ((ratio > 1.0 - 1e-6) & (ratio < widest))[kept].all()
    total, of_total = 400.0, 0.0
    if noisy_number:
        total, of_total = float(fitted[-1]), float(covariance[-1, -1])
    share = fitted[:cells] / total
    inside = np.clip(share, 0.0, 1.0)
    variance = expected**2 + inside**2 * of_total
    if noisy_number:
        variance -= 2 * inside * covariance[:cells, -1]
    ends = np.array(found["share_upper"]) - share
    wanted = 1.959964 * np.sqrt(variance) / total
    assert np.allclose(ends[kept], wanted[kept], rtol=1e-5)


def test_sets_of_groups_and_of_barred_cells_keep_their_own_counts():
    own = [("records", "", 300, 0.0), ("a:b/1", "", 50, 3.0), ("a:b/1", "", 70, 3.0)]
    barred = [("b:c", "", count, 4.0) for count in (40, 60, 30, 90, 80)]  # One of six is barred.
    whole = [("a", "", 150, 3.0), ("a", "", 140, 3.0)]
    found = counted_cells(counts(*own, *barred, *whole), noise="laplace", schema=CODES)
    assert np.allclose(found["count"], [row[2] for row in (*own[1:], *barred, *whole)])
    alone = counted_cells(counts(*own, *barred, *whole), noise="laplace")
    assert np.allclose(found["upper"], alone["upper"])


@pytest.mark.parametrize(
    ("frame", "more"),
    [
        (pl.DataFrame({"set": ["records"]}), {}),
        (counts(("a", "x", 5, 1.0)), {}),
        (counts(("records", "", 0, 1.0)), {}),
        (counts(("records", "", 5, 1.0), ("records", "", 5, 1.0)), {}),
        (counts(("records", "", 5, 1.0)), {"level": 1.0}),
        (counts(("records", "", 5, 1.0)), {"of": "both"}),
        (counts(("records", "", 5, 1.0)), {"noise": "normal"}),
    ],
)
def test_counts_that_are_none_are_refused(frame, more):
    with pytest.raises(InputError) as caught:
        counted_cells(frame, **{"noise": "laplace", **more})
    assert "\n" not in str(caught.value)


@given(st.lists(st.lists(st.sampled_from("abc/"), min_size=1, max_size=3), max_size=5))
def test_columns_of_sets_by_a_loop(sets):
    """Each set has the columns of its name; one with a cut has none of their own cells."""
    names = [":".join("d/3" if part == "/" else part for part in one) for one in sets]
    plain = [{*one} for one in sets if "/" not in one]
    for columns in itertools.chain.from_iterable(itertools.combinations("abc", k) for k in (1, 2)):
        assert are_measured(columns, names) == any({*columns} <= one for one in plain)
    assert not are_measured(["records"], ["records", "a:b"])


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=9), st.floats(0.0, 3.0))
def test_rules_for_imputed_records_by_hand(q, v):
    m, b = len(q), float(np.var(q, ddof=1))
    population = combine(q, [v] * m, of="population")
    assert population.variance == pytest.approx((1 + 1 / m) * b + v)
    table = combine(q, [v] * m, of="table")
    assert table.variance == pytest.approx((1 + 1 / m) * b)
    if b > 1e-9:
        assert table.df == pytest.approx(m - 1)
        assert population.df == pytest.approx((m - 1) * (1 + v / ((1 + 1 / m) * b)) ** 2)


def test_a_rule_for_imputed_records_is_none_of_the_others():
    for wrong in ({"of": "all"}, {"of": "table", "kind": "full"}):
        with pytest.raises(InputError):
            combine([1.0, 2.0], [1.0, 1.0], **wrong)


def tables() -> list[pl.DataFrame]:
    levels = {name: [f"{name}{code}" for code in range(size)] for name, size in SIZES.items()}
    grid = {name: own * 6 for name, own in levels.items()}
    rows = {name: own[:12] for name, own in grid.items()}
    return [pl.DataFrame({**rows, "pay": [1.0, 2.0, k] * 4}) for k in (3.0, 4.0)]


def noisy(*sets: tuple[str, ...], seed: int = 1, lost: Any = ()) -> NoisyCells:
    rng = np.random.default_rng(seed)
    rows = [("records", "", 400, 5.0)]
    for own in sets:
        for _ in range(math.prod(SIZES[name] for name in own)):
            rows.append((":".join(own), "", int(rng.integers(20, 60)), 3.0 + len(own)))
    return NoisyCells(counts(*rows), "gaussian", lost)


def test_a_table_takes_counted_figures_of_the_counts_and_says_which():
    """Those of a cell, its margins and shares in it; others depend on the model."""
    asked = {"count": True, "mean": "pay", "share": "b", "schema": CODES, "of": "table"}
    cells = noisy(("a", "b"), ("b", "c"))
    found = vws.tabulate(tables(), by="a", counted=cells, **asked)
    assert {(one.statistic, one.counted) for one in found.figures} == {
        ("count", True),
        ("share", True),
        ("mean", False),
    }
    for more, counted in (({"weights": "pay"}, False), ({"strata": "a"}, True)):
        other = vws.tabulate(tables(), by="b", counted=cells, **{**asked, "share": (), **more})
        assert any(one.counted for one in other.figures) == counted
    other = vws.tabulate(tables(), by=["a", "c"], counted=cells, **asked)
    assert not any(one.counted for one in other.figures)
    assert "counted" not in vws.tabulate(tables(), by="a", mean="pay", schema=CODES).columns
    whole = counted_cells(cells.frame, noise="gaussian", of="table", schema=CODES)
    both = vws.tabulate(
        tables(), by=["a", "b"], count=True, counted=cells, schema=CODES, of="table"
    )
    for name, own in (("estimate", "count"), ("lower", "lower"), ("upper", "upper")):
        assert np.allclose([getattr(x, name) for x in both.figures], whole[own][:6])


def test_a_table_names_lost_sets_of_its_figures_by_the_model():
    asked = {"mean": "pay", "schema": CODES, "of": "table"}
    cells = noisy(("a", "b"), lost=[["a", "b"], ["a", "c"]])
    assert vws.tabulate(tables(), by=["a", "b"], counted=cells, **asked).lost == (("a", "b"),)
    assert vws.tabulate(tables(), by="a", counted=cells, **asked).lost == ()
    found = vws.tabulate(tables(), by=["a", "b"], counted=cells, **asked)
    assert "do not hold the noisy counts of a by b" in " ".join(found.sheets[-1].notes)
    asked = {"count": True, "schema": CODES, "of": "table"}
    assert vws.tabulate(tables(), by=["a", "b"], counted=cells, **asked).lost == ()


@given(st.integers(0, 10**6), st.sampled_from(["table", "population"]))
def test_shares_and_margins_by_the_noise_of_simulated_counts(seed, of):
    """Standard errors are those of estimates whose noise is drawn anew; sets share margins."""
    rng = np.random.default_rng(seed)
    sets = [("a", "b"), ("b", "c")]
    truth = rng.integers(60, 140, tuple(SIZES.values()))
    tally = [truth.sum(axis=2).ravel(), truth.sum(axis=0).ravel()]
    cell, found = {"a": "a1"}, {"share": [], "count": []}
    for _ in range(60):
        rows = [("records", "", int(truth.sum() + round(rng.normal(0, 5))), 5.0)]
        for own, exact in zip(sets, tally, strict=True):
            noisy_counts = exact + np.rint(rng.normal(0, 8, len(exact))).astype(int)
            rows += [(":".join(own), "", int(x), 8.0) for x in noisy_counts]
        read = CountedFigures.read(
            NoisyCells(counts(*rows), "gaussian", ()), CODES, of=of, level=0.95
        )
        [share, *_] = read.of_cell(cell, CellStatistic("share", "b", ("b0", "b2"))) or []
        [count] = read.of_cell(cell, CellStatistic("count")) or []
        found["share"].append(share)
        found["count"].append(count)
    b0, b2 = truth.sum(axis=2)[1, [0, 2]]
    exact = {"share": b0 / (b0 + b2), "count": truth[1].sum()}
    sampling = {
        "share": exact["share"] * (1 - exact["share"]) / (b0 + b2),
        "count": exact["count"] * (1 - exact["count"] / truth.sum()),
    }
    for name, own in found.items():
        estimates = np.array([one["estimate"] for one in own])
        errors = np.array([one["standard_error"] for one in own])
        expected = np.mean(errors**2) - (of == "population") * sampling[name]
        assert estimates.std() ** 2 / expected == pytest.approx(1.0, abs=0.85)
        assert abs(estimates.mean() - exact[name]) < 6.0 * math.sqrt(expected / 60)


def test_cells_that_rules_bar_are_counted_where_their_set_was_asked_for():
    rows = [("records", 0, "", 90, 0.0)]
    rows += [("a:b", cell, "", 10 * cell + 5, 2.0) for cell in (0, 1, 2, 4, 5)]
    frame = pl.DataFrame(rows, schema=list(COLUMNS), orient="row")
    cells = NoisyCells(frame, "laplace", ())
    read = CountedFigures.read(cells, CODES, of="table", level=0.95)
    [[one]] = [read.of_cell({"a": "a1", "b": "b1"}, CellStatistic("count")) or []]
    assert (one["estimate"], one["upper"]) == (45.0, 51.0)
    assert read.of_cell({"a": "a1"}, CellStatistic("count")) is None
    shares = read.of_cell({"a": "a0"}, CellStatistic("share", "b", ("b0", "b1", "b2"))) or []
    assert [x["estimate"] for x in shares] == [5 / 45, 15 / 45, 25 / 45]
    [total] = read.of_cell({}, CellStatistic("count")) or []
    assert (total["lower"], total["upper"]) == (90.0, 90.0)
    assert read.of_cell({"a": "a7", "b": "b1"}, CellStatistic("count")) is None
