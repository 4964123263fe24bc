"""Checks of synthetic columns: by loops, on data of the model, and on planted defects."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy.special import ndtri

from pyvws.evaluation.bootstrap import second_sample
from pyvws.evaluation.column_checks import TROUBLES, Predictor, check_column
from pyvws.evaluation.sample_errors import CellNoise, SampleErrors

few = settings(max_examples=80, derandomize=True)
_CELLS = st.one_of(st.none(), st.integers(-3, 5), st.sampled_from([0.5, 2.25, 1e6]))
_COLUMN = st.lists(_CELLS, min_size=1, max_size=30)
_SIGNED_ZEROS = {"negative", "repeated", "mean", "quantiles"}
_ALL = ("mean", "spread", "quantiles")
_LEVELS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


def _floats(cells: list[float | None]) -> np.ndarray:
    return np.array([math.nan if x is None else float(x) for x in cells])


def _quantile(values: list[float], level: float) -> float:
    ordered = sorted(values)
    return next(x for i, x in enumerate(ordered, 1) if i / len(ordered) >= level * (1 - 1e-12))


@given(_COLUMN.filter(any), st.lists(_COLUMN.filter(any), min_size=1, max_size=3))
@few
def test_statistics_against_loops(cells: list[Any], datasets: list[list[Any]]) -> None:
    check = check_column(_floats(cells), [_floats(made) for made in datasets])
    found = {one.name: one for one in check.statistics}
    data = [float(x) for x in cells if x is not None]
    own = [[float(x) for x in made if x is not None] for made in datasets]
    by_hand: dict[str, Callable[[list[float]], float]] = {
        "mean": np.mean,
        "standard deviation": np.std,
        "smallest": min,
        "largest": max,
        "share below the data's smallest": lambda x: sum(v < min(data) for v in x) / len(x),
        "share above the data's largest": lambda x: sum(v > max(data) for v in x) / len(x),
    }
    for level in _LEVELS:
        by_hand[f"quantile {100 * level:g} %"] = lambda x, at=level: _quantile(x, at)
    for name in found:
        if name.startswith("share at "):
            point = float(name.removeprefix("share at "))
            by_hand[name] = lambda x, at=point: x.count(at) / len(x)
    if all(x == round(x) for x in data):
        by_hand["share of fractions"] = lambda x: sum(v != round(v) for v in x) / len(x)
    for name, of in by_hand.items():
        one, each = found.pop(name), [of(made) for made in own]
        expected = (of(data), np.mean(each), min(each), max(each))
        told = (one.data, one.mean, one.lowest, one.highest)
        assert told == pytest.approx(expected, rel=1e-9, abs=1e-12), name
    some_missing = any(None in column for column in (cells, *datasets))
    assert found.keys() == ({"share missing"} if some_missing else set())
    if found:
        assert found["share missing"].data == pytest.approx(cells.count(None) / len(cells))
    repeated = [x for x in set(data) if data.count(x) / len(data) >= 0.05]
    assert len([name for name in by_hand if name.startswith("share at ")]) >= min(10, len(repeated))


@given(
    st.lists(st.tuples(_CELLS, st.integers(1, 4)), min_size=1, max_size=12).filter(
        lambda rows: any(cell for cell, _ in rows)
    ),
    _COLUMN,
)
@few
def test_counts_stand_for_records(rows: list[Any], made: list[Any]) -> None:
    cells = _floats([cell for cell, _ in rows])
    counts = np.array([float(count) for _, count in rows])
    whole = np.repeat(cells, counts.astype(int))
    tally = check_column(cells, [_floats(made)], counts=counts)
    for one, other in zip(
        tally.statistics, check_column(whole, [_floats(made)]).statistics, strict=True
    ):
        assert (one.name, one.trouble) == (other.name, other.trouble)
        assert one.data == pytest.approx(other.data, rel=1e-9, abs=1e-9)


def _posterior_normal(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Values from the posterior predictive of a normal under the reference prior."""
    n = len(y)
    variance = ((y - y.mean()) ** 2).sum() / rng.chisquare(n - 1)
    mean = y.mean() + rng.normal() * math.sqrt(variance / n)
    return rng.normal(mean, math.sqrt(variance), n)


