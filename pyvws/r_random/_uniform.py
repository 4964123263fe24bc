"""Uniform numbers between two ends."""

from __future__ import annotations

from pyvws._checks import Floats
from pyvws._kernels import kernel
from pyvws.r_random._stream import Stream, uniform

__all__ = ["fill_uniform"]


@kernel
def fill_uniform(stream: Stream, low: Floats, high: Floats, values: Floats) -> None:
    """A uniform number for each pair of ends; equal ends draw nothing."""
    for i in range(len(values)):
        if low[i] == high[i]:
            values[i] = low[i]
        else:
            values[i] = low[i] + (high[i] - low[i]) * uniform(stream)
