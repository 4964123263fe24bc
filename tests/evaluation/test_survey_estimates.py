"""Survey estimates: by hand, against plain loops over strata and clusters, and what is refused."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from pyvws.evaluation.survey_estimates import (
    survey_design,
    survey_mean,
    survey_quantile,
    survey_total,
)

few = settings(max_examples=60, derandomize=True)


def plain_variance(z: Any, strata: Any, clusters: Any) -> float:
    """Loops over strata and clusters, z = 0 outside the cell."""
    found = 0.0
    for stratum in set(strata):
        sums: dict[Any, float] = {}
        for value, h, c in zip(z, strata, clusters, strict=True):
            if h == stratum:
                sums[c] = sums.get(c, 0.0) + value
        n, mean = len(sums), sum(sums.values()) / len(sums)
        found += n / (n - 1) * sum((x - mean) ** 2 for x in sums.values())
    return found


@st.composite
def samples(draw: Any) -> dict[str, Any]:
    """Records with two clusters at least in each stratum, and those of a cell."""
    strata = draw(st.integers(1, 3))
    more = draw(st.lists(st.tuples(st.integers(0, strata - 1), st.integers(0, 3)), max_size=12))
    places = [(h, c) for h in range(strata) for c in (0, 1)] + more
    n = len(places)
    return {
        "y": np.array(draw(st.lists(st.integers(-20, 20), min_size=n, max_size=n)), float),
        "weights": np.array(draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)), float),
        "strata": [h for h, _ in places],
        "clusters": [c for _, c in places],
        "inside": np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n))),
    }


@given(samples())
@few
def test_against_loops_over_strata_and_clusters(one: dict[str, Any]) -> None:
    y, w, inside = one["y"], one["weights"], one["inside"]
    design = survey_design(w, one["strata"], one["clusters"])
    rows = np.flatnonzero(inside)
    total = survey_total(y[rows], design, rows)
    of_design = (one["strata"], one["clusters"])
    assert total.estimate == pytest.approx((w * y)[inside].sum())
    assert total.variance == pytest.approx(plain_variance(w * y * inside, *of_design), abs=1e-9)
    mean = survey_mean(y[rows], design, rows)
    if not len(rows):
        assert np.isnan(mean.estimate)
        assert np.isnan(survey_quantile(y[rows], 0.5, design, rows).estimate)
        return
    whole = w[inside].sum()
    expected = (w * y)[inside].sum() / whole
    assert mean.estimate == pytest.approx(expected)
    z = inside * w * (y - expected) / whole
    assert mean.variance == pytest.approx(plain_variance(z, *of_design), abs=1e-12)


@given(samples(), st.sampled_from([0.1, 0.25, 0.5, 0.8]))
@few
def test_quantiles_against_every_value(one: dict[str, Any], level: float) -> None:
    """The smallest value with a share of at least the level below or at it, in any order."""
    y, w = one["y"], one["weights"]
    found = survey_quantile(y, level, survey_design(w, one["strata"], one["clusters"]))
    reached = [x for x in sorted(set(y)) if w[y <= x].sum() >= level * w.sum()]
    assert found.estimate == reached[0]
    assert np.isnan(found.variance) or found.variance >= 0
    turned = survey_design(w[::-1], one["strata"][::-1], one["clusters"][::-1])
    again = survey_quantile(y[::-1], level, turned)
    assert (again.estimate, again.variance) == pytest.approx(
        (found.estimate, found.variance), nan_ok=True
    )


@given(samples())
@few
def test_weights_have_no_unit_for_means(one: dict[str, Any]) -> None:
    of_design = (one["strata"], one["clusters"])
    first = survey_mean(one["y"], survey_design(one["weights"], *of_design))
    second = survey_mean(one["y"], survey_design(8.0 * one["weights"], *of_design))
    assert (first.estimate, first.variance) == pytest.approx((second.estimate, second.variance))


def test_equal_labels_in_two_strata_are_two_clusters() -> None:
    design = survey_design(np.ones(4), ["a", "a", "b", "b"], [1, 2, 1, 2])
    assert design.sizes.tolist() == [2, 2]
    assert len(set(design.cluster.tolist())) == 4


def test_woodruffs_interval_by_hand() -> None:
    """Ten equal weights: the share below the median is 0.5, its standard error sqrt(0.25 / 9)."""
    y = np.arange(100.0)
    found = survey_quantile(y, 0.5, survey_design(np.ones(100)))
    half = 1.9842169515 * np.sqrt(0.25 / 99)
    low, high = np.ceil(100 * (0.5 - half)) - 1, np.ceil(100 * (0.5 + half)) - 1
    assert found.estimate == 49.0
    assert found.variance == pytest.approx(((high - low) / (2 * 1.9842169515)) ** 2)


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (([1.0, -1.0],), refused("weights-negative")),
        (([1.0, np.nan],), refused("values-missing-or-infinite")),
        (([1.0, 1.0, 1.0], [1, 1, 2]), refused("stratum-of-one-cluster", sizes=2)),
        (([1.0, 1.0], [1, 1], [3, 3]), refused("stratum-of-one-cluster", sizes=1)),
        (([1.0, 1.0], [1]), refused("unequal-lengths")),
        (([1.0, 1.0], None, [[1], [2]]), refused("shape-not-n")),
    ],
)
def test_bad_designs_are_refused(arguments: tuple[Any, ...], refusal: Any) -> None:
    with refusal:
        survey_design(*arguments)


def test_bad_values_are_refused() -> None:
    design = survey_design(np.ones(3))
    with refused("unequal-lengths", names="y", names2="rows"):
        survey_total([1.0, 2.0], design)
    with refused("not-strictly-between-0-and-1", name="level"):
        survey_quantile([1.0, 2.0, 3.0], 1.0, design)
