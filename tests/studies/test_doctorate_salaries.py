"""The salary study on a file of one's own, its filters, and what it says without a file."""

from pathlib import Path

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from pyvws_studies import doctorate_salaries as salaries
from pyvws_studies.command import app as command
from pyvws_studies.row_filters import filtered
from typer.testing import CliRunner

from pyvws import InputError, SamplerSettings

_SECTORS = ["11", "12", "11", "21", None]
_TABLE = {"sector": _SECTORS, "code": [1, 2, 3, None, 5], "pay": [10.0, 20.0, 30.0, 40.0, 50.0]}


def _pay(conditions: list[str], make: type = pl.DataFrame) -> list[float]:
    return filtered(nw.from_native(make(_TABLE), eager_only=True), conditions)["pay"].to_list()


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame])
@pytest.mark.parametrize(
    ("conditions", "pay"),
    [
        ([], [10, 20, 30, 40, 50]),
        (["sector=11"], [10, 30]),
        (["sector = 11, 21"], [10, 30, 40]),
        (["sector!=11"], [20, 40]),
        (["code=1,5"], [10, 50]),
        (["code!=1"], [20, 30, 50]),
        (["pay>=20", "pay<40"], [20, 30]),
        (["pay>20", "pay<=40", "sector=21"], [40]),
    ],
)
def test_conditions_by_hand(make: type, conditions: list[str], pay: list[float]) -> None:
    assert _pay(conditions, make) == pay


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("sector", "is no condition"),
        ("pay=10=20", "is no condition"),
        ("wage=1", "wage"),
        ("pay=ten", "needs numbers"),
        ("sector<11", "< needs a numeric column and one number"),
        ("pay<10,20", "< needs a numeric column and one number"),
        ("pay<0", "No row meets the filter"),
    ],
)
def test_a_wrong_condition_says_what_to_write(condition: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _pay([condition])


def _file(folder: Path, n: int = 150) -> Path:
    rng = np.random.default_rng(4)
    age = rng.integers(25, 70, n)
    gender = rng.choice(["F", "M"], n)
    share = rng.beta(3.0 + (age - 25) / 30, 12.0)
    pay = np.round(600_000 * share, -2)
    sector = np.where(np.arange(n) % 10 == 0, 12, 11)
    path = folder / "own.csv"
    pl.DataFrame({"SALARY": pay, "GENDER": gender, "AGE": age, "SECTOR": sector}).write_csv(path)
    return path


@pytest.mark.draws
def test_a_small_file_gives_the_slides_table(tmp_path: Path) -> None:
    settings = SamplerSettings(draws=150, warmup=150, chains=1)
    result = salaries.run(
        _file(tmp_path),
        seed=1,
        formula="~ GENDER + AGE",
        range=(0.0, 600_000.0),
        filters=["SECTOR=11"],
        settings=settings,
    )
    assert [row.label for row in result.rows] == [row.label for row in salaries.PUBLISHED]
    assert result.n == 135
    of = {row.label: row for row in result.rows}
    assert of["Data"].lipschitz is None
    assert of["PH"].lipschitz is None
    assert of["PH"].epsilon == 5.0
    for label in ("Weighted", "Weighted-e", "Censor_w", "Censor_uw"):
        assert of[label].epsilon == 2 * of[label].lipschitz
        assert 0 < of[label].avg_ecdf < of[label].max_ecdf < 0.5
        assert 0 < of[label].q15 < of[label].median < of[label].q90 < 600_000
    assert max(of["Censor_w"].epsilon, of["Censor_uw"].epsilon) <= 5.0
    assert (of["Censor_uw"].mean_weight, of["Censor_uw"].out) == (1.0, 0.0)
    assert of["Weighted"].clamped is None
    assert 0 <= of["Censor_w"].clamped <= of["Censor_uw"].clamped <= 1
    assert of["Weighted-e"].out >= of["Weighted"].out > 0
    assert salaries.write(result, tmp_path) == ["table.csv"]
    written = pl.read_csv(tmp_path / "table.csv")
    assert written.group_by("source").len().sort("source")["len"].to_list() == [6, 6]


def test_the_published_table_agrees_with_itself() -> None:
    for row in salaries.PUBLISHED[1:5]:
        assert row.epsilon == pytest.approx(2 * row.lipschitz)


def test_without_a_file_the_command_says_where_to_get_it() -> None:
    run = CliRunner().invoke(command, ["sdr"])
    assert isinstance(run.exception, InputError)
    for part in ("ncsesdata.nsf.gov", "salary, gender, age and weeks worked", "1601"):
        assert part in str(run.exception)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--formula: the predictors"),
        (["--formula", "~ AGE"], "--range L,U too: public bounds"),
        (["--formula", "~ AGE", "--range", "0"], "--range takes two numbers"),
        (["--formula", "~ AGE", "--range", "0,1000"], "values outside the range"),
        (["--formula", "~ AGEGRP", "--range", "0,600000"], "AGEGRP"),
        (["--formula", "~ AGE", "--range", "0,600000", "--outcome", "PAY"], "PAY"),
    ],
)
def test_a_wrong_call_writes_nothing(tmp_path: Path, options: list[str], message: str) -> None:
    out = tmp_path / "out"
    arguments = ["sdr", "--file", str(_file(tmp_path)), "--out", str(out), *options]
    run = CliRunner().invoke(command, arguments)
    assert isinstance(run.exception, InputError)
    assert message in str(run.exception)
    assert not out.exists()
