"""Variances between public clusters, from noisy counts of cluster by column."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyvws as vws
from pyvws.evaluation.combining_rules import NoisyCells
from pyvws.evaluation.counted_cells import CountedFigures
from pyvws.evaluation.public_cells import CellStatistic
from pyvws.evaluation.published_table import CellFigure
from pyvws.evaluation.survey_estimates import (
    survey_design,
    survey_mean,
    survey_quantile,
    survey_total,
)
from pyvws.evaluation.whole_tables import COLUMNS

C, AREAS, POOR = 12, ("a", "b", "c"), ("no", "yes")
SCHEMA = vws.Schema(
    {
        "psu": vws.Column(model="nominal", levels=tuple(map(str, range(C)))),
        "area": vws.Column(model="nominal", levels=AREAS),
        "poor": vws.Column(model="nominal", levels=POOR),
    }
)
SIZES = {"psu": C, "area": len(AREAS), "poor": len(POOR), "pay": 4}
PAIRS = (("psu", "poor"), ("psu", "area"), ("area", "poor"))
SHARE = CellStatistic("share", "poor", POOR)


def sample(seed: int, *, per: int = 60, apart: float = 1.0) -> dict[str, np.ndarray]:
    """Codes of records in clusters that differ in their share of poor people."""
    rng = np.random.default_rng(seed)
    psu = np.repeat(np.arange(C), rng.integers(per // 2, 2 * per, C))
    chance = 1.0 / (1.0 + np.exp(-apart * rng.normal(size=C)))[psu]
    area = rng.integers(0, 3, len(psu))
    return {"psu": psu, "area": area, "poor": (rng.random(len(psu)) < chance).astype(int)}


def noisy(
    table: dict[str, np.ndarray], scale: float, rng: np.random.Generator, sets=PAIRS
) -> NoisyCells:
    """Its noisy counts; the number of records is exact."""
    rows = [("records", 0, "", len(table["psu"]), 0.0)]
    for names in sets:
        shape = [SIZES[name] for name in names]
        counts = np.zeros(shape)
        np.add.at(counts, tuple(table[name] for name in names), 1)
        counts += np.rint(rng.normal(0.0, scale, shape)) if scale >= 1.0 else 0.0
        own = enumerate(counts.ravel().tolist())
        rows += [(":".join(names), cell, "", int(x), scale) for cell, x in own]
    return NoisyCells(pl.DataFrame(rows, schema=list(COLUMNS), orient="row"), "gaussian", ())


def figures(cells: NoisyCells, of: str = "population", strata: str | None = None) -> CountedFigures:
    return CountedFigures.read(cells, SCHEMA, of=of, level=0.95, clusters="psu", strata=strata)


@given(st.integers(0, 10**6))
def test_without_noise_variances_are_those_of_the_survey(seed: int) -> None:
    """Those of `survey_estimates`, which `pyvws validate` holds against R's package survey."""
    table = sample(seed)
    found = figures(noisy(table, 0.2, np.random.default_rng(0)))
    design = survey_design(np.ones(len(table["psu"])), None, table["psu"])
    own = survey_mean(table["poor"].astype(float), design)
    [_, one] = found.of_cell({}, SHARE) or []
    alone = own.estimate * (1 - own.estimate) / len(table["psu"])
    assert one["estimate"] == pytest.approx(own.estimate)
    assert one["standard_error"] ** 2 == pytest.approx(max(own.variance, alone), rel=1e-6)
    assert one["df"] == C - 1
    of_area = np.flatnonzero(table["area"] == 1)
    total = survey_total(np.ones(len(of_area)), design, of_area)
    [count] = found.of_cell({"area": "b"}, CellStatistic("count")) or []
    alone = total.estimate * (1.0 - total.estimate / len(table["psu"]))
    assert count["standard_error"] ** 2 == pytest.approx(max(total.variance, alone), rel=1e-6)


@given(st.integers(0, 10**6), st.integers(2, 3))
def test_without_noise_strata_are_those_of_the_survey_too(seed: int, strata: int) -> None:
    table = sample(seed)
    table["area"] = table["psu"] % strata
    found = figures(noisy(table, 0.2, np.random.default_rng(0)), strata="area")
    design = survey_design(np.ones(len(table["psu"])), table["area"], table["psu"])
    own = survey_mean(table["poor"].astype(float), design)
    [_, one] = found.of_cell({}, SHARE) or []
    alone = own.estimate * (1 - own.estimate) / len(table["psu"])
    assert one["standard_error"] ** 2 == pytest.approx(max(own.variance, alone), rel=1e-6)
    assert one["df"] == C - strata
    total = survey_total(table["poor"].astype(float), design)
    [count] = found.of_cell({"poor": "yes"}, CellStatistic("count")) or []
    alone = len(table["psu"]) * own.estimate * (1 - own.estimate)
    assert count["standard_error"] ** 2 == pytest.approx(max(total.variance, alone), rel=1e-6)


