"""Bad input of risks, weights, utility, inference: what is wrong, which column, what to do."""

import dataclasses
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
    ("datasets", "formula", "key"),
    [
        (TABLE, "y ~ x", "datasets-not-tables"),
        ([TABLE, TABLE], "y ~ z", "columns-lacking"),
        ([TABLE, TABLE.drop(columns="x")], "y ~ x", "columns-lacking"),
        ([TABLE.fillna(np.inf), TABLE], "y ~ k", "column-missing-at-rows"),
        ([TABLE, TABLE], "g ~ x", "in-fit"),
        ([TABLE, 3], "y ~ x", "in-fit"),
    ],
)
def test_regressions_on_tables(datasets, formula, key):
    with refused(key):
        vws.combine_formula(datasets, formula)


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
NESTED = {"attribute_risk", "interval_overlap", "from_log_lik", "scalar_weights"}


def called(name, changes):
    """What the function gives where some good arguments, by place or name, are others."""
    positional, named = GOOD[name]
    changes = dict(changes)
    given = [changes.pop(k, value) for k, value in enumerate(positional)]
    if name == "bootstrap_interval":
        given.insert(1, changes.pop("statistic", lambda sample: float(sample[0])))
    return getattr(vws, name)(*given, **{**named, **changes})


NAN, INF = np.nan, np.inf
NOT_EPSILON = "own-epsilon-not-positive"
REFUSED = [
    ("bootstrap_interval", {0: []}, "no-dataset"),
    ("bootstrap_interval", {0: Y}, "not-a-list-of-datasets"),
    ("bootstrap_interval", {0: [Y, [NAN]]}, "values-missing-or-infinite"),
    ("bootstrap_interval", {"n": 0}, "not-a-whole-number"),
    ("bootstrap_interval", {"replicates": 0}, "not-a-whole-number"),
    ("bootstrap_interval", {"level": 1.0}, "not-strictly-between-0-and-1"),
    ("bootstrap_interval", {"statistic": "mean"}, "statistic-not-a-function"),
    *(
        ("bootstrap_interval", {"statistic": wrong}, "statistic-not-finite")
        for wrong in (lambda _: "a", lambda x: x, lambda _: None, lambda _: INF, lambda _: NAN)
    ),
    *(("censored_share", {"epsilon": wrong}, NOT_EPSILON) for wrong in (0.0, NAN, -INF)),
    ("censored_share", {1: [1.0, 0.5]}, "unequal-lengths"),
    ("censored_share", {1: [1.0, 1.5, 0.0]}, "outside-0-to-1"),
    ("censored_share", {"saturated": [0.0, 0.0]}, "unequal-lengths"),
    ("censored_share", {"saturated": [0.0, 0.0, INF]}, "values-missing-or-infinite"),
    ("clamp_log_likelihood", {0: Y}, "log-lik-shape"),
    ("clamp_log_likelihood", {1: [1.0, 0.5]}, "unequal-lengths"),
    ("clamp_log_likelihood", {1: [1.0, 1.5, 0.0]}, "outside-0-to-1"),
    ("clamp_log_likelihood", {"saturated": [0.0, 0.0]}, "unequal-lengths"),
    ("clamp_log_likelihood", {"saturated": [0.0, 0.0, INF]}, "values-missing-or-infinite"),
    ("clamp_log_likelihood", {"epsilon": "five"}, "not-a-number"),
    ("combine", {0: 1.0, 1: 1.0}, "too-few-estimates"),
    ("combine", {0: [1.0], 1: [1.0]}, "too-few-estimates"),
    ("combine", {1: [1.0, -1.0, 1.0]}, "variances-negative"),
    ("combine", {1: [1.0]}, "estimates-and-variances"),
    ("combine", {"kind": "half"}, "not-a-choice"),
    ("combine", {"size_ratio": 0.0}, "not-above-0"),
    *(("downscale", {"epsilon": wrong}, NOT_EPSILON) for wrong in (0.0, NAN)),
    ("downscale", {0: [0.5]}, "unequal-lengths"),
    ("downscale", {0: [0.5, 2.0, 1.0]}, "outside-0-to-1"),
    *(("downscale", {1: [1.0, wrong, 1.0]}, "by-record-values") for wrong in (-2.0, NAN)),
    ("ecdf_utility", {1: []}, "no-dataset"),
    *(
        ("ecdf_utility", {1: single}, "not-a-list-of-datasets")
        for single in (None, Y, np.ones(3), pd.Series(Y, index=[5, 6, 7]), pl.Series(Y))
    ),
    ("ecdf_utility", {1: [["a", "b"]]}, "values-not-numeric"),
    ("ecdf_utility", {1: [Y, [NAN]]}, "values-missing-or-infinite"),
    ("identification_risk", {"radius_kind": "relative"}, "not-a-choice"),
    ("identification_risk", {"known": pl.LazyFrame({"town": list("aba")})}, "known-is-lazy"),
    ("identification_risk", {"known": pd.Series([{"a": 1}] * 3)}, "known-of-lists"),
    ("interval_overlap", {0: (1.0, 2.0, 3.0)}, "interval-shape"),
    ("interval_overlap", {0: [[1.0, 2.0]], 1: [[1.0, 2.0]] * 2}, "intervals-differ-in-number"),
    ("interval_overlap", {1: (2.0, 2.0)}, "interval-ends"),
    ("interval_overlap", {0: (-1e308, 1e308)}, "interval-length"),
    *(("joint_bounds", {0: wrong}, "log-liks-not-a-list") for wrong in ([], 3.0)),
    ("joint_bounds", {0: [LOG_LIK, [[1.0]]]}, "unequal-lengths"),
    ("joint_bounds", {0: [Y]}, "log-lik-shape"),
    ("joint_bounds", {"weights": [0.5]}, "weights-shape"),
    ("joint_bounds", {"weights": [[0.5] * 3] * 3}, "weights-shape"),
    ("joint_bounds", {"weights": [0.5, 1.5, 1.0]}, "outside-0-to-1"),
    ("joint_bounds", {"weights": [0.5, NAN, 1.0]}, "values-missing-or-infinite"),
    ("lipschitz_bounds", {"method": "loo"}, "not-a-choice"),
    ("lipschitz_bounds", {"threshold": 0.0}, "threshold-range"),
    ("lipschitz_bounds", {0: [[-INF, -1.0]], "method": "leave_one_out"}, "leave-one-out-infinite"),
    ("lipschitz_weights", {0: [[-1.0, -1.0]]}, "bounds-all-equal"),
    ("lipschitz_weights", {0: [[-INF, NAN]]}, "no-finite-record"),
    ("lipschitz_weights", {"c": -1.0}, "negative-number"),
    ("lipschitz_weights", {"g": NAN}, "not-finite"),
    ("match_risk", {"ball": "half"}, "not-a-choice"),
    ("pairwise_weights", {"c": -1.0}, "negative-number"),
    ("pairwise_weights", {"singletons": "drop"}, "not-a-choice"),
    *(("quantile", {1: wrong}, "p-range") for wrong in (1.01, [0.5, -0.1])),
    ("quantile", {0: [1.0, NAN]}, "quantile-of-missing"),
    ("reweight", {0: [0.5]}, "unequal-lengths"),
    ("reweight", {0: [0.5, 2.0, 1.0]}, "outside-0-to-1"),
    ("reweight", {1: [1.0, -2.0, 1.0]}, "by-record-negative"),
    ("reweight", {1: [1.0, INF, 1.0]}, "values-missing-or-infinite"),
    *(("reweight", {"k": wrong}, "not-strictly-between-0-and-1") for wrong in (1.0, 0.0)),
    ("risk_summary", {"policy": -1.0}, "not-above-0"),
    *(("risk_weights", {0: wrong}, "risk-range") for wrong in ([0.5, 1.25], [0.5, None])),
    ("scalar_weights", {"n": 0}, "not-a-whole-number"),
    ("scalar_weights", {"target": 0.0}, "not-above-0"),
    ("scalar_weights", {"unweighted": INF}, "not-finite"),
    ("topcode", {"value": None}, "value-or-quantile"),
    ("topcode", {"quantile": 0.5}, "value-or-quantile"),
    ("topcode", {"value": None, "quantile": 1.0}, "not-strictly-between-0-and-1"),
    ("topcode", {"value": INF}, "not-finite"),
    ("utility_table", {1: []}, "no-dataset"),
    ("utility_table", {1: Y}, "not-a-list-of-datasets"),
    ("utility_table", {1: [Y, [NAN]]}, "values-missing-or-infinite"),
    ("utility_table", {"probabilities": [0.5, 1.5]}, "probabilities-range"),
    ("utility_table", {0: ["a", "b"]}, "values-not-numeric"),
    *(("weighted_epsilon_weights", {"epsilon": wrong}, NOT_EPSILON) for wrong in (0.0, NAN)),
    ("weighted_epsilon_weights", {1: [1.0]}, "unequal-lengths"),
    ("weighted_epsilon_weights", {0: [0.5, 2.0, 1.0]}, "outside-0-to-1"),
    *(
        ("weighted_epsilon_weights", {1: [1.0, wrong, 1.0]}, "by-record-values")
        for wrong in (-2.0, NAN)
    ),
    ("whack_a_mole", {0: [0.1, 1.5, 0.2]}, "record-outside-0-to-1"),
    ("whack_a_mole", {1: [0.1]}, "unequal-lengths"),
    ("whack_a_mole", {1: [0.1, NAN, 0.2]}, "values-missing-or-infinite"),
    ("whack_a_mole", {"rise": 0.0}, "not-above-0"),
]


