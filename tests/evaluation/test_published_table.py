"""Published tables: by hand, against their parts, empty cells, and Laplace figures."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import pyvws as vws
from pyvws import Column, Schema
from pyvws.commands.tabulate import table_page
from pyvws.evaluation.published_table import own_figures
from pyvws.evaluation.survey_estimates import survey_design, survey_mean, survey_quantile
from pyvws.mechanisms.histogram.laplace_sums import noisy_sums, seller_of_sums
from pyvws.privacy import seller
from pyvws.privacy.budget import Budget, noise_scale

pytestmark = pytest.mark.runs  # seconds of work

few = settings(max_examples=8, derandomize=True)
BY = {"area": ["a", "b", "none"], "sex": ["f", "m"]}
RANGES = {"pay": (0.0, 100.0), "w": (0.0, 10.0)}
ALL: dict[str, Any] = {
    "by": BY,
    "count": True,
    "total": "pay",
    "mean": ["pay"],
    "share": {"kind": ["x", "y", "z"]},
    "quantile": {"pay": [0.25, 0.5]},
    "weights": "w",
    "strata": "h",
    "clusters": "c",
}


def datasets(m: int = 3, n: int = 120, seed: int = 1) -> list[pd.DataFrame]:
    rng = np.random.default_rng(seed)
    return [
        pd.DataFrame(
            {
                "area": rng.choice(["a", "b", "elsewhere"], n),
                "sex": rng.choice(["f", "m"], n),
                "kind": rng.choice(["x", "y"], n),
                "pay": np.where(rng.random(n) < 0.1, np.nan, rng.normal(50, 10, n)),
                "w": rng.uniform(1, 9, n),
                "h": np.arange(n) % 3,
                "c": rng.integers(0, 6, n),
            }
        )
        for _ in range(m)
    ]


def figure(table: vws.PublishedTable, *labels: str) -> Any:
    (found,) = (
        one for one in table.figures if (one.statistic, one.column, one.point, *one.cell) == labels
    )
    return found


def test_units_with_ids_are_clusters_unless_a_record_has_none() -> None:
    """Records that are doubled within their units are no more sure than one of each."""
    single = [one.assign(home=np.arange(len(one))) for one in datasets()]
    doubled = [pd.concat([one, one]) for one in single]
    schema = Schema({"home": Column(role="id"), "pay": Column(model="normal")}, unit="home")
    asked: dict[str, Any] = {"by": BY, "mean": "pay"}
    once = vws.tabulate(single, **asked).columns["standard_error"]
    assert vws.tabulate(doubled, schema=schema, **asked).columns["standard_error"] == (
        pytest.approx(once, nan_ok=True)
    )
    unlinked = [one.assign(home=one["home"].where(one["home"] != 5)) for one in doubled]
    alone = vws.tabulate(unlinked, schema=schema, **asked).columns["standard_error"]
    assert alone == vws.tabulate(doubled, **asked).columns["standard_error"] != once


@pytest.mark.parametrize("family", ["gaussian", "logistic", "poisson"])
def test_regressions_of_doubled_units_are_no_more_sure(family: Any) -> None:
    single = [
        one.dropna().assign(home=lambda x: np.arange(len(x)), yes=lambda x: x["c"] % 2)
        for one in datasets()
    ]
    schema = Schema({"home": Column(role="id")}, unit="home")
    asked: dict[str, Any] = {"formula": "yes ~ pay + w", "family": family, "schema": schema}
    once = vws.combine_formula(single, **asked)
    twice = vws.combine_formula([pd.concat([one, one]) for one in single], **asked)
    for name, own in once.items():
        assert twice[name].variance == pytest.approx(own.variance, rel=1e-6)
    with refused("regression-of-one-unit", unit="home"):
        vws.combine_formula([one.assign(home=1) for one in single], **asked)


def test_two_small_tables_by_hand() -> None:
    first = pd.DataFrame({"g": ["a", "a", "b"], "y": [1.0, 3.0, 8.0]})
    second = pd.DataFrame({"g": ["a", "a", "b"], "y": [2.0, 4.0, 9.0]})
    found = vws.tabulate([first, second], by={"g": ["a", "b"]}, mean="y", count=True)
    one = figure(found, "mean", "y", "", "a")
    # Estimates 2 and 3, b = 1/2. Linearised values of "a" -1/2, 1/2, 0: v = 3/2 * 1/2 = 3/4.
    assert one.estimate == 2.5
    assert one.standard_error == pytest.approx(np.sqrt(0.5 / 2 + 0.75))
    assert one.df == pytest.approx((1 + 2 * 0.75 / 0.5) ** 2)
    assert (one.records, one.empty) == (2.0, 0)
    assert figure(found, "count", "", "", "b").estimate == 1.0
    assert found.outside == 0.0


@given(st.integers(0, 2**32 - 1), st.sampled_from(["partial", "full"]))
@few
def test_every_figure_against_its_parts(seed: int, kind: Any) -> None:
    """Estimates of each dataset by themselves, joined by `combine`; weights, strata, missing."""
    made = datasets(n=60, seed=seed)
    found = vws.tabulate(made, **ALL, kind=kind, level=0.9)
    assert len(found.figures) == 6 * (1 + 1 + 1 + 3 + 2)
    for one in found.figures:
        estimates, variances = [], []
        for table in made:
            design = survey_design(table["w"], table["h"], table["c"])
            inside = (table["area"] == one.cell[0]) & (table["sex"] == one.cell[1])
            if one.column == "pay":
                inside &= table["pay"].notna()
            rows = np.flatnonzero(inside)
            y = table["pay"].to_numpy()[rows]
            if one.statistic == "quantile":
                part = survey_quantile(y, float(one.point), design, rows)
            elif one.statistic == "share":
                part = survey_mean(table["kind"].to_numpy()[rows] == one.point, design, rows)
            else:
                y = y if one.column else np.ones(len(rows))
                part = survey_mean(y, design, rows)
                if one.statistic != "mean":
                    assert one.estimate == pytest.approx(
                        np.mean(
                            [
                                np.sum(
                                    (t["w"] * (t["pay"].fillna(0) if one.column else 1))[
                                        (t["area"] == one.cell[0]) & (t["sex"] == one.cell[1])
                                    ]
                                )
                                for t in made
                            ]
                        )
                    )
                    break
            estimates.append(part.estimate)
            variances.append(part.variance)
        else:
            if not np.isfinite([*estimates, *variances]).all():
                assert np.isnan(one.standard_error)
                continue
            whole = vws.combine(estimates, variances, kind=kind)
            assert one.estimate == pytest.approx(whole.estimate)
            assert one.standard_error == pytest.approx(np.sqrt(whole.variance))
            assert (one.lower, one.upper) == pytest.approx(whole.interval(0.9))


@few
@given(st.integers(0, 2**32 - 1))
def test_a_table_s_own_figures_are_those_of_it_twice(seed: int) -> None:
    (table,) = datasets(1, seed=seed)
    twice = vws.tabulate([table, table], **ALL).figures
    wanted = [(one.estimate, one.lower, one.upper) for one in twice]
    np.testing.assert_array_equal(own_figures(table, **ALL), wanted)


def test_an_empty_cell_is_shown_as_such() -> None:
    found = vws.tabulate(datasets(), **ALL)
    count = figure(found, "count", "", "", "none", "f")
    assert (count.estimate, count.records, count.empty) == (0.0, 0.0, 3)
    for words in (("mean", "pay", ""), ("share", "kind", "x"), ("quantile", "pay", "0.5")):
        one = figure(found, *words, "none", "f")
        assert np.isnan([one.estimate, one.standard_error, one.lower]).all()
        assert one.empty == 3
    assert figure(found, "share", "kind", "z", "a", "f").estimate == 0.0
    assert 0.2 < found.outside < 0.5


def test_a_cell_that_one_dataset_lacks_has_no_estimate() -> None:
    first, second, third = datasets()
    second = second[second["area"] != "b"]
    one = figure(vws.tabulate([first, second, third], **ALL), "mean", "pay", "", "b", "m")
    assert np.isnan(one.estimate)
    assert one.empty == 1


def test_pandas_and_polars_give_the_same() -> None:
    made = datasets()
    first = vws.tabulate(made, **ALL)
    second = vws.tabulate([pl.from_pandas(one) for one in made], **ALL)
    assert isinstance(first.frame, pd.DataFrame)
    assert isinstance(second.frame, pl.DataFrame)
    pd.testing.assert_frame_equal(first.frame, second.frame.to_pandas())
    assert list(first.frame)[:5] == ["area", "sex", "statistic", "column", "point"]
    assert "laplace" not in first.frame


def test_order_and_the_names_of_levels_change_nothing() -> None:
    made = datasets()
    turned = [one.iloc[::-1] for one in made]
    first, second = vws.tabulate(made, **ALL), vws.tabulate(turned, **ALL)
    for one, other in zip(first.figures, second.figures, strict=True):
        assert one.estimate == pytest.approx(other.estimate, nan_ok=True)
        assert one.standard_error == pytest.approx(other.standard_error, nan_ok=True)
    whole = [one.assign(area=one["area"].map({"a": 1, "b": 2}).fillna(9)) for one in made]
    third = vws.tabulate(whole, **{**ALL, "by": {"area": [1, 2, 3], "sex": ["f", "m"]}})
    assert [one.estimate for one in third.figures] == pytest.approx(
        [one.estimate for one in first.figures], nan_ok=True
    )


def test_levels_and_missing_codes_of_a_schema() -> None:
    schema = Schema(
        {
            "area": Column(role="public", levels=("a", "b")),
            "pay": Column(model="normal", missing="-1"),
        }
    )
    made = [one.assign(pay=one["pay"].fillna(-1)) for one in datasets()]
    found = vws.tabulate(made, by="area", mean="pay", schema=schema)
    expected = vws.tabulate(datasets(), by={"area": ["a", "b"]}, mean="pay")
    assert [one.estimate for one in found.figures] == [one.estimate for one in expected.figures]


def test_datasets_of_one_draw_are_averaged_first() -> None:
    made = datasets(4)
    found = vws.tabulate(made, mean="pay", draw_of_dataset=[1, 1, 2, 2])
    (one,) = found.figures
    apart = [vws.tabulate([table, table], mean="pay").figures[0] for table in made]
    q = [each.estimate for each in apart]
    whole = vws.combine(q, [each.standard_error**2 for each in apart], draw_of_dataset=[1, 1, 2, 2])
    assert (one.estimate, one.df) == pytest.approx((whole.estimate, whole.df))
    with refused("datasets-of-one-draw"):
        vws.tabulate(made, mean="pay", draw_of_dataset=[1, 1, 1, 1])


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({}, refused("no-statistic")),
        ({"mean": "pey"}, refused("columns-lacking")),
        ({"mean": "pay", "by": "area"}, refused("levels-not-public", name="area")),
        ({"mean": "pay", "by": {"area": []}}, refused("levels-not-public", name="area")),
        ({"mean": "pay", "by": {"area": ["a", "a"]}}, refused("levels-not-public", name="area")),
        ({"share": "kind"}, refused("levels-not-public", name="kind")),
        ({"quantile": {"pay": 1.0}}, refused("not-strictly-between-0-and-1", name="quantile")),
        ({"quantile": "pay"}, refused("quantile-levels-missing")),
        ({"mean": "kind"}, refused("cells-no-code")),
        ({"mean": "pay", "weights": "v"}, refused("columns-lacking", role="weights")),
        ({"mean": "pay", "weights": "pay"}, refused("column-missing-or-infinite")),
        ({"mean": "pay", "kind": "both"}, refused("not-a-choice")),
        ({"mean": "pay", "level": 95}, refused("not-strictly-between-0-and-1", name="level")),
        ({"mean": "pay", "epsilon": 1.0}, refused("laplace-without-original")),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], refusal: Any) -> None:
    with refusal:
        vws.tabulate(datasets(), **options)


# The Laplace mechanism


def silent(counts: Any, *, scale: float) -> Any:
    assert scale > 0
    return counts


def test_without_noise_the_figures_are_those_of_the_records(monkeypatch: Any) -> None:
    monkeypatch.setattr(seller, "add_discrete_laplace", silent)
    (original,) = datasets(1, n=2000, seed=9)
    given_too = {**ALL, "quantile": {"pay": [0.5]}}
    found = vws.tabulate(datasets(), **given_too, original=original, epsilon=2.0, ranges=RANGES)
    plain = vws.tabulate([original, original], **given_too)
    for one, expected in zip(found.figures, plain.figures, strict=True):
        if "none" in one.cell:
            continue
        near = {"quantile": 0.05}.get(one.statistic, 1e-4)
        assert one.laplace == pytest.approx(expected.estimate, rel=near, abs=1e-6), one
    assert found.epsilon == 2.0
    nobody = figure(found, "mean", "pay", "", "none", "f")
    assert nobody.laplace == 50.0  # The middle of the range.
    assert np.isnan(nobody.laplace_noise)
    assert figure(found, "share", "kind", "x", "none", "f").laplace == pytest.approx(1 / 3)


def test_values_outside_their_range_count_as_its_end(monkeypatch: Any) -> None:
    monkeypatch.setattr(seller, "add_discrete_laplace", silent)
    wild = pd.DataFrame({"pay": [-1e9, 200.0, 50.0], "w": [1.0, 1e9, 1.0]})
    found = vws.tabulate(
        datasets(), total="pay", weights="w", original=wild, epsilon=1.0, ranges=RANGES
    )
    assert found.figures[0].laplace == pytest.approx(0.0 + 10 * 100.0 + 50.0, rel=1e-5)


@given(st.integers(0, 2**32 - 1), st.sampled_from([(0.0, 10.0), (-3.0, 1.0), (2.0, 2.5)]))
@few
def test_a_record_less_changes_the_sums_by_what_the_noise_covers(
    seed: int, ends: tuple[float, float]
) -> None:
    """|difference| / scale summed over the cells is at most epsilon, also beyond the range."""
    rng = np.random.default_rng(seed)
    n, epsilon, seen = 30, 0.7, []

    def noise(counts: Any, *, scale: float) -> Any:
        seen.append((np.array(counts), scale))
        return counts

    values = np.concatenate([rng.normal(0, 1e3, n // 2), rng.uniform(*ends, n // 2)])
    cells = rng.integers(-1, 4, n)
    left = int(rng.integers(n))
    for keep in (np.arange(n), np.delete(np.arange(n), left)):
        sold = seller_of_sums(Budget(epsilon=epsilon), {"all": Fraction(1)}, add=noise)
        noisy_sums(sold, "all", values[keep], cells[keep], count=4, range=ends)
    (first, scale), (second, again) = seen
    assert scale == again
    assert first.dtype.kind == "i"
    assert np.abs(first - second).sum() / scale <= epsilon


def test_the_parts_of_epsilon_add_up(monkeypatch: Any) -> None:
    """Of every table of neighbours: the loss of all noisy sums together is at most epsilon."""
    seen: list[tuple[Any, float]] = []

    def noise(counts: Any, *, scale: float) -> Any:
        seen.append((np.array(counts), scale))
        return counts

    monkeypatch.setattr(seller, "add_discrete_laplace", noise)
    (original,) = datasets(1, n=60, seed=3)
    losses = []
    for left in range(0, 60, 7):
        seen.clear()
        for table in (original, original.drop(index=left)):
            vws.tabulate(datasets(), **ALL, original=table, epsilon=1.5, ranges=RANGES)
        half = len(seen) // 2
        assert half == 6  # One of each statistic but the mean, which takes two.
        pairs = zip(seen[:half], seen[half:], strict=True)
        losses.append(sum(np.abs(a - b).sum() / scale for (a, scale), (b, _) in pairs))
    assert max(losses) <= 1.5
    assert max(losses) > 0.1


HOMES = vws.Schema(
    {"home": vws.Column(role="id"), "kind": vws.Column(model="table", levels=("x", "y"))},
    unit="home",
    members={"sizes": [1, 3], "summaries": {"persons": "size"}},
)


def test_a_unit_less_costs_no_more_than_epsilon(monkeypatch: Any) -> None:
    """Neighbours lack all records of a home, which may lie in one cell."""
    seen: list[tuple[Any, float]] = []

    def noise(counts: Any, *, scale: float) -> Any:
        seen.append((np.array(counts), scale))
        return counts

    monkeypatch.setattr(seller, "add_discrete_laplace", noise)
    made = [pd.DataFrame({"kind": ["x", "y", "x"]})] * 2
    homes = pd.DataFrame({"home": np.repeat(["a", "b", "c"], [3, 2, 1]), "kind": "x"})
    for table in (homes, homes[homes["home"] != "a"]):
        said = vws.tabulate(made, by="kind", count=True, schema=HOMES, original=table, epsilon=1.5)
        assert said.unit_of_laplace == "all records of one home"
        assert "of which one lacks all records of one home of" in table_page(said, weights=None)
        assert list(said.frame.iloc[0])[-4:] == [
            1.5,
            "leave-one-out",
            "all records of one home",
            "1",
        ]
    (first, scale), (second, _) = seen
    assert np.abs(first - second).sum() / scale == pytest.approx(1.5)
    asked: dict[str, Any] = {"by": {"kind": ["x", "y"]}, "count": True}
    plain = vws.tabulate(made, **asked, original=homes, epsilon=1.5)
    assert plain.unit_of_laplace == "one record"
    assert "of which one lacks one record of" in table_page(plain, weights=None)
    assert vws.tabulate(made, **asked).unit_of_laplace is None


def exponents(**more: Any) -> vws.Schema:
    columns = {"kind": vws.Column(model="table", levels=("x", "y")), **more}
    columns["w"] = vws.Column(role="drop", range=(0.0, 4.0))
    return vws.Schema(columns, survey_weight="w", mean_survey_weight=2.0)


SAMPLE = pd.DataFrame({"kind": list("xxxyy"), "area": "a", "w": [4.0, 4.0, 9.0, 1.0, 1.0]})


def test_laplace_figures_follow_the_population_where_the_datasets_do(monkeypatch: Any) -> None:
    """Exponents w / 2 up to 2: counts are sums of w / 2, and a record may weigh 2."""
    monkeypatch.setattr(seller, "add_discrete_laplace", silent)
    made = [pd.DataFrame({"kind": list("xxxxy")})] * 2
    given: dict[str, Any] = {"by": "kind", "count": True, "original": SAMPLE, "epsilon": 0.5}
    found = vws.tabulate(made, schema=exponents(), **given)
    assert [one.estimate for one in found.figures] == [4.0, 1.0]
    assert [one.laplace for one in found.figures] == [6.0, 1.0]
    assert found.figures[0].laplace_noise == pytest.approx(2.0 * np.sqrt(2.0) / 0.5)
    assert found.weights_of_laplace == "w / 2"
    said = "So each record counts as w / 2 in the Laplace figures."
    assert found.remark_on_laplace.endswith(said)
    assert said in table_page(found, weights=None)


def test_laplace_figures_that_count_otherwise_say_so(monkeypatch: Any) -> None:
    monkeypatch.setattr(seller, "add_discrete_laplace", silent)
    made = [SAMPLE] * 2
    asked: dict[str, Any] = {"by": "kind", "count": True, "original": SAMPLE, "epsilon": 0.5}
    area = vws.Column(role="public", levels=("a", "b"))
    found = vws.tabulate(made, schema=exponents(area=area), **asked)
    assert [one.laplace for one in found.figures] == [3.0, 2.0]
    assert "counts once in the Laplace figures, so the two need not be alike" in (
        found.remark_on_laplace
    )
    weighed = vws.tabulate(made, schema=exponents(), weights="w", **asked)
    assert (weighed.weights_of_laplace, weighed.remark_on_laplace) == ("w", "")
    plain = replace(exponents(), mean_survey_weight=None)
    with refused("laplace-weights-as-exponents"):
        vws.tabulate(made, schema=plain, **asked)
    open_range = vws.Column(role="drop", range=(0.0, 4.0), review=("range",))
    columns = {**exponents().columns, "w": open_range}
    with refused("laplace-entry-under-review", name="w", entry="range"):
        vws.tabulate(made, schema=replace(exponents(), columns=columns), **asked)
    del asked["original"], asked["epsilon"]
    assert "epsilon_of_laplace" not in vws.tabulate(made, schema=plain, **asked).columns


@pytest.mark.parametrize(
    ("homes", "schema", "key"),
    [
        (["a"] * 4, HOMES, "original-unit-too-large"),
        ([1, "1", 1, "1"], HOMES, "original-unit-too-large"),
        (["a", None, "b", "b"], HOMES, "empty-cells"),
        (["a"] * 4, replace(HOMES, members=None), "laplace-records-of-unit"),
    ],
)
def test_units_without_a_public_size_have_no_laplace_figures(
    homes: Any, schema: vws.Schema, key: str
) -> None:
    original = pd.DataFrame({"home": homes, "kind": "x"})
    made = [pd.DataFrame({"kind": ["x", "y"]})] * 2
    with refused(key):
        vws.tabulate(made, by="kind", count=True, schema=schema, original=original, epsilon=1.0)


def test_noise_is_secret_and_as_large_as_said() -> None:
    pytest.importorskip("opendp")
    (original,) = datasets(1)
    runs = [
        vws.tabulate(datasets(2), count=True, original=original, epsilon=0.5).figures[0]
        for _ in range(60)
    ]
    made = np.array([one.laplace for one in runs])
    assert len(set(made)) > 50
    assert runs[0].laplace_noise == pytest.approx(np.sqrt(2) * noise_scale(0.5, "loo"))
    # The mean of 60 figures has a standard error of noise / sqrt(60); 5 of them.
    assert abs(made.mean() - len(original)) < 5 * runs[0].laplace_noise / np.sqrt(60)


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"mean": "pay"}, refused("laplace-without-epsilon")),
        ({"mean": "pay", "epsilon": 1.0}, refused("laplace-without-range", name="pay")),
        (
            {"count": True, "weights": "w", "epsilon": 1.0},
            refused("laplace-without-range", name="w"),
        ),
        ({"count": True, "epsilon": 0.0}, refused("not-above-0")),
        (
            {"count": True, "weights": "w", "epsilon": 1.0, "ranges": {"w": (-1.0, 2.0)}},
            refused("weight-range-negative"),
        ),
    ],
)
def test_laplace_figures_without_public_ranges_are_refused(
    options: dict[str, Any], refusal: Any
) -> None:
    with refusal:
        vws.tabulate(datasets(), **options, original=datasets(1)[0])


@pytest.mark.parametrize("entry", ["range", "levels", "missing"])
def test_laplace_figures_by_a_schema_under_review_are_refused(monkeypatch: Any, entry: str) -> None:
    """Of what the table takes from the schema; what is given beside it is public."""
    monkeypatch.setattr(seller, "add_discrete_laplace", silent)
    review = (entry,)
    pay: dict[str, Any] = {"role": "public", "range": [0, 100], "missing": "99"}
    kind: dict[str, Any] = {"role": "public", "levels": ["x", "y", "z"]}
    columns = {"pay": pay, "kind": kind}
    of = "kind" if entry == "levels" else "pay"
    columns[of]["review"] = review
    schema = vws.Schema({name: vws.Column(**one) for name, one in columns.items()})
    made, (original,) = datasets(), datasets(1)
    given: dict[str, Any] = {"schema": schema, "original": original, "epsilon": 1.0}
    with refused("laplace-entry-under-review"):
        vws.tabulate(made, by="kind", mean="pay", share="kind", **given)
    ranges = {"pay": (0.0, 100.0)} if entry == "range" else None
    public = {"kind": ["x", "y", "z"]}
    with refused("laplace-schema-proposed"):
        vws.tabulate(made, by=public, count=True, **{**given, "schema": schema.signed(False)})
    if entry != "missing":
        vws.tabulate(made, by=public, mean="pay", **given, ranges=ranges)
    vws.tabulate(made, by=public, count=True, **given)
    vws.tabulate(made, by="kind", mean="pay", schema=schema)


@pytest.mark.parametrize("typed", [pl.Date, pl.Datetime, pl.String])
@pytest.mark.parametrize("pandas", [False, True])
def test_levels_of_dates_are_cells_whatever_their_type(typed: Any, pandas: bool) -> None:
    text = pl.Series(["2000-01-01", "2001-05-06", "2000-01-01", None])
    days = text if typed == pl.String else text.str.to_date().cast(typed)
    table: Any = pl.DataFrame({"day": days})
    table = table.to_pandas() if pandas else table
    found = vws.tabulate([table, table], by={"day": ["2000-01-01", "2001-05-06"]}, count=True)
    assert [one.estimate for one in found.figures] == [2.0, 1.0]


@pytest.mark.parametrize("statistic", [{"total": "d"}, {"mean": "d"}, {"quantile": {"d": [0.5]}}])
def test_totals_of_dates_are_refused(statistic: dict[str, Any]) -> None:
    days = pl.Series("d", ["2000-01-01", "2001-05-06"])
    dates = Column(role="public", days_since="2000-01-01", range=("2000-01-01", "2005-01-01"))
    for column, schema in ((days, Schema(columns={"d": dates})), (days.str.to_date(), None)):
        with refused("dates-have-no-total", name="d"):
            vws.tabulate([column.to_frame()] * 2, schema=schema, **statistic)


def test_records_are_those_that_an_estimate_is_of() -> None:
    """A page, a csv and the terminal print these numbers."""
    first = pd.DataFrame({"g": list("aaabb"), "y": [1, 2, None, None, None], "s": list("uu-v-")})
    second = pd.DataFrame({"g": list("aaabb"), "y": [1, 2, 3, 4, None], "s": list("uvuvv")})
    found = vws.tabulate(
        [first, second],
        by={"g": ["a", "b"]},
        count=True,
        total="y",
        mean="y",
        share={"s": ["u", "v"]},
        quantile={"y": [0.5]},
    )
    used = {(one.statistic, *one.cell): (one.records, one.empty) for one in found.figures}
    assert used == {
        **{("count", "a"): (3.0, 0), ("count", "b"): (2.0, 0)},
        **{(kind, "a"): (2.5, 0) for kind in ("total", "mean", "share", "quantile")},
        **{(kind, "b"): (0.5, 1) for kind in ("total", "mean", "quantile")},
        ("share", "b"): (1.5, 0),
    }
