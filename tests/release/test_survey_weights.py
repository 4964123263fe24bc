"""Runs whose records have survey weights as exponents, or synthetic survey weights as a column."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from jsonschema import Draft202012Validator
from refusals import refused
from runs import BRIEF, SEED, synthesizer

import pyvws as vws
from pyvws import Column, InputError, Schema
from pyvws.report.output_folder import read_public
from pyvws.report.public_page import public_page
from pyvws.statement.words import SCHEMA

pytestmark = [
    pytest.mark.runs,
    pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning"),
]


def schema(weight: Column | None = None, **of_table: Any) -> Schema:
    """Two columns from conditional tables and a normal number; weights where they are named."""
    columns = {
        "sex": Column(model="table", levels=("f", "m")),
        "area": Column(model="table", levels=("a", "b", "c")),
        "pay": Column(model="normal", predictors=("sex",), range=(-50.0, 150.0)),
    }
    return Schema({**columns, **({"w": weight} if weight else {})}, **of_table)


def people(records: int = 150, seed: int = 7) -> pd.DataFrame:
    """Weights that fall with pay, so a sample that takes the rich too often."""
    rng = np.random.default_rng(seed)
    pay = rng.normal(50, 10, records)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], records),
            "area": rng.choice(["a", "b", "c"], records),
            "pay": pay,
            "w": 100.0 * np.exp((50 - pay) / 15),
        }
    )


def run(table: Any, of: Schema, **options: Any) -> vws.Release:
    return vws.synthesize(table, schema=of, **{"mechanism": "unweighted", **BRIEF, **options})


def test_equal_weights_give_the_bits_of_none() -> None:
    table = people().assign(w=120.0)
    for options in ({}, {"mechanism": "lw"}):
        first = run(table, schema(survey_weight="w", mean_survey_weight=120.0), **options)
        second = run(table, schema(), **options)
        for one, other in zip(first.datasets, second.datasets, strict=True):
            pd.testing.assert_frame_equal(one, other, check_exact=True)
        assert first.summary["epsilon"] == second.summary["epsilon"]
        assert "w" not in first.datasets[0]


def test_a_weight_of_two_is_a_record_twice() -> None:
    """The posterior of both, and the bound of the record with a weight is that of both copies."""
    table = people(60)
    of = Schema({"sex": Column(model="table", levels=("f", "m"))}, survey_weight="w")
    known = Schema(dict(of.columns), survey_weight="w", mean_survey_weight=1.0)
    twice = pd.concat([table, table.iloc[:20]], ignore_index=True)
    first = run(table.assign(w=np.where(np.arange(60) < 20, 2.0, 1.0)), known, keep_order=True)
    second = run(twice.assign(w=1.0), known, keep_order=True)
    assert first.posterior is not None
    pd.testing.assert_frame_equal(first.posterior, second.posterior)
    bounds, single = first.records["lipschitz_bound"], second.records["lipschitz_bound"]
    assert bounds[:20].to_numpy() == pytest.approx(2.0 * single[:20].to_numpy())
    assert bounds[20:60].to_numpy() == pytest.approx(single[20:60].to_numpy())


@pytest.mark.parametrize(
    "options",
    [
        {"mechanism": "lw"},
        {"mechanism": "lw", "by_column": True},
        {"mechanism": "sw"},
        {"mechanism": "cw"},
        {"mechanism": "weighted-epsilon", "epsilon": 60.0, "accept_above_target": True},
        {"mechanism": "lw", "reweight": True},
        {"mechanism": "lw", "downscale": True, "epsilon": 60.0, "accept_above_target": True},
        {"mechanism": "lw", "engine": "laplace"},
    ],
)
def test_mechanisms_bound_the_terms_with_their_exponents(options: dict[str, Any]) -> None:
    table = people()
    made = run(
        table, schema(survey_weight="w", mean_survey_weight=110.0), keep_order=True, **options
    )
    assert made.records["survey_exponent"].to_numpy() == pytest.approx(table["w"] / 110.0)
    final = made.records["lipschitz_bound_final"].max()
    assert made.summary["epsilon"] == pytest.approx(2.0 * made.summary["Delta"])
    assert final <= made.summary["Delta"] * (1 + 1e-12)
    assert (made.records["weight_final"] <= 1.0).all()
    privacy = made.privacy
    Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(privacy)))
    assert privacy["guarantee"] == "asymptotic-dp"
    assert {"key": "survey-weights", "values": {"column": "w"}} in privacy["caveat_keys"]
    assert "mean-weight" not in [entry["key"] for entry in privacy["ledger"]]
    assert "w" not in made.datasets[0].columns


def test_the_bound_is_that_of_the_weighted_terms() -> None:
    """Of one conditional table: e_i max_s |log p_s| from the posterior's own shares."""
    table = people(80)
    of = Schema(
        {"sex": Column(model="table", levels=("f", "m"))},
        survey_weight="w",
        mean_survey_weight=90.0,
    )
    made = run(table, of, keep_order=True)
    assert made.posterior is not None
    logs = made.posterior[[name for name in made.posterior if "[" in name]].to_numpy()
    place = (table["sex"] == "m").to_numpy().astype(int)
    terms = np.abs(logs[:, place]).max(axis=0) * table["w"].to_numpy() / 90.0
    assert made.records["lipschitz_bound"].to_numpy() == pytest.approx(terms)
    assert made.summary["epsilon"] == pytest.approx(2.0 * terms.max())


