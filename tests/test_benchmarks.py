"""The benchmarks' own arithmetic: floors, repetition, the report, the cap; no time is judged."""

import json
import os
import platform
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from documents import ROOT
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

sys.path.append(str(ROOT))

from benchmarks import __main__ as command
from benchmarks import _report, engines, households, mixture, proposals, tables
from benchmarks._floors import FLOORS, better
from benchmarks._found import Found, Plan, Table
from benchmarks._worker import JobFailedError, OverTheCapError, Worker
from pyvws import NormalMixture, SamplerSettings
from pyvws._base import resources as _resources
from pyvws.bounds.lipschitz import lipschitz_bounds
from pyvws.commands.cli import app
from pyvws.evaluation.one_column import ecdf_utility
from pyvws.r.bridge import call
from pyvws.risks.identification_risk import identification_risk
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.column import Column
from pyvws.weights.weights import reweight, weights_from_bounds

FITS = "fits: native over rstan"
READ = "bounds: direct over one read of the matrix"
BEGAN = datetime(2024, 1, 2, tzinfo=UTC)


def test_half_a_floor_fails_and_less_than_the_floor_is_not_met() -> None:
    assert [FLOORS[FITS].met(value) for value in (20, 19.9)] == [True, False]
    assert [FLOORS[FITS].fails(value) for value in (10, 9.9)] == [False, True]
    assert [FLOORS[READ].met(value) for value in (2, 2.1)] == [True, False]
    assert [FLOORS[READ].fails(value) for value in (4, 4.1)] == [False, True]
    seconds = FLOORS["10^7 records, 20 datasets: time"]
    assert not seconds.met(1e4)
    assert not seconds.fails(1e4)


@given(st.sampled_from(sorted(FLOORS)), st.floats(0.01, 1e6), st.floats(0.01, 1e6))
def test_the_better_of_two_keeps_what_either_keeps(name: str, one: float, other: float) -> None:
    floor, kept = FLOORS[name], better(name, one, other)
    assert kept in (one, other)
    assert floor.met(kept) == (floor.met(one) or floor.met(other))
    assert floor.fails(kept) == (floor.fails(one) and floor.fails(other))


@pytest.mark.parametrize(
    ("values", "runs", "figure"), [([30, 9, 9], 1, 30), ([9, 12, 30], 2, 12), ([9, 8, 7], 3, 9)]
)
def test_a_part_runs_again_only_while_it_fails(values: list[int], runs: int, figure: int) -> None:
    left = iter(values)
    found, ran = command.measure(lambda _: Found([], {FITS: next(left)}), None, 3)
    assert (ran, found.figures) == (runs, {FITS: figure})


@pytest.mark.parametrize(
    ("ratio", "options", "code"), [(9, ["--check"], 1), (11, ["--check"], 0), (9, [], 0)]
)
def test_the_command_fails_under_half_a_floor_where_asked(
    ratio: float, options: list[str], code: int, tmp_path: Path, monkeypatch, capsys
) -> None:
    table = Table("Speed", ("what", "n", "ratio"), [("a|b", 1000, float(ratio))], "A note.")
    parts = {"engines": lambda _: Found([table], {FITS: ratio}, ["a peer: not there"])}
    monkeypatch.setattr(command, "PARTS", parts)
    assert command.main([*options, "--out", str(tmp_path / "out")]) == code
    printed = capsys.readouterr()
    page = (tmp_path / "out" / "results.md").read_text()
    made = json.loads((tmp_path / "out" / "results.json").read_text())
    assert page == printed.out.removesuffix("\n")
    assert f"| a\\|b | 1,000 | {ratio} |" in page
    assert "| --- | ---: | ---: |\n" in page
    assert "- a peer: not there" in page
    assert made["parts"]["engines"]["tables"][0]["rows"] == [["a|b", 1000, ratio]]
    assert (f"{FITS}: {ratio}" in printed.err) == (code == 1)
    verdicts = {row["figure"]: row["verdict"] for row in made["floors"]}
    assert verdicts[FITS] == ("not met, by more than half" if ratio < 10 else "not met")
    assert verdicts[READ] == "not measured"


def test_a_part_that_fails_costs_the_others_nothing(tmp_path: Path, monkeypatch, capsys) -> None:
    def broken(_plan: object) -> Found:
        raise JobFailedError("fit ended its process")

    kept = Found([Table("Kept", ("n",), [(1,)])], {FITS: 30.0})
    monkeypatch.setattr(command, "PARTS", {"broken": broken, "kept": lambda _plan: kept})
    assert command.main(["--out", str(tmp_path / "out")]) == 1
    page = (tmp_path / "out" / "results.md").read_text()
    assert "- broken failed: fit ended its process" in page
    assert "## Kept" in page
    assert "broken failed" in capsys.readouterr().err


