"""What a run tells its agency of columns that differ from their data, and where it tells it."""

import html
import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import pyvws as vws
from pyvws import Column, MisfitWarning, Schema
from pyvws.commands.cli import app
from pyvws.evaluation.column_checks import TROUBLES, check_column
from pyvws.mechanisms.registry import make_mechanism
from pyvws.release import column_checks
from pyvws.report.board_page import board_page
from pyvws.report.output_folder import read_confidential, read_public
from pyvws.synthesis.settings_by_name import arranged

pytestmark = [
    pytest.mark.runs,
    pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("error::pyvws.errors.MisfitWarning"),
]

QUICK: dict[str, Any] = {"draws": 60, "warmup": 200, "chains": 2, "datasets": 3}
N = 600


def _pay() -> np.ndarray:
    """lognormal(9, 1.2) with 60 % zeros."""
    rng = np.random.default_rng(1)
    return np.where(rng.random(N) < 0.6, 0.0, rng.lognormal(9, 1.2, N)).round(2)


PAY = pl.DataFrame({"pay": _pay(), "sex": ["f", "m"] * (N // 2)})
SIGNED: dict[str, Any] = {
    **QUICK,
    "outcome": "pay",
    "model": "normal",
    "outcome_scale": "signed-log",
    "mechanism": "lw",
}
MASS = Schema(
    {
        "sex": Column(role="public", levels=("f", "m")),
        "pay": Column(
            model="normal", outcome_scale="log", mass=(0,), range=(0, 1e7), scale=(1e4, 2e4)
        ),
    }
)
_SAID = (
    "pay: negative values, which the data never has",
    "another share of records at a value that repeats",
    "mass in a schema",
    "confidential/summary.json",
)


def test_zeros_under_a_signed_log_are_told_by_name_and_without_a_value() -> None:
    with pytest.warns(MisfitWarning) as caught:
        release = vws.synthesize(PAY, **SIGNED, seed=1 << 60)
    (message,) = [str(one.message) for one in caught if one.category is MisfitWarning]
    assert all(said in message for said in _SAID)
    assert re.findall(r"\d", message) == []
    rows = {one["name"]: one for one in release.summary["column_checks"]["columns"]["pay"]}
    assert rows["share at 0"]["data"] == (PAY["pay"] == 0).mean()
    assert rows["share at 0"]["trouble"] == "repeated"
    below = [float((made["pay"] < 0).mean()) for made in release.datasets]
    told = rows["share below the data's smallest"]
    assert (told["lowest"], told["highest"]) == (min(below), max(below))
    assert told["trouble"] == "negative"


def test_the_same_column_with_its_point_of_mass_is_not_told_of() -> None:
    release = vws.synthesize(PAY, schema=MASS, **QUICK, mechanism="unweighted", seed=1 << 60)
    checks = release.summary["column_checks"]
    assert checks["rows_checked"] == N
    assert list(checks["columns"]) == ["pay"]
    assert {one["trouble"] for one in checks["columns"]["pay"]} == {""}


def test_dates_are_compared_since_the_start_of_the_schema() -> None:
    days = np.random.default_rng(6).normal(3000, 400, N).round().astype(int)
    born = pl.Series("born", np.datetime64("1990-01-01") + days.astype("timedelta64[D]"))
    said = Column(model="normal", days_since="1990-01-01", range=("1990-01-01", "2010-12-31"))
    release = vws.synthesize(
        pl.DataFrame({"born": born}), schema=Schema({"born": said}), mechanism="lw", **QUICK, seed=3
    )
    rows = {one["name"]: one for one in release.summary["column_checks"]["columns"]["born"]}
    mean = rows["mean"]
    assert mean["data"] == pytest.approx(days.mean())
    assert abs(mean["mean"] - mean["data"]) < 100


def test_a_range_that_cuts_much_of_a_family_off_is_told_of() -> None:
    """Numbers outside are drawn again, and the likelihood has no normaliser for that."""
    waits = pl.DataFrame({"y": np.random.default_rng(1).exponential(size=2000)})
    schema = Schema({"y": Column(model="normal", range=(0, 30))})
    with pytest.warns(MisfitWarning, match=r"^y: .*other quantiles than the data"):
        vws.synthesize(waits, schema=schema, **QUICK, mechanism="unweighted", seed=1 << 60)


N_CODED = 1500
_RNG = np.random.default_rng(3)
_REGION = _RNG.integers(1, 7, N_CODED)
CODED = pl.DataFrame(
    {
        "region": _REGION,
        "pay": _RNG.normal(np.array([0, 3, -3, 2, -2, 1])[_REGION - 1], 1.0),
        "trade": np.where(_REGION % 2 == 0, _RNG.choice(["a", "c"], N_CODED), "b"),
    }
)


def _coded_schema(region: Column, trade: str) -> Schema:
    return Schema(
        {
            "region": region,
            "trade": Column(model=trade, levels=("a", "b", "c")),
            "pay": Column(model="normal", range=(-20, 20), predictors=("region",)),
        }
    )


_LEVELS = Column(role="public", levels=tuple(range(1, 7)))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"schema": _coded_schema(Column(role="public", range=(1, 6)), "nominal")}, "slope"),
        ({"schema": _coded_schema(_LEVELS, "ordinal")}, "order"),
        ({"schema": _coded_schema(_LEVELS, "nominal")}, ""),
        ({"outcome": "pay", "model": "normal", "formula": "~ region"}, "slope"),
        ({"outcome": "pay", "model": "normal", "formula": "~ C(region)"}, ""),
    ],
    ids=["slope in a table", "order", "neither", "slope", "levels"],
)
def test_codes_that_are_taken_for_numbers_or_an_order_are_told_of(
    settings: dict[str, Any], said: str
) -> None:
    """A region's code that enters as a slope, and trades without an order as ordered levels."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MisfitWarning)
        release = vws.synthesize(CODED, **QUICK, mechanism="unweighted", seed=1 << 60, **settings)
    columns = release.summary["column_checks"]["columns"]
    found = {one["trouble"] for name in columns for one in columns[name] if one["trouble"]}
    assert found & {"slope", "order", "given"} == ({said} if said else set())
    messages = [str(one.message) for one in caught if one.category is MisfitWarning]
    assert bool(messages) == bool(found)
    if said:
        column = "trade" if said == "order" else "pay"
        assert re.search(rf"\b{column}\b[^:]*: .*{re.escape(TROUBLES[said])}", " ".join(messages))


def test_a_column_whose_rule_every_record_breaks_has_nothing_to_check(tmp_path: Path) -> None:
    table = pl.DataFrame({"area": ["a", "b"] * 30, "density": [9.0] * 60})
    columns = {
        "area": Column(model="table", levels=("a", "b")),
        "density": Column(lookup={"area": {"a": 1.0, "b": 2.0}}),
    }
    chosen = {**QUICK, "mechanism": "unweighted", "seed": 1 << 60}
    with pytest.warns(MisfitWarning, match="^density: more than 1% of the records break"):
        release = vws.synthesize(table, schema=Schema(columns), **chosen)
    assert release.summary["records_that_break_rules"] == {"density": 60}
    assert release.summary["column_checks"]["columns"]["density"] == []
    release.write(tmp_path / "out")
    page = board_page(read_public(tmp_path / "out"), read_confidential(tmp_path / "out"), None)
    assert "density" in page


@pytest.mark.parametrize("settings", [SIGNED, {**QUICK, "schema": MASS, "mechanism": "lw"}])
def test_a_run_in_steps_tells_what_a_run_in_memory_tells(
    settings: dict[str, Any], tmp_path: Path, at_once: Callable[[int], None]
) -> None:
    at_once(170)
    chosen = vws.Synthesizer(**arranged({**settings, "mechanism": "unweighted"}))
    PAY.write_parquet(tmp_path / "table.parquet")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MisfitWarning)
        release = chosen.fit(PAY, seed=1 << 60)
        chosen.fit_to(tmp_path / "table.parquet", tmp_path / "out", seed=1 << 60)
        told = [str(one.message) for one in caught if one.category is MisfitWarning]
    assert told[: len(told) // 2] == told[len(told) // 2 :]
    assert len(told) == (2 if "model" in settings else 0)
    summary = json.loads((tmp_path / "out/confidential/summary.json").read_text())
    steps = summary["column_checks"]["columns"]["pay"]
    memory = release.summary["column_checks"]["columns"]["pay"]
    for one, other in zip(steps, memory, strict=True):
        assert (one.pop("name"), one.pop("trouble")) == (other.pop("name"), other.pop("trouble"))
        assert list(one.values()) == pytest.approx(list(other.values()), rel=1e-9)


def test_the_checks_look_at_some_rows_of_a_long_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_checks, "ROWS", 100)
    with pytest.warns(MisfitWarning):
        release = vws.synthesize(PAY, **SIGNED, keep_order=True, seed=1 << 60)
    checks = release.summary["column_checks"]
    assert checks["rows_checked"] == 100
    own = [made["pay"].gather_every(6).to_numpy() for made in release.datasets]
    rows = check_column(PAY["pay"].to_numpy(), own).statistics
    assert [one["mean"] for one in checks["columns"]["pay"]] == [one.mean for one in rows]


def test_columns_from_noisy_counts_are_told_of_their_cells() -> None:
    wide = Schema({"pay": Column(model="normal", range=(-1e6, 1e6), decimals=0)})
    mechanism = vws.NoisyCounts(epsilon=1.0, cells_share=0.0, measure="pairs")
    with pytest.warns(MisfitWarning, match="finer cuts") as told:
        vws.synthesize(PAY.select("pay"), schema=wide, mechanism=mechanism, datasets=1)
    assert all("another family" not in str(one.message) for one in told)
    assert all("predictor" not in str(one.message) for one in told)


def test_nothing_of_the_checks_is_released_and_the_agency_sees_them(tmp_path: Path) -> None:
    PAY.write_csv(tmp_path / "pay.csv")
    out = tmp_path / "out"
    words = [
        *("synthesize", str(tmp_path / "pay.csv"), "--outcome", "pay", "--model", "normal"),
        *("--outcome-scale", "signed-log", "--mechanism", "unweighted", "--datasets", "3"),
        *("--draws", "60", "--warmup", "200", "--chains", "2", "--seed", "7", "--out", str(out)),
    ]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert f"Warning: {_SAID[0]}" in done.stderr
    assert _SAID[0] not in done.stdout
    for path in (out / "release").iterdir():
        assert b"column_checks" not in path.read_bytes()
    page = html.unescape(board_page(read_public(out), read_confidential(out), None))
    section = page[page.index('<h2 id="columns">') : page.index('<h2 id="run">')]
    assert "negative values, which the data never has" in section
    assert "share at 0" in section
    assert "pay" in section


def test_a_board_page_of_an_earlier_run_has_no_checks(tmp_path: Path) -> None:
    release = vws.synthesize(PAY, schema=MASS, **QUICK, mechanism="unweighted", seed=1 << 60)
    out = release.write(tmp_path / "out")
    part = read_confidential(out)
    page = board_page(read_public(out), part, None)
    assert (
        "No synthetic column differs from its data by more than chance and a tolerance."
        in html.unescape(page)
    )
    del part.summary["column_checks"]
    assert '<h2 id="columns">' not in board_page(read_public(out), part, None)


def test_the_rows_that_are_looked_at_keep_nothing_of_the_others(monkeypatch) -> None:
    """A view of a dataset's column would keep the column, of every step of a large table."""
    monkeypatch.setattr(column_checks, "ROWS", 4)
    table: Any = SimpleNamespace(synthesized={"x": None}, public={})
    values, parts = np.arange(10.0), []
    for first, stop in ((1, 6), (6, 11)):
        step = {"x": values[first - 1 : stop - 1]}
        parts.append(column_checks.sampled(step, table, None, first=first, length=10)["x"])
    assert np.concatenate(parts).tolist() == values[::3].tolist()
    assert all(part.base is None for part in parts)


