"""Tables of a few rows for property tests: text, codes, and numbers that may be missing."""

import hypothesis.strategies as st
import polars as pl

import pyvws as vws

SMALL = vws.Schema(
    columns={
        "g": vws.Column(model="nominal", levels=("a", "b", "c")),
        "k": vws.Column(model="nominal", levels=(0, 1, 2, 3)),
        "x": vws.Column(model="normal", missing=True),
    }
)
_ROWS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.none() | st.integers(-50, 50)),
    min_size=24,
    max_size=40,
)
_KINDS = {"g": pl.String, "k": pl.Int64, "x": pl.Float64}


def small_tables() -> st.SearchStrategy[pl.DataFrame]:
    """Tables of the columns of `SMALL`."""
    return _ROWS.map(lambda rows: pl.DataFrame(rows, schema=_KINDS, orient="row"))
