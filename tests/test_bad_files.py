"""pyvws risk, utility and combine on files that do not fit: file, column and remedy are named."""

import json
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from refusals import refused

from pyvws.commands._tables import read_records
from pyvws.commands.combine import combine
from pyvws.commands.risk import risk
from pyvws.commands.utility import utility

TABLE = {"pay": [10.0, 12.0, 40.0], "town": ["a", "b", "b"], "age": [1, 2, 3], "job": list("xyz")}


def written(folder: Path, name: str, **changes: list) -> Path:
    path = folder / name
    table = pl.DataFrame({**TABLE, **changes})
    if path.suffix == ".csv":
        table.write_csv(path)
    else:
        table.write_parquet(path)
    return path


@pytest.mark.parametrize(
    ("original", "synthetic", "outcome", "keys"),
    [
        ({}, {"pay": list("xyz")}, "pay", ("risk-outcome-not-numeric", "cells-no-code")),
        ({}, {}, "paid", ("columns-lacking", "columns-lacking")),
        ({"pay": [1.0, None, 2.0]}, {}, "pay", ("column-missing-at-rows", "output-missing-values")),
    ],
)
def test_outcomes(tmp_path, original, synthetic, outcome, keys):
    files = written(tmp_path, "original.csv", **original)
    others = [written(tmp_path, "synthetic.csv", **synthetic)]
    for command, key in zip((risk, utility), keys, strict=True):
        with refused(key):
            command(files, others, outcome)


def test_a_category_has_no_radius_but_shares(tmp_path, capsys):
    files = written(tmp_path, "original.csv")
    others = [written(tmp_path, "synthetic.csv", job=["x", "x", "w"])]
    with refused("risk-outcome-not-numeric"):
        risk(files, others, "job")
    utility(files, others, "job", as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["distance"] == pytest.approx(2 / 3)
    assert list(told["levels"]) == ["w", "x", "y", "z"]
    assert told["levels"]["x"] == pytest.approx(
        {"data": 1 / 3, "average": 2 / 3, "lowest": 2 / 3, "highest": 2 / 3}
    )


@pytest.mark.parametrize(
    ("original", "synthetic", "options", "refusal"),
    [
        ({}, {}, {"radius": 0.0}, refused("not-above-0")),
        ({}, {}, {"known": "twn"}, refused("columns-lacking")),
        ({}, {}, {"known": "pay"}, refused("known-has-outcome")),
        ({"age": [1, None, 3]}, {}, {"known": "town,age"}, refused("column-missing-at-rows")),
        (
            {},
            {"town": ["b", "a", "b"]},
            {"known": "age,town"},
            refused("known-values-differ", name="town"),
        ),
        ({}, {"age": [1, None, 3]}, {"known": "age"}, refused("known-values-differ", name="age")),
        ({}, {name: values[:2] for name, values in TABLE.items()}, {}, refused("rows-differ")),
    ],
)
def test_known_columns_and_records(tmp_path, original, synthetic, options, refusal):
    first = written(tmp_path, "original.csv", **original)
    second = [written(tmp_path, "synthetic.csv", **synthetic)]
    with refusal:
        risk(first, second, "pay", **options)


def test_values_of_types_that_cannot_be_compared_differ(tmp_path):
    first = written(tmp_path, "original.parquet", age=[timedelta(days=k) for k in (1, 2, 3)])
    second = written(tmp_path, "synthetic.parquet", age=["1", "2", "3"])
    with refused("known-values-differ", name="age"):
        read_records(first, [second], "pay", "age")


@pytest.mark.parametrize("age", [[1, 2, 3], [1.0, 2.0, 3.0], ["1", "2", "3"]])
def test_the_same_values_in_another_type_are_the_same(tmp_path, age):
    first = written(tmp_path, "original.csv")
    second = written(tmp_path, "synthetic.parquet", age=age)
    linked = read_records(first, [second], "pay", "age,town")
    assert linked.datasets[0].tolist() == TABLE["pay"]
    assert list(linked.known) == ["age", "town"]


@pytest.mark.parametrize(
    ("count", "changes", "formula", "key"),
    [
        (1, {}, "pay ~ age", "too-few-datasets"),
        (2, {}, "pay ~ agee", "columns-lacking"),
        (2, {"age": [1.0, float("inf"), 3.0]}, "pay ~ age", "column-missing-at-rows"),
        (2, {}, "job ~ age", "in-fit"),
        (2, {}, "pay ~ job", "regression-too-few-records"),
    ],
)
def test_combining(tmp_path, count, changes, formula, key):
    files = [written(tmp_path, f"{k}.csv", **(changes if k else {})) for k in range(count)]
    with refused(key):
        combine(files, formula)
