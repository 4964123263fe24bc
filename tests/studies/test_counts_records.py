"""Coverage on a real file's columns, on a small made-up copy of it."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pyvws_studies import counts_records
from pyvws_studies.whole_tables import DESIGNS
from refusals import refused

pytestmark = pytest.mark.runs
pytest.importorskip("opendp")


def test_each_row_has_its_kinds_of_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(1)
    made = {n: rng.choice(own.levels or (), 200) for n, own in DESIGNS["ma2019"].columns.items()}
    pl.DataFrame(made).write_csv(tmp_path / "made.csv")
    few = {"datasets": 3, "classes": 3}
    monkeypatch.setattr(counts_records, "SETTINGS", {**counts_records.SETTINGS, **few})
    runs = [{**own, "n": 100, "epsilon": 20.0} for own in counts_records.RUNS[:2]]
    monkeypatch.setattr(counts_records, "RUNS", runs)
    found = counts_records.run(tmp_path / "made.csv", seed=1, databases=3)
    assert [row["databases"] for row in found.rows] == [3] * 8
    for row in found.rows:
        assert 30.0 < row["margin"] <= 100.0
        assert ("regression" in row) == (row["of"] == "population")
        assert 0.0 < row["score"] < 1000.0
    assert counts_records.write(found, tmp_path) == ["table.csv"]
    assert counts_records.table(found).row_count == 8
    families = counts_records.run(tmp_path / "made.csv", seed=1, databases=1, model="conditionals")
    assert [row["databases"] for row in families.rows] == [1] * 8
    pl.DataFrame({"x": [1]}).write_csv(tmp_path / "other.csv")
    with refused("not-ma2019"):
        counts_records.run(tmp_path / "other.csv", seed=1)
