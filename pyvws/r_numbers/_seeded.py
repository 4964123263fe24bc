"""The state of a stream: what `set.seed` sets."""

from __future__ import annotations

from typing import Final

import numpy as np

from pyvws._base.checks import choice, whole_number
from pyvws.errors import InputError
from pyvws.r_numbers._stream import Stream, fresh_stream

__all__ = ["LARGEST", "Seeded"]

LARGEST: Final = 2**31 - 1  # R's largest integer


class Seeded:
    """A stream after ``set.seed(seed)`` and the rule by which it samples."""

    __slots__ = ("_rounding", "_stream")

    _stream: Stream
    _rounding: bool

    def __init__(self, seed: int, sample_kind: str = "rejection") -> None:
        value = whole_number(seed, "seed", least=-LARGEST)
        if value > LARGEST:
            raise InputError(f"seed must be at most {LARGEST}, R's largest integer. Got {value}.")
        choice(sample_kind, "sample_kind", ("rejection", "rounding"))
        self._rounding = sample_kind == "rounding"
        self._stream = fresh_stream(np.uint64(value % 2**32))
