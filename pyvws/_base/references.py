"""The papers that docstrings, cases and documents cite, by key: `references.toml` holds them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

REFERENCES: Final[dict[str, str]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
