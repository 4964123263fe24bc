"""The study of whole units, with a tiny file and a small panel."""

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


def test_the_study_has_figures_of_households_and_of_waves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_units, "EPSILON", 100.0)
    file = households(tmp_path)

    def few(frame: pl.DataFrame, *, mechanism: vws.NoisyCounts, **given: object) -> object:
        few = vws.NoisyCounts(
            epsilon=100.0, delta=1e-5, tables=("none",), classes=12, measure="pairs"
        )
        return vws.synthesize(frame, mechanism=few, **given)

    rows = {row.figure: row for row in whole_units.run(file, synthesize=few, seed=1, persons=1_500)}
    assert abs(rows["children"].off) < 0.15
    assert abs(rows["share of size 2"].off) < 0.1
    assert rows["pairs"].dataset > 0.5
    assert abs(rows["work to work"].off) < 0.05
    assert abs(rows["total pay"].off) < 0.1
    assert whole_units.table([*rows.values()]).row_count == len(rows)
