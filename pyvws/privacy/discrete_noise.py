"""Discrete Gaussian and Laplace noise for release, and what several counts under it cost together.

Both are whole numbers that no seed can bring back. OpenDP, an extra, draws them exactly, from a
cryptographic generator that the operating system seeds. Noise in doubles would not do: the count
decides which doubles the sum can take, so the low bits of the sum tell counts apart.

Laplace noise k has probability tanh(1 / (2 b)) exp(-|k| / b) at scale b. A neighbour changes the
whole counts by at most d in total, so noise added to these counts costs epsilon = d / b.

Gaussian noise z of a count has probability proportional to exp(-z^2 / (2 sigma^2)) over the whole
numbers [canonne2020]. A neighbour that changes the count by 1 has the privacy loss
(2 z + 1) / (2 sigma^2), an affine function of the noise. Where 1 / sigma_q^2 is a whole multiple
w_q of one number u, the losses of all counts add up to u (T + W / 2), with T = sum_q w_q z_q and
W = sum_q w_q. T is a whole number, so its distribution needs no rounding to a grid: the product of
the noises' characteristic functions gives it by one Fourier transform.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, positive
from pyvws._base.secret_noise import contributed
from pyvws.errors import InputError

LEAST_DELTA: Final = 1e-10
"""The smallest delta that sums in doubles can tell from 0."""
MOST_RING: Final = 1 << 23
"""Losses that are told apart: some 100 MB."""

_ROUNDING: Final = 1e-13  # More than the sums of a transform lose, which are of size 1e-15.
_DEVIATIONS: Final = 38.0  # Gaussian noise beyond so many has no probability that doubles hold.
_TAIL: Final = 38.0  # Nats: exp(-38) is below the rounding of a probability.
_FACTORS: Final = 1e-7  # Nats: more than 6e9 exp(-4 pi^2).
_LOST: Final = 1e-16  # More than the normal distribution function loses, at most about 1.
_FAR: Final = 500.0  # Nats: nothing has so large a negative loss.


def add_discrete_gaussian(counts: NDArray[np.int64], *, scale: float) -> NDArray[np.int64]:
    """Add discrete Gaussian noise to whole counts (B,), exact and from OpenDP's secret generator.

    `scale` is sigma, in records. Raises MissingDependencyError where OpenDP is not installed.
    """
    with contributed():
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_gaussian
        from opendp.metrics import l2_distance

        domain: Any = vector_domain(atom_domain(T="i64"))
        measurement = make_gaussian(domain, l2_distance(T="f64"), scale=scale)
        return np.asarray(measurement(counts.tolist()), dtype=np.int64)


def least_tail(probability: float, *, scale: float, laplace: bool) -> int:
    """The least whole number t, 1 or more, that noise reaches with a `probability` at most.

    `scale` is b or sigma, in records. The probability that the noise is t or more is a sum of whole
    numbers' own, not the normal tail, which is smaller.
    """
    if laplace:
        q = math.exp(-1.0 / scale)
        t = max(1, math.floor(-scale * math.log(probability * (1.0 + q))))
        while q**t / (1.0 + q) > probability:
            t += 1
        return t
    z = np.arange(math.ceil(_DEVIATIONS * scale) + 2, dtype=np.float64)
    weights = np.exp(-(z**2) / (2.0 * scale**2))
    tails = np.cumsum(weights[::-1])[::-1] / (2.0 * weights.sum() - 1.0)
    return max(1, int(np.argmax(tails <= probability)))


def composed_delta(u: float, weights: Sequence[int], epsilon: float) -> float:
    """The delta at `epsilon` of counts with 1 / sigma_q^2 = w_q u, each of which moves by 1.

    The hockey-stick divergence E[(1 - exp(epsilon - loss))+], rounded upwards; larger = riskier. It
    holds too where earlier noisy counts choose the cells of later ones [zhu2022]. Of many counts
    under large noise it is that of `normal_delta`, which is larger by next to nothing then.
    """
    if not told_apart(u, weights, epsilon):
        return normal_delta(math.sqrt(squared_shift(u * np.array(weights))), epsilon)
    loss, mass = _losses(u, tuple(weights), _ring(u, weights, epsilon))
    above = loss > epsilon
    return float(mass[above] @ -np.expm1(epsilon - loss[above])) + _ROUNDING


def chosen_delta(u: float, first: int, lists: Sequence[Sequence[int]], epsilon: float) -> float:
    """As `composed_delta`, where a first noisy count chooses which of several lists are counted.

    Every list has the first count of weight `first`. At each of its outcomes o the list that is
    worst there stands for all, so delta is at most E_o[max_k E[(1 - exp(epsilon - loss))+]].
    """
    if not all(told_apart(u, weights, epsilon) for weights in lists):
        most = max(squared_shift(u * np.array([first, *weights])) for weights in lists)
        return normal_delta(math.sqrt(most), epsilon)
    most = math.ceil(math.sqrt(2.0 * _TAIL / (first * u)))
    z = np.arange(-most, most + 1)
    chance = np.exp(-0.5 * first * u * z**2)
    left: Floats = np.asarray(epsilon - first * u * (z + 0.5))  # Left for what follows.
    worst = np.zeros(len(z))
    for weights in lists:
        losses = _losses(u, tuple(weights), _ring(u, weights, epsilon))
        worst = np.maximum(worst, _beyond(*losses)(left))
    return float(chance @ worst / chance.sum()) + _ROUNDING


def _beyond(loss: Floats, mass: Floats) -> Callable[[Floats], Floats]:
    """The sums E[(1 - exp(x - loss))+] (n,) at numbers x (n,)."""
    order = np.argsort(loss)
    loss, mass = loss[order], mass[order]
    tails = np.zeros((2, len(loss) + 1))  # Sums over the losses from each one on.
    both = mass, mass * np.exp(np.minimum(-loss, _FAR))
    tails[:, :-1] = np.cumsum(np.array(both)[:, ::-1], axis=1)[:, ::-1]

    def at(x: Floats) -> Floats:
        place = np.searchsorted(loss, x, side="right")
        return np.asarray(tails[0, place] - np.exp(np.minimum(x, _FAR)) * tails[1, place])

    return at


def told_apart(u: float, weights: Sequence[int], epsilon: float) -> bool:
    """Whether `composed_delta` tells the losses of these counts apart; else noise is as normal."""
    return _ring(u, weights, epsilon) <= MOST_RING


def _ring(u: float, weights: Sequence[int], epsilon: float) -> int:
    """The losses that `_losses` tells apart.

    T is sub-Gaussian with variance W / u, so what wraps around the ring is below the rounding.
    """
    W = int(sum(weights))
    reach = math.sqrt(2.0 * _TAIL * W / u) + W + epsilon / u
    return 1 << max(6, math.ceil(math.log2(2.0 * reach)))


@lru_cache(maxsize=1)  # A search for epsilon asks for the same losses again.
def _losses(u: float, weights: tuple[int, ...], ring: int) -> tuple[Floats, Floats]:
    """The losses of counts with 1 / sigma_q^2 = w_q u, and their probabilities, on a `_ring`."""
    W = int(sum(weights))
    angles = 2.0 * np.pi * np.arange(ring // 2 + 1) / ring
    product, kept = np.zeros(len(angles)), np.arange(len(angles))
    log_product = np.zeros(len(angles))
    for weight, times in zip(*np.unique(weights, return_counts=True), strict=True):
        log_product += times * _log_characteristic(weight * angles[kept], 1.0 / (weight * u))
        left = log_product > -2.0 * _TAIL  # Other factors are at most 1: the rest stays 0.
        kept, log_product = kept[left], log_product[left]
    product[kept] = np.exp(log_product)
    mass = np.maximum(np.fft.irfft(product, ring), 0.0)
    sums = np.arange(ring)
    sums[sums >= ring // 2] -= ring
    return np.asarray(u * (sums + 0.5 * W)), np.asarray(mass)


def _log_characteristic(angles: Floats, variance: float) -> Floats:
    """log E[exp(i t z)] (n,) of the noise at angles t, by the Poisson sum over normal terms."""
    nearest = np.remainder(angles + np.pi, 2.0 * np.pi) - np.pi
    turns = 1 + math.ceil(math.sqrt(2.0 * _TAIL / variance) / (2.0 * np.pi))
    centres = 2.0 * np.pi * np.arange(-turns, turns + 1)
    terms = [np.exp(0.5 * variance * (nearest**2 - (nearest - c) ** 2)) for c in centres]
    whole = np.exp(-0.5 * variance * centres**2).sum()
    return np.asarray(-0.5 * variance * nearest**2 + np.log(np.sum(terms, axis=0) / whole))


def delta_of_rho(rho: float, epsilon: float) -> float:
    """A delta at `epsilon` of rho-zCDP, valid for every such mechanism [canonne2020].

    The least of exp((a - 1)(a rho - epsilon)) (1 - 1 / a)^a / (a - 1) over a > 1; larger = riskier.
    """
    a = 1.0 + np.geomspace(1e-3, 1e6, 4000)  # Any order is valid; a grid loses next to nothing.
    log_delta = (a - 1.0) * (a * rho - epsilon) + a * np.log1p(-1.0 / a) - np.log(a - 1.0)
    return math.exp(min(0.0, float(log_delta.min())))


def squared_shift(inverse: Floats) -> float:
    """The square of the `mu` of `normal_delta` of counts (Q,) that move by 1.

    `inverse` has their 1 / sigma_q^2. Infinite where noise is too small to hold normal noise.
    """
    return float((inverse / (1.0 - 2.0 * inverse)).sum()) if inverse.max() < 0.5 else math.inf


def normal_delta(mu: float, epsilon: float) -> float:
    """A delta at `epsilon` of discrete Gaussian noise, whatever chooses its scales.

    Larger = riskier. Discrete noise of variance 2 around normal noise of variance s^2 - 2 has the
    probabilities of discrete noise of variance s^2, up to a factor of 1 + 6 exp(-4 pi^2)
    [peikert2010]. The first reads normal noise alone. So a count that moves by d costs what normal
    noise costs whose mean moves by d / sqrt(s^2 - 2) deviations [balle2018]. `mu` is the
    root of the sum of their squares, over counts that earlier ones choose too [zhu2022]. The
    factors of 10^9 counts that move are in the result.
    """
    left = epsilon - 2.0 * _FACTORS
    upper = _below(0.5 * mu - left / mu) - math.exp(min(left, _FAR)) * _below(-0.5 * mu - left / mu)
    return min(1.0, math.exp(_FACTORS) * max(upper, 0.0) + _LOST)


def _below(x: float) -> float:
    """The normal distribution function."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


Counts = NDArray[np.int64]


def add_discrete_laplace(counts: ArrayLike, *, scale: float) -> Counts:
    """Counts (B,) with new secret discrete Laplace noise each, some of them negative then.

    `scale` is b above 0, in records: d / epsilon, where d is the most that a neighbour changes the
    counts in total. Larger = more noise. Raises InputError for counts that are not whole numbers,
    or a scale not above 0, and MissingDependencyError where OpenDP is not installed.
    """
    values = np.asarray(counts)
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iu":
        raise InputError.by("noise-of-no-counts")
    measurement = laplace(positive(scale, "scale"))
    return np.asarray(measurement(values.tolist()), dtype=np.int64)


def laplace(scale: float) -> Any:
    """OpenDP's discrete Laplace mechanism for a vector of whole numbers; `map(d)` gives epsilon."""
    with contributed():
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_laplace
        from opendp.metrics import l1_distance

        return make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale=scale)
