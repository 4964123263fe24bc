"""NUTS over a table: the right target, same seed same draws, names, progress and interrupts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from refusals import refused
from test_nuts import FarOut, interrupted

from pyvws import ConvergenceError, Logistic, Normal, SamplerSettings
from pyvws._base.checks import Floats
from pyvws._base.cores import one_core
from pyvws.engines.nuts import sample_joint
from pyvws.models.sequence import Conditional
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.joint_target import JointTarget
from pyvws.tables.design.cells import make_cells

# Five Monte Carlo standard errors: a fair sampler leaves them once in two million times.
_ERRORS = 5.0
_COINS = 200
_SHORT = SamplerSettings(draws=50, warmup=100, chains=2)


def _conditional(column: str, model: Any, outcome: Any, *predictors: Any) -> Conditional:
    design = np.column_stack([np.ones(len(outcome)), *predictors])
    return Conditional(column, model, make_cells(np.asarray(outcome, dtype=float), design))


def _table(n: int = 80) -> JointTarget:
    rng = np.random.default_rng(5)
    member = rng.random(n) < 0.7
    amount = rng.normal(2.0 * member, 0.5)
    columns = (
        _conditional("member", Logistic(), member),
        _conditional("amount", Normal(smallest_sd=0.1), amount, member),
    )
    return JointTarget(columns, np.ones(n), Clamp(6.0, "deviance"))


def _two_coins() -> JointTarget:
    """Coins of a window that the records of two tails leave at most places."""
    rng = np.random.default_rng(2)
    first, second = rng.random((2, _COINS)) < 0.85
    columns = _conditional("first", Logistic(), first), _conditional("second", Logistic(), second)
    return JointTarget(columns, np.ones(_COINS), Clamp(3.5, "deviance"))


def _moments_by_sums(target: JointTarget) -> tuple[Floats, Floats, float]:
    """Mean and sd of both coins' beta, by sums over a grid, and the share clamped at the mean.

    The terms know no scale of the prior, so the prior of each beta is summed over its scale first.
    """
    density = target.density_and_gradient()
    prior = replace(target, weights=np.zeros(_COINS)).density_and_gradient()
    beta, scales = np.linspace(0.5, 3.9, 137), np.linspace(-8.0, 8.0, 161)
    logs = np.array([[prior(np.array([b, u, 0.0, 0.0]))[0] for u in scales] for b in beta])
    alone = np.log(np.exp(logs).sum(axis=1))
    at = logs[:, 80]  # Where the logarithm of the scale is 0.
    both = np.array([[density(np.array([b, 0.0, c, 0.0]))[0] for c in beta] for b in beta])
    mass = both + (alone - at)[:, None] + (alone - at)
    mass = np.exp(mass - mass.max())
    mass /= mass.sum()
    assert max(mass[[0, -1]].max(), mass[:, [0, -1]].max()) < 1e-3 * mass.max()
    shares = mass.sum(axis=1), mass.sum(axis=0)
    means = np.array([share @ beta for share in shares])
    sds = [np.sqrt(share @ (beta - mean) ** 2) for share, mean in zip(shares, means, strict=True)]
    middle = np.array([means[0], 0.0, means[1], 0.0])
    return means, np.array(sds), float((target.terms()(middle) < -3.5).mean())


@pytest.mark.draws
def test_posterior_moments_equal_those_of_a_grid() -> None:
    target = _two_coins()
    means, sds, clamped = _moments_by_sums(target)
    assert 0.005 < clamped < 0.1
    posterior = sample_joint(target, SamplerSettings(draws=2000, warmup=500, chains=2), seed=1)
    assert posterior.diagnostics.rhat_max < 1.02
    for column, mean, sd in zip(("first", "second"), means, sds, strict=True):
        beta = posterior.draws[f"{column}.beta"][:, 0]
        error = sd / np.sqrt(posterior.diagnostics.ess_bulk_min)
        assert abs(beta.mean() - mean) < _ERRORS * error
        assert abs(beta.std() / sd - 1.0) < 0.1


@pytest.mark.draws
def test_same_seed_gives_same_draws_on_any_number_of_cores() -> None:
    first = sample_joint(_table(), _SHORT, seed=7)
    with one_core():
        second = sample_joint(_table(), _SHORT, seed=7)
    other = sample_joint(_table(), _SHORT, seed=8)
    for name, values in first.draws.items():
        np.testing.assert_array_equal(values, second.draws[name])
    assert not np.array_equal(first.draws["member.beta"], other.draws["member.beta"])


@pytest.mark.draws
def test_draws_are_named_by_column_and_diagnosed_together() -> None:
    settings = SamplerSettings(draws=300, warmup=200, chains=2)
    posterior = sample_joint(_table(), settings, seed=3)
    shapes = {name: values.shape for name, values in posterior.draws.items()}
    assert shapes == {
        "member.beta": (600, 1),
        "member.sigma_beta": (600, 1),
        "member.L_beta": (600, 1, 1),
        "amount.beta": (600, 2),
        "amount.sigma_beta": (600, 2),
        "amount.L_beta": (600, 2, 2),
        "amount.sigma": (600,),
    }
    assert (posterior.chains, posterior.engine) == (2, "native")
    assert posterior.diagnostics.rhat_max < 1.05
    assert abs(posterior.draws["amount.beta"][:, 1].mean() - 2.0) < 0.4


def test_a_start_far_out_ends_in_an_error() -> None:
    far_out: Any = FarOut(_table())
    with pytest.raises(ConvergenceError, match="could not start"):
        sample_joint(far_out, _SHORT, seed=1)


def test_a_family_without_terms_is_refused() -> None:
    class Free(Logistic):
        cell_terms = None

    free = JointTarget(
        (_conditional("member", Free(), [0.0, 1.0]),), np.ones(2), Clamp(6.0, "deviance")
    )
    with refused("likelihood-not-censored"):
        sample_joint(free, _SHORT, seed=1)


def test_progress_reaches_the_total() -> None:
    seen: list[tuple[int, int]] = []
    settings = SamplerSettings(draws=2000, warmup=300, chains=2)
    sample_joint(
        _table(), settings, seed=1, progress=lambda done, total: seen.append((done, total))
    )
    assert seen
    assert all(0 <= done <= total == 4600 for done, total in seen)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (4600, 4600)


def test_an_interrupt_stops_the_chains_and_is_passed_on() -> None:
    interrupted(sample_joint, _table())
