"""The study of strict choices: its costs, its coverage, its tables and a small run of the whole."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from report_text import report_text

from pyvws._base.resumable_jobs import Result
from pyvws.studies import strict_choices as study
from pyvws.studies._report import save_pictures
from pyvws.studies.registry import find_study
from pyvws.studies.replicates import run_study
from pyvws.studies.strict_choices_report import LABELS, explanation, means, picture

DOCS = Path(__file__).parents[2] / "docs"
_SMALL = {
    **study.SETTINGS,
    "n": {"poisson": 200, "beta": 300},
    "epsilons": [1.0, 4.0],
    "engine_epsilons": [1.0],
    "engine_draws": 150,
    "grid_steps": [3000],
    "draw_epsilons": [1.0],
    "draw_counts": [1, 5],
    "draw_data": ["poisson"],
    "draw_share": 1,
    "datasets": 5,
    "draws": 60,
    "warmup": 100,
}


def test_keys_grow_with_the_replicates_and_draws_have_most() -> None:
    few, many = (study.keys(study.SETTINGS, number) for number in (3, 100))
    assert set(few) < set(many)
    count = {part: sum(key[0] == part for key in many) for part, _, _ in many}
    assert count == {"weights": 300, "engines": 100, "draws": 800}
    assert find_study("strict-choices").keys(1) == study.keys(study.SETTINGS, 1)


@pytest.mark.parametrize("epsilon", study.SETTINGS["epsilons"])
def test_every_source_of_weights_costs_the_same(epsilon: float) -> None:
    found = study.sources(study.SETTINGS, epsilon)
    assert set(found) | {"native", "grid"} == set(LABELS)
    for mechanism, number in found.values():
        total = (mechanism.stage_epsilon or 0.0) + number * mechanism.epsilon
        assert total == pytest.approx(number * epsilon)
        assert mechanism.facts.claim == "dp"
        assert mechanism.window.kind == "deviance"
    assert found["public"][0].c == min(1.0, epsilon / 4.0)
    assert found["staged, one"][0].stage_epsilon == epsilon / 2


def test_intervals_of_shared_draws_by_hand() -> None:
    # Two draws, of means 0 and 2, take turns; within, each dataset has variance 1 / 2.
    datasets = [np.array([at - 0.5, at + 0.5]) for at in (0.0, 2.0, 0.0, 2.0)]
    found = study._coverage(datasets, 2, 1.0)
    assert found["within"] is found["within_apart"] is True
    # b = 2 and v = 1 / 4: T = 2 / 2 + 1 / 4 on (1 + v m / b)^2 = 1.5625 degrees of freedom.
    from scipy.stats import t

    assert found["width"] == pytest.approx(2 * t.ppf(0.975, 1.5625) * np.sqrt(1.25))
    alone = study._coverage(datasets, 1, 100.0)
    assert "within" not in alone
    assert alone["within_apart"] is False
    # As if each had a draw: b = 4 / 3, T = 1 / 3 + 1 / 4 on 3 (1 + 3 / 4)^2 degrees of freedom.
    half = t.ppf(0.975, 3 * 1.75**2) * np.sqrt(7 / 12)
    assert alone["width"] == pytest.approx(2 * half)


@pytest.mark.draws
def test_a_fit_that_would_stop_a_strict_run_is_counted() -> None:
    pytest.importorskip("opendp")
    few = {**_SMALL, "engine_draws": 4, "engine_chains": 1}
    key = ("engines", "poisson", 1)
    result = study.replicate(few, key, np.random.SeedSequence(1))
    native, grid = result.rows
    assert native["u_m"] is None
    assert grid["u_m"] > 0.0
    assert [line["stopped"] for line in means({key: result})] == [1, 0]


def _row(part: str, choice: str, epsilon: float, u_m: float | None, **more: Any) -> dict[str, Any]:
    row = {**dict.fromkeys(study.COLUMNS), "part": part, "data": "poisson", "n": 1000}
    return {**row, "choice": choice, "epsilon": epsilon, "spent": epsilon, "u_m": u_m, **more}


def test_what_is_told_apart_by_hand() -> None:
    settings = {
        **study.SETTINGS,
        "epsilons": [1.0, 2.0],
        "engine_epsilons": [1.0],
        "draw_data": ["poisson"],
        "datasets": 5,
    }
    results = {}
    for number in (1, 2, 3):
        noise = 0.001 * number
        engine, grid = {"draws": "as-if-converged"}, {"draws": "exact"}
        stopped = None if number == 3 else 0.1
        results["poisson", number] = Result(
            [
                _row("weights", "none", 1.0, 0.4, rhat=1.0 + 0.1 * (number == 1)),
                _row("weights", "none", 2.0, 0.1, rhat=1.0),
                _row("weights", "public", 1.0, 0.2 + noise, rhat=1.0),
                _row("weights", "public", 2.0, 0.3 + noise, rhat=1.0),
                _row("weights", "reference", 1.0, 0.4 + noise - 0.002, rhat=1.0),
                _row("weights", "reference", 2.0, 0.1, rhat=1.0),
                _row("engines", "native", 1.0, stopped, **engine),
                _row("engines", "grid", 1.0, 0.1 + noise - 0.0015, **grid),
                _row("draws", "1", 2.0, 0.1, within_apart=number == 1, width=1.0),
                _row("draws", "5", 2.0, 0.1, within=True, within_apart=True, width=1.0),
            ]
        )
    said = list(explanation(settings, results))
    for sentence in (
        "Poisson(100), weights public: one constant, beside none: better at 1; worse at 2.",
        "Poisson(100), weights reference, beside none: not told apart at 1, 2.",
        "Engine grid beside native, U_m: not told apart at 1.",
        "Statements call the draws of engine native as-if-converged. The diagnostics of 1 of 3 "
        "fits would stop a strict run.",
        "Statements call the draws of engine grid exact. The diagnostics of 0 of 3 fits would stop "
        "a strict run.",
        "Poisson(100), 5 datasets of 1 draw: 95 % intervals hold the true mean in 33.3% at 2 "
        "spent.",
        "Chains disagree (R-hat above 1.05) in 33% of the fits: Poisson(100), weights none, at 1.",
    ):
        assert sentence in said


@pytest.mark.draws
def test_a_small_study_has_all_parts_and_their_picture(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    small = replace(study.STUDY, settings=_SMALL, keys=partial(study.keys, _SMALL))
    made = run_study(small, tmp_path / "out", replicates=2, seed=1, jobs=1)
    rows = pl.read_csv(tmp_path / "out" / "replicates.csv")
    assert rows.columns == list(study.COLUMNS)
    assert set(rows["guarantee"]) == {"dp"}
    for part, count in {"weights": 40, "engines": 4, "draws": 4}.items():
        assert rows.filter(part=part).height == count
    weighted = rows.filter(part="weights", data="beta", epsilon=1.0)
    by_source = weighted.group_by("choice").agg(pl.col("u_m").mean()).rows_by_key("choice")
    ((public,),), ((none,),) = by_source["public"], by_source["none"]
    assert public < 0.5 * none
    of_engine = {key: part for (key,), part in rows.filter(part="engines").group_by("choice")}
    assert set(of_engine["grid"]["draws"]) == {"exact"}
    assert set(of_engine["native"]["draws"]) == {"as-if-converged"}
    drawn = rows.filter(part="draws")
    assert (drawn["spent"] == drawn["epsilon"] * drawn["choice"].cast(pl.Float64)).all()
    assert drawn.filter(choice="1")["within"].is_null().all()
    said = report_text(made.report)
    for text in ("U_m by what a dataset costs", "Engines on Poisson", "datasets that share draws"):
        assert text in said
    drawn = (tmp_path / "out" / "strict-choices.svg").read_text()
    assert drawn.startswith("<?xml")
    lines = pl.read_csv(tmp_path / "out" / "summary.csv").to_dicts()
    save_pictures({"strict-choices.svg": picture(_SMALL, lines)}, tmp_path)
    assert (tmp_path / "strict-choices.svg").read_text() == drawn


def test_the_kept_summary_draws_each_mean_with_two_errors() -> None:
    lines = pl.read_csv(DOCS / "strict-choices.csv").to_dicts()
    figure = picture(study.SETTINGS, lines)
    assert len(figure.axes) == 6
    mixture = next(axis for axis in figure.axes if "NB" in axis.get_title())
    own = [line for line in lines if (line["part"], line["data"]) == ("weights", "mixture")]
    choices = dict.fromkeys(line["choice"] for line in own)
    for choice, bar in zip(choices, mixture.containers, strict=True):
        of_choice = [line for line in own if line["choice"] == choice]
        middle = [line["u_m"] for line in of_choice]
        assert bar.lines[0].get_ydata() == pytest.approx(middle)
        reach = [np.ptp(segment[:, 1]) / 4 for segment in bar.lines[2][0].get_segments()]
        assert reach == pytest.approx([line["u_m_error"] for line in of_choice])


def test_the_error_of_a_mean_by_hand() -> None:
    results = {
        ("poisson", number): Result([_row("weights", "none", 1.0, u_m)])
        for number, u_m in enumerate([0.1, 0.2, None, 0.6])
    }
    # Mean 0.3, variance (0.04 + 0.01 + 0.09) / 2 = 0.07 over three values.
    assert means(results)[0]["u_m_error"] == pytest.approx(np.sqrt(0.07 / 3))
    first = {key: result for key, result in results.items() if key[1] == 0}
    assert means(first)[0]["u_m_error"] is None


def test_the_page_shows_the_figures_of_the_kept_summary() -> None:
    """docs/strict-choices.csv is the summary.csv that the page's command wrote."""
    page = " ".join((DOCS / "studies.md").read_text().split())
    lines = pl.read_csv(DOCS / "strict-choices.csv").to_dicts()
    of = {tuple(line[c] for c in ("part", "data", "choice", "epsilon")): line for line in lines}
    assert {line["replicates"] for line in lines} == {30, 120}
    assert find_study("strict-choices").replicates == 30
    titles = {"poisson": "Poisson", "mixture": "NB mixture", "beta": "Beta"}
    shown = {**LABELS, "staged, many": "staged, twenty datasets"}
    for data, title in titles.items():
        for choice in ("none", "public", "reference", "staged, one", "staged, many"):
            each = [of["weights", data, choice, e]["u_m"] for e in study.SETTINGS["epsilons"]]
            row = " | ".join(f"{u_m:.3f}" for u_m in each)
            assert f"| {title} | {shown[choice]} | {row} |" in page
    for epsilon in study.SETTINGS["engine_epsilons"]:
        both = [of["engines", "poisson", name, epsilon]["u_m"] for name in ("native", "grid")]
        assert f"| {epsilon:g} | {both[0]:.4f} | {both[1]:.4f} |" in page
    for data in study.SETTINGS["draw_data"]:
        for count in study.SETTINGS["draw_counts"]:
            for epsilon in (0.5, 10.0 / count, 10.0):
                line = of["draws", data, str(count), epsilon]
                share = line["within_apart" if count == 1 else "within"]
                cells = f"{line['spent']:g} | {line['u_m']:.4f} | {share:.1%}".replace("%", " %")
                assert f"| {titles[data]} | {count} | {epsilon:g} | {cells} |" in page
    widths = [of["draws", "poisson", *at]["width"] for at in (("2", 5.0), ("20", 10.0))]
    assert (
        "is {:.2f} wide on average. With twenty draws at 10 each it is {:.2f}".format(*widths)
        in page
    )
