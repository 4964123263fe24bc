"""OpenDP, the extra `dp`: exact noise from a generator that no seed can bring back.

OpenDP is loaded when a run first needs noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

from pyvws.errors import MissingDependencyError


def opendp_version() -> str:
    """OpenDP with its version. Raises MissingDependencyError where OpenDP is missing."""
    try:
        import opendp.measurements  # noqa: F401
    except ImportError:
        raise MissingDependencyError("Secret noise needs OpenDP. Run: pip install opendp") from None
    return f"OpenDP {version('opendp')}"


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