@pytest.mark.parametrize(("name", "changes", "key"), REFUSED)
def test_what_a_function_refuses(name, changes, key):
    with refused(key):
        called(name, changes)


KINDS = {
    "pandas": lambda v: pd.Series(v, index=[2, 2, *range(2, len(v))]),
    "polars": pl.Series,
    "tuple": tuple,
    "array": np.array,
}
FRAMES = {"pandas": lambda v: pd.DataFrame(v, index=[3] * len(v)), "polars": pl.DataFrame}
FRAMES["polars"] = lambda v: pl.DataFrame(v, orient="row")


def of_kind(value, kind):
    """The columns within a value, and log-likelihoods (S, N), in that kind."""
    if value == LOG_LIK:
        return FRAMES.get(kind, np.array)(value)
    if isinstance(value, list) and len(value) > 1 and isinstance(value[0], float):
        return KINDS[kind](value)
    return [of_kind(one, kind) for one in value] if isinstance(value, list) else value


def plain(found):
    if dataclasses.is_dataclass(found):
        return {one.name: plain(getattr(found, one.name)) for one in dataclasses.fields(found)}
    return np.asarray(found).tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in GOOD if name not in NESTED])
def test_columns_of_any_kind_give_the_same(name, kind):
    positional, named = GOOD[name]
    places = {**dict(enumerate(positional)), **named}
    changes = {at: of_kind(value, kind) for at, value in places.items() if at != "bins"}
    np.testing.assert_equal(plain(called(name, changes)), plain(called(name, {})))


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