def test_a_mean_of_the_data_is_in_the_ledger_and_nowhere_else() -> None:
    made = run(people(), schema(survey_weight="w"), mechanism="lw")
    entry = next(one for one in made.privacy["ledger"] if one["key"] == "mean-weight")
    assert entry["epsilon"] == "not accounted"
    keys = [one["key"] for one in made.privacy["caveat_keys"]]
    assert "mean-weight-from-data" in keys
    assert "mean-weight-from-data" in made.privacy["relies_on"]["not_covered"]
    assert made.records["survey_exponent"].mean() == pytest.approx(1.0)
    assert str(round(people()["w"].mean(), 1)) not in json.dumps(made.privacy)


@pytest.mark.filterwarnings("error::pyvws.errors.MisfitWarning")
def test_columns_are_checked_against_the_weighted_data() -> None:
    """The sample has too many rich; no warning says that the synthetic records have fewer."""
    table = people(600)
    made = run(table, schema(survey_weight="w", mean_survey_weight=120.0), datasets=4)
    checks = made.summary["column_checks"]["columns"]["pay"]
    by_name = {one["name"]: one for one in checks}
    weighted = (table["w"] * table["pay"]).sum() / table["w"].sum()
    assert by_name["mean"]["data"] == pytest.approx(weighted)
    public = schema(survey_weight="w", mean_survey_weight=120.0)
    area = Column(role="public", levels=("a", "b", "c"))
    mixed = Schema({**public.columns, "area": area}, survey_weight="w", mean_survey_weight=120.0)
    assert run(table, mixed).summary["column_checks"]["columns"] == {"sex": [], "pay": []}


def test_exponents_bring_an_informative_sample_to_the_population() -> None:
    table = people(600)
    w, pay = table["w"], table["pay"]
    weighted = (w * pay).sum() / w.sum()
    assert pay.mean() - weighted > 4.0
    options = {"datasets": 8}
    with_weights = run(table, schema(survey_weight="w", mean_survey_weight=120.0), **options)
    without = run(table, schema(), **options)
    made = np.mean([one["pay"].mean() for one in with_weights.datasets])
    ignored = np.mean([one["pay"].mean() for one in without.datasets])
    # A mean of 600 has a standard error of 0.4; with these weights about 0.6, and one more drawn.
    assert abs(made - weighted) < 2.5
    assert abs(ignored - pay.mean()) < 2.0


def test_synthetic_weights_come_last_within_their_range() -> None:
    weight = Column(model="normal", outcome_scale="log", range=(10.0, 2000.0), decimals=1)
    table = people(300)
    made = run(table, schema(weight, survey_weight="w"), mechanism="lw")
    assert "survey_exponent" not in made.records
    assert "survey-weights" not in [one["key"] for one in made.privacy["caveat_keys"]]
    assert made.privacy["columns_synthesized"] == ["sex", "area", "pay", "w"]
    for one in made.datasets:
        assert one["w"].between(10.0, 2000.0).all()
        assert np.corrcoef(one["pay"], np.log(one["w"]))[0, 1] < -0.5
        assert not set(one["w"]) & set(table["w"])


MEMBERS = {"sizes": [1, 99], "summaries": {"persons": "size"}}


@pytest.mark.parametrize(
    ("of_table", "options", "change", "said"),
    [
        ({}, {"mechanism": "censored", "epsilon": 4.0}, {}, "exponents-clamp"),
        ({"unit": "area", "members": MEMBERS}, {}, {}, "exponents-members"),
        ({}, {}, {"w": -1.0}, "'w'"),
        ({}, {}, {"w": 0.0}, "'w'"),
        ({}, {}, {"w": np.nan}, "'w'"),
        ({}, {}, {"w": "x"}, "'w'"),
    ],
)
def test_what_a_run_cannot_follow_is_refused(
    of_table: dict[str, Any], options: dict[str, Any], change: dict[str, Any], said: str
) -> None:
    if "unit" in of_table:
        columns = {"sex": Column(model="table", levels=("f", "m"))}
        of = Schema(columns, survey_weight="w", **of_table)
    else:
        of = schema(survey_weight="w", **of_table)
    with pytest.raises(InputError) as caught:
        run(people().assign(**change), of, **options)
    assert said in f"{caught.value.key}: {caught.value}"


