"""Missing values, points of mass and rules: what comes out, what each record's term is, and what
a record that breaks a rule can change."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused
from runs import FEW, SEED, fitted, in_steps, release_of, report_on, synthesizer

import pyvws as vws
from pyvws import Column, ConvergenceWarning, MisfitWarning, Schema
from pyvws.models.sequence import draws_of
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.joint_target import JointTarget
from pyvws.synthesis.confidential_table import check_table

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
]

SCHEMA = Schema(
    {
        "age": Column(role="public", range=(0, 100), missing=True),
        "work": Column(
            model="nominal", levels=("yes", "no"), missing="N", rule="missing only where age < 16"
        ),
        "income": Column(
            model="normal",
            outcome_scale="log",
            missing=("N", "R"),
            mass=(0,),
            rule="N where age < 16",
            range=(0, 1e6),
            scale=(1e4, 2e4),
            decimals=0,
        ),
        "tax": Column(
            model="normal",
            missing=True,
            rule=("missing where income == missing", "0 where income == 0", "<= income"),
            range=(0, 1e6),
            decimals=0,
        ),
        "net": Column(missing=True, decimals=0, rule="= income - tax"),
    }
)


def people(n: int = 150, seed: int = 5) -> dict[str, list[Any]]:
    """Records that keep the rules: every part of every column occurs."""
    rng = np.random.default_rng(seed)
    years = rng.integers(5, 90, n)
    age = [None if u < 0.05 else int(x) for u, x in zip(rng.random(n), years, strict=True)]
    young = [x is not None and x < 16 for x in age]
    work = ["N" if one else str(rng.choice(["yes", "no"])) for one in young]
    money = np.where(rng.random(n) < 0.3, 0.0, rng.lognormal(9.0, 1.0, n).round())
    refused = rng.random(n) < 0.1
    income = [
        "N" if one else "R" if other else str(int(x))
        for one, other, x in zip(young, refused, money, strict=True)
    ]
    tax = [None if x in ("N", "R") else round(float(x) * rng.uniform(0.1, 0.3)) for x in income]
    net = [None if t is None else int(x) - t for x, t in zip(income, tax, strict=True)]
    return {"age": age, "work": work, "income": income, "tax": tax, "net": net}


TABLE = pl.DataFrame(people())


def released(table: Any = TABLE, **settings: Any) -> vws.Release:
    return release_of(table, **{"schema": SCHEMA, "datasets": 3, **settings})


def keeps_its_rules(table: pl.DataFrame) -> None:
    income = table["income"].cast(pl.Float64, strict=False)
    young = (table["age"] < 16).fill_null(False)
    assert ((table["work"] == "N") == young).all()
    assert (table["income"].filter(young) == "N").all()
    assert income.drop_nulls().is_between(0, 1e6).all()
    assert table["tax"].filter(income.is_null()).is_null().all()
    assert (table["tax"].filter(income == 0) == 0).all()
    assert (table["tax"] <= income).drop_nulls().all()
    assert (table["tax"] >= 0).drop_nulls().all()
    assert (table["net"] == income - table["tax"]).drop_nulls().all()
    assert (table["net"].is_null() == (income - table["tax"]).is_null()).all()


@pytest.mark.parametrize("mechanism", ["unweighted", "lw"])
def test_no_synthetic_record_breaks_a_rule(mechanism: str) -> None:
    release = released(mechanism=mechanism, datasets=5)
    assert "records_that_break_rules" not in release.summary
    for made in release.datasets:
        assert made.schema == TABLE.schema
        keeps_its_rules(made)
        assert {"N", "R", "0"} <= set(made["income"])
    names = [column["name"] for column in release.privacy["columns"]]
    assert names == ["work", "part of income", "income", "part of tax", "tax"]
    assert "lipschitz_bound_final_part of income" in release.records.columns


def test_missing_values_and_points_of_mass_occur_as_often_as_in_the_data() -> None:
    many = pl.DataFrame(people(3000))
    made = pl.concat(released(many, datasets=10).datasets)
    for codes in (["N"], ["R"], ["0"]):
        share, own = (table["income"].is_in(codes).mean() for table in (made, many))
        assert share == pytest.approx(own, abs=0.03)
    for table in (made, many):
        old = table.filter(pl.col("age") > 50)
        assert old["tax"].is_null().mean() == pytest.approx(0.1, abs=0.04)


@pytest.mark.parametrize("kind", ["pandas", "pandas Int64", "arrow"])
def test_every_kind_of_table_gives_the_same_values_and_its_own_types(kind: str) -> None:
    table: Any
    if kind == "arrow":
        table = pa.table(people())
    else:
        table = pd.DataFrame(people())
        if kind == "pandas Int64":
            table = table.astype({"age": "Int64", "tax": "Int64", "net": "Int64"})
    said: dict[str, Any] = {"types": "table", "datasets": 1}
    (made,), (own,) = (released(one, **said).datasets for one in (table, TABLE))
    if kind == "arrow":
        assert made.schema == table.schema
    else:
        assert list(made.dtypes) == list(table.dtypes)
    same = pl.from_arrow(made) if kind == "arrow" else pl.from_pandas(made)
    for name in own.columns:
        one, other = same[name], own[name]
        if other.dtype.is_numeric():
            one, other = one.cast(pl.Float64), other.cast(pl.Float64)
        assert one.to_list() == other.to_list(), name


def test_in_steps_as_in_memory(tmp_path: Path) -> None:
    out = in_steps(TABLE, tmp_path, schema=SCHEMA, datasets=3)
    for number, made in enumerate(released().datasets, 1):
        found = pl.read_csv(out / f"release/synthetic-0{number}.csv")
        assert found.equals(made)


def test_a_report_shows_the_parts_of_numbers(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "people.csv")
    released(mechanism="lw").write(tmp_path / "out")
    report_on(tmp_path / "out", tmp_path / "people.csv")
    board = (tmp_path / "out/confidential/report.html").read_text()
    page = (tmp_path / "out/release/report.html").read_text()
    assert "part of income" in board
    for name in TABLE.columns:
        assert name in page
    assert set(
        json.loads((tmp_path / "out/release/privacy.json").read_text())["columns_synthesized"]
    ) == {"work", "income", "tax", "net"}


def test_a_records_term_is_that_of_its_parts() -> None:
    """sum_k l_ik by hand: log p(part), and log f(y) where there is a value; 0 by a rule."""
    run: Any = fitted(TABLE, schema=SCHEMA)
    draws = run.final.posterior.draws
    by_hand = np.zeros((FEW["chains"] * FEW["draws"], TABLE.height))
    for one in run.table.outcomes:
        of = np.arange(TABLE.height) if one.records is None else one.records
        cells = one.conditional(None).cells
        own = one.model.log_likelihood(draws_of(draws, one.name), cells)
        by_hand[:, of] += own[:, cells.cell_of_record]
    found = run.loop.model.log_likelihood(draws, run.loop.cells)[:, run.loop.cells.cell_of_record]
    np.testing.assert_allclose(found, by_hand, rtol=1e-12, atol=1e-12)
    most = np.abs(by_hand).max(axis=0)
    assert (run.final.bounds.by_record >= most - 1e-9).all()
    age, income = TABLE["age"].fill_null(99).to_numpy(), TABLE["income"].to_numpy()
    terms = {one.name: one.records for one in run.table.outcomes}
    assert terms["work"].tolist() == np.flatnonzero(age >= 16).tolist()
    assert terms["part of income"].tolist() == np.flatnonzero(age >= 16).tolist()
    valued = (age >= 16) & ~np.isin(income, ["N", "R", "0"])
    assert terms["income"].tolist() == np.flatnonzero(valued).tolist()
    assert terms["tax"].tolist() == np.flatnonzero(valued).tolist()
    young = np.flatnonzero(age < 16)
    assert (by_hand[:, young] == 0.0).all()


BROKEN = Schema({name: SCHEMA.columns[name] for name in ("age", "income", "tax")})


def test_a_record_that_breaks_a_rule_is_counted_and_its_value_changes_nothing() -> None:
    """The last column's values of records that break its rule can be any: same draws, same bytes.

    Weights of 1 would show them, since nothing but the rule protects the records then.
    """
    kept = TABLE.drop("net", "work")
    place = int(np.flatnonzero((kept["income"] == "0").to_numpy())[0])
    made = []
    for value in (1, 999_999):
        tax = kept["tax"].to_list()
        tax[place] = value
        made.append(released(kept.with_columns(tax=pl.Series(tax)), schema=BROKEN))
    first, second = made
    assert first.summary["records_that_break_rules"] == {"tax": 1}
    assert first.privacy == second.privacy
    assert "999999" not in str(second.privacy) + str(second.summary)
    for one, other in zip(first.datasets, second.datasets, strict=True):
        assert one.equals(other)
    assert first.posterior.equals(second.posterior)
    planted = released(kept.with_columns(tax=pl.col("tax") + 1), schema=BROKEN)
    assert not first.posterior.equals(planted.posterior)


def moved(seed: int, epsilon: float) -> float:
    """The most that one record's other values, in any parts, move the target of 30 records."""
    table = people(30, seed)
    other = people(30, seed + 100)
    rng = np.random.default_rng(seed)
    adults = [i for i, x in enumerate(table["age"]) if x is not None and x >= 16]
    place = int(rng.choice(adults))  # Rules leave the others' values no choice.
    changed = {name: [*values] for name, values in table.items()}
    for name in ("work", "income", "tax", "net"):
        changed[name][place] = other[name][place]
    if seed % 2:
        changed["tax"][place] = 10**6  # Beyond every bound.
    targets = []
    for one in (table, changed):
        checked = check_table(pl.DataFrame(one), synthesizer(schema=SCHEMA))
        columns = tuple(outcome.conditional(None) for outcome in checked.outcomes)
        targets.append(JointTarget(columns, np.ones(30), Clamp(epsilon, "deviance")))
    dimension = targets[0].dimension
    assert targets[1].dimension == dimension
    values = [target.density_and_gradient() for target in targets]
    near = np.concatenate([start.centre for start in targets[0].starts()])
    most = 0.0
    for reach in (0.0, 0.1, 1.0, 5.0, 30.0):
        for q in near + rng.uniform(-reach, reach, (5, dimension)):
            one, two = (value(q)[0] for value in values)
            if np.isfinite([one, two]).all():
                most = max(most, abs(one - two))
    return most


