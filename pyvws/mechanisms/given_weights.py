"""A vector of weights that comes from outside: of another program, or of a fit made elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyvws._base.checks import Floats, weight_vector
from pyvws._base.phrase import Phrase
from pyvws.errors import InputError
from pyvws.mechanisms.mechanism import Facts, MechanismBase
from pyvws.mechanisms.weighing import Request


@dataclass(frozen=True, slots=True)
class GivenWeights(MechanismBase):
    """Weights that you bring: one a record, in the order of the table.

    Nothing is known here of how the weights were made, so a release says that they came from
    outside. Its claim takes them as given: what they tell of the records is not accounted.

    Parameters
    ----------
    alpha : array_like, shape (N,)
        alpha_i in [0, 1]; smaller = more protected.

    Raises
    ------
    InputError
        For a weight outside [0, 1], or at the run for another number of weights than records.
    """

    declared = Facts(
        name="given-weights",
        title="Given weights",
        explanation="Weights that the agency brought from elsewhere, one a record.",
        claim="asymptotic-dp",
        caveats=(Phrase("given-weights"),),
        weights_source="outside",
        weights_from_data=False,  # Nothing says so: the caveat and the ledger say what is unknown.
        reweights=True,
    )

    alpha: Any = field(repr=False, metadata={"prepared": True})

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", tuple(weight_vector(self.alpha).tolist()))

    def check_outcome(self, y: Floats, column: str, *, categories: bool) -> None:
        self._check_length(len(y))

    def record_weights(self, request: Request) -> Floats:
        """The given weights (N,)."""
        self._check_length(len(request.y))
        return np.asarray(self.alpha)

    def _check_length(self, records: int) -> None:
        if len(self.alpha) != records:
            raise InputError.by("given-weights-length", alpha=len(self.alpha), records=records)