@pytest.mark.parametrize("unit", [None, "home"])
def test_a_table_in_steps_gives_the_release_from_memory(
    tmp_path: Path, unit: str | None, at_once: Callable[[int], None]
) -> None:
    at_once(40)
    table = people().assign(home=np.arange(150) % 60, pay=50.0)
    table["w"] = np.where(table["sex"] == "f", 2.0, 1.0)
    pl.from_pandas(table).write_parquet(tmp_path / "people.parquet")
    columns = {name: schema().columns[name] for name in ("sex", "area")}
    of = Schema(columns, survey_weight="w", mean_survey_weight=1.0, unit=unit)
    made = synthesizer(schema=of)
    made.fit_to(tmp_path / "people.parquet", tmp_path / "steps", seed=SEED)
    memory = made.fit(pl.from_pandas(table), seed=SEED)
    memory.write(tmp_path / "memory", format="parquet")
    for name in ("release/synthetic-02.parquet", "confidential/records.parquet"):
        one, other = (pl.read_parquet(tmp_path / where / name) for where in ("steps", "memory"))
        assert one.equals(other), name
    mine = json.loads((tmp_path / "steps" / "confidential" / "summary.json").read_text())
    assert mine["epsilon"] == memory.summary["epsilon"]
    checks, others = (one["column_checks"]["columns"] for one in (mine, memory.summary))
    for name, found in others.items():  # Sums of weights by kind are rounded in another order.
        for one, other in zip(checks[name], found, strict=True):
            assert one == pytest.approx(other)
    assert mine.get("units") == memory.summary.get("units")


def test_a_record_of_a_unit_with_a_weight_of_two_is_in_the_unit_twice() -> None:
    table = people(60).assign(home=np.arange(60) % 25)
    columns = {name: schema().columns[name] for name in ("sex", "area")}
    for of in (columns, {"sex": columns["sex"]}):
        known = Schema(dict(of), unit="home", survey_weight="w", mean_survey_weight=1.0)
        twice = pd.concat([table, table.iloc[:20]], ignore_index=True)
        options: dict[str, Any] = {"mechanism": "lw", "keep_order": True}
        weights = np.where(np.arange(60) < 20, 2.0, 1.0)
        first = run(table.assign(w=weights), known, **options)
        second = run(twice.assign(w=1.0), known, **options)
        for name in ("weight", "lipschitz_bound", "lipschitz_bound_final"):
            mine, theirs = first.records[name].to_numpy(), second.records[name].to_numpy()[:60]
            assert mine == pytest.approx(theirs), name
        pd.testing.assert_frame_equal(first.posterior, second.posterior)
        assert first.summary["epsilon"] == pytest.approx(second.summary["epsilon"])
        # Weights of one are none, to the bit.
        plain = run(table, Schema(dict(of), unit="home"), **options)
        ones = run(table.assign(w=1.0), known, **options)
        pd.testing.assert_frame_equal(
            plain.records, ones.records[plain.records.columns], check_exact=True
        )


def test_the_statement_and_the_page_name_units_and_exponents(tmp_path: Path) -> None:
    table = people(60).assign(home=np.arange(60) % 25)
    weighted = schema(survey_weight="w", mean_survey_weight=1.0)
    made = run(table, Schema(weighted.columns, "home", None, "w", 100.0), mechanism="sw")
    (said,) = (one for one in made.privacy["caveats"] if "survey weight, column w" in one)
    assert "how a calibration moves others' survey weights" in said
    made.write(tmp_path / "out")
    page = public_page(read_public(tmp_path / "out"))
    assert "is multiplied by its survey weight, column w, over a mean" in page
    assert "is of one such unit" in page
    run(table, schema()).write(tmp_path / "plain")
    page = public_page(read_public(tmp_path / "plain"))
    assert "its survey weight" not in page
    assert "one such unit" not in page


def test_a_column_that_the_table_lacks_is_named() -> None:
    with refused("columns-lacking", role="survey_weight"):
        run(people(), schema(survey_weight="v"))
    with refused("mean-without-survey-weight"):
        schema(mean_survey_weight=2.0)
