"""Values and names as TOML, so that a reader finds the same values again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_value(value: object) -> str:
    """Text, a number, true, false, a list or a table of these; a number keeps every digit."""
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, Mapping):
        pairs = (f"{toml_key(name)} = {toml_value(entry)}" for name, entry in value.items())
        return f"{{{', '.join(pairs)}}}"
    text = json.dumps(value, ensure_ascii=False)
    return text.replace(chr(127), chr(92) + "u007f")  # TOML takes no bare DEL.


def toml_key(name: str) -> str:
    """A name as a key, in quotes where TOML needs them."""
    return name if _BARE.fullmatch(name) else toml_value(name)
