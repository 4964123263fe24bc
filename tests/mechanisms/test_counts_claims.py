"""The claim of noisy counts, as an adversary would test it: every neighbour of small tables.

What leaves is a function of the noisy counts, so the loss of a pair of neighbours is that of their
counts under the noise. It is computed here from the counts that the package makes of each table, by
the noise's own probabilities, and not from the sensitivity that the package assumes.
"""

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import polars as pl
import pytest

import pyvws as vws
from pyvws.mechanisms.counts.measurements import bought_number, bought_tables, count_noise
from pyvws.mechanisms.counts.workload import Workload, usual_shares, workload
from pyvws.privacy.budget import Budget, epsilon_of, noise_of
from pyvws.privacy.discrete_noise import composed_delta
from pyvws.privacy.seller import Seller
from pyvws.synthesis.confidential_table import check_table
from pyvws.synthesis.settings import RunSettings

_KEPT = 0.985  # The least share of a claim that the worst neighbours must reach.
_DELTA = 1e-4

SCHEMA = vws.Schema(
    {
        "sex": vws.Column(model="logistic", levels=("f", "m")),
        "age": vws.Column(model="normal", range=(0, 40), cuts=(15, 30), decimals=0),
        "job": vws.Column(
            model="nominal", levels=("1", "2"), missing="N", rule="N only where age < 15"
        ),
    }
)
RECORDS = [
    ("f", "3", "N"),
    ("m", "20", "1"),
    ("m", "20", "2"),
    ("f", "39", "1"),
    ("f", "3", "1"),  # Breaks the rule.
    ("x", "99", "1"),  # Values that the schema does not know.
    (None, "?", None),
]

Counted = Callable[[list[Any]], np.ndarray]


def frame(records: Iterable[Any]) -> pl.DataFrame:
    return pl.DataFrame(list(records), schema=["sex", "age", "job"], orient="row")


def counts_of(counted: Workload, hidden: bool) -> Counted:
    """The exact numbers (C,) that the noise is added to, the number of records among them."""
    import narwhals as nw

    known: dict[str, np.ndarray] = {}

    def of(records: list[Any]) -> np.ndarray:
        key = repr(sorted(map(repr, records)))
        if key not in known:
            known[key] = made(records)
        return known[key]

    def made(records: list[Any]) -> np.ndarray:
        if not records:
            return np.zeros(counted.possible.sum() + hidden)
        codes, _ = counted.read(nw.from_native(frame(records), eager_only=True))
        cells = counted.counts(codes)
        assert cells[~counted.possible].sum() == 0
        return np.concatenate([cells[counted.possible], [len(records)] * hidden])

    return of


def neighbours(kind: str) -> Iterable[tuple[list[Any], list[Any]]]:
    """Every pair of neighbours among the tables of up to three of the records."""
    for n in range(4):
        for records in itertools.combinations_with_replacement(RECORDS, n):
            for i in range(n):
                rest = [*records[:i], *records[i + 1 :]]
                if kind == "loo":
                    yield list(records), rest
                else:
                    yield from ((list(records), [*rest, other]) for other in RECORDS)


def scales_by_cell(counted: Workload, budget: Budget, hidden: bool) -> np.ndarray:
    scales = np.array([*count_noise(budget, counted, hidden=hidden).scales.values()])
    by_cell = np.repeat(scales[: len(counted.sets)], counted.sizes)[counted.possible]
    return np.concatenate([by_cell, scales[-1:]]) if hidden else by_cell


def worst_loss(budget: Budget, of: Counted | None = None) -> float:
    """The largest loss, as epsilon at the budget's delta, over all neighbours."""
    counted, hidden = workload(SCHEMA, ("pairs",)), budget.neighbours == "loo"
    of = of or counts_of(counted, hidden)
    scales = scales_by_cell(counted, budget, hidden)
    moves = {tuple(of(one) - of(other)) for one, other in neighbours(budget.neighbours)}
    if budget.pure:  # The largest log ratio of discrete Laplace noise at a count that moves by v.
        return max(float((np.abs(move) / scales).sum()) for move in map(np.array, moves))
    return max(_gaussian_epsilon(np.array(move), scales) for move in moves)


def _gaussian_epsilon(move: np.ndarray, scales: np.ndarray) -> float:
    """Epsilon at delta of a move, of counts that move by 1: the noise's losses add up."""
    assert (np.abs(move) <= 1).all()
    precision = scales[move != 0] ** -2.0
    if not len(precision):
        return 0.0
    ratios = precision / precision.min()  # Precisions are whole multiples of one number.
    part = next(d for d in range(1, 99) if np.allclose(d * ratios, np.rint(d * ratios), atol=1e-6))
    u, weights = precision.min() / part, np.rint(part * ratios).astype(int)
    low, high = 0.0, 2.0
    for _ in range(12):
        middle = 0.5 * (low + high)
        if composed_delta(u, weights.tolist(), middle) > _DELTA:
            low = middle
        else:
            high = middle
    return high