def test_a_cluster_alone_in_its_stratum_is_held_against_all() -> None:
    table = sample(2)
    table["area"] = np.minimum(table["psu"], 1)
    apart = noisy(table, 0.2, np.random.default_rng(0))
    [_, one] = figures(apart, strata="area").of_cell({}, SHARE) or []
    [_, without] = figures(apart).of_cell({}, SHARE) or []
    assert one["standard_error"] == pytest.approx(without["standard_error"], rel=0.15)
    assert (one["df"], without["df"]) == (C - 2, C - 1)
    lacking = noisy(table, 0.2, np.random.default_rng(0), sets=PAIRS[::2])
    assert figures(lacking, strata="area").of_cell({}, SHARE) is None


def test_a_share_in_a_cell_has_about_the_variance_of_the_survey() -> None:
    ratios = []
    for seed in range(40):
        table = sample(seed, per=150)
        [_, one] = (
            figures(noisy(table, 0.2, np.random.default_rng(0))).of_cell({"area": "b"}, SHARE) or []
        )
        rows = np.flatnonzero(table["area"] == 1)
        design = survey_design(np.ones(len(table["psu"])), None, table["psu"])
        own = survey_mean(table["poor"][rows].astype(float), design, rows)
        ratios.append(one["standard_error"] ** 2 / own.variance)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.15)


def test_noise_is_counted_once() -> None:
    """Over drawn noise the mean variance is that of the sample, and that of noise beside it."""
    table, rng = sample(3), np.random.default_rng(4)
    [_, exact] = figures(noisy(table, 0.2, rng)).of_cell({}, SHARE) or []
    found = [figures(noisy(table, 16.0, rng)).of_cell({}, SHARE) or [] for _ in range(300)]
    spread = np.var([own[1]["estimate"] for own in found])
    mean = np.mean([own[1]["standard_error"] ** 2 for own in found])
    assert mean == pytest.approx(exact["standard_error"] ** 2 + spread, rel=0.12)


def test_where_clusters_were_not_counted_by_column_a_figure_is_by_the_model() -> None:
    table, rng = sample(5), np.random.default_rng(6)
    lacking = figures(noisy(table, 2.0, rng, sets=PAIRS[1:]))
    assert lacking.of_cell({}, SHARE) is None
    assert lacking.of_cell({"area": "a"}, CellStatistic("count")) is not None
    assert figures(noisy(table, 2.0, rng, sets=(PAIRS[0], PAIRS[2]))).of_cell({}, SHARE)
    of_pairs = figures(noisy(table, 2.0, rng, sets=(PAIRS[0], PAIRS[2])))
    assert of_pairs.of_cell({"area": "a"}, SHARE) is None
    of_table = figures(noisy(table, 2.0, rng, sets=PAIRS[1:]), of="table")
    assert (of_table.of_cell({}, SHARE) or [])[0]["df"] == np.inf


PAYS = (1.0, 2.0, 4.0, 7.0)
NUMBERS = vws.Schema(
    {
        "psu": vws.Column(model="nominal", levels=tuple(map(str, range(C)))),
        "area": vws.Column(model="nominal", levels=AREAS),
        "pay": vws.Column(model="normal", range=(0.0, 8.0), cuts=(1.5, 3.0, 5.0)),
    }
)
PAID = (("psu", "pay"), ("psu", "area"), ("area", "pay"))


def paid(seed: int, *, per: int = 60, apart: float = 1.0) -> dict[str, np.ndarray]:
    """Records whose pay follows their cluster; each cell of pay has one amount."""
    table, rng = sample(seed, per=per), np.random.default_rng(seed)
    centre = apart * rng.normal(size=C)[table["psu"]] + rng.normal(size=len(table["psu"]))
    return {**table, "pay": np.digitize(centre, (-1.0, 0.0, 1.0))}


def rows_of(table: dict[str, np.ndarray], off: float | np.ndarray = 0.0) -> pl.DataFrame:
    codes = {"psu": table["psu"].astype(str), "area": np.array(AREAS)[table["area"]]}
    return pl.DataFrame({**codes, "pay": np.array(PAYS)[table["pay"]] + off})


def of_numbers(made: list[pl.DataFrame], cells: NoisyCells, **asked: object) -> list[CellFigure]:
    every = {"total": "pay", "mean": "pay", "quantile": {"pay": [0.4]}}
    known = {"schema": NUMBERS, "of": "population", "counted": cells, "clusters": "psu"}
    return list(vws.tabulate(made, **{**known, **every, **asked}).figures)  # type: ignore[arg-type]


