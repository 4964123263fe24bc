"""What a privacy statement says, before it is put into words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Phrase"]


@dataclass(frozen=True, slots=True)
class Phrase:
    """The key of a caveat or of a use of the data, and the values in its words.

    `pyvws/statement/words.py` has the words of the package's keys; a key of one's own brings its
    `words`.
    """

    key: str
    values: Mapping[str, Any] = field(default_factory=dict)
    words: str = ""

    def written(self) -> dict[str, Any]:
        """As plain values."""
        return {"key": self.key, "values": dict(self.values)}
