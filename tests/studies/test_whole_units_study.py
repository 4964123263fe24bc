"""The study of whole units, with a tiny file and a small panel."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pyvws_studies import whole_units

import pyvws as vws

pytestmark = pytest.mark.runs
pytest.importorskip("opendp")


def households(folder: Path) -> Path:
    rng, rows = np.random.default_rng(1), []
    for home in range(1, 251):
        age, sex = int(rng.integers(25, 80)), int(rng.integers(1, 3))
        head = (int(rng.integers(1, 3)), sex, 1, 1, age)
        rows.append((home, 2, 3 - sex, 1, 1, age - 2, 2, *head))
        if rng.random() < 0.5:
            rows.append((home, 3, 1, 1, None, max(0, age - 30), 3, *head))
    names = ["Hhindex", "pernum", "sex", "race", "hisp", "age", "relate"]
    names += ["ownership", "headsex", "headrace", "headhisp", "headage"]
    file = folder / "households.txt"
    frame = pl.DataFrame(rows, schema=names, orient="row")
    frame.write_csv(file, separator=" ", null_value="NA", quote_style="non_numeric")
    return file


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    monkeypatch.setattr(whole_units, "EPSILON", 100.0)

    def made(frame: pl.DataFrame, *, mechanism: vws.NoisyCounts, **given: object) -> object:
        few = vws.NoisyCounts(
            epsilon=100.0, delta=1e-5, tables=("none",), classes=12, measure="pairs"
        )
        return vws.synthesize(frame, mechanism=few, **given)

    return made


def test_the_study_has_figures_of_households_and_of_waves(
    tmp_path: Path, few: Callable[..., object]
) -> None:
    file = households(tmp_path)
    found = whole_units.run(file, synthesize=few, seed=1, runs=1, persons=1_500)
    rows = {row.figure: row for row in found.rows}
    assert abs(rows["children"].off) < 0.15
    assert abs(rows["share of size 2"].off) < 0.1
    assert rows["pairs"].dataset > 0.5
    assert abs(rows["work to work"].off) < 0.05
    assert abs(rows["total pay"].off) < 0.1
    assert all(row.off == row.worst for row in found.rows)
    assert whole_units.table(found).row_count == len(rows)
    assert whole_units.write(found, tmp_path) == ["table.csv"]


def test_the_worst_of_several_runs_stands_beside_their_mean() -> None:
    row = whole_units.UnitsRow.of_runs("homes", "children", 2.0, [2.2, 1.4, 2.1], relative=True)
    assert (row.dataset, row.off, row.worst) == pytest.approx((1.9, -0.05, -0.3))


def test_the_first_adults_of_a_home_are_partners(
    tmp_path: Path, few: Callable[..., object]
) -> None:
    people = pl.DataFrame(
        {
            "db030": np.repeat(np.arange(200), 3),
            "db040": ["Tyrol"] * 600,
            "age": [50, 40, 3] * 200,
            "rb090": ["male", "female", "male"] * 200,
            "pl030": ["1", "2", "NA"] * 200,
            "pb220a": ["AT"] * 600,
        }
    )
    people.write_csv(tmp_path / "eusilc.csv")
    found = whole_units.run(tmp_path / "eusilc.csv", synthesize=few, seed=1, runs=1, persons=1_000)
    rows = {row.figure: row for row in found.rows}
    assert (rows["age of older partners"].table, rows["of younger ones"].table) == (50, 40)
    assert rows["children"].table == 1
    assert abs(rows["share of size 3"].off) < 0.1
    people.drop("rb090").write_csv(tmp_path / "other.csv")
    with pytest.raises(vws.InputError, match=r"eusilc\.csv"):
        whole_units.run(tmp_path / "other.csv", synthesize=few, seed=1)
