"""Differences of two numbers of a record: their cells, their claim, and numbers drawn by them."""

import itertools
import json

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from runs import released
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.mechanisms.counts.coding import counted_column
from pyvws.mechanisms.counts.differences import Difference, difference_of
from pyvws.mechanisms.counts.drawn_fits import drawn_fits
from pyvws.mechanisms.counts.measurements import bought_tables, count_noise
from pyvws.mechanisms.counts.workload import Workload
from pyvws.privacy.budget import Budget
from pyvws.privacy.seller import Seller
from pyvws.synthesis.confidential_table import check_table
from pyvws.synthesis.settings import RunSettings

GAP = "headage - age"


def schema(unit: str | None = None, **more) -> vws.Schema:
    """A person and the head of the household; `more` goes to the head's age."""
    age = {"model": "normal", "decimals": 0, "missing": True, "predictors": ()}
    head = {**age, "missing": None, "predictors": ("age", "kin"), **more}
    columns = {
        "home": vws.Column(role="id"),
        "kin": vws.Column(model="nominal", levels=("p", "c"), predictors=()),
        "age": vws.Column(**age, range=(0, 100), cuts=(18, 40, 60)),
        "headage": vws.Column(**{"range": (10, 100), "cuts": (30, 45, 55, 80), **head}),
    }
    return vws.Schema(columns, unit=unit)


def counted(of: vws.Schema | None = None, **settings) -> Workload:
    return vws.NoisyCounts(epsilon=1, **{"measure": "pairs", **settings}).workload(of or schema())


def pair(
    decimals: int | None, low: float, cuts: list[float], mass: tuple[float, ...] = ()
) -> Difference:
    """The difference of two numbers from `low` to 100, the later one with other cells."""
    plain = {"model": "normal", "decimals": decimals, "predictors": ()}
    earlier = vws.Column(**plain, range=(low, 100), cuts=cuts, missing=True)
    later = vws.Column(**plain, range=(10, 100), cuts=(25, 70), mass=mass)
    found = difference_of(counted_column("b", later), counted_column("a", earlier))
    assert found is not None
    return found


cut_lists = st.lists(st.integers(1, 99), min_size=1, max_size=4, unique=True).map(sorted)


@settings(max_examples=15)
@given(cut_lists, st.sampled_from([0.0, -30.0]))
def test_shares_are_those_of_all_pairs_of_numbers(cuts: list[int], low: float) -> None:
    own = pair(0, low, list(map(float, cuts)))
    a, b = np.meshgrid(np.arange(low, 101), np.arange(10, 101), indexing="ij")
    ends = ((one, np.append(one.edges[1:-1], np.inf)) for one in (own.earlier, own, own.later))
    cells = [
        len(one.parts) + np.searchsorted(inner, x, side="right")
        for (one, inner), x in zip(ends, (a, b - a, b), strict=True)
    ]
    pairs = np.zeros(own.shares.shape)
    np.add.at(pairs, tuple(cells), 1.0)
    parts = len(own.earlier.parts), len(own.later.parts)
    assert (own.shares[parts[0] :, 1:, parts[1] :] == pairs[parts[0] :, 1:, parts[1] :]).all()
    assert (own.shares[:, 0] == 1.0)[: parts[0]].all()
    assert not own.shares[parts[0] :, 0, parts[1] :].any()


