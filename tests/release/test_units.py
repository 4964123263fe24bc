"""Runs whose unit of privacy has several records: one weight a unit, and what they refuse."""

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pytest
from jsonschema import Draft202012Validator
from matplotlib.figure import Figure
from refusals import refused
from runs import BRIEF
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.errors import InputError
from pyvws.report.board_page import board_page
from pyvws.report.board_sections import bounds_section
from pyvws.report.evidence import Evidence, RiskEvidence, RiskSettings
from pyvws.report.output_folder import read_confidential, read_public
from pyvws.report.public_page import public_page
from pyvws.sheet import Sheet
from pyvws.statement.words import SCHEMA

LW: dict[str, Any] = {**BRIEF, "mechanism": "lw"}
ONE: dict[str, Any] = {"outcome": "visits", "model": "poisson", "formula": "~ sex", **LW}
SCHEMA_TEXT = """
[columns.home]
role = "id"
[columns.sex]
model = "table"
levels = ["f", "m"]
concentration = 1.0
[columns.visits]
model = "poisson"
range = [0, 99]
[columns.pay]
model = "normal"
mass = [0]
range = [0, 99]
"""
pytestmark = [
    pytest.mark.runs,
    pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning"),
]


def people(records: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    home = np.sort(rng.integers(0, records // 3, records))
    return pd.DataFrame(
        {
            "home": [f"h{one:03d}" for one in home],
            "sex": rng.choice(["f", "m"], records),
            "visits": rng.poisson(4, records),
            "pay": np.where(rng.random(records) < 0.3, 0, rng.uniform(1, 99, records)),
            "row": np.arange(records),
        }
    )


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The path of a schema whose unit is a column."""

    def written(unit: str | None) -> str:
        path: Path = tmp_path_factory.mktemp("schema") / "schema.toml"
        path.write_text((f'unit = "{unit}"\n' if unit else "") + SCHEMA_TEXT)
        return str(path)

    return written


def same(one: Any, other: Any) -> None:
    for mine, theirs in zip(one.datasets, other.datasets, strict=True):
        pd.testing.assert_frame_equal(mine, theirs, check_exact=True)
    pd.testing.assert_frame_equal(one.records, other.records, check_exact=True)
    assert one.summary["Delta"] == other.summary["Delta"]


def test_a_unit_of_one_record_each_gives_the_bits_of_records(schema: Any) -> None:
    table = people()
    same(vws.synthesize(table, unit="row", **ONE), vws.synthesize(table, **ONE))
    each, none = (vws.synthesize(table, schema=schema(u), **LW) for u in ("row", None))
    same(each, none)
    assert (each.privacy["unit_of_privacy"], each.privacy["unit_column"]) == (
        "all records of one row",
        "row",
    )
    assert none.privacy["unit_of_privacy"] == "one record"
    assert "unit_column" not in none.privacy


@pytest.mark.parametrize(
    "extra",
    [
        {"mechanism": "lw"},
        {"mechanism": "lw", "by_column": True},
        {"mechanism": "sw"},
        {"mechanism": "unweighted"},
        {"mechanism": "weighted-epsilon", "epsilon": 60.0, "accept_above_target": True},
        {"mechanism": "lw", "reweight": True},
        {"mechanism": "lw", "downscale": True, "epsilon": 40.0},
    ],
)
def test_records_of_a_unit_share_its_weight_and_its_bound(schema: Any, extra: Any) -> None:
    table = people()
    made = vws.synthesize(table, schema=schema("home"), keep_order=True, **BRIEF, **extra)
    found = made.records.groupby(table["home"])
    assert (found[["weight_final", "lipschitz_bound_final"]].nunique() == 1).all(axis=None)
    assert made.summary["Delta"] >= found["lipschitz_bound_final"].max().max() * (1 - 1e-12)
    units = made.summary["units"]
    sizes = table["home"].value_counts()
    assert (units["number"], units["largest"]) == (len(sizes), sizes.max())
    assert units["largest_share"] == sizes.max() / len(table)
    # The sum of a unit's terms is at most the largest size times the largest term of a record.
    assert made.summary["epsilon"] <= units["epsilon_of_records_times_largest"] * (1 + 1e-12)
    assert made.summary["records"] == len(table)
    Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(made.privacy)))
    assert {"key": "units", "values": {"column": "home"}} in made.privacy["caveat_keys"]
    released = json.dumps(made.privacy)
    assert "largest_share" not in released
    assert "h000" not in released


def test_polars_and_ids_of_any_kind_give_the_same(schema: Any) -> None:
    table = people()
    renamed = table.assign(home=pd.factorize(table["home"])[0] * 10 + 3)
    one = vws.synthesize(table, schema=schema("home"), **LW)
    same(vws.synthesize(renamed, schema=schema("home"), **LW), one)
    other = vws.synthesize(pl.from_pandas(table), schema=schema("home"), **LW)
    pd.testing.assert_frame_equal(other.datasets[0].to_pandas(), one.datasets[0])
    lazy = vws.synthesize(pl.from_pandas(table).lazy(), unit="home", **ONE)
    eager = vws.synthesize(pl.from_pandas(table), unit="home", **ONE)
    assert lazy.datasets[0].equals(eager.datasets[0])


@pytest.mark.parametrize(
    "own",
    [{"weights": "none"}, {"weights": "constant", "c": 0.5}, {"weights": "lw"}],
    ids=["none", "constant", "lw"],
)
def test_a_clamp_is_of_each_units_sum(own: Any, tmp_path: Path) -> None:
    table = people()[["home", "sex"]]
    columns = {"home": vws.Column(role="drop"), "sex": vws.Column(model="table", levels=("f", "m"))}
    made = vws.synthesize(
        table,
        schema=vws.Schema(columns, unit="home"),
        mechanism=vws.Censored(epsilon=3.0, **own),
        records=90,
        **{**BRIEF, "draws": 1000, "chains": 4},
    )
    strict = own["weights"] != "lw"
    assert made.privacy["guarantee"] == ("dp" if strict else "asymptotic-dp")
    keys = [said["key"] for said in made.privacy["caveat_keys"]]
    assert {"units", "enforced-for-units"} <= {*keys}
    assert "enforced" not in keys
    assert made.privacy["unit_of_privacy"] == "all records of one home"
    assert made.privacy["epsilon_per_dataset"] == 3.0
    Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(made.privacy)))
    assert len(made.datasets[0]) == 90
    units = made.summary["units"]
    assert units["epsilon_of_records_times_largest"] == 3.0 * units["largest"]
    found = made.records.groupby(table["home"])
    shared = ["weight_final", "lipschitz_bound_final", "share_outside_window"]
    assert (found[shared].nunique() == 1).all(axis=None)
    # A unit's largest clamped term is that of its sum: no other way round, and never above epsilon.
    posterior = made.posterior.filter(like="log_theta").to_numpy()[:, :2]
    terms = posterior[:, (table["sex"] == "m").astype(int)]
    sums = np.array([terms[:, at].sum(axis=1) for at in found.indices.values()])
    weights = found["weight_final"].first().to_numpy()
    low = -3.0 if strict else -1.5
    largest = np.abs(np.clip(weights[:, None] * sums, low, 0.0)).max(axis=1)
    bounds = found["lipschitz_bound_final"].first().to_numpy()
    assert bounds == pytest.approx(largest / (2.0 if strict else 1.0), rel=1e-9)
    made.write(tmp_path / "out")
    public = read_public(tmp_path / "out")
    assert "The clamp holds this sum" in public_page(public)
    shown = board_page(public, read_confidential(tmp_path / "out"), None)
    assert "of the units, by draw" in shown


def test_the_constant_of_a_reference_is_that_of_public_units(tmp_path: Path) -> None:
    """W is the size that 5 % of the public units exceed, and an id names a unit of its dataset."""
    columns = {"home": vws.Column(role="id"), "sex": vws.Column(model="table", levels=("f", "m"))}
    public = people(300)[["home", "sex"]]
    for number, part in enumerate((public[:150], public[150:]), start=1):
        ids = pd.factorize(part["home"])[0] + 1
        part.assign(home=ids).to_csv(tmp_path / f"synthetic-{number:02d}.csv", index=False)
    made = vws.synthesize(
        people()[["home", "sex"]],
        schema=vws.Schema(columns, unit="home"),
        mechanism=vws.Censored(epsilon=3.0, weights="constant", reference=str(tmp_path)),
        records=90,
        accept_unconverged=True,
        **BRIEF,
    )
    shares = public["sex"].value_counts(normalize=True)
    cut = public["home"] == public["home"].iloc[150]
    homes = public["home"].where(~cut | (np.arange(300) < 150), "the second part")
    sizes = -np.log(public["sex"].map(shares)).groupby(homes).sum()
    expected = 3.0 / np.quantile(sizes, 0.95)
    weight = made.records["weight_final"]
    assert weight.nunique() == 1
    assert weight.iloc[0] == pytest.approx(expected, rel=0.2)
    assert weight.iloc[0] < 0.8 * 3.0 / np.quantile(-np.log(public["sex"].map(shares)), 0.95)


def key_of(table: Any, **settings: Any) -> str:
    """The key of a refusal."""
    with pytest.raises(InputError) as raised:
        vws.synthesize(table, **{**LW, **settings})
    return raised.value.key


def test_what_knows_records_alone_is_refused(schema: Any) -> None:
    table, units = people(), schema("home")
    for mechanism in ("cw", "marginal", "pairwise", vws.Censored(epsilon=3.0, weights="cw")):
        assert key_of(table, schema=units, mechanism=mechanism) == "unit-mechanism"
    strict = {"mechanism": vws.Censored(epsilon=3.0, weights="none")}
    assert key_of(table, schema=units, **strict) == "exact-number-of-units"
    public = {**ONE, **strict, "unit": "home", "records": 90}
    assert key_of(table, **public) == "records-unchanged"
    alone = {**public, "formula": "~ 1"}
    assert key_of(table, **alone, engine="grid") == "grid-of-table"
    noisy = {"records": "noisy", "records_epsilon": 1.0}
    assert key_of(table, schema=units, **noisy) == "noisy-records-units"
    assert key_of(table, schema=units, unit="home") == "schema-beside-formula"
    assert key_of(table, schema=schema("visits")) == "unit-is-synthesized"
    assert key_of(table, **{**ONE, "unit": "visits"}) == "unit-outcome"
    assert key_of(table, **{**ONE, "unit": "house"}) == "columns-lacking"
    assert key_of(table.assign(home="a"), **{**ONE, "unit": "home"}) == "unit-of-one-value"
    holed = table.assign(home=[None, *table["home"][1:]])
    with refused("column-missing-at-rows", column="home") as caught:
        vws.synthesize(holed, **{**ONE, "unit": "home"})
    assert "h00" not in str(caught.value)


def test_the_command_says_the_unit_in_memory_and_in_steps(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    people().to_csv(table, index=False)
    line = "--outcome visits --model poisson --unit home --draws 100 --warmup 100 --datasets 2"
    line += " --mechanism lw"
    given = ["synthesize", str(table), *line.split(), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    assert "neighbours, for all records of one home): epsilon" in " ".join(result.output.split())
    release = tmp_path / "out" / "release"
    written = json.loads((release / "privacy.json").read_text())
    assert written["unit_of_privacy"] == "all records of one home"
    assert 'unit = "home"' in (release / "run.toml").read_text()
    steps = [*given[:-1], str(tmp_path / "steps"), "--quiet", "--memory", "1KB"]
    result = CliRunner().invoke(app, [*steps, "--mechanism", "unweighted"])
    assert result.exit_code == 0, result.output
    written = json.loads((tmp_path / "steps" / "release" / "privacy.json").read_text())
    assert written["unit_of_privacy"] == "all records of one home"


@pytest.mark.parametrize("unit", ["home", None])
def test_every_figure_of_a_fit_says_whose_bounds_and_weights_it_shows(
    schema: Any, unit: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whose, other = "all records of one home", "one record"
    if unit is None:
        whose, other = other, whose
    drawn: list[Figure] = []
    write = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *a, **k: (drawn.append(self), write(self, *a, **k))
    )
    table = people()
    made = vws.synthesize(table, schema=schema(unit), mechanism="lw", reweight=True, **BRIEF)
    made.write(tmp_path / "out")
    public, confidential = read_public(tmp_path / "out"), read_confidential(tmp_path / "out")
    of_pay = RiskEvidence("pay", table["pay"].to_numpy(), RiskSettings(), {}, cast(Any, None))
    section = bounds_section(public, confidential, Evidence(None, [], [], None, of_pay))
    assert all(whose in text and other not in text for text in section.text)
    for part in section.parts:
        said = (part.title,) if isinstance(part, Sheet) else (part.alt, part.caption)
        assert all(whose in text and other not in text for text in said)
    assert len(drawn) == 6
    axes = [axis for figure in drawn for axis in figure.axes]
    labels = [axis.get_ylabel() for axis in axes if "bound" in axis.get_ylabel()]
    assert len(labels) == 3
    assert all(whose in label for label in labels)
    for page in (board_page(public, confidential, None), public_page(public)):
        assert f"Costs of {whose}, leave-one-out neighbours" in page
