"""The study of priors on a small made-up file."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pyvws_studies import table_priors


@pytest.mark.runs
@pytest.mark.draws
def test_a_larger_prior_loses_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    job = rng.choice([*"abc"], 200)
    made = {"job": job, "pay": rng.lognormal(0, 1, 200), "area": np.where(job == "a", "x", "y")}
    pl.DataFrame(made).write_csv(tmp_path / "made.csv")
    frame, given = table_priors.tables_of(tmp_path / "made.csv", (), 1)
    assert frame["pay"].n_unique() == 10
    assert given == {"job": (), "pay": ("job",), "area": ("job",)}
    ways = {name: table_priors.MECHANISMS[name] for name in ("unweighted", "inverse, t = 2")}
    monkeypatch.setattr(table_priors, "MECHANISMS", ways)
    monkeypatch.setattr(table_priors, "PRIORS", (0.1, 1.0))
    found = table_priors.run(tmp_path / "made.csv", seed=3, records=2, datasets=1)
    small, large, small_inverse, large_inverse = (row.loss for row in found.rows)
    assert small > large
    assert small_inverse > large_inverse
    assert found.independent < 1000.0
    assert table_priors.table(found).row_count == 4
    assert table_priors.write(found, tmp_path) == ["table.csv"]
