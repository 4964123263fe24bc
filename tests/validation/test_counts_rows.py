"""Rows of noisy counts: they pass, and fail for errors."""

import dataclasses

import pytest
from counts_mistakes import COUNTS_MISTAKES
from paid_mistakes import PAID_MISTAKES
from pyvws_validation.cases import noisy_counts
from pyvws_validation.cases.guarantee import ComputedLoss, SampledLoss
from pyvws_validation.report import Row
from statement_mistakes import Wrong
from test_guarantee import plant

pytestmark = pytest.mark.runs
pytest.importorskip("opendp")
CASES = {
    case.id: dataclasses.replace(case, count=400) if isinstance(case, SampledLoss) else case
    for case in noisy_counts.CASES
}


def row_of(name: str, *, few: bool = False) -> Row:
    """The row of that id; with `few` of the smallest tables alone, for an error that is large."""
    case = CASES[name]
    if few and isinstance(case, ComputedLoss):
        bases = case.runs.bases
        few_of = bases[:1] + bases[-2:] if bases[0] == bases[-1][:0] else bases
        case = dataclasses.replace(case, runs=dataclasses.replace(case.runs, bases=few_of))
    (row,) = case.rows()
    return row


@pytest.mark.parametrize("name", CASES)
def test_the_row_passes(name: str) -> None:
    row = row_of(name)
    assert (row.verdict, row.reason) == ("pass", "")


@pytest.mark.parametrize(
    ("place", "wrong", "name"),
    [
        pytest.param(*mistake, id=f"{what} {mistake[-1]}")
        for what, *mistake in (*COUNTS_MISTAKES, *PAID_MISTAKES)
    ],
)
def test_the_row_fails_for_its_error(
    monkeypatch: pytest.MonkeyPatch, place: str, wrong: Wrong, name: str
) -> None:
    plant(monkeypatch, place, wrong)
    row = row_of(name, few=True)
    assert row.verdict == "fail"
    # The seller of measurements refuses what nobody paid for; nothing else may break.
    assert "raised" not in row.reason or "raised SpendingError" in row.reason


def test_the_smallest_tables_pass_without_an_error() -> None:
    """What fails above fails for its error, and not for tables that are too few."""
    computed = [case.id for case in CASES.values() if isinstance(case, ComputedLoss)]
    assert {row_of(name, few=True).verdict for name in computed} == {"pass"}