_RARE = np.where(np.arange(N) % 10 == 0, 2.0, 1.0)  # One record in ten has the second level.


def _of_two_levels(*names: str) -> Any:
    """What the checks read of a table whose columns have a rare level."""
    column = SimpleNamespace(
        y=_RARE, kind=nw.from_native(pl.Series(["x", "y"]), series_only=True), keeping=None
    )
    return SimpleNamespace(
        exponents=None,
        counts=None,
        units=None,
        unchanged=(),
        breaking={},
        members=None,
        outcomes=(),
        drawn=False,
        synthesized=dict.fromkeys(names, column),
        released=names,
        records=N,
    )


@pytest.mark.parametrize(
    ("weights", "share", "remedy"),
    [
        (np.where(_RARE == 2, 0.0, 1.0), 0.0, "Raise g (--g), or choose sw"),
        (np.where(_RARE == 2, 0.2, 1.0), 0.022, "Raise g (--g), or choose sw"),
        (np.full(N, 0.01), 0.5, "Take a larger epsilon"),
        (np.full(N, 0.9), 0.5, "Missing values and levels follow their predictors"),
    ],
    ids=["a level without weight", "a level of little weight", "small weights", "a poor model"],
)
def test_each_line_names_the_remedy_that_helps_its_column(
    weights: Any, share: float, remedy: str
) -> None:
    """Columns `a` and `b` part in the same way, and `b` has weights of 1 of its own."""
    own = np.where(np.arange(N) < share * N, 2.0, 1.0)
    records = {"weight_final": np.ones(N), "weight_final_a": weights}
    with pytest.warns(MisfitWarning) as caught:
        column_checks.check_columns(
            _of_two_levels("a", "b"),
            [{"a": own, "b": own}],
            mechanism=make_mechanism("lw"),
            rounded=False,
            records=records,
        )
    (said,) = [str(one.message) for one in caught if "other shares of levels" in str(one.message)]
    usual = "Missing values and levels follow their predictors"
    both = remedy == usual
    lines = dict(line.split(": ", 1) for line in said.splitlines()[:-1])
    assert remedy in lines["a, b" if both else "a"]
    assert both or usual in lines["b"]


