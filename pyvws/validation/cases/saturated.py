"""Cases of the saturated log-likelihoods, and of the terms that the deviance clamp keeps."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.models.registry import find_model
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.cells import make_cells
from pyvws.validation._case import cases_of
from pyvws.validation._draws import Draws

__all__ = [
    "CASES",
    "deviance_terms",
    "saturated_beta",
    "saturated_counts",
    "saturated_gamma",
    "saturated_normal",
]

_STEPS: Final = 2.0**30


def saturated_counts(outcome: Any) -> Floats:
    """Of Poisson's outcomes (N,), which are the negative binomial's too."""
    return _saturated("poisson", outcome)


def saturated_normal(outcome: Any, smallest_sd: float) -> Floats:
    """Of the normal's outcomes (N,), which are the mixture's too."""
    return _saturated("normal", outcome, smallest_sd=smallest_sd)


def saturated_gamma(outcome: Any, largest_shape: float) -> Floats:
    """Of the gamma's outcomes (N,)."""
    return _saturated("gamma", outcome, largest_shape=largest_shape)


def saturated_beta(outcome: Any, largest_kappa: float) -> Floats:
    """Of the beta's outcomes (N,) on (0, 1)."""
    return _saturated("beta", outcome, largest_kappa=largest_kappa)


def deviance_terms(
    outcome: Any, mean: Any, log_scale: Any, weights: Any, epsilon: float, smallest_sd: float
) -> Floats:
    """The clamped terms (S, N) of a normal target: its density less the prior's, record by record."""
    model = find_model("normal", smallest_sd=smallest_sd)
    points = np.column_stack([mean, np.zeros(len(mean)), log_scale])
    found = np.empty((len(points), len(outcome)))
    for i, y in enumerate(outcome):
        cells, alpha = make_cells(np.array([y]), np.ones((1, 1))), np.array([weights[i]])
        target = PseudoPosterior(model, cells, alpha, Clamp(epsilon, "deviance"))
        nothing = PseudoPosterior(model, cells, np.zeros(1))
        densities = [one.density_and_gradient() for one in (target, nothing)]
        found[:, i] = [densities[0](q)[0] - densities[1](q)[0] for q in points]
    return np.asarray(np.rint(found * _STEPS) / _STEPS)


def _saturated(name: str, outcome: Any, **settings: float) -> Floats:
    model = find_model(name, **settings)
    cells = make_cells(model.encode(np.asarray(outcome)), np.ones((len(outcome), 1)))
    found = model.saturated(cells)[cells.cell_of_record]
    return np.asarray(np.rint(found * _STEPS) / _STEPS)
