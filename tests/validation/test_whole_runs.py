"""Whole runs and what they draw: the rows pass, and fail for the errors that they are there for."""

from typing import Any

import pytest
from pyvws_validation import runner
from pyvws_validation.cases import CASES, values
from pyvws_validation.report import Row
from test_guarantee import plant
from whole_mistakes import WHOLE_MISTAKES

RELEASED = [case for case in CASES if case.script in ("fit_sources", "systematic_draws")]
LAWS = {case.id: case for case in values.CASES}


def row_of(name: str) -> Row:
    """The row of a case by its id, with R's stored results or with none."""
    if name in LAWS:
        (row,) = LAWS[name].rows()
    else:
        chosen = [case for case in CASES if case.id == name]
        (row,) = runner.run(source="cached", cases=chosen)
    return row


@pytest.mark.parametrize("name", [one.id for one in (*RELEASED, *values.CASES)])
def test_the_rows_pass(name: str) -> None:
    row = row_of(name)
    if row.verdict == "skipped":
        pytest.skip(row.reason)
    assert (row.verdict, row.reason) == ("pass", "")


@pytest.mark.parametrize(
    ("places", "name"), [pytest.param(*mistake, id=what) for what, *mistake in WHOLE_MISTAKES]
)
def test_the_row_fails_for_its_error(
    monkeypatch: pytest.MonkeyPatch, places: Any, name: str
) -> None:
    for place, wrong in places:
        plant(monkeypatch, place, wrong)
    row = row_of(name)
    assert row.verdict == "fail"
    assert "raised" not in row.reason