def _zeros(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(n) < 0.6, 0.0, rng.lognormal(9, 1.2, n))


def _posterior_zeros(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    some, n = y[y > 0], len(y)
    zero = rng.random(n) < rng.beta(1 + n - len(some), 1 + len(some))
    drawn = np.exp(_posterior_normal(np.log(some), rng))
    return np.where(zero, 0.0, np.resize(drawn, n))


@pytest.mark.runs
@pytest.mark.parametrize("n", [30, 300, 3000])
@pytest.mark.parametrize("datasets", [1, 5])
def test_a_model_that_holds_is_told_of_trouble_in_under_5_percent_of_runs(
    n: int, datasets: int
) -> None:
    rng, told, runs = np.random.default_rng(n), 0, 120
    for _ in range(runs):
        columns: list[tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]] = [
            (rng.normal(3, 2, n), lambda y: _posterior_normal(y, rng)),
            (rng.lognormal(9, 2, n), lambda y: np.exp(_posterior_normal(np.log(y), rng))),
            (_zeros(n, rng), lambda y: _posterior_zeros(y, rng)),
            (rng.poisson(3, n), lambda y: rng.poisson(rng.gamma(y.sum() + 1, 1 / n), n)),
        ]
        checks = [check_column(y, [draw(y) for _ in range(datasets)]) for y, draw in columns]
        codes = rng.choice(4, n, p=[0.6, 0.3, 0.09, 0.01]) + 1
        shares = [rng.dirichlet(1 + np.bincount(codes, minlength=5)[1:]) for _ in range(datasets)]
        made = [rng.choice(4, n, p=share) + 1 for share in shares]
        checks.append(check_column(codes, made, levels="abcd"))
        told += any(check.troubles for check in checks)
    assert told < 0.05 * runs


def _spread(n: int = 1000) -> np.ndarray:
    return np.random.default_rng(2).lognormal(9, 1.2, n)


@pytest.mark.parametrize(
    ("data", "made", "troubles"),
    [
        (np.where(np.arange(1000) % 5 < 3, 0, _spread()), -_spread(), _SIGNED_ZEROS),
        (
            _spread().round(),
            np.random.default_rng(3).poisson(18_000, 1000),
            {"spread", "quantiles"},
        ),
        (_spread(), np.r_[_spread(990), -50.0 * np.arange(1, 11)], set()),
        (_spread(), np.r_[_spread(980), -50.0 * np.arange(1, 21)], {"negative", "quantiles"}),
        (_spread() - 1e6, _spread() - 2e6, {"below", *_ALL[::2]}),
        (np.minimum(_spread(), 3e4), _spread(), {"above", "far", "repeated", *_ALL}),
        (_spread().round(), _spread(), {"fractions"}),
        (_spread(), np.where(np.arange(1000) % 4, _spread(), np.nan), {"missing"}),
        (_spread(), np.where(np.arange(1000) % 4, _spread(), 5e3), {"repeated"}),
        (_spread(), _spread() * 1e6, {"above", "far", "mean", "quantiles"}),
        (_spread(), np.full(1000, np.nan), {"missing"}),
        (np.full(100, 7.0), np.full(100, 7.0), set()),
        (np.full(100, 7.0), np.full(100, 8.0), {"above", "repeated", "quantiles"}),
    ],
)
def test_planted_defects_are_named(data: Any, made: Any, troubles: set[str]) -> None:
    assert set(check_column(data, [made] * 3).troubles) == troubles
    assert set(check_column(data, [data] * 3).troubles) == set()


def test_a_far_value_needs_three_datasets() -> None:
    y = _spread()
    far = np.r_[y[1:], 100 * y.max()]
    for many, troubles in ((2, ()), (3, ("far",))):
        assert check_column(y, [far] * many).troubles == troubles
    assert check_column(y, [far, far, y]).troubles == ()


def test_levels_that_part_come_furthest_first() -> None:
    codes = np.repeat([1.0, 2.0, 3.0], [600, 300, 100])
    made = np.repeat([1.0, 2.0, 4.0], [300, 600, 100])
    check = check_column(codes, [made], levels=("a", "b", "c", "d"))
    assert check.troubles == ("levels",)
    names = [one.name[-2] for one in check.statistics]
    assert (set(names[:2]), set(names[2:])) == ({"a", "b"}, {"c", "d"})
    (same,) = check_column(codes, [codes], levels=("a", "b", "c", "d")).statistics
    assert (same.name, same.data, same.trouble) == ("share of level 'a'", 0.6, "")


