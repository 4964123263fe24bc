"""Design matrices: by hand, from every kind of table, and what is refused."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused

from pyvws.tables.design.model_matrix import make_design
from pyvws.tables.files.frame import open_frame
from pyvws.tables.schema.formula import dotted, read_formula

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
    assert made.names == ("(Intercept)", "x", "tq")
    assert made.matrix.tolist() == [[1.0, 5.0, 1.0], [1.0, 6.0, 0.0], [1.0, 8.0, 1.0]]
    assert made.predictors == ("x", "t")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("formula", "predictors"),
    [
        ("~ 1", ()),
        ("~ x", ("x",)),
        ("~ town + x", ("x", "town")),
        ("~ urban + factor(n)", ("n", "urban")),
        ("~ x * town", ("x", "town")),
        ("~ log(x) + I(n^2) + np.cbrt(x)", ("x", "n")),
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
    assert made.names == ("(Intercept)", "cmid", "chi")
    assert made.matrix[:, 1:].tolist() == [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("formula", "refusal"),
    [
        ("~ tow", refused("columns-lacking")),
        ("~ zzz", refused("columns-lacking")),
        ("~ x + y", refused("formula-reads-outcome")),
        ("~ log(y)", refused("formula-reads-outcome")),
        ("y ~ x", refused("formula-two-sided")),
        ("~ x | town", refused("formula-with-bar")),
        ("~ (", refused("formula-unreadable", formula="~ (")),
        *(
            (f, refused("formula-unreadable"))
            for f in (
                *("~", "~ x +", "~ x ~ n", "~ 2 * x", "~ (x - 1)", "~ I(x", "~ I(!urban)", "~ 'x'"),
            )
        ),
        ("~ x + spline(n)", refused("formula-function")),
        ("~ I(x:n)", refused("formula-sign-in-name")),
        ("~ 0", refused("formula-without-column")),
        ("~ poly(n, 3)", refused("formula-not-evaluated", formula="~ poly(n, 3)")),
        ("~ I(3)", refused("formula-not-evaluated", formula="~ I(3)")),
        ("~ log(town)", refused("formula-not-evaluated", formula="~ log(town)")),
        ("~ log(n)", refused("formula-values-of-table")),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_formulas_that_are_refused(kind, formula, refusal):
    with refusal:
        design(formula, KINDS[kind](COLUMNS))


@pytest.mark.parametrize(
    "formula", ["~ x + I(2 * x)", "~ urban + C(urban)", "~ x + n + I(x + n) + I(x - n)"]
)
def test_dependent_columns_are_refused(formula):
    """Those that depend on earlier ones, which R's lm gives no coefficient."""
    with refused("design-rank-deficient"):
        design(formula)


@pytest.mark.parametrize("levels", ["abz", "zab"])
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_levels_that_no_record_has_are_counted(kind, levels):
    """Not named: a level is a value, of records that were left out perhaps."""
    if kind == "pandas":
        column = pd.Categorical(list("abab"), list(levels))
        table = pd.DataFrame({"y": [1, 2, 3, 4], "c": column})
    else:
        column = pl.Series(list("abab"), dtype=pl.Enum(list(levels)))
        table = pl.DataFrame({"y": [1, 2, 3, 4], "c": column})
    with refused("design-rank-deficient", rank=2, columns=3):
        design("~ c", table)
    assert design("~ factor(c)", table).names == ("(Intercept)", "factor(c)b")


def test_a_predictor_of_one_level_is_refused():
    with refused("formula-single-level", label="t"):
        design("~ t", pl.DataFrame({"y": [1, 2], "t": ["a", "a"]}))


DAYS = [dt.date(2020, 1, day) for day in (1, 2, 5)]


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"y": [1, 2, 3], "day": DAYS}),
        pd.DataFrame({"y": [1, 2, 3], "day": DAYS}),
        pd.DataFrame({"y": [1, 2, 3], "day": pd.to_datetime(DAYS)}),
        pa.table({"y": [1, 2, 3], "day": [dt.timedelta(day.day) for day in DAYS]}),
    ],
)
@pytest.mark.parametrize("formula", ["~ day", "~ factor(day)", "~ y + as.numeric(day)"])
def test_dates_are_refused(table, formula):
    with refused("predictor-is-date", role="formula", source="day"):
        make_design(open_frame(table), formula, outcome="")


