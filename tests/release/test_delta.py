"""A delta beside the number of records: refused, for a board to decide, and proposed."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import pyvws as vws
from pyvws._base.deltas import above_a_record, delta_to_decide, modest_delta
from pyvws.report.board_decision import checks
from pyvws.report.output_folder import DatasetFile, PublicPart
from pyvws.report.public_page import tone_of

LEVELS = ("a", "b")
SCHEMA = vws.Schema(
    {name: vws.Column(model="table", levels=LEVELS, predictors=()) for name in ("x", "y")}
)
TABLE = pl.DataFrame({"x": ["a", "b"] * 200, "y": ["a", "a", "b", "b"] * 100})


@given(st.integers(1, 10**9), st.floats(1e-12, 1.0))
def test_a_modest_delta_is_the_largest_power_of_ten_that_nobody_has_to_decide(
    n: int, delta: float
) -> None:
    modest = modest_delta(n)
    assert Fraction(f"{modest:.0e}") < Fraction(1, 10 * n) <= 10 * Fraction(f"{modest:.0e}")
    assert not delta_to_decide(modest, n)
    assert delta_to_decide(11 * modest, n)
    assert above_a_record(delta, n) <= delta_to_decide(delta, n)
    assert above_a_record(1.001 / n, n)
    assert not above_a_record(0.999 / n, n)


def run(delta: float, **settings: Any) -> Any:
    pytest.importorskip("opendp")
    counts = vws.NoisyCounts(
        epsilon=1.0, delta=delta, neighbours=settings.pop("neighbours", "loo"), measure="pairs"
    )
    return vws.synthesize(TABLE, schema=SCHEMA, mechanism=counts, datasets=1, **settings)


@pytest.mark.runs
@pytest.mark.parametrize("neighbours", ["loo", "replace"])
def test_a_delta_above_one_over_the_records_is_refused_unless_accepted(neighbours: str) -> None:
    with refused("delta-of-a-record"):
        run(0.5, neighbours=neighbours)
    assert run(0.5, neighbours=neighbours, accept_delta=True).privacy["delta"] == 0.5
    assert run(0.0009, neighbours=neighbours).privacy["guarantee"] == "approximate-dp"


@pytest.mark.runs
def test_with_a_public_number_the_settings_alone_decide() -> None:
    """The table has 400 records in each run."""
    assert run(0.05, records=10).privacy["number_of_rows"] == "public"
    with refused("delta-of-public-records"):
        vws.Synthesizer(
            schema=SCHEMA,
            mechanism=vws.NoisyCounts(epsilon=1.0, delta=0.05, measure="pairs"),
            records=30,
        )
    censored = {"schema": SCHEMA, "mechanism": vws.Censored(epsilon=2.0, weights="none")}
    total: dict[str, Any] = {"total_epsilon": 2.0, "records": 30}
    with refused("delta-of-public-records"):
        vws.Synthesizer(**censored, **total, delta=0.05)
    assert vws.Synthesizer(**censored, **total, delta=0.05, accept_delta=True).accept_delta


@pytest.mark.parametrize(("delta", "decides"), [(0.0003, True), (0.0002, False), (0.0, False)])
def test_a_board_decides_on_a_delta_above_a_tenth_of_that(delta: float, decides: bool) -> None:
    privacy = {
        **{"guarantee": "approximate-dp" if delta else "dp", "certified": None, "ledger": []},
        **{"neighbours": "leave-one-out", "columns_released_unchanged": [], "delta": delta},
        **{"counts": {}, "caveats": [], "epsilon_total": 1.0, "epsilon_target": None},
        "epsilon_per_dataset": 1.0,
    }
    public = PublicPart(privacy, [DatasetFile(Path("one.csv"), 400, 1, "")], [], None, [])
    found = checks(public, {"privacy": privacy, "settings": {"delta": delta}}, None)
    told = [check for check in found if "small enough for 400 rows" in check.text]
    assert [check.tone for check in told] == (["warn"] if decides else [])
    (word,) = [check for check in found if check.text.startswith("The guarantee is")]
    assert word.tone == tone_of(privacy, 400) == ("warn" if decides else "good")
