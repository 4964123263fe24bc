"""Runs that draw whole units: members in order, rules across them, new ids, numbers of units."""

import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from jsonschema import Draft202012Validator
from runs import BRIEF, SEED, synthesizer
from typer.testing import CliRunner

import pyvws as vws
from pyvws import Column, InputError, Schema
from pyvws.commands.cli import app
from pyvws.report.board_page import board_page
from pyvws.report.output_folder import read_confidential, read_public
from pyvws.report.public_page import public_page
from pyvws.statement.words import SCHEMA, of_single_records
from pyvws.tables.files.row_order import RELEASED_ROW, UNLINKED_ROW

HOMES = 200
pytestmark = pytest.mark.runs


def homes() -> pd.DataFrame:
    """A head, then at most one partner, then children who are younger than the head by 15."""
    rng = np.random.default_rng(9)
    rows = []
    for number in range(HOMES):
        owner, head = rng.choice(["no", "yes"]), int(rng.integers(25, 90))
        rows.append((f"H{number:03d}", 1, owner, "head", head))
        place = 2
        if rng.random() < 0.5:
            rows.append((f"H{number:03d}", place, owner, "partner", int(rng.integers(20, 90))))
            place += 1
        for _ in range(rng.integers(0, 3)):
            child = int(rng.integers(0, head - 15))
            rows.append((f"H{number:03d}", place, owner, "child", child))
            place += 1
    table = pd.DataFrame(rows, columns=["home", "place", "owner", "relation", "age"])
    table["relation"] = table["relation"].where(rng.random(len(table)) > 0.1, "N")
    return table.sample(frac=1.0, random_state=4).sort_values("place", kind="stable")


def schema(**entries: Any) -> Schema:
    ages = tuple(map(str, range(100)))
    columns = {
        "home": Column(role="id", prefix="S"),
        "owner": Column(model="table", levels=("no", "yes")),
        "place": Column(
            levels=("1", "2", "3", "4"), lookup={"before": {"0": 1, "1": 2, "2": 3, "3": 4}}
        ),
        "relation": Column(
            model="table",
            levels=("head", "partner", "child"),
            missing="N",
            predictors=("before", "partners"),
        ),
        "age": Column(
            model="table", levels=ages, cuts=(15, 25, 40, 65), predictors=("relation", "last_age")
        ),
    }
    members = {
        "sizes": [1, 4],
        "of_unit": ["owner"],
        "impossible": [
            "relation == 'head' and before > 0",
            "before == 0 and not relation in ['head', 'N']",
            "relation == 'partner' and (partners > 0 or age < 20)",
            "relation == 'child' and age > 74",
        ],
        "summaries": {
            "persons": "size",
            "before": "count",
            "partners": "count where relation == 'partner'",
            "last_age": "last age",
        },
    }
    return Schema(columns, unit="home", members=members, **entries)


@pytest.fixture(scope="module")
def release() -> vws.Release:
    return vws.synthesize(homes(), schema=schema(), mechanism="sw", **BRIEF)


def test_units_and_their_members_are_new_and_possible(release: vws.Release) -> None:
    table = homes()
    for made in release.datasets:
        assert list(made.columns) == list(table.columns)
        assert made.index.tolist() == list(range(len(made)))
        assert made["home"].drop_duplicates().tolist() == [f"S{i}" for i in range(1, HOMES + 1)]
        units = made.groupby("home", sort=False)
        assert (made["place"] == units.cumcount() + 1).all()
        assert units["owner"].nunique().max() == 1
        assert units.size().between(1, 4).all()
        partners = (made["relation"] == "partner").groupby(made["home"]).sum()
        assert partners.max() <= 1
        assert not ((made["relation"] == "head") & (made["place"] > 1)).any()
        assert made.loc[made["place"] == 1, "relation"].isin(["head", "N"]).all()
        assert (made.loc[made["relation"] == "partner", "age"] >= 20).all()
        assert (made.loc[made["relation"] == "child", "age"] <= 74).all()
        shares = table["relation"].value_counts(normalize=True)
        found = made["relation"].value_counts(normalize=True)
        assert (found - shares).abs().max() < 0.2
        persons = table.groupby("home").size().mean()
        assert units.size().mean() == pytest.approx(persons, abs=0.4)


def test_the_statement_is_of_units(release: vws.Release) -> None:
    privacy = json.loads(json.dumps(release.privacy))
    Draft202012Validator(SCHEMA).validate(privacy)
    assert privacy["unit_of_privacy"] == "all records of one home"
    assert privacy["columns_synthesized"] == ["owner", "place", "relation", "age"]
    assert privacy["columns_numbered"] == ["home"]
    keys = [said["key"] for said in privacy["caveat_keys"]]
    assert "number-of-units" in keys
    assert "records" not in keys
    assert release.summary["units"]["number"] == HOMES
    assert "records_that_break_rules" not in release.summary
    assert set(release.records.columns) & {RELEASED_ROW, UNLINKED_ROW} == set()
    assert release.summary["Delta"] == release.records["lipschitz_bound_final"].max()


