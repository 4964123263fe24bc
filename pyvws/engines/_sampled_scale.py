"""The scale the native engine samples on: a model's own, or coefficients given their scales."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyvws._checks import Floats
from pyvws.models._conditional import from_conditional, pull_back_conditional
from pyvws.models._model import SampledScale, Start

__all__ = ["sampled_scale"]


class _OwnScale:
    """q = z + centre."""

    def __init__(self, start: Start) -> None:
        self._centre = start.centre

    def restore(self, z: Floats, q: Floats) -> tuple[float, Any]:
        q[:] = z + self._centre
        return 0.0, None

    def pull_back(self, state: Any, gradient: Floats) -> None:
        pass


class _ConditionalScale:
    """beta given its scales, as `pyvws.models._conditional` has it."""

    def __init__(self, centre: Floats, information: Floats) -> None:
        self._K = len(information)
        self._information = np.ascontiguousarray(information)
        self._pull = self._information @ centre[: self._K]
        self._offset = centre.copy()
        self._offset[: self._K] = 0.0

    def restore(self, z: Floats, q: Floats) -> tuple[float, Any]:
        p = z + self._offset
        jacobian, *parts = from_conditional(p, self._information, self._pull, self._K, q)
        return jacobian, (p, parts)

    def pull_back(self, state: Any, gradient: Floats) -> None:
        p, parts = state
        pull_back_conditional(p, self._pull, self._K, gradient, *parts)


def sampled_scale(start: Start) -> SampledScale:
    """The scale around a start."""
    if start.scale is not None:
        return start.scale
    if start.information is None:
        return _OwnScale(start)
    return _ConditionalScale(start.centre, start.information)
