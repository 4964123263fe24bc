"""The loop fit -> bounds -> weights -> refit -> draw (Algorithms 1 to 3 of [vws2024]).

Nothing numerical lives here: the loop orders the steps, counts the fits and searches k and c.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pyvws._checks import Floats
from pyvws.engines._engine import Posterior, Progress, SamplerSettings
from pyvws.errors import InputError, SearchError
from pyvws.fit_sources import FitSource
from pyvws.io.cells import Cells
from pyvws.lipschitz import LipschitzBounds
from pyvws.mechanisms import Match
from pyvws.models._model import Model
from pyvws.reweight import reweight
from pyvws.search import SMALLEST_SCALE, Try, scale_to_meet
from pyvws.weights import risk_weights, scalar_weights, weights_from_bounds

__all__ = ["SILENT", "Listener", "SynthesisLoop", "WeightedFit"]

_LARGEST_C = 1e6
_LARGEST_K = 0.999
_TRIES = 12


@dataclass(frozen=True, slots=True)
class Listener:
    """What a run tells while it works: `fit` opens a fit and gives its progress; `line` says."""

    fit: Callable[[str], Progress | None]
    line: Callable[[str], None]


SILENT = Listener(fit=lambda _label: None, line=lambda _text: None)


@dataclass(frozen=True, slots=True)
class WeightedFit:
    """One fit under given weights.

    Attributes
    ----------
    label : str
        What the fit is for.
    weights : ndarray, shape (N,)
        alpha_i in [0, 1].
    posterior : Posterior
        S draws of the pseudo posterior.
    bounds : LipschitzBounds
        Delta_{alpha,x_i} (N,), Delta_{alpha,x} and epsilon_x of these draws, in nats.
    maxima : ndarray, shape (N,)
        max_s |l_i(theta_s)| without the weights, in nats.
    """

    label: str
    weights: Floats
    posterior: Posterior
    bounds: LipschitzBounds
    maxima: Floats


class SynthesisLoop:
    """Fits of one table from one source and seed; the unweighted and LW fits are kept.

    `model` predicts the synthetic outcomes; `source` samples and bounds.
    """

    def __init__(
        self,
        model: Model,
        cells: Cells,
        *,
        source: FitSource,
        settings: SamplerSettings,
        seed: int,
        listener: Listener = SILENT,
    ) -> None:
        self.model = model
        self.cells = cells
        self.source = source
        self.settings = settings
        self.fits: list[WeightedFit] = []
        self.tries: list[Try] = []
        self._seeds = np.random.SeedSequence(seed)
        self._listener = listener
        self._kept: dict[tuple[float, float] | None, WeightedFit] = {}

    def fit(self, weights: Floats, label: str) -> WeightedFit:
        """Sample the pseudo posterior under weights (N,) and take its bounds."""
        posterior, bounds, maxima = self.source.sample(
            weights,
            self.settings,
            seed=int(self._seeds.spawn(1)[0].generate_state(1, np.uint64)[0] >> np.uint64(1)),
            progress=self._listener.fit(label),
        )
        made = WeightedFit(label, weights, posterior, bounds, maxima)
        self.fits.append(made)
        return made

    def unweighted(self) -> WeightedFit:
        """The ordinary posterior, fitted once."""
        if None not in self._kept:
            self._kept[None] = self.fit(np.ones(self.cells.n_records), "unweighted")
        return self._kept[None]

    def lipschitz(self, *, c: float = 1.0, g: float = 0.0) -> WeightedFit:
        """LW: Algorithm 1, fitted once for each c and g."""
        if (c, g) not in self._kept:
            weights = weights_from_bounds(self.unweighted().bounds.by_record, c=c, g=g)
            self._kept[c, g] = self.fit(weights, "LW")
        return self._kept[c, g]

    def count(
        self, risk: Floats, *, c: float = 1.0, g: float = 0.0, label: str = "CW"
    ) -> WeightedFit:
        """CW: Algorithm 2 with given c and g; risk (N,)."""
        return self.fit(risk_weights(risk, c=c, g=g), label)

    def count_matched(
        self,
        risk: Floats,
        *,
        match: Match,
        g: float = 0.0,
        tolerance: float = 0.05,
        label: str = "CW",
    ) -> tuple[WeightedFit, float]:
        """CW with c searched so that its bound meets `match`; returns the fit and c."""
        target = self.target(match)
        return self._meet(
            lambda c: risk_weights(risk, c=c, g=g),
            target=target,
            first=None,
            largest=_LARGEST_C,
            start=self.unweighted(),
            symbol="c",
            label=label,
            tolerance=tolerance,
        )

    def scalar(self, *, match: Match = "lw") -> WeightedFit:
        """SW at the weight Delta_{alpha,x} / Delta_x, the bound to meet over the unweighted one."""
        target = self.target(match)
        weights = scalar_weights(
            self.cells.n_records, target=target, unweighted=self.unweighted().bounds.database
        )
        return self.fit(weights, "SW")

    def reweighted(
        self, weighted: WeightedFit, *, k: float = 0.95, tolerance: float = 0.05
    ) -> tuple[WeightedFit, float]:
        """Algorithm 3: refits, from k on, until the bound meets the weighted one's; fit and k."""
        by_record = weighted.bounds.by_record
        return self._meet(
            lambda factor: reweight(weighted.weights, by_record, k=factor),
            target=weighted.bounds.database,
            first=k,
            largest=_LARGEST_K,
            start=weighted,
            symbol="k",
            label=f"{weighted.label}_final",
            tolerance=tolerance,
        )

    def target(self, match: Match) -> float:
        """The bound that `match` stands for, in nats; below the unweighted bound."""
        bound = self.lipschitz().bounds.database if match == "lw" else float(match)
        unweighted = self.unweighted().bounds.database
        if not bound < unweighted:
            raise InputError(
                "match asks for a bound at or above that of the unweighted fit, which no weight in "
                "[0, 1] is needed for. Ask for a smaller bound."
            )
        return bound

    def synthetic(self, fit: WeightedFit, design: Floats, datasets: int) -> list[Floats]:
        """Outcomes (N,) of each dataset, one posterior draw a dataset, evenly thinned."""
        S = fit.posterior.n_draws
        if datasets > S:
            raise InputError(
                f"{datasets} datasets need as many posterior draws. Got {S}; raise draws or chains."
            )
        places = (np.arange(datasets) * S) // datasets
        streams = self._seeds.spawn(datasets)
        cells = self.cells
        seen = cells.outcome[cells.cell_of_record] if self.model.reads_outcome else None
        return [
            self.model.predict(
                fit.posterior.draw(int(place)), design, np.random.default_rng(stream), outcome=seen
            )
            for place, stream in zip(places, streams, strict=True)
        ]

    def problems(self) -> list[str]:
        """What the diagnostics of every fit so far found, a sentence each."""
        return [
            f"{fit.label}: {problem}"
            for fit in self.fits
            for problem in fit.posterior.diagnostics.problems()
        ]

    def _meet(
        self,
        weights_at: Callable[[float], Floats],
        *,
        target: float,
        first: float | None,
        largest: float,
        start: WeightedFit,
        symbol: str,
        label: str,
        tolerance: float,
    ) -> tuple[WeightedFit, float]:
        """Refit until the bound is within `tolerance` of `target`, predicting from the last fit."""
        latest, value = start, first
        for number in range(1, _TRIES + 1):
            if value is None:
                value = scale_to_meet(weights_at, latest.maxima, target, largest=largest)
            if value is None:
                raise SearchError(
                    f"No {symbol} brings the bound up to its target: the weights reach 1 first. "
                    "Ask for a smaller bound, a larger tolerance, or a larger radius."
                )
            latest = self.fit(weights_at(value), label)
            reached = latest.bounds.database
            made = Try(label, symbol, value, reached, target)
            self.tries.append(made)
            self._listener.line(f"  try {number}: {made}")
            if abs(reached - target) <= tolerance * target:
                return latest, value
            if value <= 2.0 * SMALLEST_SCALE:
                raise SearchError(
                    f"Even a {symbol} near 0 leaves the bound above its target, since g keeps "
                    "every weight up. Lower g, or ask for a larger bound."
                )
            value = scale_to_meet(weights_at, latest.maxima, target, largest=largest)
            if value is None and reached < target:
                value = largest if made.value < largest else None
        raise SearchError(
            f"{_TRIES} refits brought no {label} bound within {tolerance:.0%} of its target. Raise "
            "the tolerance or the number of draws."
        )
