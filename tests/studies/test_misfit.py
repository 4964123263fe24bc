"""The study of constant weights: W of two conditional tables against a direct computation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from pyvws.commands.cli import app
from pyvws.errors import InputError
from pyvws.release.synthesize import synthesize
from pyvws.studies import misfit
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema

pytestmark = pytest.mark.runs
_SIX: list[str] = [str(level) for level in range(6)]


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A public file of 4000 records and its schema: a rare level, and a column given another."""
    rng = np.random.default_rng(9)
    first = rng.choice(6, 4000, p=[0.5, 0.2, 0.1, 0.1, 0.09, 0.01])
    second = np.where(rng.random(4000) < 0.9, first % 2, 1 - first % 2)
    folder = tmp_path_factory.mktemp("public")
    file, schema = folder / "public.csv", folder / "schema.toml"
    pl.DataFrame({"a": first, "x": rng.normal(size=4000).round(2), "b": second}).write_csv(file)
    Schema(
        {
            "a": Column(model="table", levels=tuple(_SIX)),
            "x": Column(lookup={"a": dict.fromkeys(_SIX, 1.0)}),
            "b": Column(model="table", levels=("0", "1"), predictors=("a",)),
        }
    ).write(schema)
    return file, schema


def test_w_is_what_5_percent_of_the_reference_exceed(public: tuple[Path, Path]) -> None:
    """Shares of so many records vary little over draws: W is near that at the reference's own."""
    file, schema = public
    result = misfit.run(file, synthesize=synthesize, schema=schema, columns=(2.0,), seed=3)
    frame = pl.read_csv(file).gather_every(2)
    pairs = frame.join(frame.group_by("a", "b").len(), on=["a", "b"])["len"].to_numpy()
    exceeded = np.quantile(-np.log(pairs / len(frame)), 0.95)
    (row,) = result.rows
    assert np.isclose(row.c, 4.0 / row.W)
    assert exceeded < row.W < exceeded + 0.6
    assert result.reference == 2000


def test_columns_without_a_model_are_not_counted(public: tuple[Path, Path]) -> None:
    file, schema = public
    for columns in ((1.0,), (3.0,)):
        with pytest.raises(InputError, match="from 2 to 2"):
            misfit.run(file, synthesize=synthesize, schema=schema, columns=columns, seed=3)


def test_the_command_writes_its_table(public: tuple[Path, Path], tmp_path: Path) -> None:
    file, schema = public
    out = tmp_path / "out"
    words = ["study", "strict-weights", "--file", str(file), "--schema", str(schema)]
    run = CliRunner().invoke(app, [*words, "--columns", "2", "--out", str(out)])
    assert run.exit_code == 0, run.output
    written = pl.read_csv(out / "table.csv").row(0, named=True)
    assert f"{written['W']:.1f}" in run.output
    assert written["columns"] == 2