@settings(max_examples=15)
@given(cut_lists, st.sampled_from([None, 0, 1]), st.sampled_from([(), (12,)]), st.integers(0, 999))
def test_numbers_drawn_together_keep_their_cells_and_those_of_the_difference(
    cuts: list[int], decimals: int | None, mass: tuple[float, ...], seed: int
) -> None:
    own, rng = pair(decimals, 0.0, list(map(float, cuts)), mass), np.random.default_rng(seed)
    states = np.argwhere(own.shares > 0.0)[rng.permutation(int((own.shares > 0.0).sum()))[:200]]
    columns = (own.earlier, own, own.later)
    codes = {
        one.name: own_codes.astype(np.int32)
        for one, own_codes in zip(columns, states.T, strict=True)
    }
    values: dict[str, np.ndarray] = {}
    for one in columns:
        values |= one.values(codes[one.name], rng)
    values |= own.together(codes, values, rng)
    at = codes[own.name] > 0
    for one in (own.earlier, own.later):
        found = one.cells_of(values[one.name][at])
        assert found.tolist() == codes[one.name][at].tolist()
    moved = own.codes_of(codes, values) != codes[own.name]
    assert not moved[~at].any()
    assert moved.mean() < 0.1 * len(mass) or not moved.any()  # A point of mass gives way by a step.
    assert not np.isin(values["b"][at], mass).any()


def test_a_difference_is_narrow_around_0_and_counted_with_what_else_gives_the_number() -> None:
    table = counted()
    own = table.differences[0]
    assert [*table.columns] == ["kin", "age", GAP, "headage"]
    assert {"-1 to 0", "0 to 1", "1 to 2"} < {*own.labels}
    assert np.diff(own.edges).max() >= 25
    assert [name for name in table.names if GAP in name] == [f"kin:{GAP}"]
    assert f"age:{GAP}" in counted(measure=["pairs", f"age:{GAP}"]).names
    frame = pl.DataFrame(
        {
            "kin": ["p", "p", "c", "c", "p"],
            "age": [50, 50, None, 0, 101],
            "headage": [50, 49, 50, 100, 50],
        }
    )
    codes, _ = table.read(nw.from_native(frame))
    labels = [own.labels[code] if code >= 0 else None for code in codes[:, 2]]
    assert labels == ["0 to 1", "-1 to 0", "empty", "50 to 100", None]


@pytest.mark.parametrize(
    ("of", "more"),
    [
        (schema(rule="30 where kin == 'c'"), {}),
        (schema(range=(10, 20_000)), {}),
        (schema(model="normal", outcome_scale="log"), {}),
        (schema(predictors=("kin",)), {}),
        (schema(), {"tables": ["alike", "age"]}),
        (schema(), {"tables": ["alike", "headage:age"]}),
        (schema(), {"tables": "none"}),
        (schema(), {"model": "conditionals"}),
    ],
)
def test_numbers_with_rules_families_or_uneven_cells_have_no_difference(of, more) -> None:
    assert not counted(of, **more).differences


def test_a_difference_gives_no_column_by_name() -> None:
    with refused("set-unknown-column"):
        counted(tables=["alike", f"headage:{GAP}"])


# The claim, as an adversary tests it.

PEOPLE = [
    ("p", 100, 10),  # The least and the largest difference.
    ("p", 0, 100),
    ("c", 40, 40),
    ("c", None, 45),
    ("p", 101, 45),  # An age that the schema does not know.
    ("x", 30, 30),
]


def frame(records: list, home: int = 0) -> pl.DataFrame:
    whole = pl.DataFrame(records, schema=["kin", "age", "headage"], orient="row")
    return whole.with_columns(home=pl.lit(home))


def counts_of(table: Workload, records: list) -> np.ndarray:
    if not records:
        return np.zeros(len(table.possible), dtype=np.int64)
    return table.counts(table.read(nw.from_native(frame(records)))[0])


def worst_loss(budget: Budget, counts=counts_of) -> float:
    """The largest log ratio of pure noise over all neighbours of tables of up to two records."""
    table = counted()
    scales = np.array([*count_noise(budget, table, hidden=True).scales.values()])
    by_cell = np.repeat(scales[:-1], table.sizes)
    return max(
        float((np.abs(counts(table, [*rest, one]) - counts(table, [*rest])) / by_cell).sum())
        + 1 / scales[-1]
        for n in range(2)
        for rest in itertools.combinations_with_replacement(PEOPLE, n)
        for one in PEOPLE
    )


