"""No synthetic record has a level that a rule bars: every mechanism, members, a broken table."""

import json
import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

import pyvws as vws
from pyvws.errors import ConvergenceWarning

pytestmark = [
    pytest.mark.runs,
    pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning"),
]

N = 200
LEVELS = ("single", "married", "widowed")
RULES = ("never married, widowed where age < 15", "never single where home == 'pair'")


def people(seed: int = 4) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 80, N)
    home = np.where((age < 15) | (rng.random(N) < 0.5), "alone", "pair")
    marital = np.where(home == "pair", rng.choice(LEVELS[1:], N), rng.choice(LEVELS, N))
    marital = np.where(age < 15, "single", marital)
    return pl.DataFrame({"age": age, "home": home, "marital": marital})


def schema_of(*rules: str, model: str = "table") -> vws.Schema:
    wanted = {"model": model, "levels": LEVELS, "predictors": ["age"]}
    age = {"range": (0, 80), "cuts": (15, 40), "decimals": 0}
    columns = {
        "age": vws.Column(role="public", **age),
        "home": vws.Column(
            model="table", levels=("alone", "pair"), predictors=["age"], rule="alone where age < 15"
        ),
        "marital": vws.Column(rule=rules or None, **wanted),
    }
    if "home" not in str(rules):
        columns.pop("home")
    return vws.Schema(columns)


def broken_in(made: pl.DataFrame) -> int:
    young = (pl.col("age") < 15) & (pl.col("marital") != "single")
    pair = (pl.col("home") == "pair") & (pl.col("marital") == "single")
    return made.filter(young | pair).height


@pytest.mark.parametrize(
    ("mechanism", "model", "more"),
    [
        ("unweighted", "table", {}),
        ("lw", "table", {"sampling": "systematic"}),
        ("sw", "ordinal", {"engine": "laplace"}),
        ("unweighted", "nominal", {"engine": "laplace"}),
        (vws.Censored(epsilon=8.0), "table", {}),
        (vws.NoisyCounts(epsilon=1.0, delta=1e-5, measure="pairs"), "table", {}),
        (vws.NoisyCounts(epsilon=1.0, model="conditionals", measure="pairs"), "table", {}),
    ],
    ids=lambda one: str(getattr(one, "name", one)),
)
def test_no_synthetic_record_has_a_barred_level(mechanism: Any, model: str, more: Any) -> None:
    schema = schema_of(*RULES, model=model)
    if isinstance(mechanism, vws.NoisyCounts):
        age = vws.Column(model="truncated-normal", range=(0, 80), cuts=(15, 40), decimals=0)
        schema = vws.Schema({**schema.columns, "age": age})
    said: dict[str, Any] = {"datasets": 3, "seed": 2, "draws": 40, "warmup": 100, "chains": 2}
    if isinstance(mechanism, vws.NoisyCounts):
        said = {"datasets": 3, "seed": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = vws.synthesize(people(), schema=schema, mechanism=mechanism, **said, **more)
    for dataset in made.datasets:
        assert broken_in(dataset) == 0
        assert set(dataset["marital"]) == set(LEVELS)


def test_a_record_that_breaks_the_rule_is_counted_and_named_nowhere() -> None:
    table = people().with_row_index()
    own = table.with_columns(
        marital=pl.when(pl.col("index") == 7).then(pl.lit("widowed")).otherwise("marital"),
        age=pl.when(pl.col("index") == 7).then(3).otherwise("age"),
    ).drop("index")
    schema = schema_of(RULES[0])
    made = vws.synthesize(own, schema=schema, mechanism="unweighted", datasets=3, seed=2, draws=40)
    assert made.summary["records_that_break_rules"] == {"marital": 1}
    assert "records_that_break" not in json.dumps(made.privacy)
    for dataset in made.datasets:
        assert dataset.filter((pl.col("age") < 15) & (pl.col("marital") != "single")).height == 0
    assert made.records.height == N


def test_members_keep_rules_on_the_unit_and_on_those_before_them() -> None:
    rng = np.random.default_rng(3)
    rows = []
    for home in range(80):
        size, tenure = int(rng.integers(1, 4)), str(rng.choice(["rent", "own"]))
        for place in range(size):
            relation = "head" if place == 0 else str(rng.choice(["spouse", "child"]))
            rows.append((home, tenure, relation if size > 2 or place == 0 else "child"))
    table = pl.DataFrame(rows, schema=["home", "tenure", "relation"], orient="row")
    relation = vws.Column(
        model="table",
        levels=("head", "spouse", "child"),
        predictors=[],
        rule=("never head where before != 0", "never spouse, child where before == 0"),
    )
    schema = vws.Schema(
        {
            "home": vws.Column(role="id"),
            "tenure": vws.Column(
                model="table",
                levels=("rent", "own"),
                predictors=[],
                rule="never own where size == 2",
            ),
            "relation": relation,
        },
        unit="home",
        members={
            "sizes": [1, 3],
            "of_unit": ["tenure"],
            "summaries": {"size": "size", "before": "count"},
        },
    )
    made = vws.synthesize(table, schema=schema, mechanism="unweighted", datasets=2, seed=2)
    for dataset in made.datasets:
        heads = dataset.group_by("home", maintain_order=True).agg(
            (pl.col("relation") == "head").sum().alias("heads"),
            pl.col("relation").first(),
            pl.len(),
            pl.col("tenure").first(),
        )
        assert (heads["heads"] == 1).all()
        assert (heads["relation"] == "head").all()
        assert heads.filter((pl.col("len") == 2) & (pl.col("tenure") == "own")).height == 0
