"""Rows of samplers: they pass, and fail for the errors that they are there for."""

from typing import Any

import pytest
from pyvws_validation.cases import samplers, table_steps
from pyvws_validation.report import Row
from sampler_mistakes import SAMPLER_MISTAKES
from test_guarantee import plant

pytestmark = [pytest.mark.runs, pytest.mark.draws]
ROWS = {case.id: case for case in (*samplers.CASES, *table_steps.CASES)}


def row_of(name: str) -> Row:
    (row,) = ROWS[name].rows()
    return row


@pytest.mark.parametrize("name", ROWS)
def test_the_row_passes(name: str) -> None:
    row = row_of(name)
    assert (row.verdict, row.reason) == ("pass", "")


@pytest.mark.parametrize(
    ("planted", "name"), [pytest.param(*mistake, id=what) for what, *mistake in SAMPLER_MISTAKES]
)
def test_the_row_fails_for_its_error(
    monkeypatch: pytest.MonkeyPatch, planted: Any, name: str
) -> None:
    plant(monkeypatch, *planted)
    row = row_of(name)
    assert row.verdict == "fail"
    assert "raised" not in row.reason
