"""A release from noisy counts: what leaves, what it costs, and that anyone can make it again."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from jsonschema import Draft202012Validator
from refusals import refused
from runs import released
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.errors import InputError
from pyvws.privacy.discrete_noise import delta_of_rho, normal_delta
from pyvws.release.reproduce import ReleasedCounts
from pyvws.statement.words import SCHEMA

pytestmark = pytest.mark.runs
pytest.importorskip("opendp")

N = 400
SECRET = (1 << 62) + 20_230_623
KINDS = {"1": "a", "2": "b", "N": "c"}


def schema(**more: Any) -> vws.Schema:
    """Missing codes, mass, rules, a lookup, dates and households."""
    return vws.Schema(
        {
            "house": vws.Column(role="id"),
            "sex": vws.Column(model="logistic", levels=("f", "m")),
            "age": vws.Column(
                model="negative-binomial", range=(0, 100), cuts=(5, 15, 30, 45, 60, 75)
            ),
            "job": vws.Column(
                model="nominal", levels=("1", "2"), missing="N", rule="N only where age < 15"
            ),
            "kind": vws.Column(lookup={"job": KINDS}, levels=("a", "b", "c")),
            "pay": vws.Column(
                model="normal",
                outcome_scale="log",
                range=(0, 1e6),
                mass=(0,),
                decimals=0,
                missing="N",
                rule=("missing only where age < 15", "0 where job == '2'"),
            ),
            "since": vws.Column(
                model="normal", days_since="2001-01-01", range=("2001-01-01", "2005-12-31")
            ),
        },
        unit="house",
        **more,
    )


def table(n: int = N) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    age = rng.integers(0, 100, n)
    job = np.where(age < 15, "N", rng.choice(["1", "2"], n))
    pay = np.exp(rng.normal(10, 1, n)).astype(int).astype(str)
    pay = np.where(age < 15, "N", np.where(job == "2", "0", pay))
    return pl.DataFrame(
        {
            "house": np.sort(rng.integers(0, n // 2, n)).astype(str),
            "sex": rng.choice(["f", "m"], n),
            "age": age.astype(str),
            "job": job,
            "kind": [KINDS[one] for one in job],
            "pay": pay,
            "since": (np.datetime64("2001-01-01") + rng.integers(0, 1800, n)).astype(str),
        }
    )


RUN: dict[str, Any] = {"mechanism": "noisy-counts", "measure": "pairs", "datasets": 2, "classes": 5}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release of a table of households, by the command line."""
    words = "--mechanism noisy-counts --epsilon 3 --delta 1e-5 --cap 4 --datasets 2 --classes 5"
    return released(tmp_path_factory.mktemp("counts"), table(), schema(), words)


def test_all_datasets_cost_epsilon_once(written: Path) -> None:
    privacy = json.loads((written / "release/privacy.json").read_text())
    Draft202012Validator(SCHEMA).validate(privacy)
    exact = json.loads((written / "confidential/summary.json").read_text())["privacy"]
    Draft202012Validator(SCHEMA).validate(exact)
    assert privacy["guarantee"] == "approximate-dp"
    assert privacy["delta"] == 1e-5
    assert privacy["epsilon_per_dataset"] == privacy["epsilon_total"] == 3.0
    assert sum(entry["epsilon"] for entry in privacy["ledger"]) == privacy["epsilon_total"]
    assert privacy["number_of_rows"] == "noisy"
    assert privacy["counts"]["conversion"] == "normal"  # A unit has several records.


def test_every_record_keeps_the_rules_levels_and_ranges(written: Path) -> None:
    for number in (1, 2):
        made = pl.read_csv(written / f"release/synthetic-{number:02d}.csv", infer_schema=False)
        age = made["age"].cast(pl.Int64)
        assert age.is_between(0, 100).all()
        assert ((made["job"] == "N") == (age < 15)).all()
        assert ((made["pay"] == "N") == (age < 15)).all()
        assert (made.filter(pl.col("job") == "2")["pay"] == "0").all()
        kinds = made["job"].replace_strict(KINDS)
        assert (made["kind"] == kinds).all()
        assert (
            made["since"]
            .str.to_date("%Y-%m-%d")
            .is_between(pl.date(2001, 1, 1), pl.date(2005, 12, 31))
            .all()
        )
        assert made["house"].to_list() == [str(k) for k in range(1, made.height + 1)]


