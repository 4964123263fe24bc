"""Systematic draws of synthetic records, given one posterior draw.

The n records of a column stand in the order of their design rows. Record j of that order gets the
uniform number u_j = (v_j + U) mod 1, where v_0, v_1, ... is van der Corput's sequence in base 2 and
U is uniform on [0, 1), and the inverse distribution function makes its value of u_j. Each u_j is
uniform, so each value keeps its distribution given its design row. Any run of neighbours in the
order has its numbers spread over (0, 1) nearly evenly, so the counts of values among records with
like design rows keep close to those that the draw expects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, SupportsIndex

import numpy as np
from scipy.special import ndtri

from pyvws._base.checks import Floats

SAMPLINGS: Final = ("independent", "systematic")
"""How the records of a dataset are drawn."""

Size = SupportsIndex | Sequence[SupportsIndex] | None

_LEAST: Final = 2.0**-53  # Numbers stay at least this far inside (0, 1).


def van_der_corput(n: int) -> Floats:
    """The first n numbers of van der Corput's sequence in base 2: 0, 1/2, 1/4, 3/4, 1/8, ...

    Number j has the binary digits of j behind the point, the last one first.
    """
    order, step = np.zeros(1), 0.5
    while len(order) < n:
        order, step = np.concatenate([order, order + step]), step / 2
    return order[:n]


def systematic_uniforms(design: Floats, rng: np.random.Generator) -> Floats:
    """Uniform numbers (n,) in (0, 1) for records of the design rows (n, K), spread evenly.

    The order is by the first column of the design, then by the next; records alike in all of them
    stand in random order.
    """
    varying = [column for column in design.T if len(column) and (column != column[0]).any()]
    order = np.lexsort((rng.random(len(design)), *reversed(varying)))
    uniforms = np.empty(len(design))
    uniforms[order] = (van_der_corput(len(design)) + rng.random()) % 1.0
    return np.clip(uniforms, _LEAST, 1.0 - _LEAST)


class SystematicStream(np.random.Generator):
    """A dataset's random stream that also gives a column's records systematic numbers."""

    def of_records(self, design: Floats) -> SystematicDraws:
        """The numbers of one prediction for records of the design rows (n, K)."""
        return SystematicDraws(self, systematic_uniforms(design, self))


class SystematicDraws(np.random.Generator):
    """The stream of one prediction of n records, whose first n numbers are systematic.

    The first call of `random`, `standard_normal` or `logistic` for n numbers makes them of the
    systematic uniform ones (n,). All else is independent, as in the stream itself: a value that
    takes two numbers would tie them to each other if both were systematic.
    """

    def __init__(self, stream: np.random.Generator, uniforms: Floats) -> None:
        super().__init__(stream.bit_generator)
        self._uniforms: Floats | None = uniforms

    def _first(self, size: Size) -> Floats | None:
        """The systematic numbers, if they are as many as asked for and not yet taken."""
        uniforms = self._uniforms
        if uniforms is None or size not in (len(uniforms), uniforms.shape):
            return None
        self._uniforms = None
        return uniforms

    def random(self, size: Size = None, *more: Any, **named: Any) -> Any:
        uniforms = self._first(size)
        return super().random(size, *more, **named) if uniforms is None else uniforms

    def standard_normal(self, size: Size = None, *more: Any, **named: Any) -> Any:
        uniforms = self._first(size)
        return (
            super().standard_normal(size, *more, **named) if uniforms is None else ndtri(uniforms)
        )

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None) -> Any:
        uniforms = self._first(size)
        if uniforms is None:
            return super().logistic(loc, scale, size)
        return loc + scale * (np.log(uniforms) - np.log1p(-uniforms))
