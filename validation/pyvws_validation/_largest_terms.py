"""The largest term, in nats, of the sums and products in a record's log-likelihood, by family.

The rounding error of a log-likelihood is some ulp of its largest term, not of the log-likelihood
itself: the terms cancel, and the log-likelihood multiplies a rounding of eta = X beta.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Final

import numpy as np
from scipy.special import expit, gammaln, psi

from pyvws._base.checks import Floats
from pyvws.models.model import Draws

# The package computes log Gamma below 10 from x in [10, 11), with terms of up to x log x.
_MOVED_UP: Final = 26.0


def largest_terms(model: str, draws: Draws, y: Floats, X: Floats) -> Floats:
    """The largest term of each encoded record (N,) at each of P draws: (P, N), at least 1."""
    eta = draws["beta"] @ X.T
    steepness = np.maximum(1.0, np.abs(draws["beta"]) @ np.abs(X).T)
    if steepness.ndim == 3:  # A row of coefficients for each level.
        steepness = steepness.max(axis=1)
    return np.maximum(1.0, _FAMILIES[model](draws, y, eta, steepness))


def _poisson(_draws: Draws, y: Floats, eta: Floats, steepness: Floats) -> Floats:
    return np.maximum(np.maximum(y, np.exp(eta)) * steepness, gammaln(y + 1.0))


def _negative_binomial(draws: Draws, y: Floats, eta: Floats, steepness: Floats) -> Floats:
    phi = draws["phi"][:, None]
    return _largest(
        _poisson(draws, y, eta, steepness),
        np.abs(gammaln(y + phi)),
        (y + phi) * np.abs(np.log(phi)),
    )


def _normal(draws: Draws, y: Floats, eta: Floats, steepness: Floats) -> Floats:
    sigma = draws["sigma"][:, None]
    miss = np.abs(y - eta) / sigma
    reach = np.maximum(np.abs(y), steepness) / sigma
    return _largest(miss * np.maximum(miss, reach), np.abs(np.log(sigma)))


def _gamma(draws: Draws, y: Floats, eta: Floats, steepness: Floats) -> Floats:
    shape = draws["shape"][:, None]
    return _largest(
        shape * np.maximum(1.0, y * np.exp(-eta)) * steepness,
        shape * np.abs(np.log(shape)),
        np.maximum(np.abs(gammaln(shape)), _MOVED_UP),
        np.abs((shape - 1.0) * np.log(y)),
    )


def _logistic(_draws: Draws, _y: Floats, _eta: Floats, steepness: Floats) -> Floats:
    return steepness


def _ordinal(draws: Draws, y: Floats, _eta: Floats, steepness: Floats) -> Floats:
    """A level's probability is a difference between cuts: the closer, the more digits are lost."""
    gaps = draws["gaps"]
    edge = np.full((len(gaps), 1), np.inf)
    own = np.column_stack([edge, gaps, edge])[:, y.astype(int) - 1]
    return (steepness + gaps.sum(axis=1)[:, None]) / np.minimum(1.0, own)


def _beta(draws: Draws, y: Floats, eta: Floats, steepness: Floats) -> Floats:
    kappa = draws["kappa"][:, None]
    largest = _largest(np.abs(gammaln(kappa)), kappa * np.abs(psi(kappa)), np.array(_MOVED_UP))
    for shape, log_y in ((kappa * expit(eta), np.log(y)), (kappa * expit(-eta), np.log1p(-y))):
        largest = _largest(
            largest,
            np.abs(gammaln(shape)),
            np.abs((shape - 1.0) * log_y),
            shape * (np.abs(log_y) + np.abs(psi(shape))) * steepness,
        )
    return largest


def _largest(*terms: Floats) -> Floats:
    return reduce(np.maximum, terms)


_FAMILIES: Final[dict[str, Callable[[Draws, Floats, Floats, Floats], Floats]]] = {
    "poisson": _poisson,
    "negative-binomial": _negative_binomial,
    "normal": _normal,
    "truncated-normal": _normal,
    "gamma": _gamma,
    "logistic": _logistic,
    "ordinal": _ordinal,
    "nominal": _logistic,
    "beta": _beta,
}
