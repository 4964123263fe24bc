"""Combining rules: by hand, their symmetries, coverage, and regressions on tables."""

from fractions import Fraction
from math import inf, sqrt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy import stats

from pyvws.evaluation.combining_rules import RULES, combine, combine_formula
from pyvws.evaluation.regressions import fit_formula, least_squares
from pyvws.sheet import number

few = settings(max_examples=60, derandomize=True)
results = st.integers(2, 12).flatmap(
    lambda m: st.tuples(
        st.lists(st.integers(-20, 20).map(float), min_size=m, max_size=m),
        st.lists(st.integers(1, 40).map(lambda v: v / 8), min_size=m, max_size=m),
    )
)


def test_three_datasets_by_hand():
    # q = 2, b = 1, v = 0.5.
    found = combine([1.0, 2.0, 3.0], [0.25, 0.5, 0.75])
    assert (found.estimate, found.variance) == (2.0, 1 / 3 + 0.5)
    assert found.df == 2 * (1 + 1.5) ** 2
    full = combine([1.0, 2.0, 3.0], [0.25, 0.5, 0.75], kind="full")
    assert full.estimate == 2.0
    assert full.variance == pytest.approx(4 / 3 - 0.5, rel=1e-15)
    assert full.df == pytest.approx(2 * (1 - 0.375) ** 2, rel=1e-15)
    low, high = found.interval(0.9)
    half = stats.t.ppf(0.95, 12.5) * sqrt(5 / 6)
    assert (low, high) == pytest.approx((2 - half, 2 + half), rel=1e-13)


def test_a_variance_of_exactly_0_leaves_no_degrees_of_freedom():
    """(1 + 1/2) 2 - 3 = 0: the t interval widens to all numbers as T and df go to 0."""
    found = combine([0.0, 2.0], [3.0, 3.0], kind="full")
    assert (found.variance, found.df, found.interval()) == (0.0, 0.0, (-inf, inf))
    nearly = combine([0.0, 2.0], [3.0, 3.0 - 1e-3], kind="full").interval()
    assert nearly[1] - nearly[0] > 1e100


def test_datasets_that_agree():
    found = combine([3.0, 3.0, 3.0], [4.0, 4.0, 4.0])
    assert (found.estimate, found.variance, found.df) == (3.0, 4.0, inf)
    assert found.interval() == pytest.approx((3 - 1.959964 * 2, 3 + 1.959964 * 2), rel=1e-6)
    assert combine([3.0, 3.0], [0.0, 0.0]).interval() == (3.0, 3.0)
    assert combine([3.0, 3.0], [1.0, 1.0], kind="full").df == inf


@given(results, st.sampled_from([0.25, 1.0]))
@few
def test_against_exact_fractions(result, ratio):
    q, v = ([Fraction(value) for value in column] for column in result)
    m = len(q)
    mean, within = sum(q) / m, sum(v) / m
    between = sum((value - mean) ** 2 for value in q) / (m - 1)
    partial, full = (combine(*result, kind=kind, size_ratio=ratio) for kind in ("partial", "full"))
    assert partial.estimate == full.estimate == pytest.approx(float(mean), rel=1e-14, abs=1e-14)
    assert partial.variance == pytest.approx(float(between / m + within), rel=1e-13)
    spread = (1 + Fraction(1, m)) * between
    total = spread - within if spread >= within else Fraction(ratio) * within
    assert full.variance == pytest.approx(float(total), rel=1e-12, abs=1e-13)
    if between == 0:
        assert partial.df == full.df == inf
    else:
        df = (m - 1) * (1 + within * m / between) ** 2
        assert partial.df == pytest.approx(float(df), rel=1e-12)
        df = (m - 1) * (1 - within / spread) ** 2
        assert full.df == pytest.approx(float(df), rel=1e-9, abs=1e-12)


def normal_equations(x, y):
    """Slope and intercept of y on x in exact fractions, with their estimated variances."""
    x, y, n = [Fraction(v) for v in x], [Fraction(v) for v in y], len(x)
    centre, middle = sum(x) / n, sum(y) / n
    sxx = sum((v - centre) ** 2 for v in x)
    slope = sum((a - centre) * (b - middle) for a, b in zip(x, y, strict=True)) / sxx
    start = middle - slope * centre
    rest = sum((b - start - slope * a) ** 2 for a, b in zip(x, y, strict=True)) / (n - 2)
    return [start, slope], [rest * (Fraction(1, n) + centre**2 / sxx), rest / sxx]


