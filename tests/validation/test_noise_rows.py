"""Rows of tables of estimates, secret noise and lost words: they pass, and fail for errors."""

import pytest
from noise_mistakes import NOISE_MISTAKES
from pyvws_validation import runner
from pyvws_validation.cases import CASES, noise, words
from pyvws_validation.report import Row
from statement_mistakes import Wrong
from test_guarantee import plant

pytest.importorskip("opendp")
MEASURED = (*noise.CASES, *words.CASES)
ESTIMATES = [case for case in CASES if case.script == "published_table"]


def rows() -> dict[str, Row]:
    """Every row that needs no stored result."""
    return {row.id: row for case in MEASURED for row in case.rows()}


def row_of(name: str) -> Row:
    """The row of that id, with R's stored results where it has any."""
    for case in MEASURED:
        if case.id == name:
            (row,) = case.rows()
            return row
    (row,) = runner.run(source="cached", cases=[case for case in CASES if case.id == name])
    return row


def test_the_rows_pass() -> None:
    found = rows() | {case.id: row_of(case.id) for case in ESTIMATES}
    assert {(row.verdict, row.reason) for row in found.values()} == {("pass", "")}
    assert len(found) == len(MEASURED) + len(ESTIMATES)


@pytest.mark.parametrize(
    ("place", "wrong", "name"),
    [pytest.param(*mistake, id=f"{what} {mistake[-1]}") for what, *mistake in NOISE_MISTAKES],
)
def test_the_row_fails_for_its_error(
    monkeypatch: pytest.MonkeyPatch, place: str, wrong: Wrong, name: str
) -> None:
    plant(monkeypatch, place, wrong)
    row = row_of(name)
    assert row.verdict == "fail"
    assert "raised" not in row.reason
    refused = row.reason.endswith("Report this as a defect of pyvws.")  # By the seller.
    assert row.measurements or row.largest_difference or refused
