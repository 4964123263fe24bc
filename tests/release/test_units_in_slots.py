"""Noisy counts of whole units: linked members, totals under a cap, and what is said of them."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import pyvws as vws
from pyvws import Column, InputError, Schema
from pyvws.auditing.canaries import canary_audit
from pyvws.commands.cli import app
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.files.frame import open_frame

pytestmark = pytest.mark.runs
pytest.importorskip("opendp")

HOMES = 400
MEMBERS: dict[str, Any] = {
    **{"sizes": (1, 3), "of_unit": ("area",), "summaries": {"persons": "size", "before": "count"}},
    "impossible": ("before == 0 and kind == 'child'",),
}


def homes() -> pl.DataFrame:
    """A head, perhaps a partner and children, where all of a home have one colour."""
    rng, rows = np.random.default_rng(5), []
    for number in range(HOMES):
        area, colour = rng.choice(["n", "s"]), rng.choice(["red", "blue"])
        kinds = ["head"] + ["partner"] * (rng.random() < 0.5) + ["child"] * int(rng.integers(0, 2))
        rows += [(f"{number}", area, kind, colour, int(rng.integers(1, 99))) for kind in kinds]
    table = pl.DataFrame(rows, schema=["home", "area", "kind", "colour", "pay"], orient="row")
    return table.with_columns(place=pl.lit("1"))


def schema(**entries: Any) -> Schema:
    columns = {
        "home": Column(role="id", prefix="H"),
        "area": Column(model="table", levels=("n", "s"), predictors=()),
        "place": Column(levels=("1", "2", "3"), lookup={"before": {"0": 1, "1": 2, "2": 3}}),
        "kind": Column(model="table", levels=("head", "partner", "child"), predictors=()),
        "colour": Column(model="table", levels=("red", "blue"), predictors=()),
        "pay": Column(model="normal", range=(0, 100), decimals=0, cuts=(25, 50, 75), predictors=()),
    }
    return Schema(columns, unit="home", members=MEMBERS | entries)


def synthesized(table: pl.DataFrame, by: Schema | None = None, **given: Any) -> Any:
    mechanism = vws.NoisyCounts(epsilon=20.0, delta=1e-5, classes=12, measure="pairs")
    how: Any = {"schema": by or schema(), "mechanism": mechanism, "datasets": 1, "seed": 1, **given}
    with warnings.catch_warnings(action="ignore"):
        return vws.synthesize(table, **how)


@pytest.fixture(scope="module")
def released() -> Any:
    return synthesized(homes())


def test_ids_link_the_members_of_a_unit(released: Any) -> None:
    made, data = released.datasets[0], homes()
    of_home = made.group_by("home", maintain_order=True)
    assert made["home"][0] == "H1"
    assert (of_home.agg(pl.col("area").n_unique())["area"] == 1).all()
    for agreed in of_home.agg(pl.col("place"))["place"].to_list():
        assert agreed == [*range(1, len(agreed) + 1)]
    assert (made.filter(pl.col("place") == 1)["kind"] != "child").all()
    # Members of one home have one colour, which single members would not have.
    alike = of_home.agg(pl.col("colour").n_unique())["colour"] == 1
    assert alike.mean() > 0.9
    sizes, own = (x.group_by("home").len()["len"].mean() for x in (made, data))
    assert sizes == pytest.approx(own, rel=0.08)


def test_the_statement_is_of_units(released: Any) -> None:
    privacy = released.privacy
    assert privacy["guarantee"] == "approximate-dp"
    assert privacy["unit_of_privacy"] == "all records of one home"
    assert (privacy["counts"]["cap"], privacy["counts"]["slots"]) == (1, 3)
    assert privacy["epsilon_total"] == 20.0
    assert any("one record of 3 slots" in text for text in privacy["caveats"])
    assert privacy["columns_synthesized"] == ["area", "place", "kind", "colour", "pay"]


def test_rows_beyond_the_slots_and_without_an_id_are_left_out_and_said_inside_alone() -> None:
    data = homes()
    more = data.filter(pl.col("home") == "0").head(1)
    more = pl.concat([more] * 5).with_columns(area=pl.lit("s"), pay=pl.lit(98, dtype=pl.Int64))
    lost = data.head(1).with_columns(home=pl.lit(None, dtype=pl.String))
    found = synthesized(pl.concat([data, more, lost] + [lost] * 9))
    own = found.summary["slots"]
    assert own["units"] == HOMES
    assert own["rows_in_no_slot"] == data.filter(pl.col("home") == "0").height + 5 - 3
    assert found.summary["records"] == len(data) + 5  # None of those without an id.
    assert set(own["units_that_differ"]) <= {"area"}
    outside = json.dumps(found.privacy) + found.config
    assert "units_that_differ" not in outside
    assert "rows_in_no_slot" not in outside


def test_the_release_is_made_again_and_its_counts_are_of_units(tmp_path: Path) -> None:
    out = tmp_path / "out"
    release = synthesized(homes(), datasets=2)
    release.write(out)
    result = CliRunner().invoke(app, ["reproduce", str(out)], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    assert "the same bytes" in result.output
    assert "colour_1:colour_2" in set(release.public_tables["counts.parquet"]["set"])
    assert not any(row.counted for row in vws.tabulate(release, by="area", count=True).figures)
    said = CliRunner().invoke(app, ["tabulate", str(out), "--by", "area", "--count", "--json"])
    assert said.exit_code == 0, said.output
    assert not any(row["counted"] for row in json.loads(said.output)["rows"])


@pytest.mark.parametrize(
    ("given", "entries", "key"),
    [
        ({"cap": 3}, {}, "cap-and-unit"),
        ({"model": "conditionals"}, {}, "beside-counts"),
        ({}, {"size_shares": (0.2, 0.5, 0.3)}, "beside-counts"),
        ({"measure": ("colours",)}, {}, "set-unknown-column"),
    ],
)
def test_settings_that_no_units_can_have_are_refused(
    given: dict[str, Any], entries: dict[str, Any], key: str
) -> None:
    run = {
        "schema": schema(**entries),
        "mechanism": vws.NoisyCounts(epsilon=1.0, **{"measure": "pairs", **given}),
    }
    with pytest.raises(InputError) as error:
        assert RunSettings(**run).plan
    assert error.value.key == key


def test_a_column_of_slots_is_for_counts_alone() -> None:
    columns = {n: x for n, x in schema().columns.items() if n not in ("persons", "before", "place")}
    panel = Schema(columns, unit="home", members={**MEMBERS, "slot": "kind", "impossible": ()})
    with pytest.raises(InputError) as error:
        assert RunSettings(schema=panel, mechanism="lw").plan
    assert error.value.key == "slot-without-counts"


def test_canaries_are_no_whole_units() -> None:
    run = RunSettings(schema=schema(), mechanism=vws.NoisyCounts(epsilon=1.0, measure="pairs"))
    with pytest.raises(InputError) as error:
        canary_audit(run, open_frame(homes()), 10, 1)
    assert error.value.key == "canaries-of-whole-units"


def test_a_wave_is_its_slot_and_a_gap_stays_one() -> None:
    rng = np.random.default_rng(2)
    rows = []
    for person in range(300):
        state = str(rng.choice(["in", "out"]))
        for wave in ("1", "2", "3"):
            if wave != "2" or person % 3:
                rows.append((person, wave, state))
    table = pl.DataFrame(rows, schema=["person", "wave", "state"], orient="row")
    columns = {
        "person": Column(role="id"),
        "wave": Column(model="table", levels=("1", "2", "3")),
        "state": Column(model="table", levels=("in", "out")),
    }
    members = {"sizes": (1, 3), "summaries": {"waves": "size"}, "slot": "wave"}
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=1)
    made = synthesized(shuffled, Schema(columns, unit="person", members=members)).datasets[0]
    waves = made.group_by("person", maintain_order=True).agg("wave", "state")
    gaps = [[str(x) for x in own] == ["1", "3"] for own in waves["wave"].to_list()]
    assert np.mean(gaps) == pytest.approx(1 / 3, abs=0.08)
    assert np.mean([len({*own}) == 1 for own in waves["state"].to_list()]) > 0.7
