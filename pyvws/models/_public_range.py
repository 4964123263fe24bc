"""The public range of an outcome: the check of a family's setting, and of the outcomes."""

from __future__ import annotations

import math
from collections.abc import Iterable

from pyvws._base.checks import Floats, as_text, finite_number
from pyvws.errors import InputError


def known_range(given: Iterable[float]) -> tuple[float, float]:
    """The two ends, in the outcome's unit; InputError unless they are finite and rise."""
    try:
        low, high = (finite_number(end, "range") for end in given)
    except (TypeError, ValueError):
        low, high = 0.0, 0.0
    if not low < high or math.isinf(high - low):
        raise InputError.by("model-range", given=as_text(given))
    return low, high


def check_within(outcome: Floats, column: str, known: tuple[float, float], model: str) -> None:
    """Raise InputError, with their count, for outcomes (N,) outside the range."""
    low, high = known
    outside = int(((outcome < low) | (outcome > high)).sum())
    if outside:
        raise InputError.by(
            "values-outside-range", column=column, outside=outside, low=low, high=high, model=model
        )
