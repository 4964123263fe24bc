"""The 2024 paper's application, on salaries that are made up."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pyvws_studies import sampled_salaries
from refusals import refused

from pyvws import InputError, SamplerSettings


@pytest.fixture
def salaries(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    path = tmp_path / "salaries.csv"
    table = {"SALARY": rng.gamma(2.4, 45_000, 1300), "FIELD": rng.integers(1, 3, 1300)}
    pl.DataFrame(table).write_csv(path)
    return path


@pytest.mark.draws
def test_a_thousand_salaries_meet_one_bound(salaries: Path, tmp_path: Path) -> None:
    fast = SamplerSettings(draws=1000, warmup=400, chains=2)
    found = sampled_salaries.run(salaries, seed=1, settings=fast)
    assert len(found.fits.y) == 1000
    rows = {row.label: row for row in found.fits.rows}
    assert set(rows) == {"unweighted", "LW", "LW_final", "CW", "CW_final", "SW"}
    assert rows["LW"].delta < rows["unweighted"].delta
    for label in ("LW_final", "CW", "CW_final"):
        assert rows[label].delta == pytest.approx(rows["LW"].delta, rel=0.1)
    assert rows["CW"].mean_weight < rows["CW_final"].mean_weight
    assert sampled_salaries.table(found).row_count == 7
    assert "table.csv" in sampled_salaries.write(found, tmp_path)


def test_a_filter_can_leave_fewer_and_no_file_says_where_to_get_one(salaries: Path) -> None:
    with pytest.raises(InputError, match="ncsesdata"):
        sampled_salaries.run(None, seed=1)
    with refused("columns-lacking"):
        sampled_salaries.run(salaries, seed=1, outcome="SALRY")
