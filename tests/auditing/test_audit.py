"""The audit of a whole run: its losses against closed forms, and what it leaves out and refuses."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from runs import SEED, command, released
from scipy.special import gammaln
from typer.testing import CliRunner

import pyvws as vws
from pyvws.auditing import audit as audits
from pyvws.auditing import losses
from pyvws.auditing.audit import ITSELF
from pyvws.auditing.records import Chosen
from pyvws.auditing.repeats import figures, repeated_runs
from pyvws.commands.cli import app
from pyvws.errors import InputError
from pyvws.posterior import pseudo_posterior
from pyvws.posterior.clamp import Clamp
from pyvws.report.output_folder import read_public

LEVELS = vws.Schema({"y": vws.Column(model="table", levels=["a", "b", "c"])})
FEW: dict[str, Any] = {"seed": SEED, "schema": LEVELS, "draws": 400}


def lone(n: int = 1000) -> pl.DataFrame:
    """Half a, half b less one, and one c."""
    return pl.DataFrame({"y": ["a"] * (n // 2) + ["b"] * (n // 2 - 1) + ["c"]})


def of(found: vws.Audit, record: int) -> Any:
    """The row of a record."""
    return next(row for row in found.rows if row.record == record)


@pytest.mark.parametrize("n", [1000, 10_000])
def test_the_jump_of_lw_and_the_inverse_map_beside_it(n: int) -> None:
    """One record of its own level moves all weights of LW, and its own alone of the inverse map."""
    by_lw = of(vws.audit(lone(n), mechanism="lw", records=3, **FEW), n)
    expected = {1000: (43.0, 59.0), 10_000: (425.0, 589.0)}[n]
    assert by_lw.median == pytest.approx(expected[0], rel=0.1)
    assert by_lw.median_without == pytest.approx(expected[1], rel=0.1)
    assert by_lw.loss > by_lw.stated
    inverse = vws.audit(lone(n), mechanism="inverse", t=2.0, records=3, **FEW)
    assert of(inverse, n).loss <= 2.0 <= inverse.stated
    assert inverse.largest == of(inverse, n).loss
    assert "table's level counts 0.5 records" in inverse.sheets[0].lead[0]


@pytest.mark.quick
@given(st.lists(st.floats(0.1, 200.0), min_size=2, max_size=5), st.data())
def test_the_ratio_of_normalizers_is_that_of_dirichlets(first: list[float], data: Any) -> None:
    """From draws alone, and their error covers the difference where draws of the two meet."""
    a = np.array(first)
    b = a * np.array([data.draw(st.floats(0.7, 1.4)) for _ in first])
    rng = np.random.default_rng(len(first))
    draws = [np.log(rng.dirichlet(own, 4000) + 1e-300) for own in (a, b)]
    at = [(each @ (a - b)) for each in draws]
    ratio, error = losses.log_ratio(*at, 4000.0, 4000.0)
    truth = gammaln(a).sum() - gammaln(a.sum()) - gammaln(b).sum() + gammaln(b.sum())
    assert abs(ratio - truth) <= 6.0 * error + 1e-6


@pytest.mark.quick
def test_draws_that_do_not_meet_are_not_told() -> None:
    apart = np.full(100, 400.0), np.full(100, -400.0)
    assert losses.log_ratio(*apart, 100.0, 100.0)[1] > 1e6
    assert losses.log_ratio(np.array([np.inf]), np.array([0.0]), 1.0, 1.0)[1] == math.inf


TWO = vws.Schema(
    {
        "x": vws.Column(model="table", levels=["u", "v"]),
        "y": vws.Column(model="table", levels=["a", "b", "c"], predictors=["x"]),
    }
)
PAIRS = pl.DataFrame({"x": ["u"] * 250 + ["v"] * 255, "y": ["a"] * 300 + ["b"] * 203 + ["c"] * 2})


@pytest.mark.draws
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("mechanism", ["unweighted", "lw", "sw"])
def test_the_path_of_weights_comes_to_the_closed_form(
    mechanism: str, replace: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"schema": TWO, "mechanism": mechanism, "seed": SEED, "draws": 2000}
    settings["replace"] = replace
    exact = vws.audit(PAIRS, records=4, **settings)
    monkeypatch.setattr(losses.Fitted, "exact", property(lambda self: False))
    along = vws.audit(PAIRS, records=4, **settings)
    for one, other in zip(exact.rows, along.rows, strict=True):
        assert (one.kind, one.record) == (other.kind, other.record)
        assert other.median == pytest.approx(one.median, abs=0.1)
        assert other.loss == pytest.approx(one.loss, rel=0.2, abs=0.1)
    assert along.rows[0].loss == 0.0


@pytest.mark.draws
def test_a_strict_claim_stays_below_its_figure() -> None:
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"y": np.append(rng.poisson(5, 300), 30)})
    schema = vws.Schema({"y": vws.Column(model="poisson", range=(0, 40))})
    given: dict[str, Any] = {"epsilon": 2.0, "weights": "none", "draws": 2000, "seed": SEED}
    found = vws.audit(table, records=4, schema=schema, mechanism="censored", **given)
    assert found.rows[0].loss == 0.0
    assert all(row.standard_error <= 0.5 for row in found.rows)
    assert 0.0 < found.largest < found.stated == 2.0
    assert {row.kind for row in found.rows} >= {ITSELF, "largest bound", "extreme", "random"}


@pytest.mark.parametrize("replace", [False, True])
def test_all_records_of_a_unit_are_left_out(replace: bool) -> None:
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"home": np.repeat(np.arange(80), 3), "y": rng.choice([*"aab"], 240)})
    table = table.with_columns(y=pl.when(pl.col("home") == 7).then(pl.lit("c")).otherwise("y"))
    schema = vws.Schema({"home": vws.Column(role="id"), **LEVELS.columns}, unit="home")
    given = {"records": 4, "schema": schema, "mechanism": "lw", "seed": SEED, "draws": 400}
    found = vws.audit(table, replace=replace, **given)
    assert found.unit == "all records of one home"
    assert found.rows[0].loss == 0.0
    assert of(found, 22).loss > 1.0  # The first record of home 7.


@pytest.mark.quick
@pytest.mark.parametrize("backend", ["polars", "pandas"])
def test_a_copy_of_another_unit_is_a_unit_of_its_own(backend: Any) -> None:
    """It has the name of the unit whose place it takes, and as many records as the other."""
    columns = {"home": [1, 1, 2, 2, 2, 3], "y": [*"aabbcd"]}
    table = nw.from_dict(columns, backend=backend)
    chosen = Chosen("random", np.array([0, 1]), np.array([2, 3, 4]))
    found = chosen.neighbour(table, "home")
    assert found["y"].to_list() == [*"bbcdbbc"]
    assert found["home"].to_list() == [2, 2, 2, 3, 1, 1, 1]
    assert chosen.neighbour(table, None)["home"].to_list() == [2, 2, 2, 3, 2, 2, 2]
    alone = dataclasses.replace(chosen, others=np.array([], dtype=np.intp))
    assert alone.neighbour(table, "home")["home"].to_list() == [2, 2, 2, 3]


def test_a_replaced_record_counts_twice_and_a_copy_of_itself_loses_nothing() -> None:
    table = pl.DataFrame({"y": ["a"] * 60 + ["b"]})
    left = vws.audit(table, mechanism="unweighted", records=4, **FEW)
    found = vws.audit(table, mechanism="unweighted", records=4, replace=True, **FEW)
    assert (found.replaced, repr(found)) == (True, "Audit(4 replaced)")
    assert found.stated == 2.0 * left.stated
    assert of(found, 61).loss == pytest.approx(of(left, 61).loss, rel=0.05)
    assert [row.loss for row in found.rows if 0 < row.record < 61].count(0.0) >= 2
    assert "with another in place of one record" in found.sheets[0].title


@pytest.mark.draws
def test_repeated_runs_tell_a_jump_and_a_clamp_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Datasets alone show an epsilon: that of LW's jump, or of a strict run without its clamp."""
    by_lw = vws.audit(lone(), mechanism="lw", records=1, repeats=30, **FEW)
    found = by_lw.repeated
    assert found is not None
    assert 0.8 < found.epsilon <= found.most < 1.09
    assert (found.record, found.repeats) == (1000, 30)
    assert "So few runs show 1.08" in by_lw.sheets[0].lead[-1]
    table = pl.DataFrame({"y": np.append(np.random.default_rng(1).poisson(5, 60), 400)})
    schema = vws.Schema({"y": vws.Column(model="poisson", range=(0, 400))})
    given: dict[str, Any] = {"mechanism": "censored", "weights": "none", "epsilon": 0.3}
    given |= {"schema": schema, "seed": SEED, "records": 1, "repeats": 20, "datasets": 1}
    right = pseudo_posterior.table_of_one
    monkeypatch.setattr(
        pseudo_posterior,
        "table_of_one",
        lambda model, cells, weights, _: right(model, cells, weights, Clamp(1e6, "deviance")),
    )
    broken = vws.audit(table, **given)
    assert broken.largest < 0.3  # The loss of one draw takes the fit for what it says.
    assert broken.repeated is not None
    assert broken.repeated.epsilon > 0.4


