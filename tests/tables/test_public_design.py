"""A design coded by public levels and scales alone: the same row is the same in every table."""

import hypothesis.strategies as st
import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from refusals import refused

from pyvws import Column, Schema
from pyvws.tables.design.model_matrix import make_design
from pyvws.tables.design.public import public_design

SEX = Column(role="public", levels=("f", "m"))
TOWN = Column(role="public", levels=("a", "b", "c"))
AGE = Column(role="public", range=(0, 100))


def schema_of(*, formula=None, predictors=None, **columns):
    return Schema({**columns, "y": Column(model="normal", formula=formula, predictors=predictors)})


def test_a_design_by_hand():
    schema = schema_of(sex=SEX, town=TOWN, age=AGE)
    design = public_design(schema, "y")
    assert design.names == ("(Intercept)", "sexm", "townb", "townc", "age")
    assert design.predictors == ("sex", "town", "age")
    made = design.matrix({"sex": [2, 1, 2], "town": [1, 2, 3], "age": [0, 50, 75]})
    assert made.tolist() == [
        [1.0, 1.0, 0.0, 0.0, -1.0],
        [1.0, 0.0, 1.0, 0.0, 0.0],
        [1.0, 1.0, 0.0, 1.0, 0.5],
    ]
    assert made.flags.c_contiguous


def test_another_scale_takes_the_place_of_the_range():
    schema = schema_of(age=Column(role="public", range=(0, 100), scale=(40, 20)))
    assert public_design(schema, "y").matrix({"age": [20.0, 50.0]}).tolist() == [
        [1.0, -1.0],
        [1.0, 0.5],
    ]


def test_a_design_without_predictors():
    design = public_design(schema_of(age=AGE, predictors=()), "y")
    assert design.names == ("(Intercept)",)
    assert design.matrix({}, n=3).tolist() == [[1.0]] * 3
    assert design.matrix({"age": np.ones(2)}).tolist() == [[1.0]] * 2


def test_a_missing_category_is_one_more_level():
    gone = Column(role="public", levels=("1", "2"), missing="N")
    empty = Column(role="public", levels=("1", "NA"), missing=True)
    other = Column(role="public", levels=("1", "2"), missing=True)
    design = public_design(schema_of(a=gone, b=empty, c=other), "y")
    assert design.names == ("(Intercept)", "a2", "aN", "bNA", "b(empty)", "c2", "cNA")
    assert design.matrix({"a": [3], "b": [1], "c": [3]}).tolist() == [[1, 0, 1, 0, 0, 0, 1]]


def test_names_that_are_no_words_stand_between_backticks():
    odd = Column(role="public", levels=("x y", "z\n", "é\"'"))
    design = public_design(schema_of(**{"my town": odd, "a`b": AGE, "if": SEX}), "y")
    assert design.names == ("(Intercept)", "`my town`z\n", "`my town`é\"'", "`a`b`", "`if`m")
    made = design.matrix({"my town": [3], "a`b": [100], "if": [1]})
    assert made.tolist() == [[1.0, 0.0, 1.0, 1.0, 0.0]]
    formula = public_design(schema_of(**{"my town": odd, "formula": "~ `my town`"}), "y")
    assert formula.names == ("(Intercept)", "`my town`z\n", "`my town`é\"'")


