"""Draws of a target with several modes, from chains that each stayed in one of them.

Each chain knows the shape of its own mode, and no chain the modes' shares. So each chain goes on by
independence Metropolis steps: a proposal comes from a mixture with one heavy-tailed
component a chain, a t distribution with the chain's mean and covariance, whatever the state. The
steps keep the target as it is and go from one mode to another at once. In many dimensions, or where
a mode is far from elliptic, few proposals are accepted, which the diagnostics then show.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import logsumexp

from pyvws._base.checks import Floats
from pyvws._base.cores import steady_sums
from pyvws.posterior.pseudo_posterior import PseudoPosterior

_FREEDOM = 5.0  # Degrees of freedom of the components: heavier tails than a posterior has.
_STEPS = 10  # Proposals for each draw that is kept.
_FIRST = 100  # Draws that are dropped.


def moved_between_modes(target: PseudoPosterior, q: Floats, seed: int) -> Floats:
    """Draws (chains, draws, D) of the target from draws q (chains, draws, D) of separate chains."""
    chains, draws, _ = q.shape
    density = target.density_and_gradient()
    with steady_sums():
        proposals = _Proposals(q)
        moved = np.empty_like(q)
        for chain, stream in enumerate(np.random.SeedSequence(seed).spawn(chains)):
            rng = np.random.default_rng(stream)
            state = q[chain, -1]
            weight = density(state)[0] - proposals.log_density(state[None])[0]
            for at in range(-_FIRST, draws):
                points = proposals.draw(rng, _STEPS)
                tests = np.log(rng.random(_STEPS))
                likely = proposals.log_density(points)
                for point, test, below in zip(points, tests, likely, strict=True):
                    new = density(point)[0] - below
                    if test < new - weight:  # Not where the density is not a number.
                        state, weight = point, new
                if at >= 0:
                    moved[chain, at] = state
    return moved


class _Proposals:
    """The mixture of t distributions, one component a chain of q (chains, draws, D)."""

    def __init__(self, q: Floats) -> None:
        self._means = q.mean(axis=1)
        self._roots = np.array([_root(chain) for chain in q])
        self._log_scales = np.log(np.diagonal(self._roots, axis1=1, axis2=2)).sum(axis=1)

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """Points (count, D)."""
        D = self._means.shape[1]
        mode = rng.integers(len(self._means), size=count)
        steps = rng.standard_normal((count, D))
        steps /= np.sqrt(rng.chisquare(_FREEDOM, size=(count, 1)) / _FREEDOM)
        return np.asarray(self._means[mode] + np.einsum("nij,nj->ni", self._roots[mode], steps))

    def log_density(self, points: Floats) -> Any:
        """The log density of points (n, D), up to a constant."""
        D = points.shape[1]
        gaps = points[None] - self._means[:, None]
        scaled = np.linalg.solve(self._roots, np.swapaxes(gaps, 1, 2))
        squares = (scaled**2).sum(axis=1)
        terms = -0.5 * (_FREEDOM + D) * np.log1p(squares / _FREEDOM)
        return logsumexp(terms - self._log_scales[:, None], axis=0) - math.log(len(self._means))


def _root(draws: Floats) -> Floats:
    """The Cholesky factor (D, D) of the draws' covariance, never singular."""
    spread = np.maximum(draws.std(axis=0), 1e-12 * (1.0 + np.abs(draws.mean(axis=0))))
    standard = (draws - draws.mean(axis=0)) / spread
    correlation = standard.T @ standard / len(draws) + 1e-6 * np.eye(len(spread))
    return np.asarray(spread[:, None] * np.linalg.cholesky(correlation))