@pytest.mark.quick
def test_figures_of_a_dataset_are_shares_deciles_and_rows_near_the_record() -> None:
    schema = vws.Schema(
        {
            "a": vws.Column(model="table", levels=["u", "v"]),
            "b": vws.Column(model="normal", range=(0, 9), missing="none"),
        }
    )
    dataset = pl.DataFrame({"a": [*"uuvv"], "b": ["1", "3", "none", "5"]})
    found = figures(dataset, nw.from_native(pl.DataFrame({"a": ["v"], "b": ["5"]})), schema)
    assert (found["a", "u"], found["b", "none"]) == (0.5, 0.25)
    assert [found["b", place] for place in (0, 5, 10, -1)] == [1.0, 3.0, 5.0, 3.0]
    assert (found["", 1], found["", 2]) == (0.5, 0.25)


@pytest.mark.quick
@pytest.mark.parametrize("repeats", [20, 31, 100])
def test_tables_that_are_told_apart_each_time_show_all_that_can_be_shown(repeats: int) -> None:
    """And equal tables next to nothing."""
    rng = np.random.default_rng(repeats)
    alike = [[{("y", "a"): float(x)} for x in rng.normal(size=repeats)] for _ in range(2)]
    found = repeated_runs(1, *alike)
    assert found.epsilon < 0.3
    apart = repeated_runs(1, alike[0], [{("y", "a"): 99.0 + own["y", "a"]} for own in alike[1]])
    assert apart.epsilon == pytest.approx(apart.most)


