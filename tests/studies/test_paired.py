"""Differences within replicates: their interval, what they tell apart, what they could."""

import math

import numpy as np
import pytest
from pyvws_studies.printed import LEVEL, POWER, Printed, Recomputed, paired_difference, paired_table
from rich.console import Console


def test_three_replicates_by_hand() -> None:
    # Gaps 1, 2, 3: mean 2, standard error 1 / sqrt(3); 99.5 % and 90 % points of t are 9.92, 1.89.
    found = paired_difference("A", "B", "mean", [10.0, 20.0, 30.0], [11.0, 22.0, 33.0])
    half = 9.924843 / math.sqrt(3)
    assert (found.mean, found.low, found.high) == pytest.approx((2.0, 2.0 - half, 2.0 + half))
    assert found.detectable == pytest.approx((9.924843 + 1.885618) / math.sqrt(3))
    assert not found.excludes_zero
    assert paired_difference("A", "B", "mean", [1.0, 2.0], [3.0, 4.0]).excludes_zero
    alone = paired_difference("A", "B", "mean", [1.0], [3.0])
    assert not alone.excludes_zero
    assert math.isnan(alone.low)


def test_what_both_saw_leaves_the_difference() -> None:
    rng = np.random.default_rng(1)
    data, noise = rng.normal(0.0, 100.0, 12), rng.normal(0.0, 0.1, (2, 12))
    found = paired_difference("A", "B", "mean", data + noise[0], data + 1.0 + noise[1])
    assert found.excludes_zero
    assert found.detectable < 1.0


@pytest.mark.parametrize(("sizes", "share"), [(0.0, 1 - LEVEL), (1.0, POWER)])
def test_a_difference_is_told_apart_as_often_as_it_says(sizes: float, share: float) -> None:
    """None in 1 of 100 studies, one of the size that is called detectable in 9 of 10."""
    rng, R, studies = np.random.default_rng(2), 20, 2000
    gaps = rng.normal(size=(studies, R))
    size = np.mean([paired_difference("A", "B", "", 0 * g, g).detectable for g in gaps])
    told = sum(
        paired_difference("A", "B", "", 0 * gap, gap + sizes * size).excludes_zero for gap in gaps
    )
    # The sum of two t quantiles is an approximation: within 1.5 in 100.
    assert abs(told / studies - share) < 0.015 + 4 * math.sqrt(share * (1 - share) / studies)


def test_the_table_says_for_each_pair_whether_its_interval_leaves_0_out() -> None:
    apart = paired_difference("CW", "CW_final", "median: lower", [9.0, 9.1, 9.2], [1.0, 1.2, 1.1])
    alike = paired_difference("LW", "LW_final", "median: lower", [1.0, 2.0, 3.0], [2.0, 2.0, 2.0])
    console = Console(width=120)
    with console.capture() as capture:
        console.print(paired_table("Pairs", [apart, alike]))
    lines = capture.get().splitlines()
    (first,) = (line for line in lines if "CW_final less CW" in line)
    (second,) = (line for line in lines if "LW_final less LW" in line)
    assert " yes " in first
    assert " no " in second
    assert "Paired over 3 replicates" in " ".join(lines)
    cell = Printed("p", "Table 1", "CW_final", "median: lower", "1.1", 1.0, 0.0, 2.0, "3 runs")
    pairs = [apart, paired_difference("LW_final", "CW_final", "median: lower", [1.0], [2.0])]
    said = Recomputed([cell], pairs).pair_verdicts(cell)
    assert said == "told apart from CW; not told apart from LW_final"