def test_the_report_names_no_machine() -> None:
    made = _report.content({}, {}, _report.machine(), began=BEGAN, seconds=1.0, options="")
    text = _report.to_markdown(made) + json.dumps(made)
    assert made["machine"]["processor"]
    assert made["machine"]["memory"].endswith(" GB")
    assert not re.search(rf"\b{re.escape(platform.node() or 'no name')}\b", text)
    assert str(ROOT) not in text


def test_a_job_over_its_cap_ends_with_its_process() -> None:
    with Worker() as worker:
        assert worker.ask(divmod, 7, 2, cap=60) == (3, 1)
        with pytest.raises(JobFailedError, match="ZeroDivisionError"):
            worker.ask(divmod, 7, 0)
        with pytest.raises(OverTheCapError):
            worker.ask(time.sleep, 600, cap=0.1)


def test_an_engine_over_the_cap_gives_a_least_ratio() -> None:
    found = {"native": (1000.0, 2.0), "pystan": (100.0, 10.0), "rstan": None}
    rows = {row[2]: row[3:] for row in engines._rows(found, "poisson", 1000, 60.0)}
    assert rows["native"] == ("1000 + 2000", 1000.0, 2.0, 500.0, 1.0)
    assert rows["pystan"][-2:] == (10.0, 50.0)
    assert rows["rstan"] == (
        "1000 + 2000",
        "",
        "over the cap of 60",
        "",
        "over 15",
    )  # 500 60 / 2000
    assert engines._figures(found) == {}
    found["rstan"] = (100.0, 10.0)
    assert engines._figures(found) == {FITS: 50.0}


@pytest.mark.r
def test_both_pipelines_in_r_take_the_steps_of_the_package() -> None:
    rng = np.random.default_rng(3)
    log_lik = -rng.gamma(2.0, size=(30, 40))
    weights, k = rng.uniform(size=40) * (np.arange(40) > 2), 0.95
    y = rng.poisson(20, 40).astype(float)
    synthetic = [rng.poisson(20, 40).astype(float) for _ in range(3)]
    bounds = lipschitz_bounds(log_lik).by_record
    utility = ecdf_utility(y, synthetic)
    ours = {
        "bounds": bounds,
        "weights": weights_from_bounds(bounds),
        "reweight": reweight(weights, bounds, k=k),
        "risk": identification_risk(y, synthetic, radius=0.3),
        "utility": [utility.maximum, utility.average],
    }
    given = {"folder": str(_resources.folder("r_reference")), "log_lik": log_lik, "y": y}
    given |= {"weights": weights, "k": k, "synthetic": synthetic, "radius": 0.3}
    for vectorised in (False, True):
        found = call(
            "pipeline_steps",
            "step_results",
            {**given, "vectorised": vectorised},
            folder=Path(__file__).parent / "r",
        )
        for name, expected in ours.items():
            np.testing.assert_allclose(found[name], expected, rtol=1e-13, atol=1e-15, err_msg=name)


SURVEY = ROOT.parent / "shared" / "data" / "ma2019.csv"
needs_survey = pytest.mark.skipif(
    not SURVEY.is_file() and not os.environ.get("CI"),
    reason=f"{SURVEY.name} is not beside the project",
)


@pytest.mark.runs
@needs_survey
def test_the_survey_s_file_keeps_its_rules_its_missing_pairs_and_its_pairs_of_columns() -> None:
    found = tables.survey_figures(SURVEY, 20, tables._BRIEF)
    assert found["violations"] == 0
    assert found["points"] < 1.0
    assert found["k_marginal"] >= 923.0
    assert found["k_marginal"] > found["independent"] + 30.0


@pytest.mark.runs
@pytest.mark.draws
@needs_survey
def test_chains_of_the_mixture_agree_on_the_incomes_of_a_survey() -> None:
    settings = SamplerSettings(draws=400, warmup=300, target_accept=0.9)
    found = mixture.mixture_figures(mixture.FILE, NormalMixture().components, settings)
    assert found["records"] == 5571
    assert found["rhat"] < 1.05  # Of 1,000 draws a chain at most 1.01 (benchmarks/README.md).
    assert found["ess"] > 100


@needs_survey
def test_violations_and_missing_pairs_find_what_is_planted() -> None:
    table = pl.read_csv(SURVEY, infer_schema=False)
    assert tables.violations(table) == 0
    adult = table.with_row_index().filter(pl.col("AGEP").cast(pl.Int64) > 20)["index"][0]
    values = table["MSP"].to_list()
    values[adult] = "N"
    changed = table.with_columns(MSP=pl.Series(values))
    assert tables.violations(changed) == 1
    off = tables.missing_pairs(changed) - tables.missing_pairs(table)
    assert off.max() == pytest.approx(1 / len(table))


