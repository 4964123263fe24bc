"""Engines for runs with known numbers: one draws exactly from a grid, one returns given draws.

A clamped posterior that is restricted to a grid is still a clamped posterior, and the same bound
holds. On a grid the posterior's normaliser is a sum, the draws are exact and independent, and no
chain has to converge.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import logsumexp

from pyvws._base.checks import Floats
from pyvws.engines._engine import Progress
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.posterior.diagnostics import Diagnostics
from pyvws.posterior.draws import Posterior
from pyvws.posterior.pseudo_posterior import PseudoPosterior

__all__ = ["GridEngine", "KnownDraws", "grid"]


def grid(*axes: Sequence[float]) -> Floats:
    """Every combination of the axes' values, one in each row: (G, D)."""
    return np.array(list(itertools.product(*axes)), dtype=np.float64)


def _posterior(target: PseudoPosterior, q: Floats, chains: int) -> Posterior:
    """Unconstrained draws q (S, D) of a target, as a fit with good diagnostics."""
    sizes = float(len(q) + 400)
    return Posterior(
        draws=target.model.constrain(q, target.cells.n_coefficients),
        chains=chains,
        diagnostics=Diagnostics(1.0, sizes, sizes, 0),
        seconds=0.0,
        engine="grid",
    )


@dataclass
class GridEngine:
    """An engine that draws independently and exactly from a target on a grid.

    Attributes
    ----------
    points : ndarray, shape (G, D)
        The grid, unconstrained.
    log_posterior : ndarray, shape (G,)
        Log probability of each point under the latest target.
    """

    points: Floats
    log_posterior: Floats = field(init=False, default_factory=lambda: np.empty(0))
    name: str = "grid"

    def sample(
        self,
        target: PseudoPosterior,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: Progress | None = None,
        previous: Posterior | None = None,
    ) -> Posterior:
        """As `Engine.sample`."""
        density = target.density_and_gradient()
        values = np.array([density(q)[0] for q in self.points])
        values[np.isnan(values)] = -np.inf
        self.log_posterior = values - logsumexp(values)
        rng = np.random.default_rng(seed)
        S = settings.draws * settings.chains
        places = rng.choice(len(self.points), size=S, p=np.exp(self.log_posterior))
        return _posterior(target, self.points[places], settings.chains)


@dataclass
class KnownDraws:
    """An engine that returns given draws, whatever the target.

    Attributes
    ----------
    fits : sequence of ndarray, each of shape (S, D)
        Unconstrained draws, one array for each fit; all further fits return the last array.
    targets : list of PseudoPosterior
        The target of each fit so far.
    """

    fits: Sequence[Floats]
    targets: list[PseudoPosterior] = field(init=False, default_factory=list)
    name: str = "known draws"

    def sample(
        self,
        target: PseudoPosterior,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: Progress | None = None,
        previous: Posterior | None = None,
    ) -> Posterior:
        """As `Engine.sample`."""
        q = self.fits[min(len(self.targets), len(self.fits) - 1)]
        self.targets.append(target)
        return _posterior(target, q, settings.chains)
