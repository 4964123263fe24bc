"""The mechanisms in words, and how a page shows a value of a statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyvws.mechanisms.registry import MECHANISMS

__all__ = ["mechanism_words", "shown"]


def mechanism_words(privacy: Mapping[str, Any]) -> tuple[str, str]:
    """Title and explanation of a statement's mechanism: the package's, or those it brings along."""
    name = privacy["mechanism"]
    if name in MECHANISMS:
        return MECHANISMS[name].title, MECHANISMS[name].explanation
    brought = privacy.get("mechanism_words", {})
    return brought.get("title", name), brought.get("explanation", "")


def _figure(value: float) -> str:
    return f"{value:.7g}" if value < 1e6 else str(value)


def shown(value: Any, figure: Callable[[float], str] = _figure) -> str:
    """A value of the statement as a reader sees it, with every digit of a figure rounded up."""
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        nested = any(isinstance(inner, Mapping) for inner in value.values())
        parts = (f"{name}: {shown(inner, figure)}" for name, inner in value.items())
        return ("; " if nested else ", ").join(parts)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return figure(value) if isinstance(value, float) else str(value)