@pytest.mark.runs
@given(
    st.integers(3, 8).flatmap(
        lambda n: st.tuples(
            st.lists(st.integers(-20, 20), min_size=n, max_size=n, unique=True),
            *(st.lists(st.integers(-40, 40).map(float), min_size=n, max_size=n),) * 2,
        )
    )
)
@settings(few, max_examples=15)
def test_lines_against_exact_fractions(columns):
    x, *outcomes = columns
    lines = [normal_equations(x, y) for y in outcomes]
    tables = [pd.DataFrame({"x": x, "y": y}) for y in outcomes]
    for (coefficients, variances), table in zip(lines, tables, strict=True):
        design = np.column_stack([np.ones(len(x)), x])
        for found in (fit_formula(table, "y ~ x"), least_squares(design, table["y"].to_numpy())):
            np.testing.assert_allclose(found.coefficients, as_floats(coefficients), atol=1e-11)
            np.testing.assert_allclose(found.variances, as_floats(variances), atol=1e-9)
    combined = combine_formula(tables, "y ~ x")
    for k, name in enumerate(["(Intercept)", "x"]):
        estimate = sum(line[0][k] for line in lines) / 2
        within = sum(line[1][k] for line in lines) / 2
        between = sum((line[0][k] - estimate) ** 2 for line in lines)
        assert combined[name].estimate == pytest.approx(float(estimate), abs=1e-11)
        assert combined[name].variance == pytest.approx(float(between / 2 + within), abs=1e-8)
    shown = combined._repr_html_()
    assert all(f"<td>{number(combined[name].estimate)}</td>" in shown for name in combined)


def as_floats(values):
    return [float(value) for value in values]


@given(results, st.integers(0, 2**32 - 1))
@few
def test_order_shift_and_scale(result, seed):
    q, v = map(np.array, result)
    order = np.random.default_rng(seed).permutation(len(q))
    for kind in ("partial", "full"):
        found = combine(q, v, kind=kind)
        moved = combine(q[order], v[order], kind=kind)
        assert moved.variance == pytest.approx(found.variance, rel=1e-12)
        scaled = combine(4.0 * q + 8.0, 16.0 * v, kind=kind)
        assert scaled.estimate == pytest.approx(4.0 * found.estimate + 8.0, rel=1e-12, abs=1e-12)
        assert scaled.variance == pytest.approx(16.0 * found.variance, rel=1e-12)
        assert scaled.df == pytest.approx(found.df, rel=1e-9)
    partial = combine(q, v)
    assert partial.df >= len(q) - 1
    assert partial.variance >= np.mean(v) * (1 - 1e-15)
    low, high = partial.interval(0.9)
    wider = partial.interval(0.99)
    assert wider[0] < low < partial.estimate < high < wider[1]


@pytest.mark.runs
def test_partial_intervals_cover():
    """Nominal 95 %: of 2000 intervals between 93.5 and 96.5 %, three standard errors."""
    random = np.random.default_rng(11)
    m, covered = 5, 0
    for _ in range(2000):
        centre = random.normal(0, 1)  # the confidential estimate, of variance 1 around 0
        q = centre + random.normal(0, 0.7, m)
        low, high = combine(q, np.full(m, 1.0)).interval()
        covered += low <= 0 <= high
    assert 0.935 < covered / 2000 < 0.965


def test_datasets_of_a_draw_count_as_one_by_hand():
    # Means 2 and 5 of the draws, b = 4.5, v = 0.5.
    found = combine([1.0, 5.0, 3.0], [0.25, 0.5, 0.75], draw_of_dataset=["a", "b", "a"])
    assert (found.estimate, found.variance) == (3.5, 4.5 / 2 + 0.5)
    assert found.df == pytest.approx((1 + 0.5 * 2 / 4.5) ** 2, rel=1e-15)


@given(results, st.integers(1, 4))
@few
def test_copies_of_a_dataset_add_nothing(result, copies):
    q, v = result
    draws = list(range(len(q))) * copies
    repeated = combine(q * copies, v * copies, draw_of_dataset=draws)
    once = combine(q, v)
    assert repeated.estimate == pytest.approx(once.estimate, rel=1e-13, abs=1e-13)
    assert repeated.variance == pytest.approx(once.variance, rel=1e-13)
    assert repeated.df == pytest.approx(once.df, rel=1e-9)


@pytest.mark.runs
def test_intervals_cover_where_datasets_share_draws_and_are_known_to():
    """Nominal 95 %, of 2000 intervals; with the draws left out of account they cover less."""
    random = np.random.default_rng(12)
    of, covered, naive = np.arange(12) % 4, 0, 0
    for _ in range(2000):
        centre = random.normal(0, 1)  # the confidential estimate, of variance 1 around 0
        q = centre + random.normal(0, 1.5, 4)[of] + random.normal(0, 0.7, 12)
        low, high = combine(q, np.ones(12), draw_of_dataset=of).interval()
        covered += low <= 0 <= high
        low, high = combine(q, np.ones(12)).interval()
        naive += low <= 0 <= high
    assert 0.935 < covered / 2000 < 0.975
    assert naive / 2000 < 0.925