def test_a_record_is_left_out_once_and_kinds_take_turns() -> None:
    table = pl.DataFrame({"y": [*"aaabbc"]})
    found = vws.audit(table, mechanism="unweighted", records=99, **FEW)
    records = [row.record for row in found.rows[1:]]
    assert sorted(records) == [1, 2, 3, 4, 5, 6]
    assert [row.kind for row in found.rows[1:4]] == ["largest bound", "lone level", "random"]


def test_a_run_that_is_refused_without_a_record_loses_all() -> None:
    found = vws.audit(pl.DataFrame({"y": ["a", "b"]}), mechanism="unweighted", records=1, **FEW)
    assert found.largest == math.inf
    assert found.rows[1].delta == 1.0
    assert "refused" in found.rows[1].why
    (sheet,) = found.sheets
    assert "loss found is infinite." in sheet.lead[0]
    assert sheet.facts["largest"] == sheet.facts["rows"][1]["loss"] == "infinite"


@pytest.mark.parametrize(
    ("key", "given"),
    [
        ("not-a-whole-number", {"mechanism": "lw", "repeats": 19}),
        ("audit-without-fit", {"mechanism": "noisy-counts", "epsilon": 1.0}),
        ("audit-too-long", {"mechanism": "lw", "minutes": 1e-9}),
        ("not-a-whole-number", {"mechanism": "lw", "records": 0}),
        ("audit-without-schema", {"mechanism": "lw", "schema": None, "outcome": "y"}),
    ],
)
def test_what_an_audit_refuses(key: str, given: dict[str, Any]) -> None:
    more = {"model": "table"} if "outcome" in given else {}
    with refused(key):
        vws.audit(lone(), **{**FEW, **given, **more})


