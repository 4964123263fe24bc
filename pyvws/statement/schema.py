"""The form of privacy.json: its JSON Schema, and the schema's words on each value."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Field:
    """The meaning of a value, its range, and the meaning of a larger value."""

    meaning: str
    range: str
    direction: str


_PATH: Final = Path(__file__).with_name("privacy.schema.json")
SCHEMA: Final[dict[str, Any]] = json.loads(_PATH.read_text(encoding="utf-8"))

FIELDS: Final = {
    name: Field(entry["description"], entry["range"], entry["direction"])
    for name, entry in SCHEMA["properties"].items()
    if "direction" in entry
}
"""The values that a page lists with their meaning."""

GUARANTEES: Final[dict[str, tuple[str, str]]] = {
    entry["const"]: (entry["title"], entry["description"])
    for entry in SCHEMA["properties"]["guarantee"]["oneOf"]
}
"""A title and the meaning of each guarantee, the strongest first."""
