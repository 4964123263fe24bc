"""Measure auto: the rule, its cost, and the sets of three columns that it may take."""

from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyvws as vws
from pyvws.errors import SpendingError
from pyvws.mechanisms.counts import best_file
from pyvws.mechanisms.counts.cliques import joined
from pyvws.mechanisms.counts.fitted_counts import in_pairs
from pyvws.privacy.budget import Budget, epsilon_of, noise_of_lists
from pyvws.privacy.seller import Seller
from pyvws.release.noisy_counts import counts_run
from pyvws.release.reproduce import ReleasedCounts
from pyvws.synthesis.confidential_table import check_table
from pyvws.synthesis.loop import SILENT
from pyvws.synthesis.settings import RunSettings

pytest.importorskip("opendp")
SEED = 5


def columns(*sizes: int) -> vws.Schema:
    return vws.Schema(
        {
            f"c{k}": vws.Column(model="table", levels=tuple(map(str, range(L))), predictors=())
            for k, L in enumerate(sizes)
        }
    )


def records(schema: vws.Schema, n: int) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    sizes = [len(column.levels or ()) for column in schema.columns.values()]
    return pl.DataFrame(
        {
            name: rng.integers(0, L, n).astype(str)
            for name, L in zip(schema.columns, sizes, strict=True)
        }
    )


