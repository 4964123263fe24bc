"""Why a proposal is as it is: few lines, no value of a record, and what a few records break."""

import numpy as np
import polars as pl
import pytest

from pyvws.tables.proposal.nearly import broken_rules
from pyvws.tables.proposal.reasons import MOST_LINES, reasons
from pyvws.tables.schema.schema import Schema

pytestmark = pytest.mark.usefixtures("rare_values_too")

N = 1500


def people(broken: int) -> pl.DataFrame:
    """Persons of whom a few are single and have a year of marriage."""
    rng = np.random.default_rng(3)
    marital = rng.choice(["single-Zx81", "married", "widowed"], N, p=[0.3, 0.5, 0.2])
    year = np.where(marital == "single-Zx81", np.nan, rng.integers(1950, 2020, N))
    year[np.flatnonzero(marital == "single-Zx81")[:broken]] = 1999
    year[np.flatnonzero(marital == "widowed")[:20]] = np.nan
    wage, tax = rng.lognormal(9, 1, N).round(2), rng.lognormal(7, 1, N).round(2)
    rate = 100 * tax / wage
    frame = {"marital": marital, "year": year, "wage": wage, "tax": tax, "rate": rate}
    return pl.DataFrame(frame).with_columns(pl.col("year").fill_nan(None).cast(pl.Int64))


@pytest.mark.parametrize("broken", [0, 1, 4])
def test_rules_that_a_few_records_break_are_counted_and_not_proposed(broken: int) -> None:
    table = people(broken)
    schema = Schema.propose(table)
    shown = {name: name for name in schema.columns}
    found = broken_rules(schema, table, shown)
    if not broken:
        assert found == []
        assert schema.columns["year"].rule is not None
        return
    assert schema.columns["year"].rule is None
    (line,) = found
    assert line.startswith("year: a rule by marital")
    assert f"but for {broken} record" in line


def test_what_many_break_or_chance_makes_is_no_rule() -> None:
    rng = np.random.default_rng(4)
    noise = pl.DataFrame(
        {
            "a": rng.choice(["x", "y"], N),
            "b": np.where(rng.random(N) < 0.995, 0.0, rng.normal(size=N)),
            "c": np.where(rng.random(N) < 0.995, 0.0, rng.normal(size=N)),
            "d": rng.normal(size=N),
        }
    )
    for table in (noise, people(40)):
        schema = Schema.propose(table)
        assert broken_rules(schema, table, {name: name for name in schema.columns}) == []


@pytest.mark.runs
def test_lines_of_why_are_few_and_have_no_value() -> None:
    table = people(0)
    rng = np.random.default_rng(5)
    more = {f"pay {k}": rng.lognormal(k, 1 + k / 40, N).round(2) for k in range(25)}
    wide = table.with_columns(**more, **{f"net {k}": x + 1 for k, x in enumerate(more.values())})
    for one in (table, wide):
        columns = Schema.propose(one).columns
        lines = reasons(columns, {name: name.upper() for name in columns})
        assert 0 < len(lines) <= MOST_LINES
        said = " ".join(lines)
        assert "some values of MARITAL" in said
        assert "Zx81" not in said
        assert "1950" not in said
        assert "RATE: it is computed from TAX and WAGE" in said


@pytest.mark.runs
def test_each_reason_is_a_sentence_of_few_words() -> None:
    """A subject and a verb on each side of a comma, for every kind of reason."""
    rng = np.random.default_rng(9)
    marital = rng.choice(["single", "married"], N)
    pay = rng.lognormal(8, 1, N).round(2)
    table = (
        people(0)
        .with_columns(
            country=pl.lit("AT"),
            code=pl.col("marital").replace_strict({"single-Zx81": 1, "married": 2, "widowed": 3}),
            spouse=pl.Series(marital),
            kin=np.where(
                marital == "married", rng.choice(["a", "b"], N), rng.choice(["b", "c"], N)
            ),
            age=rng.integers(0, 90, N),
            paid=np.where(rng.random(N) < 0.3, 0.0, pay),
        )
        .with_columns(
            band=pl.when(pl.col("age") < 40).then(pl.lit("young")).otherwise(pl.lit("old"))
        )
    )
    columns = Schema.propose(table).columns
    clauses = [
        clause
        for line in reasons(columns, {name: name for name in columns})
        if ": " in line
        for clause in line.partition(": ")[2].removesuffix(".").split("; ")
    ]
    assert len({clause.split()[0] for clause in clauses}) >= 6  # Kinds of reasons.
    for clause in clauses:
        assert len(clause.split()) <= 25
        for part in clause.split(", "):
            assert {"is", "has", "have", "follows"} & {*part.split()}, clause


def test_one_level_that_a_category_decides_is_no_interval_of_a_number() -> None:
    rng = np.random.default_rng(6)
    died = rng.random(N) < 0.1
    cause = np.where(died, rng.choice(["heart", "other"], N), "")
    cause[np.flatnonzero(~died)[0]] = "heart"
    table = pl.DataFrame({"died": np.where(died, "Y", ""), "cause": cause})
    table = table.with_columns(pl.all().replace("", None))
    schema = Schema.propose(table.with_columns(flag=pl.col("died")))
    shown = {name: name for name in schema.columns}
    lines = reasons(schema.columns, shown)
    assert "died" in lines[0]
    assert not any("interval" in line for line in lines)
    found = broken_rules(schema, table.with_columns(flag=pl.col("died")), shown)
    assert found == ["cause: a rule by died holds but for 1 record."]
