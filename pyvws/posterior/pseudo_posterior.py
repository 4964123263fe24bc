"""The one target that every engine samples: log prior + sum_i alpha_i log p(x_i | theta).

The target is Equation 3 of [vws2024] on the model's unconstrained scale. A bound clamps each term
to [-bound, bound].
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

        A clamped fit starts whatever the outcomes are: the start takes far outcomes as nearer.
        """
        cells = self.cells
        if self.bound is not None:
            cells = replace(cells, values=np.clip(cells.values, -_FAR, _FAR))
        with steady_sums():
            return self.model.start(cells, self.weights)

    def density_and_gradient(self) -> Callable[[Floats], tuple[float, Floats]]:
        """A function q (D,) -> (log density up to a constant, gradient (D,)).

        Far from the data density and gradient may be infinite or NaN; the function does not raise.
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
        """The family's kernels that `density_and_gradient` calls, and their arguments in groups.

        The first group is the density's. Under a bound that density is of the prior alone, and
        two more groups follow: the arguments of the cells' terms and of `add_clamped`.
        """
        model, cells = self.model, self.cells
        if self.bound is None:
            return model.log_density, None, (model.density_data(cells, self.weights),)
        terms, data, clamps = clamped_terms(model, cells, self.weights, self.bound)
        prior = model.density_data(cells, np.zeros(cells.n_records))
        return model.log_density, terms, (prior, data, clamps)
