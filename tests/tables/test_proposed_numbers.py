"""Proposed numbers: what a type can hold, how text spells them, and what tells amounts from ids."""

from decimal import Decimal
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

from pyvws import Column, Schema

pytestmark = pytest.mark.usefixtures("rare_values_too")

RNG = np.random.default_rng(1)
AMOUNTS = np.unique(RNG.lognormal(7, 1, 200).round(2))
RNG.shuffle(AMOUNTS)
N = len(AMOUNTS)


def proposed(values: Any) -> Column:
    return Schema.propose(pl.DataFrame({"y": values})).columns["y"]


def said(values: Any) -> str:
    """The note on a column that is dropped."""
    found = proposed(values)
    assert (found.role, found.review) == ("drop", ("role",))
    return str(found.note)


def test_infinite_values_drop_their_column_alone() -> None:
    table = pl.DataFrame({"y": [*AMOUNTS, np.inf], "z": [*AMOUNTS, 1.0]})
    for one in (table, table.to_pandas(), table.to_arrow()):
        columns = Schema.propose(one).columns
        assert columns["y"].note.startswith("it has infinite values; make them empty cells")
        assert (columns["y"].role, columns["z"].role) == ("drop", "synthesize")
    emptied = table.with_columns(y=pl.when(pl.col("y").is_finite()).then("y"))
    assert Schema.propose(emptied).columns["y"].missing is True


@pytest.mark.runs
@given(low=st.floats(1.5, 1e4), power=st.integers(3, 200))
def test_no_end_of_a_range_is_a_value_that_is_not_round(low: float, power: int) -> None:
    for sign in (-1.0, 1.0):
        values = sign * np.array([-(low + 1e-3 * np.pi), *(10.0**power * np.arange(1.0, 40.0))])
        found = proposed(values).range
        assert found is not None
        assert found[0] <= values.min()
        assert found[1] >= values.max()
        assert sign * values[0] not in [sign * end for end in found]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=30))
def test_numbers_of_any_size_end_in_a_proposal(values: list[float]) -> None:
    found = Schema.propose(pl.DataFrame({"y": values}))
    assert found.columns["y"].note is None or found.columns["y"].role == "drop"
    found.coded(pl.DataFrame({"y": values}))


@pytest.mark.parametrize("power", [-250, -7, -1, 0, 1, 6, 15, 250])
@pytest.mark.parametrize("below", [0, 1, 2, 1000])
def test_a_unit_just_below_a_power_of_ten_is_a_round_number(power: int, below: int) -> None:
    unit = 10.0**power
    for _ in range(below):
        unit = float(np.nextafter(unit, 0.0))
    z = np.linspace(-3.0, 3.0, 61)
    found = proposed(unit * np.exp(z))  # Its median is the unit of the scale log.
    assert found.outcome_scale == "log"
    given_unit = found.settings["outcome_unit"]
    assert unit / 2.6 < given_unit <= unit
    assert f"{given_unit:.0e}"[0] in "125"
    even = proposed(np.linspace(-3.5, 3.5, 141) * unit)
    low, high = even.range or (0.0, 0.0)
    assert low <= -3.5 * unit < 3.5 * unit <= high


def test_numbers_of_sizes_beyond_a_float_s_are_dropped() -> None:
    shares = RNG.uniform(-1, 1, N)
    for size in (1e-310, 1.7e308):
        assert said(size * shares).startswith("numbers less than 1e-300 or more than 1e300 apart")
    assert proposed(1e200 * shares).model == "truncated-normal"


