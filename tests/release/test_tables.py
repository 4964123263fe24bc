"""Runs with a schema: several columns synthesized together, at one joint epsilon."""

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from record_terms import record_log_likelihood
from refusals import refused
from runs import SEED, fitted, release_of, synthesizer

import pyvws as vws
from pyvws import Column, ConvergenceWarning, Schema, SearchError
from pyvws.models.sequence import TableCells, TableModel, draws_of
from pyvws.plan.coded import OutcomeColumn
from pyvws.posterior import systematic_draws
from pyvws.posterior.systematic_draws import SAMPLINGS
from pyvws.synthesis.loop import SILENT

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
]

_RNG = np.random.default_rng(3)
N = 120
_SEX = _RNG.choice(["f", "m"], N)
_EDU = np.where(_RNG.random(N) < 0.9, np.where(_SEX == "f", "low", "high"), "mid")
_PAY = 9.0 + 0.8 * (_EDU == "high") + _RNG.normal(0.0, 0.5, N)
TABLE = pd.DataFrame(
    {"visits": _RNG.poisson(3.0, N), "sex": _SEX, "note": "x", "edu": _EDU, "pay": _PAY.round(2)}
)
_PAID, _VISITS = TABLE["pay"].to_numpy(), TABLE["visits"].to_numpy().astype(float)
SCHEMA = Schema(
    {
        "sex": Column(role="public", levels=("f", "m")),
        "edu": Column(model="ordinal", levels=("low", "mid", "high")),
        "pay": Column(model="normal", range=(0.0, 20.0), decimals=2),
        "visits": Column(model="poisson", range=(0.0, 50.0)),
    }
)


def released(table: Any = TABLE, **settings: Any) -> vws.Release:
    return release_of(table, **{"schema": SCHEMA, "mechanism": "lw", **settings})


def test_a_table_of_one_column_is_the_run_on_that_column_to_the_bit() -> None:
    alone = Schema({"pay": Column(model="normal")})
    settings = {"mechanism": "lw", "reweight": True, "datasets": 3}
    table = released(schema=alone, **settings)
    column = released(schema=None, outcome="pay", model="normal", **settings)
    for one, other in zip(table.datasets, column.datasets, strict=True):
        assert one.equals(other)
    assert table.posterior.equals(column.posterior)
    assert table.records.equals(column.records)
    own = {"columns_synthesized", "columns", "epsilon_of_separate_runs", "relies_on"}
    said = {key: value for key, value in table.privacy.items() if key not in own}
    assert said == {key: value for key, value in column.privacy.items() if key not in own}
    assert table.privacy["epsilon_of_separate_runs"] == table.privacy["epsilon_per_dataset"]


def test_the_statement_has_the_joint_epsilon_and_each_columns_part() -> None:
    release = released()
    privacy = release.privacy
    assert privacy["columns_synthesized"] == ["edu", "pay", "visits"]
    assert privacy["columns_released_unchanged"] == ["sex"]
    assert [one["predictors"] for one in privacy["columns"]] == [
        ["sex"],
        ["sex", "edu"],
        ["sex", "edu", "pay"],
    ]
    exact = release.summary["privacy"]
    parts = [one["epsilon_alone"] for one in exact["columns"]]
    assert exact["epsilon_of_separate_runs"] == pytest.approx(sum(parts), rel=1e-15)
    assert max(parts) <= exact["epsilon_per_dataset"] <= sum(parts)
    assert exact["epsilon_per_dataset"] == 2.0 * max(release.records["lipschitz_bound_final"])
    by_column = [f"lipschitz_bound_final_{name}" for name in privacy["columns_synthesized"]]
    assert parts == [2.0 * max(release.records[name]) for name in by_column]
    sums = release.records[by_column].sum(axis=1)
    assert (release.records["lipschitz_bound_final"] <= sums * (1 + 1e-12)).all()


@pytest.mark.parametrize("mechanism", ["unweighted", "lw"])
def test_bounds_are_those_of_the_whole_matrices_and_of_every_pairing(mechanism: str) -> None:
    run = fitted(TABLE, schema=SCHEMA, mechanism=mechanism)
    cells, posterior = run.loop.cells, run.final.posterior
    assert isinstance(cells, TableCells)
    matrices = [
        record_log_likelihood(
            one.model, replace(posterior, draws=draws_of(posterior.draws, one.column)), one.cells
        )
        for one in cells.columns
    ]
    found = vws.joint_bounds(matrices, weights=run.final.weights)
    assert (run.final.bounds.by_record == found.by_record).all()
    assert (run.final.bounds.by_column == found.by_column).all()
    assert run.final.bounds.by_draw.max() == pytest.approx(found.database, rel=1e-14)
    some = [0, 17, 39]
    pairings = [
        np.abs(sum(matrix[s] for matrix, s in zip(matrices, of, strict=True)))
        for of in product(some, repeat=3)
    ]
    weighted = np.array(pairings).max(axis=0) * run.final.weights
    assert (weighted <= found.by_record * (1 + 1e-12)).all()
    joint = TableModel(cells.columns).log_likelihood(posterior.draws, cells)
    assert np.allclose(joint[:, cells.cell_of_record], sum(matrices), rtol=1e-12)