def _seven_troubled() -> tuple[pl.DataFrame, Schema]:
    """Seven columns that seven families cannot make, each in its own way."""
    rng = np.random.default_rng(8)
    zeros = np.where(rng.random(N) < 0.6, 0.0, rng.lognormal(9, 1.2, N).round(2))
    frame = pl.DataFrame(
        {
            "zeros": zeros,
            "zeros again": rng.permutation(zeros),
            "whole": rng.integers(0, 400, N).astype(float),
            "two": np.where(rng.random(N) < 0.5, 0.0, 90.0) + rng.normal(size=N),
            "waits": rng.exponential(size=N).round(3),
            "ends": np.where(rng.random(N) < 0.4, 1.0, rng.random(N)).round(3),
            "heap": np.where(rng.random(N) < 0.7, 3.5, rng.normal(size=N)).round(3),
        }
    )
    normal = Column(model="normal", outcome_scale="identity", predictors=())
    return frame, Schema(dict.fromkeys(frame.columns, normal))


def test_a_wide_table_is_told_of_in_five_lines_and_the_report_has_the_rest(tmp_path: Path) -> None:
    frame, schema = _seven_troubled()
    frame.write_csv(tmp_path / "table.csv")
    (tmp_path / "schema.toml").write_text(schema.text)
    out = tmp_path / "out"
    words = [
        *("synthesize", str(tmp_path / "table.csv"), "--schema", str(tmp_path / "schema.toml")),
        *("--mechanism", "unweighted", "--datasets", "3", "--draws", "60", "--warmup", "200"),
        *("--chains", "2", "--seed", "7", "--out", str(out)),
    ]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    with pytest.warns(MisfitWarning) as caught:
        release = vws.synthesize(frame, schema=schema, **QUICK, mechanism="unweighted", seed=7)
    (said,) = [str(one.message) for one in caught if one.category is MisfitWarning]
    assert said in done.stderr
    lines = said.splitlines()
    assert len(lines) == 5
    advice = release.summary["column_checks"]["advice"]
    assert len(advice) > 5
    heads = [line.split(": ", 1)[0] for line in lines[:-1] if "k-marginal" not in line]
    told = [name for head in heads for name in head.split(", ")]
    assert set(told) < set(advice)
    assert len(told) == len(set(told))
    assert f"{len(advice) - len(told)} more column" in lines[-1]
    page = html.unescape(board_page(read_public(out), read_confidential(out), None))
    for name, words_of_column in advice.items():
        assert re.search(rf"{name}</t[hd]>\s*<td[^>]*>{re.escape(words_of_column)}<", page), name