def test_datasets_of_one_draw_get_no_interval():
    """Their spread has nothing of the draw: an interval from it would cover far too seldom."""
    random = np.random.default_rng(13)
    covered = 0
    for _ in range(2000):
        q = random.normal(0, 1) + random.normal(0, 1) + random.normal(0, 0.7, 5)
        low, high = combine(q, np.ones(5)).interval()
        covered += low <= 0 <= high
    assert covered / 2000 < 0.9
    with refused("datasets-of-one-draw", draws=5):
        combine(q, np.ones(5), draw_of_dataset=[1] * 5)
    table = pd.DataFrame(regression_table(1))
    with refused("datasets-of-one-draw", draws=2):
        combine_formula([table, table], "income ~ age", draw_of_dataset=[1, 1])
    with refused("rule-needs-draw-each"):
        combine([1.0, 2.0, 3.0], np.ones(3), kind="full", draw_of_dataset=[1, 1, 2])
    with refused("draw-of-dataset-length", labels=2, datasets=3):
        combine([1.0, 2.0, 3.0], np.ones(3), draw_of_dataset=[1, 2])


def regression_table(seed):
    random = np.random.default_rng(seed)
    region = random.permutation(np.repeat(["a", "b", "c"], 20))
    age = random.integers(20, 70, 60)
    income = 1000.0 + 20.0 * age + 300.0 * (region == "b") + random.normal(0, 90, 60)
    return {"income": income, "age": age, "region": region}


@pytest.mark.runs
@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame])
def test_regression_over_tables(table):
    columns = [regression_table(seed) for seed in range(4)]
    found = combine_formula([table(c) for c in columns], "income ~ age + region")
    assert list(found) == ["(Intercept)", "age", "regionb", "regionc"]
    estimates, variances = [], []
    for c in columns:
        design = np.column_stack([np.ones(60), c["age"], c["region"] == "b", c["region"] == "c"])
        coefficients, rss, _, _ = np.linalg.lstsq(design.astype(float), c["income"], rcond=None)
        estimates.append(coefficients[1])
        inverse = np.linalg.inv(design.T.astype(float) @ design)
        variances.append(rss[0] / 56 * inverse[1, 1])
    wanted = combine(estimates, variances)
    assert found["age"].estimate == pytest.approx(wanted.estimate, rel=1e-10)
    assert found["age"].variance == pytest.approx(wanted.variance, rel=1e-9)
    same = combine_formula([table(columns[0])] * 3, "income ~ age")
    alone = fit_formula(table(columns[0]), "income ~ age")
    assert same["age"].estimate == pytest.approx(alone.coefficients[1], rel=1e-14)
    assert same["age"].variance == pytest.approx(alone.variances[1], rel=1e-14)


def test_a_call_before_the_tilde_is_the_column_computed_first():
    tables = [pd.DataFrame(regression_table(seed)) for seed in range(3)]
    found = combine_formula(tables, "log(income + 1) ~ age * region")
    computed = [table.assign(logged=np.log(table["income"] + 1)) for table in tables]
    assert found == combine_formula(computed, "logged ~ age * region")
    with refused("formula-outcome-not-numeric"):
        combine_formula(tables, "factor(region) ~ age")


def test_bad_options():
    with refused("not-a-choice", name="kind"):
        combine([1.0, 2.0], [1.0, 1.0], kind="half")
    with refused("not-above-0", name="size_ratio"):
        combine([1.0, 2.0], [1.0, 1.0], size_ratio=0.0)
    with refused("not-strictly-between-0-and-1", name="level"):
        combine([1.0, 2.0], [1.0, 1.0]).interval(1.0)


def test_bad_tables():
    table = pd.DataFrame(regression_table(1))
    with refused("too-few-datasets", datasets=1):
        combine_formula([table], "income ~ age")
    with refused("formula-without-outcome"):
        combine_formula([table, table], "~ age")
    with refused("columns-lacking", role="formula"):
        combine_formula([table.rename(columns={"income": "incme"}), table], "incme ~ age")
    other = table[table["region"] != "c"]
    with refused("designs-differ"):
        combine_formula([table, other], "income ~ region")
    with refused("regression-too-few-records", k=2, n=2):
        least_squares(np.ones((2, 2)), np.ones(2))


@pytest.mark.parametrize("name", RULES)
def test_a_rule_says_in_words_what_it_computes(name: str) -> None:
    """The texts of pages and of R's program, evaluated, are T and its degrees of freedom."""
    rule = RULES[name]
    of = {"of": name} if rule.words.startswith("imputed") else {"kind": name}
    found = combine([1.0, 2.0, 4.0], [0.5, 0.25, 0.75], **of)
    known = {"b": np.var([1.0, 2.0, 4.0], ddof=1), "v": 0.5, "m": 3}
    spread = eval(rule.spread, known)
    total = eval(f"{spread}{rule.within}", known)
    assert found.variance == pytest.approx(total)
    assert found.df == pytest.approx(2 * (total / spread) ** 2)
    written, degrees = rule.formula.replace("\u2212", "-").split("; ")
    assert written == f"T = {rule.spread}{rule.within}".replace(" * ", " ")
    assert degrees == "degrees of freedom (m - 1)" + (
        f"(T / ({rule.spread.replace(' * ', ' ')}))\u00b2" if rule.within else ""
    )