def of_two(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Three columns of two levels, each pair independent, and the third given by the others."""
    a, b = rng.integers(0, 2, (2, n))
    return pl.DataFrame({"c0": a, "c1": b, "c2": a ^ b}).cast(pl.String)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize(
    ("epsilon", "word", "largest", "known"),
    [
        (0.01, "counts margins", None, 400),  # A noisy number would be anything.
        *[(1.0, "counts pairs", 2, known) for known in (None, 400)],
        *[(60.0, "sets of three", 3, known) for known in (None, 400)],
    ],
)
def test_the_rule_takes_more_columns_together_where_noise_is_less(
    epsilon: float, word: str, largest: int | None, known: int | None, delta: float, tmp_path: Path
) -> None:
    schema = columns(2, 3, 4, 2)
    mechanism = vws.NoisyCounts(epsilon=epsilon, delta=delta, measure="auto")
    run = {"schema": schema, "mechanism": mechanism, "datasets": 1, "records": known}
    made = vws.synthesize(records(schema, 400), seed=SEED, **run)
    assert word in made.privacy["counts"]["auto"]
    assert 0.9 * epsilon <= made.privacy["spending"]["sold"] <= epsilon * (1 + 1e-4)
    folder = made.write(tmp_path / "out", format="csv") or tmp_path / "out"
    released = ReleasedCounts.read(folder / "release", made.privacy)
    assert not released.costs_more
    joined_columns = largest or (2 if delta else 3)
    assert max(released.counts["set"].str.count_matches(":")) == joined_columns - 1
    file = folder / "release" / "synthetic-01.csv"
    assert released.datasets([file]) == [file.read_bytes()]


def test_a_release_whose_columns_are_joined_is_made_again(tmp_path: Path) -> None:
    """Sets of many columns follow from what was sold: chosen cells would join other ones."""
    schema = columns(*[2] * 6)
    more = {"x": vws.Column(model="normal", range=(0.0, 9.0)), **schema.columns}
    table = records(schema, 300).with_columns(x=pl.Series(np.arange(300) % 10, dtype=pl.Float64))
    mechanism = vws.NoisyCounts(epsilon=0.05, needs=("c0 by c1",))
    run = {"schema": vws.Schema(more), "mechanism": mechanism, "datasets": 1, "records": 300}
    made = vws.synthesize(table, seed=SEED, **run)
    folder = made.write(tmp_path / "out", format="csv") or tmp_path / "out"
    released = ReleasedCounts.read(folder / "release", made.privacy)
    assert max(name.count(":") for name in released.counts["set"].unique()) > 2
    assert not released.costs_more
    file = folder / "release" / "synthetic-01.csv"
    assert released.datasets([file]) == [file.read_bytes()]


def test_few_columns_are_joined_among_many() -> None:
    """Pairs are worth less where there are more of them; margins are off by as much."""
    few, many = (joined({str(k): 2 for k in range(K)}, 5_000, pure=True) for K in (28, 90))
    assert max(map(len, many)) < max(map(len, few)) / 2


def test_the_rule_reads_the_number_that_was_sold() -> None:
    schema = columns(2, 3, 4)
    asked = vws.NoisyCounts(epsilon=1.0, measure="auto")
    counting = asked.counting(schema)
    noise = counting.noise(asked.budget, hidden=True)
    chosen = [counting.settled(noise, n)[0].measure for n in (3, 150, 10**6)]
    assert [own[-1] for own in chosen] == ["margins", "pairs", "triples"]
    firsts = {own.scales["records"] for own in (noise, *noise.others.values())}
    assert len(firsts) == 1
    assert vws.NoisyCounts(epsilon=1.0).measure == asked.measure
    plain = vws.NoisyCounts(epsilon=1.0, measure="pairs").counting(schema)
    told = plain.noise(asked.budget, hidden=True)
    assert plain.settled(told, 1)[1:] == (told, None)


@given(st.lists(st.integers(2, 9), max_size=7), st.booleans())
def test_columns_are_joined_where_their_margins_are_off_by_less(
    sizes: list[int], pure: bool
) -> None:
    """Squares of Gaussian prices add up, so joining gains less there."""
    by_name = {str(k): size for k, size in enumerate(sizes)}
    found = joined(by_name, 100, pure=pure)
    names = [name for own in found for name in own]
    assert len(names) == len({*names}) <= len(sizes)
    for own in found:
        cells = np.prod([by_name[name] for name in own])
        assert cells <= 100
        roots = sum(by_name[name] ** 0.5 for name in own)
        assert found[own] == pytest.approx((roots / cells**0.5) ** (0.5 if pure else 2 / 3))
    assert ("0", "1") in joined({"0": 2, "1": 2, "2": 50}, 100, pure=pure)
    assert not joined({"0": 50, "1": 40}, 5_000, pure=pure)
    assert bool(joined(dict.fromkeys("abcdefgh", 4), 5_000, pure=pure)) == pure


def test_a_seller_turns_to_no_list_that_was_not_fixed_before() -> None:
    budget = Budget(epsilon=1.0)
    made = noise_of_lists(budget, "n", {"a": {"x": 1.0}, "b": {"y": 1.0, "z": 2.0}})
    other = noise_of_lists(budget, "n", {"b": {"y": 1.0, "z": 2.0}})["b"]
    first = made["a"].__class__(budget=budget, scales=made["a"].scales, others={"b": made["b"]})
    sells = Seller.of_noise(first, np.zeros(9, dtype=np.int8))
    sells.counts("n", lambda own: own, 1)
    with pytest.raises(SpendingError, match="before the first sale"):
        sells.turn_to(other)
    sells.turn_to(made["b"])
    for name in "yz":
        sells.counts(name, lambda own: own, 1)
    with pytest.raises(SpendingError, match="has no price"):
        sells.counts("x", lambda own: own, 1)
    assert sells.spending.sold <= 1.0
    assert epsilon_of(budget, made["b"].scales.values()) == pytest.approx(1.0)


def test_a_tie_of_three_columns_is_in_the_file_where_they_are_counted() -> None:
    frame, schema = of_two(4000, np.random.default_rng(1)), columns(2, 2, 2)
    held = {}
    for measure in ("pairs", "triples"):
        mechanism = vws.NoisyCounts(epsilon=20.0, measure=measure)
        made = vws.synthesize(frame, schema=schema, mechanism=mechanism, datasets=1, seed=SEED)
        a, b, c = (made.datasets[0][name].cast(pl.Int64).to_numpy() for name in schema.columns)
        held[measure] = float(np.mean(c == a ^ b))
    assert held["pairs"] < 0.7
    assert held["triples"] > 0.85


def bought(frame: pl.DataFrame, schema: vws.Schema, **given: Any) -> Any:
    mechanism = vws.NoisyCounts(epsilon=50.0, **{"measure": "pairs", **given})
    settings = RunSettings(schema=schema, mechanism=mechanism, datasets=1)
    return counts_run(settings, check_table(frame, settings), seed=SEED, listener=SILENT)


def test_pairs_are_the_sums_of_triples_by_their_precision() -> None:
    schema = columns(2, 3, 4, 2)
    run = bought(records(schema, 900), schema, measure=("triples", "c0:c1"))
    paired = in_pairs(run.noisy)
    assert {len(x.columns) for x in paired.table.cliques} == {2}
    assert len(paired.table.cliques) == 6
    exact = paired.table.counts(run.noisy.table.read(nw.from_native(records(schema, 900)))[0])
    for q, (low, high) in enumerate(
        zip(paired.table.offsets, paired.table.offsets[1:], strict=False)
    ):
        assert (
            np.abs(paired.counts[low:high] - exact[low:high]).max() < 8 * paired.deviations[q] + 1
        )
        own = [
            x
            for x, c in enumerate(run.noisy.table.cliques)
            if {*paired.table.sets[q]} <= {*c.columns}
        ]
        sums = [run.noisy.deviations[x] ** 2 * run.noisy.table.sizes[x] / (high - low) for x in own]
        assert paired.deviations[q] ** -2 == pytest.approx(sum(1 / x for x in sums))
    plain = bought(records(schema, 90), schema).noisy
    assert in_pairs(plain) is plain


def test_records_that_are_made_in_parts_are_near_those_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame, schema = of_two(5000, np.random.default_rng(2)), columns(2, 2, 2)
    run = bought(frame, schema, measure="triples")
    monkeypatch.setattr(best_file, "AT_ONCE", 1200)
    codes = best_file.best_file(run.noisy, classes=5, seed=1).codes[0]
    assert (len(codes), codes.dtype) == (run.noisy.records, np.uint8)
    counts = run.noisy.table.counts(codes.astype(np.int32))
    assert np.abs(counts - run.exact).max() < 0.05 * len(frame)


def test_groups_keep_what_ties_two_columns_of_many_levels() -> None:
    rng, L = np.random.default_rng(4), 80
    a = rng.integers(0, L, 6000)
    b = np.where(rng.random(6000) < 0.91, a, rng.integers(0, L, 6000))
    frame, schema = pl.DataFrame({"c0": a, "c1": b}).cast(pl.String), columns(L, L)
    cuts = [str(k) for k in range(10, L, 10)]
    groups = {"columns": ["c0", "c1"], "cuts": {"c0": cuts, "c1": cuts}}
    same = []
    for measure in (("pairs",), ("pairs", groups)):
        mechanism = vws.NoisyCounts(epsilon=4.0, measure=measure)
        made = vws.synthesize(frame, schema=schema, mechanism=mechanism, datasets=1, seed=SEED)
        own = [made.datasets[0][name].cast(pl.Int64).to_numpy() // 10 for name in ("c0", "c1")]
        same.append(float(np.mean(own[0] == own[1])))
    assert same[0] < 0.3
    assert same[1] > 0.7