def _follow(made: vws.Release) -> list[float]:
    """How often synthetic education goes with synthetic pay above the middle, by dataset."""
    return [
        float(np.corrcoef(dataset["edu"] == "high", dataset["pay"])[0, 1])
        for dataset in made.datasets
    ]


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_synthetic_records_follow_synthetic_predecessors_only(
    monkeypatch: pytest.MonkeyPatch, sampling: str
) -> None:
    assert np.corrcoef(_EDU == "high", _PAY)[0, 1] > 0.5
    settings = {"mechanism": "unweighted", "datasets": 8, "sampling": sampling}
    schema = replace(SCHEMA, columns={n: c for n, c in SCHEMA.columns.items() if n != "visits"})
    schema = replace(schema, columns={**schema.columns, "sex": Column(role="drop")})
    assert np.mean(_follow(released(schema=schema, **settings))) > 0.4
    drawn = OutcomeColumn.drawn.fget
    monkeypatch.setattr(  # The planted error: pay is drawn from the record's own education.
        OutcomeColumn, "drawn", property(lambda self: replace(drawn(self), coded=None))
    )
    planted = synthesizer(schema=schema, **settings).fit(TABLE, seed=SEED)
    assert abs(np.mean(_follow(planted))) < 0.2


@pytest.mark.parametrize("mechanism", ["sw", "cw", "pairwise", "weighted-epsilon"])
def test_each_mechanism_takes_a_table(mechanism: str) -> None:
    settings: dict[str, Any] = {"mechanism": mechanism, "datasets": 2}
    if mechanism == "weighted-epsilon":
        settings |= {"epsilon": 6.0, "accept_above_target": True}
    made = released(**settings)
    assert made.privacy["guarantee"] == "asymptotic-dp"
    assert list(made.datasets[0].columns) == ["visits", "sex", "edu", "pay"]


@pytest.mark.runs
def test_marginal_takes_a_table_whole_or_by_a_public_column() -> None:
    alike = released(mechanism="marginal", datasets=1)
    patterns = released(mechanism="marginal", datasets=1, known=("sex",))
    for made in (alike, patterns):
        assert made.privacy["guarantee"] == "asymptotic-dp"
        bounds = made.records["lipschitz_bound_final"]
        assert made.summary["privacy"]["epsilon_per_dataset"] == 2.0 * max(bounds)
        assert ((made.records["weight"] >= 0.0) & (made.records["weight"] <= 1.0)).all()
    assert not alike.records["weight"].equals(patterns.records["weight"])


@pytest.mark.runs
@pytest.mark.parametrize("mechanism", ["lw", "marginal"])
def test_downscale_meets_its_epsilon_for_the_table(mechanism: str) -> None:
    made = released(mechanism=mechanism, epsilon=9.0, downscale=True, datasets=1)
    assert made.privacy["guarantee"] == "asymptotic-dp"
    assert made.privacy["epsilon_target"] == 9.0
    assert made.summary["privacy"]["epsilon_per_dataset"] <= 9.0
    assert "above-target" not in [said["key"] for said in made.privacy["caveat_keys"]]


@pytest.mark.runs
def test_a_miss_of_epsilon_releases_nothing_or_is_said() -> None:
    settings: dict[str, Any] = {"mechanism": "weighted-epsilon", "epsilon": 5.0, "datasets": 1}
    with pytest.raises(SearchError, match="lies above the epsilon that was asked for"):
        released(**settings)
    made = released(**settings, accept_above_target=True)
    assert made.summary["privacy"]["epsilon_per_dataset"] > 5.0
    assert "above-target" in [said["key"] for said in made.privacy["caveat_keys"]]


def test_risks_count_records_in_products_of_balls() -> None:
    run = fitted(TABLE, schema=SCHEMA, mechanism="cw", radius=0.3)
    inside = (
        (_EDU[:, None] == _EDU)
        & (np.abs(_PAID[:, None] - _PAID) <= 0.3 * _PAID[:, None])
        & (np.abs(_VISITS[:, None] - _VISITS) <= 0.3 * _VISITS[:, None])
    )
    assert np.allclose(run.own.risk, 1.0 - inside.sum(axis=1) / N)


