"""The number of records by the sums of all sets, and the share of the budget that its count has."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyvws as vws
from pyvws.mechanisms.counts.measurements import Measurements, count_noise, counts_columns, of_set
from pyvws.mechanisms.counts.workload import OF_ALL, Workload, workload
from pyvws.privacy.budget import Budget


def table(*sizes: int) -> Workload:
    columns = {
        f"c{k}": vws.Column(model="nominal", levels=tuple(map(str, range(size))))
        for k, size in enumerate(sizes)
    }
    return workload(vws.Schema(columns), ["pairs"])


def noisy(own: Workload, number: int, scale: float, rng: np.random.Generator) -> Measurements:
    """Noisy counts of a number of records in all cells of all sets, and of the number."""
    counts = np.concatenate(
        [np.bincount(rng.integers(0, size, number), minlength=size) for size in own.sizes]
    )
    counts = counts + np.rint(rng.normal(0.0, scale, len(counts))).astype(int)
    of_all = round(number + rng.normal(0.0, 6.0 * scale))
    return Measurements(own, counts, np.full(len(own.sizes), scale), False, of_all, 6.0 * scale)


@given(st.integers(0, 10**6), st.lists(st.integers(2, 5), min_size=2, max_size=4))
def test_the_number_by_all_sets_is_as_sure_as_its_scale_says(seed: int, sizes: list[int]) -> None:
    rng, own = np.random.default_rng(seed), table(*sizes)
    found = [noisy(own, 5_000, 8.0, rng).by_sets for _ in range(60)]
    spread = np.median([abs(one.records - 5_000) for one in found]) / 0.6745
    scale = found[0].records_scale
    assert scale == pytest.approx(48.0 / (1 + 36 * (1 / own.sizes).sum()) ** 0.5)
    assert 0.5 < spread / scale < 1.7
    sold = counts_columns(found[0])
    assert (sold["count"][0], sold["scale"][0]) == found[0].of_all
    assert sold["scale"][0] == 48.0
    assert counts_columns(replace(found[0], of_all=None))["count"][0] == found[0].records


def test_sets_that_lack_records_say_nothing_of_their_number() -> None:
    rng, own = np.random.default_rng(3), table(3, 4)
    whole = noisy(own, 5_000, 2.0, rng)
    lacking = replace(whole, counts=whole.counts // 2)
    assert lacking.by_sets.records == whole.records
    assert lacking.by_sets.records_scale == whole.records_scale
    assert whole.by_sets.records != whole.records
    exact = replace(whole, records_scale=0.0)
    assert exact.by_sets is exact


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
