"""Check the parameters of the generators, and give a parameter value for each number drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, positions
from pyvws._base.kernels import inlined_kernel
from pyvws.errors import InputError

_MOST_TRIALS: Final = 2**31 - 2  # For more trials R draws in another way.


@dataclass(frozen=True, slots=True)
class ParameterRule:
    """The condition on every value of a parameter, in words and as a check."""

    words: str
    holds: Callable[[Floats], NDArray[np.bool_]]


ANY: Final = ParameterRule("finite", lambda x: np.isfinite(x))
ABOVE_ZERO: Final = ParameterRule("finite and above 0", lambda x: x > 0.0)
NOT_NEGATIVE: Final = ParameterRule("finite and at least 0", lambda x: x >= 0.0)
PROBABILITY: Final = ParameterRule("in [0, 1]", lambda x: (x >= 0.0) & (x <= 1.0))
TRIALS: Final = ParameterRule(
    f"a whole number from 0 to {_MOST_TRIALS}",
    lambda x: (x >= 0.0) & (x <= _MOST_TRIALS) & (x == np.floor(x)),
)


def parameter(value: ArrayLike, name: str, n: int, rule: ParameterRule) -> Floats:
    """A parameter as an array: (1,) for one number, or a vector repeated to n numbers as in R."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError.by("r-parameter-not-numbers", name=name) from None
    if array.ndim > 1 or array.size == 0:
        raise InputError.by("r-parameter-shape", name=name, shape=array.shape)
    array = array.reshape(-1)
    bad = ~(np.isfinite(array) & rule.holds(array))
    if bad.any():
        raise InputError.by("r-parameter", name=name, words=rule.words, bad=positions(bad))
    return array if array.size == 1 else array[np.arange(n) % array.size]


@inlined_kernel
def at(values: Floats, i: int) -> float:
    """The value of a `parameter` array for the number at place i."""
    return values[i if len(values) > 1 else 0]


def probabilities(value: ArrayLike, name: str) -> Floats:
    """Weights of at least 0, divided by their sum, shape (K,)."""
    array = parameter(value, name, np.size(value), NOT_NEGATIVE)
    total = np.add.accumulate(array)[-1]  # R adds in this order.
    if not 0.0 < total < np.inf:
        raise InputError.by("probabilities-without-sum", name=name)
    return array / total


def whole_numbers(counts: Floats) -> NDArray[np.int64]:
    """Counts as integers."""
    if not (counts < 2.0**63).all():
        raise InputError.by("drawn-count-too-large")
    return counts.astype(np.int64)
