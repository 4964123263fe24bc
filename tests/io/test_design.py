"""Design matrices: by hand, from every kind of table, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pyvws.errors import InputError
from pyvws.io.design import make_design
from pyvws.io.frame import open_frame

COLUMNS = {
    "y": [1, 2, 3, 4, 5, 6],
    "x": [1.0, 2, 3, 4, 5, 7],
    "n": [0, 1, 0, 2, 1, 2],
    "town": ["b", "a", "b", "c", "a", "c"],
    "urban": [True, False, True, True, False, False],
}
KINDS = {
    "pandas": lambda columns: pd.DataFrame(columns, index=[9, 3, 3, 1, 0, 7]),
    "polars": pl.DataFrame,
    "arrow": pa.table,
}


def design(formula, table=None):
    table = KINDS["polars"](COLUMNS) if table is None else table
    return make_design(open_frame(table), formula, outcome="y")


def test_three_records_by_hand():
    made = design("~ x + t", pl.DataFrame({"y": [1, 1, 2], "x": [5, 6, 8], "t": ["q", "p", "q"]}))
    assert made.names == ("Intercept", "x", "t[T.q]")
    assert made.matrix.tolist() == [[1.0, 5.0, 1.0], [1.0, 6.0, 0.0], [1.0, 8.0, 1.0]]
    assert made.predictors == ("x", "t")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("formula", "predictors"),
    [
        ("~ 1", ()),
        ("~ x", ("x",)),
        ("~ town + x", ("x", "town")),
        ("~ urban + C(n)", ("n", "urban")),
        ("~ x * town", ("x", "town")),
        ("~ np.log(x) + I(n ** 2)", ("x", "n")),
        ("~ 0 + town", ("town",)),
    ],
)
def test_every_kind_gives_the_same_matrix(kind, formula, predictors):
    made, expected = design(formula, KINDS[kind](COLUMNS)), design(formula)
    assert made.matrix.tolist() == expected.matrix.tolist()
    assert made.names == expected.names
    assert made.predictors == predictors
    assert made.matrix.dtype == np.float64
    assert made.matrix.flags.c_contiguous


def test_columns_follow_their_definitions():
    y, x, n, town, urban = (np.array(COLUMNS[name]) for name in COLUMNS)
    one = np.ones(len(y))
    made = design("~ town * x")
    expected = [one, town == "b", town == "c", x, (town == "b") * x, (town == "c") * x]
    assert made.matrix.tolist() == np.column_stack(expected).tolist()
    assert design("~ urban").matrix[:, 1].tolist() == urban.tolist()
    factor = np.column_stack([one, n == 1, n == 2])
    assert design("~ C(n)").matrix.tolist() == factor.tolist()
    assert design("~ n").matrix[:, 1].tolist() == n.tolist()


def test_the_order_of_records_is_kept():
    order = [4, 0, 5, 2, 1, 3]
    moved = design("~ x + town", pl.DataFrame(COLUMNS)[order])
    assert moved.matrix.tolist() == design("~ x + town").matrix[order].tolist()


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.Categorical(["lo", "hi", "lo", "mid"], categories=["lo", "mid", "hi"])),
        pl.Series(["lo", "hi", "lo", "mid"], dtype=pl.Enum(["lo", "mid", "hi"])),
    ],
)
def test_categories_keep_their_own_order_of_levels(column):
    kind = pd.DataFrame if isinstance(column, pd.Series) else pl.DataFrame
    made = design("~ c", kind({"y": [1, 2, 3, 4], "c": column}))
    assert made.names == ("Intercept", "c[T.mid]", "c[T.hi]")
    assert made.matrix[:, 1:].tolist() == [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]


def test_names_with_spaces_need_backticks():
    table = pl.DataFrame({"y": [1, 2, 3], "two words": [1, 2, 4]})
    made = design("~ `two words`", table)
    assert made.predictors == ("two words",)
    assert made.matrix[:, 1].tolist() == [1.0, 2.0, 4.0]


LACKS = "which the table lacks."


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("~ tow", f"formula names column 'tow', {LACKS} Did you mean 'town'?"),
        (
            "~ zzz",
            f"formula names column 'zzz', {LACKS} It has: 'y', 'x', 'n', 'town', 'urban'.",
        ),
        ("~ x + y", "formula uses the outcome 'y' as a predictor. Take it out."),
        ("~ np.log(y)", "formula uses the outcome 'y' as a predictor. Take it out."),
        (
            "y ~ x",
            "formula must have nothing before '~', since outcome= names the outcome. Got 'y ~ x'.",
        ),
        ("~ x | town", "formula must have one part, without '|'. Got '~ x | town'."),
        ("~ (", "formula '~ (' cannot be read. Write it like '~ Urban + Marital'."),
        ("~ 0", "formula '~ 0' leaves no column. Keep the intercept: '~ 1'."),
        (
            "~ np.log(town)",
            "formula '~ np.log(town)' could not be evaluated on the table "
            "(Error). Check its functions and column types.",
        ),
        (
            "~ np.log(n)",
            "formula '~ np.log(n)' gives missing or infinite values in np.log(n).",
        ),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_formulas_that_are_refused(kind, formula, message):
    with pytest.raises(InputError) as caught:
        design(formula, KINDS[kind](COLUMNS))
    assert re.sub(r"\(\w+Error\)", "(Error)", str(caught.value)) == message


@pytest.mark.parametrize(
    ("formula", "independent", "columns", "spare"),
    [
        ("~ x + I(2 * x)", 2, 3, {"I(2 * x)", "x"}),
        ("~ urban + C(urban)", 2, 3, {"urban", "C(urban)[T.True]"}),
        ("~ x + n + I(x + n)", 3, 4, {"x", "n", "I(x + n)"}),
    ],
)
def test_dependent_columns_are_named(formula, independent, columns, spare):
    with pytest.raises(InputError) as caught:
        design(formula)
    said = (
        f"The design matrix is rank-deficient: {independent} independent columns of {columns}. "
        "Drop one of the terms behind: {}."
    )
    assert str(caught.value) in {said.format(name) for name in spare}


def test_a_constant_predictor_is_spare_at_any_scale():
    for scale in (1e-12, 1.0, 1e12):
        table = pl.DataFrame({"y": [1, 2, 3], "flat": [scale] * 3, "x": [scale, 0, 2 * scale]})
        with pytest.raises(InputError, match="2 independent columns of 3"):
            design("~ x + flat", table)
        assert design("~ x", table).matrix.shape == (3, 2)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_missing_predictors_are_placed(kind):
    table = kind({"y": [1, 2, 3], "c": ["a", None, "b"]})
    with pytest.raises(InputError) as caught:
        design("~ c", table)
    assert str(caught.value) == (
        "Column 'c' has missing or infinite values: 1 (row 2). Remove or impute these records "
        "first."
    )
    assert design("~ 1", table).names == ("Intercept",)  # other columns may have gaps


def test_names_with_dots_and_spaces_stand_as_in_r() -> None:
    table = pl.DataFrame(
        {
            "y": [1, 2, 3, 4, 5, 6],
            "my.x": [0.5, 1.5, 2.0, 3.0, 3.5, 4.0],
            "my.x.y": [1.0, 0.0, 1.0, 0.0, 0.0, 1.0],
            "my group": ["a", "b", "a", "b", "b", "b"],
        }
    )
    formula = "~ my.x + my.x.y + `my group` + np.log(my.x)"
    made = make_design(open_frame(table), formula, outcome="y")
    assert made.names == ("Intercept", "my.x", "my.x.y", "my group[T.b]", "np.log(my.x)")
    assert made.predictors == ("my.x", "my.x.y", "my group")
    np.testing.assert_array_equal(made.matrix[:, 1], table["my.x"])
    np.testing.assert_array_equal(made.matrix[:, 4], np.log(table["my.x"]))
    with pytest.raises(InputError, match=r"uses the outcome 'my\.x' as a predictor"):
        make_design(open_frame(table), "~ my.x", outcome="my.x")