def test_every_kind_of_table_gives_the_same_values_and_its_own_types() -> None:
    given = {name: list(values) for name, values in TABLE.items()}
    frames = [pl.DataFrame(given), pl.DataFrame(given).to_arrow(), TABLE]
    made = [released(frame, datasets=1).datasets[0] for frame in frames]
    assert [type(dataset) for dataset in made] == [type(frame) for frame in frames]
    seen = [nw.from_native(dataset, eager_only=True) for dataset in made]
    for name in ("edu", "pay", "visits", "sex"):
        assert seen[0][name].to_list() == seen[1][name].to_list() == seen[2][name].to_list()
    typed = TABLE.assign(edu=pd.Categorical(TABLE["edu"], ["low", "mid", "high"], ordered=True))
    (made,) = released(typed, types="table", datasets=1).datasets
    assert made["edu"].dtype == typed["edu"].dtype
    assert released(typed, datasets=1).datasets[0]["edu"].tolist() == made["edu"].tolist()


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_in_steps_as_in_memory(
    tmp_path: Path, at_once: Callable[[int], None], sampling: str
) -> None:
    at_once(50)
    pl.from_pandas(TABLE).write_csv(tmp_path / "in.csv")
    run = synthesizer(schema=SCHEMA, sampling=sampling)
    run.fit_to(tmp_path / "in.csv", tmp_path / "steps", seed=SEED)
    run.fit(pl.read_csv(tmp_path / "in.csv"), seed=SEED).write(tmp_path / "memory")
    for name in ("synthetic-01.csv", "synthetic-02.csv", "privacy.json", "schema.toml", "run.toml"):
        files = [(tmp_path / how / "release" / name).read_bytes() for how in ("steps", "memory")]
        assert files[0] == files[1], name


