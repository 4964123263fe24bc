"""Programs that write y_rep, those of the page on Stan: to a release, and what is refused."""

import json
import re
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused
from run_here import run_here
from switched_program import switched_program

import pyvws as vws
from pyvws.engines.registry import find_stan_engine
from pyvws.engines.user_program import program_data

_PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
_ENGINES = ("pystan", "rstan", "cmdstan")
_N = 240
_RNG = np.random.default_rng(44)
_GROUP = np.repeat([1, 2, 3, 4], _N // 4)
_MEANS = np.array([3.0, 9.0, 20.0, 40.0])
_SHAPE = 6.0


def _negative_binomial(mean: Any) -> Any:
    return _RNG.poisson(_RNG.gamma(_SHAPE, mean / _SHAPE))


_TABLE = pl.DataFrame(
    {
        "urban": np.where(np.arange(_N) % 2, "yes", "no"),
        "calls": np.where(_RNG.random(_N) < 0.35, 0, _RNG.poisson(5.0, _N)),
        "spent": np.round(np.exp(_RNG.normal(8.0, 0.9, _N) + 0.4 * (np.arange(_N) % 2)), 2),
        "visits": _negative_binomial(_MEANS[_GROUP - 1]),
        "clinic": _GROUP,
    }
)


_FEW: Any = {"draws": 200, "warmup": 300, "chains": 2, "mechanism": "sw", "seed": 7}


def _program(name: str, engine: str) -> str:
    """A program of the page, in the dialect of an engine."""
    (text,) = re.findall(rf'```stan title="{name}"\n(.*?)```', _PAGE, flags=re.DOTALL)
    if engine != "rstan":
        return str(text)
    return re.sub(r"array\[n\] int(<[^>]*>)? (\w+);", r"int\1 \2[n];", text)


def _release(engine: str, program: vws.UserProgram, **given: Any) -> vws.Release:
    return vws.synthesize(_TABLE, engine=engine, program=program, datasets=10, **_FEW, **given)


def _near(found: list[float], truth: float, error: float) -> None:
    """The mean over datasets lies within 5 standard errors of the data's own figure.

    `error` is the standard error of a figure of the data, which a weight below 1 widens.
    """
    assert abs(np.mean(found) - truth) < 5 * error


def _said(release: vws.Release, engine: str) -> None:
    """What the statement says of predictions that a program brings along."""
    privacy = release.privacy
    checked = engine != "cmdstan"
    keys = {one["key"] for one in privacy["caveat_keys"]}
    assert ("own-predictions" in keys, "unchecked-predictions" in keys) == (checked, not checked)
    assert privacy["guarantee"] == ("asymptotic-dp" if checked else "none")
    assert privacy["model"] == "own"
    assert not any("y_rep" in name for name in release.posterior.columns)


@pytest.mark.draws
@pytest.mark.parametrize("engine", _ENGINES)
def test_zeros_are_those_of_the_data(engine: str, need: Any) -> None:
    need(engine)
    program = vws.UserProgram(_leaking(engine), data={"leak": 0})
    release = _release(engine, program, outcome="calls", model="poisson")
    _said(release, engine)
    calls = _TABLE["calls"].to_numpy()
    zeros = [float((one["calls"] == 0).mean()) for one in release.datasets]
    _near(zeros, float((calls == 0).mean()), np.sqrt(0.4 * 0.6 / _N))
    assert min(zeros) > 0.2  # A Poisson outcome of this mean has 4 % of zeros.
    assert release.datasets[0]["calls"].dtype == pl.Int64
    assert len({tuple(one["calls"]) for one in release.datasets}) == 10


@pytest.mark.draws
@pytest.mark.parametrize("engine", ["pystan", "cmdstan"])
def test_groups_are_those_of_the_data(engine: str, need: Any, tmp_path: Path) -> None:
    """On the command line, with the groups in a file."""
    need(engine)
    _TABLE.write_csv(tmp_path / "visits.csv")
    (tmp_path / "groups.stan").write_text(_program("groups.stan", engine))
    (tmp_path / "groups.json").write_text(json.dumps({"G": 4, "group": _GROUP.tolist()}))
    few = ["--datasets=10", "--draws=200", "--warmup=300", "--chains=2", "--seed=7"]
    ended = run_here(
        *("synthesize", str(tmp_path / "visits.csv"), "--out", str(tmp_path / "out"), *few),
        *("--outcome=visits", "--keep=clinic", "--model=negative-binomial", "--mechanism=sw"),
        *(f"--engine={engine}", "--stan", str(tmp_path / "groups.stan")),
        *("--stan-data", str(tmp_path / "groups.json"), "--quiet"),
    )
    assert not ended.code, ended.err
    privacy = json.loads((tmp_path / "out" / "release" / "privacy.json").read_text())
    said = {one["key"]: one["values"] for one in privacy["caveat_keys"]}
    assert said["program-data"] == {"names": "G, group"}
    datasets = [pl.read_csv(path) for path in (tmp_path / "out" / "release").glob("*.csv")]
    for group, mean in zip(range(1, 5), _MEANS, strict=True):
        own = _TABLE.filter(pl.col("clinic") == group)["visits"].mean()
        made = [one.filter(pl.col("clinic") == group)["visits"].mean() for one in datasets]
        _near(made, own, np.sqrt((mean + mean**2 / _SHAPE) / (_N / 4)))


@pytest.mark.draws
@pytest.mark.parametrize("engine", ["pystan", "rstan"])
def test_a_prediction_that_reads_the_records_is_refused(engine: str, need: Any) -> None:
    """As an adversary would write it: nothing but the outcomes, their largest, or the weights."""
    need(engine)
    text = _leaking(engine)
    y, few = _TABLE["calls"].to_numpy(), vws.SamplerSettings(draws=50, warmup=200, chains=1)
    data = program_data(y, np.ones((_N, 1)), np.ones(_N))
    for leak in (0, 1, 2, 3):  # Nothing, the outcomes, their largest, and the weights.
        program = vws.UserProgram(text, data={"leak": leak})
        refused = pytest.raises(vws.InputError, match="y_rep of the Stan program changes")
        with refused if leak else nullcontext():
            program.fit(find_stan_engine(engine), data, few, seed=1)
    module = import_module(f"pyvws.engines.{engine}")
    draws = [{"theta": np.array(0.3), "rate": np.array(rate)} for rate in (2.0, 5.0)]
    written = module.predictions(text, {**data, "leak": 1}, draws)
    np.testing.assert_array_equal(written, np.tile(y, (2, 1)))  # y_rep is the outcomes there.


_LEAKS = "vector<lower=0, upper=1>[n] weights;\n  int leak;"
_LEAK = """leak == 1 ? y[i] : leak == 2 ? poisson_rng(rate) + max(y)
               : leak == 3 ? poisson_rng(rate * (1 + weights[i]))
               : bernoulli_rng(theta) ? 0 : poisson_rng(rate)"""


def _leaking(engine: str) -> str:
    """The page's zero-inflated program, and what else it may predict: one program to compile."""
    text = _program("zero-inflated.stan", engine)
    text = text.replace("vector<lower=0, upper=1>[n] weights;", _LEAKS)
    return text.replace("bernoulli_rng(theta) ? 0 : poisson_rng(rate)", _LEAK)


@pytest.mark.draws
@pytest.mark.parametrize("engine", _ENGINES)
def test_a_likelihood_that_is_not_the_models_is_refused(engine: str, need: Any) -> None:
    """Poisson outcomes of 0 and 1 for a logistic model, and the page's program without y_rep."""
    need(engine)
    poisson = vws.UserProgram(switched_program(engine))
    binary = _TABLE.select(called=(pl.col("calls") > 0).cast(pl.Int64))
    with refused("y-rep-cannot-be-made"):
        vws.synthesize(
            binary, outcome="called", model="logistic", engine=engine, program=poisson, **_FEW
        )
    inflated = re.sub(r".*y_rep.*\n", "", _program("zero-inflated.stan", engine))
    inflated = inflated.replace("real<lower=0> rate;", "vector[1] beta;")
    with refused("program-parameters-unread", unread="theta", unread2="theta"):
        vws.synthesize(
            _TABLE,
            outcome="calls",
            model="poisson",
            engine=engine,
            program=vws.UserProgram(inflated),
            mechanism="lw",
        )
