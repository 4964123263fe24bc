"""A run makes each column of its schema once, and what follows from a column is no column."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import pyvws as vws
from pyvws.tables.schema import entries
from pyvws.tables.schema.families import family_named

_PLAIN = {
    "sex": 'role = "public"\nlevels = ["f", "m"]',
    "school": 'model = "nominal"\nlevels = ["a", "b", "c"]',
    "age": 'model = "normal"\nrange = [0, 100]',
    "pay": 'model = "normal"\nrange = [-100, 200]',
    "visits": 'model = "poisson"\nrange = [0, 60]',
}
_JOB = 'model = "table"\nlevels = ["11", "12", "21", "22"]\ngroup_by = 1\npredictors = ["sex"]'
_DAY = 'model = "normal"\ndays_since = "2000-01-01"\nrange = ["2000-01-01", "2009-12-31"]'
_CHANGED = {
    "plain": {},
    "mass": {"pay": "mass = [0]"},
    "part": {"pay": 'mass = [0]\npart = {model = "table", predictors = ["sex"]}'},
    "missing codes": {"school": "missing = true", "pay": 'missing = ["N", true]\nmass = [0]'},
    "rules": {"pay": 'missing = ["N", true]\nmass = [0]\nrule = ["N only where age < 30"]'},
    "formula": {"pay": "mass = [0]", "visits": 'formula = "~ sex * pay"'},
}


def _table() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    age = rng.integers(18, 70, 80)
    pay = np.where(rng.random(80) < 0.3, 0.0, rng.normal(30.0, 5.0, 80)).round(2)
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 80),
            "school": rng.choice(["a", "b", "c"], 80),
            "age": age,
            "pay": np.where(age < 30, "N", pay.astype(str)),
            "visits": rng.poisson(3.0, 80),
            "job": rng.choice(["11", "12", "21", "22"], 80),
            "day": [f"200{place % 9}-01-02" for place in range(80)],
        }
    )


def _made(schema: str, table: pl.DataFrame, folder: Path, patch: pytest.MonkeyPatch) -> int:
    """The number of columns that a run makes, of which each reads the name of its family."""
    path = folder / "schema.toml"
    path.write_text(schema)
    models: list[Any] = []

    def counting(model: Any) -> Any:
        models.append(model)
        return family_named(model)

    patch.setattr(entries, "family_named", counting)
    vws.synthesize(
        table, schema=path, datasets=1, draws=60, warmup=100, chains=2, seed=1, mechanism="lw"
    )
    return len(models)


def _schema(columns: dict[str, str], head: str = "") -> str:
    return head + "".join(f"[columns.{name}]\n{own}\n" for name, own in columns.items())


@pytest.mark.runs
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [*_CHANGED, "groups", "dates"])
def test_a_run_makes_each_column_once(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = dict(_PLAIN)
    for name, more in _CHANGED.get(kind, {}).items():
        columns[name] += "\n" + more
    columns |= {"groups": {"job": _JOB}, "dates": {"day": _DAY}}.get(kind, {})
    table = _table()
    if kind not in ("missing codes", "rules"):
        table = table.with_columns(pl.col("pay").replace("N", "0").cast(pl.Float64))
    if kind == "missing codes":
        table = table.with_columns(pl.when(pl.col("age") > 50).then("school").alias("school"))
    if kind == "dates":
        table = table.with_columns(pl.col("day").str.to_date())
    assert _made(_schema(columns), table, tmp_path, monkeypatch) == len(columns)


@pytest.mark.runs
@pytest.mark.filterwarnings("ignore")
def test_units_with_members_make_the_size_and_each_summary_once_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"home": np.repeat(np.arange(40), 2)}).with_columns(
        pl.Series("who", rng.choice(["a", "b"], 80))
    )
    head = (
        'unit = "home"\nmembers = {sizes = [1, 3], summaries = {persons = "size", before = "count"'
        "}}\n"
    )
    columns = {"home": 'role = "id"', "who": 'model = "table"\nlevels = ["a", "b"]'}
    assert _made(_schema(columns, head), table, tmp_path, monkeypatch) == 2 + 2
