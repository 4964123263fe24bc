"""From a table to a release for each family: kinds of columns, caveats, what a radius refuses."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from refusals import refused
from run_here import run_here
from runs import FEW, release_of

import pyvws as vws

# Releases of few draws, of which no test asks whether the chains agree.
pytestmark = pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
_N = 120


def _columns() -> dict[str, Any]:
    rng = np.random.default_rng(4)
    urban = rng.random(_N) < 0.6
    return {
        "urban": urban,
        "income": np.round(np.exp(rng.normal(2.0 + urban, 0.8)), 2),
        "balance": np.round(rng.normal(0.0, 50.0, _N), 2),
        "works": rng.random(_N) < np.where(urban, 0.8, 0.4),
        "grade": rng.choice([1, 2, 3, 5], _N),
        "share": np.round(5.0 * rng.beta(1.0 + urban, 2.0), 2),
    }


_WITHIN = {"range": (-160, 160), "outcome_unit": 50.0}

# Outcome, model, settings, type of the synthetic column, a sentence of the statement.
_RUNS: list[tuple[str, str, dict[str, Any], Any, str]] = [
    ("income", "gamma", {}, pl.Float64, "as a number in one unit"),
    ("income", "normal", {"outcome_scale": "log"}, pl.Float64, "through the priors alone"),
    ("balance", "normal", {"outcome_scale": "signed-log"}, pl.Float64, "sign(y) log(1 + |y|)"),
    ("works", "logistic", {"c": 0.7, "g": 0.3}, pl.Boolean, "deletion of one record"),
    ("grade", "ordinal", {"c": 0.7, "g": 0.3}, pl.Int64, "levels of the outcome are those"),
    ("share", "beta", {"range": (0, 5)}, pl.Float64, "place in its public range"),
    ("balance", "truncated-normal", _WITHIN, pl.Float64, "the outcome within its"),
]


@pytest.mark.parametrize(("outcome", "model", "settings", "dtype", "sentence"), _RUNS)
def test_pandas_and_polars_give_the_same_release(outcome, model, settings, dtype, sentence):
    columns = _columns()
    first, second = (
        release_of(
            kind(columns),
            **{"outcome": outcome, "model": model, "formula": "~ urban", "mechanism": "lw"},
            **settings,
        )
        for kind in (pl.DataFrame, pd.DataFrame)
    )
    assert first.privacy == second.privacy
    assert first.privacy["model"] == model
    assert any(sentence in caveat for caveat in first.privacy["caveats"])
    for ours, theirs in zip(first.datasets, second.datasets, strict=True):
        assert ours[outcome].dtype == dtype
        assert ours["urban"].to_list() == theirs["urban"].to_list()
        np.testing.assert_array_equal(ours[outcome].to_numpy(), theirs[outcome].to_numpy())
        assert pl.from_pandas(theirs)[outcome].dtype == dtype
    made = first.datasets[0][outcome].to_numpy()
    if model == "beta":
        assert ((made >= 0) & (made <= 5)).all()
    if model == "truncated-normal":
        assert (abs(made) <= 160).all()
    if model in ("gamma", "normal") and outcome == "income":
        assert (made > 0).all()
    if model == "ordinal":
        assert set(made) <= {1, 2, 3, 5}
    assert np.isfinite(first.privacy["epsilon_per_dataset"])


def test_an_instance_is_a_model_with_its_settings():
    table = pl.DataFrame(_columns())
    by_name = release_of(table, outcome="share", model="beta", range=(-1, 6))
    by_instance = release_of(table, outcome="share", model=vws.Beta(range=(-1, 6)))
    assert by_name.datasets[1].equals(by_instance.datasets[1])
    assert by_name.summary["settings"]["range"] == (-1.0, 6.0)


@pytest.mark.draws
def test_the_unit_of_the_outcome_matters_where_the_statement_says_so():
    """The unweighted bound of a gamma outcome moves with its unit, of a log one it does not."""
    table = pl.DataFrame(_columns())
    cents = table.with_columns(pl.col("income") * 1000.0)

    def bound(frame, model):
        release = release_of(frame, outcome="income", model=model, draws=1500, warmup=500)
        return release.privacy["lipschitz_bound"]

    log = vws.Normal(outcome_scale="log")
    assert bound(cents, vws.Gamma()) > bound(table, vws.Gamma()) + 3.0
    # Other draws of the same law, but for the prior on another intercept.
    assert bound(cents, log) == pytest.approx(bound(table, log), rel=0.15)


@pytest.mark.parametrize("mechanism", ["cw", "marginal", "pairwise"])
@pytest.mark.parametrize(("outcome", "model"), [("works", "logistic"), ("grade", "ordinal")])
def test_no_radius_between_codes_of_categories(mechanism, outcome, model):
    with refused("counts-of-codes"):
        vws.synthesize(
            pl.DataFrame(_columns()), outcome=outcome, model=model, mechanism=mechanism, seed=1
        )


def test_no_radius_between_booleans_as_counts():
    with refused("counts-of-codes"):
        vws.synthesize(
            pl.DataFrame(_columns()), outcome="works", model="poisson", mechanism="cw", seed=1
        )


def test_the_command_line_takes_a_range(tmp_path: Path):
    pl.DataFrame(_columns()).write_csv(tmp_path / "table.csv")
    run = run_here(
        *("synthesize", tmp_path / "table.csv", "--out", tmp_path / "out", "--outcome", "share"),
        *("--model", "beta", "--range", "0,5", "--datasets", "2", "--seed", "1"),
        *("--mechanism", "lw"),
        *(f"--{name}={value}" for name, value in FEW.items()),
    )
    assert run.code == 0, run.err
    made = pl.read_csv(tmp_path / "out" / "release" / "synthetic-01.csv")["share"]
    assert made.is_between(0.0, 5.0).all()
    assert (
        json.loads((tmp_path / "out" / "release" / "privacy.json").read_text())["model"] == "beta"
    )
