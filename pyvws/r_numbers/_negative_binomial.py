"""Negative binomial numbers: Poisson with a gamma mean."""

from __future__ import annotations

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel
from pyvws.r_numbers._gamma import gamma
from pyvws.r_numbers._parameters import at
from pyvws.r_numbers._poisson import poisson
from pyvws.r_numbers._stream import Stream

__all__ = ["fill_negative_binomial"]


@kernel
def fill_negative_binomial(stream: Stream, size: Floats, scale: Floats, values: Floats) -> None:
    """A Poisson number of mean Gamma(size, scale) for each pair; a scale of 0 draws nothing."""
    for i in range(len(values)):
        values[i] = poisson(stream, gamma(stream, at(size, i), at(scale, i)))
