"""A privacy statement in words, from keys: words.toml has them, and nothing else compares texts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pyvws._base.phrase import Phrase

__all__ = ["CAVEATS", "SEED_TRUST", "TRUST", "USES", "caveat", "caveat_keys", "use"]

_WORDS: Final[dict[str, dict[str, str]]] = tomllib.loads(
    Path(__file__).with_name("words.toml").read_text(encoding="utf-8")
)
CAVEATS: Final = _WORDS["caveats"]
USES: Final = _WORDS["uses"]
SEED_TRUST: Final = _WORDS["trust"].pop("seed")
"""Of a release whose randomness is all of its seed's."""
TRUST: Final = tuple(_WORDS["trust"].values())


def caveat(said: Phrase) -> str:
    """The sentence of a caveat; one on diagnostics has figures only where its values hold them."""
    values = {"problems": "the agency has the figures.", **said.values}
    return said.words or CAVEATS[said.key].format(**values)


def use(said: Phrase) -> str:
    """The words of an entry of the ledger."""
    words = _WORDS["several"] if said.values.get("number", 1) > 1 else USES
    return words[said.key].format(**said.values)


def caveat_keys(privacy: Mapping[str, Any]) -> list[str]:
    """The key of each caveat of a statement; of version 1, which has none, from the sentences."""
    if "caveat_keys" in privacy:
        return [said["key"] for said in privacy["caveat_keys"]]
    forms = {key: re.sub(r"\\\{.*?\\\}", ".*", re.escape(words)) for key, words in CAVEATS.items()}
    return [
        next((key for key, form in forms.items() if re.fullmatch(form, said)), "own")
        for said in privacy["caveats"]
    ]
