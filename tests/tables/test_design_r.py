"""Design matrices against R's model.matrix: names and order the same, values too.

Dummies, products and squares are exact. Orthogonal polynomials come from another QR decomposition
and are compared to 1e-12; logarithms, roots and other powers come from another mathematical library
and are compared to four units in the last place.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from refusals import refused

from pyvws.errors import InputError
from pyvws.r import bridge
from pyvws.tables.design import model_matrix as design
from pyvws.tables.files.frame import open_frame
from pyvws.tables.schema.factors import number_label
from pyvws.tables.schema.formula import read_formula

pytestmark = pytest.mark.r

HERE = Path(__file__).parent
N = 60
BY_QR = re.compile(r"poly\(|\bo[.^]|scale\(")
BY_LIBRARY = re.compile(r"log|exp|sqrt|\^")


def seeded() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    levels = ["lo", "mid", "hi"]
    return pd.DataFrame(
        {
            "y": rng.normal(size=N),
            "x": rng.uniform(0.5, 9.0, N),
            "z": rng.normal(0.0, 2.0, N),
            "n": rng.permutation(np.tile([1, 2, 100_000], N // 3)),
            "f": rng.permutation(np.tile([0.1 + 0.2, -1.5, 100_000.0], N // 3)),
            "t": rng.permutation(np.tile(["b", "a", "c"], N // 3)),
            "s": rng.permutation(np.tile(["b", "B", "a", "ä"], N // 4)),
            "b": rng.permutation(np.tile([True, False], N // 2)),
            "c": pd.Categorical(rng.permutation(np.tile(levels, N // 3)), levels),
            "o": pd.Categorical(
                rng.permutation(np.tile(levels, N // 3)), [*levels[:2], "hi"], ordered=True
            ),
            "w": pd.Categorical(rng.permutation(np.tile(["p", "r"], N // 2)), ["p", "q", "r"]),
            "my group": rng.permutation(np.tile(["u", "v"], N // 2)),
            "my.x": rng.uniform(size=N),
            "_u": rng.uniform(size=N),
        }
    )


TABLE = seeded()


def compare(formula: str) -> tuple[int, int]:
    """Rank and width of a design that equals R's, whether or not it is of full rank."""
    # The package takes no column of 'y', R no left side: the same one-sided formula.
    theirs = bridge.call("design", "design_of", {"formula": formula, "data": TABLE}, folder=HERE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(design, "refuse_rank_deficient", lambda *_: None)
        ours = design.make_design(open_frame(TABLE), formula, outcome="y")
    assert list(ours.names) == [str(name[0]) for name in theirs["names"]]
    for name, mine, other in zip(ours.names, ours.matrix.T, theirs["matrix"].T, strict=True):
        if BY_QR.search(name):
            np.testing.assert_allclose(mine, other, rtol=0, atol=1e-12 * np.abs(other).max())
        elif BY_LIBRARY.search(name):
            np.testing.assert_allclose(mine, other, rtol=4 * 2.0**-52)
        else:
            np.testing.assert_array_equal(mine, other)
    return int(theirs["rank"][0]), len(ours.names)


FULL_RANK = [
    *("~ 1", "~ x", "~ t", "~ c + x", "~ b", "~ t + b + x", "~ s", "~ 0 + t", "~ t - 1"),
    *("~ x + 0 + b", "~ 0 + x + t + b", "~ -1 + x:t + b:n", "~ 0 + t:b", "~ t * b", "~ x * t"),
    *("~ t:x", "~ t + t:x", "~ b:x + t:x", "~ x:z", "~ t * b * c", "~ t * b * x"),
    *("~ (t + b + x)^2", "~ (t + b + x)**2 - t:b", "~ t / x", "~ b:t + t", "~ t + b:t"),
    *("~ poly(x, 3)", "~ poly( x,1 )", "~ poly(x, 2, raw = TRUE)", "~ poly(x, degree = 2) * t"),
    *("~ I(x^2)", "~ I( x**3 ) + I(x ^ 2)", "~ I((z+1)/2) + I(-x*2 - 1e5)", "~ I(2.50*x + 1e5)"),
    *("~ I(x > 3)", "~ I(t == 'a')", "~ log(x) + sqrt(x) + exp(z)", "~ log(x):t + t"),
    *("~ log(x, 2)", "~ log(x, base = 10) + b", "~ log(x, 3):t + log(x, my.x)", "~ factor(n)"),
    *("~ as.factor(n) + x", "~ factor(f)", "~ C(factor(n))", "~ C(c) + C(factor(t))"),
    *("~ factor(w)", "~ factor(b)", "~ as.numeric(b)", "~ relevel(c, ref = 'hi')"),
    *("~ relevel(factor(n), ref = '2') + x", "~ o", "~ o * b", "~ 0 + o", "~ scale(z)"),
    *("~ `my group` + my.x + `_u` + `x`", "~ log(`_u`) + `my group`:my.x", "~ I(my.x^2)"),
    *("~ I(x) + (z)", "~ abs(z) + floor(z) + ceiling(x)"),
]


@pytest.mark.parametrize("formula", FULL_RANK)
def test_named_formulas(formula: str) -> None:
    rank, width = compare(formula)
    assert rank == width
    assert design.make_design(open_frame(TABLE), formula, outcome="y").matrix.shape == (N, width)


@pytest.mark.parametrize("formula", ["~ w", "~ as.factor(w)", "~ t:b", "~ x + I(2 * x)"])
def test_formulas_of_too_many_columns(formula: str) -> None:
    """R drops such columns from a regression; here they are refused by name."""
    rank, width = compare(formula)
    assert rank < width
    with refused("design-rank-deficient"):
        design.make_design(open_frame(TABLE), formula, outcome="y")


ATOMS = st.sampled_from(
    ["x", "z", "t", "b", "c", "o", "factor(n)", "I(x^2)", "poly(z, 2)", "log(x)", "my.x", "C(c)"]
)


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from([" + ", " + ", ":", " * ", " / ", " - "])
    pairs = st.tuples(inner, operators, inner).map(lambda p: f"({p[0]}{p[1]}{p[2]})")
    # Of a sum without a term, (x - x) * z, R leaves nothing and formulaic leaves z.
    return pairs.filter(lambda e: read_formula(f"~ {e}").terms) | inner.map(lambda e: f"({e})^2")


@given(
    st.sampled_from(["{}", "0 + {}", "{} - 1", "1 + {}", "{} + 0"]),
    st.recursive(ATOMS, combined, max_leaves=6),
)
@settings(max_examples=150, derandomize=True)
def test_random_formulas(frame: str, inner: str) -> None:
    formula = f"~ {frame.format(inner)}"
    try:
        rank, width = compare(formula)
    except InputError as wrong:
        assume("leaves no column" not in str(wrong))
        raise
    if rank < width <= N:
        with refused("design-rank-deficient"):
            design.make_design(open_frame(TABLE), formula, outcome="y")


@given(
    st.lists(
        st.floats(-1e14, 1e14, allow_subnormal=False)
        | st.integers(-(10**6), 10**6).map(lambda v: v / 1000)
        | st.integers(0, 22).map(lambda v: 10.0**v),
        min_size=1,
        max_size=20,
    )
)
@settings(max_examples=60, derandomize=True)
def test_numbers_are_written_as_in_r(values: list[float]) -> None:
    written = bridge.call("design", "labels_of", {"values": np.array(values)}, folder=HERE)
    assert [number_label(value) for value in values] == [str(text[0]) for text in written]
