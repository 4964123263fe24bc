"""The study of survey tables on a small simulated population, and the figures of the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pyvws.release.synthesize import synthesize
from pyvws.studies import survey as study
from pyvws.studies.replicates import run_study
from pyvws.studies.survey import MECHANISMS

DOCS = Path(__file__).parents[2] / "docs"


def test_keys_grow_with_the_replicates() -> None:
    assert set(study.keys(2)) < set(study.keys(3))


def test_the_simulated_population_has_large_high_schools() -> None:
    schools = study.population("simulated")
    sizes = dict(schools.group_by("stype").agg(pl.col("size").mean()).iter_rows())
    assert sizes["H"] > sizes["M"] > sizes["E"]
    assert schools["size"].is_between(200.0, 1200.0).all()
    assert set(schools["awards"]) == {"Yes", "No"}


@pytest.mark.r
def test_the_schools_of_california_come_from_r() -> None:
    schools = study.population("apipop")
    assert len(schools) == 6157  # Of 6194 schools 37 have no enrolment.
    counts = dict(schools["stype"].value_counts().iter_rows())
    assert counts == {"E": 4397, "M": 1009, "H": 751}


@pytest.mark.runs
def test_a_small_study_shows_what_weights_are_for(tmp_path: Path) -> None:
    small = replace(
        study.survey_study(synthesize, small=True), settings={**study.SMALL, "constants": [1.0]}
    )
    made = run_study(small, tmp_path / "out", replicates=2, seed=1, jobs=1)
    rows = pl.read_csv(tmp_path / "out" / "replicates.csv")
    assert set(rows["mechanism"]) == set(MECHANISMS)
    assert rows.height == 2 * 12 * 8
    table = pl.read_csv(tmp_path / "out" / "table.csv")

    def of(mechanism: str, statistic: str) -> dict[str, Any]:
        (row,) = table.filter(mechanism=mechanism, statistic=statistic).to_dicts()
        return row

    # Of 6000 schools in three types, ignoring the weights counts far too many high schools.
    assert of("ignored", "count")["rmse"] > of("exponents", "count")["rmse"]
    assert of("exponents", "count")["epsilon"] == of("laplace", "count")["epsilon"] > 0
    assert of("laplace of many", "mean")["rmse"] > of("laplace", "mean")["rmse"]
    assert of("design", "mean")["rmse"] < 0.1
    assert of("design", "mean")["epsilon"] is None  # Nothing protects the sample.
    (shown,) = made.report.shown
    assert shown.row_count == 8
    again = run_study(small, tmp_path / "out", replicates=2, seed=1, jobs=1)
    assert again.computed == 0
    assert again.report.files == ["table.csv"]


def test_the_page_shows_the_figures_of_the_kept_table() -> None:
    """docs/survey-study.csv is the table.csv that the command of the page wrote."""
    page = " ".join((DOCS / "survey.md").read_text().split())
    table = pl.read_csv(DOCS / "survey-study.csv")
    for (name, c), part in table.group_by(["mechanism", "c"], maintain_order=True):
        of = {row["statistic"]: row for row in part.to_dicts()}
        label = MECHANISMS[str(name)] + ("" if c is None else f", c = {c:g}")
        figures = [
            "" if of[one][what] is None else f"{of[one][what]:.{digits}f}"
            for one in ("count", "mean", "share", "quantile")
            for what, digits in (("coverage", 2), ("bias", 3), ("rmse", 3))
        ]
        epsilon = of["mean"]["epsilon"]
        cost = "none" if epsilon is None else f"{epsilon:.1f}"
        line = f"| {label} | {cost} | {' | '.join(figures)} |"
        assert " ".join(line.split()) in page, label


def listed(pairs: list[tuple[str, float]]) -> str:
    """Statistics with their constants, as the page lists them."""
    by_name: dict[str, list[str]] = {}
    for name, c in pairs:
        by_name.setdefault({"quantile": "median"}.get(name, name), []).append(f"{c:g}")
    alike: dict[str, list[str]] = {}
    for name, constants in by_name.items():
        alike.setdefault(", ".join(constants), []).append(name)
    return "; ".join(f"{', '.join(names)} at c = {found}" for found, names in alike.items())


def test_coverage_and_rmse_are_what_the_page_says() -> None:
    """Where intervals cover less than nine in ten, and where Laplace noise is farther off."""
    page = " ".join((DOCS / "survey.md").read_text().split())
    rows = pl.read_csv(DOCS / "survey-study.csv").to_dicts()
    of = {(row["mechanism"], row["statistic"], row["c"]): row for row in rows}
    places = [
        (name, c)
        for name in ("count", "mean", "share", "quantile")
        for c in study.SETTINGS["constants"]
    ]
    for mechanism in ("exponents", "one weight", "synthetic weights", "ignored"):
        short = [at for at in places if of[mechanism, *at]["coverage"] < 0.9]
        assert f"{MECHANISMS[mechanism]}: {listed(short)}." in page, listed(short)
    for other in ("laplace", "laplace of many"):
        nearer = [at for at in places if of["exponents", *at]["rmse"] < of[other, *at]["rmse"]]
        assert f"{MECHANISMS[other]}: {listed(nearer) or 'nowhere'}." in page, listed(nearer)
