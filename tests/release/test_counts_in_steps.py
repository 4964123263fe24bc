"""Noisy counts of tables that are never held: the counts, and the bytes, of a table in memory."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused
from test_lazy_release import on_dask, on_duckdb

import pyvws as vws
from pyvws.commands.synthesize import as_read
from pyvws.privacy import seller
from pyvws.privacy.budget import Budget, noise_of
from pyvws.release import large
from pyvws.tables.files.read import read_table

pytestmark = pytest.mark.filterwarnings("ignore:Dask support is moving:FutureWarning")

SEED, N = 7, 700
_RNG = np.random.default_rng(3)
_HOURS = _RNG.integers(0, 60, N)
TABLE = pl.DataFrame(
    {
        "id": _RNG.permutation(N),
        "sex": np.where(_RNG.random(N) < 0.02, "?", _RNG.choice(["f", "m"], N)),
        "code": [None if x == 3 else f"0{x}" for x in _RNG.integers(0, 4, N).tolist()],
        "hours": _HOURS,
        "late": _HOURS + _RNG.integers(0, 9, N),
        "pay": np.where(_HOURS < 5, 0.0, np.round(_RNG.lognormal(9, 1, N), 2)),
    }
)
SCHEMA = vws.Schema(
    {
        "id": vws.Column(role="id"),
        "sex": vws.Column(model="table", levels=("f", "m"), predictors=()),
        "code": vws.Column(model="table", levels=("00", "01", "02"), missing=True, predictors=()),
        "hours": vws.Column(model="normal", range=(0, 59), decimals=0, predictors=()),
        "late": vws.Column(model="normal", range=(0, 70), decimals=0, rule=">= hours"),
        "pay": vws.Column(model="normal", range=(0, 200_000), decimals=2, mass=(0,), predictors=()),
    }
)


class Told:
    """A listener that keeps the lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def fit(self, _label: str) -> Any:
        raise AssertionError

    def line(self, text: str) -> None:
        self.lines.append(text)


def run(schema: vws.Schema = SCHEMA, **given: Any) -> vws.Synthesizer:
    mechanism = vws.NoisyCounts(epsilon=30.0, delta=1e-5, classes=4, measure="pairs")
    return vws.Synthesizer(schema=schema, mechanism=mechanism, **{"datasets": 1, **given})


def noise(counts: Any, *, scale: float) -> Any:
    """Noise that is the same in two runs, and follows from neither's records."""
    return counts + np.rint(scale * np.sin(np.arange(len(counts)))).astype(np.int64)


@pytest.mark.parametrize(
    ("kind", "datasets"),
    [("csv", 1), ("parquet", 1), ("parquet", 2), ("polars", 1), ("duckdb", 1), ("dask", 1)],
)
def test_a_table_that_is_never_held_gives_the_bytes_of_memory(
    kind: str, datasets: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(seller, "add_discrete_gaussian", noise)
    monkeypatch.setattr(large, "AT_ONCE", 400)
    file = tmp_path / f"in.{'csv' if kind == 'csv' else 'parquet'}"
    TABLE.write_csv(file) if kind == "csv" else TABLE.write_parquet(file)
    engines: Any = {"polars": pl.DataFrame.lazy, "duckdb": on_duckdb, "dask": on_dask}
    given = engines[kind](TABLE) if kind in engines else file
    source, asked = read_table(file), run(datasets=datasets)
    whole = asked.fit(as_read(asked, source), seed=SEED, release_frame=source.as_written)
    whole.write(tmp_path / "whole", format=source.format)
    asked.fit_to(given, tmp_path / "steps", seed=SEED)
    names = sorted(path.name for path in (tmp_path / "whole/release").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "steps/release").iterdir())
    for name in names:
        here, there = (tmp_path / way / "release" / name for way in ("whole", "steps"))
        if name.endswith(".parquet"):
            assert pl.read_parquet(here).equals(pl.read_parquet(there)), name
        elif name != "privacy.json":
            assert here.read_bytes() == there.read_bytes(), name
    told = [
        json.loads((tmp_path / way / "confidential/summary.json").read_text())
        for way in ("whole", "steps")
    ]
    assert told[0]["records"] == told[1]["records"] == N
    assert told[0]["records_in_no_cell"] == told[1]["records_in_no_cell"] != {}


def test_a_tally_of_cells_is_sold_as_its_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seller, "add_discrete_laplace", lambda counts, **_: counts)
    cell = np.array([0, 2, -1, 2, 2])
    sold = [
        seller.Seller.of_noise(noise_of(Budget(epsilon=1.0), {"a": 1.0}), None).counts(
            "a", lambda _, own=own: own, 4
        )
        for own in (cell, seller.TalliedCells(np.array([-1, 2, 0]), np.array([1, 3, 1])))
    ]
    assert sold[0].tolist() == sold[1].tolist() == [1, 0, 3, 0]


def test_units_are_refused_in_steps(tmp_path: Path) -> None:
    TABLE.write_parquet(tmp_path / "in.parquet")
    mechanism = vws.NoisyCounts(epsilon=1.0, cap=2, measure="pairs")
    schema = vws.Schema(dict(SCHEMA.columns), unit="id")
    asked = vws.Synthesizer(schema=schema, mechanism=mechanism, datasets=1)
    with refused("counts-of-units-in-steps", unit="id"):
        asked.fit_to(tmp_path / "in.parquet", tmp_path / "out", seed=SEED)


def test_a_pair_of_too_many_cells_is_said_by_the_schema_alone() -> None:
    levels = tuple(f"l{k}" for k in range(80))
    columns = {
        name: vws.Column(model="table", levels=levels, predictors=()) for name in ("a", "b")
    } | {"c": SCHEMA.columns["sex"]}
    schema, several = vws.Schema(columns), ("l20", "l40", "l60")
    frame, told = pl.DataFrame({"a": ["l1"], "b": ["l1"], "c": ["f"]}), Told()
    made = run(schema).fit(frame, seed=SEED, listener=told)
    assert made.privacy["counts"]["pairs_not_counted"] == ["a:b"]
    assert sum("a:b" in line and "5,000" in line for line in told.lines) == 1
    by_groups = vws.NoisyCounts(
        epsilon=1.0,
        measure=("pairs", {"columns": ["a", "b"], "cuts": {"a": several, "b": several}}),
    )
    assert by_groups.workload(schema).too_large == ()
    assert vws.NoisyCounts(epsilon=1.0, measure="pairs").workload(SCHEMA).too_large == ()