@given(st.integers(0, 10**6), st.sampled_from([None, "area"]))
def test_without_noise_means_and_totals_are_those_of_the_survey(seed: int, strata: str) -> None:
    table = paid(seed)
    table["area"] = table["psu"] % 2 if strata else table["area"]
    cells = noisy(table, 0.2, np.random.default_rng(0), PAID)
    total, mean, quantile = of_numbers([rows_of(table)] * 2, cells, strata=strata)
    design = survey_design(
        np.ones(len(table["psu"])), table["area"] if strata else None, table["psu"]
    )
    single = survey_design(np.ones(len(table["psu"])))
    y = np.array(PAYS)[table["pay"]]
    for one, find in ((total, survey_total), (mean, survey_mean)):
        own = find(y, design)
        assert one.estimate == pytest.approx(own.estimate)
        least = find(y, single).variance
        assert one.standard_error**2 == pytest.approx(max(own.variance, least), rel=1e-6)
        assert one.df == pytest.approx(C - (2 if strata else 1))
    assert quantile.estimate == survey_quantile(y, 0.4, design).estimate


def drawn(cells: NoisyCells, scale: float, rng: np.random.Generator) -> list[pl.DataFrame]:
    """Rows with the noisy counts of cluster by pay under noise once more, as fits are drawn."""
    counts = cells.frame.filter(pl.col("set") == "psu:pay")["count"].to_numpy()  # type: ignore
    made = []
    for _ in range(3):
        near = np.maximum(0.0, np.rint(counts + rng.normal(0.0, scale, len(counts))))
        cell = np.repeat(np.arange(len(counts)), near.astype(int))
        area = rng.integers(0, 3, len(cell))
        codes = {"psu": cell // 4, "pay": cell % 4, "area": area}
        made.append(rows_of(codes, rng.uniform(-0.5, 0.5, len(cell))))
    return made


def test_means_totals_and_quantiles_count_noise_once() -> None:
    """Over samples of clusters: figures vary about as their standard errors say."""
    found, rng = [], np.random.default_rng(7)
    for seed in range(80):
        cells = noisy(paid(seed, per=200, apart=0.1), 32.0, rng, PAID)
        made = drawn(cells, 32.0, rng)
        found.append(of_numbers(made, cells) + of_numbers(made, cells, by="area", quantile=None))
    for several in zip(*found, strict=True):
        varies = np.var([own.estimate for own in several])
        ratio = np.mean([own.standard_error**2 for own in several]) / varies
        # Where clusters of rows give the variance, these are 1.5 to 1.6, 1.8 to 2 and 2.5.
        most = {"total": 1.25, "mean": 1.4, "quantile": 2.0}[several[0].statistic]
        assert 0.7 < ratio < most


@given(st.integers(0, 10**6))
def test_without_noise_strata_alone_are_those_of_the_survey(seed: int) -> None:
    table = sample(seed)
    cells = noisy(table, 0.2, np.random.default_rng(0))
    found = CountedFigures.read(cells, SCHEMA, of="population", level=0.95, strata="area")
    design, poor = survey_design(np.ones(len(table["psu"])), table["area"]), table["poor"] == 1
    of_b = np.flatnonzero(table["area"] == 1)
    wanted = [
        (found.of_cell({}, SHARE), survey_mean(poor, design)),
        (found.of_cell({"area": "b"}, SHARE), survey_mean(poor[of_b], design, of_b)),
        (found.of_cell({"poor": "yes"}, CellStatistic("count")), survey_total(poor, design)),
    ]
    for figures_of, own in wanted:
        one = (figures_of or [])[-1]
        assert one["estimate"] == pytest.approx(own.estimate)
        assert one["standard_error"] ** 2 == pytest.approx(own.variance, rel=1e-6)
    [one] = found.of_cell({"area": "b"}, CellStatistic("count")) or []
    assert one["standard_error"] == pytest.approx(0.0, abs=0.01)
    alone = CountedFigures.read(cells, SCHEMA, of="population", level=0.95)
    by_psu = [own.of_cell({"psu": "1"}, SHARE) for own in (found, alone)]
    assert by_psu[0] == by_psu[1]  # Not counted by stratum.


def test_strata_alone_count_noise_once() -> None:
    """Over drawn noise the mean variance is that of the sample, and that of noise beside it."""
    table, rng = sample(3), np.random.default_rng(4)
    asked = {"of": "population", "level": 0.95, "strata": "psu"}
    [_, exact] = CountedFigures.read(noisy(table, 0.2, rng), SCHEMA, **asked).of_cell({}, SHARE)
    found = [CountedFigures.read(noisy(table, 12.0, rng), SCHEMA, **asked) for _ in range(200)]
    several = [own.of_cell({}, SHARE)[1] for own in found]
    spread = np.var([own["estimate"] for own in several])
    mean = np.mean([own["standard_error"] ** 2 for own in several])
    assert mean == pytest.approx(exact["standard_error"] ** 2 + spread, rel=0.15)
