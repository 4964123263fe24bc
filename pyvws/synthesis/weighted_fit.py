"""A fit under given weights, and what further draws under the same weights make of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pyvws._base.checks import Floats
from pyvws.bounds.lipschitz import LipschitzBounds
from pyvws.posterior.draws import Posterior
from pyvws.weights.target_search import LONGER, Reached, log_spread

__all__ = ["WeightedFit"]


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
    """

    label: str
    weights: Floats
    posterior: Posterior
    bounds: LipschitzBounds
    maxima: Floats
    confirmed: bool = False

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
