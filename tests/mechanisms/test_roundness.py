"""Numbers that heap at round ones, and the noisy counts that say so."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyvws as vws
from pyvws import Column, Schema
from pyvws.mechanisms.counts.by_rule import counted_columns
from pyvws.mechanisms.counts.chosen_cells import FineCounts, fine_cells, fine_column, within_cells
from pyvws.mechanisms.counts.coding import CountedColumn, counted_column
from pyvws.mechanisms.counts.roundness import Roundness, roundness_of
from pyvws.release.reproduce import ReleasedCounts
from pyvws.report.output_folder import dataset_files

COLUMNS = st.sampled_from(
    [
        Column(model="normal", range=(-60, 93), decimals=0, mass=(0, 50)),
        Column(model="normal", range=(-0.6, 1.73), decimals=2, missing="0.5", cuts=(0.1, 0.33)),
        Column(model="normal", range=(3, 470), decimals=0, cuts=(9, 10, 11, 20, 300)),
        Column(model="normal", range=(0, 40), decimals=0, missing=("N", "99")),
        Column(model="normal", range=(-2.0, -1.0), decimals=3),
    ]
)


SCHEMA = Schema({"x": Column(model="normal", range=(100, 260), decimals=0, cuts=(140, 170, 201))})


def numbers_of(column: CountedColumn) -> tuple[np.ndarray, np.ndarray]:
    """All numbers of a column's range at its decimals, and their codes."""
    step, (low, high) = column.column.step or 1.0, column.column.range or (0.0, 1.0)
    every = column.column.rounded(np.arange(round(low / step), round(high / step) + 1) * step)
    return every, np.array([column.code_of(str(x)) for x in every], dtype=np.int32)


def classes_of(column: CountedColumn) -> Roundness:
    found = roundness_of(column)
    assert found is not None
    return found


@settings(max_examples=20)
@given(column=COLUMNS, most=st.sampled_from([512, 64]), seed=st.integers(0, 2**32))
def test_a_number_is_in_the_class_of_its_roundest_unit(
    column: Column, most: int, seed: int
) -> None:
    counted = fine_column(Schema({"x": column}), "x", most=most)
    rng = np.random.default_rng(seed)
    roundness, (numbers, codes) = classes_of(counted), numbers_of(counted)
    classes = roundness.codes(codes, numbers)
    parts, step, within = len(counted.parts), column.step or 1.0, roundness.within()
    assert roundness.units[-1] == 1
    for number, code, found in zip(numbers, codes, classes, strict=True):
        whole = round(number / step)
        divides = [k for k, unit in enumerate(roundness.units.tolist()) if whole % unit == 0]
        assert found == (divides[0] if code >= parts else -1)
    for cell, kind in np.ndindex(within.shape):
        own = {*numbers[(codes == cell + parts) & (classes == kind)].tolist()}
        assert within[cell, kind] == len(own)
        if own:
            cells, kinds = np.full(40 * len(own), cell), np.full(40 * len(own), kind)
            drawn = counted.written(cells, roundness.drawn(cells, kinds, rng))
            assert {*drawn.tolist()} == own  # That one is missed has a chance below 1e-13.


def test_records_without_a_number_are_in_no_class() -> None:
    column = counted_column("x", Column(model="normal", range=(0, 90), decimals=0, missing="N"))
    codes, values = column.read(nw_series(["20", "N", "?", "91", None, "35"]).to_frame())
    assert classes_of(column).codes(codes, values).tolist() == [0, -1, -1, -1, -1, 1]
    unread = classes_of(column).codes(np.array([1], dtype=np.int32), np.array([np.nan]))
    assert unread.tolist() == [-1]


def nw_series(cells: list[str | None]) -> nw.Series[Any]:
    return nw.from_native(pl.Series("x", cells), series_only=True)


@pytest.mark.parametrize(
    "column",
    [
        Column(model="normal", range=(0, 900)),
        Column(model="normal", range=(0, 20), decimals=0),
        Column(model="normal", range=(0, 1e16), decimals=0),
        Column(model="normal", days_since="2000-01-01", range=("2000-01-01", "2019-12-31")),
    ],
    ids=["without decimals", "of few steps", "of too many", "dates"],
)
def test_numbers_without_classes(column: Column) -> None:
    assert roundness_of(counted_column("x", column)) is None


def drawn_from(
    numbers: np.ndarray, deviation: float, seed: int, *, most: int, fine_told: bool = True
) -> tuple[np.ndarray, np.ndarray, Roundness]:
    """Numbers drawn anew in place of those of a table, the classes of both, and what they are.

    Counts have noise of that deviation. It hides fine ones unless they are `fine_told`.
    """
    rng, cells = np.random.default_rng(seed), fine_cells(SCHEMA, most=most)
    fine, final = cells.columns["x"], counted_columns(SCHEMA)["x"]
    roundness, labels = classes_of(fine), [str(x) for x in numbers]
    codes = np.array([fine.code_of(x) for x in labels], dtype=np.int32)
    classes = roundness.codes(codes, numbers)

    def noisy(own: np.ndarray, size: int) -> FineCounts:
        noise = np.rint(rng.normal(0.0, deviation, size)).astype(np.int64)
        return FineCounts(np.bincount(own, minlength=size) + noise, deviation, deviation)

    told = noisy(codes, fine.size)
    if not fine_told:
        told = replace(told, deviation=1e4)
    told = replace(told, rounded=noisy(classes, len(roundness.units)))
    in_cells = np.array([final.code_of(x) for x in labels], dtype=np.int32)
    drawn = final.values(
        in_cells, rng, within_cells(fine, final, in_cells, told).drawn(in_cells, rng)
    )["x"]
    again = np.array([final.code_of(str(x)) for x in drawn])
    np.testing.assert_array_equal(again, in_cells)
    return drawn, np.stack([classes, roundness.codes(again.astype(np.int32), drawn)]), roundness


