"""The Consumer Expenditure study on a small file of the same columns."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import InputError
from pyvws.risks.identification_risk import identification_risk
from pyvws.risks.pairwise import pairwise_weights
from pyvws.studies import consumer_expenditure as study

N = 150


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    rng = np.random.default_rng(1)
    income = np.rint(np.exp(rng.normal(10.0, 1.0, N)))
    income[:15] = 0.0
    table = pl.DataFrame(
        {
            "Income": income,
            "Urban": rng.integers(1, 3, N),
            "Marital": rng.integers(1, 4, N),
            "Educ": rng.choice([0, 11, 12, 13, 14, 15, 16], N),
        }
    )
    path = tmp_path_factory.mktemp("ce") / "ce.csv"
    table.write_csv(path)
    return path


@pytest.fixture(scope="module")
def result(file):
    settings = SamplerSettings(draws=10, warmup=100, chains=1)
    return study.run(file, seed=1, components=2, datasets=3, replicates=5, settings=settings)


def test_education_falls_into_four_groups():
    codes = np.array([0.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0])
    assert study.education_groups(codes).tolist() == [1, 1, 1, 2, 3, 3, 4, 4]


@pytest.mark.draws
def test_weights_are_the_papers_within_known_patterns(file, result):
    table = pl.read_csv(file)
    groups = study.education_groups(table["Educ"].to_numpy())
    known = [table["Urban"].to_numpy(), table["Marital"].to_numpy(), groups]
    y = table["Income"].to_numpy()
    risk = identification_risk(y, radius=0.2, known=known)
    np.testing.assert_array_equal(result.fits["Marginal"].weights, 1.0 - risk)
    pairwise = pairwise_weights(y, radius=0.2, known=known, singletons="weight-zero")
    np.testing.assert_array_equal(result.fits["Pairwise"].weights, pairwise)


@pytest.mark.draws
def test_rows_are_the_three_synthesizers_under_both_label_rules(result):
    names = [(row.synthesizer, row.labels) for row in result.rows]
    assert names == list(result.risks)
    assert len(set(names)) == 6
    for row in result.rows:
        risk = result.risks[row.synthesizer, row.labels]
        assert row.risk_max == risk.max() >= row.risk_max_not_zero
        change = risk - result.risks["unweighted", row.labels]
        assert row.rose == (change >= 0.25).sum()
        assert row.median.lower <= row.median.estimate <= row.median.upper


def test_the_table_and_the_file_hold_every_row(result, tmp_path):
    assert study.table(result).row_count == 7
    assert study.write(result, tmp_path) == ["table.csv"]
    written = pl.read_csv(tmp_path / "table.csv")
    assert written["u_m"].to_list() == pytest.approx([row.u_m for row in result.rows])
    assert "q90_upper" in written.columns


def test_a_missing_column_is_named(file, tmp_path):
    path = tmp_path / "other.csv"
    pl.read_csv(file).drop("Educ").write_csv(path)
    with pytest.raises(InputError, match="study names column 'Educ',"):
        study.run(path, seed=1)
