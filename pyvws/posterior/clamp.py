"""The window that a fit clamps each record's term to, and how a target reads it.

The half clamp is the slides' of [global2022]: alpha_i l_i stays in [-epsilon / 2, epsilon / 2]. The
deviance clamp takes a constant of the record off first, its saturated log-likelihood a_i:
alpha_i (l_i - a_i), minus half the record's unit deviance, stays in [-epsilon, 0]. Either window is
epsilon wide, and the width is what one record can cost (docs/strict.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats, choice, half_epsilon
from pyvws.bounds.lipschitz import LipschitzBounds
from pyvws.errors import InputError
from pyvws.models.model import Likelihood, Model
from pyvws.models.sequence import TableCells
from pyvws.tables.design.cells import Cells

CLAMPS: Final = ("deviance", "half")
"""The kinds of a clamp: of half the unit deviance, and of the log-likelihood itself."""


@dataclass(frozen=True, slots=True)
class Clamp:
    """The window of each record's term in a fit.

    - `epsilon`: Width of the window in nats, above 0 and finite; larger = riskier.
    - `kind` {"half", "deviance"}: "half" clamps alpha_i l_i to [-epsilon / 2, epsilon / 2].
      "deviance" clamps alpha_i (l_i - a_i) to [-epsilon, 0], a_i the family's saturated
      log-likelihood.

    Raises
    ------
    InputError
        For an epsilon that is not above 0 and finite, or another kind.
    """

    epsilon: float
    kind: str = "half"

    def __post_init__(self) -> None:
        if not np.isfinite(half_epsilon(self.epsilon)):
            raise InputError.by("clamp-epsilon-infinite")
        choice(self.kind, "clamp", CLAMPS)

    @property
    def half(self) -> float:
        """epsilon / 2, the largest bound Delta_{alpha,x_i} under the clamp, in nats."""
        return 0.5 * self.epsilon

    @property
    def window(self) -> tuple[float, float]:
        """Both ends of the window, in nats."""
        return (-self.half, self.half) if self.kind == "half" else (-self.epsilon, 0.0)

    def terms(self, log_lik: Floats, shift: Floats) -> Floats:
        """The terms (S, C) that the window is put on, from log-likelihoods and `shift` (C,)."""
        if self.kind == "half":
            return log_lik
        with np.errstate(invalid="ignore"):
            return np.minimum(log_lik - shift, 0.0)

    def bounds(self, bounds: LipschitzBounds) -> LipschitzBounds:
        """The bounds of the clamped terms, in nats, from those of the terms that the clamp sees."""
        low, high = self.window
        return bounds.clamped(-low, share=self.half / (high if high > 0.0 else -low))

    def shift(self, model: Likelihood, cells: Cells | TableCells) -> Floats:
        """What is taken off each cell's log-likelihood first, (C,), in nats."""
        if self.kind == "half":
            return np.zeros(cells.n_cells)
        return model.saturated(cells)


def refuse_unclamped(model: Model) -> tuple[Callable[..., None], Callable[..., None]]:
    """The kernels of a model's terms and slopes; InputError for a model without them."""
    terms, slopes = model.cell_terms, model.cell_slopes
    if terms is None or slopes is None:
        raise InputError.by("likelihood-not-censored", model=model.name)
    return terms, slopes


def prior_data(model: Model, cells: Cells) -> tuple[Any, ...]:
    """The arguments after q with which a model's density is its prior's, at every point.

    One record of weight 0 stands for all: its design row of zeros leaves no term that overflows.
    """
    cell = cells.part(slice(0, 1))
    return model.density_data(replace(cell, rows=np.zeros_like(cell.rows)), np.zeros(1))
