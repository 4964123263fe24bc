"""Uniform numbers between two ends."""

from __future__ import annotations

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel
from pyvws.r_numbers._parameters import at
from pyvws.r_numbers._stream import Stream, uniform

__all__ = ["fill_uniform"]


@kernel
def fill_uniform(stream: Stream, low: Floats, high: Floats, values: Floats) -> None:
    """A uniform number for each pair of ends; equal ends draw nothing."""
    for i in range(len(values)):
        least, most = at(low, i), at(high, i)
        values[i] = least if least == most else least + (most - least) * uniform(stream)
