"""Bad input of risks, weights, utility, inference: what is wrong, which column, what to do."""

from contextlib import suppress

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from refusals import refused

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


@pytest.mark.parametrize("function", [risk, matches, pairs])
@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        ({"radius": 0}, refused("not-above-0")),
        ({"radius": "big"}, refused("not-a-number")),
        ({"y": ["a", "b", "c"]}, refused("balls-not-numeric")),
        ({"y": ["1", "2", "3"]}, refused("balls-not-numeric")),
        ({"y": [True, False, True]}, refused("balls-not-numeric")),
        ({"y": pl.Series("job", ["a", "b", "c"])}, refused("balls-not-numeric")),
        ({"y": pd.Series([1, 2, 3], dtype="category", name="job")}, refused("balls-not-numeric")),
        ({"y": pd.Series(pd.to_datetime(["2020-01-01"] * 3))}, refused("balls-not-numeric")),
        ({"y": [1.0, np.nan, 3.0]}, refused("values-missing-or-infinite")),
        ({"known": KNOWN}, refused("known-missing", label="'age'")),
        ({"known": pl.from_pandas(KNOWN)}, refused("known-missing", label="'age'")),
        ({"known": pl.from_pandas(KNOWN).to_arrow()}, refused("known-missing", label="'age'")),
        ({"known": {"age": KNOWN["age"]}}, refused("known-missing", label="'age'")),
        ({"known": [KNOWN["urban"], KNOWN["age"]]}, refused("known-missing", label="'age'")),
        ({"known": [["a", "b", "a"], ["a", None, "a"]]}, refused("known-missing", label="2")),
        ({"known": ["urban", "age"]}, refused("known-length")),
        ({"known": KNOWN[["urban"]].head(2)}, refused("known-length")),
        ({"known": "urban"}, refused("known-shape")),
        ({"known": []}, refused("known-shape")),
        ({"known": 3}, refused("known-shape")),
    ],
)
def test_risks_and_weights(function, arguments, refusal):
    with refusal:
        function(**arguments)


@pytest.mark.parametrize("function", [risk, matches])
@pytest.mark.parametrize(
    ("synthetic", "key"),
    [
        ([Y, [1.0, 2.0]], "balls-unequal-records"),
        ([["a", "b", "c"]], "balls-not-numeric"),
        ([], "no-dataset"),
        (Y, "not-a-list-of-datasets"),
        (5, "not-a-list-of-datasets"),
        (pd.DataFrame({"y": Y}), "not-a-list-of-datasets"),
        ([[1.0, np.nan, 3.0]], "values-missing-or-infinite"),
    ],
)
def test_synthetic_datasets(function, synthetic, key):
    with refused(key):
        function(synthetic=synthetic)


def test_known_tables_are_their_columns():
    columns = [KNOWN["urban"], pd.Series([1, 1, 2])]
    table = pd.DataFrame({"urban": columns[0], "size": columns[1]})
    expected = risk(known=columns).tolist()
    assert expected != risk(known=columns[0]).tolist()
    for known in (table, pl.from_pandas(table), pl.from_pandas(table).to_arrow(), dict(table)):
        assert risk(known=known).tolist() == expected


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        (lambda: vws.ecdf_utility(Y, None), refused("not-a-list-of-datasets")),
        (lambda: vws.ecdf_utility(Y, [["a", "b"]]), refused("values-not-numeric")),
        *((lambda m=m: vws.combine(m, m), refused("too-few-estimates")) for m in (1.0, [1.0])),
        (lambda: vws.combine_formula([TABLE], "y ~ x"), refused("too-few-datasets")),
        (lambda: vws.combine_formula(TABLE, "y ~ x"), refused("datasets-not-tables")),
        (lambda: vws.combine_formula([TABLE, 3], "y ~ x"), refused("in-fit", name="dataset 2")),
        (lambda: vws.combine_formula([TABLE, TABLE], "y ~ z"), refused("columns-lacking")),
        (lambda: vws.combine_formula([TABLE, TABLE], "z ~ x"), refused("columns-lacking")),
        (
            lambda: vws.combine_formula([TABLE, TABLE.drop(columns="x")], "y ~ x"),
            refused("columns-lacking"),
        ),
        (
            lambda: vws.combine_formula([TABLE.fillna(np.inf), TABLE], "y ~ k"),
            refused("column-missing-at-rows"),
        ),
        (lambda: vws.combine_formula([TABLE, TABLE], "g ~ x"), refused("in-fit", name="dataset 1")),
        (
            lambda: vws.combine_formula([TABLE, TABLE.assign(g=list("acac"))], "y ~ g"),
            refused("designs-differ"),
        ),
        (lambda: vws.whack_a_mole([0.1, 0.2], [0.1]), refused("unequal-lengths")),
        (
            lambda: vws.whack_a_mole([0.1, np.nan], [0.1, 0.2]),
            refused("values-missing-or-infinite"),
        ),
        (
            lambda: vws.bootstrap_interval([Y], "mean", n=3, seed=1),
            refused("statistic-not-a-function"),
        ),
        *(
            (
                lambda wrong=wrong: vws.bootstrap_interval([Y], wrong, n=3, seed=1),
                refused("statistic-not-finite"),
            )
            for wrong in (lambda _: "a", lambda x: x, lambda _: None, lambda _: np.inf)
        ),
    ],
)
def test_utility_and_inference(call, refusal):
    with refusal:
        call()


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
    with refused("known-of-lists"):
        risk(known=pd.Series([{"a": 1}, {"a": 1}, {"a": 2}]))
