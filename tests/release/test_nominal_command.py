"""`pyvws synthesize` of one outcome in labels: quotes in --levels, labels without a record."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from pyvws.commands.cli import app

pytestmark = pytest.mark.runs

LABELS = ("north", "the south", "east, far", 'the "west"')
LEVELS = 'north, the south ,"east, far","the ""west""",nowhere'
REGIONS = np.random.default_rng(1).choice(LABELS, 60).tolist()


def run(regions: list[str], folder: Path, *words: str) -> tuple[int, str]:
    table = folder / "table.csv"
    pl.DataFrame({"region": regions}).write_csv(table)
    options = "--outcome region --model nominal --mechanism unweighted --draws 25 --warmup 100"
    last = ("--chains", "1", "--datasets", "1", "--seed", "1", "--quiet")
    given = ["synthesize", str(table), *options.split(), *last, *words]
    result = CliRunner().invoke(app, [*given, "--out", str(folder / "out")])
    return result.exit_code, f"{result.output}{result.exception or ''}"


@pytest.mark.parametrize("memory", ["2GB", "1KB"])
def test_labels_may_have_commas_blanks_and_quotes(memory: str, tmp_path: Path) -> None:
    code, said = run(REGIONS, tmp_path, "--levels", LEVELS, "--memory", memory)
    assert code == 0, said
    made = pl.read_csv(tmp_path / "out" / "release" / "synthetic-01.csv")["region"]
    assert len(made) == len(REGIONS)
    assert set(made) <= {*LABELS, "nowhere"}
    assert {'the "west"', "east, far"} & set(made)
    config = tmp_path / "out" / "release" / "run.toml"
    (tmp_path / "again").mkdir()
    code, said = run(REGIONS, tmp_path / "again", "--config", str(config), "--memory", memory)
    assert code == 0, said
    again = pl.read_csv(tmp_path / "again" / "out" / "release" / "synthetic-01.csv")["region"]
    assert again.equals(made)


@pytest.mark.parametrize("memory", ["2GB", "1KB"])
def test_records_with_another_label_are_counted_not_named(memory: str, tmp_path: Path) -> None:
    regions = [*REGIONS, *["SECRET"] * 3]
    code, said = run(regions, tmp_path, "--levels", LEVELS, "--memory", memory)
    assert code == 1
    assert "Column 'region' has 3 values that are not among the given levels." in said
    assert "SECRET" not in said
    assert not (tmp_path / "out").exists()
