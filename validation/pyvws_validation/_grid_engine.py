"""Engines for runs with known numbers: exact draws from a grid, given draws, or every draw in turn.

A clamped posterior that is restricted to a grid is still a clamped posterior, and the same bound
holds. On a grid the posterior's normaliser is a sum, the draws are exact and independent, and no
chain has to converge.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from pyvws._base.checks import Floats
from pyvws.engines import grid as grid_engine
from pyvws.engines.grid import UNITS_A_NAT, Scores
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.models.sequence import Conditional, joint_draws
from pyvws.posterior.draws import Diagnostics, Posterior
from pyvws.posterior.joint_target import JointTarget
from pyvws.posterior.pseudo_posterior import PseudoPosterior


def grid(*axes: Sequence[float]) -> Floats:
    """Every combination of the axes' values, one in each row: (G, D)."""
    return np.array(list(itertools.product(*axes)), dtype=np.float64)


def log_posterior(target: PseudoPosterior | JointTarget, points: Floats) -> Floats:
    """Log probability of each point (G, D), unconstrained, where a target has no other points."""
    density = target.density_and_gradient()
    values = np.array([density(q)[0] for q in points])
    values[np.isnan(values)] = -np.inf
    return np.asarray(values - logsumexp(values))


def _posterior(target: PseudoPosterior | Conditional, q: Floats, chains: int) -> Posterior:
    """Unconstrained draws q (S, D) of a target, as a fit with good diagnostics."""
    sizes = float(len(q) + 400)
    return Posterior(
        draws=target.model.constrain(q, target.cells.n_coefficients),
        chains=chains,
        diagnostics=Diagnostics(1.0, sizes, sizes, 0),
        seconds=0.0,
        engine="grid",
    )


def _of_table(target: JointTarget, drawn: Sequence[Floats], chains: int) -> Posterior:
    """Unconstrained draws (S, D_k) of each column of a table, as `_posterior` of one."""
    fits = {
        column.column: _posterior(column, q, chains)
        for column, q in zip(target.columns, drawn, strict=True)
    }
    together = joint_draws({name: fit.draws for name, fit in fits.items()})
    return replace(next(iter(fits.values())), draws=together)


@dataclass
class EnumeratedGrid:
    """An engine that draws independently and exactly from a target on a grid (G, D), unconstrained.

    `log_posterior` (G,) holds the log probability of each point under the latest target.
    """

    points: Floats
    log_posterior: Floats = field(init=False, default_factory=lambda: np.empty(0))
    name: str = "grid"

    def sample(
        self, target: PseudoPosterior, settings: SamplerSettings, *, seed: int, **_: Any
    ) -> Posterior:
        return _posterior(target, self._drawn(target, settings, seed), settings.chains)

    def sample_table(
        self, target: JointTarget, settings: SamplerSettings, *, seed: int, **_: Any
    ) -> Posterior:
        """As `TableEngine.sample_table`."""
        q = self._drawn(target, settings, seed)
        return _of_table(target, [q[:, block] for block in target.blocks()], settings.chains)

    def _drawn(
        self, target: PseudoPosterior | JointTarget, settings: SamplerSettings, seed: int
    ) -> Floats:
        self.log_posterior = log_posterior(target, self.points)
        rng = np.random.default_rng(seed)
        S = settings.draws * settings.chains
        places = rng.choice(len(self.points), size=S, p=np.exp(self.log_posterior))
        return self.points[places]


@dataclass
class KnownDraws:
    """An engine that returns given draws (S, D) for each fit, whatever the target; further fits
    return the last ones. `targets` holds the target of each fit so far.
    """

    fits: Sequence[Floats]
    targets: list[PseudoPosterior] = field(init=False, default_factory=list)
    name: str = "known draws"

    def sample(
        self, target: PseudoPosterior, settings: SamplerSettings, *, seed: int, **_: Any
    ) -> Posterior:
        q = self.fits[min(len(self.targets), len(self.fits) - 1)]
        self.targets.append(target)
        return _posterior(target, q, settings.chains)


