"""Proposals for wide tables: short conditionals, lookups, and what is left as it was."""

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws import Schema
from pyvws.tables.design.public import pattern_design
from pyvws.tables.proposal.short_conditionals import _cuts, _information

pytestmark = pytest.mark.usefixtures("rare_values_too")

N = 3000


def wide(seed: int = 0) -> pl.DataFrame:
    """Columns of which some tell of others, too many for regressions."""
    rng = np.random.default_rng(seed)
    area = rng.integers(40, size=N)
    age = rng.integers(0, 90, size=N)
    job = (area + rng.integers(3, size=N)) % 40
    wage = np.where(rng.random(N) < 0.4, 0.0, rng.lognormal(8 + age / 30, 0.4).round(2))
    noise = {f"n{k}": rng.choice(list("abcdefgh"), N) for k in range(8)}
    work = np.where(age < 20, "N", np.where(wage > 0, "y", "n"))
    return pl.DataFrame(
        {
            "area": [f"a{one}" for one in area],
            "rain": 0.5 * area + 3.0,
            "age": age,
            **noise,
            "job": [f"j{one}" for one in job],
            "wage": wage,
            "work": work,
        }
    )


@pytest.mark.runs
def test_a_wide_table_by_hand() -> None:
    table = wide()
    columns = Schema.propose(table).columns
    assert columns["area"].model == "table"
    assert columns["rain"].lookup == {
        "area": {label: str(value).removesuffix(".0") for label, value in
                 table.select("area", "rain").unique().rows()}
    }  # fmt: skip
    assert columns["age"].levels is None  # Counts of cells take at most 50 levels in pairs.
    assert columns["age"].cuts
    assert [columns[f"n{k}"].predictors for k in range(8)] == [()] * 8
    # A column with many levels is no predictor, and nothing else tells of the job.
    assert columns["job"].predictors == ()
    assert columns["wage"].mass == (0.0,)
    assert columns["wage"].part == {"model": "table"}
    assert columns["wage"].predictors == ("age",)
    assert set(columns["work"].predictors or ()) == {"wage", "age"}


@pytest.mark.runs
def test_two_predictors_are_the_most() -> None:
    """Four columns tell of the last one together; a sampler and a budget take two."""
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2, (4, N))
    told = np.where(rng.random(N) < 0.9, np.array([1, 2, 4, 8]) @ bits, 0)
    table = wide().with_columns(**{f"b{k}": own for k, own in enumerate(bits)}, told=told)
    predictors = {name: one.predictors or () for name, one in Schema.propose(table).columns.items()}
    assert max(map(len, predictors.values())) == len(predictors["told"]) == 2
    assert {*predictors["told"]} <= {f"b{k}" for k in range(4)}


def test_a_narrow_table_has_lookups_and_stays_as_it_is_else() -> None:
    columns = Schema.propose(wide().select("area", "rain", "age", "wage")).columns
    assert columns["rain"].lookup is not None
    assert len(columns["rain"].lookup["area"]) == 40
    assert "lookup" in columns["rain"].review
    assert [columns[name].model for name in columns] == [
        "nominal", None, "truncated-normal", "normal"
    ]  # fmt: skip
    assert columns["wage"].predictors is None


@pytest.mark.runs
def test_a_long_table_has_short_conditionals_too() -> None:
    """Few columns and levels, but so many records that a sampler would take very long."""
    table = wide().select("age", "wage", "n0", "n1", "n2")
    short = Schema.propose(table).columns
    assert short["n2"].model == "nominal"
    long = Schema.propose(pl.concat([table] * 20)).columns
    assert long["n2"].model == "table"
    assert long["wage"].predictors == ("age",)


@pytest.mark.runs
def test_codes_of_missing_values_are_levels_of_their_own() -> None:
    rng = np.random.default_rng(3)
    used = rng.choice(["never", "refused", "once"], N, p=[0.5, 0.1, 0.4])
    age = np.select([used == "never", used == "refused"], [91, 97], rng.integers(1, 31, N))
    table = wide().with_columns(age=age, used=used)
    columns = Schema.propose(table).columns
    assert columns["age"].missing == ("91", "97")
    assert columns["age"].levels == tuple(map(str, range(31)))
    assert columns["used"].predictors == ("age",)


@pytest.mark.runs
def test_a_lookup_has_records_of_more_than_one_level() -> None:
    """Three records of rare levels with a value each decide nothing."""
    state = np.repeat(["never", "once", "now"], [N - 3, 1, 2])
    days = np.repeat(["none", "no", "thirty"], [N - 3, 1, 2])
    table = wide().with_columns(state=state, days=days)
    assert Schema.propose(table).columns["days"].lookup is None


def test_cuts_have_few_digits_and_tell_tenths_apart() -> None:
    tenths = [100.0 * k for k in range(1, 10)]
    assert _cuts(np.arange(0.0, 1000.0, 2.0)).round(-2).tolist() == tenths
    assert _cuts(np.arange(0.0, 1001.0)).tolist() == [10.0, *tenths, 990.0]
    assert _cuts(np.arange(1900.0, 2000.0)).tolist() == [1900.0 + 10.0 * k for k in range(1, 10)]
    assert _cuts(np.full(9, 12.34)).tolist() == [12.0]
    assert _cuts(np.empty(0)).tolist() == []


@pytest.mark.runs
def test_every_entry_that_the_records_decide_is_to_be_reviewed() -> None:
    for name, column in Schema.propose(wide()).columns.items():
        taken = {"model", "levels", "predictors", "cuts", "part", "lookup", "range", "decimals"}
        given = taken & set(column.given) - ({"model"} if column.model is None else set())
        assert given <= set(column.review), name


@pytest.mark.runs
def test_the_proposal_is_the_same_after_its_file_and_makes_patterns(tmp_path) -> None:  # type: ignore[no-untyped-def]
    schema = Schema.propose(wide())
    schema.write(tmp_path / "schema.toml")
    assert Schema.read(tmp_path / "schema.toml") == schema
    from pyvws.tables.schema.parts import modelled_schema

    whole, values = modelled_schema(schema), schema.coded(wide())
    for name in whole.synthesized:
        if whole.columns[name].model == "table":
            design = pattern_design(whole, name)
            assert design.matrix(values).max() < design.patterns <= 3_000


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=40))
@settings(max_examples=60)
def test_information_against_loops(pairs: list[tuple[int, int]]) -> None:
    n = len(pairs)
    joint, rows, columns = (
        Counter(pairs),
        Counter(a for a, _ in pairs),
        Counter(b for _, b in pairs),
    )
    told = sum(
        count / n * math.log(count * n / (rows[a] * columns[b])) for (a, b), count in joint.items()
    )
    a, b = (np.array(part, dtype=np.intp) for part in zip(*pairs, strict=True))
    expected = told - (len(rows) - 1) * (len(columns) - 1) / n
    assert _information(a, b) == pytest.approx(expected, abs=1e-12)
