"""Columns that no family draws: constants, and categories that rules decide wholly."""

import numpy as np
import pandas as pd
import pytest

import pyvws as vws
from pyvws import Column, Schema

AGE = Column(model="truncated-normal", range=(15, 90), decimals=0, predictors=())
BANDS = ("16-24 where age < 25", "25-64 where age >= 25 and age < 65", "65+ where age >= 65")


def band(*rules: str, age: Column = AGE, **entries: object) -> bool:
    """Whether a band of ages is computed under rules."""
    levels = ("16-24", "25-64", "65+", "N")
    column = Column(model="table", levels=levels, predictors=(), rule=rules, **entries)
    return "band" in Schema({"age": age, "band": column}).computed


def test_rules_decide_a_column_where_they_leave_no_value_of_the_others_open() -> None:
    assert band(*BANDS)
    assert not band(*BANDS[:2])
    assert not band(*BANDS[::2])
    assert band("16-24 where age <= 24", *BANDS[1:])  # No whole number is between 24 and 25.
    real = Column(model="normal", range=(15, 90), predictors=())
    assert band(*BANDS, age=real)
    assert not band("16-24 where age <= 24", *BANDS[1:], age=real)
    assert not band("16-24 where age < 25", "25-64 where age > 25", age=real)
    gone = Column(model="normal", range=(15, 90), missing="N", predictors=())
    assert not band(*BANDS, age=gone)
    assert band(*BANDS, "N where age == missing", age=gone)
    levels = Column(model="table", levels=("16", "30", "70"), predictors=())
    assert band(*BANDS, age=levels)
    assert band("16-24 where age in [16, 30]", "65+ where age == 70", age=levels)
    assert not band("16-24 where age == 16", "65+ where age == 70", age=levels)
    dates = Column(model="normal", days_since="2000-01-01", range=("2000-01-01", "2009-12-31"))
    assert band("65+ where age < '2005-06-01'", "N where age >= '2005-06-01'", age=dates)
    assert not band("65+ where age < '2005-06-01'", "N where age > '2005-06-01'", age=dates)


def test_what_a_schema_cannot_say_is_not_decided() -> None:
    other = Column(model="table", levels=("a", "b"), predictors=())
    twice = ("a where age < wage", "b where age >= wage")
    columns = {"age": AGE, "wage": AGE, "of": other}
    assert "of" not in Schema({**columns, "of": Column(**{**other.given, "rule": twice})}).computed
    assert Schema({**columns, "of": Column(levels=["AT"])}).computed == {"of"}
    assert (
        Schema({**columns, "of": Column(levels=["AT"], missing=True, model="table")}).computed
        == set()
    )


def test_a_decided_column_is_no_predictor_unless_it_is_named() -> None:
    column = Column(model="table", levels=("16-24", "25-64", "65+"), rule=BANDS)
    schema = Schema({"age": AGE, "band": column, "x": Column(model="normal", range=(0, 1))})
    assert schema.predictors_of("x") == ("age",)


@pytest.mark.runs
@pytest.mark.parametrize("mechanism", ["sw", "noisy-counts"])
def test_computed_columns_follow_in_every_record_at_no_cost(mechanism: str) -> None:
    rng = np.random.default_rng(3)
    age = rng.integers(16, 90, 120)
    table = pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], 120),
            "country": "AT",
            "band": np.select([age < 25, age < 65], ["16-24", "25-64"], "65+"),
        }
    )
    levels = Column(model="table", levels=[str(x) for x in range(15, 91, 5)], predictors=[])
    table["age"] = (age // 5 * 5).astype(str)
    columns = {
        "age": levels,
        "sex": Column(model="table", levels=["f", "m"], predictors=[]),
        "country": Column(levels=["AT"]),
        "band": Column(model="table", levels=["16-24", "25-64", "65+"], predictors=[], rule=BANDS),
    }
    table["band"] = np.select([age // 5 * 5 < 25, age // 5 * 5 < 65], ["16-24", "25-64"], "65+")
    given = {"epsilon": 50.0} if mechanism == "noisy-counts" else {}
    settings = {"mechanism": mechanism, "datasets": 2, "seed": 1, **given}
    release = vws.synthesize(table, schema=Schema(columns), **settings)
    for made in release.datasets:
        years = made["age"].astype(int)
        want = np.select([years < 25, years < 65], ["16-24", "25-64"], "65+")
        assert (made["band"].astype(str) == want).all()
        assert (made["country"] == "AT").all()
    if mechanism == "sw":
        fitted = [column["name"] for column in release.privacy["columns"]]
        assert fitted == ["age", "sex"]
        alone = vws.synthesize(
            table, schema=Schema({x: columns[x] for x in ("age", "sex")}), **settings
        )
        assert release.privacy["epsilon_total"] == alone.privacy["epsilon_total"]
    else:  # Both columns are scored beside the data, and computed ones are no misfit.
        assert release.summary["column_checks"]["k_marginal"]["score"] > 800