def test_anyone_makes_the_same_bytes_from_the_release_alone(written: Path, tmp_path: Path) -> None:
    alone = tmp_path / "copy"
    (alone / "release").mkdir(parents=True)
    for file in (written / "release").iterdir():
        (alone / "release" / file.name).write_bytes(file.read_bytes())
    ended = CliRunner().invoke(app, ["reproduce", str(alone), "--json"])
    assert ended.exit_code == 0, ended.output
    assert json.loads(ended.output)["same"] == {"synthetic-01.csv": True, "synthetic-02.csv": True}
    counts = pl.read_parquet(alone / "release/counts.parquet")
    other = counts.with_columns(pl.col("count") + (pl.col("cell") == 3).cast(pl.Int64) * 40)
    other.write_parquet(alone / "release/counts.parquet")
    assert CliRunner().invoke(app, ["reproduce", str(alone)]).exit_code == 1


@pytest.mark.parametrize(("share", "more"), [(1.0, False), (0.97, True)])
def test_anyone_computes_the_cost_from_the_release_alone(
    written: Path, share: float, more: bool
) -> None:
    """Of a unit of at most two records the sum of 1 / (2 sigma^2) counts four times."""
    privacy = json.loads((written / "release/privacy.json").read_text(encoding="utf-8"))
    counts = ReleasedCounts.read(written / "release", privacy)
    scaled = pl.col("scale") * share
    fine = None if counts.fine is None else counts.fine.with_columns(scaled)
    found = replace(counts, counts=counts.counts.with_columns(scaled), fine=fine)
    assert found.costs_more == more
    by_set = [own["scale"][0] for _, own in found.counts.group_by("set")]
    by_set += [] if fine is None else [own["scale"][0] for _, own in fine.group_by("column", "by")]
    rho = privacy["counts"]["cap"] ** 2 * sum(0.5 / sigma**2 for sigma in by_set)
    assert rho * share**2 == pytest.approx(privacy["counts"]["rho"], rel=1e-9)
    shift = privacy["counts"]["cap"] * sum(1.0 / (sigma**2 - 2.0) for sigma in by_set) ** 0.5
    least = min(delta_of_rho(rho, found.epsilon), normal_delta(shift, found.epsilon))
    assert least == pytest.approx(1e-5, rel=1e-3)


def test_both_pages_render(written: Path) -> None:
    ended = CliRunner().invoke(app, ["report", str(written)])
    assert ended.exit_code == 0, ended.output
    public = (written / "release/report.html").read_text()
    assert "counted once, with discrete gaussian noise" in public
    assert "Approximate differential privacy" in public
    assert "Noisy counts and imputed records" in (written / "confidential/report.html").read_text()


def test_the_exact_number_of_records_is_nowhere_in_the_release(written: Path) -> None:
    """Under leave-one-out every number of rows is one that the noise gave."""
    counts = pl.read_parquet(written / "release/counts.parquet")
    rows = pl.read_csv(written / "release/synthetic-01.csv", infer_schema=False).height
    assert rows == counts.filter(pl.col("set") == "records")["count"][0]
    summary = json.loads((written / "confidential/summary.json").read_text())
    for file in (written / "release").iterdir():
        if file.suffix in (".json", ".toml"):
            assert f" {summary['records']}" not in file.read_text()


def _counts(seed: int | None) -> list[int]:
    made = vws.synthesize(
        table(60).select("sex", "job"),
        schema=vws.Schema(
            {
                "sex": vws.Column(model="logistic", levels=("f", "m")),
                "job": vws.Column(model="nominal", levels=("1", "2", "N")),
            }
        ),
        epsilon=0.5,
        seed=seed,
        **RUN,
    )
    return made.public_tables["counts.parquet"]["count"].to_list()


def test_no_seed_brings_the_noise_back() -> None:
    """The public seed has no part in the noise: under one seed the noise differs."""
    assert _counts(1) != _counts(1)


def test_a_seed_that_another_run_keeps_secret_does_not_leave() -> None:
    """Whoever has the seed of a confidential run can repeat that run on any guess of the table."""
    said = []
    for seed in (SECRET, SECRET, SECRET + 1):
        made = vws.synthesize(table(60), schema=schema(), epsilon=1.0, cap=2, seed=seed, **RUN)
        assert str(SECRET) not in json.dumps(made.privacy) + made.config
        assert f"seed = {seed}" in made.config_with_seed
        said.append(made.privacy["counts"]["public_seed"])
    assert said[0] == said[1] != said[2]


ODD = {
    "as it is": {},
    "an unknown level": {"sex": "x"},
    "a word": {"age": "abc"},
    "a fraction": {"pay": "12.5"},
    "beyond all ranges": {"pay": "1e300", "age": "-99999999999999999999"},
    "no date": {"since": "no"},
    "a time": {"since": "2001-05-01T10:00:00"},
    "empty cells": {"house": "", "sex": "", "age": "", "pay": ""},
    "a broken rule": {"age": "3", "job": "1"},
}


