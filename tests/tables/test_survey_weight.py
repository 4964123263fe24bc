"""The survey weight of a schema: its entries, how cells count, and how a proposal tells one."""

from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import pyvws as vws
from pyvws.tables.proposal import notes
from pyvws.tables.schema.weight import MOST_PARTS, SurveyWeight

SEX = vws.Column(model="nominal", levels=("f", "m"))
WEIGHT = SurveyWeight("w", 2.0, 8.0, calibrated=True)
CASE = Path(__file__).parents[2] / "../shared/cases/weights.csv"


def schema(**entries: Any) -> vws.Schema:
    return vws.Schema({"sex": SEX}, **entries)


def test_the_entries_are_written_and_read_again(tmp_path: Path) -> None:
    given = schema(weight="w", weight_range=[1, 400], weight_kind="design")
    given.write(tmp_path / "s.toml")
    again = vws.Schema.read(tmp_path / "s.toml")
    assert (again.weight, again.weight_range, again.weight_kind) == ("w", (1.0, 400.0), "design")
    assert again.weighing == SurveyWeight("w", 1.0, 400.0, calibrated=False)
    assert schema().weighing is None


@pytest.mark.parametrize(
    ("key", "entries"),
    [
        ("weight-entries-alone", {"weight_range": (1, 2)}),
        ("weight-entries-alone", {"weight_kind": "design"}),
        *(
            ("weight-range", {"weight": "w", "weight_range": bounds})
            for bounds in (None, (1,), (2, 1), (-1, 3), (1, np.inf), ("1", "2"), (True, 3))
        ),
        ("weight-kind", {"weight": "w", "weight_range": (1, 2), "weight_kind": "raked"}),
        ("weight-role", {"weight": "sex", "weight_range": (1, 2)}),
        ("weight-role", {"weight": "w", "weight_range": (1, 2), "unit": "w"}),
        ("not-text", {"weight": 3, "weight_range": (1, 2)}),
    ],
)
def test_entries_that_make_no_weight(key: str, entries: dict[str, Any]) -> None:
    with refused(key):
        schema(**entries)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_weights_are_clipped_and_others_count_nothing(frame: Any) -> None:
    cells = ["8", "4", "1", "9e9", "0", "-3", "inf", "x", None]
    read = WEIGHT.read(nw.from_native(frame({"w": cells}), eager_only=True)["w"])
    assert read.parts.tolist() == [1024, 512, 256, 1024, 0, 0, 0, 0, 0]
    assert (read.clipped, read.without) == (2, 5)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=8))
def test_no_weight_counts_more_than_the_largest(weights: list[float]) -> None:
    column = nw.from_native(pl.DataFrame({"w": pl.Series(weights, dtype=pl.Float64)}))["w"]
    parts = WEIGHT.read(column).parts
    assert ((parts >= 0) & (parts <= MOST_PARTS)).all()
    alone = [WEIGHT.read(column[[i]]).parts[0] for i in range(len(weights))]
    assert parts.tolist() == alone  # A record counts by its own cell.


def test_a_proposal_tells_weights_by_name_and_values() -> None:
    rng = np.random.default_rng(3)
    n = 200
    made = pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "weight": np.rint(rng.normal(75, 12, n)),  # Of bodies.
            "hh_weight": rng.choice([120.5, 88.0, 240.25], n),
            "w": rng.lognormal(5, 1, n),
            "PWGTP": rng.integers(1, 300, n),
            "income": rng.lognormal(10, 1, n),
        }
    )
    proposed = vws.Schema.propose(made)
    told = [name for name, own in proposed.columns.items() if own.note == notes.WEIGHTS]
    assert told == ["hh_weight", "w", "PWGTP"]
    assert {proposed.columns[name].role for name in told} == {"drop"}
    assert not {*told} & {x for name in proposed.synthesized for x in proposed.predictors_of(name)}


@pytest.mark.skipif(not CASE.is_file(), reason="the cases of shared/ are not here")
def test_household_weights_are_no_levels() -> None:
    proposed = vws.Schema.propose(pl.read_csv(CASE))
    assert proposed.columns["weight"].note == notes.WEIGHTS
    assert not any("weight" in str(own.rules) for own in proposed.columns.values())
