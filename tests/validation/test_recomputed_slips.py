"""Slips that show only where the papers' simulated data are computed anew.

Poisson fits are exact: 1,000 evenly spaced quantiles of the gamma posterior stand for the draws,
and equal counts are one value. Only the databases that R's generators draw are random.
"""

from functools import cache

import numpy as np
import pytest
from pyvws_studies.simulated_data import poisson_data, risk_efficient_counts
from scipy import stats

from pyvws import identification_risk, lipschitz_bounds, lipschitz_weights, reweight, risk_weights
from pyvws._base.checks import Floats

LEVELS = (np.arange(1000) + 0.5) / 1000


def terms(values: Floats, counts: Floats) -> Floats:
    """log Poisson(y | mu) (S, D) of distinct values (D,) under their posterior, Gamma(1, 0.01)."""
    mu = stats.gamma.ppf(LEVELS, 1 + counts @ values, scale=1 / (0.01 + counts.sum()))
    return np.asarray(stats.poisson.logpmf(values, mu[:, None]))


def distinct(y: Floats) -> tuple[Floats, Floats]:
    values, counts = np.unique(y, return_counts=True)
    return values, counts.astype(np.float64)


def bounds(values: Floats, counts: Floats, weights: Floats) -> Floats:
    """Delta_{alpha,x_i} (D,) of the fit under weights (D,)."""
    return lipschitz_bounds(weights * terms(values, weights * counts)).by_record


def test_weights_of_a_neighbour(shows) -> None:
    values, counts = distinct(poisson_data(123))
    log_lik = terms(values, counts)
    weights = lipschitz_weights(log_lik)
    changes = []
    for leaves in np.eye(len(values)):  # One record of each value, in turn.
        rest = counts - leaves
        kept = rest > 0
        anew = lipschitz_weights(terms(values[kept], rest[kept]))
        change = log_lik @ (weights * counts) - log_lik[:, kept] @ (anew * rest[kept])
        changes.append(np.abs(change).max())
    held, unweighted = np.abs(weights * log_lik).max(), np.abs(log_lik).max()
    assert unweighted == pytest.approx(9.78, abs=0.005)
    assert held <= unweighted < max(changes)
    shows("weights-of-a-neighbour", max(changes), held)


def test_readily_met(shows) -> None:
    below = []
    for n in (100, 1000, 10_000, 100_000):
        values, counts = distinct(poisson_data(123, n))
        below.append(counts[lipschitz_weights(terms(values, counts)) < 1].sum() / n)
    assert min(below) > 0.93
    shows("readily-met", "towards 0", below[-1])
    # Of outcomes that all differ one record alone keeps weight 1, whatever n is.
    log_lik = stats.norm.logpdf(stats.norm.ppf((np.arange(500) + 0.5) / 500)[:250])
    assert (lipschitz_weights(log_lik[None, :]) == 1).sum() == 1


@cache
def database_bounds() -> Floats:
    """Bounds (R, 2) of LW, and of LW re-weighted at k = 0.95, on R = 200 Poisson databases."""
    found = []
    for seed in range(1, 201):
        values, counts = distinct(poisson_data(seed))
        weights = lipschitz_weights(terms(values, counts))
        before = bounds(values, counts, weights)
        after = bounds(values, counts, reweight(weights, before, k=0.95))
        found.append((before.max(), after.max()))
    return np.array(found)


def monte_carlo_range(above: Floats) -> list[float]:
    """The 95 % interval of a share, from R databases."""
    found = stats.binomtest(int(above.sum()), len(above)).proportion_ci(method="wilson")
    return [float(found.low), float(found.high)]


def test_local_above_global(shows) -> None:
    above, reweighted = (database_bounds() > 3.5).T
    assert monte_carlo_range(above) == pytest.approx([0.66, 0.78], abs=0.005)
    assert monte_carlo_range(reweighted) == pytest.approx([0.28, 0.41], abs=0.005)
    shows("local-above-global", "near 0", above.mean())


def test_lw_or_reweighted(shows) -> None:
    lw, reweighted = (database_bounds() > 3.5).mean(axis=0)
    shows("lw-or-reweighted", reweighted, lw)


def test_equal_bound_at_k(shows) -> None:
    values, counts = distinct(poisson_data(123))
    weights = lipschitz_weights(terms(values, counts))
    log_lik = terms(values, weights * counts)
    before = lipschitz_bounds(weights * log_lik)
    after = reweight(weights, before.by_record, k=0.95)
    risen = (after > 0) & (after < 1)
    same_draws = np.abs(after * log_lik).max(axis=0)[risen] / before.database
    assert same_draws == pytest.approx(np.full(risen.sum(), 0.95))
    # A refit under the new weights moves the draws, and the bound by less than a percent here.
    refits = database_bounds()
    assert refits[:, 1] / refits[:, 0] == pytest.approx(np.full(len(refits), 0.95), abs=0.01)
    shows("equal-bound-at-k", 1.0, same_draws.max())


def expected_risks(values: Floats, counts: Floats, weights: Floats, radius: float) -> Floats:
    """Expected risks (D,) of synthetic data from a negative binomial fit under weights (D,).

    A record's own synthetic value lies in its ball with the ball's probability p, and so does that
    of each other record, given the parameters: its expected risk is p (1 - p) (n - 1) / n. The
    posterior of mean and phi is summed on a grid, under 1/phi ~ half-Cauchy(0, 5).
    """
    mean, phi = np.meshgrid(np.linspace(92, 112, 41), np.geomspace(5, 50, 41))
    mean, phi = mean.ravel(), phi.ravel()
    share = phi / (phi + mean)
    log_lik = stats.nbinom.logpmf(values, phi[:, None], share[:, None])
    posterior = log_lik @ (weights * counts) - np.log1p((0.2 / phi) ** 2) - np.log(phi)
    posterior = np.exp(posterior - posterior.max())
    posterior /= posterior.sum()
    likely = posterior > 1e-8
    phi, share = phi[likely, None], share[likely, None]
    ends = np.floor(values + radius * values), np.ceil(values - radius * values) - 1
    p = stats.nbinom.cdf(ends[0], phi, share) - stats.nbinom.cdf(ends[1], phi, share)
    n = counts.sum()
    return np.asarray(posterior[likely] @ (p * (1 - p)) * (n - 1) / n)


def test_marginal_at_15_percent(shows) -> None:
    rises = {}
    for seed in (123, 1234):
        y = risk_efficient_counts(seed)
        (values, counts), first = distinct(y), np.unique(y, return_index=True)[1]
        for radius in (0.3, 0.15):
            weights = risk_weights(identification_risk(y, radius=radius))[first]
            plain = expected_risks(values, counts, np.ones(len(values)), radius)
            marginal = expected_risks(values, counts, weights, radius)
            rises[seed, radius] = counts @ (marginal - plain) / len(y)
        assert 0.6 < counts[marginal > plain].sum() / len(y) < 0.7  # At 15 %.
    assert max(rises[123, 0.3], rises[1234, 0.3]) < -0.04
    assert rises[1234, 0.15] == pytest.approx(0.0005, abs=5e-5)
    shows("marginal-at-15-percent", "below 0", rises[123, 0.15])
