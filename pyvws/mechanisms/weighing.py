"""The request to a mechanism, the protocol of the loop that fits it, and the mechanism's result."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from pyvws._base.checks import Floats
from pyvws.bounds.lipschitz import LipschitzBounds
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.draws import Posterior
from pyvws.tables.design.cells import Records
from pyvws.weights.search import LONGER, Reached, Window, log_spread, room_below
from pyvws.weights.weights import downscale


@dataclass(frozen=True, slots=True)
class WeightedFit:
    """One fit under given weights.

    `weights` (N,) are alpha_i in [0, 1], or (N, K) those of each column. `posterior` has S draws,
    none of a fit that a search tried and left. `bounds` are Delta_{alpha,x_i} (N,) and
    Delta_{alpha,x} of these draws, and `maxima` (N,) is max_s |l_i(theta_s)| without the weights,
    in nats. A `confirmed` fit repeats a shorter one, whose choice its draws had no part in; the
    bounds are the larger ones of both. With a `clamp` the bounds are of clamped terms: under the
    deviance clamp half of a record's largest deviance, and `maxima` is max_s |l_i(theta_s) - a_i|.
    """

    label: str
    weights: Floats
    posterior: Posterior
    bounds: LipschitzBounds
    maxima: Floats
    confirmed: bool = False
    clamp: Clamp | None = None

    def confirming(self, earlier: WeightedFit) -> WeightedFit:
        """This fit with the larger bounds, in nats, of it and an earlier fit of its weights."""
        before, own = earlier.bounds, self.bounds
        by_column = None
        if before.by_column is not None and own.by_column is not None:
            by_column = np.maximum(before.by_column, own.by_column)
        windows = None
        if before.windows is not None and own.windows is not None:
            windows = np.maximum(before.windows, own.windows)
        bounds = replace(
            own,
            by_record=np.maximum(before.by_record, own.by_record),
            database=max(before.database, own.database),
            by_column=by_column,
            windows=windows,
        )
        maxima = np.maximum(earlier.maxima, self.maxima)
        return replace(self, bounds=bounds, maxima=maxima, confirmed=True)

    @property
    def reached(self) -> Reached[WeightedFit]:
        """The numbers of this fit that a search reads."""
        return Reached(
            self,
            self.bounds.aimed.database,
            self.maxima,
            log_spread(self.bounds.by_draw[self.bounds.kept_draws]),
            longer=1 + LONGER if self.confirmed else 1,
        )


@dataclass(frozen=True, slots=True)
class ReferenceSizes:
    """Sizes of terms under a fit to public records, in nats; larger = riskier.

    `by_record` (N,) is max_s |term| of the table's records, infinite for a record that the public
    records say nothing of. `low` and `high` are the least and the largest size of the public
    records, and 5 % of these exceed the size `exceeded` (type 7).
    """

    by_record: Floats
    low: float
    high: float
    exceeded: float


@dataclass(frozen=True, slots=True)
class Downscaling:
    """A rule: lower each weight until its bound is epsilon / 2 and refit, at most `passes` times.

    Runs meet their epsilon after 1 to 4 refits, so 5 are enough. With `room` the weights aim lower
    than epsilon / 2, to leave room for the noise of the bound.
    """

    epsilon: float
    passes: int = 5
    room: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The request of a run to a mechanism.

    `y` (N,) is the confidential outcome in its own unit, or (N, P) the outcomes of a table that are
    numbers; `levels` are the codes (N,) of its others. `known` are the columns (N,) that the
    mechanism names as known, and `column` (N,) the public weights that it names. A searched bound
    ends within a share `tolerance` of the bound to meet. With `epsilon` the mechanism searches its
    constant until 2 Delta ends below this target. `downscaling` lowers its weights afterwards. With
    `confirm` further draws check the fit that ends a search or downscaling; a run asks for this in
    its last step alone.
    """

    y: Floats
    known: Sequence[Any] = ()
    levels: Sequence[Floats] = ()
    column: Floats | None = None
    tolerance: float = 0.05
    epsilon: float | None = None
    downscaling: Downscaling | None = None
    confirm: bool = True

    @property
    def window(self) -> Window | None:
        """The window where a searched bound may end; None without a search."""
        return None if self.epsilon is None else target_window(self.epsilon, self.tolerance)


