"""A user's program through the same mechanisms: its log_lik is bounded, weight 0 means no bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.user_program import UserFit, UserProgram
from pyvws.errors import InputError
from pyvws.fit_sources import ProgramSource
from pyvws.lipschitz import lipschitz_bounds

_PROGRAM = """
data { int n; int K; array[n] int y; matrix[n, K] X; vector[n] weights; }
parameters { vector[K] beta; }
model { target += dot_product(weights, X * beta); }
generated quantities { vector[n] log_lik; }
"""
_SETTINGS = SamplerSettings(draws=200, warmup=100, chains=2)
_LOG_LIK = -np.abs(np.random.default_rng(1).normal(4.0, 1.0, (400, 3)))


class _Engine:
    """Answers as Stan would, with fixed draws: what is tested stands behind it."""

    name = "pystan"

    def __init__(self, log_lik: Any, **draws: Any) -> None:
        self.log_lik, self.draws = log_lik, draws


class _Program(UserProgram):
    __slots__ = ()

    def fit(self, engine: Any, data: Any, settings: Any, **_: Any) -> UserFit:
        assert set(data) == {"n", "K", "y", "X", "weights"}
        return UserFit(engine.log_lik, engine.draws, settings.chains, 0, 0.1)


def _source(log_lik: Any, *, content: str, **draws: Any) -> ProgramSource:
    engine: Any = _Engine(log_lik, **draws)
    program = _Program(_PROGRAM, content)
    return ProgramSource(program, engine, np.array([1.0, 2.0, 3.0]), np.ones((3, 1)), ("beta",))


@pytest.mark.parametrize("content", ["plain", "weighted"])
def test_bounds_are_those_of_the_weighted_log_likelihood(content: str) -> None:
    weights = np.array([1.0, 0.5, 0.0])
    written = _LOG_LIK if content == "plain" else _LOG_LIK * weights
    beta = np.random.default_rng(2).normal(size=(400, 1))
    source = _source(written, content=content, beta=beta)
    posterior, bounds, maxima = source.sample(weights, _SETTINGS, seed=1, progress=None)
    whole = lipschitz_bounds(_LOG_LIK * weights)
    np.testing.assert_array_equal(bounds.by_record, whole.by_record)
    assert bounds.database == whole.database
    np.testing.assert_array_equal(maxima, [*np.abs(_LOG_LIK).max(axis=0)[:2], 0.0])
    assert posterior.n_draws == 400
    assert posterior.diagnostics.problems() == [] or posterior.diagnostics.ess_bulk_min > 100


def test_an_infinite_log_likelihood_counts_unless_its_weight_is_zero() -> None:
    log_lik = _LOG_LIK.copy()
    log_lik[7, 2] = -np.inf
    beta = np.random.default_rng(2).normal(size=(400, 1))
    source = _source(log_lik, content="plain", beta=beta)
    _, bounds, _ = source.sample(np.array([1.0, 1.0, 0.5]), _SETTINGS, seed=1, progress=None)
    assert bounds.by_record[2] == np.inf
    _, bounds, _ = source.sample(np.array([1.0, 1.0, 0.0]), _SETTINGS, seed=1, progress=None)
    assert bounds.by_record[2] == 0.0
    assert np.isfinite(bounds.database)


def test_a_program_without_the_model_s_parameters_is_refused() -> None:
    source = _source(_LOG_LIK, content="plain", gamma=np.ones((400, 1)))
    with pytest.raises(InputError, match="has no beta, which the model's predictive draw needs"):
        source.sample(np.ones(3), _SETTINGS, seed=1, progress=None)