FORMULAS = [
    "~ sex * age",
    "~ sex:age + town",
    "~ town / age",
    "~ 0 + town + sex",
    "~ (sex + town + age)^2",
    "~ relevel(town, ref = 'b') + I(sex == 'm')",
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_has_the_names_and_columns_of_any_design(formula):
    """On a table that has every level, and numbers that are scaled before."""
    rng = np.random.default_rng(3)
    codes = {"sex": rng.integers(1, 3, 60), "town": rng.integers(1, 4, 60)}
    age = rng.uniform(0, 100, 60)
    schema = schema_of(sex=SEX, town=TOWN, age=AGE, formula=formula)
    design = public_design(schema, "y")
    frame = pd.DataFrame(
        {
            "sex": pd.Categorical.from_codes(codes["sex"] - 1, ["f", "m"]),
            "town": pd.Categorical.from_codes(codes["town"] - 1, ["a", "b", "c"]),
            "age": (age - 50.0) / 50.0,
        }
    )
    wanted = make_design(nw.from_native(frame, eager_only=True), formula, outcome="y")
    assert design.names == wanted.names
    assert design.matrix({**codes, "age": age}).tolist() == wanted.matrix.tolist()


def test_a_call_is_scaled_by_its_values_over_the_range():
    schema = schema_of(age=Column(role="public", range=(1, 100)), formula="~ log10(age) + I(age^2)")
    design = public_design(schema, "y")
    assert design.names == ("(Intercept)", "log10(age)", "I(age^2)")
    made = design.matrix({"age": [1.0, 10.0, 100.0]})
    assert made[:, 1] == pytest.approx([-1.0, 0.0, 1.0])
    assert made[:, 2] == pytest.approx([-1.0, (100 - 5000.5) / 4999.5, 1.0])
    beyond = design.matrix({"age": [-3.0, 1e9]})  # As a synthetic age may be.
    assert beyond[:, 1] == pytest.approx([-1.0, 1.0])
    raw = public_design(schema_of(age=AGE, formula="~ poly(age, 2, raw = TRUE)"), "y")
    assert raw.matrix({"age": [0.0, 100.0]})[:, 1:] == pytest.approx(
        np.array([[-1.0, -1.0], [1.0, 1.0]])
    )


def test_a_synthetic_number_beyond_the_range_counts_as_its_end():
    columns = {"age": Column(role="public", range=(20.0, 60.0)), "y": Column(model="poisson")}
    design = public_design(Schema(columns), "y")
    found = design.matrix({"age": [-3.0, 20.0, 50.0, 60.0, 1e300]})[:, 1]
    assert found.tolist() == [-1.0, -1.0, 0.5, 1.0, 1.0]


@pytest.mark.parametrize(
    ("formula", "refusal"),
    [
        ("~ poly(age, 2)", refused("formula-of-other-rows", label="poly(age, 2)")),
        ("~ scale(age)", refused("formula-of-other-rows", label="scale(age)")),
        ("~ factor(age)", refused("formula-levels-from-records")),
        ("~ I(age * height)", refused("formula-of-several-columns")),
        ("~ log(age)", refused("formula-public-values", label="log(age)")),
        ("~ I(0 * age)", refused("formula-public-values", label="I(0 * age)")),
        ("~ log(sex)", refused("formula-not-evaluated")),
        ("~ 0", refused("formula-without-column")),
    ],
)
def test_terms_that_are_not_public(formula, refusal):
    height = Column(role="public", range=(0, 250))
    schema = schema_of(sex=SEX, age=AGE, height=height, formula=formula)
    with refusal:
        public_design(schema, "y")


def test_a_number_needs_a_public_scale():
    with refused("predictor-without-scale", other="age", name="y"):
        public_design(schema_of(age=Column(role="public")), "y")
    free = schema_of(age=Column(role="public", scale=(50, 25)), formula="~ sqrt(age)")
    with refused("formula-values-of-schema"):
        public_design(free, "y").matrix({"age": [-1.0]})


@given(
    rows=st.lists(
        st.tuples(st.integers(1, 2), st.integers(1, 3), st.floats(0, 100)), min_size=1, max_size=8
    ),
    formula=st.sampled_from([None, *FORMULAS, "~ I(age^2):sex", "~ factor(town)"]),
    data=st.data(),
)
@settings(max_examples=80)
def test_a_row_is_coded_from_its_own_values_alone(rows, formula, data):
    design = public_design(schema_of(sex=SEX, town=TOWN, age=AGE, formula=formula), "y")

    def made(some):
        return design.matrix(dict(zip(("sex", "town", "age"), np.array(some).T, strict=True)))

    place = data.draw(st.integers(0, len(rows) - 1))
    assert made(rows)[place].tolist() == made([rows[place]])[0].tolist()
    assert made(rows).shape[1] == len(design.names)
