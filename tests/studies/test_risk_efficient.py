"""The risk-efficient study: the paper's data, its figures, and a small run of the whole."""

from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pyvws_studies.registry import STUDIES, find_study
from pyvws_studies.replicates import run_study
from pyvws_studies.risk_efficient import SETTINGS, STUDY, keys
from pyvws_studies.risk_efficient_comparison import (
    DATA_ROW,
    PUBLISHED,
    compare,
    differences,
    simulate,
    statistics,
)
from report_text import report_text

from pyvws.evaluation.bootstrap import bootstrap_interval
from pyvws.r_numbers import rarith

_SMALL = {**SETTINGS, "draws": 100, "warmup": 100, "bootstrap": 40}


def test_the_paper_s_row_of_the_data_is_that_of_seed_123() -> None:
    """Row D of Table 6, eight figures without a model: R's seed 123 gives all, 1234 none."""
    rows = {seed: statistics(SETTINGS, [simulate(SETTINGS, seed)]) for seed in (123, 1234)}
    same = {
        seed: sum(f"{row[name]:.2f}" == value for name, value in DATA_ROW.items())
        for seed, row in rows.items()
    }
    assert same == {123: 8, 1234: 0}


def test_statistics_are_those_of_the_bootstrap_function() -> None:
    settings = {**SETTINGS, "bootstrap": 30, "n": 200}
    rng = np.random.default_rng(3)
    datasets = [rng.poisson(100, 200).astype(float) for _ in range(3)]
    found = statistics(settings, datasets)
    for name, statistic in (("mean", rarith.mean), ("median", lambda v: float(np.median(v)))):
        interval = bootstrap_interval(datasets, statistic, n=200, replicates=30, seed=123)
        assert found[name] == interval.estimate
        assert found[f"{name}_lower"] == interval.lower
        assert found[f"{name}_upper"] == interval.upper
        assert found[f"{name}_length"] == interval.length


def test_published_figures_are_whole_and_agree_among_themselves() -> None:
    assert len(PUBLISHED) == 10 + 6 + 80
    assert len({(p.table, p.row, p.column) for p in PUBLISHED}) == len(PUBLISHED)
    # What two tables print is one figure.
    values: dict[Any, set[str]] = {}
    for shown in PUBLISHED:
        values.setdefault(astuple(shown)[4:], set()).add(shown.value)
    assert len(values) == 92
    assert all(len(said) == 1 for said in values.values())
    # A length is the distance of the ends, each rounded.
    of = {(p.row, p.column): float(p.value) for p in PUBLISHED if p.table == "Table 6"}
    for row, column in of:
        name = column.partition(":")[0]
        ends = of[row, f"{name}: upper"] - of[row, f"{name}: lower"]
        assert abs(of[row, f"{name}: length"] - ends) < 0.0151


def test_a_figure_stands_beside_the_replicates_of_its_own_data() -> None:
    rows = [
        {"data_seed": seed, "mechanism": "pairwise", "radius": 0.15, "datasets": 20}
        | {"u_m": u_m, "u_a": 0.0003}
        for seed, u_m in ((123, 0.0377), (123, 0.0379), (1234, 9.0))
    ]
    cells = {cell.column: cell for cell in compare(rows, 123)}
    assert cells["U_m"].mean == pytest.approx(0.0378)
    assert all(cell.inside for cell in cells.values())
    assert (cells["U_a"].low, cells["U_a"].high) == pytest.approx((0.00025, 0.00035))
    assert compare(rows, 1234) == []


def test_pairs_are_those_of_one_replicate() -> None:
    """Replicates far apart, in which pairwise weights lie 0.05 below marginal ones."""
    place = {"data_seed": 123, "radius": 0.15, "datasets": 20, "u_a": 0.0}
    rows = [
        {**place, "mechanism": name, "u_m": at + (0.0 if name == "pairwise" else 0.05)}
        for at in (0.1, 0.5, 0.9)
        for name in ("marginal", "pairwise")
    ]
    found = {(p.first, p.second, p.statistic): p for p in differences(rows, 123)}
    pair = found["Marginal", "Pairwise", "U_m"]
    assert (pair.mean, pair.high) == pytest.approx((-0.05, -0.05))
    assert pair.excludes_zero
    assert not found["Marginal", "Pairwise", "U_a"].excludes_zero


def test_keys_grow_with_the_replicates_and_the_registry_knows_the_study() -> None:
    assert keys(SETTINGS, 2) == [
        ("data", 123, 1),
        ("data", 1234, 1),
        ("data", 123, 2),
        ("data", 1234, 2),
    ]
    assert set(keys(SETTINGS, 2)) < set(keys(SETTINGS, 3))
    assert all(find_study(name).name == name for name in STUDIES)


@pytest.mark.draws
def test_a_small_study_shows_the_paper_s_order_and_resumes(tmp_path: Path) -> None:
    study, out = replace(STUDY, settings=_SMALL), tmp_path / "out"
    made = run_study(study, out, replicates=2, seed=1, jobs=2)
    rows = pl.read_csv(out / "replicates.csv")
    assert rows.height == 4 * 17
    assert rows["divergences"].max() == 0
    for (_seed, _replicate), part in rows.filter(datasets=20).group_by("data_seed", "replicate"):
        u_m = {(row["mechanism"], row["radius"]): row["u_m"] for row in part.to_dicts()}
        marginal = [u_m["marginal", r] for r in SETTINGS["radii"]]
        assert max(u_m["synthesizer", 0.15], u_m["pairwise", 0.15]) < 0.7 * min(marginal)
    one = rows.filter(mechanism="marginal", radius=0.2).group_by("datasets")
    lengths = dict(one.agg(pl.col("mean_length").mean()).iter_rows())
    assert lengths[1] < min(lengths[L] for L in (5, 10, 20, 30))
    assert pl.read_csv(out / "tables.csv").height == 2 * len(PUBLISHED)
    pairs = pl.read_csv(out / "pairs.csv")
    assert pairs.height == 2 * (3 * 2 + 2 * 2 + 8)
    assert (pairs["replicates"] == 2).all()
    figures = {f"figure-{number}.png" for number in (4, 6, 7)} | {"supplement-figure-4.png"}
    assert figures | {"risks.csv", "risks.png", "whack-a-mole.png"} < {
        path.name for path in out.iterdir()
    }
    said = report_text(made.report)
    for text in (
        "Table 5, data of R's seed 123",
        "Table 6, median, data of R's seed 1234",
        "M (L = 1)",
        "What the replicates tell apart, data of R's seed 1234",
        "Pairwise less Marginal",
    ):
        assert text in said
    before = (out / "replicates.csv").read_bytes()
    (out / "replicates" / "data-1234-2.json").unlink()
    again = run_study(study, out, replicates=2, seed=1, jobs=1)
    assert again.computed == 1
    assert (out / "replicates.csv").read_bytes() == before
