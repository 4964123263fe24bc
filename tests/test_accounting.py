"""The privacy statement: rounding up, totals, what is claimed and what is said."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyvws.accounting import PrivacyStatement, rounded_up

many = settings(max_examples=300, deadline=None, derandomize=True)


def statement(**changes):
    facts = {
        "mechanism": "lw",
        "model": "poisson",
        "reweighted": False,
        "searched": False,
        "lipschitz_bound": 3.31,
        "datasets": 20,
        "draws": 4000,
        "threshold": 1.0,
        "columns_released_unchanged": (),
        "rounded": False,
        "reads_outcome": False,
        "model_caveats": (),
        "problems": (),
    }
    return PrivacyStatement(**{**facts, **changes})


def test_by_hand():
    made = statement()
    assert made.epsilon_per_dataset == 6.62
    assert made.epsilon_total == 20 * 6.62
    released = made.released()
    assert released["lipschitz_bound"] == 3.4
    assert released["epsilon_per_dataset"] == 6.7
    assert released["epsilon_total"] == 132.5  # of the exact total 132.4, not of 20 x 6.7
    exact = made.exact()
    assert exact["lipschitz_bound"] == 3.31
    assert {k: v for k, v in exact.items() if type(v) is not float} == {
        k: v for k, v in released.items() if type(v) is not float
    }
    assert exact["neighbours"] == "leave-one-out"


@given(st.floats(0, 1e308))
@example(0.1)
@example(0.30000000000000004)
@example(2.5)
@example(1e30)
@example(5e-324)
@many
def test_rounds_up_to_a_tenth_and_never_down(value):
    found = rounded_up(value)
    assert found >= value
    nearest = Fraction(round(Fraction(found) * 10), 10)
    assert found == float(nearest)  # one decimal
    below = nearest - Fraction(1, 10)
    assert below < Fraction(value)  # no tenth to spare


def test_rounding_leaves_tenths_and_refuses_what_is_not_finite():
    assert [rounded_up(v) for v in (0.0, 0.5, 3.0, 3.01)] == [0.0, 0.5, 3.0, 3.1]
    assert [rounded_up(v) for v in (math.inf, math.nan, -math.inf)] == [None] * 3


@given(st.floats(0.001, 1e6), st.integers(1, 100))
@many
def test_released_totals_cover_the_exact_ones(bound, datasets):
    made = statement(lipschitz_bound=bound, datasets=datasets)
    exact, released = made.exact(), made.released()
    for name in ("lipschitz_bound", "epsilon_per_dataset", "epsilon_total"):
        assert exact[name] <= released[name] <= exact[name] + 0.1 + 1e-9 * exact[name]
    assert exact["epsilon_total"] == datasets * exact["epsilon_per_dataset"]
    assert exact["epsilon_per_dataset"] == 2 * bound


@pytest.mark.parametrize(
    ("changes", "guarantee"),
    [
        ({}, "asymptotic-dp"),
        ({"mechanism": "cw"}, "asymptotic-dp"),
        ({"mechanism": "sw"}, "asymptotic-dp"),
        ({"reweighted": True, "searched": True}, "asymptotic-dp"),
        ({"mechanism": "unweighted"}, "none"),
        ({"threshold": 0.999}, "none"),
        ({"lipschitz_bound": math.inf}, "none"),
        ({"lipschitz_bound": math.nan}, "none"),
    ],
)
def test_what_is_claimed(changes, guarantee):
    assert statement(**changes).guarantee == guarantee
    assert statement(**changes).released()["guarantee"] == guarantee


def test_what_is_said_only_where_it_applies():
    plain = statement().caveats()
    extras = {
        "own, row by row": {"columns_released_unchanged": ("age",)},
        "search is not accounted": {"searched": True},
        "No record is downweighted": {"mechanism": "unweighted"},
        "One weight for all records": {"mechanism": "sw"},
        "0.9 quantile of the draws' maxima": {"threshold": 0.9},
        "rounded to whole numbers": {"rounded": True},
        "bound may be understated: LW: R-hat is high.": {"problems": ("LW: R-hat is high.",)},
    }
    for words, changes in extras.items():
        said = statement(**changes).caveats()
        assert set(plain) < set(said)
        (added,) = set(said) - set(plain)
        assert words in added
    everything = " ".join(plain)
    for words in ("deletion of one record", "4000 draws", "all 20 together", "not strictly"):
        assert words in everything


def test_a_release_is_plain_json_even_without_a_bound():
    made = statement(lipschitz_bound=math.inf, columns_released_unchanged=("age", "sex"))
    written = json.loads(json.dumps(made.released(), allow_nan=False))
    assert written["epsilon_total"] is None
    assert written["columns_released_unchanged"] == ["age", "sex"]
