"""Compare the mixture's density, and its posterior in quantities without labels, with Stan's.

The points are as in `density`: 200 for each of 1, 3 and 8 columns, with three components. Every
entry but the partial correlations lies in (-2, 2), so the components' weights differ by up to a
factor of 50.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.models.model import Draws
from pyvws.models.normal_mixture import NormalMixture
from pyvws.posterior.draws import Posterior
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws_validation._measured_case import Findings
from pyvws_validation._stan_case import StanCase, seeded_target
from pyvws_validation.cases.density import SHAPES, judge_program
from pyvws_validation.cases.posterior import compared

# A log-likelihood is the log of a sum of exponentials of squared residuals over sigma, and
# multiplies a rounding of eta = X beta by the largest residual in sigmas over sigma. Each side
# rounds 8 products in eta, with beta from 8 products, by half an ulp, and a few terms.
POINTWISE_LIMIT: Final = 32.0

_COMPONENTS: Final = 3

_SAMPLED: Final = 100
_SETTINGS: Final = SamplerSettings(draws=1000, warmup=500, chains=4, target_accept=0.9)


def _largest_terms(draws: Draws, y: Floats, X: Floats) -> Floats:
    """The largest term of each record (N,) at each of P draws, (P, N); at least 1."""
    sigma = draws["sigma"][..., None]
    reach = np.abs(draws["beta"]) @ np.abs(X).T
    residual = y - draws["beta"] @ X.T
    steps = np.maximum(np.abs(residual), reach) / sigma
    return np.asarray(np.maximum(steps**2, 1.0).max(axis=1))


def _posterior(engine: str) -> Findings:
    """Compare quantities without labels under the native engine and under one Stan engine."""
    model = NormalMixture(components=_COMPONENTS, smallest_sd=0.5)
    target = seeded_target(model, _SAMPLED, 1, seed=11)
    return compared(target, engine, _SETTINGS, _quantities)


def _quantities(target: PseudoPosterior, posterior: Posterior) -> Floats:
    """Quantities without labels, (chains, draws, Q): those of `diagnosed`, the mixture's mean and
    sd at an average row, and the weighted log-likelihood.
    """
    model, cells, draws = target.model, target.cells, posterior.draws
    sums = cells.weight_sums(target.weights)
    row = np.average(cells.rows[cells.row_of_cell], axis=0, weights=sums)
    mu, pi = draws["beta"] @ row, draws["pi"]
    mean = (pi * mu).sum(axis=1)
    sd = np.sqrt((pi * (draws["sigma"] ** 2 + (mu - mean[:, None]) ** 2)).sum(axis=1))
    compared = model.diagnosed(model.unconstrain(draws), cells.n_coefficients)
    together = np.column_stack([compared, mean, sd, model.log_likelihood(draws, cells) @ sums])
    return together.reshape(posterior.chains, -1, together.shape[1])


_density = partial(
    judge_program,
    NormalMixture(components=_COMPONENTS),
    first=_COMPONENTS + 1,
    pointwise_limit=POINTWISE_LIMIT,
    largest=_largest_terms,
)
"""The mixture's density, gradient and record log-likelihoods against one Stan."""

CASES: Final = tuple(
    StanCase(
        id=f"{kind}/normal-mixture-{engine}",
        kind=kind,
        model="normal-mixture",
        engine=engine,
        shapes=shapes,
        judge=partial(judge, engine),
        paper="risk2024, supplement section 1",
    )
    for kind, engine, shapes, judge in (
        ("density", "pystan", SHAPES, _density),
        ("density", "rstan", SHAPES, _density),
        ("posterior", "pystan", ((_SAMPLED, 1),), _posterior),
    )
)
