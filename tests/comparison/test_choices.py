"""The words of a choice, the points that it gives, and what is refused before any work."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused

from pyvws.comparison.points import planned, read_choice, refuse_choices

pytestmark = pytest.mark.runs

VISITS = pl.DataFrame({"y": np.arange(12) % 5, "town": ["a", "b"] * 6})
COMMON: dict[str, Any] = {"outcome": "y", "model": "poisson"}


def test_words_become_settings_of_the_mechanism_and_of_the_run() -> None:
    assert read_choice("lw  reweight c=0.5").label == "lw reweight c=0.5"
    assert read_choice("lw reweight c=0.5").settings == {
        **{"mechanism": "lw", "reweight": True, "c": 0.5}
    }
    assert read_choice("cw known=town,age radius-kind=absolute").settings == {
        **{"mechanism": "cw", "known": ("town", "age"), "radius_kind": "absolute"}
    }
    assert read_choice("inverse t=.2 power=1").settings == {
        **{"mechanism": "inverse", "t": 0.2, "power": 1}
    }


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("lwx", refused("not-a-choice")),
        ("lw radius=0.2", refused("choice-unknown-setting", text="lw radius=0.2")),
        ("lw epsilon=3", refused("choice-unknown-setting")),
        ("lw 'c", refused("choice-words")),
        ("", refused("choice-words")),
    ],
)
def test_other_words_are_refused(text: str, refusal: Any) -> None:
    with refusal:
        read_choice(text)


def test_a_choice_has_the_points_that_its_settings_allow() -> None:
    texts = ["censored weights=none", "unweighted", "lw", "sw match=2.0", "weighted-epsilon"]
    points, left_out = planned(VISITS, COMMON, texts, [8, 3.0])
    assert [point.name for point in points] == [
        *("unweighted", "lw", "sw match=2.0"),
        *("lw at 3", "weighted-epsilon at 3", "lw at 8", "weighted-epsilon at 8"),
        *("censored weights=none at 3", "censored weights=none at 8"),
    ]
    assert not left_out
    assert len({point.key for point in points}) == len(points)
    assert points[-1].settings.target_epsilon == 8.0


def test_usual_choices_that_the_table_refuses_are_left_out_and_named_ones_are_not() -> None:
    grades = {**COMMON, "model": "ordinal", "levels": (0, 1, 2, 3, 4)}
    points, left_out = planned(VISITS, grades, None, [3])
    assert list(left_out) == ["cw"]
    assert "categories" in left_out["cw"]
    assert not any(point.choice.label == "cw" for point in points)
    with refused("counts-of-codes"):
        planned(VISITS, grades, ["cw"], [3])


@pytest.mark.parametrize("name", ["epsilon", "mechanism", "reweight", "radius", "compared"])
def test_settings_of_choices_are_no_common_ones(name: str) -> None:
    with refused("comparison-setting"):
        refuse_choices({**COMMON, name: 3})
    refuse_choices(COMMON)
