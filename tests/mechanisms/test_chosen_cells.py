"""Cells of numbers that their own noisy counts choose."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import pyvws as vws
from pyvws import Column, InputError, Schema
from pyvws.commands.cli import app
from pyvws.mechanisms.counts.by_rule import counted_columns
from pyvws.mechanisms.counts.chosen_cells import (
    MOST_CHOSEN,
    FineCounts,
    fine_cells,
    fine_column,
    most_cells,
    most_fine_cells,
    recoded,
    within_cells,
)
from pyvws.release.reproduce import ReleasedCounts
from pyvws.report.output_folder import dataset_files

NUMBERS = st.sampled_from(
    [
        Column(model="normal", range=(-600, 1600), mass=(0,)),
        Column(model="normal", range=(0, 40), decimals=0),
        Column(model="normal", range=(1.5, 93_000), decimals=2, missing="N"),
        Column(model="normal", outcome_scale="log", range=(0.01, 20)),
        Column(model="normal", range=(1e9, 1e9 + 1)),
        Column(model="normal", range=(-1e-9, 0)),
        Column(model="normal", range=(-1e200, 3)),
        Column(model="normal", days_since="2000-01-01", range=("2000-01-01", "2019-12-31")),
    ]
)


def schema_of(column: Column, rule: str | None = None) -> Schema:
    other = Column(model="nominal", levels=("a", "b"), missing="N", rule=rule)
    return Schema({"x": column, "y": other})


def counts_of(counts: np.ndarray, deviation: float) -> FineCounts:
    return FineCounts(np.rint(counts).astype(np.int64), deviation, deviation)


@settings(max_examples=30)
@given(
    column=NUMBERS,
    fewer=st.sampled_from([512, 256, 128, 64]),
    seed=st.integers(0, 2**32),
    most=st.integers(4, MOST_CHOSEN),
)
def test_chosen_cells_join_fine_ones(column: Column, fewer: int, seed: int, most: int) -> None:
    rng, schema = np.random.default_rng(seed), schema_of(column)
    cells, finest = fine_cells(schema, most=fewer), fine_cells(schema).columns["x"]
    fine = cells.columns["x"]
    final = cells.chosen(schema, {"x": counts_of(rng.normal(5.0, 9.0, fine.size), 1.0)}, most)
    counted = counted_columns(final)["x"]
    cuts = final.columns["x"].cuts or ()
    assert 1 <= len(cuts) <= most - 1
    assert {*cuts} <= {*fine.edges.tolist()} <= {*finest.edges.tolist()}
    low, high = column.range or (0.0, 1.0)
    numbers = [low, high, *rng.uniform(low, high, 50), *cuts]
    if column.days_since is not None:
        numbers = [float(np.floor(x)) for x in numbers]
        labels = [column.label_of_number(x) for x in numbers]
    else:
        labels = [str(x) for x in numbers]
    labels += ["?", *(part for part in fine.parts if part is not None)]
    own = np.array([counted.code_of(x) for x in labels])
    for finer in (fine, finest):
        codes = np.array([finer.code_of(x) for x in labels], dtype=np.int32)
        np.testing.assert_array_equal(recoded(finer, counted, codes), own)
    if own := fine_cells(final, most=fewer).columns:  # Its cuts are public now.
        codes = np.array([own["x"].code_of(x) for x in labels], dtype=np.int32)
        np.testing.assert_array_equal(
            recoded(own["x"], counted, codes), [counted.code_of(x) for x in labels]
        )


@pytest.mark.runs
@settings(max_examples=60)
@given(data=st.data())
def test_numbers_beside_points_of_mass_are_in_one_cell_and_its_fine_ones(
    data: st.DataObject,
) -> None:
    """Cells whose only numbers stand apart join others, of cuts and of fine cells alike."""
    points = data.draw(st.sets(st.integers(0, 12), max_size=6))
    cuts = data.draw(st.sets(st.integers(1, 39), min_size=1, max_size=9))
    top = data.draw(st.sampled_from([40, 600, 7_000]))
    column = Column(
        model="normal", range=(0, top), decimals=0, mass=sorted(points), cuts=sorted(cuts)
    )
    schema = schema_of(column)
    final = counted_columns(schema)["x"]
    for most in (512, 64):
        fine = fine_column(schema, "x", most=most)
        labels = [str(x) for x in range(top + 1)]
        codes, own = (
            np.array([one.code_of(x) for x in labels], dtype=np.int32) for one in (fine, final)
        )
        np.testing.assert_array_equal(recoded(fine, final, codes), own)
        noisy = counts_of(np.random.default_rng(3).uniform(0.0, 99.0, fine.size), 1.0)
        drawn = within_cells(fine, final, own, noisy).drawn(own, np.random.default_rng(1))
        made = final.values(own, np.random.default_rng(2), drawn)["x"]
        np.testing.assert_array_equal([final.code_of(f"{x:g}") for x in made], own)


def test_a_number_that_a_rule_compares_begins_a_cell_whatever_is_counted() -> None:
    schema = schema_of(Column(model="normal", range=(0, 90), decimals=0), "N only where x < 15")
    cells = fine_cells(schema)
    chosen = cells.chosen(schema, {"x": counts_of(np.zeros(cells.columns["x"].size), 1.0)}, 4)
    assert 15.0 in (chosen.columns["x"].cuts or ())


def test_the_far_tail_of_a_rare_amount_is_one_cell() -> None:
    """Its cells would have fewer records than the noise of a set."""
    schema = Schema({"x": Column(model="normal", range=(0.0, 35_000.0))})
    cells = fine_cells(schema)
    rng, fine = np.random.default_rng(4), cells.columns["x"]
    amounts = rng.gamma(0.5, 4_000.0, 200).clip(0, 35_000)
    codes = np.array([fine.code_of(str(x)) for x in amounts])
    counts = np.bincount(codes, minlength=fine.size)
    noisy = {"x": counts_of(counts, 0.1)}
    for least in (0.0, 40.0):
        final = counted_columns(cells.chosen(schema, noisy, least=least))["x"]
        sums = np.bincount(recoded(fine, final, np.arange(fine.size)), counts)
        together = sums[:-1] + sums[1:]
        assert (together.min() > 30.0) == (least > 0.0)
        assert len(sums) <= MOST_CHOSEN


def test_numbers_with_cuts_or_few_values_keep_their_cells() -> None:
    columns = {
        "cut": Column(model="normal", range=(0, 90), cuts=(15, 60)),
        "narrow": Column(model="normal", range=(0, 11), cuts=(2, 4, 6, 8, 10), decimals=0),
        "few": Column(model="normal", range=(0, 9), decimals=0),
        "many": Column(model="normal", range=(0, 90), decimals=0),
    }
    cells = fine_cells(Schema(columns))
    assert [*cells.columns] == ["cut", "many"]
    assert {15.0, 60.0} <= {*cells.columns["cut"].edges}
    even = cells.evenly(Schema(columns))
    assert [even.columns[name] for name in ("cut", "narrow", "few")] == [*columns.values()][:3]
    named = vws.NoisyCounts(epsilon=1.0, measure=("few:many/20/40",))
    assert [*named.counting(Schema(columns)).finest.columns] == ["cut"]
    families = vws.NoisyCounts(epsilon=1.0, model="conditionals", measure="pairs")
    assert [*families.counting(Schema(columns)).finest.columns] == [
        "many"
    ]  # A family draws the others.


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), deviation=st.floats(0.1, 1e4))
def test_numbers_are_drawn_within_their_cells(seed: int, deviation: float) -> None:
    rng, schema = np.random.default_rng(seed), schema_of(Column(model="normal", range=(-3, 900)))
    cells = fine_cells(schema, most=64)
    noisy = counts_of(rng.normal(2.0, 20.0, cells.columns["x"].size), deviation)
    final = counted_columns(cells.chosen(schema, {"x": noisy}))["x"]
    codes = rng.integers(0, final.size, 300).astype(np.int32)
    drawn = within_cells(cells.columns["x"], final, codes, noisy).drawn(codes, rng)
    assert ((final.edges[codes] <= drawn) & (drawn <= final.edges[codes + 1])).all()


def test_counts_that_stand_out_of_the_noise_give_numbers_within_a_cell() -> None:
    schema = schema_of(Column(model="normal", range=(0, 128), decimals=0))
    fine = fine_cells(schema).columns["x"]
    final = counted_columns(Schema({"x": Column(model="normal", range=(0, 128), cuts=(64,))}))["x"]
    counts, rng = np.zeros(fine.size), np.random.default_rng(1)
    counts[[10, 50]] = 300, 100
    codes = np.zeros(4_000, dtype=np.int32)
    exact, hidden = (
        np.floor(within_cells(fine, final, codes, counts_of(counts, deviation)).drawn(codes, rng))
        for deviation in (1.0, 1e3)
    )
    assert np.mean(exact == 10.0) == pytest.approx(0.75, abs=0.05)
    assert np.mean(hidden == 10.0) < 0.05


def test_counts_that_the_noise_hides_leave_even_cells() -> None:
    schema, rng = schema_of(Column(model="normal", range=(0, 100))), np.random.default_rng(2)
    cells = fine_cells(schema, most=64)
    noisy = counts_of(rng.normal(0.0, 500.0, cells.columns["x"].size), 1e3)
    assert cells.chosen(schema, {"x": noisy}) == cells.evenly(schema)


def test_more_noise_leaves_fewer_and_coarser_cells() -> None:
    assert [most_cells(2_000, d) for d in (1.0, 20.0, 1e3)] == [14, 7, 4]
    assert [most_fine_cells(2_000, d) for d in (1.0, 4.0, 1e3)] == [512, 390, 64]


def test_numbers_of_few_values_keep_a_cell_for_each() -> None:
    weeks = Column(model="normal", range=(20, 50), decimals=0)
    assert len(fine_column(schema_of(weeks), "x", most=64).edges) == 31
    assert len(fine_column(schema_of(weeks), "x", most=16).edges) == 16


def crowded(records: int = 3_000) -> tuple[pl.DataFrame, Schema]:
    """Most amounts lie in one of the public cells, and follow from a category."""
    rng = np.random.default_rng(7)
    kind = rng.integers(0, 2, records)
    amount = np.round(np.clip(rng.normal(3.0 + 4.0 * kind, 1.0), -900, 900), 3)
    amount[:3] = -880.0, 700.0, 850.0
    table = pl.DataFrame({"x": amount, "y": np.array(["a", "b"])[kind]})
    return table, schema_of(Column(model="normal", range=(-900, 900), decimals=3))


def synthesized(table: pl.DataFrame, schema: Schema, **given: Any) -> Any:
    mechanism = vws.NoisyCounts(epsilon=4.0, delta=1e-5, **{"measure": "pairs", **given})
    return vws.synthesize(table, schema=schema, mechanism=mechanism, datasets=2, seed=3)


@pytest.mark.draws
def test_a_crowded_number_keeps_what_ties_it_to_a_category() -> None:
    table, schema = crowded()
    chosen, public = (synthesized(table, schema, cells_share=x).datasets[0] for x in (0.1, 0.0))
    medians = dict(chosen.group_by("y").agg(pl.col("x").median()).iter_rows())
    assert medians["b"] - medians["a"] == pytest.approx(4.0, abs=1.0)  # 4 in the table.
    near = [float(one["x"].is_between(-2.0, 12.0).mean()) for one in (chosen, public)]
    assert near[0] > 0.7 > 0.3 > near[1]  # All but three in the table.


@pytest.mark.runs
@pytest.mark.parametrize("cuts", [None, (2.5, 5.0)])
def test_a_release_of_fine_cells_says_what_they_chose_and_is_reproduced(
    cuts: tuple[float, ...] | None, tmp_path: Path
) -> None:
    table, schema = crowded(400)
    schema = replace(
        schema, columns={**schema.columns, "x": replace(schema.columns["x"], cuts=cuts)}
    )
    release = synthesized(table, schema)
    public = release.write(tmp_path / "out") / "release"
    privacy = json.loads((public / "privacy.json").read_text(encoding="utf-8"))
    assert privacy["counts"].get("columns_of_chosen_cells") == (None if cuts else ["x"])
    assert any("cells.parquet" in caveat for caveat in privacy["caveats"])
    counts, fine = (pl.read_parquet(public / f"{name}.parquet") for name in ("counts", "cells"))
    assert privacy["counts"]["cells"] == len(counts) - 1 + len(fine)
    files = dataset_files(tmp_path / "out")
    released = ReleasedCounts.read(public, privacy)
    assert not released.costs_more
    assert released.datasets(files) == [file.read_bytes() for file in files]
    written = tomllib.loads((public / "schema.toml").read_text(encoding="utf-8"))
    given = (tmp_path / "out/confidential/schema.toml").read_text(encoding="utf-8")
    of_all, *sets = counts.unique("set", maintain_order=True).iter_rows(named=True)
    most = most_cells(of_all["count"], float(np.mean([one["scale"] for one in sets])))
    assert len(written["columns"]["x"]["cuts"]) == (2 if cuts else most - 1)
    assert tomllib.loads(given)["columns"]["x"].get("cuts") == (list(cuts) if cuts else None)


@pytest.mark.parametrize("share", [-0.1, 1.0, "x", float("nan")])
def test_a_share_outside_its_range_is_refused(share: Any) -> None:
    with pytest.raises(InputError, match="cells_share"):
        vws.NoisyCounts(epsilon=1.0, cells_share=share, measure="pairs")


@pytest.mark.runs
def test_the_public_page_names_the_columns_of_chosen_cells(tmp_path: Path) -> None:
    table, schema = crowded(200)
    out = synthesized(table, schema).write(tmp_path / "out")
    ended = CliRunner().invoke(app, ["report", str(out)])
    pages = [page.read_text(encoding="utf-8") for page in (out / "release").rglob("*.html")]
    assert any("cells.parquet" in page for page in pages), ended.output