def test_under_a_clamp_no_record_moves_the_target_by_more_than_its_window() -> None:
    found = [moved(seed, 6.0) for seed in range(4)]
    assert max(found) <= 6.0 * (1.0 + 1e-9)
    assert max(found) > 0.1


CONTRADICTING: dict[str, dict[str, Any]] = {
    "a bound above the range": {
        "low": {"model": "normal", "range": (0, 9), "decimals": 0},
        "y": {"model": "normal", "range": (0, 3), "rule": ">= low"},
    },
    "a lower bound above the upper one": {
        "low": {"model": "normal", "range": (0, 9)},
        "high": {"model": "normal", "range": (0, 9)},
        "y": {"model": "normal", "range": (0, 9), "rule": (">= low", "<= high")},
    },
    "a sum beyond its range": {
        "low": {"model": "poisson", "scale": (2, 2)},
        "high": {"model": "poisson", "scale": (2, 2)},
        "y": {"rule": "= low + high", "range": (0, 4), "decimals": 0},
    },
    "a fixed value below a bound": {
        "sex": {"model": "nominal", "levels": ("f", "m")},
        "low": {"model": "normal", "range": (0, 9)},
        "y": {"model": "normal", "range": (0, 9), "rule": ("3 where sex == 'f'", ">= low")},
    },
}


