"""The one target that every engine samples: log prior + sum_i alpha_i log p(x_i | theta).

The target is Equation 3 of [vws2024] on the model's unconstrained scale. A clamp keeps each term in
a window. A clamped target is the joint target of a table of one column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np

from pyvws._base.checks import Floats, same_length, weight_vector
from pyvws._base.cores import steady_sums
from pyvws.models.model import Model, Start
from pyvws.models.sequence import Conditional
from pyvws.posterior.clamp import Clamp, trimmed_starts
from pyvws.posterior.joint_target import JointTarget
from pyvws.tables.design.cells import Cells, make_cells


@dataclass(frozen=True, slots=True)
class PseudoPosterior:
    """A model, its cells and the records' weights.

    - `model`: Family with priors.
    - `cells`: Data of N records.
    - `weights` (N,): alpha_i in [0, 1]; smaller = more protected; 1 everywhere is the ordinary
      posterior.
    - `clamp`: The window of each record's term. None clamps nothing.
    - `exponents` (N,): e_i of at least 0, such as survey weights over their public mean. The target
      takes e_i alpha_i for `weights`, which may exceed 1 then.
    """

    model: Model
    cells: Cells
    weights: Floats
    clamp: Clamp | None = None
    exponents: InitVar[Floats | None] = None

    def __post_init__(self, exponents: Floats | None) -> None:
        checked = self.weights  # A group of levels that no record has leaves the prior.
        if len(checked):
            checked = weight_vector(checked)
        same_length(checked, self.cells.cell_of_record, ("weights", "records"))
        if exponents is not None:
            checked = checked * exponents
        object.__setattr__(self, "weights", checked)

    @property
    def dimension(self) -> int:
        """D, the length of the unconstrained vector."""
        return self.model.dimension(self.cells.n_coefficients)

    def start(self) -> Start:
        """A rough fit to start from, the same bits on any number of processors."""
        return self.starts()[0]

    def starts(self) -> tuple[Start, ...]:
        """Rough fits to start from, the best one first; several where a clamp leaves several modes.

        A clamped fit starts whatever the outcomes are: the starts take far outcomes as nearer.
        """
        with steady_sums():
            if self.clamp is None:
                return (self.model.start(self.cells, self.weights),)
            density = self.density_and_gradient()
            return trimmed_starts(
                self.model, self.cells, self.weights, self.clamp, lambda q: density(q)[0]
            )

    def density_and_gradient(self) -> Callable[[Floats], tuple[float, Floats]]:
        """A function q (D,) -> (log density up to a constant, gradient (D,)).

        Far from the data density and gradient may be infinite or NaN; the function does not raise.
        """
        if self._joint:
            return self.joint().density_and_gradient()
        log_density = self.model.log_density
        data = self.model.density_data(self.cells, self.weights)

        def evaluate(q: Floats) -> tuple[float, Floats]:
            gradient = np.empty(len(q))
            return log_density(q, *data, gradient), gradient

        return evaluate

    def kernels(self) -> tuple[tuple[Callable[..., Any] | None, ...], tuple[tuple[Any, ...], ...]]:
        """The kernels that `density_and_gradient` calls, and their arguments in groups.

        Without a clamp on a record there is one kernel and one group. Under a clamp they are those
        of `GivenOthers.kernels`, and there are no others.
        """
        if not self._joint:
            data = self.model.density_data(self.cells, self.weights)
            return (self.model.log_density, None, None), (data,)
        joint = self.joint()
        others, own = np.zeros((2, joint.distinct_units))
        return joint.given_others(others, own)[0].kernels()

    @property
    def _joint(self) -> bool:
        """Whether a clamp is on some record; without records the prior is the target."""
        return self.clamp is not None and len(self.weights) > 0

    def joint(self) -> JointTarget:
        """The clamped target as that of a table of one column, "y"."""
        assert self.clamp is not None
        return table_of_one(self.model, self.cells, self.weights, self.clamp)


def table_of_one(model: Model, cells: Cells, weights: Floats, clamp: Clamp) -> JointTarget:
    """A table of one column "y", whose records have weights (N,) of at least 0 under a clamp."""
    return JointTarget(
        (Conditional("y", model, cells),),
        np.ones(len(weights)),
        clamp,
        cells.multiplicity,
        exponents=weights,
    )


def of_one_record(model: Model) -> PseudoPosterior:
    """The unweighted target of one record of outcome 1 under an intercept alone."""
    return PseudoPosterior(model, make_cells(np.ones(1), np.ones((1, 1))), np.ones(1))
