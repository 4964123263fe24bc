"""The study of noisy counts on a small made-up copy of its file."""

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pyvws_studies import noisy_counts
from pyvws_studies.noisy_counts import regression_of
from pyvws_studies.other_tools import Tool
from pyvws_studies.whole_tables import DESIGNS

import pyvws as vws
from pyvws.errors import InputError

pytestmark = pytest.mark.runs
pytest.importorskip("opendp")

_COPY = """
import shutil, sys
path, out, datasets, *_ = sys.argv[1:]
for one in range(int(datasets)):
    shutil.copy(path, f"{out}/{one + 1}.csv")
print(1.5, 0.25)
"""


def test_the_rows_of_a_file_with_the_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(1)
    columns = DESIGNS["ma2019"].columns
    made = {name: rng.choice(column.levels or (), 120) for name, column in columns.items()}
    pl.DataFrame(made).write_csv(tmp_path / "made.csv")
    monkeypatch.setattr(noisy_counts, "BUDGETS", ((50.0, 1e-5), (1.0, 0.0)))
    monkeypatch.setattr(noisy_counts, "BEST", ((4.0, 1e-5),))

    def few(frame, **given):
        return vws.synthesize(frame, sweeps=10, classes=3, **given)

    tools = [Tool("copy", (sys.executable, "-c", _COPY))]
    monkeypatch.setattr(noisy_counts, "installed", lambda _python, _ways: (tools, ["Left out."]))
    found = noisy_counts.run(
        tmp_path / "made.csv", synthesize=few, seed=1, runs=1, others=Path("python")
    )
    assert found.problems == ["Left out."]
    assert found.others["copy"] == pytest.approx((1000.0, 1000.0, 0.0, 0.0, 0.0))
    budgets = [(row.epsilon, row.delta, row.further) for row in found.rows]
    further = [(4.0, 1e-5, more) for more in ("one file", "coarse", "family")]
    assert budgets == [(50.0, 1e-5, ""), (1.0, 0.0, ""), *further]
    assert found.rows[0].pairs > found.rows[1].pairs
    for row in found.rows:
        assert 0 < row.triples < row.pairs < 1000
        assert min(row.income, row.education, row.renting) > 0
    assert noisy_counts.write(found, tmp_path) == ["table.csv", "beside.csv"]
    beside = pl.read_csv(tmp_path / "beside.csv")["table"]
    assert beside.to_list() == ["independent", "bootstrap", "copy"]
    assert pl.read_csv(tmp_path / "table.csv").height == 5
    assert noisy_counts.table(found).row_count == 8
    pl.DataFrame({"x": [1]}).write_csv(tmp_path / "other.csv")
    with pytest.raises(InputError, match="lacks columns"):
        noisy_counts.run(tmp_path / "other.csv", synthesize=few, seed=1)


def test_the_regression_is_least_squares_of_those_with_an_income():
    rng, n = np.random.default_rng(4), 400
    sex, age, edu = rng.integers(1, 3, n), rng.integers(3, 90, n), rng.integers(1, 13, n)
    decile = rng.integers(0, 10, n)
    none = rng.random(n) < 0.3
    frame = pl.DataFrame(
        {"SEX": sex, "AGEP": age, "EDU": edu, "PINCP_DECILE": np.where(none, "N", decile)}
    ).with_columns(pl.when(pl.col("AGEP") < 5).then(pl.lit("N")).otherwise("EDU").alias("EDU"))
    fitted, error = regression_of(frame)
    kept = np.column_stack([np.ones(n), sex, age, np.where(age < 5, 0, edu)])[~none]
    least, squares, *_ = np.linalg.lstsq(kept, decile[~none], rcond=None)
    np.testing.assert_allclose(fitted, least, rtol=1e-9)
    spread = squares[0] / (len(kept) - 4) * np.linalg.inv(kept.T @ kept)
    np.testing.assert_allclose(error, np.sqrt(np.diag(spread)), rtol=1e-9)


def test_a_regression_of_few_records_has_no_errors():
    few = pl.DataFrame({"SEX": [1, 2], "AGEP": [40, 50], "EDU": [3, 4], "PINCP_DECILE": ["N", "7"]})
    for frame in (few, few.head(1)):
        fitted, error = regression_of(frame)
        assert np.isfinite(fitted).all()
        assert np.isnan(error).all()