def test_the_pages_show_a_release_of_whole_units(release: vws.Release, tmp_path: Path) -> None:
    release.write(tmp_path / "out")
    public = read_public(tmp_path / "out")
    page = board_page(public, read_confidential(tmp_path / "out"), None)
    assert "relation" in page
    few, many = sorted(map(len, release.datasets))
    assert few < many
    shown = public_page(public)
    assert f"of {few} to {many} rows each" in page
    assert f"of {few} to {many} rows each" in shown
    assert f"2 synthetic datasets of {few} to {many} rows" in shown
    assert "The unit of privacy is all records with one value of home" in shown


def test_one_seed_gives_one_release_in_pandas_and_polars(release: vws.Release) -> None:
    same: dict[str, Any] = {"schema": schema(), "mechanism": "sw", **BRIEF}
    again = vws.synthesize(pl.from_pandas(homes()), **same)
    for one, other in zip(again.datasets, release.datasets, strict=True):
        pd.testing.assert_frame_equal(one.to_pandas(), other)
    lazy = vws.synthesize(pl.from_pandas(homes()).lazy(), **same)
    assert lazy.datasets[0].equals(again.datasets[0])


@pytest.mark.parametrize(
    ("of_run", "of_schema"), [({"records": 950}, {}), ({}, {"records": 7})], ids=["run", "schema"]
)
def test_a_public_number_is_of_units(of_run: Any, of_schema: Any) -> None:
    made = vws.synthesize(homes(), schema=schema(**of_schema), mechanism="sw", **of_run, **BRIEF)
    assert made.datasets[0]["home"].nunique() == {**of_run, **of_schema}["records"]
    assert "public-units" in [said["key"] for said in made.privacy["caveat_keys"]]


def test_a_noisy_number_is_of_units() -> None:
    pytest.importorskip("opendp")
    noisy = {"records": "noisy", "records_epsilon": 5.0}
    made = vws.synthesize(homes(), schema=schema(), mechanism="sw", **noisy, **BRIEF)
    assert abs(made.datasets[0]["home"].nunique() - HOMES) < 20
    assert made.privacy["ledger"][-1]["key"] == "units"


def key_of(table: Any, **settings: Any) -> str:
    with pytest.raises(InputError) as raised:
        vws.synthesize(table, **{"schema": schema(), "mechanism": "lw", **BRIEF, **settings})
    return raised.value.key


def test_what_a_unit_cannot_be_is_refused() -> None:
    table = homes()
    assert key_of(table, keep_order=True) == "members-order"
    mixed = table.assign(owner=np.where(np.arange(len(table)) == len(table) - 1, "no", "yes"))
    assert key_of(mixed) == "of-unit-differs"
    large = table.assign(home=np.where(table["home"] < "H003", "H000", table["home"]))
    assert key_of(large.assign(owner="no")) == "units-of-other-sizes"


def test_members_that_break_a_rule_are_counted_and_kept() -> None:
    table = homes()
    table.loc[table["relation"] == "partner", "age"] = 19
    made = vws.synthesize(table, schema=schema(), mechanism="unweighted", **BRIEF)
    broken = (table["relation"] == "partner").sum()
    assert made.summary["records_that_break_rules"] == {"members": broken}
    for one in made.datasets:
        assert (one.loc[one["relation"] == "partner", "age"] >= 20).all()


def test_units_that_are_hardly_ever_possible_are_refused() -> None:
    never = schema()
    members = {**never.members.entries, "impossible": ["age >= 0"]}
    columns = {name: one for name, one in never.columns.items() if name not in never.derived}
    never = Schema(columns, unit="home", members=members)
    assert key_of(homes(), schema=never, draws=50) == "impossible-after-tries"


@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
def test_a_clamp_of_whole_units_takes_their_weight_from_public_units(tmp_path: Path) -> None:
    table = homes()
    table.to_csv(tmp_path / "public.csv", index=False)
    made = vws.synthesize(
        table[table["home"] < "H150"],
        schema=schema(),
        mechanism=vws.Censored(
            epsilon=10.0, weights="constant", reference=str(tmp_path / "public.csv")
        ),
        accept_unconverged=True,
        **BRIEF,
    )
    assert made.datasets[0]["home"].nunique() == 150
    assert made.records["weight_final"].nunique() == 1
    assert 0.2 < made.records["weight_final"].iloc[0] < 0.9
    assert 0.0 < made.summary["share_outside_window"]["mean"] < 1.0
    keys = [said["key"] for said in made.privacy["caveat_keys"]]
    assert "enforced-for-units" in keys
    assert "number-of-units" in keys


def test_new_rows_have_no_labels_of_records() -> None:
    """Each unit has two members here, so a dataset has as many rows as the table."""
    records = 2 * HOMES
    table = pd.DataFrame(
        {
            "home": np.arange(records) // 2,
            "sex": np.random.default_rng(2).choice(["f", "m"], records),
        },
        index=[f"person {place}" for place in range(records)],
    )
    pairs = Schema(
        {"home": Column(role="id"), "sex": Column(model="table", levels=("f", "m"))},
        unit="home",
        members={"sizes": [1, 2], "summaries": {"persons": "size"}, "impossible": ["persons == 1"]},
    )
    for made in vws.synthesize(table, schema=pairs, mechanism="sw", **BRIEF).datasets:
        assert made.index.tolist() == list(range(records))


