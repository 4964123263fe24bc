"""What few records have stands in no proposal; ids are units or refusals, and codes are missing."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyvws as vws
from pyvws import Column, InputError, Schema
from pyvws.mechanisms.counts.by_rule import counted_columns
from pyvws.tables.files.frame import open_frame
from pyvws.tables.files.read import read_table

CASES = Path(__file__).parents[3] / "shared" / "cases"
ONE = "QZXONLYONE"


def _case(name: str) -> Schema:
    if not CASES.exists():
        pytest.skip("needs the cases that lie beside the checkout of the developers")
    return Schema.propose(read_table(CASES / f"{name}.csv").with_codes)


def _table(
    *, rare: int = 1, n: int = 120, seed: int = 1, extreme: float = 9_999_123.0
) -> pl.DataFrame:
    """A table of which `rare` records have values that nobody else has."""
    n, rng = 120, np.random.default_rng(seed)
    columns: dict[str, list[Any]] = {
        "region": rng.choice(["north", "south", "east"], n).tolist(),
        "income": rng.lognormal(10.0, 0.5, n).round().tolist(),
        "amount": [str(x) for x in rng.integers(100, 999, n)],
        "children": rng.integers(0, 3, n).tolist(),
        "day": [f"20{x:02d}-05-1{y}" for x, y in rng.integers(0, 9, (n, 2))],
    }
    for record in range(rare):
        own = (ONE, extreme + record, f"{ONE}{record}", 11, "1850-03-04")
        for name, value in zip(columns, own, strict=True):
            columns[name][record * 7] = value
    return pl.DataFrame(columns)


@pytest.mark.runs
@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
def test_what_one_record_has_is_neither_in_the_schema_nor_in_the_release(tmp_path: Path) -> None:
    table = _table()
    schema = Schema.propose(table)
    assert {len(values) for values in schema.coded(table).values()} == {120}  # None is refused.
    signed = schema.accepted("A. Steward")
    mechanism = vws.NoisyCounts(epsilon=50.0, classes=3, measure="pairs")
    made = vws.synthesize(table, schema=signed, mechanism=mechanism, datasets=1)
    out = made.write(tmp_path / "out")
    left = b"".join(path.read_bytes() for path in (out / "release").iterdir())
    for text in (ONE, "1850-", "9999123", "999912"):  # A number may hold 1850 by chance.
        assert text.strip("-") not in schema.text
        assert text.encode() not in left
    assert made.summary["records_in_no_cell"] == {}
    assert str(schema.columns["region"].note).startswith("1 record with values")
    assert "record with values" not in signed.public_text


@pytest.mark.runs
@settings(max_examples=20)
@given(st.integers(0, 12), st.integers(0, 5), st.floats(1e6, 1e12))
def test_nine_records_decide_no_level_and_no_end(rare: int, seed: int, extreme: float) -> None:
    table = _table(rare=rare, seed=seed, extreme=extreme)
    columns = Schema.propose(table).columns
    assert (ONE in (columns["region"].levels or ())) == (rare >= 10)
    assert ("11" in (columns["children"].levels or ())) == (rare >= 10)
    for name, column in columns.items():
        for level in column.levels or ():
            assert (table[name].cast(str) == level).sum() >= 10
    if 0 < rare < 10:  # Other values of the same records change nothing.
        other = Schema.propose(_table(rare=rare, seed=seed, extreme=extreme * 3.0)).columns
        assert (columns["income"].range, columns["day"].range) == (
            *(other["income"].range, other["day"].range),
        )


def test_a_level_that_one_unit_has_alone_is_not_listed() -> None:
    rng = np.random.default_rng(2)
    homes = np.repeat(np.arange(80), 15)
    area = rng.choice(["a", "b"], 80)[homes].astype(object)
    area[homes == 3] = ONE
    table = pl.DataFrame(
        {"home": [f"H{x:05d}" for x in homes], "area": area.tolist(), "x": rng.normal(size=1200)}
    )
    schema = Schema.propose(table)
    assert schema.unit == "home"
    assert ONE not in schema.text
    assert schema.columns["area"].outside in ("a", "b")


def test_many_rare_levels_are_one_level() -> None:
    towns = ["A"] * 60 + ["B"] * 60 + [f"{ONE}{x % 8}" for x in range(40)]
    column = Schema.propose(pl.DataFrame({"town": towns})).columns["town"]
    assert (column.levels, column.outside) == (("A", "B", "other"), "other")
    assert "40 records" in str(column.note)


@pytest.mark.parametrize("each", [5, 29, 30, 31, 60, 101, 200])
@pytest.mark.parametrize("shuffled", [False, True])
def test_ids_are_never_levels_whatever_number_of_records_has_one(each: int, shuffled: bool) -> None:
    rng = np.random.default_rng(each)
    firm = np.repeat(np.arange(60), each)
    if shuffled:
        rng.shuffle(firm)
    table = pl.DataFrame(
        {
            "firm": [f"F{x:05d}" for x in firm],
            "turnover": rng.integers(10**5, 10**7, 60)[firm],
            "sector": rng.choice([*"ABC"], 60)[firm],
            "wage": rng.normal(3000.0, 500.0, len(firm)).round(),
        }
    )
    schema = Schema.propose(table)
    assert schema.columns["firm"].role == "drop"
    assert schema.unit == ("firm" if each <= 100 else None)
    assert "unit" in str(schema.columns["firm"].note)
    assert not any(column.lookup or "F000" in str(column) for column in schema.columns.values())


@pytest.mark.parametrize("name", ["firms", "firms_turnover"])
def test_employers_are_the_unit(name: str) -> None:
    schema = _case(name)
    assert schema.unit == "firm"
    assert "F000" not in schema.accepted("A. Steward").text
    assert not any(column.lookup for column in schema.columns.values())


def test_a_unit_has_no_empty_cells_and_a_refusal_names_it() -> None:
    schools = _case("schools")
    assert (schools.unit, schools.columns["schoolid2"].role) == (None, "drop")
    columns = {"home": Column(role="drop"), "x": Column(levels=["a"], review=["levels"])}
    crowded = {**columns, "y": Column(model="nominal", levels=range(20), review=["levels"])}
    with pytest.raises(InputError, match="First look at unit"):
        Schema(crowded, unit="home", reviewed=False, proposed_from=60).accepted()


def test_codes_of_a_survey_are_missing() -> None:
    income = _case("survey_codes").columns["income"]
    assert income.missing == ("-9997", "99997", "99998", "99999")
    assert income.range is not None
    assert income.range[1] == 59_000.0


LABELS = st.sampled_from(["a", "b", "zz", "", "7", "7.0", "12", "-40", "1e9", "x"])


@given(st.lists(LABELS, min_size=2, max_size=8))
def test_both_coders_take_an_unknown_value_for_the_same(labels: list[str]) -> None:
    columns = {
        "named": Column(model="nominal", levels=["a", "b", "7"], missing=True, outside="b"),
        "nearest": Column(model="nominal", levels=["7", "12"], missing=[True, "x"], outside=True),
        "number": Column(
            model="normal", range=[-10, 20], decimals=0, missing=["x", True], outside=True
        ),
    }
    cells = [label or None for label in labels]
    numbers = [None if label in ("a", "b", "zz", None) else label for label in cells]
    table = pl.DataFrame(
        {"named": cells, "nearest": numbers, "number": cells},
        schema=dict.fromkeys(columns, pl.String),
    )
    coded = Schema(columns).coded(table)
    counted = counted_columns(Schema(columns))
    for name, column in counted.items():
        codes, values = column.read(open_frame(table))
        assert (codes >= 0).all()
        np.testing.assert_array_equal(values, coded[name])


def test_outside_is_a_level_or_the_nearest_number() -> None:
    for entries in (
        {"levels": ["a", "b"], "outside": "c"},
        {"levels": ["a", "b"], "outside": True},
        {"model": "normal", "outside": True},
        {"model": "normal", "range": (0, 1), "outside": "0"},
    ):
        with pytest.raises(InputError, match="outside"):
            Column(**{"model": "nominal", **entries})
    schema = Schema({"x": Column(model="nominal", levels=["1", "4"], outside=True)})
    assert schema.coded(pl.DataFrame({"x": [0, 1, 3, 9]}))["x"].tolist() == [1.0, 1.0, 2.0, 2.0]