def test_no_neighbour_costs_more_than_the_claim() -> None:
    assert 0.98 * 0.7 <= worst_loss(Budget(epsilon=0.7)) <= 0.7 * (1 + 1e-12)


def test_a_difference_from_the_tables_own_mean_would_be_caught() -> None:
    """One record would then move the differences of all others."""

    def centred(table: Workload, records: list) -> np.ndarray:
        known = [age for _, age, _ in records if age is not None]
        middle = round(sum(known) / max(len(known), 1))
        moved = [(kin, age, min(100, max(10, head + middle))) for kin, age, head in records]
        return counts_of(table, moved)

    assert worst_loss(Budget(epsilon=0.7), centred) > 0.7


def test_a_difference_counted_at_both_its_ends_would_be_caught() -> None:
    def twice(table: Workload, records: list) -> np.ndarray:
        counts, q = counts_of(table, records), table.names.index(f"kin:{GAP}")
        own = slice(table.offsets[q], table.offsets[q + 1])
        counts[own] += np.roll(counts[own], 1)
        return counts

    assert worst_loss(Budget(epsilon=0.7), twice) > 0.7


@pytest.mark.parametrize("partners", [1, 3, 9])
def test_a_household_of_more_partners_than_the_cap_moves_each_set_by_the_cap(partners: int) -> None:
    run = RunSettings(
        schema=schema("home"), mechanism=vws.NoisyCounts(epsilon=1, cap=3, measure="pairs")
    )
    others = frame(PEOPLE[:3], home=1)
    full = pl.concat([others, frame([("p", 0, 100)] * partners, home=2)])
    before, after = (check_table(one, run).counted for one in (others, full))
    assert before is not None
    assert after is not None
    sets = run.plan.counting.table
    move = sets.counts(after.codes) - sets.counts(before.codes)
    by_set = np.add.reduceat(move, sets.offsets[:-1])
    assert (move >= 0).all()
    assert by_set.max() == min(partners, 3)


# What is made of the counts.


def couples(n: int, rng: np.random.Generator) -> pl.DataFrame:
    kin, head = rng.choice(["p", "c"], n), rng.integers(30, 85, n)
    age = np.where(kin == "p", head + rng.integers(-3, 4, n), rng.integers(0, 100, n))
    return pl.DataFrame({"kin": kin, "age": age, "headage": head}).with_columns(
        age=pl.when(pl.Series(rng.random(n) < 0.2)).then(None).otherwise("age")
    )


@pytest.mark.runs
def test_records_have_no_difference_that_their_cells_rule_out() -> None:
    table = counted()
    codes, _ = table.read(nw.from_native(couples(300, np.random.default_rng(1))))
    noise = count_noise(Budget(epsilon=1.0), table, hidden=False)
    seller = Seller.of_noise(noise, codes)
    noisy = bought_tables(seller, noise, table, table.counts, records=len(codes))
    own = table.differences[0].shares
    for x in drawn_fits(noisy, datasets=4, classes=3, seed=2).codes:
        assert (own[x[:, 1], x[:, 2], x[:, 3]] > 0.0).all()


@pytest.mark.runs
def test_a_release_has_the_differences_counts_alone_and_is_made_again(tmp_path) -> None:
    table = couples(400, np.random.default_rng(3))
    columns = {name: one for name, one in schema().columns.items() if name != "home"}
    words = "--mechanism noisy-counts --epsilon 40 --datasets 2"
    out = released(tmp_path, table, vws.Schema(columns), words)
    made = pl.read_csv(out / "release/synthetic-01.csv")
    assert made.columns == ["kin", "age", "headage"]
    near = made.filter(pl.col("kin") == "p", pl.col("age").is_not_null())
    assert float((near["headage"] - near["age"]).abs().mean()) < 4.0
    assert f"kin:{GAP}" in pl.read_parquet(out / "release/counts.parquet")["set"].unique()
    ended = CliRunner().invoke(app, ["reproduce", str(out), "--json"])
    assert all(json.loads(ended.output)["same"].values())
