"""The grid engine: independent draws from a clamped target on a finite public grid, no chain.

The target gives a point of the grid the probability exp(prior + sum of clamped terms) over the sum
of that over all points. This is the exponential mechanism: one record moves a point's score by a
number of units between -W and 0, whatever the other records are, so the draw's probabilities move
by a factor between exp(-epsilon) and exp(epsilon) (docs/proofs.md has the proof). The largest of
scores with Gumbel noise is such a draw; OpenDP draws that noise exactly, without rounding, from a
generator that no seed can bring back.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.cores import usable_cores
from pyvws._base.secret_noise import contributed
from pyvws.engines.engine import Progress
from pyvws.engines.public_grid import public_grid, public_scores
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.whole_scores import UNITS_A_NAT, Scores, whole_scores
from pyvws.errors import ConvergenceWarning, InputError
from pyvws.models.regression import Regression
from pyvws.posterior.diagnostics import independent_draws
from pyvws.posterior.draws import Posterior
from pyvws.posterior.pseudo_posterior import PseudoPosterior

_SCORED = 0.5  # Share of the progress that the scores make up; draws are the rest.
_COARSE = 0.5  # Share of the probability on one step, from which a grid is coarse.
_AT_AN_END = 0.05


@dataclass(frozen=True, slots=True)
class GridEngine:
    """Independent draws from a clamped target on a public grid of up to three parameters.

    A draw has the parameters of the likelihood: `beta` and the family's own. The prior is summed
    over the coefficients' scales and correlations, which no prediction reads. `exact` says that no
    chain has to converge. The engine reads no seed: nobody can repeat its draws.
    """

    exact: ClassVar[bool] = True
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
        """As `Engine.sample`, but `seed`, `previous`, warm-up and acceptance have no part in it.

        Raises InputError for a target without a clamp, and for what `check_grid` refuses: a run's
        settings have passed it before a table is read, but for levels that come from the table.
        """
        began = time.perf_counter()
        model, K = target.model, target.cells.n_coefficients
        if target.clamp is None:
            raise InputError.by("grid-target-unclamped")
        S = settings.draws * settings.chains

        def report(share: float) -> None:
            if progress is not None:
                progress(int(share * S), S)

        grid = public_grid(settings, model, K)
        prior, points = public_scores(grid), grid.points()
        scores = prior + whole_scores(target, points, lambda share: report(_SCORED * share))
        _warn_of_the_grid(scores, grid.shape)
        own = cast(Regression, model)
        q = self.drawn(points, scores, S, lambda share: report(_SCORED + (1 - _SCORED) * share))
        return Posterior(
            draws={"beta": q[:, :K].copy()} | own.own_draws(q[:, q.shape[1] - own.own_entries :]),
            chains=settings.chains,
            diagnostics=independent_draws(S),
            seconds=time.perf_counter() - began,
            engine=self.name,
        )

    def drawn(
        self, points: Floats, scores: Scores, draws: int, progress: Callable[[float], None]
    ) -> Floats:
        """Draws (S, D) of the points (G, D), with chances proportional to exp(score / units)."""
        return points[noisy_maximum(scores, draws, progress)]


def _warn_of_the_grid(scores: Scores, shape: tuple[int, ...]) -> None:
    """Warn the agency alone of steps wider than the posterior, and of one at a range's end."""
    share = np.exp((scores - scores.max()) / UNITS_A_NAT).reshape(shape)
    share /= share.sum()
    for axis, steps in enumerate(shape):
        along = share.sum(axis=tuple(other for other in range(len(shape)) if other != axis))
        problems = []
        if steps > 2 and along.max() > _COARSE:
            problems.append("The posterior is narrower than the steps of its grid.")
        if steps > 2 and along[0] + along[-1] > _AT_AN_END:
            problems.append("The posterior lies at an end of its grid.")
        if problems:
            warnings.warn(
                f"Parameter {axis + 1}: {' '.join(problems)} Choose grid_range and grid_steps "
                "again, by what is public and not by this table: a grid chosen by the data has no "
                "guarantee.",
                ConvergenceWarning,
                stacklevel=3,
            )


def noisy_maximum(
    scores: Scores, draws: int, progress: Callable[[float], None] = lambda _: None
) -> NDArray[np.intp]:
    """Places (S,) of independent draws, with chances proportional to exp(score / 2^24)."""
    measurement = noisy_maximum_measurement()
    values = scores.tolist()
    with ThreadPoolExecutor(usable_cores()) as pool:
        places = []
        for place in pool.map(lambda _: measurement(values), range(draws)):
            places.append(place)
            progress(len(places) / draws)
    return np.array(places, dtype=np.intp)


def noisy_maximum_measurement() -> Any:
    """OpenDP's largest score with Gumbel noise; its `map(W)` gives the zCDP of a W-wide window."""
    with contributed():
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_noisy_max
        from opendp.measures import zero_concentrated_divergence
        from opendp.metrics import linf_distance

        # Under this measure OpenDP's noise is Gumbel's. Under the maximal divergence it would be
        # exponential noise, whose largest score is no draw from the target.
        return make_noisy_max(
            vector_domain(atom_domain(T="i64")),
            linf_distance(T="i64", monotonic=True),
            zero_concentrated_divergence(),
            scale=float(UNITS_A_NAT),
        )
