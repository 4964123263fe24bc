"""Seeded arguments whose bits are the same on every machine and under every NumPy version.

NumPy promises the raw stream of a bit generator, but not the stream of NumPy's distributions. The
logarithm of one processor differs from another's in the last bit. So this module makes numbers
from the raw stream by additions and multiplications alone, which IEEE 754 fixes. A hash of the
arguments can then tell whether R's stored results are stale.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats


class Draws:
    """A stream of numbers that look like the data of a synthesis."""

    def __init__(self, seed: int) -> None:
        self._raw = np.random.PCG64(seed)

    def uniform(self, size: int, low: float = 0.0, high: float = 1.0) -> Floats:
        """Uniform numbers in [low, high), shape (size,)."""
        raw = np.atleast_1d(self._raw.random_raw(size)) >> np.uint64(11)
        return np.asarray(low + (high - low) * (raw.astype(np.float64) * 2.0**-53))

    def whole(self, size: int, below: int) -> NDArray[np.int64]:
        """Whole numbers 0, ..., below - 1, shape (size,); many ties when `below` is small."""
        return np.floor(self.uniform(size, 0.0, float(below))).astype(np.int64)

    def bell(self, size: int, centre: float, spread: float) -> Floats:
        """Roughly normal numbers, sums of twelve uniform numbers, shape (size,)."""
        total = np.zeros(size)
        for _ in range(12):
            total = total + self.uniform(size)
        return np.asarray(centre + spread * (total - 6.0))

    def counts(self, size: int) -> Floats:
        """Counts near 100 as in the papers' simulations, some of them tied and some 0."""
        values = np.floor(self.bell(size, 100.0, 20.0))
        values[self.uniform(size) < 0.05] = 0.0
        return np.asarray(np.maximum(values, 0.0))

    def amounts(self, size: int) -> Floats:
        """Amounts of both signs over four orders of magnitude, with zeros and ties."""
        values = self.bell(size, 0.0, 1.0) * 10.0 ** self.whole(size, 4)
        values[self.uniform(size) < 0.1] = 0.0
        if size > 2:
            values[-1] = values[0]
        return np.asarray(values)

    def log_lik(self, draws: int, records: int) -> Floats:
        """Log-likelihoods (draws, records) of -3 to -40 nats, most of them small in size."""
        depth = self.uniform(records)
        wobble = self.uniform(draws * records, 0.85, 1.15).reshape(draws, records)
        return np.asarray(-(3.0 + 30.0 * depth * depth * depth) * wobble)


def digest(arguments: dict[str, Any]) -> str:
    """SHA-256 of the arguments' names, types, shapes and bits."""
    return hashlib.sha256(_bytes(arguments)).hexdigest()


def _bytes(value: object) -> bytes:
    if isinstance(value, dict):
        return b"".join(f"[{name}]".encode() + _bytes(value[name]) for name in sorted(value))
    if isinstance(value, (list, tuple)):
        return f"list {len(value)};".encode() + b"".join(map(_bytes, value))
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str} {value.shape};".encode() + value.tobytes()
    if isinstance(value, float):
        return f"float {value.hex()};".encode()
    return f"{type(value).__name__} {value!r};".encode()
