"""Under a cap every page, command and statement says which records its figures are of."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app

pytestmark = pytest.mark.runs
pytest.importorskip("opendp")

OF_CAPPED = "at most 2 records of each 'household'"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output folder of a run that counts two records of each household."""
    rng = np.random.default_rng(3)
    size = rng.integers(1, 6, 150)
    table = pl.DataFrame(
        {
            "household": np.repeat(np.arange(150), size),
            "size": np.repeat(size, size),
            "region": np.repeat(rng.choice(["n", "s"], 150), size),
        }
    )
    columns = {
        "household": vws.Column(role="id"),
        "size": vws.Column(model="nominal", levels=[1, 2, 3, 4, 5]),
        "region": vws.Column(model="nominal", levels=["n", "s"]),
    }
    mechanism = vws.NoisyCounts(epsilon=10.0, delta=1e-6, cap=2, measure="pairs")
    release = vws.synthesize(
        table, schema=vws.Schema(columns, unit="household"), mechanism=mechanism, datasets=2, seed=1
    )
    out = tmp_path_factory.mktemp("capped") / "out"
    release.write(out)
    table.write_csv(out.parent / "table.csv")
    return out


def said(*words: str | Path) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "400"})
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


@pytest.mark.parametrize(
    "words",
    [
        ("tabulate", "--by", "size", "--count"),
        ("tabulate", "--counted"),
        ("combine", "--formula", "size ~ region"),
    ],
)
def test_figures_of_a_command_are_of_capped_records(folder: Path, words: tuple[str, ...]) -> None:
    command, *options = words
    text = said(command, folder, *options)
    assert OF_CAPPED in text
    assert "figures of the population" not in text
    assert "Counts are of the confidential table" not in text
    assert json.loads(said(command, folder, *options, "--json"))["of"] == OF_CAPPED


def test_the_page_of_a_table_says_it(folder: Path, tmp_path: Path) -> None:
    said("tabulate", folder, "--by", "size", "--count", "--out", tmp_path / "t")
    page = (tmp_path / "t" / "table.html").read_text(encoding="utf-8")
    assert "at most 2 records of each &#39;household&#39;" in page
    assert "figures of the population" not in page


def test_the_statement_says_it(folder: Path) -> None:
    privacy = json.loads((folder / "release" / "privacy.json").read_text(encoding="utf-8"))
    caveats = " ".join(privacy["caveats"])
    assert "the datasets stand for these alone" in caveats
    assert "The number of rows is the noisy number of counted records" in caveats


def test_both_pages_say_it(folder: Path) -> None:
    said("report", folder, "--original", folder.parent / "table.csv", "--overwrite")
    for page in folder.rglob("report.html"):
        text = page.read_text(encoding="utf-8")
        assert "at most 2 records of each &#39;household&#39;" in text
        assert "figures of the population" not in text
        assert "Figures of the confidential table itself" not in text