_PAIRS = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 2), st.integers(1, 3)), min_size=40, max_size=90
)


@given(_PAIRS, st.lists(_PAIRS, min_size=1, max_size=2), st.booleans())
@few
def test_shares_given_a_predictor_against_loops(
    data: list[Any], made: list[list[Any]], labelled: bool
) -> None:
    """Of all shares with 30 records and rows the one is told of that is furthest for its limit."""
    y, x, counts = (np.array(column, dtype=float) for column in zip(*data, strict=True))
    own = [[np.array(column, float) for column in zip(*one, strict=True)][:2] for one in made]
    given_x = Predictor("x", x, [one[1] for one in own], "slope")
    check = check_column(
        y,
        [one[0] for one in own],
        levels="abc" if labelled else None,
        counts=counts,
        predictors=[given_x],
    )
    told = [one for one in check.statistics if " given x " in one.name]
    whole = sorted(v for v, many in zip(y, counts, strict=True) for _ in range(int(many)))
    edges = {1, 2, 3} if labelled else {_quantile(whole, level) for level in (0.25, 0.5, 0.75)}
    found = {}
    for g in {*x} if len({*x}) > 1 else ():
        records = sum(many for v, many in zip(x, counts, strict=True) if v == g)
        rows = min(sum(given == g) for _, given in own)
        for edge in edges if min(records, rows) >= 30 else ():

            def hit(v: float, edge: float = edge) -> bool:
                return v == edge if labelled else v <= edge

            p = sum(many for a, b, many in data if b == g and hit(a)) / records
            each = [np.mean([hit(a) for a, b in zip(*one, strict=True) if b == g]) for one in own]
            m = (p + np.mean(each)) / 2
            s = math.sqrt(max(m * (1 - m), 0.0))
            limit = max(0.01, 0.2 * s) + 5 * s * math.sqrt(1 / records + 1 / rows)
            words = (
                f"share of level {'abc'[int(edge) - 1]!r}" if labelled else f"share up to {edge:g}"
            )
            found[f"{words} given x {g:g}"] = (abs(p - np.mean(each)) / limit, p, *each)
    assert len(told) == bool(found)
    for one in told:
        far, p, *each = found[one.name]
        assert far == pytest.approx(max(far for far, *_ in found.values()), abs=1e-9)
        expected = (p, np.mean(each), min(each), max(each))
        assert (one.data, one.mean, one.lowest, one.highest) == pytest.approx(expected, abs=1e-12)
        assert one.trouble == ("slope" if far > 1 else "")


def test_huge_values_have_shares_given_a_predictor() -> None:
    y, x = np.r_[-1e300, np.zeros(99), 1e300], np.arange(101) % 3
    check = check_column(y, [y], predictors=[Predictor("x", x, [x])])
    assert [one.data for one in check.statistics if " given x " in one.name] == [1.0]


@pytest.mark.runs
def test_shares_given_a_predictor_are_seldom_told_of_by_chance() -> None:
    """Rows of the model at parameters that the data leaves open: a resample of a resample."""
    rng, told, runs = np.random.default_rng(5), 0, 200
    for _ in range(runs):
        n, groups, levels = rng.choice([100, 1000, 4000]), rng.integers(2, 31), rng.integers(2, 9)
        shares = rng.dirichlet(np.full(levels, 0.5), groups).cumsum(axis=1)[:, :-1]
        x = rng.integers(0, groups, n)
        y = 1.0 + (rng.random(n)[:, None] > shares[x]).sum(axis=1)
        rows = [rng.integers(0, n, n)[rng.integers(0, n, n)] for _ in range(3)]
        predictor = Predictor("x", x, [x[row] for row in rows])
        for labels in (None, [str(code) for code in range(levels)]):
            made = [y[row] for row in rows]
            told += "given" in check_column(y, made, levels=labels, predictors=[predictor]).troubles
    assert told < 0.02 * runs


