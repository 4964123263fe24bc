"""The contraction study: its data, its summary, a small run."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from pyvws_studies.contraction import (
    COLUMNS,
    MECHANISMS,
    SETTINGS,
    STUDY,
    differences,
    keys,
    simulate,
    summary,
)
from pyvws_studies.registry import find_study
from pyvws_studies.replicates import run_study
from report_text import report_text

from pyvws._base.resumable_jobs import Key
from pyvws.r_numbers.r_random import RRandom

_SMALL = {**SETTINGS, "draws": 200, "warmup": 150, "sizes": [100, 1000]}


def test_both_kinds_of_data_are_r_s() -> None:
    assert simulate(SETTINGS, "poisson", 5, 123).tolist() == [94, 111, 83, 101, 117]
    stream, by_hand = RRandom(7), []
    for _ in range(4):
        theta = 5.0 if stream.rmultinom(1, 1, [0.2, 0.8])[0, 0] else 20.0
        by_hand.append(float(stream.rnegbin(1, 100.0, theta)[0]))
    assert simulate(SETTINGS, "mixture", 4, 7).tolist() == by_hand
    y = simulate(SETTINGS, "mixture", 4000, 1)
    # Variance 100 + 100^2 (0.2 / 5 + 0.8 / 20) = 900.
    assert y.mean() == pytest.approx(100, abs=4 * 30 / 4000**0.5)
    assert y.std() == pytest.approx(30, rel=0.08)


def test_summary_of_three_databases_by_hand() -> None:
    settings = {"sizes": [100], "data": {"poisson": {"epsilon": 7.0}}, "mean": 100.0}
    rows = [
        {"data": "poisson", "n": 100, "mechanism": name, "lipschitz": bound, "mu": mu, "out": out}
        for name in MECHANISMS
        for bound, mu, out in ((3.0, 99.0, 0), (3.5, 100.0, 1), (4.0, 103.0, 5))
    ]
    line = summary(settings, rows)[0]
    assert (line["smallest"], line["mean"], line["largest"], line["spread"]) == (3.0, 3.5, 4.0, 1.0)
    assert (line["above"], line["out"]) == (1 / 3, 2.0)
    assert line["mu"] == pytest.approx(302 / 3)
    assert line["mu_rmse"] == pytest.approx((10 / 3) ** 0.5)
    moved = [
        {**row, "lipschitz": row["lipschitz"] - 1.0 * (row["mechanism"] == "weighted")}
        for row in rows
    ]
    found = {(p.first, p.statistic): p for p in differences(settings, moved, "poisson")}
    assert found["unweighted", "bound, n = 100"].high == pytest.approx(-1.0)
    assert found["weighted", "bound, n = 100"].low == pytest.approx(1.0)
    assert not found["weighted", "distance of mu, n = 100"].excludes_zero


@pytest.mark.draws
def test_a_small_study_has_the_columns_and_says_what_it_found(tmp_path: Path) -> None:
    def few(replicates: int) -> list[Key]:
        numbers = range(1, replicates + 1)
        return [(data, n, i) for i in numbers for data in _SMALL["data"] for n in _SMALL["sizes"]]

    study, out = replace(STUDY, settings=_SMALL, keys=few), tmp_path / "out"
    made = run_study(study, out, replicates=2, seed=1, jobs=1)
    rows = pl.read_csv(out / "replicates.csv")
    assert rows.columns == list(COLUMNS)
    assert rows.height == 2 * 2 * 2 * 5
    assert set(rows["mechanism"]) == {"original", *MECHANISMS}
    of_data = rows.filter(mechanism="original")
    assert of_data["lipschitz"].is_null().all()
    wide = rows.pivot("mechanism", index=["data", "n", "replicate"], values="lipschitz")
    assert (wide["weighted"] < wide["unweighted"]).all()
    # Re-weighting aims at 0.95 of the bound; 200 draws leave some noise.
    assert (wide["reweighted"] / wide["weighted"]).is_between(0.85, 1.05).all()
    assert (rows.filter(mechanism="unweighted")["out"] == 0).all()
    assert (rows.filter(mechanism="weighted")["out"] >= 1).all()
    said = report_text(made.report)
    assert "weighted less unweighted" in said
    assert "reweighted less weighted" in said
    assert "Worst R-hat" in said
    assert {"bounds-poisson.png", "mu-mixture.png", "summary.csv"} < {
        path.name for path in out.iterdir()
    }


def test_keys_and_the_registry() -> None:
    assert len(keys(100)) == 100 * 2 * 5
    assert set(keys(1)) < set(keys(2))
    assert find_study("contraction").replicates == 100