@pytest.mark.parametrize(
    "kind", [pl.Int8, pl.UInt8, pl.Int16, pl.UInt16, pl.Int32, pl.UInt32, pl.Int64, pl.UInt64]
)
def test_a_range_holds_what_the_type_can_hold(kind: Any) -> None:
    ends = pl.select(low=kind.min(), high=kind.max()).row(0)
    low, high = max(ends[0], -(2**52)), min(ends[1], 2**52)
    values = pl.Series([low + (high - low) * place // 99 for place in range(100)] * 2, dtype=kind)
    found = proposed(values)
    assert found.range is not None
    assert ends[0] <= found.range[0] <= low
    assert high <= found.range[1] <= ends[1]
    assert proposed(values.cast(pl.Float64)).range[1] >= found.range[1]


@pytest.mark.parametrize("kind", [pl.Int64, pl.UInt64, pl.Int128])
def test_whole_numbers_that_floats_do_not_tell_apart(kind: Any) -> None:
    near = [2**53, 2**53 + 1]
    assert proposed(pl.Series(near * 30, dtype=kind)).levels == tuple(map(str, near))
    assert proposed(pl.Series([2**53 + 1] * 30, dtype=kind)).levels == (str(2**53 + 1),)
    ids = [10**17 + 7 * place for place in range(60)]
    for values in (ids, ids * 2, ids[:50] * 2 + [None, 3]):
        assert said(pl.Series(values, dtype=kind)).startswith("it has whole numbers beyond")
    assert said([*map(str, ids * 2), "N"]).startswith("it is free text, or a code")


def test_decimals_are_the_numbers_that_they_spell() -> None:
    cells = [*map(Decimal, (f"{x:.2f}" for x in AMOUNTS)), None]
    kind = pa.decimal128(12, 2)
    tables = [
        pl.DataFrame({"y": pl.Series(cells, dtype=pl.Decimal(12, 2))}),
        pa.table({"y": pa.array(cells, kind)}),
        pd.DataFrame({"y": cells}),
        pd.DataFrame({"y": pd.array(cells, dtype=pd.ArrowDtype(kind))}),
    ]
    want = proposed([*AMOUNTS, None])
    assert (want.decimals, want.missing) == (2, True)
    for table in tables:
        schema = Schema.propose(table)
        assert schema.columns["y"] == want
        coded = schema.coded(table)
        assert np.array_equal(coded["y"], [*AMOUNTS, np.nan], equal_nan=True)
        back = schema.decoded("y", coded["y"], like=table["y"], parts=coded["part of y"])
        assert np.array_equal([float(x) for x in back.to_list()[:N]], AMOUNTS)
    few = pl.DataFrame({"y": pl.Series([Decimal("1.00"), Decimal("2.00")] * 9, dtype=pl.Decimal)})
    schema = Schema.propose(few)
    assert schema.decoded("y", schema.coded(few)["y"], like=few["y"]).to_native().equals(few["y"])


def test_text_that_spells_numbers() -> None:
    plain = [f"{x:.2f}" for x in AMOUNTS]
    want = proposed(AMOUNTS)
    assert proposed(plain) == proposed([f" {one}" for one in plain]) == want
    for words in (["N"], ["N", "N"], ["N", "R"]):
        found = proposed([*plain, *words])
        assert (found.range, found.decimals) == (want.range, want.decimals)
        assert found.missing == (tuple(sorted({*words})) if len({*words}) > 1 else "N")
    # A fraction is no code, and neither is what a blank before it or a word makes text.
    tenths = [f" {x % 61 / 10}" for x in range(300)]
    assert (proposed(tenths).model, proposed(tenths).range) == ("truncated-normal", (0, 6))
    ages = [f"{x % 61}" for x in range(300)]
    assert (proposed([*ages, "N"]).missing, proposed([*ages, "N"]).range) == ("N", (0, 60))


@pytest.mark.parametrize(
    ("spell", "cause"),
    [
        (lambda x: f"{x:.2f}".replace(".", ","), "decimal commas"),
        (lambda x: f"{x:,.2f}", "separators of thousands"),
        (lambda x: f"{x:,.2f}".replace(",", " "), "separators of thousands"),
        (lambda x: f"{1000 + x:,.2f}".translate({44: ".", 46: ","}), "separators of thousands"),
        (lambda x: f"€{x:.2f}", "signs such as $ or %"),
        (lambda x: f"{x:.1f} %", "signs such as $ or %"),
        (lambda x: f"${x:,.0f}", "signs such as $ or % and separators of thousands"),
    ],
)
def test_a_note_names_what_keeps_text_from_being_numbers(spell: Any, cause: str) -> None:
    cells = [spell(x) for x in AMOUNTS]
    note = f"it has numbers with {cause}; write them with digits and a decimal point alone"
    assert said(cells) == said([*cells, "N"]) == note
    few = proposed([*cells[:40], "N"] * 5)
    assert (few.model, few.note) == ("nominal", note)


def test_text_that_spells_no_numbers() -> None:
    for one in ("A{}", "{}-12", "0171 1{:06}", "{}.12.2000", "12:{}", "x, {}", "192.168.1.{}"):
        cells = [one.format(place) for place in range(N)]
        assert said(cells).startswith("every value differs, as in an id or free text"), one
    assert said([*map(str, range(N))]).startswith("every value differs, as in an id or free text")


def test_what_tells_an_amount_from_an_id() -> None:
    amounts = RNG.choice(np.arange(100_000, 10**6), 300, replace=False)
    for values in (amounts, pl.Series(amounts).cast(pl.String)):
        found = proposed(values)
        assert (found.model, found.note) == (
            "truncated-normal",
            'every value differs; if these are ids, take the role "id" or "drop"',
        )
    spread = np.unique(RNG.lognormal(10, 0.5, 300).astype(int))
    assert proposed(RNG.permutation(spread)).note is None
    swapped = np.sort(amounts)
    swapped[[10, 11]] = swapped[[11, 10]]
    for ids in (np.sort(amounts), -np.sort(-amounts), swapped, RNG.permutation(N)):
        assert said(ids).endswith("or for an amount a model and a range")
        assert proposed([*map(str, ids), "N"]).note.startswith("every value differs; if")


@pytest.mark.parametrize("zeros", [0, 80])
@pytest.mark.parametrize("unit", [1e-5, 1.0, 1e6])
def test_a_truncated_scale_of_logs_begins_above_0(unit: float, zeros: int) -> None:
    """Amounts whose logs end sharply: their scale has no 0, and a point of mass may be one."""
    rng = np.random.default_rng(4)
    amounts = np.minimum(20.0 * np.exp(-np.abs(rng.normal(0.0, 1.2, 2000))), 19.99).round(4)
    amounts = np.where(np.arange(2000) < zeros, 0.0, np.maximum(amounts, 1e-3))
    table = pl.DataFrame({"tax": amounts * unit})
    column = proposed(table["tax"])
    assert column.range is not None
    if not zeros:
        assert (column.model, column.outcome_scale) == ("truncated-normal", "log")
        assert 0.0 < column.range[0] <= table["tax"].min()
    else:
        assert (column.range[0], column.mass) == (0.0, (0.0,))
        assert (column.model, column.outcome_scale) != ("truncated-normal", "log")


@pytest.mark.runs
def test_the_name_of_an_id_tells() -> None:
    """Ids without order are no amounts; those of persons in rows apart are units."""
    rng = np.random.default_rng(5)
    n = 900
    ids = rng.choice(np.arange(3_430_000_000, 3_436_000_000), n, replace=False)
    sexes = rng.choice(["f", "m"], 300)
    patients = rng.integers(0, 300, n)
    visits = pl.DataFrame(
        {
            "RespondentID": ids,
            "paid": rng.permutation(ids),
            "subject_id": 17 * patients,
            "sex": sexes[patients],
            "score": rng.integers(0, 9, n),
        }
    )
    found = Schema.propose(visits)
    assert found.columns["RespondentID"].role == "drop"
    assert found.columns["paid"].role == "synthesize"
    assert found.unit == "subject_id"
    bought = visits.drop("sex")  # All else changes from visit to visit: the name tells alone.
    for table in (bought, bought.sort("subject_id")):
        other = Schema.propose(table)
        assert (other.unit, other.columns["subject_id"].role) == ("subject_id", "drop")
    assert Schema.propose(bought.rename({"subject_id": "sum"})).unit is None
    serial = pl.DataFrame({"rownames": 1978.0 + np.arange(1, n) / 10_000, "x": sexes[patients[1:]]})
    assert Schema.propose(serial).columns["rownames"].role == "drop"


@pytest.mark.parametrize(
    ("name", "is_id"),
    [
        *((name, True) for name in ("schoolid", "childid", "pupilNR", "nr", "Subject", "patient")),
        *((name, False) for name in ("paid", "grid", "humid", "NR_ROOMS", "subject_age", "nrs")),
    ],
)
def test_a_word_for_ids_stands_alone_or_last(name: str, is_id: bool) -> None:
    numbers = np.random.default_rng(7).permutation(np.repeat(np.arange(5, 1000, 17), 5))
    found = Schema.propose(pl.DataFrame({name: numbers, "x": numbers % 2})).columns[name]
    assert (found.role == "drop") == is_id
