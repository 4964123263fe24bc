"""Negative binomial numbers: Poisson with a gamma mean."""

from __future__ import annotations

from pyvws._checks import Floats
from pyvws._kernels import kernel
from pyvws.r_random._gamma import gamma
from pyvws.r_random._parameters import at
from pyvws.r_random._poisson import poisson
from pyvws.r_random._stream import Stream

__all__ = ["fill_negative_binomial"]


@kernel
def fill_negative_binomial(stream: Stream, size: Floats, scale: Floats, values: Floats) -> None:
    """A Poisson number of mean Gamma(size, scale) for each pair; a scale of 0 draws nothing."""
    for i in range(len(values)):
        values[i] = poisson(stream, gamma(stream, at(size, i), at(scale, i)))