@pytest.mark.parametrize("kind", CONTRADICTING)
def test_records_in_which_rules_contradict_each_other_are_drawn_again(kind: str) -> None:
    columns = {name: Column(**entries) for name, entries in CONTRADICTING[kind].items()}
    rng = np.random.default_rng(3)
    n = 120
    low, high = rng.integers(0, 4, n), rng.integers(4, 6, n)
    y = {
        "a bound above the range": np.maximum(low, 2.5),
        "a sum beyond its range": low + high - 4,
        "a fixed value below a bound": 3 + 0 * low,
    }
    table = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "low": low,
            "high": high - 4 if "sum" in kind else high,
            "y": y.get(kind, high - 0.5),
        }
    )
    for made in released(table[list(columns)], schema=Schema(columns)).datasets:
        assert ((made["low"] <= made["y"]) | ("sum" in kind)).all()
        low_end, high_end = columns["y"].range or (0.0, 9.0)
        assert made["y"].between(low_end, high_end).all()
        if "high" in columns:
            sum_of = made["low"] + made["high"]
            assert ((made["y"] == sum_of) if "sum" in kind else (made["y"] <= made["high"])).all()
        if "sex" in columns:
            assert (made["y"][made["sex"] == "f"] == 3).all()


def test_a_number_that_means_something_else_is_drawn_again() -> None:
    """Codes within the range of ages, and a point of mass that rounding would reach."""
    rng = np.random.default_rng(3)
    age = np.where(rng.random(400) < 0.1, 99, rng.integers(60, 97, 400))
    gain = np.where(rng.random(400) < 0.3, 0.0, rng.normal(0, 3, 400).round())
    table = pd.DataFrame({"age": age, "gain": np.where(gain == 0, 0.0, gain)})
    entries: Any = {"model": "normal", "range": (0, 110), "decimals": 0}
    schema = Schema(
        {
            "age": Column(**entries, missing=("97", "98", "99"), scale=(80, 10)),
            "gain": Column(model="normal", range=(-50, 50), decimals=0, mass=(0,)),
        }
    )
    made = pd.concat(released(table, schema=schema).datasets)
    assert made["age"].isin([97, 98]).mean() < 0.01  # None of the records has these codes.
    assert abs((made["gain"] == 0).mean() - (table["gain"] == 0).mean()) < 0.06


