"""Text that is no plain category: numbers with words, dates in other spellings, notes of few."""

import numpy as np
import polars as pl
import pytest

from pyvws import Column, Schema
from pyvws.tables.proposal.numbers import MOST_CODES

pytestmark = pytest.mark.usefixtures("rare_values_too")

N = 400


def proposed(values: list[str | None], name: str = "y") -> Column:
    return Schema.propose(pl.DataFrame({name: values})).columns[name]


def ages(*words: str) -> list[str | None]:
    rng = np.random.default_rng(3)
    drawn = [str(x) for x in rng.integers(16, 90, N)]
    return [
        words[k // 10 % len(words)] if words and k % 10 == 0 else x for k, x in enumerate(drawn)
    ]


@pytest.mark.parametrize("words", [(".",), ("null",), ("<16", "90+"), (".", "N", "-9")])
def test_whole_numbers_with_words_are_numbers(words: tuple[str, ...]) -> None:
    found = proposed(ages(*words))
    assert found.model not in (None, "nominal", "table")
    assert {*found.missing_codes} == {*words}
    assert len(words) <= MOST_CODES


def test_codes_with_words_stay_categories() -> None:
    rng = np.random.default_rng(4)
    codes = np.sort(rng.choice(np.arange(100, 1000), 60, replace=False))
    drawn = rng.choice(codes, 4000, p=rng.dirichlet(np.full(60, 0.3)))
    trades: list[str | None] = ["N" if k % 9 == 0 else str(x) for k, x in enumerate(drawn)]
    assert proposed(trades).model == "nominal"
    states: list[str | None] = ["N" if k % 9 == 0 else str(k % 51) for k in range(N)]
    assert proposed(states, "state").model == "nominal"
    assert not proposed(states, "y").categorical


@pytest.mark.parametrize(
    "spelled",
    [
        "{m}/{d}/{y}",
        "{d:02d}.{m:02d}.{y}",
        "{y}/{m}/{d}",
        "{d}-{name}-{y}",
        "{name} {d}, {y}",
        "{m}/{d}/{y} 9:30 AM",
    ],
)
def test_dates_in_another_spelling_are_told_from_free_text(spelled: str) -> None:
    rng = np.random.default_rng(5)
    days = [
        spelled.format(d=d, m=m, y=y, name=("Jan", "März", "July")[m % 3])
        for d, m, y in zip(
            rng.integers(1, 28, N), rng.integers(1, 13, N), rng.integers(1990, 2021, N), strict=True
        )
    ]
    found = proposed([*days])
    assert found.role == "drop"
    assert (found.note or "").startswith("it spells dates in another way")
    assert proposed(days[:3] * 50).model == "nominal"  # Few may be those of waves.


def test_text_that_looks_like_dates_and_is_none() -> None:
    rng = np.random.default_rng(6)
    for form in ("{:03d}-{:02d}-{:04d}", "{}'{}\" {}", "flat {}/{} {}"):
        numbers = rng.integers(100, 1000, (N, 3)) % 100
        texts: list[str | None] = [form.format(*row) for row in numbers.tolist()]
        assert "dates" not in (proposed(texts).note or "")


def test_no_level_is_the_note_of_one_record() -> None:
    """A few records with a date or a text of their own are no category of these."""
    few: list[str | None] = ["2013-01-14", "2013-08-02", "2014-11-01"]
    found = proposed([*few, *[None] * N])
    assert (found.model, found.levels) == ("normal", None)
    notes: list[str | None] = [f"said {x % 9}" for x in range(10)]
    assert proposed([*notes, *[None] * N]).role == "drop"
    assert proposed([*notes, *notes, *[None] * N]).role == "synthesize"


@pytest.mark.parametrize("empty", [0, 300])
def test_notes_beside_a_frequent_answer_are_no_levels(empty: int) -> None:
    """Each of the other levels has two records on average, too: else they may be notes."""
    towns = [f"town {k}" for k in range(60)]
    cells = [*["none"] * 600, *[None] * empty]
    noted = proposed([*cells, *towns])
    assert (noted.role, noted.levels) == ("drop", None)
    assert len(proposed([*cells, *towns, *towns]).levels or ()) == 61
