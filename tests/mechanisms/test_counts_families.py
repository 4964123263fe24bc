"""Columns of noisy counts that their own families give: fits, probabilities of cells, numbers."""

import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from runs import released
from scipy import special, stats
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.mechanisms.counts.best_file import best_file
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.workload import Workload
from pyvws.models.public_cells import cell_probabilities, drawn_in_cells, open_ends
from pyvws.models.registry import find_model
from pyvws.posterior.cell_family import CountedTable, fitted_family

pytestmark = [pytest.mark.runs, pytest.mark.draws]

A = vws.Column(model="table", levels=("0", "1"), predictors=[])


def number(model, low, cuts, high, **more):
    return vws.Column(model=model, range=(low, high), cuts=cuts, **{"predictors": ["a"], **more})


def category(model, levels, **more):
    return vws.Column(model=model, levels=tuple("012"[:levels]), predictors=["a"], **more)


FAMILIES = {
    "logistic": category("logistic", 2),
    "ordinal": category("ordinal", 3),
    "nominal": category("nominal", 3),
    "table": category("table", 3, settings={"concentration": 1.0}),
    "normal": number("normal", -9, (-1, 1), 9),
    "mass": number("normal", 0, (2, 4), 90, outcome_scale="log", mass=(0,)),
    "truncated-normal": number("truncated-normal", -1, (-0.5, 0.5), 1, predictors=[]),
    "gamma": number("gamma", 0, (1, 3), 9, predictors=[]),
    "beta": number("beta", 0, (0.3, 0.7), 1, predictors=[]),
    "poisson": number("poisson", 0, (1, 3), 9, predictors=[]),
    "negative-binomial": number("negative-binomial", 0, (1, 3), 9),
}


def counted(column: vws.Column) -> Workload:
    return vws.NoisyCounts(epsilon=1, measure=["a:b"], model="conditionals").workload(
        vws.Schema({"a": A, "b": column})
    )


