"""Compare posteriors of the native engine with other engines', in Monte Carlo standard errors.

The cases compare means and 5, 50 and 95 % quantiles of every beta_k, of phi or the family's similar
parameter, and of Delta at a draw. Delta at a draw is max_i |alpha_i l_i(theta_s)|; the maximum over
draws has no standard error. arviz_stats gives the standard errors, of both engines together.

Coefficients are far from 0. A coefficient near 0 lets its scale shrink too. In that funnel Stan's
sampler diverges on the papers' parametrization, so that Stan's standard errors mean nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.engines.registry import find_engine
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.models.model import Model
from pyvws.models.registry import find_model
from pyvws.posterior.draws import Posterior
from pyvws.posterior.log_likelihood import log_likelihood_blocks
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws_validation._measured_case import Findings
from pyvws_validation._stan_case import COMPARED, StanCase, seeded_target

# With some twenty comparisons a right sampler exceeds 4 standard errors about once in 800 runs. The
# seeds are fixed, so the verdict is fixed too.
LIMIT: Final = 4.0

_SETTINGS: Final = SamplerSettings(draws=1000, warmup=1000, chains=4, target_accept=0.95)
_QUANTILES: Final = (0.05, 0.5, 0.95)
_RECORDS: Final = 200
_COLUMNS: Final = 2
_SLOPE: Final = 1.0


def _judged(model: str | Model, engine: str) -> Findings:
    target = seeded_target(model, _RECORDS, _COLUMNS, seed=11, slope=_SLOPE)
    return compared(target, engine, _SETTINGS, quantities)


def compared(
    target: PseudoPosterior,
    engine: str,
    settings: SamplerSettings,
    quantities: Callable[[PseudoPosterior, Posterior], Floats],
) -> Findings:
    """Whether all quantities agree under the native and another engine; the largest difference."""
    first, second = (
        quantities(target, find_engine(name).sample(target, settings, seed=12))
        for name in ("native", engine)
    )
    gap = largest_gap(first, second)
    unit = "Monte Carlo standard errors"
    return Findings.limited(f"{gap:.1f} {unit}", (unit, gap, LIMIT))


def quantities(target: PseudoPosterior, posterior: Posterior) -> Floats:
    """The parameters that predict, and Delta at each draw: (chains, draws, quantities)."""
    largest = np.zeros(target.cells.n_cells)
    np.maximum.at(largest, target.cells.cell_of_record, target.weights)
    delta = np.zeros(posterior.n_draws)
    for rows, columns, block in log_likelihood_blocks(target.model, posterior, target.cells):
        largest_there = (np.abs(block()) * largest[columns]).max(axis=1)
        delta[rows] = np.maximum(delta[rows], largest_there)
    S = posterior.n_draws
    drawn = [posterior.draws[name].reshape(S, -1) for name in target.model.predicts_from]
    together = np.column_stack([*drawn, delta])
    return together.reshape(posterior.chains, -1, together.shape[1])


def largest_gap(first: Floats, second: Floats) -> float:
    """Largest difference of means and quantiles in standard errors; inputs (chains, draws, Q)."""
    estimates = [_estimates(values) for values in (first, second)]
    error = np.sqrt(sum(errors**2 for _, errors in estimates))
    return float((np.abs(estimates[0][0] - estimates[1][0]) / error).max())


def _estimates(values: Floats) -> tuple[Floats, Floats]:
    """Mean and quantiles of each quantity, and their standard errors, (1 + quantiles, Q)."""
    with warnings.catch_warnings(action="ignore"):
        from arviz_stats.base import array_stats

        axes = {"chain_axis": 0, "draw_axis": 1}
        errors = [array_stats.mcse(values, method="mean", **axes)]
        for level in _QUANTILES:
            errors.append(array_stats.mcse(values, method="quantile", prob=level, **axes))
    flat = values.reshape(-1, values.shape[-1])
    return np.vstack([flat.mean(axis=0), np.quantile(flat, _QUANTILES, axis=0)]), np.array(errors)


# Families other than the papers' families run under one Stan engine; the density cases compare
# every family with both Stan engines.
_PAPERS: Final = ("poisson", "negative-binomial")
_STAN: Final = ("pystan", "rstan", "cmdstan")
CASES: Final = tuple(
    StanCase(
        id=f"posterior/{name}-{engine}",
        kind="posterior",
        model=find_model(model).name,
        engine=engine,
        shapes=((_RECORDS, _COLUMNS),),
        judge=partial(_judged, model, engine),
    )
    for name, model in COMPARED.items()
    for engine in ("laplace", *(_STAN if name in _PAPERS else _STAN[:1]))
)