def target_window(epsilon: float, tolerance: float) -> Window:
    """The window of Delta_{alpha,x}: epsilon / 2, or less by at most a share `tolerance` of it."""
    return Window.below(0.5 * epsilon, tolerance)


@dataclass(frozen=True, slots=True)
class Weighting:
    """A mechanism's own fit, before any re-weighting.

    `risk` (N,) lies in [0, 1]; larger = riskier. CW, Marginal and Pairwise have the identification
    risks that their weights fall with. Other mechanisms have the unweighted bounds, scaled to
    [0, 1]. `constants` holds the values that a search found.

    `stages` are the earlier clamped fits of which one draw each gave the weights. Each stage costs
    the width of its clamp once, and the ledger has an entry for it.
    """

    fit: WeightedFit
    risk: Floats
    constants: dict[str, float] = field(default_factory=dict)
    stages: tuple[WeightedFit, ...] = ()

    @property
    def spent(self) -> float:
        """What the stages cost under leave-one-out neighbours; larger = less private."""
        return sum((fit.clamp.epsilon if fit.clamp else np.inf for fit in self.stages), 0.0)

    @property
    def clamp(self) -> Clamp | None:
        """The clamp of the fit; None where the fit clamps nothing."""
        return self.fit.clamp


class Loop(Protocol):
    """The part of the fitting loop that mechanisms use; `pyvws.synthesis.loop.SynthesisLoop`."""

    @property
    def cells(self) -> Records:
        """The records, with equal records counted together."""

    def fit(
        self, weights: Floats, label: str, *, clamp: Clamp | None = None, longer: int = 1
    ) -> WeightedFit:
        """Sample the pseudo posterior under weights (N,), or (N, K) of a table; a `clamp` clamps
        terms.
        """

    def once(self, key: Hashable, make: Callable[[], WeightedFit]) -> WeightedFit:
        """The fit that the loop keeps under a key; `make` makes a missing fit."""

    def unweighted(self) -> WeightedFit:
        """The ordinary posterior, fitted once."""

    def closed_bounds(self) -> Floats | None:
        """Unweighted bounds (N,) that no draw moves, in nats; None without a closed form."""

    def sizes(self, fit: WeightedFit, s: int) -> Floats:
        """|term| (N,) of each record at draw s of a clamped fit, in nats and before weights."""

    def reference_sizes(self, clamp: Clamp) -> ReferenceSizes:
        """Sizes of the terms that a clamp sees, under an unweighted fit to the run's reference."""

    def shift(self, *, by_column: bool = False, map: str = "linear") -> float:
        """LW's shift by default, as a share of c: above 0 where 0 takes out kinds of records."""

    def lost(self, weights: Floats) -> list[str]:
        """Names of the categories that have a level all of whose records have weight 0."""

    def lipschitz_weights(self, *, c: float, g: float) -> Floats:
        """LW's weights (N,) from the unweighted fit."""

    def lipschitz(
        self, *, c: float = 1.0, g: float = 0.0, by_column: bool = False, map: str = "linear"
    ) -> WeightedFit:
        """The LW fit, made once for each c, g and map, and for weights by column."""

    def confirmed(self, earlier: WeightedFit) -> WeightedFit:
        """A longer fit under the same weights, with the larger bounds of both."""

    def met(
        self, weights_at: Callable[[float], Floats], window: Window, *, symbol: str, label: str
    ) -> tuple[WeightedFit, float]:
        """Refit until the bound lies in the window; return the fit and the value of `symbol`."""

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
        """Refit until the bound stays below the window's end; return the fit and the value."""


def downscaled(loop: Loop, fit: WeightedFit, rule: Downscaling, *, confirm: bool) -> WeightedFit:
    """The last of at most `passes` refits under lower weights, made once for a fit and rule."""

    def lowered() -> WeightedFit:
        last, half = fit, 0.5 * rule.epsilon
        for left in range(rule.passes, -1, -1):
            if confirm and last.bounds.aimed.database <= half:
                last = loop.confirmed(last)
            if last.bounds.aimed.database <= half or left == 0:
                break
            room = room_below(log_spread(last.bounds.by_draw)) if rule.room else 1.0
            by_record = last.bounds.aimed.by_record
            weights = downscale(last.weights, by_record, epsilon=rule.epsilon * room)
            last = loop.fit(weights, f"{fit.label} downscaled")
        return last

    return loop.once(("downscaled", id(fit), rule, confirm), lowered)
