"""The membership attack: densities by loops, a planted overfit, independent records, refusals."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from pyvws import attack_risk
from pyvws.evaluation.membership import density_ratios, membership_attack

RECORDS = st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 6)), min_size=1, max_size=8)
ASKED: dict[str, Any] = {"keys": ["a"], "secret": "b", "attacks": 200}


def plain(records: Any) -> Any:
    g, x = (np.array(column) for column in zip(*records, strict=True))
    return {"g": g, "x": np.where(x < 0, np.nan, x)}


def normals(seed: int, n: int = 400) -> Any:
    x = np.random.default_rng(seed).normal(size=(n, 3))
    return {name: x[:, k] for k, name in enumerate("abc")}


@given(RECORDS, st.lists(RECORDS, min_size=1, max_size=3), RECORDS)
@settings(max_examples=60, derandomize=True)
def test_density_ratios_by_loops(records: Any, datasets: Any, reference: Any) -> None:
    def distance(one: Any, other: Any) -> float:
        gap = float(one[1] != other[1]) if min(one[1], other[1]) < 0 else abs(one[1] - other[1]) / 6
        return float(one[0] != other[0]) + gap

    near = [min(distance(own, other) for other in reference) for own in records]
    mean = sum(near) / len(near)

    def density(own: Any, table: Any) -> float:
        width = (min(distance(own, other) for other in reference) * 3 + mean) / 64 or 1.0
        return math.fsum(math.exp(-distance(own, x) / width) for x in table) / len(table)

    found = density_ratios(plain(records), [*map(plain, datasets)], plain(reference), {"x": 6.0})
    for own, ratio in zip(records, found, strict=True):
        p = math.fsum(density(own, table) for table in datasets) / len(datasets)
        q = density(own, reference)
        if min(p, q) > 1e-300:  # Smaller ones are 0 in this loop.
            assert ratio == pytest.approx(math.log(p / q), rel=1e-6, abs=1e-6)


@given(st.integers(0, 2**32), st.integers(10, 60), st.integers(10, 60))
@settings(max_examples=30, derandomize=True)
def test_rates_stay_within_their_ends_and_swap_with_the_groups(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    own, others, reference, table = ({"x": rng.normal(size=size)} for size in (n, m, 30, 30))
    asked: Any = (reference, [table], {"x": 6.0})
    scores, not_made = membership_attack(own, others, *asked)
    swapped, _ = membership_attack(others, own, *asked)
    assert swapped[0].risk == pytest.approx(-scores[0].risk, abs=1e-12)
    assert len(scores) + len(not_made) == 3
    assert [*not_made] == ["membership, 1 %"]
    assert scores[0].name == "membership"
    for score in scores:
        assert 0.0 < score.attack < 1.0
        assert score.lower < score.risk < min(score.upper, 1.0)
        assert (score.attacks, score.control_attacks) == (n, m)


def test_a_bootstrap_of_the_original_is_found_and_an_independent_sample_is_not() -> None:
    """A planted overfit; and the rate of false positives that is asked for."""
    own, others, reference, apart = map(normals, range(1, 5))
    ranges = dict.fromkeys("abc", 6.0)
    rows = np.random.default_rng(9).integers(0, 400, 400)
    copied = {name: values[rows] for name, values in own.items()}
    (auc, tenth, hundredth), _ = membership_attack(own, others, reference, [copied], ranges)
    assert auc.lower > 0.45
    assert tenth.lower > 0.4
    assert hundredth.lower > 0.2
    assert tenth.control == pytest.approx(0.1, abs=0.01)
    found, _ = membership_attack(own, others, reference, [apart], ranges)
    for score in found:
        assert score.lower < 0.0 < score.upper


def test_the_interval_covers_0_where_there_is_no_attack() -> None:
    """In about 19 of 20 tables; 200 of them, of each of the three figures."""
    left = np.zeros(3)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        own, others, reference, table = ({"x": rng.normal(size=150)} for _ in range(4))
        scores, _ = membership_attack(own, others, reference, [table], {"x": 6.0})
        left += [not score.lower < 0.0 < score.upper for score in scores]
    assert (left <= 20).all()


def test_a_reference_with_records_of_another_table_is_refused() -> None:
    original, control, public, other = (pl.DataFrame(normals(seed, 200)) for seed in range(1, 5))
    asked = {**ASKED, "control": control}
    found = attack_risk(original, [original], reference=public, **asked)
    assert (found.halved, found.scores[-1].control_attacks) == (False, 200)
    assert min(score.risk for score in found.scores[-3:]) > 0.4
    apart = attack_risk(original, [other], reference=public, **asked)
    assert max(score.lower for score in apart.scores[-3:]) < 0.0
    for planted, name in ((original, "original"), (control, "control group")):
        with refused("control-from-original", first=name, other="reference"):
            attack_risk(original, [other], reference=planted[:50], **asked)
