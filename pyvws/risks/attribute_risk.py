"""Attribute risk: the probability that an intruder gives a record's confidential value.

The intruder has the synthetic datasets Z_1, ..., Z_L, knows the synthesizer and all records but
record i, and has G guesses of y_i, one of them the confidential value. By Bayes' rule
[attributerisk2021]

    p_i(g) is proportional to prior_i(g) prod_l p(Z_l | y_i = g, other records),

and posterior draws theta_s under the confidential value give each factor by importance weights,

    p(Z_l | y_i = g, other records) = sum_s w_is(g) p(Z_l | theta_s) / sum_s w_is(g),
    w_is(g) = (f(g | x_i, theta_s) / f(y_i | x_i, theta_s))^alpha_i.

alpha_i is the record's weight in a pseudo posterior, and 1 in an ordinary one. The record's part in
the pseudo posterior is f^alpha_i, so alpha_i is the power in w too. The weights themselves are
taken as given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, log_lik_matrix, positions, same_length, weight_vector
from pyvws.errors import InputError

_LARGEST: Final = 1e300  # Nats, so that no difference overflows.


@dataclass(frozen=True, slots=True)
class AttributeRisk:
    """An intruder's posterior over guesses of each record's confidential value.

    Attributes
    ----------
    posterior : ndarray, shape (N, G)
        The probability of each guess, in [0, 1]; a record's add up to 1.
    by_record : ndarray, shape (N,)
        The probability of the confidential value, in [0, 1]; larger = riskier.
    rank : ndarray, shape (N,)
        The rank of the confidential value, from 1 for the likeliest guess to G; smaller = riskier.
        Guesses that are as likely come before the confidential value.
    effective_draws : ndarray, shape (N,)
        (sum_s u_s)^2 / sum_s u_s^2 for u_s = w_is(g) p(Z_l | theta_s), the least of all guesses and
        datasets, from 1 to S. Larger = more to be trusted; near 1 one draw decides a probability.
    """

    posterior: Floats
    by_record: Floats
    rank: NDArray[np.intp]
    effective_draws: Floats


def attribute_risk(
    log_guesses: ArrayLike,
    log_synthetic: ArrayLike,
    *,
    true: ArrayLike = 0,
    weights: ArrayLike | None = None,
    prior: ArrayLike | None = None,
) -> AttributeRisk:
    """The posterior over guesses of each record's value, given the synthetic data.

    Parameters
    ----------
    log_guesses : array_like, shape (S, N, G)
        log f(g | x_i, theta_s) in nats, of G guesses of each of N records at S draws. For several
        synthesized columns a guess is one value of each, and the log-likelihood their sum.
    log_synthetic : array_like, shape (S, L)
        log p(Z_l | theta_s) in nats: the log-likelihood of each whole synthetic dataset.
    true : int or array_like, shape (N,)
        The place of the confidential value among a record's guesses, from 0.
    weights : array_like, shape (N,), optional
        alpha_i in [0, 1] of the fit; leave out for an unweighted fit. A record of weight 0 leaves
        the prior as it is.
    prior : array_like, shape (G,) or (N, G), optional
        How likely each guess is to the intruder beforehand, at least 0, on any scale; by default
        all are equally likely.

    Returns
    -------
    AttributeRisk
        Compare a record's probability with its prior, 1 / G by default: what exceeds the prior
        comes from the synthetic data.

    Raises
    ------
    InputError
        If shapes do not fit, a log-likelihood is NaN or infinite above 0, or a prior allows no
        possible guess. Also if the confidential value or a synthetic dataset is impossible at a
        draw.

    Examples
    --------
    Three draws of a Poisson rate, one record with the value 3 and two other guesses, and one
    synthetic dataset. Terms that no rate changes are left out:

    >>> rate, synthetic = np.array([2.0, 3.0, 4.0]), np.array([2.0, 4.0])
    >>> guesses = np.array([[3.0, 2.0, 6.0]])
    >>> log_guesses = guesses * np.log(rate)[:, None, None] - rate[:, None, None]
    >>> log_synthetic = (synthetic * np.log(rate)[:, None] - rate[:, None]).sum(1, keepdims=True)
    >>> attribute_risk(log_guesses, log_synthetic).posterior.round(3).tolist()
    [[0.334, 0.326, 0.34]]
    """
    try:
        guesses = np.asarray(log_guesses, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError.by("log-guesses-not-numeric") from None
    if guesses.ndim != 3 or 0 in guesses.shape:
        raise InputError.by("log-guesses-shape", shape=guesses.shape)
    datasets = log_lik_matrix(log_synthetic)
    same_length(guesses, datasets, ("log_guesses", "log_synthetic"))
    if not ((guesses <= _LARGEST).all() and (np.abs(datasets) <= _LARGEST).all()):
        raise InputError.by("log-guesses-infinite")
    _, records, size = guesses.shape
    places = _places(true, records, size)
    log_prior = _log_prior(prior, records, size)
    alpha = np.ones(records) if weights is None else weight_vector(weights)
    same_length(alpha, places, ("weights", "log_guesses' records"))
    posterior, effective = np.empty((records, size)), np.empty(records)
    for i in range(records):
        own = guesses[:, i, places[i]]
        if (own < -_LARGEST).any():
            raise InputError.by("confidential-value-impossible", i=i + 1)
        log_w = np.zeros((len(own), size))
        if alpha[i] > 0:
            log_w = alpha[i] * (guesses[:, i] - own[:, None])
        posterior[i], effective[i] = _posterior(log_w, datasets, log_prior[i])
    risk = posterior[np.arange(records), places]
    rank = (posterior >= risk[:, None]).sum(axis=1)
    return AttributeRisk(posterior, risk, rank, effective)


def _posterior(log_w: Floats, datasets: Floats, log_prior: Floats) -> tuple[Floats, float]:
    """Probabilities (G,) from log w (S, G), log p(Z | theta) (S, L) and the log prior (G,)."""
    possible = (log_w > -np.inf).any(axis=0) & (log_prior > -np.inf)
    if not possible.any():
        raise InputError.by("prior-impossible")
    log_w = log_w[:, possible]
    terms = log_w[:, :, None] + datasets[:, None, :]  # (S, possible G, L)
    top, top_w = terms.max(axis=0), log_w.max(axis=0)
    shares = np.exp(terms - top)
    factors = top + np.log(shares.sum(axis=0))
    factors -= (top_w + np.log(np.exp(log_w - top_w).sum(axis=0)))[:, None]
    log_p = log_prior[possible] + factors.sum(axis=1)
    result = np.zeros(len(possible))
    relative = np.exp(log_p - log_p.max())
    result[possible] = relative / relative.sum()
    effective = shares.sum(axis=0) ** 2 / (shares**2).sum(axis=0)
    return result, float(effective.min())


def _places(true: ArrayLike, records: int, size: int) -> NDArray[np.intp]:
    """The confidential values' places (N,), checked."""
    try:
        given = np.broadcast_to(np.asarray(true), (records,))
    except (TypeError, ValueError):
        given = np.full(records, -1)
    if given.dtype.kind not in "iu" or not ((given >= 0) & (given < size)).all():
        raise InputError.by("true-guess-codes", size=size - 1, records=records)
    return given.astype(np.intp)


def _log_prior(prior: ArrayLike | None, records: int, size: int) -> Floats:
    """The log prior (N, G), -inf where it is 0."""
    if prior is None:
        return np.zeros((records, size))
    try:
        given = np.broadcast_to(np.asarray(prior, dtype=np.float64), (records, size))
    except (TypeError, ValueError, OverflowError):
        raise InputError.by("prior-shape", size=size, records=records) from None
    wrong = np.asarray(((given < 0) | ~(given < np.inf)).any(axis=1))
    if wrong.any():
        raise InputError.by("prior-values", wrong=positions(wrong))
    with np.errstate(divide="ignore"):
        return np.log(given)
