"""A fit made elsewhere as the one fit of a run: its bounds, and its weights as a mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.phrase import Phrase
from pyvws._base.setting import setting
from pyvws.bounds.joint import ColumnTerms, blockwise_joint_bounds
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import InputError
from pyvws.mechanisms.given_weights import GivenWeights
from pyvws.mechanisms.lipschitz_weighted import LipschitzWeighted
from pyvws.mechanisms.unweighted import Unweighted
from pyvws.models.sequence import joint_draws
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.diagnostics import diagnose
from pyvws.posterior.draws import Y_REP, Posterior
from pyvws.synthesis.existing_fit import ExistingFit
from pyvws.synthesis.fit_sources import FitProgress, SampledFit

Fits = ExistingFit | Mapping[str, ExistingFit]

EXISTING_FIT: Final = setting(
    None,
    "A fit made elsewhere, or one of each column by its name: its y_rep are released.",
    more="As `vws.from_arviz` and the like read it. Its weights are the mechanism, and its log_lik "
    "is bounded; nothing is fitted.",
    option=False,
    in_steps=False,
)
"""The setting `existing_fit` of a run."""

OUTSIDE: Final = "outside"
"""The statement's word for the engine of a fit made elsewhere."""

_TOTAL: Final = "log_lik_total"  # What the chains of such a fit are compared by.


def fits_by_column(
    fit: ExistingFit | Mapping[str, ExistingFit], columns: Sequence[str]
) -> dict[str, ExistingFit]:
    """The fit of each column in their order; InputError for fits that are not these columns'."""
    given = dict(fit) if isinstance(fit, Mapping) else dict.fromkeys(columns[:1], fit)
    if sorted(given) != sorted(columns):
        raise InputError.by("existing-fit-columns", columns=", ".join(columns))
    return {name: given[name] for name in columns}


def check_fits(fit: Fits) -> tuple[ExistingFit, ...]:
    """The fits that a run was given; InputError unless they can be released together."""
    fits = tuple(fit.values()) if isinstance(fit, Mapping) else (fit,)
    if not fits or not all(isinstance(each, ExistingFit) for each in fits):
        raise InputError.by("existing-fit-kind")
    if any(each.y_rep is None for each in fits):
        raise InputError.by("y-rep-missing")
    if len({each.log_lik.shape for each in fits}) > 1:
        raise InputError.by("fits-differ-in-shape")
    if len({None if each.weights is None else each.weights.tobytes() for each in fits}) > 1:
        raise InputError.by("fits-differ-in-weights")
    return fits


def mechanism_of(run: Any) -> Any:
    """The mechanism of a run: that of its settings, or what the weights of its fits are."""
    if run.existing_fit is None:
        return run.mechanism
    weights = check_fits(run.existing_fit)[0].weights
    mechanism = Unweighted() if weights is None else GivenWeights(weights)
    _refuse_beside_fit(run, mechanism)
    return mechanism


def _refuse_beside_fit(run: Any, mechanism: Unweighted | GivenWeights) -> None:
    """Raise InputError for settings of a fit that a run with a fit made elsewhere does not make."""
    asked = {
        "mechanism": run.mechanism not in ("lw", LipschitzWeighted(), mechanism),
        "engine": run.engine != "native",
        "program": run.program is not None,
        **{name: bool(getattr(run, name)) for name in ("reweight", "downscale", "epsilon")},
        "unit": bool(run.unit or getattr(run.schema, "unit", None)),
        "survey_weight": bool(getattr(run.schema, "survey_weight", None)),
    }
    given = [name for name, holds in asked.items() if holds]
    if given:
        raise InputError.by("existing-fit-with-setting", given=", ".join(given))


def outside_caveats(fit: Fits | None) -> tuple[Phrase, ...]:
    """What a statement says of a fit made elsewhere; empty without one."""
    if fit is None:
        return ()
    known = all(each.y_rep_from == "parameters" for each in check_fits(fit))
    return (Phrase("outside-fit"), *(() if known else (Phrase(UNKNOWN),)))


UNKNOWN: Final = "unknown-predictions"
"""Key of the caveat on synthetic values of unknown origin, under which nothing is claimed."""


@dataclass(frozen=True, slots=True)
class OutsideSource:
    """Fits made elsewhere, one a column, as the source of the one fit of a run.

    Their bounds are joint: over all pairings of the columns' draws.
    """

    fits: Mapping[str, ExistingFit]
    threshold: float = 1.0
    units: None = None

    def sample(
        self,
        weights: Floats,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: FitProgress | None,
        clamp: Clamp | None = None,
        previous: Posterior | None = None,
    ) -> SampledFit:
        """As `FitSource.sample`, but only under the weights that the fits have."""
        first = next(iter(self.fits.values()))
        own = np.ones(first.log_lik.shape[1]) if first.weights is None else first.weights
        if len(weights) != len(own):
            raise InputError.by("existing-fit-records", own=len(own), weights=len(weights))
        if clamp is not None or not np.array_equal(weights, own):
            raise InputError.by("existing-fit-refitted")
        bounds, _ = blockwise_joint_bounds(
            [_terms(fit.log_lik) for fit in self.fits.values()],
            draws=len(first.log_lik),
            weights=np.ones_like(own),
            exponents=None,
            threshold=self.threshold,
        )
        maxima = np.zeros(len(own))
        used = own > 0
        maxima[used] = bounds.by_record[used] / own[used]
        return SampledFit(self._posterior(), bounds, maxima)

    def _posterior(self) -> Posterior:
        draws = {
            name: {_TOTAL: fit.log_lik.sum(axis=1), Y_REP: fit.y_rep}
            for name, fit in self.fits.items()
        }
        fits = list(self.fits.values())
        chains = fits[0].chains if len({fit.chains for fit in fits}) == 1 else 1
        totals = np.column_stack([fit.log_lik.sum(axis=1) for fit in fits])
        each: Any = draws if len(draws) > 1 else next(iter(draws.values()))
        return Posterior(
            draws=joint_draws(each) if len(draws) > 1 else each,
            chains=chains,
            diagnostics=diagnose(totals.reshape(chains, -1, len(fits)), 0),
            seconds=0.0,
            engine=OUTSIDE,
        )


def _terms(log_lik: Floats) -> ColumnTerms:
    """The terms (S, N) of a column, weights included, as the joint bounds read them."""
    S, N = log_lik.shape
    return ColumnTerms(
        blocks=lambda: iter([(slice(0, S), slice(0, N), lambda: log_lik)]),
        at=lambda places: log_lik[:, places],
        cell_of_record=np.arange(N),
        n_cells=N,
    )