def test_other_types_are_refused():
    with refused("predictor-type", role="formula", source="l"):
        design("~ l", pl.DataFrame({"y": [1, 2], "l": [[1], [2]]}))


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("Int8", [1, 2, 4]),
        ("Float32", [1.5, 2.0, 4.0]),
        ("boolean", [True, False, False]),
        ("string", ["a", "b", "b"]),
        ("category", ["b", "a", "a"]),
    ],
)
def test_nullable_and_narrow_types_enter_as_their_plain_kin(dtype, values):
    made = design("~ v", pd.DataFrame({"y": [1, 2, 3], "v": pd.Series(values, dtype=dtype)}))
    plain = design("~ v", pl.DataFrame({"y": [1, 2, 3], "v": values}))
    assert (made.names, made.matrix.tolist()) == (plain.names, plain.matrix.tolist())


def test_whole_numbers_do_not_overflow():
    table = pl.DataFrame({"y": [1, 2, 3], "n": [1, 2, 40]})
    assert design("~ I(10^n)", table).matrix[2, 1] == 1e40
    assert design("~ I(n^-1)", table).matrix[1, 1] == 0.5
    big = pl.DataFrame({"y": [1, 2], "n": [1, 100_000], "f": [1.0, 100_000.0]})
    assert design("~ factor(n)", big).names[1] == "factor(n)100000"
    assert design("~ factor(f)", big).names[1] == "factor(f)1e+05"


def test_a_constant_predictor_is_spare_at_any_scale():
    for scale in (1e-12, 1.0, 1e12):
        table = pl.DataFrame({"y": [1, 2, 3], "flat": [scale] * 3, "x": [scale, 0, 2 * scale]})
        with refused("design-rank-deficient", rank=2, columns=3):
            design("~ x + flat", table)
        assert design("~ x", table).matrix.shape == (3, 2)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_missing_predictors_are_placed(kind):
    table = kind({"y": [1, 2, 3], "c": ["a", None, "b"]})
    with refused("column-missing-at-rows", column="c", bad="1 (row 2)"):
        design("~ c", table)
    assert design("~ 1", table).names == ("(Intercept)",)  # other columns may have gaps


def test_names_with_dots_and_spaces_stand_as_in_r() -> None:
    table = pl.DataFrame(
        {
            "y": [1, 2, 3, 4, 5, 6],
            "my.x": [0.5, 1.5, 2.0, 3.0, 3.5, 4.0],
            "my.x.y": [1.0, 0.0, 1.0, 0.0, 0.0, 1.0],
            "my group": ["a", "b", "a", "b", "b", "b"],
        }
    )
    formula = "~ my.x + my.x.y + `my group` + log(my.x)"
    made = make_design(open_frame(table), formula, outcome="y")
    assert made.names == ("(Intercept)", "my.x", "my.x.y", "`my group`b", "log(my.x)")
    assert made.predictors == ("my.x", "my.x.y", "my group")
    np.testing.assert_array_equal(made.matrix[:, 1], table["my.x"])
    np.testing.assert_array_equal(made.matrix[:, 4], np.log(table["my.x"]))
    with refused("formula-reads-outcome", outcome="my.x"):
        make_design(open_frame(table), "~ my.x", outcome="my.x")


def test_a_dot_stands_for_the_sum_of_all_columns() -> None:
    columns = ["a", "two words", "log"]
    for formula, meant in (
        ("~ .", "~ a + `two words` + `log`"),
        ("~ . - a", "~ `two words` + `log`"),
        ("~ a:. ", "~ a + a:`two words` + a:`log`"),
        ("~ .^2 - 1", "~ (a + `two words` + `log`)^2 - 1"),
    ):
        made, asked = read_formula(dotted(formula, columns)), read_formula(meant)
        assert made.intercept == asked.intercept
        labels = [
            sorted(tuple(sorted(read.variables[at].label for at in term)) for term in read.terms)
            for read in (made, asked)
        ]
        assert labels[0] == labels[1]
    for kept in ("~ a + .5", "~ `.`", "~ a.b", "~ 1", "~ ("):
        assert dotted(kept, columns) == kept
    assert dotted("~ .", []) == "~ ."
