"""Which number of a sum a proposal computes, and sums of single precision or with a constant."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

import pyvws as vws
from pyvws import Column, Schema
from pyvws.tables.schema.parts import follows
from pyvws.tables.schema.rules import Computed

pytestmark = pytest.mark.usefixtures("rare_values_too")

N = 900


def proposed(**values: Any) -> dict[str, Column]:
    return dict(Schema.propose(pl.DataFrame(values, strict=False)).columns)


def rules(**values: Any) -> dict[str, Any]:
    return {name: one.rule for name, one in proposed(**values).items() if one.rule}


def fees(seed: int = 0) -> dict[str, Any]:
    """Fees of two years, which most records have alike."""
    rng = np.random.default_rng(seed)
    first = rng.gamma(3.0, 2.0, N).round(2)
    rise = np.where(rng.random(N) < 0.55, 0.0, rng.normal(0.2, 0.6, N)).round(2)
    return {"first": first, "second": (first + rise).round(2), "rise": rise}


def test_a_change_with_a_heap_is_drawn_and_the_wide_number_is_computed() -> None:
    values = fees()
    for names in (("first", "second", "rise"), ("rise", "second", "first")):
        columns = proposed(**{name: values[name] for name in names})
        assert {name for name, one in columns.items() if one.is_computed} < {"first", "second"}
        assert columns["rise"].mass == (0.0,)
    assert rules(**values) == {"second": "= first + rise"}


@given(
    seed=st.integers(0, 2**32 - 1),
    names=st.permutations(["part", "of it", "rest", "other", "more"]),
    gone=st.booleans(),
)
@settings(max_examples=15)
def test_one_wide_number_of_a_sum_is_computed_from_columns_above_it(
    seed: int, names: list[str], gone: bool
) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    parts = rng.gamma(rng.uniform(0.5, 5, k), rng.uniform(1, 50, k), (300, k)).round(1)
    hole = np.where(gone & (rng.random(300) < 0.1), np.nan, 0.0)[:, None]
    numbers = np.column_stack([parts, parts.sum(axis=1).round(1)]) + hole
    cells = dict(zip(rng.permutation(names[: k + 1]).tolist(), numbers.T, strict=True))
    table = pl.DataFrame({name: cells[name] for name in names if name in cells}).fill_nan(None)
    schema = Schema.propose(table)
    (name,) = schema.computed
    spread = {x: np.nanstd(cells[x]) for x in cells}
    assert spread[name] > 0.85 * max(spread.values())
    (rule,) = schema.columns[name].rules
    order = list(schema.columns)
    assert {*rule.columns} == {*cells} - {name}
    assert max(map(order.index, rule.columns)) < order.index(name)
    assert not follows(schema, name, schema.coded(table)).breaking.any()


def test_totals_of_amounts_are_computed_and_cannot_be_below_0() -> None:
    rng = np.random.default_rng(3)
    own, all_of = rng.integers(0, 30, N), rng.integers(50, 400, N)
    found = proposed(cites=all_of + own, selfcites=own, othercites=all_of)
    assert found["cites"].rule == "= selfcites + othercites"
    assert (found["cites"].range or (-1.0,))[0] >= 0.0
    low = rng.integers(-15, 70, N)
    change = rng.integers(0, 25, N)
    heat = rules(highest=low + change, lowest=low, change=change)
    assert heat == {"highest": "= lowest + change"}


def test_sums_that_share_numbers_are_solved_apart_and_in_no_circle() -> None:
    rng = np.random.default_rng(4)
    before = rng.normal(8.0, 0.3, N).round(3)
    steps = rng.normal(0.05, 0.02, (3, N)).round(3)
    years = [before, *(before + steps.cumsum(axis=0))]
    table = {f"y{k}": x.round(3) for k, x in enumerate(years)}
    table |= {f"g{k}": x for k, x in enumerate(steps, start=1)}
    schema = Schema.propose(pl.DataFrame(table))
    assert len(schema.computed) == 3
    order = list(schema.columns)
    for name in schema.computed:
        for rule in schema.columns[name].rules:
            assert max(map(order.index, rule.columns)) < order.index(name)
    assert vws.NoisyCounts(epsilon=1.0, delta=1e-5).counted_table(schema.accepted()).columns


@pytest.mark.runs
def test_what_reads_a_number_that_moves_stays_computed() -> None:
    values = fees(5)
    group = np.where(values["second"] < 4.0, "low", np.where(values["second"] < 9, "mid", "high"))
    positive = values["second"] - values["second"].min() + 1.0
    found = proposed(
        first=values["first"] - values["second"].min() + 1.0,
        second=positive,
        group=group,
        root=np.sqrt(positive),
        square=positive**2,
        rise=values["rise"],
    )
    assert {name for name, one in found.items() if one.rule} >= {"group", "square"}
    rng = np.random.default_rng(6)
    women, men, area = (rng.integers(100, 9000, N) for _ in range(3))
    table = {"people": women + men, "dense": (women + men) / area, "area": area}
    before = rules(**table)
    assert {*rules(**table, women=women, men=men)} >= {*before}


@pytest.mark.parametrize("holes", [False, True])
def test_a_computed_number_has_the_range_that_its_parts_give(holes: bool) -> None:
    """So no logarithm is computed of a difference that draws of its parts may bring below 0."""
    rng = np.random.default_rng(8)
    tax, net = rng.lognormal(1, 0.5, N).round(2), rng.lognormal(3, 0.8, N).round(2)
    gross = (net + tax).round(2)
    gone = holes & (rng.random(N) < 0.1)  # Then no rule can compute the gross amount.
    net, tax = np.where(gone, np.nan, net), np.where(gone, np.nan, tax)
    table = pl.DataFrame({"tax": tax, "gross": gross, "log gross": np.log(gross), "net": net})
    table = table.with_columns(pl.Series("log net", np.log(net))).fill_nan(None)
    schema = Schema.propose(table)
    assert schema.computed == ({"net", "log gross"} if holes else {"gross", "log gross", "log net"})
    for name in schema.computed:
        (rule,) = schema.columns[name].rules
        assert isinstance(rule, Computed)
        low, high = rule.arithmetic.range_in(schema.columns)
        own = schema.columns[name].range or (0.0, 0.0)
        assert own[0] <= low + 0.01
        assert own[1] >= high - 0.01


def single(numbers: Any) -> Any:
    return np.asarray(numbers).astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("whole", [1.0, 100.0])
def test_the_last_of_three_shares_is_computed_in_single_precision_too(whole: float) -> None:
    rng = np.random.default_rng(9)
    shares = rng.dirichlet([3, 2, 1], N)[:, :2].round(4) * whole
    exact, off = (whole - x.sum(axis=1) for x in (shares, single(shares)))
    for kept, last in ((single, off), (np.asarray, exact)):
        found = proposed(a=kept(shares[:, 0]), b=kept(shares[:, 1]), c=kept(last))
        (name,) = (x for x, one in found.items() if one.rule)
        assert str(found[name].rule).startswith(f"= {whole:g} - ")
        assert found[name].decimals == found["a"].decimals == found["b"].decimals


def test_a_sum_kept_in_four_bytes_is_computed() -> None:
    rng = np.random.default_rng(10)
    parts = single(rng.lognormal(6, 0.6, (3, N)))
    total = single(parts.sum(axis=0))
    table = {"a": parts[0], "b": parts[1], "c": parts[2], "total": total}
    assert rules(**table) == {"total": "= a + b + c"}
    pair = single(parts[0] + parts[1])
    assert rules(a=parts[0], b=parts[1], pair=pair) == {"pair": "= a + b"}
    for by in (1.0001, 0.9999):
        off = np.where(np.arange(N) == 40, total * by, total)
        assert rules(**table | {"total": off}) == {}


def test_noise_far_below_what_single_precision_tells_is_no_sum() -> None:
    rng = np.random.default_rng(11)
    a = single(rng.lognormal(12, 1, N))
    b = single(a + rng.normal(0, 0.01, N))
    small = single(rng.normal(0, 0.003, N))
    assert "small" not in rules(a=a, b=b, small=small)


def test_the_last_of_many_like_shares_is_drawn_and_a_note_says_so() -> None:
    rng = np.random.default_rng(12)
    shares = rng.dirichlet([2.0] * 6, N)[:, :5].round(4)
    names = [f"s{k}" for k in range(5)]
    table = dict(zip(names, shares.T, strict=True)) | {"last": (1 - shares.sum(axis=1)).round(4)}
    found = proposed(**table)
    assert not any(one.is_computed for one in found.values())
    noted = found["last"].note or ""
    assert all(name in noted for name in names)
    wide = {
        "most": shares[:, 0],
        "b": shares[:, 1] / 9,
        "c": shares[:, 2] / 9,
        "d": shares[:, 3] / 9,
    }
    wide = {name: x.round(4) for name, x in wide.items()}
    wide["rest"] = (1 - np.sum([*wide.values()], axis=0)).round(4)
    (computed,) = rules(**wide)
    assert computed in ("most", "rest")
