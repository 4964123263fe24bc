"""Cases of `pyvws.posterior.systematic_draws`: the uniform numbers of a column's records."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.posterior import systematic_draws
from pyvws.validation._case import cases_of
from pyvws.validation._draws import Draws


def uniforms(design: Any, ties: Any, shift: float) -> Floats:
    """The numbers (n,) of design rows (n, K), from a stream that gives `ties` and `shift`."""
    stream: Any = _Given(ties, shift)
    return systematic_draws.systematic_uniforms(design, stream)


class _Given:
    """A stream of given numbers: an array of them, and one alone."""

    def __init__(self, ties: Floats, shift: float) -> None:
        self._ties, self._shift = ties, shift

    def random(self, size: int | None = None) -> Floats | float:
        return self._shift if size is None else self._ties


def _count(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"n": shape[0] * seed}


def _rows(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """An intercept, then columns of few values of both signs, so that many rows are equal.

    One shift moves a number to an end of the interval.
    """
    draws, (n, K) = Draws(seed), shape
    design = np.ones((n, K))
    for k in range(1, K):
        design[:, k] = draws.whole(n, 1 + seed) - 2.0
    shift = 0.0 if seed == 5 else float(draws.uniform(1)[0])
    return {"design": design, "ties": draws.uniform(n), "shift": shift}


_systematic = cases_of(
    "systematic_draws",
    paper="vws2024",
    cites="synthetic outcomes of one draw, drawn systematically",
)

CASES: Final = (
    _systematic(
        "van-der-corput",
        "van_der_corput",
        _count,
        python_function="pyvws.posterior.systematic_draws:van_der_corput",
        shapes=((1,), (7,), (64,)),
    ),
    _systematic(
        "uniforms",
        "uniforms",
        _rows,
        python_function=f"{__name__}:uniforms",
        shapes=((1, 1), (9, 2), (60, 4)),
    ),
)
