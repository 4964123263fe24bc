"""A run makes each column of its schema once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import pyvws as vws
from pyvws.tables.schema import column
from pyvws.tables.schema.families import family_named

_SCHEMA = """
[columns.sex]
role = "public"
levels = ["f", "m"]

[columns.school]
model = "nominal"
levels = ["a", "b", "c"]

[columns.age]
model = "normal"
range = [0, 100]

[columns.pay]
model = "normal"
range = [-100, 200]
MASS

[columns.visits]
model = "poisson"
range = [0, 60]
"""


@pytest.mark.runs
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("mass", "made"), [("", 5), ("mass = [0]", 5 + 5 + 1 + 1)])
def test_a_run_makes_each_column_once(
    mass: str, made: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a point of mass each column names its predictors anew, and the number has two parts."""
    rng = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 80),
            "school": rng.choice(["a", "b", "c"], 80),
            "age": rng.integers(18, 70, 80),
            "pay": np.where(rng.random(80) < 0.3, 0.0, rng.normal(30.0, 5.0, 80)),
            "visits": rng.poisson(3.0, 80),
        }
    )
    path = tmp_path / "schema.toml"
    path.write_text(_SCHEMA.replace("MASS", mass))
    counted: list[Any] = []

    def counting(model: Any) -> Any:  # Each column that is made reads the name of its family.
        counted.append(model)
        return family_named(model)

    monkeypatch.setattr(column, "family_named", counting)
    vws.synthesize(table, schema=path, datasets=1, draws=60, warmup=100, chains=2, seed=1)
    assert len(counted) <= made
