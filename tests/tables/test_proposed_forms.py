"""Multiples, powers, logarithms, products and ratios that a proposal finds, and those it must not.

The tables are made here, each with a planted rule or with a fault in it.
"""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from pyvws import Column, Schema
from pyvws.tables.proposal.reasons import reasons
from pyvws.tables.schema.parts import follows

pytestmark = pytest.mark.usefixtures("rare_values_too")

FORMS: dict[str, Any] = {
    "0.17 * {x}": lambda x, y: 0.17 * x,
    "{x} / 12": lambda x, y: x / 12,
    "-2.5 * {x}": lambda x, y: -2.5 * x,
    "1.8 * {x} + 32": lambda x, y: 1.8 * x + 32,
    "24 - 0.5 * {x}": lambda x, y: 24 - 0.5 * x,
    "{x} ** 2": lambda x, y: x**2,
    "{x} ** 2 / 100": lambda x, y: x**2 / 100,
    "{x} ** 3": lambda x, y: x**3,
    "sqrt({x})": lambda x, y: np.sqrt(x),
    "log({x})": lambda x, y: np.log(x),
    "log10({x})": lambda x, y: np.log10(x),
    "log1p({x})": lambda x, y: np.log1p(x),
    "{x} * {y}": lambda x, y: x * y,
    "{x} / {y}": lambda x, y: x / y,
    "703 * {x} / {y} ** 2": lambda x, y: 703 * x / y**2,
}


def columns_of(**values: Any) -> dict[str, Column]:
    return dict(Schema.propose(pl.DataFrame(values, strict=False)).columns)


def rules_of(**values: Any) -> dict[str, Any]:
    return {name: one.rule for name, one in columns_of(**values).items() if one.rule}


def numbers(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    return rng.uniform(1, 100, n).round(1), rng.uniform(2, 30, n).round(2)


@pytest.mark.runs
@given(
    seed=st.integers(0, 2**32 - 1),
    form=st.sampled_from(list(FORMS)),
    names=st.permutations(["x", "log", "a b", "missing", "ratio"]),
    kept=st.sampled_from(["double", "single", 3, 4]),
    gone=st.booleans(),
)
@settings(max_examples=20)
def test_a_planted_form_is_found_and_one_record_that_breaks_it_hides_it(
    seed: int, form: str, names: list[str], kept: Any, gone: bool
) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 300))
    x, y = numbers(rng, n)
    z = FORMS[form](x, y)
    z = z.round(kept) if isinstance(kept, int) else z.astype("f4" if kept == "single" else "f8")
    hole = gone & (rng.random(n) < 0.1)
    table = pl.DataFrame(
        {
            names[0]: np.where(hole, np.nan, x),
            names[1]: np.where(hole, np.nan, y),
            names[2]: rng.normal(0, 1, n),
            names[3]: np.where(hole, np.nan, z.astype("f8")),
        }
    ).fill_nan(None)
    schema = Schema.propose(table)
    own = schema.columns[names[3]]
    assert own.is_computed
    assert "rule" in own.review
    values = schema.coded(table)  # Refuses numbers beyond a range.
    assert not follows(schema, names[3], values).breaking.any()
    if not isinstance(kept, int):  # Rounded numbers may follow from shorter constants.
        quoted = [x if x in ("x", "log", "ratio") else f"`{x}`" for x in names]
        assert own.rule == f"= {form.format(x=quoted[0], y=quoted[1])}"
    (why,) = (x for x in reasons({**schema.columns}, {n: n for n in names}) if "computed" in x)
    assert why.startswith(f"{names[3]}: ")
    at = int(np.flatnonzero(~hole)[rng.integers(0, (~hole).sum())])
    size = abs(float(z[at]))  # Less than a millionth of it is the noise of single precision.
    step = max(10.0**-kept, 1e-6 * size) if isinstance(kept, int) else np.pi * (1e-4 * size + 1e-5)
    cells = table[names[3]].to_list()
    cells[at] += 2.0 * step
    broken = Schema.propose(table.with_columns(pl.Series(names[3], cells)))
    assert not broken.columns[names[3]].is_computed


