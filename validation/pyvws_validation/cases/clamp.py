"""Cases of `pyvws.posterior.clamp` and `censoring`: saturated log-likelihoods, clamped terms."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.models.registry import find_model
from pyvws.posterior import systematic_draws
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells
from pyvws_validation._case import in_steps
from pyvws_validation._draws import Draws
from pyvws_validation.cases.accounting import outcomes_and_draws

_SEARCHED_STEPS: Final = 2.0**20


def saturated(model: str, outcome: Floats, **settings: Any) -> Floats:
    """Of a family's outcomes (N,). `levels` is the number of levels, where a family has them."""
    if "levels" in settings:
        settings["levels"] = tuple(range(1, 1 + settings["levels"]))
    family = find_model(model, **settings)
    cells = make_cells(family.encode(np.asarray(outcome)), np.ones((len(outcome), 1)))
    highest = family.saturated(cells)[cells.cell_of_record]
    return in_steps(highest, _SEARCHED_STEPS if model == "beta" else 2.0**30)


def deviance_terms(
    outcome: Floats,
    mean: Floats,
    log_scale: Floats,
    weights: Floats,
    epsilon: float,
    smallest_sd: float,
) -> Floats:
    """The clamped terms (S, N) of a normal target, each the density less the prior's."""
    model = find_model("normal", smallest_sd=smallest_sd)
    points = np.column_stack([mean, np.zeros(len(mean)), log_scale])
    terms = np.empty((len(points), len(outcome)))
    for i, y in enumerate(outcome):
        cells, alpha = make_cells(np.array([y]), np.ones((1, 1))), np.array([weights[i]])
        target = PseudoPosterior(model, cells, alpha, Clamp(epsilon, "deviance"))
        nothing = PseudoPosterior(model, cells, np.zeros(1))
        densities = [either.density_and_gradient() for either in (target, nothing)]
        terms[:, i] = [densities[0](q)[0] - densities[1](q)[0] for q in points]
    return in_steps(terms)


# Arguments


def _counts(seed: int, *shape: int) -> dict[str, Any]:
    stream = Draws(seed)
    outcome = np.floor(stream.counts(shape[0]) * 10.0 ** (stream.whole(shape[0], 5) - 2))
    return {"outcome": outcome}


def _gamma(seed: int, *shape: int) -> dict[str, Any]:
    return {"outcome": np.abs(Draws(seed).amounts(*shape)) + 0.125}


def _beta(seed: int, *shape: int) -> dict[str, Any]:
    """Places on [0, 1], some near an end and one at it."""
    stream = Draws(seed)
    place = stream.uniform(shape[0])
    outcome = np.where(stream.whole(shape[0], 2) == 1, place * place * place * place, place)
    outcome[0] = float(seed % 2)
    return {"outcome": outcome}


def _terms(seed: int, *shape: int) -> dict[str, Any]:
    weights = np.clip(Draws(100 + seed).uniform(shape[1], -0.2, 1.2), 0.0, 1.0)
    return {**outcomes_and_draws(seed, *shape), "weights": weights}


def _zero_or_one(seed: int, *shape: int) -> dict[str, Any]:
    return {"outcome": Draws(seed).whole(shape[0], 2).astype(np.float64)}


def _codes(seed: int, *shape: int) -> dict[str, Any]:
    return {"outcome": 1.0 + Draws(seed).whole(shape[0], 2 + seed)}


def _densities(seed: int, *shape: int) -> dict[str, Any]:
    """Terms of both signs, at the bound, infinite and not a number; weights with 0 and 1."""
    draws = Draws(seed)
    log_lik = draws.log_lik(*shape)
    flat = log_lik.reshape(-1)
    flat[draws.uniform(flat.size) < 0.3] *= -0.2
    at_bound = draws.uniform(flat.size) < 0.1
    flat[at_bound] = -2.5
    if flat.size > 3:
        flat[:4] = (-np.inf, np.inf, np.nan, 2.5)
    weights = np.clip(draws.uniform(shape[1], -0.2, 1.2), 0.0, 1.0)
    return {"log_lik": log_lik, "weights": weights}


def _unweighted(seed: int, *shape: int) -> dict[str, Any]:
    return {**_densities(seed, *shape), "weights": None}


def _deviances(seed: int, *shape: int) -> dict[str, Any]:
    """Terms around their saturated log-likelihood, some at it and some above."""
    arguments = _densities(seed, *shape)
    saturated = np.round(Draws(seed + 100).uniform(shape[1], -3.0, 1.0), 2)
    arguments["log_lik"][-1, ::3] = saturated[::3]
    return arguments | {"saturated": saturated}


# The uniform numbers of a column's records


def uniforms(design: Floats, ties: Floats, shift: float) -> Floats:
    """The numbers (n,) of design rows (n, K), from a stream that gives `ties` and `shift`."""
    stream: Any = _Given(ties, shift)
    return systematic_draws.systematic_uniforms(design, stream)


class _Given:
    """A stream of given numbers: an array of them, and one alone."""

    def __init__(self, ties: Floats, shift: float) -> None:
        self._ties, self._shift = ties, shift

    def random(self, size: int | None = None) -> Floats | float:
        return self._shift if size is None else self._ties


def _count(seed: int, *shape: int) -> dict[str, Any]:
    return {"n": shape[0] * seed}


def _rows(seed: int, *shape: int) -> dict[str, Any]:
    """An intercept, then columns of few values of both signs, so that many rows are equal.

    One shift moves a number to an end of the interval.
    """
    draws, (n, K) = Draws(seed), shape
    design = np.ones((n, K))
    for k in range(1, K):
        design[:, k] = draws.whole(n, 1 + seed) - 2.0
    shift = 0.0 if seed == 5 else float(draws.uniform(1)[0])
    return {"design": design, "ties": draws.uniform(n), "shift": shift}
