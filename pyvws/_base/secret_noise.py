"""Secret randomness, which no seed can bring back: OpenDP's exact noise, and keys of the system.

OpenDP, the extra `dp`, is loaded when a run first needs noise.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from pyvws.errors import MissingDependencyError

_version = lru_cache(version)


def opendp_version() -> str:
    """OpenDP with its version. Raises MissingDependencyError where OpenDP is missing."""
    try:
        import opendp.measurements  # noqa: F401
    except ImportError:
        raise MissingDependencyError("Secret noise needs OpenDP. Run: pip install opendp") from None
    return f"OpenDP {_version('opendp')}"


@contextmanager
def contributed() -> Iterator[None]:
    """Turn on OpenDP's "contrib" feature, which its noise needs, during the `with` block."""
    opendp_version()
    from opendp.mod import OpenDPException, assert_features, disable_features, enable_features

    try:
        assert_features("contrib")
    except OpenDPException:
        enable_features("contrib")
        try:
            yield
        finally:
            disable_features("contrib")
    else:
        yield


def secret_keys(n: int) -> NDArray[np.uint64]:
    """Independent uniform whole numbers (n,) of 64 bits from the operating system.

    >>> len(secret_keys(3))
    3
    """
    return np.frombuffer(secrets.token_bytes(8 * n), dtype=np.uint64)
