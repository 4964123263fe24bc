"""Regressions leave out records without a value: they are those of the other records alone."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import pyvws as vws
from pyvws.evaluation.original_and_datasets import complete_records
from pyvws.evaluation.regression_utility import regression_utility
from pyvws.evaluation.regressions import fit_formula

pytestmark = pytest.mark.runs  # seconds of work

SCHEMA = vws.Schema(
    {
        "x": vws.Column(model="normal", range=[-9, 9], missing=["N", "99"]),
        "g": vws.Column(role="public", levels=["a", "b"], missing="z"),
        "day": vws.Column(
            model="normal", days_since="2000-01-01", range=["1999-01-01", "2001-01-01"]
        ),
    }
)
CODES = {"x": ("N", "99", None), "g": ("z", None), "day": (None,), "y": (None,)}
FRAMES = (
    pl.from_pandas,
    lambda table: table.set_axis(np.arange(len(table))[::-1]),
    lambda table: pl.from_pandas(table).to_arrow(),
)


def table_of(seed: int, gone: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A table with missing values as a file has them, and its complete records as numbers."""
    rng = np.random.default_rng(seed)
    n = len(gone)
    day = rng.integers(-200, 200, n)
    whole = pd.DataFrame(
        {
            "y": rng.normal(size=n),
            "x": rng.normal(size=n),
            "g": np.resize(["a", "b"], n),
            "day": day.astype(float),
        }
    )
    cells = whole.astype({"x": str}).astype(object)
    cells["day"] = (np.datetime64("2000-01-01") + day).astype(str)
    for place, name in enumerate(whole.columns):
        codes = rng.choice(np.array(CODES[name], dtype=object), n)
        cells[name] = np.where(gone[:, place], codes, cells[name])
    cells["y"] = cells["y"].astype(float)
    return cells, whole[~gone.any(axis=1)]


@given(st.integers(0, 999), st.sampled_from(FRAMES), st.floats(0.0, 0.2))
@settings(max_examples=12, derandomize=True)
def test_a_fit_is_that_of_the_complete_records(seed, made, share):
    gone = np.random.default_rng(seed).random((40, 4)) < share
    cells, complete = table_of(seed, gone)
    for formula in ("y ~ x + g + day", "y ~ ."):
        found = fit_formula(made(cells), formula, schema=SCHEMA)
        wanted = fit_formula(complete, formula)
        assert found.names == wanted.names
        assert found.coefficients.tolist() == wanted.coefficients.tolist()
        assert found.variances.tolist() == wanted.variances.tolist()
        assert (found.records, found.dropped) == (len(complete), 40 - len(complete))
    kept = complete_records(nw.from_native(made(cells)), CODES, SCHEMA)
    assert kept["x"].to_list() == complete["x"].to_list()
    others = ~gone[:, [0, 1]].any(axis=1)
    assert fit_formula(made(cells), "y ~ x", schema=SCHEMA).records == others.sum()


def test_both_results_count_what_they_left_out():
    tables, complete = zip(
        *(table_of(seed, np.random.default_rng(seed).random((60, 4)) < 0.1) for seed in (1, 2, 3)),
        strict=True,
    )
    gone = tuple(60 - len(one) for one in complete)
    assert min(gone) > 0
    formula = "y ~ x + g + day"
    found = regression_utility(tables[0], tables[1:], formula, schema=SCHEMA)
    assert (found.dropped, found.dropped_synthetic) == (gone[0], gone[1:])
    wanted = regression_utility(complete[0], complete[1:], formula)
    assert found.original_interval.tolist() == wanted.original_interval.tolist()
    combined = vws.combine_formula(list(tables), formula, schema=SCHEMA)
    assert combined == vws.combine_formula(list(complete), formula)
    assert combined.dropped == gone


def test_a_missing_level_leaves_no_column():
    kind = pl.Enum(["a", "b", "z"])
    cells, _ = table_of(4, np.zeros((30, 4), dtype=np.bool_))
    cells.loc[3, "g"] = "z"
    table = pl.from_pandas(cells).with_columns(pl.col("g").cast(kind))
    found = fit_formula(table, "y ~ g", schema=SCHEMA)
    assert (found.names, found.dropped) == (("(Intercept)", "gb"), 1)


def test_no_record_that_is_complete_is_told():
    cells, _ = table_of(4, np.ones((30, 4), dtype=np.bool_))
    with refused("no-complete-record", frame=30):
        fit_formula(cells, "y ~ x", "dataset", schema=SCHEMA)