def test_systematic_records_are_near_what_the_draw_expects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six datasets of one draw: their counts of levels hardly differ, at the same statement."""
    alone = Schema({"edu": Column(model="ordinal", levels=("low", "mid", "high"))})
    settings = {"schema": alone, "mechanism": "lw", "datasets": 6, "draws_per_release": 1}
    spread, said = [], []
    for sampling in SAMPLINGS:
        made = released(sampling=sampling, **settings)
        counts = [dataset["edu"].value_counts().get("high", 0) for dataset in made.datasets]
        spread.append(max(counts) - min(counts))
        said.append(deepcopy(made.privacy))
        others = synthesizer(sampling=sampling, **settings).fit(TABLE, seed=SEED)
        assert all(a.equals(b) for a, b in zip(made.datasets, others.datasets, strict=True))
    assert spread[1] <= 2 < spread[0]
    plain, systematic = said
    assert systematic["relies_on"].pop("public_settings").pop("sampling") == "systematic"
    assert {"key": "systematic", "values": {}} in systematic["caveat_keys"]
    assert "systematic" not in json.dumps(plain)
    own = {"relies_on", "caveats", "caveat_keys"}
    assert {key: of for key, of in plain.items() if key not in own} == {
        key: of for key, of in systematic.items() if key not in own
    }

    def never(*_: Any) -> Any:
        raise AssertionError("a systematic number")

    monkeypatch.setattr(systematic_draws, "systematic_uniforms", never)
    usual = synthesizer(**settings).fit(TABLE, seed=SEED)
    independent = released(sampling="independent", **settings)
    for one, other in zip(usual.datasets, independent.datasets, strict=True):
        assert one.equals(other)


def test_in_steps_codes_and_empty_cells_are_those_of_the_schema(tmp_path: Path) -> None:
    """Zeros in front of codes, categories with empty cells, and a public column that has some."""
    table = pl.DataFrame(
        {
            "zip": [None if i % 7 == 0 else f"{i % 3:02d}" for i in range(90)],
            "day": [None if i % 5 == 0 else f"2020-01-{1 + i % 9:02d}" for i in range(90)],
            "visits": _VISITS[:90].astype(int),
        }
    )
    schema = Schema(
        {
            "day": Column(role="public"),
            "zip": Column(model="ordinal", levels=("00", "01", "02"), missing=True, predictors=()),
            "visits": Column(model="poisson", predictors=("zip",)),
        }
    )
    run = synthesizer(schema=schema)
    for kind in ("csv", "parquet"):
        path = tmp_path / f"in.{kind}"
        table.write_csv(path) if kind == "csv" else table.write_parquet(path)
        run.fit_to(path, tmp_path / kind, seed=SEED)
    run.fit(table, seed=SEED).write(tmp_path / "memory")
    name = "release/synthetic-01"
    steps = (tmp_path / "csv" / f"{name}.csv").read_bytes()
    assert steps == (tmp_path / "memory" / f"{name}.csv").read_bytes()
    parquet = pl.read_parquet(tmp_path / "parquet" / f"{name}.parquet")
    assert parquet.write_csv().encode() == steps
    assert set(parquet["zip"].unique()) == {None, "00", "01", "02"}
    assert sorted(parquet["day"].drop_nulls()) == sorted(table["day"].drop_nulls())


def test_entries_that_the_table_gave_are_not_accounted(tmp_path: Path) -> None:
    column = replace(SCHEMA.columns["pay"], review=("range",))
    schema = replace(SCHEMA, columns={**SCHEMA.columns, "pay": column})
    made = released(schema=schema, datasets=2)
    assert made.privacy["ledger"][0]["key"] == "proposed"
    assert "proposed" in [said["key"] for said in made.privacy["caveat_keys"]]
    made.write(tmp_path / "out")
    assert not (tmp_path / "out" / "release" / "schema.toml").exists()
    named = made.privacy["relies_on"]["public_settings"]["schema"]
    assert (tmp_path / "out" / named).exists()
    assert Schema.read(tmp_path / "out" / "confidential" / "schema.toml") == schema


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "outcome too": ({"outcome": "pay"}, "schema-beside-formula"),
    "downscale without epsilon": ({"mechanism": "lw", "downscale": True}, "downscale"),
    "downscale without weights": ({"epsilon": 8.0, "downscale": True}, "of-other-mechanisms"),
    "downscale of a clamp": (
        {"mechanism": vws.Censored(epsilon=3), "epsilon": 3.0, "downscale": True},
        "of-other-mechanisms",
    ),
    "radius below 0": ({"mechanism": "marginal", "radius": -1.0}, "not-above-0"),
    "unknown column": (
        {"schema": Schema({"pai": Column(model="normal", range=(0.0, 20.0))})},
        "columns-lacking",
    ),
    "a level is missing": (
        {"schema": Schema({"edu": Column(model="ordinal", levels=("low", "high"))})},
        "cells-unknown-levels",
    ),
    "out of range": (
        {"schema": Schema({"pay": Column(model="normal", range=(0.0, 9.0))})},
        "cells-outside-range",
    ),
    "unknown sampling": ({"sampling": "sistematic"}, "not-a-choice"),
    "sampling of no model": (
        {
            "schema": None,
            "outcome": "pay",
            "mechanism": "perturbed-histogram",
            "epsilon": 1.0,
            "range": (0, 20),
            "sampling": "systematic",
        },
        "of-other-mechanisms",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_before_any_work(case: str) -> None:
    settings, key = BAD[case]

    def fit(_label: str) -> Any:
        raise AssertionError("a fit began")

    def run() -> None:
        synthesizer(**{"schema": SCHEMA, **settings}).fit(
            TABLE, seed=SEED, listener=replace(SILENT, fit=fit)
        )

    with refused(key) as caught:
        run()
    assert "mid" not in str(caught.value)


def test_progress_names_the_columns_that_are_sampled() -> None:
    told: dict[str, list[tuple[int, int, str]]] = {}

    def fit(label: str) -> Any:
        return lambda *news: told.setdefault(label, []).append(news)

    synthesizer(schema=SCHEMA, draws=400).fit(TABLE, seed=SEED, listener=replace(SILENT, fit=fit))
    assert told
    for news in told.values():
        named = {name for *_, doing in news for name in doing}
        assert named == {"edu", "pay", "visits"}


def test_an_interrupt_ends_every_fit() -> None:
    began = []

    def fit(_label: str) -> Any:
        def progress(done: int, total: int, doing: Any = ()) -> None:
            began.append((done, total))
            if done > 0.2 * total:
                raise KeyboardInterrupt

        return progress

    run = synthesizer(schema=SCHEMA, draws=20_000)
    with pytest.raises(KeyboardInterrupt):
        run.fit(TABLE, seed=SEED, listener=replace(SILENT, fit=fit))
    assert began[-1][0] < 0.6 * began[-1][1]


@pytest.mark.runs
def test_a_schemas_public_number_of_records_is_the_number_of_rows() -> None:
    own = {"a": Column(model="table", levels=("x", "y"))}
    table = pl.DataFrame({"a": ["x", "y", "x"] * 20, "b": ["u", "v"] * 30})
    release = release_of(table, schema=vws.Schema(own, records=75))
    assert [len(one) for one in release.datasets] == [75, 75]
    assert "public-records" in [said["key"] for said in release.privacy["caveat_keys"]]
    asked = release_of(table, schema=vws.Schema(own, records=75), records=20)
    assert [len(one) for one in asked.datasets] == [20, 20]
    beside = own | {"b": Column(role="public", levels=("u", "v"))}
    kept = release_of(table, schema=vws.Schema(beside, records=75))
    assert [len(one) for one in kept.datasets] == [60, 60]
