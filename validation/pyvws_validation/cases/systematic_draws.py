"""Cases of `pyvws.posterior.systematic_draws`: the uniform numbers of a column's records."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws.posterior import systematic_draws
from pyvws_validation._draws import Draws


def uniforms(design: Floats, ties: Floats, shift: float) -> Floats:
    """The numbers (n,) of design rows (n, K), from a stream that gives `ties` and `shift`."""
    stream: Any = _Given(ties, shift)
    return systematic_draws.systematic_uniforms(design, stream)


class _Given:
    """A stream of given numbers: an array of them, and one alone."""

    def __init__(self, ties: Floats, shift: float) -> None:
        self._ties, self._shift = ties, shift

    def random(self, size: int | None = None) -> Floats | float:
        return self._shift if size is None else self._ties


def _count(seed: int, *shape: int) -> dict[str, Any]:
    return {"n": shape[0] * seed}


def _rows(seed: int, *shape: int) -> dict[str, Any]:
    """An intercept, then columns of few values of both signs, so that many rows are equal.

    One shift moves a number to an end of the interval.
    """
    draws, (n, K) = Draws(seed), shape
    design = np.ones((n, K))
    for k in range(1, K):
        design[:, k] = draws.whole(n, 1 + seed) - 2.0
    shift = 0.0 if seed == 5 else float(draws.uniform(1)[0])
    return {"design": design, "ties": draws.uniform(n), "shift": shift}
