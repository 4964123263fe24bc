"""pyvws doctor: what is installed and what to do about what is not."""

from __future__ import annotations

import sys

from rich.console import Console

__all__ = ["doctor"]


def doctor() -> None:
    """List each engine and R package with its version and path, or why it is not usable."""
    from pyvws.doctor import examine, render

    render(examine(), Console(width=None if sys.stdout.isatty() else 120))
