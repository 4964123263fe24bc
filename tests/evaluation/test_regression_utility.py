"""A regression before and after: by groups, against its parts, a permuted column, and messages."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.evaluation.regression_utility import regression_utility

pytestmark = pytest.mark.runs  # seconds of work


def people(seed, n=400):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pl.DataFrame(
        {
            "x": x,
            "pay": 3.0 + 2.0 * x + rng.normal(size=n),
            "ill": rng.random(n) < 1 / (1 + np.exp(-x)),
            "visits": rng.poisson(np.exp(0.5 * x)),
        }
    )


PAIRS = st.tuples(st.integers(1, 6), st.integers(1, 6))


@given(st.tuples(PAIRS, PAIRS), st.lists(st.tuples(PAIRS, PAIRS), min_size=2, max_size=3))
@settings(max_examples=25, derandomize=True)
def test_groups_against_their_means_and_shares(first, others):
    """Of two groups: least squares has their means, a logit their log odds."""

    def table(counts):
        (a, b), (c, d) = counts
        y = [0] * a + [1] * b + [0] * c + [1] * d
        return pl.DataFrame({"g": [0] * (a + b) + [1] * (c + d), "y": y})

    tables = [table(one) for one in others]
    for family, of in (
        ("gaussian", lambda a, b: b / (a + b)),
        ("poisson", lambda a, b: np.log(b / (a + b))),
        ("logistic", lambda a, b: np.log(b / a)),
    ):
        found = regression_utility(table(first), tables, "y ~ g", family=family)
        assert found.names == ("(Intercept)", "g")
        assert found.original[0] == pytest.approx(of(*first[0]), abs=1e-7)
        assert found.original.sum() == pytest.approx(of(*first[1]), abs=1e-7)
        mean = np.mean([of(*one[0]) for one in others])
        assert found.synthetic[0] == pytest.approx(mean, abs=1e-7)
        assert ((found.overlap >= 0.0) & (found.overlap <= 1.0)).all()


@pytest.mark.parametrize(
    ("formula", "family"),
    [("pay ~ x", "gaussian"), ("ill ~ x", "logistic"), ("visits ~ x", "poisson")],
)
def test_second_samples_overlap_and_a_permuted_column_does_not(formula, family):
    table, others = people(1), [people(seed) for seed in (2, 3, 4)]
    found = regression_utility(table, others, formula, family=family)
    assert found.overlap.min() > 0.3
    combined = vws.combine_formula(others, formula, family=family)
    assert found.synthetic_interval[1].tolist() == list(combined["x"].interval())
    assert found.overlap[1] == vws.interval_overlap(
        found.original_interval[1], found.synthetic_interval[1]
    )
    rng = np.random.default_rng(5)
    permuted = [one.with_columns(x=pl.Series(rng.permutation(one["x"]))) for one in others]
    assert regression_utility(table, permuted, formula, family=family).overlap[1] == 0.0


def test_what_does_not_fit_is_named():
    table = people(1, 40)
    with refused("logistic-outcome"):
        regression_utility(table, [table, table], "pay ~ x", family="logistic")
    with refused("design-rank-deficient"):
        regression_utility(table, [table, table], "visits ~ x + I(2 * x)", family="poisson")
    with refused("too-few-datasets"):
        regression_utility(table, [table], "pay ~ x")
    with refused("not-a-choice", name="family"):
        regression_utility(table, [table, table], "pay ~ x", family="gamma")


def test_a_dot_is_every_other_column_and_a_notebook_shows_the_coefficients():
    tables = [people(seed).drop("ill") for seed in (1, 2, 3)]
    every = regression_utility(tables[0], tables[1:], "log(visits + 1) ~ .")
    named = regression_utility(tables[0], tables[1:], "log(visits + 1) ~ x + pay")
    assert every.names == named.names == ("(Intercept)", "x", "pay")
    assert every.overlap.tolist() == named.overlap.tolist()
    found = regression_utility(tables[0], tables[1:], "pay ~ .")
    assert found.names == ("(Intercept)", "x", "visits")
    shown = found._repr_html_()
    assert f"<td>x</td><td>{found.original[1]:.5g}</td>" in shown
    assert f"<td>{found.overlap[2]:.5g}</td></tr></tbody>" in shown


def test_the_command_prints_both_intervals(tmp_path: Path) -> None:
    files = [str(tmp_path / f"{seed}.csv") for seed in (1, 2, 3)]
    for seed, file in enumerate(files, start=1):
        people(seed).write_csv(file)
    words = ["utility", *files, "--regression", "visits ~ x", "--family", "poisson"]
    made = CliRunner().invoke(app, words)
    assert made.exit_code == 0, made.output
    found = regression_utility(people(1), [people(2), people(3)], "visits ~ x", family="poisson")
    for number in (*found.original, *found.synthetic):
        assert f"{number:.5g}" in made.output
    told = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert told["x"]["overlap"] == pytest.approx(found.overlap[1], abs=1e-6)
