"""What a proposal notes on a column, by name: `notes.toml` has the words.

A later look at the columns tells by its note what the first one took a column for.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

_NOTES: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def __getattr__(name: str) -> str:
    if name not in _NOTES:
        raise AttributeError(name)
    return str(_NOTES[name])
