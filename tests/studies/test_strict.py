"""The study of strict guarantees: its keys and data, its aims, a small run of the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from run_here import run_here

from pyvws._base.resumable_jobs import Result
from pyvws.errors import InputError
from pyvws.r.bridge import RError
from pyvws.studies import strict
from pyvws.studies.registry import find_study
from pyvws.studies.simulated_data import poisson_data
from pyvws.studies.strict_report import aims, explanation, full_size, means

DOCS = Path(__file__).parents[2] / "docs"
_FILES = {"income": {"file": "x.csv", "sizes": [500, 2000, 9000]}}
_WITH_FILES = {**strict.SETTINGS, "files": _FILES, "skipped": {"wages": "of a reason"}}


def test_keys_grow_with_the_replicates_and_tables_have_fewest() -> None:
    few, many = (strict.keys(_WITH_FILES, replicates) for replicates in (3, 100))
    assert set(few) < set(many)
    count = {data: sum(key[0] == data for key in many) for data, _, _ in many}
    assert count == {
        **dict.fromkeys(("poisson", "mixture", "beta"), 100),
        **dict.fromkeys(("poisson_databases", "mixture_databases"), 20 * 4),
        "income": 3,
    }
    assert find_study("strict").keys(1)[0] == ("poisson", 1000, 1)


def test_the_full_size_of_a_table_is_its_largest_one_that_is_not_too_large() -> None:
    assert full_size(_WITH_FILES, "income") == 2000
    assert full_size(_WITH_FILES, "beta") == 2000
    assert full_size(_WITH_FILES, "poisson_databases") == 0


def test_the_counts_are_the_authors_and_repeated_databases_differ() -> None:
    y, design, model = strict.database(strict.SETTINGS, "poisson", 1000, 7)
    assert (y == poisson_data(123)).all()
    assert (design.shape, model.name) == ((1000, 1), "poisson")
    first, second = (
        strict.database(strict.SETTINGS, "mixture_databases", 50, seed)[0] for seed in (1, 2)
    )
    assert (first != second).any()


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """An income file: 3 of 40 records have no income above 0."""
    rng = np.random.default_rng(3)
    incomes = np.where(np.arange(40) < 3, [0.0, -5.0, 0.0, *[0.0] * 37], rng.gamma(2, 9e3, 40) + 1)
    path = tmp_path / "people.csv"
    codes = {"Urban": rng.integers(1, 3, 40), "Marital": rng.integers(1, 4, 40)}
    table = {"Income": incomes, **codes, "Educ": rng.choice([10, 12, 13, 15], 40)}
    pl.DataFrame(table).write_csv(path)
    return path


def test_a_table_without_its_source_is_left_out_with_the_reason(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_package(*_: Any) -> Any:
        raise RError("R failed.")

    monkeypatch.setattr(strict, "call", no_package)
    strict._table.cache_clear()
    settings = strict.strict_study(income=people).settings
    assert settings["files"]["income"]["sizes"] == [37]
    assert "r-cran-aer" in settings["skipped"]["wages"]
    bare = strict.strict_study().settings
    assert bare["files"] == {}
    assert "--income FILE" in bare["skipped"]["income"]


def test_a_table_s_records_are_a_sample_with_their_own_design(people: Path) -> None:
    settings = strict.strict_study(income=people, wages=_wages(people.parent)).settings
    y, design, model = strict.database(settings, "income", 20, 5)
    whole, rows = strict._table("income", str(people))
    assert (len(y), len(design), model.name) == (20, 20, "normal")
    place = [int(np.flatnonzero(whole == value)[0]) for value in y]
    assert (design == rows[place]).all()
    assert strict._table("wages", str(people.parent / "wages.csv"))[1].shape == (30, 10)


def _wages(folder: Path) -> Path:
    """A file with the columns and levels of CPS1988."""
    rng, path = np.random.default_rng(4), folder / "wages.csv"
    words = {
        "ethnicity": ["cauc", "afam"],
        "smsa": ["no", "yes"],
        "region": ["northeast", "midwest", "south", "west"],
        "parttime": ["no", "yes"],
    }
    pl.DataFrame(
        {
            "wage": rng.gamma(3.0, 200.0, 30),
            "education": rng.integers(6, 19, 30),
            "experience": rng.integers(0, 40, 30),
            **{name: rng.choice(levels, 30) for name, levels in words.items()},
        }
    ).write_csv(path)
    return path


@pytest.mark.r
def test_the_r_script_brings_a_package_s_data() -> None:
    from pyvws.r.bridge import call

    cars = call("package_data", "package_data", {"package": "datasets", "name": "cars"})
    assert (list(cars.columns), cars.shape, cars["dist"].sum()) == (
        ["speed", "dist"],
        (50, 2),
        2149,
    )


def test_a_file_without_the_columns_is_named(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    pl.DataFrame({"Income": [1.0, 2.0]}).write_csv(path)
    with pytest.raises(InputError, match="Educ"):
        strict.strict_study(income=path)


def _row(mechanism: str, target: float | None, u_m: float, **more: Any) -> dict[str, Any]:
    guarantee = {"unweighted": "none", "LW": "asymptotic-dp"}.get(mechanism, "dp")
    row = {**dict.fromkeys(strict.COLUMNS), "data": "poisson", "n": 1000, "mechanism": mechanism}
    reached = 20.0 if target is None else target
    row |= {"guarantee": guarantee, "target": target, "epsilon": reached, "u_m": u_m, "u_a": u_m}
    return {**row, "outside": None, "rhat": 1.0, **more}


def test_means_aims_and_failures_by_hand() -> None:
    results = {
        ("poisson", 1000, number): Result(
            [
                _row("unweighted", None, 0.04 * number),
                _row("deviance", 0.5, 0.2, outside=0.75, rhat=1.0 + 0.1 * number),
                _row("deviance", 1.0, 0.07 + 0.01 * number, outside=0.25),
            ],
            {"missed": ["SW"]},
        )
        for number in (1, 2)
    }
    lines = means(results)
    assert [line["u_m"] for line in lines] == pytest.approx([0.06, 0.2, 0.085])
    assert lines[1]["rhat"] == pytest.approx(1.2)
    assert (lines[1]["disagree"], lines[2]["disagree"]) == (1.0, 0.0)
    (aim,) = aims(_WITH_FILES, lines)
    assert (aim.ratio, aim.limit) == (pytest.approx(0.085 / 0.06), 1.3)
    assert not aim.reached
    said = " ".join(explanation(_WITH_FILES, results, lines))
    assert "above 2 x the unweighted 0.060: 0.200 at 0.5 (75% outside); from 1 on" in said
    assert "Figures reached: 0 of 1. Not reached: Poisson(100), n = 1000" in said
    assert "n = 1000, at 0.5: 100%" in said
    assert "2 searches ended" in said
    assert "CPS1988 wages, six predictors: left out, because of a reason." in said


@pytest.mark.draws
def test_a_small_study_reaches_its_figures_and_draws_them(tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = run_here("study", "strict", "--small", "--jobs", "1", "--out", out)
    assert made.code == 0, made.err
    rows = pl.read_csv(out / "replicates.csv")
    assert rows.columns == list(strict.COLUMNS)
    by_guarantee = {
        guarantee: set(part["mechanism"]) for (guarantee,), part in rows.group_by("guarantee")
    }
    assert by_guarantee == {
        "dp": {"deviance", "deviance-far", "half", "PH", "counts"},
        "asymptotic-dp": {"LW", "LW_final", "SW", "Weighted"},
        "none": {"unweighted"},
    }
    strictly = rows.filter(guarantee="dp")
    assert (strictly["epsilon"] == strictly["target"]).all()
    plain = rows.filter(mechanism="unweighted", data="poisson")["u_m"].mean()
    clamp = rows.filter(mechanism="deviance", data="poisson", target=1.0)["u_m"].mean()
    half = rows.filter(mechanism="half", data="poisson", target=5.0)["u_m"].mean()
    assert clamp < 1.5 * plain < 0.5 * half
    counts = rows.filter(mechanism="counts", target=1.0)
    assert {*counts["data"]} == {"poisson", "mixture", "beta"}
    assert (counts["u_m"] < 0.2).all()
    assert "Figures to reach" in made.out
    for name in ("strict.svg", "strict-by-size.svg"):
        assert (out / name).read_text().startswith("<?xml")


def test_the_page_shows_the_figures_of_the_kept_summary() -> None:
    """docs/strict-study.csv is the summary.csv that the page's command wrote."""
    page = " ".join((DOCS / "studies.md").read_text().split())
    lines = pl.read_csv(DOCS / "strict-study.csv").to_dicts()
    assert {line["replicates"] for line in lines if line["data"] == "beta"} == {20}
    assert "--replicates 20" in page
    found = aims(strict.SETTINGS, lines)
    assert len(found) == 6
    for aim in found:
        figures = f"{aim.value:.5f} | {aim.beside} | {aim.other:.5f} | {aim.ratio:.2f}"
        assert f"| {aim.about} | {figures} | {aim.limit:.2f} |" in page
        assert aim.reached
    titles = {"poisson": "Poisson", "mixture": "NB mixture", "beta": "Beta"}
    shown = {"deviance": "deviance clamp", "half": "half clamp", "PH": "perturbed histogram"}
    by_place = {(line["data"], line["mechanism"], line["target"]): line["u_m"] for line in lines
                if line["n"] == strict.SETTINGS["n"].get(line["data"])}  # fmt: skip
    for data, title in titles.items():
        for mechanism, label in shown.items():
            each = [by_place.get((data, mechanism, e)) for e in strict.SETTINGS["epsilons"]]
            row = " | ".join("" if u_m is None else f"{u_m:.3f}" for u_m in each)
            assert " ".join(f"| {title} | {label} | {row} |".split()) in page
    far = by_place["beta", "deviance-far", 4.0]
    assert f"and {far:.3f} with at most 1000" in page