@dataclass(frozen=True)
class KnownByWidth:
    """An engine whose draws (S, D) of a column are known by D, which no two columns share.

    The fits of a table run side by side, so their order tells no columns apart. `targets` holds the
    latest target of each D, and `joint` those of whole tables.
    """

    draws: Sequence[Floats]
    targets: dict[int, PseudoPosterior] = field(init=False, default_factory=dict)
    joint: list[JointTarget] = field(init=False, default_factory=list)
    name: str = "known draws"

    def known(self, width: int) -> Floats:
        """The draws (S, D) of the column of D parameters."""
        (draws,) = (q for q in self.draws if q.shape[1] == width)
        return draws

    def sample(
        self, target: PseudoPosterior, settings: SamplerSettings, *, seed: int, **_: Any
    ) -> Posterior:
        self.targets[target.dimension] = target
        return _posterior(target, self.known(target.dimension), settings.chains)

    def sample_table(self, target: JointTarget, settings: SamplerSettings, **_: Any) -> Posterior:
        self.joint.append(target)
        drawn = [self.known(block.stop - block.start) for block in target.blocks()]
        return _of_table(target, drawn, settings.chains)


@dataclass
class Enumerating:
    """An engine whose fits each have known log probabilities, and whose draws are as given.

    Fit number j returns the point `points[at[j]]`, as if chance had drawn it; further fits return
    the last of them.
    """

    points: Floats
    at: tuple[int, ...]
    log_posteriors: list[Floats] = field(init=False, default_factory=list)
    name: str = "enumerating"

    def sample(
        self, target: PseudoPosterior, settings: SamplerSettings, *, seed: int, **_: Any
    ) -> Posterior:
        exact = EnumeratedGrid(self.points)
        exact.sample(target, settings, seed=seed)
        point = self.points[self.at[min(len(self.log_posteriors), len(self.at) - 1)]]
        self.log_posteriors.append(exact.log_posterior)
        return _posterior(target, point[None, :], settings.chains)


def joint_log_probability(
    points: Floats, run: Callable[[Enumerating], None], *, public: int = 0
) -> Floats:
    """log P (G^(F-1), G) of one draw of each of a run's F fits, over all combinations of points.

    `run` makes the run with an engine. Each row fixes the draws of all fits but the last, since
    a later fit may depend on them. The run's first `public` fits are of public records; they
    return the first point, and have no part in P.
    """

    def fixed(earlier: tuple[int, ...]) -> list[Floats]:
        engine = Enumerating(points, (*(0,) * public, *earlier, 0))
        run(engine)
        return engine.log_posteriors[public:]

    stages = len(fixed(())) - 1
    logs_of_runs = []
    for earlier in itertools.product(range(len(points)), repeat=stages):
        *first, last = fixed(earlier)
        logs_of_runs.append(sum((logs[at] for logs, at in zip(first, earlier, strict=True)), last))
    return np.array(logs_of_runs)


@dataclass(frozen=True)
class SeenGrid(grid_engine.GridEngine):
    """The package's grid engine, which notes the scores where it would draw, and draws nothing.

    `seen` holds the points (G, D) of each fit, and their log probabilities (G,) by the whole
    scores.
    """

    seen: list[tuple[Floats, Floats]] = field(init=False, default_factory=list)

    def drawn(
        self, points: Floats, scores: Scores, draws: int, progress: Callable[[float], None]
    ) -> Floats:
        """As `EnumeratedGrid.drawn` of the package, but each draw is the middle point of the list.

        The scores are subtracted as whole numbers of any size: those of 64 bits could wrap.
        """
        largest = int(scores.max())
        nats = np.array([(int(score) - largest) / UNITS_A_NAT for score in scores])
        self.seen.append((points, nats - logsumexp(nats)))
        return points[np.full(draws, len(points) // 2)]