needs_homes = pytest.mark.skipif(
    not households.FILE.is_file() and not os.environ.get("CI"),
    reason=f"{households.FILE.name} is not beside the project",
)


@pytest.mark.runs
@needs_homes
def test_households_run_whole_and_none_is_impossible(tmp_path: Path) -> None:
    data = households.read_households(households.FILE)
    line = f"--schema {households.SCHEMA} --mechanism lw --datasets 2 --seed {1 << 60} --quiet"
    few = ["--draws", "100", "--warmup", "300", "--chains", "2"]
    given = ["synthesize", str(households.FILE), *line.split(), *few]
    result = CliRunner().invoke(app, [*given, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    release = tmp_path / "out" / "release"
    made = [pd.read_csv(path) for path in release.glob("*.csv")]
    assert len(made) == 2
    for one in made:
        assert list(one.columns) == list(data.columns)
        assert one["Hhindex"].nunique() == data["Hhindex"].nunique()
        assert households.impossible(one) == 0
        missing = one.isna().mean() - data.isna().mean()
        assert missing.abs().max() < 0.05
    assert households.couples_off(made, data) < 5.0
    # The other side of the comparison is the record-wise run of the same conditionals.
    summary = json.loads((tmp_path / "out" / "confidential" / "summary.json").read_text())
    units = summary["units"]
    assert (units["number"], units["largest"]) == (5000, 3)
    assert summary["epsilon"] <= 0.6 * units["epsilon_of_records_times_largest"]
    (table,) = households.run(Plan(small=True)).tables
    found = dict(table.rows)
    alone = found["epsilon of a record, run without units"]
    assert summary["epsilon"] <= 0.6 * 3 * alone
    assert found["epsilon of a household"] == pytest.approx(summary["epsilon"], rel=0.1)
    assert found["impossible households"] == 0
    assert found["mean size of the data's households"] == 1.636
    assert 1.0 < found["mean size of synthetic households"] < 1.636


def test_proposed_families_are_near_the_best_on_records_that_none_has_seen() -> None:
    rng = np.random.default_rng(12)
    n = 1500
    made = {
        "uniform": rng.uniform(0, 1000, n).round(2),
        "skewed": rng.lognormal(8, 1, n).round(2),
        "waits": rng.gamma(2.0, 30.0, n).round(3),
        "signed": (1000 * np.sinh(rng.normal(1, 1.5, n))).round(1),
        "counts": rng.negative_binomial(2, 0.05, n),
        "ages": rng.integers(0, 95, n),
    }
    found = proposals.held_out(pl.DataFrame(made))
    assert found.keys() == made.keys()
    assert proposals.worst_of(found) <= 0.05
    laws = dict(
        proposals._laws(*np.split(made["skewed"], 2), Column(model="normal", range=(0, 1e6)))
    )
    assert max(laws.values()) - laws["normal"] > 0.5  # A family that is not proposed.
    assert max(laws, key=laws.__getitem__).endswith(" log")


@pytest.mark.skipif(not proposals.DATA.is_dir(), reason="the data lie beside the checkout")
@pytest.mark.parametrize("name", ["ce_2017.csv", "households.txt"])
def test_proposed_families_of_public_files_are_near_the_best(name: str) -> None:
    found = proposals.held_out(read_table(proposals.DATA / name).with_codes, seed=2)
    assert len(found) >= 2
    assert proposals.worst_of(found) <= 0.05


@pytest.mark.skipif(not proposals.DATA.is_dir(), reason="the data lie beside the checkout")
def test_the_kept_figures_have_each_file_that_a_steward_can_accept() -> None:
    kept = pl.read_csv(ROOT / "docs" / "studies" / "accepted-proposals.csv")
    public = {one.name for one in proposals.DATA.iterdir() if one.suffix in (".csv", ".txt")}
    cases = {x.name for x in proposals._CASES.glob("*.csv") if proposals._can_be_accepted(x)}
    assert {*kept["file"]} == public | cases
    assert public == {*proposals.FILES}
    assert kept["broken_rules"].sum() == 0
    assert kept.filter(pl.col("file").is_in(public))["share_of_the_way"].min() >= 0.6


@needs_homes
def test_impossible_households_are_found_where_they_are_planted() -> None:
    data = households.read_households(households.FILE)
    assert households.impossible(data) == 0
    known = (data["relate"] == 2) & data["sex"].notna() & data["headsex"].notna()
    one = data.index[known][0]
    planted = data.copy()
    planted.loc[one, "sex"] = planted.loc[one, "headsex"]
    assert households.impossible(planted) == 1
    child = data.index[(data["relate"] == 3) & data["age"].notna()][0]
    planted.loc[child, "age"] = planted.loc[child, "headage"] - 6
    assert households.impossible(planted) == 2
