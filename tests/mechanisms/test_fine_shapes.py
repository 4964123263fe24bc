"""Smooth shapes of numbers within cells, and numbers of skewed columns that are drawn by them."""

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws import Column, Schema
from pyvws.mechanisms.counts.by_rule import counted_columns
from pyvws.mechanisms.counts.chosen_cells import (
    FineCounts,
    fine_cells,
    most_cells,
    most_fine_cells,
    within_cells,
)
from pyvws.mechanisms.counts.coding import CountedColumn
from pyvws.mechanisms.counts.fine_shapes import expected_records

AMOUNT = Column(
    model="normal", range=(0, 90_000), outcome_scale="log", settings={"outcome_unit": 2_000}
)


def cells_of(
    column: Column, cuts: tuple[float, ...], most: int
) -> tuple[CountedColumn, np.ndarray]:
    """A number in its fine cells, and the cell (F,) between cuts that each is a part of."""
    fine = fine_cells(Schema({"x": column}), most=most).columns["x"]
    return fine, np.searchsorted(cuts, fine.edges[:-1], side="right")


@pytest.mark.runs
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), deviation=st.floats(0.1, 1e4), most=st.integers(1, 900))
def test_each_cell_keeps_its_records(seed: int, deviation: float, most: int) -> None:
    rng = np.random.default_rng(seed)
    fine, of_fine = cells_of(AMOUNT, (869.0, 1525.0, 8120.0, 22_500.0, 53_440.0), 128)
    records = rng.integers(0, most, 6)
    counts = np.rint(rng.normal(2.0, deviation, len(of_fine))).astype(np.int64)
    expected = expected_records(fine, of_fine, counts, records, deviation)
    assert (expected >= 0.0).all()
    np.testing.assert_allclose(np.bincount(of_fine, expected), records)


def test_a_cell_without_fine_ones_takes_no_part() -> None:
    fine, of_fine = cells_of(AMOUNT, (869.0, 8120.0), 64)
    counts = np.arange(len(of_fine)) % 5
    records = np.array([5, 20, 3])
    expected = expected_records(fine, of_fine, counts, records, 2.0)
    more = np.array([5, 7, 20, 3])
    places = np.array([0, 2, 3])[of_fine]
    np.testing.assert_array_equal(expected_records(fine, places, counts, more, 2.0), expected)


@pytest.mark.parametrize("spread", [0.5, 1.0, 2.0])
def test_a_lognormal_tail_is_found_again(spread: float) -> None:
    """Without noise the far cells have the mean that their numbers have."""
    cuts = (1525.0, 3000.0, 8120.0, 22_500.0)
    fine, of_fine = cells_of(AMOUNT, cuts, 512)
    own = 1e5 * np.diff(scipy.stats.lognorm.cdf(fine.edges, spread, scale=3_000.0))
    records = np.rint(np.bincount(of_fine, own)).astype(np.int64)
    expected = expected_records(fine, of_fine, np.rint(own).astype(np.int64), records, 1.0)
    middle = 0.5 * (fine.edges[1:] + fine.edges[:-1])
    means = [np.bincount(of_fine, x * middle) / np.bincount(of_fine, x) for x in (expected, own)]
    np.testing.assert_allclose(*means, rtol=0.03)


@pytest.mark.runs
def test_numbers_on_both_sides_of_zero_keep_their_far_ends() -> None:
    """A family's own unit is no unit of the range: far ends of both signs are not cut short."""
    rng = np.random.default_rng(5)
    settings = {"outcome_centre": 5_000.0, "outcome_unit": 20_000.0}
    column = Column(model="normal", range=(-40_000, 50_000), settings=settings)
    numbers = rng.choice([-1.0, 1.0], 7_000) * 400.0 * np.exp(1.5 * rng.standard_normal(7_000))
    numbers = numbers[np.abs(numbers) < 40_000.0]
    cells = fine_cells(Schema({"x": column}))
    fine, found = cells.columns["x"], []
    counts = np.histogram(numbers, fine.edges)[0]
    for _ in range(4):
        noise = np.rint(rng.normal(0.0, 7.0, len(counts))).astype(np.int64)
        noisy = FineCounts(counts + noise, 7.0, 7.0)
        final = counted_columns(cells.chosen(Schema({"x": column}), {"x": noisy}))["x"]
        codes = final.cells_of(numbers)
        drawn = within_cells(fine, final, codes, noisy).drawn(codes, rng)
        found.append([np.abs(drawn[side]).mean() for side in (numbers < 0.0, numbers > 0.0)])
    right = [np.abs(numbers[side]).mean() for side in (numbers < 0.0, numbers > 0.0)]
    np.testing.assert_allclose(np.mean(found, axis=0), right, rtol=0.08)


@given(seed=st.integers(0, 2**32), mean=st.floats(-1.0, 0.4))
def test_noise_of_few_records_leaves_no_cell_of_nearly_the_whole_range(
    seed: int, mean: float
) -> None:
    schema = Schema({"x": AMOUNT})
    cells = fine_cells(schema)
    size = len(cells.columns["x"].edges) - 1
    counts = np.rint(np.random.default_rng(seed).normal(mean, 7.0, size)).astype(np.int64)
    chosen = cells.chosen(schema, {"x": FineCounts(counts, 7.0, 7.0)})
    joined = np.searchsorted(cells.columns["x"].edges, [0.0, *chosen.columns["x"].cuts, 90_000.0])
    assert np.diff(joined).max() < 0.8 * size


def ratios(deviation: float, runs: int) -> np.ndarray:
    """The mean and the 99 % quantile (runs, 2) of drawn numbers, over those of the table."""
    numbers = 3_000.0 * np.exp(scipy.special.ndtri((np.arange(2_000) + 0.5) / 2_000))
    numbers, schema = np.minimum(numbers, 90_000.0), Schema({"x": AMOUNT})
    cells = fine_cells(schema, most=most_fine_cells(2_000, deviation))
    fine, found = cells.columns["x"], []
    counts = np.histogram(numbers, fine.edges)[0]
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        noise = np.rint(rng.normal(0.0, deviation, len(counts))).astype(np.int64)
        noisy = FineCounts(counts + noise, deviation, deviation)
        chosen = cells.chosen(schema, {"x": noisy}, most_cells(2_000, deviation))
        final = counted_columns(chosen)["x"]
        codes = final.cells_of(numbers)
        numbers_in_cells = within_cells(fine, final, codes, noisy).drawn(codes, rng)
        drawn = final.values(codes, rng, numbers_in_cells)["x"]
        far = np.quantile(drawn, 0.99) / np.quantile(numbers, 0.99)
        found.append((drawn.mean() / numbers.mean(), far))
    return np.array(found)


@pytest.mark.runs
@pytest.mark.parametrize("deviation", [3.0, 17.0])
def test_noise_in_an_empty_tail_puts_no_numbers_there(deviation: float) -> None:
    """The mean of a skewed amount is not too high, and its far quantile neither."""
    own = ratios(deviation, 12)
    error = own.std(axis=0, ddof=1) / np.sqrt(len(own))
    assert (np.abs(own.mean(axis=0) - 1.0) < 0.01 + 3.0 * error).all()
    assert (error < 0.05).all()
