"""The clamp of a censored likelihood: no record's term leaves a window that is epsilon wide.

The slides of [global2022] state the clamp for p(x_i | theta)^alpha_i, pmf or density, bounded by
exp(-epsilon / 2) and exp(epsilon / 2): with weights inside (Censor_w) or all weights 1 (Censor_uw).
The deviance clamp takes the saturated log-likelihood a_i off first and keeps alpha_i (l_i - a_i),
minus half the unit deviance, in [-epsilon, 0] (docs/strict.md). A clamped likelihood is bounded
below everywhere, so every prior has to be proper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pyvws._base.checks import (
    Floats,
    finite_vector,
    half_epsilon,
    log_lik_matrix,
    same_length,
    weight_vector,
)


@dataclass(frozen=True, slots=True)
class CensoredShare:
    """How much of a log-likelihood a bound clamps; larger = further from the model.

    - `by_record` (N,): Share of the draws at which a record is clamped.
    - `by_draw` (S,): Share of the records that are clamped at a draw.
    - `overall`: Share of all S N terms.
    - `constant`: True where every term is clamped or has weight 0: the draws then tell nothing of
      the data, and a sampler would draw from the prior.
    """

    by_record: Floats
    by_draw: Floats
    overall: float
    constant: bool


def clamp_log_likelihood(
    log_lik: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    epsilon: float,
    saturated: ArrayLike | None = None,
) -> Floats:
    """Keep each record's weighted term within a window at every draw (slides of [global2022]).

    The result is min(max(alpha_i l_i, -epsilon / 2), epsilon / 2). With `saturated` the function
    gives the deviance clamp's terms instead: min(max(alpha_i (l_i - a_i), -epsilon), 0).

    The package infers from the slides that the bound holds on both sides of the log-likelihood with
    its weight inside. A term that is no number counts as an infinitely unlikely term. A weight of 0
    makes a term 0 whatever the likelihood.

    Parameters
    ----------
    log_lik : array_like, shape (S, N)
        Unweighted log-likelihood of N records at S draws, in nats; any entry may be infinite.
    weights : array_like, shape (N,), optional
        alpha_i in [0, 1]; every weight is 1 if left out.
    epsilon : float
        Above 0; larger = riskier. Infinity clamps nothing.
    saturated : array_like, shape (N,), optional
        a_i in nats, the largest log-likelihood of each record over public parameters, finite.

    Returns
    -------
    ndarray, shape (S, N)
        Terms in nats, no term larger in size than epsilon / 2; with `saturated`, than epsilon.

    Raises
    ------
    InputError
        If log_lik is not (S, N), a weight is outside [0, 1], epsilon is not above 0, or saturated
        is not finite or not (N,).

    Examples
    --------
    >>> clamp_log_likelihood([[-1.0, -9.0, 4.0]], [1.0, 0.5, 1.0], epsilon=5.0).tolist()
    [[-1.0, -2.5, 2.5]]
    >>> clamp_log_likelihood([[-1.0, -9.0]], epsilon=5.0, saturated=[-1.0, -2.0]).tolist()
    [[0.0, -5.0]]
    """
    low, high = _window(epsilon, saturated)
    weighted, _ = _weighted(log_lik, weights, saturated)
    return np.clip(weighted, low, high)


def censored_share(
    log_lik: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    epsilon: float,
    saturated: ArrayLike | None = None,
) -> CensoredShare:
    """Which records and draws the clamp changes: |alpha_i l_i| > epsilon / 2.

    With `saturated`, those where alpha_i (l_i - a_i) lies outside [-epsilon, 0].

    Parameters
    ----------
    log_lik : array_like, shape (S, N)
        Unweighted log-likelihood of N records at S draws, in nats.
    weights : array_like, shape (N,), optional
        alpha_i in [0, 1]; every weight is 1 if left out.
    epsilon : float
        Above 0.
    saturated : array_like, shape (N,), optional
        a_i in nats, the largest log-likelihood of each record over public parameters, finite.

    Returns
    -------
    CensoredShare
        A term at an end of its window is not clamped.

    Raises
    ------
    InputError
        If log_lik is not (S, N), a weight is outside [0, 1], epsilon is not above 0, or saturated
        is not finite or not (N,).

    Examples
    --------
    >>> share = censored_share([[-1.0, -9.0], [-2.0, -3.0]], epsilon=5.0)
    >>> share.by_record.tolist(), share.overall, share.constant
    ([0.0, 1.0], 0.5, False)
    """
    low, high = _window(epsilon, saturated)
    weighted, alpha = _weighted(log_lik, weights, saturated)
    clamped = (weighted < low) | (weighted > high)
    draws, records = clamped.shape
    return CensoredShare(
        by_record=clamped.sum(axis=0) / draws,
        by_draw=clamped.sum(axis=1) / records,
        overall=float(clamped.sum() / clamped.size),
        constant=bool((clamped | (alpha == 0)).all()),
    )


def _window(epsilon: float, saturated: ArrayLike | None) -> tuple[float, float]:
    """Both ends of the window: of the half clamp, or of the deviance clamp with `saturated`."""
    half = half_epsilon(epsilon)
    return (-half, half) if saturated is None else (-2.0 * half, 0.0)


def _weighted(
    log_lik: ArrayLike, weights: ArrayLike | None, saturated: ArrayLike | None
) -> tuple[Floats, Floats]:
    """alpha_i l_i or alpha_i (l_i - a_i), both (S, N), and alpha (N,)."""
    matrix = log_lik_matrix(log_lik)
    alpha = np.ones(matrix.shape[1]) if weights is None else weight_vector(weights)
    same_length(alpha, matrix.T, ("weights", "log_lik"))
    terms = np.where(np.isnan(matrix), -np.inf, matrix)
    if saturated is not None:
        shift = finite_vector(saturated, "saturated")
        same_length(shift, matrix.T, ("saturated", "log_lik"))
        terms = terms - shift
    return np.multiply(alpha, terms, out=np.zeros_like(terms), where=alpha > 0), alpha