@pytest.mark.parametrize("single", [False, True])
def test_constants_are_short_where_a_short_one_does(single: bool) -> None:
    rng = np.random.default_rng(1)
    x, y = numbers(rng, 400)
    kind = np.float32 if single else np.float64
    assert rules_of(
        minutes=x.astype(kind),
        charge=(0.17 * x).round(2).astype(kind),
        noise=y,
        pounds=(x * 2.2046).astype(kind),
        months=(x / 12).astype(kind),
        half=(x / 2).round(1).astype(kind),
        whole=(0.31 * x + 5).round().astype(int),
    ) == {
        "charge": "= 0.17 * minutes",
        "pounds": "= 2.2046 * minutes",
        "months": "= minutes / 12",
        "half": "= minutes / 2",
        "whole": "= 0.31 * minutes + 5",
    }


@pytest.mark.runs
def test_what_is_no_form_is_not_proposed() -> None:
    rng = np.random.default_rng(2)
    x, y = numbers(rng, 300)
    zero = np.where(np.arange(300) == 5, 0.0, x)
    truth = rng.integers(0, 2, 300)
    few = rng.choice([1.5, 2.5, 4.0], 300)
    like = (x * rng.uniform(0.95, 1.05, 300)).round(1)
    found = rules_of(
        x=x,
        y=y,
        near=(x**2 + rng.normal(0, 9, 300)).round(3),
        coarse=(x / 20).round(),  # Six values, to which many lines come near.
        truth=truth,
        tenfold=truth * 10,
        few=few,
        fewer=few * 2,
        zero=zero,
        log_of_zero=np.log(np.where(zero > 0, zero, 1.0)),
        other_gaps=np.where(np.arange(300) < 9, np.nan, 3.0 * y),
        constant=7,
        like=like,
        share=100 * like / x,  # Synthetic numbers that are less alike would give any share.
    )
    read = {name for name, rule in found.items() if str(rule).startswith("=")}
    assert read == set()
    for n in (1, 2, 9):
        assert columns_of(a=x[:n], b=(x[:n] ** 2).round(2)) is not None
        assert not any(one.is_computed for one in columns_of(a=x[:n], b=x[:n] ** 2).values())


@pytest.mark.runs
@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_numbers_that_tell_nothing_of_each_other_have_no_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 120))
    step = int(rng.integers(0, 2))
    found = columns_of(**{f"c{k}": rng.uniform(1, 40, n).round(step) for k in range(6)})
    assert not any(one.is_computed for one in found.values())


def test_a_form_above_its_number_moves_below_it() -> None:
    rng = np.random.default_rng(3)
    age = rng.integers(16, 90, 500)
    minutes = rng.uniform(0, 400, 500).round(1)
    wage = rng.lognormal(2, 0.5, 500).round(2)
    columns = columns_of(
        agesq=age**2,
        charge=(0.045 * minutes).round(2),
        lwage=np.log(wage).astype("f4"),
        age=age,
        minutes=minutes,
        wage=wage,
        root=np.sqrt(wage),
    )
    assert {name: one.rule for name, one in columns.items() if one.rule} == {
        "agesq": "= age ** 2",
        "charge": "= 0.045 * minutes",
        "lwage": "= log(wage)",
        "root": "= sqrt(wage)",
    }
    assert [*columns] == ["age", "agesq", "minutes", "charge", "wage", "lwage", "root"]
    low, high = columns["wage"].range or (0.0, 0.0)
    assert 0.0 < low <= wage.min() <= wage.max() <= high
    least, most = columns["lwage"].range or (0.0, 0.0)
    assert least <= np.log(low) < np.log(high) <= most


@pytest.mark.runs
def test_forms_follow_from_forms_and_from_numbers_that_become_levels() -> None:
    rng = np.random.default_rng(4)
    n = 4000
    wide = {f"k{j}": rng.choice([f"l{i}" for i in range(29)], n) for j in range(12)}
    age, school = rng.integers(20, 49, n), rng.integers(0, 21, n)
    table = pl.DataFrame({"age": age, "school": school, "years": age + 7, **wide})
    table = table.with_columns(square=pl.col("years") ** 2)
    schema = Schema.propose(table)
    assert schema.columns["age"].categorical
    assert schema.columns["years"].rule == "= age + 7"
    assert schema.columns["square"].rule == "= years ** 2"
    values = schema.coded(table)
    assert not any(follows(schema, x, values).breaking.any() for x in ("years", "square"))
