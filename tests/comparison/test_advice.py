"""Advice from rows by hand: the best with a guarantee, ties, failures, strict ones, one seed."""

from dataclasses import replace

import pytest

import pyvws as vws
from pyvws.comparison.found import Advice, ComparedRow, advised
from pyvws.comparison.points import Point, read_choice
from pyvws.evaluation.table_scores import Score

pytestmark = pytest.mark.runs


def row(
    words: str,
    guarantee: str,
    epsilons: tuple[float, ...],
    values: tuple[float, ...],
    *,
    larger: bool = True,
    problems: tuple[str, ...] = (),
) -> ComparedRow:
    choice = read_choice(words)
    given = {"outcome": "y", "model": "poisson", **choice.settings}
    ends = (1000.0, 0.0) if larger else (0.0, 1000.0)
    return ComparedRow(
        Point(choice, None, given),
        guarantee,
        epsilons,
        tuple((Score("s", x, (x,), 990.0, 900.0, *ends, larger, ""),) for x in values),
        *(1.0, 1.0, 2.0, problems),
    )


_GIVEN = {**{"outcome": "y", "mechanism": "censored", "weights": "none", "epsilon": 4.0}}
UNWEIGHTED = row("unweighted", "none", (50.0, 52.0), (980.0, 981.0))
SW = row("sw", "asymptotic-dp", (12.0, 12.5), (974.0, 976.0))
LW = row("lw", "asymptotic-dp", (11.0, 13.0), (951.0, 953.0))


def test_the_best_with_a_guarantee_within_epsilon_is_taken() -> None:
    found = advised([UNWEIGHTED, LW, SW], 13.0, "s")
    assert found.row is SW
    assert "At epsilon 13 a dataset: take sw, asymptotic." in found.text
    # Variances 2 and 2 over two seeds each: a mean has error 1, a difference has sqrt(2).
    assert "It has 975 ± 2 of s from 2 seeds, at epsilon 12.0 to 12.5" in found.text
    assert "lw has 952 ± 2." in found.text
    assert "The next is 23 behind, and the standard error of that is 1.4." in found.text
    assert (
        "Its statement says: The asymptotic result asks that downweighting become sparse"
        in found.text
    )
    assert "Without a guarantee unweighted has 980.5" in found.text
    assert "strict" not in found.text


def test_large_differences_are_written_out() -> None:
    far = row("lw", "asymptotic-dp", (11.0, 13.0), (351.0, 653.0))
    text = advised([far, SW], 13.0, "s").text
    assert "The next is 473 behind, and the standard error of that is 151." in text


def test_the_largest_epsilon_over_the_seeds_counts() -> None:
    assert advised([SW], 12.4, "s").row is None
    assert "nothing that was run has a guarantee" in advised([SW, UNWEIGHTED], 12.4, "s").text
    assert advised([SW, LW], 12.5, "s").row is SW


def test_points_that_time_did_not_allow_are_named_where_they_matter() -> None:
    late = [Point(read_choice("cw"), at, {}) for at in (12.0, 20.0)]
    assert "Time did not allow cw at 12: the same" in advised([SW], 13.0, "s", late).text
    assert "cw at 20" in advised([SW], 20.0, "s", late).text
    assert "Time did not allow cw at 12" in advised([UNWEIGHTED], 13.0, "s", late).text
    assert "Time" not in advised([SW], 13.0, "s", late[1:]).text


def test_a_score_may_be_better_when_smaller() -> None:
    one, other = (
        row(words, "asymptotic-dp", (1.0,), (value,), larger=False)
        for words, value in (("lw", 0.2), ("sw", 0.1))
    )
    found = advised([one, other], 2.0, "s")
    assert found.row is other
    assert "smaller is better" in found.text
    assert "Independent columns score better" not in found.text
    poor = row("lw", "asymptotic-dp", (1.0,), (880.0,))
    told = advised([poor], 2.0, "s").sentences
    assert told[0].startswith("At epsilon 2 a dataset: FAILS. Independent columns score better")
    assert told[1].startswith("At epsilon 2 a dataset: the best is lw")
    assert "One seed tells nothing of chance" in found.text


def test_a_tie_and_a_failure_are_said() -> None:
    close = row("cw", "asymptotic-dp", (1.0, 1.0), (972.0, 975.0))
    assert "These seeds do not tell cw from it." in advised([SW, close, LW], 13.0, "s").text
    failed = row("cw", "asymptotic-dp", (1.0,), (999.0,), problems=("No k.",))
    assert advised([SW, failed], 13.0, "s").row is SW


def test_a_strict_choice_loses_its_claim_on_the_table_that_was_looked_at() -> None:
    made = row("censored weights=none", "dp", (4.0,), (940.0,))
    strict = replace(made, point=replace(made.point, epsilon=4.0, given=_GIVEN))
    found = advised([SW, strict], 13.0, "s")
    assert "The best strict one is censored weights=none at 4, with 940" in found.text
    assert _warned(found)
    alone = advised([strict], 13.0, "s")
    assert "take censored weights=none at 4, strict" in alone.text
    assert "No other choice that was run has a guarantee and stays within it." in alone.text
    assert _warned(alone)
    assert not _warned(advised([SW], 13.0, "s"))


def _warned(found: Advice) -> bool:
    return "states nothing strict, since the comparison looked at the table" in found.text


@pytest.mark.parametrize(
    ("value", "said"),
    [(910.0, "hardly better than independent columns"), (800.0, "FAILS"), (950.0, "")],
)
def test_what_is_hardly_better_is_said_with_what_its_mechanism_has(value: float, said: str) -> None:
    made = row("noisy-counts", "dp", (1.0, 1.0), (value, value))
    column = vws.Column(model="table", levels=("a", "b"))
    schema = vws.Schema({"x": column, "y": column})
    given = {"schema": schema, "mechanism": "noisy-counts", "epsilon": 1.0}
    text = advised([replace(made, point=replace(made.point, given=given))], 2.0, "s").text
    assert said in text
    assert ("--measure" in text) == bool(said)
    assert "predictor" not in text