def words_of(made: Any) -> str:
    """The statement but for the random name of the release, and what follows noisy counts."""
    said = {name: value for name, value in made.privacy.items() if name != "release_id"}
    follows = ("predicted", "kept_dependence", "lost_sets", "cells")
    released = sum(map(len, made.public_tables.values())) - 1  # But for the number of records.
    assert said["counts"]["cells"] == released  # Noisy counts chose them.
    said["counts"] = {name: x for name, x in said["counts"].items() if name not in follows}
    said["caveats"] = [own for own in said["caveats"] if "do not hold" not in own]
    said["caveat_keys"] = [own for own in said["caveat_keys"] if own["key"] != "counts-lost"]
    return json.dumps(said, sort_keys=True)


@pytest.mark.parametrize("rows", [0, 1, 60])
def test_no_record_changes_a_word_that_leaves(rows: int) -> None:
    """Whatever a record holds, and whether there is any: only the noisy counts may move."""
    left = set()
    for odd in ODD.values() if rows == 60 else [{}]:
        frame = table(60).with_columns(
            pl.when(pl.int_range(pl.len()) == 7)
            .then(pl.lit(value))
            .otherwise(pl.col(name))
            .alias(name)
            for name, value in odd.items()
        )
        made = vws.synthesize(frame.head(rows), schema=schema(), epsilon=1.0, cap=2, seed=9, **RUN)
        kinds = [dict(one.schema) for one in made.datasets]
        left.add((words_of(made), made.config, str(kinds)))
    whole = vws.synthesize(table(60), schema=schema(), epsilon=1.0, cap=2, seed=9, **RUN)
    kinds = [dict(one.schema) for one in whole.datasets]
    left.add((words_of(whole), whole.config, str(kinds)))
    assert len(left) == 1


def test_what_cannot_be_counted_is_refused_in_one_line() -> None:
    sex = vws.Column(model="logistic", levels=("f", "m"))
    wrong: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"x": vws.Column(model="normal")}, {}, "no public cells"),
        ({"sex": sex, "job": vws.Column(role="public", levels=("1", "2"))}, {}, "beside-counts"),
        ({"sex": sex}, {"measure": "sex:what"}, "no column to synthesize"),
        ({"sex": sex}, {"cap": 2}, "cap-and-unit"),
        ({"sex": sex}, {"epsilon": 0}, "epsilon"),
        ({"sex": sex}, {"records": "noisy", "records_epsilon": 1}, "beside-counts"),
        (
            {
                "x": vws.Column(model="normal", range=(0, 9)),
                "y": vws.Column(model="normal", range=(0, 9), rule=">= x"),
            },
            {"model": "conditionals"},
            "counts-bounded-by-family",
        ),
        (
            {f"x{k}": vws.Column(model="normal", range=(0, 1e6)) for k in range(9)},
            {"measure": ":".join(f"x{k}" for k in range(9))},
            "cells",
        ),
    ]
    for columns, more, said in wrong:
        with pytest.raises(InputError) as caught:
            vws.synthesize(
                pl.DataFrame({"sex": ["f"]}),
                schema=vws.Schema(columns),
                **{**RUN, "epsilon": 1.0, **more},
            )
        assert said in f"{caught.value.key}: {caught.value}"
        assert "\n" not in str(caught.value)
    with refused("counts-without-schema"):
        vws.synthesize(pl.DataFrame({"y": [1, 2]}), outcome="y", epsilon=1.0, **RUN)


def test_what_rules_compute_may_have_missing_cells() -> None:
    """A copy of dates and a sum of amounts are missing where what they read is."""
    rng = np.random.default_rng(6)
    days = (np.datetime64("2013-01-01") + rng.integers(0, 600, N)).astype(str)
    first = np.where(rng.random(N) < 0.2, "", days)
    wage = np.where(rng.random(N) < 0.2, -1, rng.integers(0, 40, N))
    frame = pl.DataFrame({"first": first, "copy": first, "wage": wage})
    frame = frame.with_columns(
        pl.col("first", "copy").replace("", None), pl.col("wage").replace(-1, None)
    ).with_columns(plus=pl.col("wage") + 1)
    day = vws.Column(
        model="normal", days_since="2013-01-01", range=("2013-01-01", "2014-12-31"), missing=True
    )
    pay = vws.Column(model="normal", range=(0, 50), decimals=0, missing=True)
    same = replace(day, model=None, rule="= first")
    more = replace(pay, model=None, rule="= wage + 1", range=(0, 51))
    told = vws.Schema({"first": day, "copy": same, "wage": pay, "plus": more})
    counts = vws.NoisyCounts(epsilon=4, delta=1e-5, measure="pairs")
    (made,) = vws.synthesize(frame, schema=told, mechanism=counts, datasets=1, seed=3).datasets
    assert made["copy"].equals(made["first"].alias("copy"), null_equal=True)
    assert made["plus"].to_list() == (made["wage"] + 1).to_list()
    assert 0 < made["plus"].null_count() < N
    assert 0 < made["copy"].null_count() < N