def _drawn(name: str, a: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Codes (n,) of a column of the family, which depends on a where it has a predictor."""
    eta = 0.8 * a - 0.2 if FAMILIES[name].predictors else np.full(len(a), 0.1)
    logistic, p = rng.logistic(size=len(a)), special.expit(eta)
    drawn = {
        "logistic": lambda: rng.random(len(a)) < p,
        "ordinal": lambda: np.digitize(eta + logistic, [0.0, 1.0]),
        "nominal": lambda: np.where(rng.random(len(a)) < 0.4, 0, 1 + (rng.random(len(a)) < p)),
        "table": lambda: np.where(rng.random(len(a)) < 0.4, 0, 1 + (rng.random(len(a)) < p)),
        "normal": lambda: np.digitize(eta + rng.normal(size=len(a)), [-1, 1]),
        "mass": lambda: (
            (rng.random(len(a)) < p)
            * (1 + np.digitize(np.exp(eta + rng.normal(size=len(a))), [2, 4]))
        ),
        "truncated-normal": lambda: np.digitize(rng.triangular(-1, 0.2, 1, len(a)), [-0.5, 0.5]),
        "gamma": lambda: np.digitize(rng.gamma(2.0, 1.0, len(a)), [1, 3]),
        "beta": lambda: np.digitize(rng.beta(2.0, 2.0, len(a)), [0.3, 0.7]),
        "poisson": lambda: np.digitize(rng.poisson(np.exp(eta)), [1, 3]),
        "negative-binomial": lambda: np.digitize(
            rng.poisson(np.exp(eta) * rng.gamma(2, 0.5, len(a))), [1, 3]
        ),
    }
    return np.asarray(drawn[name](), dtype=np.int32)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_fitted_to_its_counts_has_them(name):
    rng, table, n = np.random.default_rng(2), counted(FAMILIES[name]), 4_000
    a = rng.integers(0, 2, n)
    x = np.column_stack([a, _drawn(name, a, rng)]).astype(np.int32)
    counts = table.counts(x) + np.rint(rng.normal(0, 8, len(table.possible))).astype(np.int64)
    noisy = Measurements(
        table=table, counts=counts, scales=np.array([8.0]), laplace=False, records=n
    )
    made = best_file(noisy, classes=1, seed=3)
    assert np.abs(table.counts(made.codes[0]) - table.counts(x)).max() < 100  # Of 4,000.
    if "b" in made.numbers[0]:
        low, high = (end[made.codes[0][:, 1]] for end in table.columns["b"].ends)
        own = made.numbers[0]["b"]
        inside = np.isfinite(own)
        assert ((low <= own) & (own <= high))[inside].all()
        assert (inside == (made.codes[0][:, 1] >= table.columns["b"].size - 3)).all()


def test_counts_that_stand_out_of_the_noise_go_before_a_wrong_family():
    """Most numbers lie far out, which no normal distribution has."""
    rng, table, n = np.random.default_rng(4), counted(FAMILIES["normal"]), 4_000
    a = rng.integers(0, 2, n)
    b = np.where(a == 0, rng.choice([0, 2], n), rng.choice(3, n, p=[0.45, 0.1, 0.45]))
    x = np.column_stack([a, b]).astype(np.int32)
    counts = table.counts(x) + np.rint(rng.normal(0, 8, len(table.possible))).astype(np.int64)
    noisy = Measurements(
        table=table, counts=counts, scales=np.array([8.0]), laplace=False, records=n
    )
    made = best_file(noisy, classes=1, seed=3)
    assert np.abs(table.counts(made.codes[0]) - table.counts(x)).max() < 60


@settings(max_examples=10)
@given(st.sampled_from(["logistic", "nominal", "normal", "mass"]), st.integers(0, 2**32 - 1))
def test_probabilities_of_a_fit_add_up_to_1_whatever_the_counts(name, seed):
    rng, table = np.random.default_rng(seed), counted(FAMILIES[name])
    own, size = table.given["b"].family, table.columns["b"].size
    noisy = np.rint(rng.normal(20, 200, (2, size)))
    of_pair = CountedTable(np.arange(2), np.arange(size), noisy, 200.0**2)
    fitted = fitted_family(own, np.arange(2), np.array([30.0, 50.0]), [of_pair])
    assert (fitted.probabilities >= 0.0).all()
    np.testing.assert_allclose(fitted.probabilities.sum(axis=1), 1.0, atol=1e-6)


LAWS = {
    "normal": ({"sigma": 0.7}, lambda eta: stats.norm(eta, 0.7)),
    "gamma": ({"shape": 2.5}, lambda eta: stats.gamma(2.5, scale=math.exp(eta) / 2.5)),
    "beta": (
        {"kappa": 4.0},
        lambda eta: stats.beta(4.0 * special.expit(eta), 4.0 * special.expit(-eta)),
    ),
    "poisson": ({}, lambda eta: stats.poisson(math.exp(eta))),
    "negative-binomial": ({"phi": 1.5}, lambda eta: stats.nbinom(1.5, special.expit(0.4055 - eta))),
}


@pytest.mark.parametrize("name", LAWS)
def test_cells_have_the_mass_of_the_law_and_numbers_are_drawn_from_it(name):
    """Also in cells beyond the range, in wide ones, and in the far tail."""
    family, (scale, law) = find_model(name), LAWS[name]
    draw = {key: np.array([value]) for key, value in scale.items()}
    whole = name in ("poisson", "negative-binomial")
    ends = np.array([-1.0, 0, 1, 2, 5, 150] if whole else [0, 0.1, 0.3, 0.5, 0.9, 1])
    low, high = open_ends(family, ends[:-1].copy(), ends[1:].copy())
    etas = np.array([-1.0, 0.3, 2.0])
    found = cell_probabilities(family, draw, etas, low, high)
    rng, n = np.random.default_rng(1), 4000
    for row, eta in zip(found, etas, strict=True):
        below = law(eta).cdf(ends)
        below[0], below[-1] = 0.0, 1.0
        np.testing.assert_allclose(row, np.diff(below), atol=2e-5)  # The law's odds are rounded.
        for c in (0, 2, 4):
            drawn = drawn_in_cells(
                family, draw, *(np.full(n, x) for x in (eta, low[c], high[c])), rng
            )
            assert ((drawn > low[c]) & (drawn <= high[c])).all()
            at = np.quantile(drawn, 0.5)
            share = (law(eta).cdf(at) - below[c]) / np.diff(below)[c]
            nearly = (law(eta).cdf(at - 1) - below[c]) / np.diff(below)[c] if whole else share
            assert nearly - 0.04 < 0.5 < share + 0.04


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_far_beyond_its_range_a_truncated_normal_has_the_nearer_end(side):
    """Where the mass of the whole range is too small for a double."""
    family, draw = find_model("truncated-normal", range=(-1.0, 1.0)), {"sigma": np.array([0.1])}
    low, high = np.array([-1.0, -0.5, 0.5]), np.array([-0.5, 0.5, 1.0])
    eta = np.array([6.0 * side])
    shares = cell_probabilities(family, draw, eta, low, high)[0]
    np.testing.assert_allclose(shares[:: int(side)], [0.0, 0.0, 1.0], atol=1e-9)
    rng, n = np.random.default_rng(1), 500
    drawn = side * drawn_in_cells(family, draw, *(np.full(n, x) for x in (eta[0], -0.5, 0.5)), rng)
    fall = (6.0 - 0.5) / 0.1**2  # Of the log density at the nearer end.
    assert ((drawn <= 0.5) & (drawn > 0.4)).all()
    assert abs((0.5 - drawn).mean() * fall - 1.0) < 0.2


def test_numbers_in_a_wide_cell_follow_the_family_and_the_release_is_made_again(tmp_path):
    rng, n = np.random.default_rng(2), 400
    sex = rng.choice(["f", "m"], n)
    size = np.clip(np.where(sex == "f", 45, 60) + 5 * rng.standard_normal(n), 1, 99).round(1)
    size = np.where(sex == "m", np.where(rng.random(n) < 0.3, "0", size.astype(str)), size)
    table = pl.DataFrame({"sex": sex, "size": size.astype(str)})
    schema = vws.Schema(
        {
            "sex": vws.Column(model="logistic", levels=("f", "m")),
            "size": vws.Column(
                model="normal",
                range=(0, 100),
                cuts=(45, 50, 60),
                decimals=1,
                mass=(0,),
                settings={"outcome_centre": 50, "outcome_unit": 10},
            ),
        }
    )
    words = "--mechanism noisy-counts --epsilon 20 --tables size --datasets 2 --seed 3"
    released(tmp_path, table, schema, words)
    made = pl.read_csv(tmp_path / "out/release/synthetic-02.csv", infer_schema=False)
    for one, mean in (("f", 45), ("m", 60)):
        sizes = made.filter((pl.col("sex") == one) & ~pl.col("size").is_in(["0", "0.0"]))
        numbers = sizes["size"].cast(pl.Float64)
        assert abs(numbers.mean() - mean) < 2  # The middles of the outer cells are 22.5 and 80.
        assert 3 < numbers.std() < 8
    ended = CliRunner().invoke(app, ["reproduce", str(tmp_path / "out"), "--json"])
    assert ended.exit_code == 0, ended.output
    assert all(json.loads(ended.output)["same"].values())


@pytest.mark.parametrize(
    "column",
    [
        number("normal-mixture", 0, (1, 3), 9),
        number("normal", -9, (-1, 3), 9, outcome_scale="log"),
        number("gamma", -9, (-1, 3), 9),
        vws.Column(model="nominal", levels=("a1", "a2", "b1", "b2"), group_by=1),
        vws.Column(model="nominal", levels=("0", "1"), predictors=["c"]),
    ],
)
def test_families_without_probabilities_of_cells_are_refused_by_a_key(column):
    lookup = vws.Column(lookup={"a": {"0": 1.0, "1": 2.0}}, range=(1, 2))
    columns = {"a": A, "c": lookup, "b": column}
    with refused("counts-family"):
        vws.Synthesizer(
            schema=vws.Schema(columns),
            mechanism=vws.NoisyCounts(epsilon=1, tables=["b"], measure="pairs"),
        )