@pytest.mark.parametrize("kind", ["loo", "replace"])
def test_no_neighbour_costs_more_than_the_pure_claim_and_one_costs_nearly_all_of_it(kind):
    budget = Budget(epsilon=0.7, neighbours=kind)
    assert _KEPT * 0.7 <= worst_loss(budget) <= 0.7 * (1 + 1e-12)


@pytest.mark.runs
@pytest.mark.parametrize("kind", ["loo", "replace"])
def test_no_neighbour_costs_more_than_the_claim_with_delta(kind):
    budget = Budget(epsilon=1.0, delta=_DELTA, neighbours=kind)
    assert _KEPT <= worst_loss(budget) <= 1.0 + 2e-3


@pytest.mark.runs
def test_a_record_counted_twice_in_a_set_would_be_caught():
    counted, budget = workload(SCHEMA, ("pairs",)), Budget(epsilon=0.7)
    of = counts_of(counted, True)
    twice = np.ones(len(of([])))
    twice[: counted.possible[: counted.offsets[1]].sum()] = 2.0
    assert worst_loss(budget, lambda records: of(records) * twice) > 0.7


def test_noise_of_one_set_less_would_be_caught():
    """Shares of two sets spread over three: the third has no part in the sum."""
    counted, budget = workload(SCHEMA, ("pairs",)), Budget(epsilon=0.7, neighbours="replace")
    shares = usual_shares(counted, pure=True)[:2].tolist()
    short = noise_of(budget, dict(zip("ab", shares, strict=True))).scales
    assert epsilon_of(budget, [*short.values(), short["b"]]) > 0.7


def test_an_exact_number_of_records_would_be_caught():
    """Under loo the number of records is one more count: without noise its loss is infinite."""
    counted = workload(SCHEMA, ("pairs",))
    noise = count_noise(Budget(epsilon=0.05), counted, hidden=True)
    assert len(noise.scales) == len(counted.sets) + 1
    numbers = {bought_number(Seller.of_noise(noise, [1, 2, 3]), len) for _ in range(20)}
    assert len(numbers) > 1


@pytest.mark.runs
@pytest.mark.parametrize("step", [1, -1])
def test_a_unit_beyond_the_cap_moves_no_more_counts_and_no_other_unit(monkeypatch, step):
    """What is kept of a large unit follows from its records' keys alone, in any company."""
    keys = lambda n: np.arange(n, dtype=np.uint64)[::step]  # noqa: E731
    monkeypatch.setattr("pyvws.plan.reading.secret_keys", keys)
    columns = {"house": vws.Column(role="id"), **SCHEMA.columns}
    run = RunSettings(
        schema=vws.Schema(columns, unit="house"),
        mechanism=vws.NoisyCounts(epsilon=1, cap=2, measure="pairs"),
    )
    rng = np.random.default_rng(3)
    houses = rng.integers(0, 12, 60)
    houses[::7] = 99
    records = [RECORDS[k] for k in rng.integers(0, len(RECORDS), 60)]
    whole = frame(records).with_columns(pl.Series("house", houses))

    def counts(of: pl.DataFrame) -> np.ndarray:
        counted = check_table(of, run).counted
        assert counted is not None
        return run.plan.counting.table.counts(counted.codes)

    for house in set(houses.tolist()):
        alone = whole.filter(pl.col("house") == house)
        rest = whole.filter(pl.col("house") != house)
        assert (counts(whole) - counts(rest) == counts(alone)).all()
        counted = run.plan.counting.table
        for q in range(len(counted.sets)):
            own = slice(counted.offsets[q], counted.offsets[q + 1])
            assert counts(alone)[own].sum() <= 2


def test_counts_reach_the_model_below_zero_too():
    counted = workload(SCHEMA, ("pairs",))
    codes = np.zeros((0, 3), dtype=np.int32)
    noise = count_noise(Budget(epsilon=0.2), counted, hidden=True)
    noisy = bought_tables(Seller.of_noise(noise, codes), noise, counted, counted.counts, records=1)
    own = noisy.counts[counted.possible]
    assert (own < 0).any()
    assert abs(own.mean()) < 5 * noisy.deviations.max() / math.sqrt(len(own))
    assert (noisy.counts[~counted.possible] == 0).all()
