"""What a mechanism is asked for, what it knows of the loop that fits it, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from pyvws._base.checks import Floats
from pyvws.bounds.lipschitz import LipschitzBounds
from pyvws.posterior.draws import Posterior
from pyvws.tables.cells import Cells
from pyvws.weights.search import LONGER, Reached, Window, log_spread, room_below
from pyvws.weights.truncation import downscale

__all__ = [
    "Downscaling",
    "Loop",
    "Request",
    "WeightedFit",
    "Weighting",
    "downscaled",
    "target_window",
]


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
    confirmed : bool
        Whether the bounds are the larger ones of this fit and of a shorter one that the draws of
        this one had no part in choosing.
    bound : float, optional
        epsilon / 2 in nats where each term is clamped to it, in the fit and in its bounds.
    """

    label: str
    weights: Floats
    posterior: Posterior
    bounds: LipschitzBounds
    maxima: Floats
    confirmed: bool = False
    bound: float | None = None

    def confirming(self, earlier: WeightedFit) -> WeightedFit:
        """This fit with the larger bounds of itself and of an earlier one, in nats.

        The earlier one has the same weights; all draws of this one lie below the bounds.
        """
        bounds = replace(
            self.bounds,
            by_record=np.maximum(earlier.bounds.by_record, self.bounds.by_record),
            database=max(earlier.bounds.database, self.bounds.database),
        )
        maxima = np.maximum(earlier.maxima, self.maxima)
        return replace(self, bounds=bounds, maxima=maxima, confirmed=True)

    @property
    def reached(self) -> Reached[WeightedFit]:
        """What a search reads of this fit."""
        return Reached(
            self,
            self.bounds.database,
            self.maxima,
            log_spread(self.bounds.by_draw[self.bounds.kept_draws]),
            longer=1 + LONGER if self.confirmed else 1,
        )


@dataclass(frozen=True, slots=True)
class Downscaling:
    """Lower each weight until its bound is epsilon / 2, refit, and again, `passes` times at most.

    `psi` is one constant factor for all records instead of each record's own. With `room` the
    weights aim lower than epsilon / 2, by what the noise of the bound asks for.
    """

    epsilon: float
    passes: int
    psi: float | None = None
    room: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a run asks of a mechanism.

    Attributes
    ----------
    y : ndarray, shape (N,)
        The confidential outcome, in its own unit.
    known : sequence of arrays, shape (N,) each
        The columns that the mechanism names as known.
    tolerance : float
        How near a searched bound must come, as a share of it.
    epsilon : float, optional
        A target: the mechanism's constant is searched until 2 Delta ends below it.
    downscaling : Downscaling, optional
        Lower the mechanism's weights afterwards.
    confirm : bool
        Whether further draws check the fit that ends a search or downscaling. They do not before a
        step that is not the last.
    """

    y: Floats
    known: Sequence[Any] = ()
    tolerance: float = 0.05
    epsilon: float | None = None
    downscaling: Downscaling | None = None
    confirm: bool = True

    @property
    def window(self) -> Window | None:
        """Where a searched bound may end; None where nothing is searched."""
        return None if self.epsilon is None else target_window(self.epsilon, self.tolerance)


def target_window(epsilon: float, tolerance: float) -> Window:
    """Where Delta_{alpha,x} may end: at most epsilon / 2, and less by a share `tolerance` of it.

    It ends lower where its noise asks for more room (`pyvws.weights.search.stay_below`).
    """
    return Window.below(0.5 * epsilon, tolerance)


@dataclass(frozen=True, slots=True)
class Weighting:
    """A mechanism's own fit, before any re-weighting.

    `risk` (N,) lies in [0, 1], larger = riskier: the share that weights fall with for CW, Marginal
    and Pairwise, else the unweighted bounds between their smallest and largest. `constants` holds
    what a search found.
    """

    fit: WeightedFit
    risk: Floats
    constants: dict[str, float] = field(default_factory=dict)

    @property
    def bound(self) -> float | None:
        """epsilon / 2 where the fit clamps its terms, in nats."""
        return self.fit.bound


class Loop(Protocol):
    """What a mechanism knows of the loop that fits it, `pyvws.synthesis.loop.SynthesisLoop`."""

    @property
    def cells(self) -> Cells:
        """The records, equal ones counted together."""

    def fit(
        self, weights: Floats, label: str, *, bound: float | None = None, longer: int = 1
    ) -> WeightedFit:
        """Sample the pseudo posterior under weights (N,); with a `bound` each term is clamped."""

    def once(self, key: Any, make: Callable[[], WeightedFit]) -> WeightedFit:
        """The fit that the loop keeps under a key; it is made where there is none."""

    def unweighted(self) -> WeightedFit:
        """The ordinary posterior, fitted once."""

    def lipschitz_weights(self, *, c: float, g: float) -> Floats:
        """LW's weights (N,), from the unweighted fit."""

    def lipschitz(self, *, c: float = 1.0, g: float = 0.0) -> WeightedFit:
        """LW, fitted once for each c and g."""

    def confirmed(self, earlier: WeightedFit) -> WeightedFit:
        """A longer fit under the same weights, with the larger bounds of both."""

    def met(
        self, weights_at: Callable[[float], Floats], window: Window, *, symbol: str, label: str
    ) -> tuple[WeightedFit, float]:
        """Refits until the bound lies in the window; the fit and the value of `symbol`."""

    def below(
        self,
        weights_at: Callable[[float], Floats],
        window: Window,
        *,
        symbol: str,
        label: str,
        largest: float = 1e6,
        confirm: bool = True,
    ) -> tuple[WeightedFit, float]:
        """Refits until the bound stays below the window's upper end; the fit and the value."""


def downscaled(loop: Loop, fit: WeightedFit, rule: Downscaling, *, confirm: bool) -> WeightedFit:
    """The last of the refits, `passes` at most, made once for each fit and rule.

    A fit that meets the bound is confirmed if asked.
    """

    def lowered() -> WeightedFit:
        last, half = fit, 0.5 * rule.epsilon
        for left in range(rule.passes, -1, -1):
            if confirm and last.bounds.database <= half:
                last = loop.confirmed(last)
            if last.bounds.database <= half or left == 0:
                break
            room = room_below(log_spread(last.bounds.by_draw)) if rule.room else 1.0
            weights = downscale(
                last.weights, last.bounds.by_record, epsilon=rule.epsilon * room, psi=rule.psi
            )
            last = loop.fit(weights, f"{fit.label} downscaled")
        return last

    return loop.once(("downscaled", id(fit), rule, confirm), lowered)
