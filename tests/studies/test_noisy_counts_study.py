"""The study of noisy counts on a small made-up copy of its file."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pyvws_studies import noisy_counts
from pyvws_studies.noisy_counts import _in_cells, regression_of
from pyvws_studies.whole_tables import DESIGNS

import pyvws as vws
from pyvws.errors import InputError

pytestmark = pytest.mark.runs
pytest.importorskip("opendp")


def test_the_rows_of_a_file_with_the_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(1)
    columns = DESIGNS["ma2019"].columns
    made = {name: rng.choice(column.levels or (), 120) for name, column in columns.items()}
    made["PINCP"] = rng.choice(["N", "-5", "0", "1", "900000"], 120)
    pl.DataFrame(made).write_csv(tmp_path / "made.csv")
    schema = vws.Schema(
        {
            "SEX": columns["SEX"],
            "AGEP": columns["AGEP"],
            "EDU": columns["EDU"],
            "OWN_RENT": columns["OWN_RENT"],
            "PINCP_DECILE": columns["PINCP_DECILE"],
            "PINCP": vws.Column(model="normal", range=(-9e3, 1e6), decimals=0, missing="N"),
        }
    )
    schema.write(tmp_path / "schema.toml")
    monkeypatch.setattr(noisy_counts, "BUDGETS", ((50.0, 1e-5),))
    monkeypatch.setattr(noisy_counts, "BEST", ((50.0, 1e-5), (1.0, 0.0)))

    def few(frame, **given):
        return vws.synthesize(frame, classes=3, **given)

    given = {"synthesize": few, "seed": 1, "runs": 1}
    found = noisy_counts.run(tmp_path / "made.csv", schema=tmp_path / "schema.toml", **given)
    best, ends = ["best file"] * 2, ["independent columns", "a bootstrap"]
    halves = ["best file of a half, on the other", "a half's bootstrap, on the other"]
    needs = [f"best file, need of {name}" for name in noisy_counts.REGRESSIONS]
    needed = [*needs, "best file, all three needs"]
    ways = {"ten columns": [*best, *needed, *halves, "5 datasets", *ends]}
    ways["all columns"] = [*best, *ends]
    for name, expected in ways.items():
        own = [row for row in found.rows if row.columns == name]
        assert [row.way for row in own] == expected
        assert own[0].pairs > own[1].pairs
        for row in own:
            assert 0 < row.triples < row.pairs < 1000
    assert noisy_counts.write(found, tmp_path) == ["table.csv"]
    assert pl.read_csv(tmp_path / "table.csv").height == len(found.rows)
    assert noisy_counts.table(found).row_count == len(found.rows)
    pl.DataFrame({"x": [1]}).write_csv(tmp_path / "other.csv")
    with pytest.raises(InputError, match="lacks columns"):
        noisy_counts.run(tmp_path / "other.csv", synthesize=few, seed=1)


def test_numbers_are_scored_in_cells_with_their_missing_code():
    frame = pl.DataFrame({"PINCP": ["N", "-5", "0", "1", "4999", "900000"], "SEX": list("121212")})
    levels = {"PINCP": ["0"], "SEX": ["1", "2"]}
    assert _in_cells(frame, levels)["PINCP"].to_list() == ["N", "0", "1", "2", "2", "12"]


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
