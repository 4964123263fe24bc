"""Rows of whole releases: they pass, and fail for errors in weights, totals, rules and words."""

from __future__ import annotations

import pytest
from release_mistakes import RELEASE_MISTAKES
from statement_mistakes import Wrong
from test_guarantee import plant

from pyvws.validation import runner
from pyvws.validation.cases import CASES, drawn_datasets, stated_facts
from pyvws.validation.report import Row

pytest.importorskip("opendp")
MEASURED = {case.id: case for case in (*stated_facts.CASES, *drawn_datasets.CASES)}


def row_of(name: str) -> Row:
    """The row of that id, with R's stored results where it has any."""
    if name in MEASURED:
        (row,) = MEASURED[name].rows()
        return row
    (row,) = runner.run(source="cached", cases=[case for case in CASES if case.id == name])
    return row


@pytest.mark.parametrize("name", MEASURED)
def test_the_row_passes(name: str) -> None:
    row = row_of(name)
    assert (row.verdict, row.reason) == ("pass", "")


@pytest.mark.parametrize(
    ("place", "wrong", "name"),
    [pytest.param(*mistake, id=f"{what} {mistake[-1]}") for what, *mistake in RELEASE_MISTAKES],
)
def test_the_row_fails_for_its_error(
    monkeypatch: pytest.MonkeyPatch, place: str, wrong: Wrong, name: str
) -> None:
    plant(monkeypatch, place, wrong)
    row = row_of(name)
    assert row.verdict == "fail"
    assert "raised" not in row.reason
    assert row.measurements or row.largest_difference
