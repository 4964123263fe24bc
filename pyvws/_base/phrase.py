"""The contents of a privacy statement as keys and values, before the package puts them in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


def counted(number: int | str, noun: str) -> str:
    """A number, perhaps as text, and what it is of: "1 use", "2 uses"."""
    return f"{number} {noun}{'' if str(number) == '1' else 's'}"


@dataclass(frozen=True, slots=True)
class Phrase:
    """The key of a caveat or of a use of the data, and the values that stand in its words.

    `pyvws/statement/words.py` has the words of the package's keys. A user's own key brings its own
    `words`.
    """

    key: str
    values: Mapping[str, Any] = field(default_factory=dict)
    words: str = ""

    def written(self) -> dict[str, Any]:
        """The phrase as a dictionary of plain values."""
        return {"key": self.key, "values": dict(self.values)}
