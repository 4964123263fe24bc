"""The ordinary posterior, without weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyvws._base.checks import Floats
from pyvws.mechanisms.mechanism import Facts, MechanismBase
from pyvws.mechanisms.weighing import Loop, Request, Weighting
from pyvws.weights.weights import scaled_bounds


def bound_risk(loop: Loop, map: str = "linear") -> Floats:
    """Unweighted bounds (N,) mapped to [0, 1]; 1 for all records where the bounds are equal."""
    bounds = loop.unweighted().bounds.by_record
    varied = len(np.unique(bounds[np.isfinite(bounds)])) > 1
    if not varied:
        return np.ones(len(bounds))
    return scaled_bounds(bounds, map=map, counts=loop.cells.multiplicity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unweighted(MechanismBase):
    """The ordinary posterior: every weight is 1, and no guarantee is claimed."""

    declared = Facts(
        name="unweighted",
        explanation="An ordinary posterior: every record has weight 1, none is protected by "
        "weights.",
        in_steps=True,
        takes_units=True,
        weights_from_data=False,
    )

    def weigh(self, loop: Loop, request: Request) -> Weighting:
        """The unweighted fit, with its bounds as risks."""
        risk = bound_risk(loop)
        return Weighting(loop.unweighted(), risk)
