"""The study of noisy counts on a small made-up copy of its file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import pyvws as vws
from pyvws.errors import InputError
from pyvws.studies import noisy_counts
from pyvws.studies.whole_tables import DESIGNS

pytestmark = pytest.mark.runs
pytest.importorskip("opendp")


def test_the_rows_of_a_file_with_the_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(1)
    columns = DESIGNS["ma2019"].columns
    made = {name: rng.choice(column.levels or (), 120) for name, column in columns.items()}
    pl.DataFrame(made).write_csv(tmp_path / "made.csv")
    monkeypatch.setattr(noisy_counts, "BUDGETS", ((50.0, 1e-5), (1.0, 0.0)))

    def few(frame, **given):
        return vws.synthesize(frame, sweeps=6, classes=3, **given)

    found = noisy_counts.run(tmp_path / "made.csv", synthesize=few, seed=1, runs=1)
    assert [(row.epsilon, row.delta) for row in found.rows] == [(50.0, 1e-5), (1.0, 0.0)]
    assert found.rows[0].pairs > found.rows[1].pairs
    for row in found.rows:
        assert 0 < row.triples < row.pairs < 1000
    assert noisy_counts.write(found, tmp_path) == ["table.csv"]
    assert pl.read_csv(tmp_path / "table.csv").height == 2
    assert noisy_counts.table(found).row_count == 4
    pl.DataFrame({"x": [1]}).write_csv(tmp_path / "other.csv")
    with pytest.raises(InputError, match="lacks columns"):
        noisy_counts.run(tmp_path / "other.csv", synthesize=few, seed=1)