def test_risks_of_records_say_that_they_are_not_of_units(
    release: vws.Release, tmp_path: Path
) -> None:
    homes().to_csv(tmp_path / "homes.csv", index=False)
    out = release.write(tmp_path / "out")
    words = of_single_records("all records of one home")
    keys = ["--keys", "relation,age"]
    done = CliRunner().invoke(app, ["risk", str(tmp_path / "homes.csv"), str(out), *keys])
    assert done.exit_code == 0, done.output
    assert words in " ".join(done.stdout.split())
    asked = ["report", str(out), "--original", str(tmp_path / "homes.csv"), *keys]
    assert CliRunner().invoke(app, asked).exit_code == 0
    assert words in html.unescape((out / "confidential" / "report.html").read_text())
    assert of_single_records("one record") == ""


def _sized(
    homes_of_size: list[int], shares: list[float] | None, **more: Any
) -> tuple[pd.DataFrame, vws.Synthesizer]:
    """Homes of 1, 2 and 3 members, and a run by a schema with public shares of the sizes."""
    sizes = np.repeat([1, 2, 3], homes_of_size)
    home = np.repeat(np.arange(len(sizes)), sizes)
    table = pd.DataFrame({"home": home, "sex": np.where(np.arange(len(home)) % 3, "f", "m")})
    columns = {"home": Column(role="id"), "sex": Column(model="table", levels=("f", "m"))}
    members: dict[str, Any] = {"sizes": [1, 3], "summaries": {"persons": "size"}}
    if shares is not None:
        members["size_shares"] = shares
    chosen = Schema(columns, unit="home", members=members)
    return table, synthesizer(**more, schema=chosen)


def _of_sizes(homes_of_size: list[int], shares: list[float] | None, **more: Any) -> vws.Release:
    table, run = _sized(homes_of_size, shares, **more)
    return run.fit(table, seed=SEED)


def _shares(made: pd.DataFrame) -> Any:
    return np.bincount(made.groupby("home").size(), minlength=4)[1:] / made["home"].nunique()


@pytest.mark.parametrize("sampling", ["independent", "systematic"])
def test_public_shares_of_sizes_are_drawn_and_nothing_of_the_table_s(sampling: str) -> None:
    """The adversary of this claim changes every home's size, and sees the same synthetic sizes."""
    public = [6.0, 3.0, 1.0]
    some = _of_sizes([40, 60, 300], public, sampling=sampling)
    others = _of_sizes([340, 40, 20], public, sampling=sampling)
    for one, other in zip(some.datasets, others.datasets, strict=True):
        assert one.groupby("home").size().tolist() == other.groupby("home").size().tolist()
        assert _shares(one) == pytest.approx([0.6, 0.3, 0.1], abs=0.08)
    assert not any("persons" in name for name in [*some.records.columns, *some.posterior.columns])
    assert "persons" not in [column["name"] for column in some.privacy["columns"]]
    assert "public-sizes" in [said["key"] for said in some.privacy["caveat_keys"]]
    Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(some.privacy)))


@pytest.mark.parametrize("sampling", ["independent", "systematic"])
def test_public_shares_of_sizes_in_steps_give_what_a_run_in_memory_gives(
    sampling: str, tmp_path: Path, at_once: Callable[[int], None]
) -> None:
    """The public sizes are far from the table's, which is no failure of the other columns."""
    at_once(70)
    table, run = _sized([40, 60, 100], [6.0, 3.0, 1.0], sampling=sampling)
    table.to_csv(tmp_path / "homes.csv", index=False)
    whole = run.fit(table, seed=SEED)
    privacy = run.fit_to(tmp_path / "homes.csv", tmp_path / "out", seed=SEED)
    assert privacy == whole.privacy
    for number, made in enumerate(whole.datasets, start=1):
        steps = pd.read_csv(tmp_path / f"out/release/synthetic-{number:02d}.csv")
        pd.testing.assert_frame_equal(steps, made, check_dtype=False)
    summary = json.loads((tmp_path / "out/confidential/summary.json").read_text())
    for checks in (summary["column_checks"], whole.summary["column_checks"]):
        assert "size_shares" in checks["advice"]["persons"]
        assert "k_marginal" not in checks  # Nothing but sex is left to compare.


def test_fitted_sizes_follow_the_table_and_cost() -> None:
    fitted = _of_sizes([40, 60, 300], None)
    assert _shares(fitted.datasets[0]) == pytest.approx([0.1, 0.15, 0.75], abs=0.08)
    assert "public-sizes" not in [said["key"] for said in fitted.privacy["caveat_keys"]]
    public = _of_sizes([40, 60, 300], [6.0, 3.0, 1.0])
    assert public.summary["epsilon"] < fitted.summary["epsilon"]
