"""Numbers that a program kept in four bytes, as files of Stata hold them."""

import numpy as np
import polars as pl
import pytest

import pyvws as vws
from pyvws import Column, Schema
from pyvws.mechanisms.counts.by_rule import counted_columns


def rates(decimals: int = 1, top: float = 30.0) -> np.ndarray:
    exact = np.round(np.random.default_rng(4).gamma(3.0, top / 20.0, 900), decimals)
    return np.clip(exact, 0.1, top).astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("decimals", [1, 2])
def test_a_proposal_sees_the_decimals_behind_single_precision(decimals: int) -> None:
    assert not (np.round(rates(decimals), 6) == rates(decimals)).all()
    column = Schema.propose(pl.DataFrame({"rate": rates(decimals)})).columns["rate"]
    assert column.decimals == decimals


def test_numbers_on_no_grid_have_no_decimals() -> None:
    numbers = np.random.default_rng(5).normal(1e5, 1e4, 900).astype(np.float32)
    column = Schema.propose(pl.DataFrame({"x": numbers.astype(np.float64)})).columns["x"]
    assert column.decimals is None


def test_such_numbers_count_as_those_they_stand_for() -> None:
    column = Column(model="normal", range=(0, 30), decimals=1, mass=(0.2,), cuts=(6.2, 9.9))
    table = pl.DataFrame({"rate": np.array([0.2, 6.2, 9.9, 9.87]).astype(np.float32)})
    single = table.with_columns(pl.col("rate").cast(pl.Float64))
    coded = Schema({"rate": column}).coded(single)
    assert coded["rate"][:3].tolist() == [0.2, 6.2, 9.9]
    assert coded["rate"][3] == single["rate"][3]
    assert [*coded.values()][1][0] == 2.0  # At the point of mass.
    counted = counted_columns(Schema({"rate": column}))["rate"]
    exact = [counted.code_of(x) for x in ("0.2", "6.2", "9.9")]
    assert [counted.code_of(str(x)) for x in single["rate"][:3].to_list()] == exact


def test_the_same_numbers_score_as_a_copy() -> None:
    single = pl.DataFrame({"rate": rates(), "kind": ["a", "b", "b"] * 300})
    exact = single.with_columns(pl.col("rate").round(1))
    schema = Schema.propose(single)
    assert vws.table_utility(single, [exact], schema=schema, s_pmse=False).k_marginal == 1000.0


def test_what_a_rule_computes_of_a_copy_scores_as_a_copy() -> None:
    """The tenths and steps of a logarithm of heaps are the heaps' own, to the last digit."""
    spent = np.random.default_rng(4).integers(1, 30, 900) * 10.0
    logs = np.log(spent)
    single = pl.DataFrame({"spent": spent, "log": logs.astype(np.float32).astype(np.float64)})
    assert (single["log"] != pl.Series(logs)).any()
    schema = Schema.propose(single)
    assert schema.columns["log"].rule == "= log(spent)"
    made = single.with_columns(pl.Series("log", logs))
    found = vws.table_utility(single, [made], schema=schema, s_pmse=False)
    assert found.k_marginal == 1000.0
    assert [column.margin for column in found.columns] == [0.0, 0.0]
    far = made.with_columns(pl.col("log") * (1.0 - 1e-5))
    assert vws.table_utility(single, [far], schema=schema, s_pmse=False).k_marginal < 900.0
    huge = made.with_columns(pl.col("log") * 1e300)
    assert vws.table_utility(single, [huge], schema=schema, s_pmse=False).k_marginal < 900.0


def test_a_rule_about_a_number_of_two_decimals_splits_no_cell() -> None:
    columns = {
        "wage": Column(model="normal", range=(6, 13), decimals=2),
        "region": Column(model="nominal", levels=("a", "b"), rule="never b where wage > 12.2"),
    }
    table = vws.NoisyCounts(epsilon=1.0, measure="pairs").workload(Schema(columns))
    low, high = table.columns["wage"].ends
    assert not ((low <= 12.2) & (high > 12.2)).any()


@pytest.mark.parametrize(("number", "records", "levels"), [(40, 4_000, 40), (40, 400, None)])
def test_rates_of_regions_stay_what_they_are(number: int, records: int, levels: int | None) -> None:
    rng = np.random.default_rng(6)
    rate = np.round(rng.uniform(0.2, 1.6, number), 4)[rng.integers(0, number, records)]
    found = Schema.propose(pl.DataFrame({"rate": rate})).columns["rate"].levels
    assert (found and len(found)) == levels


@pytest.mark.usefixtures("rare_values_too")
@pytest.mark.parametrize(
    ("number", "records", "levels"), [(36, 1_200, 36), (36, 300, None), (150, 6_000, None)]
)
def test_uneven_reals_that_most_have_often_are_levels(
    number: int, records: int, levels: int | None
) -> None:
    """As a design's weights by stratum or catches by place are, of very unequal shares."""
    rng = np.random.default_rng(7)
    shares = rng.gamma(2.0, 1.0, number) + 0.5
    of = rng.choice(number, records, p=shares / shares.sum())
    catch = rng.lognormal(0.0, 0.3, number)[of]
    found = Schema.propose(pl.DataFrame({"catch": catch})).columns["catch"].levels
    assert (found and len(found)) == levels
    heaped = np.where(rng.random(records) < 0.7, 0.5, np.round(rng.gamma(2.0, 3.0, records), 2))
    assert Schema.propose(pl.DataFrame({"creat": heaped})).columns["creat"].levels is None


def test_steps_of_a_scale_stay_numbers() -> None:
    grade = np.round(np.random.default_rng(6).normal(2.5, 0.6, 4_000).clip(0, 4), 1)
    assert Schema.propose(pl.DataFrame({"grade": grade})).columns["grade"].levels is None