def test_a_schema_from_the_table_is_refused() -> None:
    proposed = vws.Schema.propose(lone())
    with refused("audit-prior-from-data"):
        vws.audit(lone(), **{**FEW, "schema": proposed, "mechanism": "lw"})


def test_the_command_prints_what_the_function_finds(tmp_path: Path) -> None:
    lone(200).write_csv(tmp_path / "t.csv")
    (tmp_path / "s.toml").write_text(LEVELS.text)
    words = ("audit", tmp_path / "t.csv", "--schema", tmp_path / "s.toml", "--mechanism", "lw")
    said = command(*words, "--records", 2, "--seed", SEED, "--draws", 200)
    assert "The largest loss found is" in said
    assert "proves nothing" in " ".join(said.split())
    told = json.loads(command(*words, "--records", 2, "--seed", SEED, "--draws", 200, "--json"))
    found = vws.audit(lone(200), records=2, mechanism="lw", **{**FEW, "draws": 200})
    assert told["largest"] == found.largest
    assert [row["kind"] for row in told["rows"]] == [row.kind for row in found.rows]
    assert repr(found) == "Audit(2 left out)"
    assert audits.PROVES_NOTHING in found.sheets[0].notes


def refusal(*words: object) -> str:
    """The key of what a command refuses."""
    error = CliRunner().invoke(app, [str(word) for word in words]).exception
    assert isinstance(error, InputError)
    return error.key


@pytest.fixture
def of_run(tmp_path: Path) -> tuple[Path, Path]:
    """A table, and the folder of its run."""
    words = "--mechanism lw --draws 200 --datasets 2"
    return tmp_path / "table.csv", released(tmp_path, lone(200), LEVELS, words)


def test_a_release_says_that_an_audit_was_made(of_run: tuple[Path, Path]) -> None:
    """Outside stands what was asked, whatever was found; the figures stay inside."""
    table, out = of_run
    before = {file: file.read_bytes() for file in (out / "release").iterdir()}
    assert not read_public(out).audit
    words = ("audit", table, "--for", out, "--records", 2)
    told = json.loads(command(*words, "--replace", "--json"))
    summary = json.loads((out / "confidential" / "summary.json").read_text())
    assert told["stated"] == pytest.approx(2.0 * summary["epsilon"])
    figures = json.loads((out / "confidential" / "audit.json").read_text())
    assert figures["rows"] == told["rows"]
    assert {file: file.read_bytes() for file in before} == before
    said = json.loads((out / "release" / "audit.json").read_text())
    assert {*said} == {"release_id", "records", "replace", "repeats"}
    command("report", out)
    for page in ("release", "confidential"):
        text = (out / page / "report.html").read_text()
        assert "An audit of this run was made. Up to 2 records, or units, were replaced" in text
        assert "it proves nothing" in text
    (out / "release" / "audit.json").write_text(json.dumps({**said, "release_id": "0" * 32}))
    assert not read_public(out).audit
    for key, more in (("audit-of-other-settings", ("--seed", SEED)), ("audit-of-other-table", ())):
        if not more:
            lone(202).write_csv(table)
        assert refusal(*words, *more) == key


def test_an_audit_of_another_run_is_not_noted(of_run: tuple[Path, Path]) -> None:
    table, out = of_run
    config = out / "confidential" / "run.toml"
    config.write_text(config.read_text().replace("c = 1.0", "c = 0.5"))
    assert refusal("audit", table, "--for", out, "--records", 1) == "audit-of-other-run"
    assert not (out / "release" / "audit.json").exists()
