"""The sum of all weights by the sums of all sets, and the share of the budget that it has."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyvws as vws
from pyvws.mechanisms.counts.measurements import (
    Measurements,
    WeightedSums,
    count_noise,
    counts_columns,
    of_set,
)
from pyvws.mechanisms.counts.workload import OF_ALL, Workload, workload
from pyvws.privacy.budget import Budget, deviation_of
from pyvws.tables.schema.weight import MOST_PARTS, SurveyWeight


def table(*sizes: int) -> Workload:
    columns = {
        f"c{k}": vws.Column(model="nominal", levels=tuple(map(str, range(size))))
        for k, size in enumerate(sizes)
    }
    return workload(vws.Schema(columns), ["pairs"])


def noisy(own: Workload, total: int, scale: float, rng: np.random.Generator) -> Measurements:
    """Noisy sums of parts of weights in all cells of all sets."""
    counts = np.concatenate(
        [np.bincount(rng.integers(0, size, total), minlength=size) for size in own.sizes]
    )
    counts = counts + np.rint(rng.normal(0.0, scale, len(counts))).astype(int)
    return Measurements(own, counts, np.full(len(own.sizes), scale), False, 200)


def sums(total: float, scale: float, rng: np.random.Generator) -> WeightedSums:
    """The noisy sum of all parts, of which 200 rows are to be made."""
    sold = round(total + rng.normal(0.0, scale))
    weight = SurveyWeight("w", 1.0, float(MOST_PARTS), True)
    return WeightedSums(weight, float(sold), 200, scale, 0.0, (sold, scale))


@given(st.integers(0, 10**6), st.lists(st.integers(2, 5), min_size=2, max_size=4))
def test_the_sum_by_all_sets_is_as_sure_as_its_scale_says(seed: int, sizes: list[int]) -> None:
    rng, own = np.random.default_rng(seed), table(*sizes)
    found = [sums(5_000, 48.0, rng).by_sets(noisy(own, 5_000, 8.0, rng)) for _ in range(60)]
    spread = np.median([abs(one.population - 5_000) for one in found]) / 0.6745
    scale = found[0].population_scale
    assert scale == pytest.approx(48.0 / (1 + 36 * (1 / own.sizes).sum()) ** 0.5)
    assert 0.5 < spread / scale < 1.7


def test_what_was_sold_and_the_number_of_rows_stay() -> None:
    rng, own = np.random.default_rng(1), table(3, 4)
    counts = noisy(own, 5_000, 8.0, rng)
    before = sums(5_100, 48.0, rng)
    after = before.by_sets(counts)
    assert (after.rows, after.sold) == (200, before.sold)
    in_rows = counts.in_rows(after)
    assert (in_rows.records, after.stands_for) == (200, after.population / 200)
    kept = counts_columns(in_rows)
    assert before.sold is not None
    assert kept["count"][0] == round(before.sold[0] / after.parts)
    assert kept["scale"][0] * after.parts == pytest.approx(48.0)
    again = counts.of_rows(200, in_rows.deviation_of_records / deviation_of(False))
    assert again.records_scale == in_rows.records_scale


def test_sets_that_lack_records_say_nothing_of_the_sum() -> None:
    rng, own = np.random.default_rng(3), table(3, 4)
    whole, sold = noisy(own, 5_000, 2.0, rng), sums(5_000, 12.0, rng)
    lacking = sold.by_sets(replace(whole, counts=whole.counts // 2))
    assert (lacking.population, lacking.population_scale) == (sold.population, 12.0)
    assert sold.by_sets(whole).population != sold.population
    public = replace(sold, sold=None)
    assert public.by_sets(whole) is public


@pytest.mark.parametrize("sizes", [(2, 4), (5, 6, 7), (9, 9, 9, 9, 9)])
def test_a_sum_of_weights_costs_less_where_sets_tell_it(sizes: tuple[int, ...]) -> None:
    """The precision of the number by all counts is about the same share of the budget's."""
    own, budget = table(*sizes), Budget(epsilon=1.0, delta=1e-5)
    noise = count_noise(budget, own, hidden=True, weighted=True)
    precision = {name: scale**-2.0 for name, scale in noise.scales.items()}
    by_sets = [
        precision[of_set(name)] / size for name, size in zip(own.names, own.sizes, strict=True)
    ]
    share = (precision[OF_ALL] + sum(by_sets)) / sum(precision.values())
    assert share == pytest.approx(0.23, abs=0.03)
