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
from pyvws.evaluation.survey_estimates import survey_design, survey_mean, survey_total
from pyvws.evaluation.whole_tables import COLUMNS

C, AREAS, POOR = 12, ("a", "b", "c"), ("no", "yes")
SCHEMA = vws.Schema(
    {
        "psu": vws.Column(model="nominal", levels=tuple(map(str, range(C)))),
        "area": vws.Column(model="nominal", levels=AREAS),
        "poor": vws.Column(model="nominal", levels=POOR),
    }
)
SIZES = {"psu": C, "area": len(AREAS), "poor": len(POOR)}
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
    assert count["standard_error"] ** 2 == pytest.approx(total.variance, rel=1e-6)


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
