"""The study of weights at a bound t, on small made-up copies of its files."""

from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from pyvws_studies import inverse_tables as study

import pyvws as vws
from pyvws.errors import InputError

pytestmark = pytest.mark.runs


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two small files: one of households, one without columns that most files have."""
    rng, n = np.random.default_rng(1), 240
    head = np.repeat(rng.integers(20, 80, n // 2), 2)
    made = {"Hhindex": np.arange(n) // 2, "headage": head, "age": head - 2}
    made["sex"] = rng.integers(1, 3, n)
    table = pl.DataFrame(made).with_columns(
        pl.when(pl.col("Hhindex") == 3).then(None).otherwise("sex").alias("sex")
    )
    table.write_csv(tmp_path / "households.txt", separator=" ", null_value="NA")
    short = replace(
        study.FILES["households.txt"],
        columns=("headage", "sex", "age"),
        regressions=("age ~ headage + sex",),
    )
    monkeypatch.setattr(study, "FILES", {"households.txt": short, "ce_2017.csv": short})
    monkeypatch.setattr(study, "TARGETS", (3.0,))
    monkeypatch.setattr(study, "POWERS", (1.0,))
    monkeypatch.setattr(study, "CONSTANTS", (0.5,))
    return tmp_path


def test_the_rows_of_a_folder(folder: Path) -> None:
    def short(frame: pl.DataFrame, **given: Any) -> vws.Release:
        return vws.synthesize(frame, draws=250, **given)

    found = study.run(folder, synthesize=short, seed=1)
    rows = {(x.run, x.target): SimpleNamespace(**asdict(x)) for x in found.rows if not x.problem}
    given = rows["inverse, power 1", None]
    assert given.t == 0.5
    assert 0 < given.epsilon < rows["unweighted", None].epsilon
    searched = rows["inverse, power 1, t searched", 3.0]
    assert searched.t > 0
    assert searched.epsilon <= 3.0
    for label in ("LW", "SW"):
        assert 0 < rows[label, 3.0].epsilon <= 3.0
        assert 0 <= rows[label, 3.0].overlap <= 1
    assert rows["independent columns", None].score < rows["bootstrap", None].score
    assert len(found.problems) == sum(bool(row.problem) for row in found.rows)
    # LW gives one of two nearly equal levels half of the weight of the other, as draws have it.
    data, inverse, lw = found.counts[3:]
    assert data == {"run": "records", "a": 500, "b": 499}
    assert inverse["a"] == pytest.approx(500, abs=60)
    assert max(lw["a"], lw["b"]) / min(lw["a"], lw["b"]) == pytest.approx(2, rel=0.25)
    assert study.write(found, folder) == ["table.csv", "counts.csv"]
    assert pl.read_csv(folder / "table.csv").height == len(found.rows)
    assert len(study.table(found).renderables) == 2


def test_a_household_is_the_unit_and_a_column_follows_what_says_most(folder: Path) -> None:
    file = study.FILES["households.txt"]
    schema = file.schema(file.read(folder / "households.txt"))
    assert schema.unit == "Hhindex"
    assert schema.columns["age"].predictors == ("headage",)
    assert schema.columns["sex"].levels == ("1", "2", "N")


def test_a_folder_or_file_of_another_kind_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="no file of this study"):
        study.run(folder / "none", synthesize=vws.synthesize, seed=1)
    pl.DataFrame({"x": [1]}).write_csv(folder / "ce_2017.csv")
    (folder / "households.txt").unlink()
    with pytest.raises(InputError, match="lacks columns"):
        study.run(folder, synthesize=vws.synthesize, seed=1)


def test_the_page_shows_rows_of_the_kept_table() -> None:
    """The file is the table.csv that the command of the page wrote."""
    docs = Path(__file__).parents[2] / "docs"
    page = " ".join((docs / "choose.md").read_text().split())
    rows = pl.read_csv(docs / "studies" / "inverse-tables.csv").to_dicts()
    of = {(row["file"], row["run"], row["target"] or row["t"]): row for row in rows}
    files, searched = list(dict.fromkeys(row["file"] for row in rows)), ", t searched"
    runs = [f"inverse, power 1{searched}", f"inverse, power 0.5{searched}", "LW", "SW"]
    for target in (4.0, 8.0, 16.0, 32.0):
        cells = (", ".join(f"{of[x, run, target]['score']:.0f}" for run in runs) for x in files)
        assert f"| {target:g} | {' | '.join(cells)} |" in page
