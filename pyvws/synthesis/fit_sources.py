"""Where a weighted fit and its bounds come from: a model's own density, or a user's program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from pyvws._base.checks import Floats
from pyvws.bounds.lipschitz import LipschitzBounds, blockwise_bounds, lipschitz_bounds
from pyvws.engines._engine import Engine, Progress
from pyvws.engines._stan_run import StanEngine
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.user_program import UserFit, UserProgram, parameter_names, program_data
from pyvws.errors import InputError
from pyvws.models.model import Model
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.diagnostics import diagnose
from pyvws.posterior.draws import Posterior
from pyvws.posterior.log_likelihood import shifted_blocks
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.cells import Cells

__all__ = ["FitSource", "ModelSource", "ProgramSource", "clamps_everything", "share_outside"]

_SEEN_DRAWS = 100  # Draws that the share of records outside a window is taken over.


class FitSource(Protocol):
    """A source of fits: it samples under weights (N,) and bounds the draws' log-likelihood."""

    def sample(
        self,
        weights: Floats,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: Progress | None,
        clamp: Clamp | None = None,
        previous: Posterior | None = None,
    ) -> tuple[Posterior, LipschitzBounds, Floats]:
        """Draws, bounds of alpha_i l_i, and max_s |l_i| (N,), in nats.

        With a `clamp` the source clamps each term, in the fit and in the fit's bounds. The chains
        start from `previous`, a fit under other weights.
        """


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model of the package under any engine; the draws give the model's log-likelihood."""

    model: Model
    cells: Cells
    engine: Engine
    threshold: float = 1.0

    def sample(
        self,
        weights: Floats,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: Progress | None,
        clamp: Clamp | None = None,
        previous: Posterior | None = None,
    ) -> tuple[Posterior, LipschitzBounds, Floats]:
        """As `FitSource.sample`."""
        target = PseudoPosterior(self.model, self.cells, weights, clamp)
        posterior = self.engine.sample(
            target, settings, seed=seed, progress=progress, previous=previous
        )
        bounds, maxima = blockwise_bounds(
            lambda: shifted_blocks(self.model, posterior, self.cells, clamp),
            draws=posterior.n_draws,
            weights=weights,
            largest_weights=self.cells.largest_weights(weights),
            cell_of_record=self.cells.cell_of_record,
            threshold=self.threshold,
        )
        if clamp is not None:
            low, high = clamp.window
            bounds = bounds.clamped(-low, share=clamp.half / (high if high > 0.0 else -low))
        return posterior, bounds, maxima


def clamps_everything(
    model: Model, cells: Cells, posterior: Posterior, weights: Floats, clamp: Clamp
) -> bool:
    """Whether the posterior is the prior: each record's term is one end of the window throughout.

    Terms at the high end under some draws and at the low end under others do tell draws apart.
    """
    least = cells.smallest_positive_weights(weights)
    used = np.isfinite(least)
    low, high = clamp.window
    first = np.empty(0)
    for rows, columns, block in shifted_blocks(model, posterior, cells, clamp):
        of = used[columns]
        terms = np.nan_to_num(block()[:, of] * least[columns][of], nan=-np.inf)
        clamped = np.clip(terms, low, high)
        if rows.start == 0:
            first = clamped[0]
        if ((low < terms) & (terms < high)).any() or (clamped != first).any():
            return False
    return True


def share_outside(
    model: Model, cells: Cells, posterior: Posterior, weights: Floats, clamp: Clamp
) -> Floats:
    """The share of records whose terms lie outside the window, at evenly spaced draws.

    The result has an entry for each of about a hundred draws, or of all draws where they are fewer.
    Records of weight 0 do not count; without other records the share is 0.
    """
    step = max(1, posterior.n_draws // _SEEN_DRAWS)
    seen = replace(posterior, draws=posterior.block(slice(None, None, step)))
    counted = np.ones(len(weights)) if cells.multiplicity is None else cells.multiplicity
    pairs, place = np.unique(
        np.column_stack([cells.cell_of_record, weights]), axis=0, return_inverse=True
    )
    cell, weight = pairs[:, 0].astype(np.intp), pairs[:, 1]
    count = np.where(weight > 0, np.bincount(place.ravel(), weights=counted), 0.0)
    low, high = clamp.window
    outside = np.zeros(seen.n_draws)
    for rows, columns, block in shifted_blocks(model, seen, cells, clamp):
        of = slice(*np.searchsorted(cell, [columns.start, columns.stop]))
        with np.errstate(invalid="ignore"):
            terms = block()[:, cell[of] - columns.start] * weight[of]
        outside[rows] += ~((low <= terms) & (terms <= high)) @ count[of]
    return outside / max(float(count.sum()), 1.0)


@dataclass(frozen=True, slots=True)
class ProgramSource:
    """A user's Stan program, whose log_lik gives the bounds and whose draws predict like a model.

    `predicts_from` names the parameters that the model's predictive draw reads, beta among them.
    The class raises InputError if the program's parameters block lacks such a name. A quantity that
    the program computes elsewhere under the name may tell more of the records than the records'
    weighted terms let through.
    """

    program: UserProgram
    engine: StanEngine
    y: Floats
    design: Floats
    predicts_from: tuple[str, ...]
    threshold: float = 1.0

    def __post_init__(self) -> None:
        declared = parameter_names(self.program.text)
        missing = [name for name in self.predicts_from if name not in declared]
        if missing:
            raise InputError(
                f"The parameters block of the Stan program does not declare {', '.join(missing)}, "
                "which the model's predictive draw reads. Declare it there: what is computed in "
                "transformed parameters or generated quantities may tell of the records past "
                "their weights. Or choose the model that the program fits."
            )

    def sample(
        self,
        weights: Floats,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: Progress | None,
        clamp: Clamp | None = None,
        previous: Posterior | None = None,
    ) -> tuple[Posterior, LipschitzBounds, Floats]:
        """As `FitSource.sample`; a record of weight 0 has a bound of 0.

        A user's program starts at Stan's own starting point and ignores `previous`.
        """
        if clamp is not None:
            raise InputError(
                "Your own Stan program cannot be censored from outside. Leave --stan out, or clamp "
                "the terms in the program and choose another mechanism."
            )
        fit = self.program.fit(
            self.engine,
            program_data(self.y, self.design, weights),
            settings,
            seed=seed,
            progress=progress,
        )
        weighted = fit.log_lik.copy()
        used = weights > 0
        weighted[:, ~used] = 0.0
        if self.program.log_lik == "plain":
            weighted[:, used] *= weights[used]
        bounds = lipschitz_bounds(weighted, threshold=self.threshold)
        maxima = np.zeros(len(weights))
        maxima[used] = bounds.by_record[used] / weights[used]
        return _posterior(fit, self.engine.name), bounds, maxima


def _posterior(fit: UserFit, engine: str) -> Posterior:
    """The program's draws, with diagnostics of every variable that varies."""
    S = len(fit.log_lik)
    flat = np.concatenate([value.reshape(S, -1) for value in fit.draws.values()], axis=1)
    varying = flat[:, np.ptp(flat, axis=0) > 0]
    return Posterior(
        draws=fit.draws,
        chains=fit.chains,
        diagnostics=diagnose(varying.reshape(fit.chains, S // fit.chains, -1), fit.divergences),
        seconds=fit.seconds,
        engine=engine,
    )
