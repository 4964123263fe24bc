"""pyvws tabulate: what is printed, written as csv and as a page, and what it refuses."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app

SCHEMA = """
[columns.area]
role = "public"
levels = ["<a>", "b", "c"]
[columns.sex]
model = "nominal"
levels = ["f", "m"]
[columns.pay]
model = "normal"
range = [0, 100]
[columns.w]
role = "public"
range = [0, 10]
"""


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Three datasets, an original, and their schema; no record of the third area."""
    rng = np.random.default_rng(4)
    for name in ("one", "two", "three", "original"):
        frame = pl.DataFrame(
            {
                "area": rng.choice(["<a>", "b"], 200),
                "sex": rng.choice(["f", "m"], 200),
                "pay": rng.uniform(10, 90, 200).round(1),
                "w": rng.uniform(1, 9, 200),
            }
        )
        frame.write_csv(tmp_path / f"{name}.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return [str(tmp_path / f"{name}.csv") for name in ("one", "two", "three")]


def run(*words: Any) -> Any:
    return CliRunner().invoke(app, ["tabulate", *map(str, words)])


def asked(files: list[str]) -> list[str]:
    schema = str(Path(files[0]).with_name("schema.toml"))
    return [
        *(*files, "--schema", schema, "--by", "area", "--count", "--mean", "pay"),
        *("--share", "sex", "--quantile", "pay", "--at", "0.25,0.5", "--weights", "w"),
    ]


def test_figures_are_those_of_python(files: list[str]) -> None:
    made = run(*asked(files), "--json")
    assert made.exit_code == 0, made.output
    found = vws.tabulate(
        [pl.read_csv(one) for one in files],
        by={"area": ["<a>", "b", "c"]},
        count=True,
        mean="pay",
        share={"sex": ["f", "m"]},
        quantile={"pay": [0.25, 0.5]},
        weights="w",
    )
    said = json.loads(made.stdout)
    assert (said["datasets"], said["epsilon_of_laplace"]) == (3, None)
    for row, one in zip(said["rows"], found.figures, strict=True):
        assert (row["area"],) == one.cell
        assert row["estimate"] == (None if np.isnan(one.estimate) else one.estimate)
        assert row["empty"] == (3 if one.cell == ("c",) else 0)


def test_the_printed_table_names_each_figure(files: list[str]) -> None:
    made = run(*asked(files))
    assert made.exit_code == 0, made.output
    for title in ("count: sum of the weights", "mean of pay", "share of sex", "quantile of pay"):
        assert title in made.output
    lines = made.output.splitlines()
    assert any(line.startswith("│ b    │     0.25 │") for line in lines)
    empty = [line for line in lines if line.startswith("│ c")]
    assert len(empty) == 6
    assert all("no record" in line for line in empty)


@pytest.mark.parametrize(("kind", "said"), [("partial", "partially"), ("full", "fully")])
def test_headings_say_what_the_datasets_are(
    files: list[str], tmp_path: Path, kind: str, said: str
) -> None:
    words = ["--kind", kind, "--out", str(tmp_path / "out")]
    made = run(*asked(files), *words)
    asked_combine = ["combine", *files, "--formula", "pay ~ 1", "--kind", kind]
    combined = CliRunner().invoke(app, asked_combine)
    page = (tmp_path / "out" / "table.html").read_text()
    for text in (made.output, combined.output, page):
        assert f"{said} synthetic" in text


class Cells(HTMLParser):
    """The text of a page's table cells."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._open = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._open = tag == "td"
        if self._open:
            self.found.append("")

    def handle_data(self, data: str) -> None:
        if self._open:
            self.found[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._open = self._open and tag != "td"


def test_csv_and_page_hold_the_table_and_no_confidential_figure(
    files: list[str], tmp_path: Path
) -> None:
    pytest.importorskip("opendp")
    words = [*asked(files), "--original", tmp_path / "original.csv", "--epsilon", "2"]
    made = run(*words, "--out", tmp_path / "out", "--quiet")
    assert (made.exit_code, made.output) == (0, "")
    table = pl.read_csv(tmp_path / "out" / "table.csv")
    assert table.height == 3 * (1 + 1 + 2 + 2)
    assert table["laplace"].null_count() == 0
    claim = table.select(pl.selectors.ends_with("_of_laplace")).unique().rows()
    assert claim == [(2.0, "leave-one-out", "one record", "w")]
    page = (tmp_path / "out" / "table.html").read_text()
    assert "<a>" not in page
    assert "spends this ε besides that of the datasets" in page
    assert "pyvws tabulate" in page
    cells = Cells(page).found
    assert cells.count("no record") == 6
    assert "<a>" in cells
    confidential = vws.tabulate(
        [pl.read_csv(tmp_path / "original.csv")] * 2, mean="pay", count=True, weights="w"
    )
    for one in confidential.figures:
        assert f"{one.estimate:.6g}" not in page
    again = run(*words, "--out", tmp_path / "out")
    assert again.exit_code == 1
    assert run(*words, "--out", tmp_path / "out", "--overwrite", "--quiet").exit_code == 0


def test_units_are_counted_by_their_first_record(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    (tmp_path / "s.toml").write_text(
        'unit = "home"\n[columns.home]\nrole = "id"\n[columns.owner]\nmodel = "nominal"\n'
        'levels = ["no", "yes"]\n[columns.age]\nmodel = "normal"\nrange = [0, 100]\n'
    )
    homes = []
    for name in ("one", "two"):
        sizes = rng.integers(1, 5, 60)
        owner = rng.choice(["no", "yes"], 60)
        frame = pl.DataFrame(
            {
                "home": np.repeat(np.arange(60), sizes),
                "owner": np.repeat(owner, sizes),
                "age": rng.integers(0, 90, int(sizes.sum())),
            }
        )
        frame.write_csv(tmp_path / f"{name}.csv")
        homes.append(pl.DataFrame({"size": sizes, "owner": owner}))
    files = [str(tmp_path / f"{name}.csv") for name in ("one", "two")]
    words = ["tabulate", *files, "--schema", str(tmp_path / "s.toml"), "--by-unit", "home"]
    run = CliRunner().invoke(app, [*words, "--by", "unit_size,owner", "--count", "--json"])
    assert run.exit_code == 0, run.output
    rows = json.loads(run.stdout)["rows"]
    assert len(rows) == 8
    for row in rows:
        of_cell = (pl.col("size") == int(row["unit_size"])) & (pl.col("owner") == row["owner"])
        assert row["estimate"] == np.mean([len(home.filter(of_cell)) for home in homes])
    assert sum(row["estimate"] for row in rows) == pytest.approx(60)
    for more, message in (
        (["--by-unit", "no"], "which the table lacks"),
        (["--original", files[0]], "Laplace figures are of records"),
    ):
        run = CliRunner().invoke(app, [*words, "--by", "owner", "--count", *more])
        assert run.exit_code != 0
        assert message in f"{run.output}{run.exception}"
