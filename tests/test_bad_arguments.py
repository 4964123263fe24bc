"""Bad input of risks, weights, utility, inference: what is wrong, which column, what to do."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pyvws as vws
from pyvws.errors import InputError

Y = [1.0, 2.0, 3.0]
KNOWN = pd.DataFrame({"urban": ["a", "b", "a"], "age": [1.0, np.nan, 2.0]})
TABLE = pd.DataFrame(
    {"y": [1.0, 2.0, 3.0, 5.0], "x": [1.0, 2.0, 4.0, 3.0], "g": list("abab"), "k": [1, None, 2, 3]}
)


def risk(y=Y, **options):
    return vws.identification_risk(y, **options)


def matches(y=Y, **options):
    return vws.match_risk(y, options.pop("synthetic", [Y]), **options)


def pairs(y=Y, **options):
    return vws.pairwise_weights(y, **{"singletons": "weight-one", **options})


CATEGORY = "must be numeric. A radius has no meaning for categories; put them in known=."
OF_MISSING = (
    "has missing values: a pattern needs all of them. Make missing a value of its own, or leave "
    "the column out."
)
OF_LENGTH = "Give the columns' values for all records."
NO_COLUMN = (
    "known must be one column of values, several of them, or a table. Leave it out when an "
    "intruder knows nothing."
)


@pytest.mark.parametrize("function", [risk, matches, pairs])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"radius": 0}, "radius must be above 0. Got 0."),
        ({"radius": "big"}, "radius must be a number. Got 'big'."),
        ({"y": ["a", "b", "c"]}, f"original {CATEGORY}"),
        ({"y": ["1", "2", "3"]}, f"original {CATEGORY}"),
        ({"y": [True, False, True]}, f"original {CATEGORY}"),
        ({"y": pl.Series("job", ["a", "b", "c"])}, f"original (column 'job') {CATEGORY}"),
        (
            {"y": pd.Series([1, 2, 3], dtype="category", name="job")},
            f"original (column 'job') {CATEGORY}",
        ),
        ({"y": pd.Series(pd.to_datetime(["2020-01-01"] * 3))}, f"original {CATEGORY}"),
        (
            {"y": [1.0, np.nan, 3.0]},
            "original has missing or infinite values: 1 (row 2). Remove or impute them first.",
        ),
        ({"known": KNOWN}, f"Known column 'age' {OF_MISSING}"),
        ({"known": pl.from_pandas(KNOWN)}, f"Known column 'age' {OF_MISSING}"),
        ({"known": pl.from_pandas(KNOWN).to_arrow()}, f"Known column 'age' {OF_MISSING}"),
        ({"known": {"age": KNOWN["age"]}}, f"Known column 'age' {OF_MISSING}"),
        ({"known": [KNOWN["urban"], KNOWN["age"]]}, f"Known column 'age' {OF_MISSING}"),
        ({"known": [["a", "b", "a"], ["a", None, "a"]]}, f"Known column 2 {OF_MISSING}"),
        (
            {"known": ["urban", "age"]},
            "Each known column needs one value for each record. Got 2 for 3 in known column 1. "
            + OF_LENGTH,
        ),
        (
            {"known": KNOWN[["urban"]].head(2)},
            "Each known column needs one value for each record. Got 2 for 3 in known column "
            "'urban'. " + OF_LENGTH,
        ),
        ({"known": "urban"}, NO_COLUMN),
        ({"known": []}, NO_COLUMN),
        ({"known": 3}, NO_COLUMN),
    ],
)
def test_risks_and_weights(function, arguments, message):
    with pytest.raises(InputError) as caught:
        function(**arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize("function", [risk, matches])
@pytest.mark.parametrize(
    ("synthetic", "message"),
    [
        (
            [Y, [1.0, 2.0]],
            "original and synthetic dataset 2 must have one entry for each record. Got 3 and 2. "
            "Give the same records in the same order.",
        ),
        ([["a", "b", "c"]], f"synthetic dataset 1 {CATEGORY}"),
        ([], "synthetic must hold at least one dataset. Got none."),
        (Y, "synthetic must be a list of datasets; put a single one in a list."),
        (5, "synthetic must be a list of datasets; put a single one in a list."),
        (
            pd.DataFrame({"y": Y}),
            "synthetic must be a list of datasets; put a single one in a list.",
        ),
        (
            [[1.0, np.nan, 3.0]],
            "synthetic dataset 1 has missing or infinite values: 1 (row 2). Remove or impute them "
            "first.",
        ),
    ],
)
def test_synthetic_datasets(function, synthetic, message):
    with pytest.raises(InputError) as caught:
        function(synthetic=synthetic)
    assert str(caught.value) == message


def test_known_tables_are_their_columns():
    columns = [KNOWN["urban"], pd.Series([1, 1, 2])]
    table = pd.DataFrame({"urban": columns[0], "size": columns[1]})
    expected = risk(known=columns).tolist()
    assert expected != risk(known=columns[0]).tolist()
    for known in (table, pl.from_pandas(table), pl.from_pandas(table).to_arrow(), dict(table)):
        assert risk(known=known).tolist() == expected


AT_LEAST_TWO = (
    "Combining rules need at least 2 datasets, since the spread of their estimates enters the "
    "variance. Got 1. Synthesize more datasets."
)
NO_SUCH = "formula names column 'z', which the table lacks. It has: 'y', 'x', 'g', 'k'."


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: vws.ecdf_utility(Y, None),
            "synthetic must be a list of datasets; put a single one in a list.",
        ),
        (
            lambda: vws.ecdf_utility(Y, [["a", "b"]]),
            "synthetic dataset 1 must be numeric. Got values that are not numbers; convert them "
            "first.",
        ),
        *(
            (
                lambda m=m: vws.combine(m, m),
                "Combining rules need the estimates of at least 2 datasets, since their spread "
                "enters the variance. Got 1. Synthesize more datasets.",
            )
            for m in (1.0, [1.0])
        ),
        (lambda: vws.combine_formula([TABLE], "y ~ x"), AT_LEAST_TWO),
        (
            lambda: vws.combine_formula(TABLE, "y ~ x"),
            "datasets must be a list of tables, one for each synthetic dataset.",
        ),
        (
            lambda: vws.combine_formula([TABLE, 3], "y ~ x"),
            "dataset 2: frame must be a pandas, polars or Arrow table. Got int.",
        ),
        (lambda: vws.combine_formula([TABLE, TABLE], "y ~ z"), f"dataset 1: {NO_SUCH}"),
        (lambda: vws.combine_formula([TABLE, TABLE], "z ~ x"), f"dataset 1: {NO_SUCH}"),
        (
            lambda: vws.combine_formula([TABLE, TABLE.drop(columns="x")], "y ~ x"),
            "dataset 2: formula names column 'x', which the table lacks. It has: 'y', 'g', 'k'.",
        ),
        (
            lambda: vws.combine_formula([TABLE.fillna(np.inf), TABLE], "y ~ k"),
            "dataset 1: Column 'k' has missing or infinite values: 1 (row 2). Remove or impute "
            "these records first.",
        ),
        (
            lambda: vws.combine_formula([TABLE, TABLE], "g ~ x"),
            "dataset 1: formula 'g' is not numeric (its type is String). Convert the column "
            "first: to 0 and 1, to 1, 2, 3 and so on, or to amounts without signs of a currency or "
            "commas. Or give a schema that names words such as N as missing.",
        ),
        (
            lambda: vws.combine_formula([TABLE, TABLE.assign(g=list("acac"))], "y ~ g"),
            "The design matrices of dataset 1 and dataset 2 have different columns: 2 columns are "
            "in one of the two alone. Give both tables the same levels, for example as categories.",
        ),
        (
            lambda: vws.whack_a_mole([0.1, 0.2], [0.1]),
            "unweighted and weighted must have one entry for each record. Got 2 and 1.",
        ),
        (
            lambda: vws.whack_a_mole([0.1, np.nan], [0.1, 0.2]),
            "unweighted has missing or infinite values: 1 (row 2). Remove or impute them first.",
        ),
        (
            lambda: vws.bootstrap_interval([Y], "mean", n=3, seed=1),
            "statistic must be a function of a sample, such as pyvws.r_numbers.rarith.mean.",
        ),
        *(
            (
                lambda wrong=wrong: vws.bootstrap_interval([Y], wrong, n=3, seed=1),
                "statistic must return a finite number for every sample. Check the statistic "
                "on a small dataset.",
            )
            for wrong in (lambda _: "a", lambda x: x, lambda _: None, lambda _: np.inf)
        ),
    ],
)
def test_utility_and_inference(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == message


LOG_LIK = [[-1.0, -2.0, -4.0], [-2.0, -3.0, -6.0]]
ALPHA = [1.0, 0.5, 0.25]
DELTA = [2.0, 4.0, 1.0]
HISTOGRAM = {"epsilon": 5.0, "range": (0.0, 8.0), "bins": 2, "noise": "seeded-float", "seed": 1}
GOOD = {
    "attribute_risk": (
        [[[[-1.0, -2.0]], [[-3.0, -1.0]]], [[-4.0], [-5.0]]],
        {"true": 0, "weights": [0.5], "prior": [1.0, 2.0]},
    ),
    "bootstrap_interval": ([[Y, Y]], {"n": 3, "replicates": 5, "seed": 1, "level": 0.9}),
    "censored_share": ([LOG_LIK, ALPHA], {"epsilon": 5.0}),
    "clamp_log_likelihood": ([LOG_LIK, ALPHA], {"epsilon": 5.0}),
    "combine": ([Y, DELTA], {"kind": "partial", "size_ratio": 1.0}),
    "downscale": ([ALPHA, DELTA], {"epsilon": 5.0}),
    "ecdf_utility": ([Y, [Y, Y]], {}),
    "from_log_lik": ([LOG_LIK, ALPHA], {"log_lik": "plain"}),
    "identification_risk": ([Y, [Y]], {"radius": 0.2, "radius_kind": "fixed", "known": ALPHA}),
    "interval_overlap": ([(0.0, 4.0), (3.0, 5.0)], {}),
    "inverse_weights": ([DELTA], {"t": 2.0, "power": 0.5}),
    "joint_bounds": ([[LOG_LIK, LOG_LIK]], {"weights": ALPHA}),
    "lipschitz_bounds": ([LOG_LIK], {"method": "direct", "threshold": 0.5}),
    "lipschitz_weights": ([LOG_LIK], {"c": 1.0, "g": 0.0, "threshold": 1.0, "map": "linear"}),
    "match_risk": ([Y, [Y]], {"radius": 0.2, "known": ALPHA, "ball": "open"}),
    "pairwise_weights": ([Y], {"radius": 0.2, "c": 1.0, "g": 0.0, "singletons": "weight-one"}),
    "three_way_weights": ([Y], {"radius": 0.2, "c": 1.0, "g": 0.0, "singletons": "weight-one"}),
    "four_way_weights": ([Y], {"radius": 0.2, "c": 1.0, "g": 0.0, "singletons": "weight-one"}),
    "perturbed_histogram": ([Y], HISTOGRAM),
    "quantile": ([Y, 0.5], {}),
    "reweight": ([ALPHA, DELTA], {"k": 0.9}),
    "risk_summary": ([ALPHA], {"policy": 0.5}),
    "risk_weights": ([ALPHA], {"c": 1.0, "g": 0.0}),
    "scalar_weights": ([], {"n": 3, "target": 3.0, "unweighted": 12.0}),
    "topcode": ([Y], {"value": 2.0}),
    "utility_table": ([Y, [Y]], {"probabilities": [0.5]}),
    "weighted_epsilon_weights": ([ALPHA, DELTA], {"epsilon": 5.0}),
    "whack_a_mole": ([ALPHA, ALPHA], {"rise": 0.25, "policy": 0.5}),
}
anything = (
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers(-3, 3)
    | st.just(10**400)
    | st.text(max_size=2)
    | st.just(np.datetime64("2020-01-01"))
    | st.just({})
)
SIZES = {"n", "replicates", "bins"}  # A large one is no mistake, but takes its time.
strange = anything | st.lists(anything | st.lists(anything, max_size=3), max_size=3)


@pytest.mark.parametrize("name", GOOD)
@given(data=st.data())
@settings(max_examples=60, derandomize=True)
def test_any_argument_is_taken_or_refused_in_words(name, data):
    positional, named = GOOD[name]
    place = data.draw(st.sampled_from([*range(len(positional)), *named]))
    value = data.draw(strange)
    assume(not (place in SIZES and isinstance(value, (int, float)) and value > 1000))
    changed, options = list(positional), dict(named)
    if isinstance(place, int):
        changed[place] = value
    else:
        options[place] = value
    if name == "bootstrap_interval":
        changed.insert(1, lambda sample: float(sample[0]))
    with suppress(InputError):
        getattr(vws, name)(*changed, **options)


def of_any_size(value):
    """Numbers as large and as small as there are, in the shape of a good value."""
    if isinstance(value, (list, tuple)):
        return st.tuples(*map(of_any_size, value)).map(list)
    if isinstance(value, (int, float)):
        return st.sampled_from([1.7e308, -1.7e308, 5e-324, 0.0, -0.0, 1.0]) | st.just(value)
    return st.just(value)


@pytest.mark.parametrize("name", GOOD)
@given(data=st.data())
@settings(max_examples=60, derandomize=True)
def test_numbers_of_any_size_are_taken_or_refused_without_a_warning(name, data):
    positional, named = GOOD[name]
    changed = [data.draw(of_any_size(value)) for value in positional]
    options = {
        key: value if key in SIZES or key == "seed" else data.draw(of_any_size(value))
        for key, value in named.items()
    }
    if name == "bootstrap_interval":
        changed.insert(1, lambda sample: float(sample[0]))
    with suppress(InputError):
        getattr(vws, name)(*changed, **options)


def test_known_lists_make_no_pattern():
    with pytest.raises(InputError, match="holds lists or records of several values"):
        risk(known=pd.Series([{"a": 1}, {"a": 1}, {"a": 2}]))