def test_a_release_worse_than_independent_columns_fails_on_console_and_page(tmp_path: Path) -> None:
    """Nearly no weight is left at epsilon 0.05, so the columns are the priors'."""
    rng = np.random.default_rng(4)
    a = rng.choice(3, N, p=[0.8, 0.15, 0.05])
    frame = pl.DataFrame({"a": a, "b": np.where(rng.random(N) < 0.9, a, 0)})
    columns = {
        name: Column(model="table", levels=(0, 1, 2), predictors=before)
        for name, before in (("a", ()), ("b", ("a",)))
    }
    for given, fails in (
        ({"epsilon": 0.05, "mechanism": "sw"}, True),
        ({"mechanism": "unweighted"}, False),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", MisfitWarning)
            release = vws.synthesize(
                frame, schema=Schema(columns), **{**QUICK, "draws": 500}, **given, seed=1 << 60
            )
        assert any("worse than independent" in str(one.message) for one in caught) == fails
        assert release.summary["column_checks"]["k_marginal"]["worse_than_independent"] == fails
        release.write(tmp_path / str(fails))
        folder = tmp_path / str(fails)
        page = board_page(read_public(folder), read_confidential(folder), None)
        checks = page[page.index('class="checks"') : page.index('id="decision"')]
        assert ("worse than independent columns" in checks) == fails
        assert ("better than independent columns" in checks) != fails


def test_a_clamp_is_not_called_a_weight() -> None:
    """All weights are 1, so no other weights help: the window leaves out what a level says."""
    own = np.ones(N)
    records = {"weight_final": np.ones(N), "share_outside_window": np.where(_RARE == 2, 1.0, 0.0)}
    with pytest.warns(MisfitWarning) as caught:
        column_checks.check_columns(
            _of_two_levels("a"),
            [{"a": own}],
            mechanism=vws.Censored(epsilon=1.0),
            rounded=False,
            records=records,
        )
    (told,) = [str(warning.message) for warning in caught]
    assert "The clamp does this" in told
    assert "weights" not in told
    assert "--g" not in told
