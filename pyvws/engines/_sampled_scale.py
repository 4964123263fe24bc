"""The scale the native engine samples on: a model's own, or coefficients given their scales."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.cores import steady_sums
from pyvws._base.kernels import kernel
from pyvws.models._conditional import from_conditional, pull_back_conditional, scaled_factors
from pyvws.models._small_matrices import solve_lower, transposed_times
from pyvws.models.model import SampledScale, Start

__all__ = ["sampled_scale"]


@kernel
def _restore_shifted(z: Any, offset: Any, q: Any) -> tuple[float, int]:
    """q = z + offset."""
    for d in range(len(z)):
        q[d] = z[d] + offset[d]
    return 0.0, 0


@kernel
def _pull_back_shifted(_state: Any, _q: Any, _offset: Any, _gradient: Any) -> None:
    """The gradient in z is that in q."""


@kernel
def _restore_conditional(
    z: Any, offset: Any, information: Any, pull: Any, q: Any
) -> tuple[float, Any]:
    """beta given its scales, as `pyvws.models._conditional` has it."""
    p = z + offset
    jacobian, B, R, HB, centre, e = from_conditional(p, information, pull, len(pull), q)
    return jacobian, (p, B, R, HB, centre, e)


@kernel
def _pull_back_conditional(
    state: Any, _q: Any, _offset: Any, _information: Any, pull: Any, gradient: Any
) -> None:
    p, B, R, HB, centre, e = state
    pull_back_conditional(p, pull, len(pull), gradient, B, R, HB, centre, e)


def sampled_scale(start: Start) -> SampledScale:
    """The scale around a start."""
    if start.scale is not None:
        return start.scale
    if start.information is None:
        return SampledScale(
            (_restore_shifted, _pull_back_shifted), (start.centre,), lambda q: q - start.centre
        )
    information = np.ascontiguousarray(start.information)
    K = len(information)
    offset = start.centre.copy()
    offset[:K] = 0.0
    with steady_sums():
        pull = information @ start.centre[:K]

    def inverse(q: Floats) -> Floats:
        B, R, _, centre = scaled_factors(q[K : 2 * K], q[2 * K :], information, pull)
        z = q - offset
        z[:K] = transposed_times(R, solve_lower(B, q[:K])) - centre
        return z

    data = offset, information, pull
    return SampledScale((_restore_conditional, _pull_back_conditional), data, inverse)