def test_infinite_values_are_no_figures() -> None:
    check = check_column([1.0, 2.0, 3.0], [[1.0, 2.0, np.inf]])
    found = {one.name: one for one in check.statistics}
    assert (found["mean"].mean, found["largest"].highest) == (None, None)
    assert found["quantile 50 %"].mean == 2.0


def test_every_trouble_has_words() -> None:
    assert all(words for words in TROUBLES.values())
    for wrong, key in (
        (([np.nan], [[1.0]]), "original-without-numbers"),
        (([1.0], []), "no-dataset"),
    ):
        with refused(key):
            check_column(*wrong)
    with refused("codes-of-category"):
        check_column([1.0, 2.0], [[3.0]], levels=("a", "b"))
    with refused("unequal-lengths", names2="counts"):
        check_column([1.0, 2.0], [[3.0]], counts=[1.0])


def _stretched(y: np.ndarray, share: float, factor: float) -> np.ndarray:
    """The largest share of the values further from their smallest by a factor."""
    end = np.quantile(y, 1 - share)
    return np.where(y > end, end + factor * (y - end), y)


@pytest.mark.parametrize("seed", range(3))
def test_a_mean_a_spread_and_a_tail_that_are_too_large_are_told_of(seed: int) -> None:
    """As when the top cell of a skewed amount is drawn too far out, in each of five datasets."""
    rng = np.random.default_rng(seed)
    y = np.exp(8 + ndtri((np.arange(2000) + 0.5) / 2000))
    made = [_stretched(rng.choice(y, 2000), 0.08, 2.0) for _ in range(5)]
    own = [(x.mean() / y.mean(), x.std() / y.std()) for x in made]
    assert np.mean(own, axis=0) == pytest.approx([1.2, 1.65], abs=0.1)
    assert {*_ALL} <= {*check_column(y, made).troubles}
    assert check_column(y, [rng.choice(y, 2000) for _ in range(5)]).troubles == ()


def test_noise_allows_what_it_may_have_done_and_no_more() -> None:
    rng = np.random.default_rng(1)
    y, edges = rng.uniform(0, 10, 2000), np.arange(11.0)
    by_cell = np.bincount(y.astype(int), minlength=10).astype(float)
    noisy = np.maximum(by_cell + np.linspace(-80, 80, 10), 0.0)
    made = rng.choice(10, 2000, p=noisy / noisy.sum()) + rng.uniform(size=2000)
    assert "mean" in check_column(y, [made] * 3).troubles
    for deviation, told in ((1.0, True), (60.0, False)):
        noise = CellNoise(edges, deviation)
        assert bool(check_column(y, [made] * 3, noise=noise).troubles) == told


def test_margins_are_those_of_a_bootstrap_of_records_and_of_units() -> None:
    """To first order a second sample has the same standard errors as many bootstrap samples."""
    rng = np.random.default_rng(3)
    units = np.repeat(np.arange(400), 5)
    y = rng.gamma(3.0, size=400)[units] + rng.gamma(1.0, size=2000)
    end = float(np.quantile(y, 0.9))
    for groups in (None, units):
        drawn = [y[second_sample(rng, 2000, groups)] for _ in range(600)]
        errors = SampleErrors(y, None, groups, datasets=10**6, rows=2000.0, noise=None)
        for figure, influence in (
            (np.mean, lambda x: x - y.mean()),
            (np.std, lambda x: ((x - y.mean()) ** 2 - y.var()) / (2 * y.std())),
            (lambda x: (x <= end).mean(), lambda x: (x <= end) - (y <= end).mean()),
        ):
            error = np.std([figure(x) for x in drawn])
            assert errors.error(influence, 0.0) == pytest.approx(error, rel=0.12)


def test_a_strict_claim_allows_values_beyond_the_data_and_nothing_else() -> None:
    y = np.minimum(_spread(), 3e4)
    far = np.r_[y[1:], 9e6]
    for made, told in ((_spread(), {"above", "far"}), (far, {"far"}), (-y, {"negative"})):
        usual = {*check_column(y, [made] * 3).troubles}
        allowed = {*check_column(y, [made] * 3, beyond_is_trouble=False).troubles}
        assert told <= usual
        assert allowed == usual - {"above", "below", "far"}
