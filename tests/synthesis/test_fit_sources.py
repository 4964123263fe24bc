"""What a fit's bounds are of: a user's program's log_lik, or a model's, clamped where asked."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from record_terms import record_log_likelihood
from refusals import refused

from pyvws.bounds.lipschitz import LipschitzBounds, lipschitz_bounds
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.user_program import UserFit, UserProgram
from pyvws.errors import ConvergenceError, ConvergenceWarning, InputError, MisfitWarning
from pyvws.models.conditional_table import ConditionalTable
from pyvws.models.registry import MODELS
from pyvws.posterior.censoring import censored_share
from pyvws.posterior.clamp import CLAMPS, Clamp
from pyvws.posterior.draws import Diagnostics, Posterior
from pyvws.release.synthesizer import Synthesizer
from pyvws.synthesis.fit_sources import ModelSource, clamps_everything, share_outside
from pyvws.synthesis.judged_fits import judge_convergence
from pyvws.synthesis.outside_source import ProgramSource
from pyvws.tables.design.cells import make_cells

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


_COMPUTED = {
    "generated quantities": _PROGRAM.replace("beta", "rate").replace(
        "vector[n] log_lik;", "vector[n] log_lik; vector[K] beta; beta[1] = log(max(y));"
    ),
    "transformed parameters": _PROGRAM.replace("vector[K] beta", "vector[K] rate").replace(
        "model {", "transformed parameters { vector[K] beta = rate + max(y); } model {"
    ),
    "a comment": _PROGRAM.replace("vector[K] beta;", "vector[K] rate; /* vector[K] beta; */"),
    "nowhere": _PROGRAM.replace("vector[K] beta;", ""),
}


@pytest.mark.parametrize("place", _COMPUTED)
def test_a_program_predicts_from_its_parameters_alone(place: str) -> None:
    """What it computes under their names may hold the records: beta[1] = log(max(y))."""
    engine: Any = _Engine(_LOG_LIK, beta=np.ones((400, 1)))
    with refused("program-parameter-undeclared"):
        ProgramSource(UserProgram(_COMPUTED[place]), engine, np.ones(3), np.ones((3, 1)), ("beta",))


@pytest.mark.parametrize("engine", ["pystan", "rstan", "cmdstan"])
def test_that_is_refused_before_the_program_is_compiled(engine: str, need: Any) -> None:
    need(engine)
    table = pl.DataFrame({"y": [1, 4, 2, 3, 0, 5]})
    program = UserProgram(
        _COMPUTED["generated quantities"].replace("array[n] int y", "vector[n] y")
    )
    with refused("program-parameter-undeclared", missing="beta"):
        Synthesizer(
            outcome="y", model="poisson", engine=engine, program=program, mechanism="lw"
        ).fit(table, seed=1)


def test_parameters_that_the_prediction_leaves_out_are_refused_unless_named() -> None:
    text = _PROGRAM.replace("vector[K] beta;", "vector[K] beta; real<lower=0> tau;")
    engine: Any = _Engine(_LOG_LIK, beta=np.ones((400, 1)))
    of_run: Any = (engine, np.ones(3), np.ones((3, 1)), ("beta",))
    with refused("program-parameters-unread", unread="tau", unread2="tau"):
        ProgramSource(UserProgram(text), *of_run)
    ProgramSource(UserProgram(text, unread=("tau",)), *of_run)
    own = text.replace("vector[n] log_lik;", "vector[n] log_lik; vector[n] y_rep;")
    ProgramSource(UserProgram(own), *of_run)


@pytest.mark.parametrize("unread", [(), ("tau",)])
def test_another_likelihood_than_the_familys_is_refused_or_told(unread: tuple[str, ...]) -> None:
    """A constant a record may differ, as a Jacobian does; what parameters move may not."""
    text = _PROGRAM.replace("beta; }", "beta; real tau; }") if unread else _PROGRAM
    weights = np.array([1.0, 0.5, 0.0])
    beta = np.random.default_rng(2).normal(size=(400, 1))
    engine: Any = _Engine(_LOG_LIK * weights, beta=beta)

    def sampled(family: Any) -> None:
        program = _Program(text, "weighted", unread=unread)
        of_run: Any = (engine, np.array([1.0, 2.0, 3.0]), np.ones((3, 1)), ("beta",))
        source = ProgramSource(program, *of_run, family=family)
        source.sample(weights, _SETTINGS, seed=1, progress=None)

    rows = np.unique(np.linspace(0, 399, 8).astype(int))
    sampled(lambda draws: _LOG_LIK[rows] + np.array([0.0, 7.0, 9.0]))
    words = "is not that of the model"
    told: Any = pytest.warns(MisfitWarning, match=words)
    with told if unread else pytest.raises(InputError, match=words):
        sampled(lambda draws: _LOG_LIK[rows] + draws["beta"])


class _Draws:
    """An engine whose draws are known before."""

    name = "known"

    def __init__(self, beta: Any) -> None:
        self.posterior = Posterior(
            {"beta": beta}, 1, Diagnostics(1.0, 400.0, 400.0, 0), 0.0, self.name
        )

    def sample(self, *_: Any, **__: Any) -> Posterior:
        return self.posterior


def test_a_clamped_fit_has_clamped_bounds_and_tells_when_nothing_is_inside_them() -> None:
    y, weights = np.array([0.0, 3.0, 9.0, 4.0]), np.array([1.0, 0.5, 0.25, 0.0])
    model, cells = MODELS["poisson"], make_cells(y, np.ones((4, 1)))
    engine: Any = _Draws(np.log([[2.0], [4.0]]))
    source = ModelSource(model, cells, engine)

    def fit(clamp: Clamp | None) -> LipschitzBounds:
        _, bounds, maxima = source.sample(weights, _SETTINGS, seed=1, progress=None, clamp=clamp)
        np.testing.assert_array_equal(maxima, np.abs(log_lik).max(axis=0))
        return bounds

    log_lik = record_log_likelihood(model, engine.posterior, cells)
    terms = log_lik * weights
    assert fit(None).by_record.tolist() == np.abs(terms).max(axis=0).tolist()
    least = np.abs(terms[:, :3]).min()  # The record of weight 0 has no part.
    for bound in (1.5, np.nextafter(least, 2.0)):
        expected = lipschitz_bounds(np.clip(terms, -bound, bound))
        found = fit(Clamp(2.0 * bound))
        assert found.by_record.tolist() == expected.by_record.tolist()
        assert found.database == expected.database == bound
        assert not clamps_everything(model, cells, engine.posterior, weights, Clamp(2.0 * bound))
    for bound in (least, 0.5 * least):
        assert clamps_everything(model, cells, engine.posterior, weights, Clamp(2.0 * bound))


def test_an_own_program_is_not_clamped_from_outside() -> None:
    source = _source(_LOG_LIK, content="plain", beta=np.zeros((400, 1)))
    with refused("own-program-censored"):
        source.sample(np.ones(3), _SETTINGS, seed=1, progress=None, clamp=Clamp(2.0))


@pytest.mark.parametrize("kind", CLAMPS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_share_outside_the_window_is_that_of_every_record(kind: str, weighted: bool) -> None:
    rng = np.random.default_rng(2)
    y = rng.poisson(6.0, 60).astype(float)
    model, cells = MODELS["poisson"], make_cells(y, np.ones((60, 1)))
    weights = np.where(np.arange(60) % 3 == 0, 0.5, 1.0) if weighted else np.ones(60)
    draws = {"beta": rng.normal(1.8, 0.3, (250, 1))}
    posterior = Posterior(draws, 1, Diagnostics(1.0, 500.0, 500.0, 0), 0.0, "native")
    clamp = Clamp(5.0, kind)
    saturated = model.saturated(cells)[cells.cell_of_record]
    log_lik = record_log_likelihood(model, posterior, cells)
    for used in (np.ones(60, dtype=bool), y > 6):  # Records of weight 0 do not count.
        found = share_outside(model, cells, posterior, np.where(used, weights, 0.0), clamp)
        exact = censored_share(
            log_lik[:, used],
            weights[used],
            epsilon=5.0,
            saturated=saturated[used] if kind == "deviance" else None,
        )
        np.testing.assert_allclose(found.by_draw, exact.by_draw[::2], rtol=1e-12)
        assert 0.0 < found.by_draw.mean() < 1.0
        shift = saturated if kind == "deviance" else np.zeros(60)
        low, high = clamp.window
        for i in range(60):
            terms = [weights[i] * (log_lik[s, i] - shift[i]) for s in range(0, 250, 2)]
            share = sum(not low <= term <= high for term in terms) / 125
            assert found.by_record[i] == (share if used[i] else 0.0)


def test_remedies_of_a_clamp_name_what_is_still_to_be_done() -> None:
    """A run with a public weight is not told to take one, nor one of tables of a step's size."""
    short = Diagnostics(1.5, 10.0, 10.0, 0)
    table = SimpleNamespace(model=ConditionalTable(levels=("x", "y")))
    loop: Any = SimpleNamespace(problems=short.problems, model=SimpleNamespace(columns=(table,)))
    with pytest.raises(ConvergenceError) as caught:
        judge_convergence(loop, strict=True, clamp=Clamp(2.0, "deviance"), constant=0.125)
    told = str(caught.value)
    assert "weight below 0.125" in told
    assert "exceeds 16 nats" in told
    assert not any(word in told for word in ("target_accept", "coefficient_sd", "smallest_sd"))


@pytest.mark.parametrize("fits", [1, 3, 12])
def test_a_warning_of_chains_has_five_lines_and_counts_the_rest(fits: int) -> None:
    """The last fits are named, since the last one makes the release."""
    short = Diagnostics(1.5, 10.0, 10.0, 4)
    each: list[Any] = [
        SimpleNamespace(
            label=f"fit {number}", posterior=SimpleNamespace(diagnostics=short, approximated=False)
        )
        for number in range(fits)
    ]
    loop: Any = SimpleNamespace(
        problems=short.problems,
        fits=each,
        cells=SimpleNamespace(rows=np.ones((4, 1))),
        model=SimpleNamespace(remedy=""),
    )
    with pytest.warns(ConvergenceWarning) as caught:
        judge_convergence(loop, strict=False, clamp=None)
    lines = str(caught[0].message).splitlines()
    assert len(lines) == min(fits, 3) + 1 + (fits > 3)
    last = lines[min(fits, 3) - 1]
    assert last == f"fit {fits - 1}: {' '.join(short.problems())}"
    assert lines[-1].startswith("9 earlier fits") == (fits == 12)