def test_a_rule_that_many_records_break_is_told_of() -> None:
    rng = np.random.default_rng(3)
    wage = rng.integers(10, 90, 200)
    table = pd.DataFrame({"wage": wage, "tax": wage - rng.integers(1, 9, 200)})
    table.loc[:20, "tax"] = table.loc[:20, "wage"]
    for rule, told in ((">= wage", True), ("<= wage", False)):
        schema = Schema(
            {
                "wage": Column(model="normal", range=(0, 100)),
                "tax": Column(model="normal", range=(0, 100), rule=rule),
            }
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", MisfitWarning)
            made = released(table, schema=schema)
        said = [one for one in caught if "tax: more than 1% of the" in str(one.message)]
        assert bool(said) == told
        assert made.summary.get("records_that_break_rules") == ({"tax": 179} if told else None)
        assert "break_rules" not in json.dumps(made.privacy)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_whole_numbers_with_a_numeric_code_and_empty_cells_come_out_whole(kind: str) -> None:
    rng = np.random.default_rng(3)
    age: list[int | None] = [int(x) for x in rng.integers(18, 80, 120)]
    age[::7], age[1::7] = [999] * len(age[::7]), [None] * len(age[1::7])
    table = pl.DataFrame({"age": age})
    given = {"pandas": table.to_pandas(), "polars": table, "arrow": table.to_arrow()}[kind]
    schema = Schema(
        {"age": Column(model="normal", range=(0, 99), decimals=0, missing=("999", True))}
    )
    release = released(given, schema=schema)
    made = pd.DataFrame({"age": pl.DataFrame(release.datasets[0])["age"].to_list()})["age"]
    assert (made.dropna() % 1 == 0).all()
    assert made.isna().any()
    assert (made == 999).any()


def test_a_column_that_no_record_has_is_one_line() -> None:
    none = TABLE.with_columns(income=pl.lit("N"))
    with refused("rules-leave-no-record", part="income"):
        released(none)


def test_tables_for_parts_cut_points_and_lookups_in_one_run() -> None:
    rng = np.random.default_rng(2)
    n = 4000
    area, age = rng.choice(["a", "b"], n), rng.integers(0, 90, n)
    wage = np.where(rng.random(n) < np.where(age < 16, 1.0, 0.2), 0, rng.lognormal(9, 1, n).round())
    table = pl.DataFrame(
        {"area": area, "density": np.where(area == "a", 1.5, 7.0), "age": age, "wage": wage}
    )
    part = {"model": "table", "predictors": ["age"]}
    schema = Schema(
        {
            "area": Column(model="table", levels=("a", "b")),
            "density": Column(lookup={"area": {"a": 1.5, "b": 7.0}}),
            "age": Column(model="table", levels=tuple(map(str, range(90))), cuts=(16, 65)),
            "wage": Column(
                model="normal",
                outcome_scale="log",
                range=(0, 1e8),
                mass=(0,),
                part=part,
                predictors=("area",),
            ),
        }
    )
    release = released(table, schema=schema, mechanism="sw", draws=100, warmup=200)
    assert [one["model"] for one in release.privacy["columns"]] == ["table"] * 3 + ["normal"]
    for made in release.datasets:
        assert (made["density"] == made["area"].replace_strict({"a": 1.5, "b": 7.0})).all()
        young = made.filter(pl.col("age") < 16)
        assert (young["wage"] == 0).mean() > 0.98
        assert abs((made.filter(pl.col("age") >= 16)["wage"] == 0).mean() - 0.2) < 0.04


ONE_CODE = Schema(
    {
        "age": Column(role="public", range=(0, 100)),
        "work": Column(
            model="nominal", levels=("yes", "no"), missing=("N", "-8"), rule="N only where age < 16"
        ),
        "job": Column(
            model="table",
            levels=("11", "12", "21"),
            group_by=1,
            predictors=("work",),
            missing=("N", True, "-8"),
            rule=("N only where age < 16", "-8 only where work == '-8'"),
        ),
        "pay": Column(
            model="normal",
            missing=("N", "-8"),
            mass=(0,),
            rule="N only where age < 16 or work == 'no'",
            range=(0, 100),
            decimals=0,
        ),
    }
)


def with_codes(n: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(11)
    age = rng.integers(5, 60, n)
    young = age < 16
    work = np.where(young, "N", rng.choice(["yes", "no", "-8"], n, p=[0.7, 0.2, 0.1]))
    answer = rng.choice(np.array(["11", "12", "21", None], dtype=object), n)
    job = np.where(young, "N", np.where(work == "-8", "-8", answer))
    spoken = np.where(rng.random(n) < 0.1, "-8", np.where(rng.random(n) < 0.2, "0", "40"))
    pay = np.where(young | (work == "no"), "N", spoken)
    return pl.DataFrame({"age": age, "work": work, "job": list(job), "pay": pay})


def broken_table() -> tuple[pl.DataFrame, int]:
    """Records of which one, at the place given besides, breaks the rule of work."""
    table = with_codes().to_dict(as_series=False)
    place = table["work"].index("yes")
    table["work"][place] = "N"
    return pl.DataFrame(table), place


def keeps_one_code(made: pl.DataFrame) -> None:
    young, refused = made["age"] < 16, made["work"] == "-8"
    assert ((made["work"] == "N") == young).all()
    assert (made["job"].eq_missing("N") == young).all()
    assert (made["job"].eq_missing("-8") == (refused & ~young)).all()
    assert ((made["pay"] == "N") == (young | (made["work"] == "no"))).all()


@pytest.mark.runs
def test_one_code_of_several_is_only_where_its_rule_says() -> None:
    table, place = broken_table()
    release = released(table, schema=ONE_CODE, mechanism="lw")
    assert release.summary["records_that_break_rules"] == {"work": 1}
    for made in release.datasets:
        keeps_one_code(made)
    every = pl.concat(release.datasets)
    assert {"-8", "0"} <= {*every["pay"]}
    assert {"-8", "N"} <= {*every["work"]}
    assert every["job"].is_null().any()
    checked = check_table(table, vws.Synthesizer(schema=ONE_CODE, mechanism="lw"))
    terms = {one.name: one.records for one in checked.outcomes}
    assert list(terms) == ["work", "group of job", "job in 1", "part of pay", "pay"]
    adults = np.flatnonzero((table["age"] >= 16).to_numpy())
    assert terms["work"].tolist() == [one for one in adults if one != place]


@pytest.mark.runs
def test_one_code_in_steps_and_in_a_report(tmp_path: Path) -> None:
    table, _ = broken_table()
    made = in_steps(table, tmp_path, schema=ONE_CODE)
    for number, one in enumerate(released(table, schema=ONE_CODE, datasets=2).datasets, 1):
        found = pl.read_csv(made / f"release/synthetic-0{number}.csv", schema=one.schema)
        assert found.equals(one)
        keeps_one_code(found)
    summary = json.loads((made / "confidential/summary.json").read_text())
    assert summary["records_that_break_rules"] == {"work": 1}
    report_on(made, tmp_path / "in.csv")


BY_HAND = """
[columns.minutes]
model = "normal"
outcome_scale = "log"
range = [0.5, 400]
missing = true
decimals = 1

[columns.cells]
model = "nominal"
levels = ["1", "2", "5"]

[columns.charge]
rule = "= 0.17 * minutes"
missing = true
decimals = 2

[columns.spread]
rule = "= (charge - 3) ** 2 / 100 + log(minutes) / cells"
missing = true
"""


@pytest.mark.parametrize("mechanism", ["unweighted", "noisy-counts"])
def test_arithmetic_of_a_schema_by_hand_holds_in_every_record(
    mechanism: str, tmp_path: Path
) -> None:
    (tmp_path / "schema.toml").write_text(BY_HAND)
    rng = np.random.default_rng(9)
    minutes = np.where(rng.random(150) < 0.1, np.nan, rng.lognormal(3, 0.5, 150).round(1))
    cells = rng.choice([1, 2, 5], 150)
    charge = np.round(0.17 * minutes, 2)
    charge[3] += 1.0  # One record breaks a rule.
    columns = {"minutes": minutes, "cells": cells, "charge": charge, "spread": charge * 0}
    table = pl.DataFrame(columns).fill_nan(None)
    chosen: dict[str, Any] = {**FEW, "datasets": 1, "mechanism": mechanism, "seed": SEED}
    if mechanism == "noisy-counts":
        counts = vws.NoisyCounts(epsilon=8, delta=1e-5, measure="pairs")
        chosen = {"mechanism": counts, "datasets": 1, "seed": 4}
    release = vws.synthesize(table, schema=tmp_path / "schema.toml", **chosen)
    (made,) = release.datasets
    x = made["minutes"]
    assert 0 < x.null_count() < len(made)
    assert (made["charge"] - 0.17 * x).abs().max() <= 0.005 + 1e-9
    assert (made["charge"] == made["charge"].round(2)).all()
    wanted = (made["charge"] - 3) ** 2 / 100 + x.log() / made["cells"]
    assert (made["spread"] - wanted).abs().max() < 1e-9
    assert made["charge"].is_null().equals(x.is_null())
    assert made["spread"].is_null().equals(x.is_null())
    if mechanism == "unweighted":
        broken = release.summary["records_that_break_rules"]
        assert broken["charge"] == 1
