"""Rows of facts and of datasets: they pass, and fail for errors in words, figures and draws."""

import pytest
from pyvws_validation.cases import drawn_datasets, stated_facts
from release_mistakes import RELEASE_MISTAKES
from statement_mistakes import Wrong
from test_guarantee import plant

pytest.importorskip("opendp")
MEASURED = {case.id: case for case in (*stated_facts.CASES, *drawn_datasets.CASES)}


@pytest.mark.parametrize("name", MEASURED)
def test_the_row_passes(name: str) -> None:
    (row,) = MEASURED[name].rows()
    assert (row.verdict, row.reason) == ("pass", "")


@pytest.mark.parametrize(
    ("place", "wrong", "name"),
    [pytest.param(*mistake, id=f"{mistake[0]} {mistake[2]}") for mistake in RELEASE_MISTAKES],
)
def test_the_row_fails_for_its_error(
    monkeypatch: pytest.MonkeyPatch, place: str, wrong: Wrong, name: str
) -> None:
    plant(monkeypatch, place, wrong)
    (row,) = MEASURED[name].rows()
    assert row.verdict == "fail"
    assert "raised" not in row.reason
    assert row.measurements