def heaped(records: int, rng: np.random.Generator) -> np.ndarray:
    """Weights of which most are told in tens and fives."""
    exact = np.clip(rng.normal(170.0, 25.0, records), 101.0, 259.0)
    unit = rng.choice([10.0, 5.0, 1.0], records, p=[0.5, 0.2, 0.3])
    return np.asarray(np.rint(exact / unit) * unit)


def shares(classes: np.ndarray, roundness: Roundness) -> np.ndarray:
    return np.asarray(np.bincount(classes, minlength=len(roundness.units)) / len(classes))


@pytest.mark.runs
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), most=st.sampled_from([512, 128, 64]), told=st.booleans())
def test_drawn_numbers_heap_as_those_of_the_table(seed: int, most: int, told: bool) -> None:
    numbers = heaped(4_000, np.random.default_rng(seed))
    drawn, classes, roundness = drawn_from(numbers, 10.0, seed, most=most, fine_told=told)
    own, made = (shares(x, roundness) for x in classes)
    np.testing.assert_allclose(made, own, atol=0.06)
    places = np.arange(100, 261)
    apart = [np.searchsorted(np.sort(x), places, side="right") / 4_000 for x in (numbers, drawn)]
    assert np.abs(apart[0] - apart[1]).max() < 0.06


@pytest.mark.runs
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), most=st.sampled_from([512, 64]))
def test_even_numbers_stay_even(seed: int, most: int) -> None:
    numbers = np.random.default_rng(seed).integers(100, 260, 4_000).astype(float)
    drawn, classes, roundness = drawn_from(numbers, 10.0, seed, most=most)
    np.testing.assert_allclose(shares(classes[1], roundness), [0.1, 0.1, 0.8], atol=0.05)
    assert np.bincount(drawn.astype(int)).max() < 90  # 25 of each.


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), kept=st.booleans())
def test_noise_alone_changes_nothing(seed: int, kept: bool) -> None:
    fine, final = fine_cells(SCHEMA, most=64).columns["x"], counted_columns(SCHEMA)["x"]
    codes = np.random.default_rng(seed).integers(0, final.size, 500).astype(np.int32)
    counts = np.where(np.arange(fine.size) % 3, 10, 90)
    told = FineCounts(counts, 1.0, 1.0 if kept else 1e4)
    sizes = classes_of(fine).within().sum(axis=0) * 3
    hidden = replace(told, rounded=FineCounts(sizes + np.array([30, -30, 20]), 1e3, 1e3))
    one, other = (
        within_cells(fine, final, codes, x).drawn(codes, np.random.default_rng(1))
        for x in (told, hidden)
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("count", [-50, 0])
def test_classes_without_noisy_records_change_nothing(count: int) -> None:
    fine, final = fine_cells(SCHEMA).columns["x"], counted_columns(SCHEMA)["x"]
    told = FineCounts(np.zeros(fine.size, dtype=np.int64), 1.0, 1.0)
    told = replace(told, rounded=FineCounts(np.full(3, count), 1.0, 1.0))
    codes = np.zeros(9, dtype=np.int32)
    one, other = (
        within_cells(fine, final, codes, x).drawn(codes, np.random.default_rng(1))
        for x in (told, replace(told, rounded=None))
    )
    np.testing.assert_array_equal(one, other)


def weights_table(records: int = 2_000) -> tuple[pl.DataFrame, Schema]:
    rng = np.random.default_rng(5)
    y = np.array(["a", "b"])[rng.integers(0, 2, records)]
    table = pl.DataFrame({"x": heaped(records, rng).astype(int), "y": y})
    x = Column(model="normal", range=(100, 260), decimals=0, mass=(180,))
    return table, Schema({"x": x, "y": Column(model="nominal", levels=("a", "b"))})


def released(table: pl.DataFrame, schema: Schema, **given: Any) -> Any:
    mechanism = vws.NoisyCounts(epsilon=2.0, delta=1e-5, **{"measure": "pairs", **given})
    return vws.synthesize(table, schema=schema, mechanism=mechanism, datasets=2, seed=3)


@pytest.mark.draws
def test_a_release_heaps_as_its_table() -> None:
    table, schema = weights_table()
    made = released(table, schema).datasets[0]
    own, synthetic = (float((x["x"] % 10 == 0).mean()) for x in (table, made))
    assert synthetic == pytest.approx(own, abs=0.06)
    assert float((made["x"] % 5 != 0).mean()) == pytest.approx(0.24, abs=0.06)


def test_a_release_has_the_counts_of_round_numbers_and_is_reproduced(tmp_path: Path) -> None:
    table, schema = weights_table(400)
    public = released(table, schema).write(tmp_path / "out") / "release"
    privacy = json.loads((public / "privacy.json").read_text(encoding="utf-8"))
    counts, fine = (pl.read_parquet(public / f"{name}.parquet") for name in ("counts", "cells"))
    by = fine.filter(pl.col("by") == "roundness")
    assert by["label"].to_list() == [f"multiples of {unit}" for unit in (10, 5, 1)]
    assert privacy["counts"]["cells"] == len(counts) - 1 + len(fine)
    assert privacy["counts"]["sets"] == counts["set"].n_unique() - 1 + 2
    assert privacy["counts"]["largest_scale"] >= by["scale"][0] > fine["scale"][0]
    files = dataset_files(tmp_path / "out")
    made = ReleasedCounts.read(public, privacy).datasets(files)
    assert made == [file.read_bytes() for file in files]
