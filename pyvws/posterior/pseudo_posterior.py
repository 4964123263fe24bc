"""The one target that every engine samples: log prior + sum_i alpha_i log p(x_i | theta).

Equation 3 of [vws2024], on the model's unconstrained scale; or with each term clamped to
[-bound, bound].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pyvws._base.checks import Floats, positive, same_length, weight_vector
from pyvws._base.cores import steady_sums
from pyvws.models.model import Model, Start
from pyvws.posterior._censored_density import censored_density, clamped_terms
from pyvws.tables.cells import Cells

__all__ = ["PseudoPosterior"]

_FAR = 1e16  # Sums of squares around outcomes no further out keep the digits that a start needs.


@dataclass(frozen=True, slots=True)
class PseudoPosterior:
    """A model, its cells and the records' weights.

    Attributes
    ----------
    model : Model
        Family with priors.
    cells : Cells
        Data of N records.
    weights : ndarray, shape (N,)
        alpha_i in [0, 1]; smaller = more protected; 1 everywhere is the ordinary posterior.
    bound : float, optional
        epsilon / 2 in nats: the size at which each alpha_i l_i is clamped. None clamps nothing.
    """

    model: Model
    cells: Cells
    weights: Floats
    bound: float | None = None

    def __post_init__(self) -> None:
        checked = weight_vector(self.weights)
        same_length(checked, self.cells.cell_of_record, ("weights", "records"))
        if self.bound is not None:
            positive(self.bound, "bound")
        object.__setattr__(self, "weights", checked)

    @property
    def dimension(self) -> int:
        """D, the length of the unconstrained vector."""
        return self.model.dimension(self.cells.n_coefficients)

    def start(self) -> Start:
        """A rough fit to start from, the same bits on any number of processors.

        A clamped fit starts whatever the outcomes are: the start takes those far out as nearer.
        """
        cells = self.cells
        if self.bound is not None:
            cells = replace(cells, values=np.clip(cells.values, -_FAR, _FAR))
        with steady_sums():
            return self.model.start(cells, self.weights)

    def density_and_gradient(self) -> Callable[[Floats], tuple[float, Floats]]:
        """A function q (D,) -> (log density up to a constant, gradient (D,)).

        Far from the data both may be infinite or NaN; neither raises.
        """
        if self.bound is not None:
            return censored_density(self.model, self.cells, self.weights, self.bound)
        data = self.model.density_data(self.cells, self.weights)
        log_density = self.model.log_density

        def evaluate(q: Floats) -> tuple[float, Floats]:
            gradient = np.empty(len(q))
            return log_density(q, *data, gradient), gradient

        return evaluate

    def kernels(
        self,
    ) -> tuple[Callable[..., float], Callable[..., None] | None, tuple[tuple[Any, ...], ...]]:
        """What `density_and_gradient` calls: the family's kernels, and their arguments in groups.

        The density's, and under a bound those of the cells' terms and of `add_clamped`, which the
        density of the prior alone goes with then.
        """
        model, cells = self.model, self.cells
        if self.bound is None:
            return model.log_density, None, (model.density_data(cells, self.weights),)
        terms, data, clamps = clamped_terms(model, cells, self.weights, self.bound)
        prior = model.density_data(cells, np.zeros(cells.n_records))
        return model.log_density, terms, (prior, data, clamps)
