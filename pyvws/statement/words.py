"""The words of a statement: of its guarantee, of its caveats by key, and of the values it has.

`words.toml` has the caveats, `privacy.schema.json` the form of privacy.json with a word on each
value. No other module compares texts.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyvws._base.phrase import Phrase

_WORDS: Final[dict[str, dict[str, str]]] = tomllib.loads(
    Path(__file__).with_name("words.toml").read_text(encoding="utf-8")
)
CAVEATS: Final = _WORDS["caveats"]
USES: Final = _WORDS["uses"]
TRUST: Final = _WORDS["trust"]
USUAL_TRUST: Final = ("agency", "public", "computation", "seed")
"""The trust assumptions of a release whose randomness is its seed's."""
EXACT_TRUST: Final = {"computation": "exact-computation", "seed": "seed-of-rows"}
"""The trust assumption that takes another's place where the posterior draws are exact."""
NOT_COVERED: Final = _WORDS["not-covered"]
"""What a guarantee does not cover, by the key of the caveat that says so."""


def caveat(phrase: Phrase) -> str:
    """The sentence of a caveat; a caveat on diagnostics has figures only if `phrase` holds them."""
    values = {"problems": "the agency has the figures.", **phrase.values}
    return phrase.words or CAVEATS[phrase.key].format(**values)


def trust(phrase: Phrase) -> str:
    """The sentence of a trust assumption."""
    return TRUST[phrase.key].format(**phrase.values)


def use(phrase: Phrase) -> str:
    """The words of an entry of the ledger."""
    words = _WORDS["several"] if phrase.values.get("number", 1) > 1 else USES
    return words[phrase.key].format(**phrase.values)


def forecast_words(phrase: Phrase) -> str:
    """The sentences of a note of a forecast, or of a caveat among its notes."""
    words = _WORDS["forecast"].get(phrase.key)
    return caveat(phrase) if words is None else words.format(**phrase.values)


def need_words(need: Mapping[str, Any]) -> str:
    """What a statement says of a need: whether it is met, and what it reaches."""
    words, regression = _WORDS["needs"], need["by"] == "combining rule"
    if need["reached"] is None:
        return words["regression-not-told" if regression else "hidden"]
    met = {True: "met", False: "missed", None: "no-precision"}[need["met"]]
    told = words["regression" if regression else "shares"].format(**need)
    return f"{words[met]} {told}"


SIGNED: Final = "proposed-and-signed"
"""The key of the caveat of a claim that rests on the word of who signed a proposal."""


def caveat_keys(privacy: Mapping[str, Any]) -> list[str]:
    """The key of each caveat of a statement; version 1 has no keys, so its sentences give them."""
    if "caveat_keys" in privacy:
        return [key["key"] for key in privacy["caveat_keys"]]
    forms = {key: re.sub(r"\\\{.*?\\\}", ".*", re.escape(words)) for key, words in CAVEATS.items()}
    return [
        next((key for key, form in forms.items() if re.fullmatch(form, sentence)), "own")
        for sentence in privacy["caveats"]
    ]


_LISTED: Final = 8
_FIRST: Final = frozenset(
    (
        *("weights", "compared", "proposed", "proposed-and-signed", "problems"),
        *("problems-of-draws", "accepts-unconverged", "counts-lost", "unweighted"),
        *("reads-outcome", "threshold", "edges-from-data", "seeded-noise"),
        *("short-seed", "short-seed-of-rows", "unchecked-mechanism", "unchecked-model"),
        *("unchecked-engine", "unchecked-program", "unchecked-predictions", "outside-fit"),
        *("unknown-predictions", "given-weights", "program-data", "searched-t", "above-target"),
        *("one-draw", "few-draws", "counts-best-file", "counts-cap", "counts-slots"),
        *("counts-weights-fixed", "counts-reference", "counts-reference-release", "paid-schema"),
        *("counts-delta", "unchanged", "kept-order", "other-releases", "further-releases"),
        *("leave-one-out", "units", "left-out", "replaced", "counts-left-out", "counts-replaced"),
        *("estimated", "as-if-exact", "public-settings", "counts-model"),
    )
)
"""Keys of caveats that weaken the claim, or say what it is of: no reader may miss them."""


def parted_caveats(privacy: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The caveats that a page lists first, at most eight, and those that a heading hides."""
    said = zip(caveat_keys(privacy), privacy["caveats"], strict=True)
    texts = [text for _, text in sorted(said, key=lambda one: one[0] not in _FIRST)]
    return texts[:_LISTED], texts[_LISTED:]


def of_single_records(unit: str) -> str:
    """What a page says of risks of records where the unit of privacy is another; else empty."""
    if unit == "one record":
        return ""
    return (
        f"These are risks of single records, and epsilon is for {unit}. What an intruder learns of "
        "them together can be more."
    )


_IF_PUBLIC: Final = "-if-public"
_IF_FIXED: Final = "-if-weights-fixed"
_OF_NOISE: Final = ("dp", "approximate-dp")
_CONDITIONS: Final = (_IF_PUBLIC, _IF_FIXED, _IF_PUBLIC + _IF_FIXED.replace("-if-", "-and-"))

STRICT: Final = (
    *(*_OF_NOISE, "dp-if-bounded"),
    *(word + condition for condition in _CONDITIONS for word in _OF_NOISE),
)
"""The words of claims that hold for every table that the settings admit."""


def if_public(claim: str, *, signed: bool) -> str:
    """The word of a claim where a program may have read the schema off the records.

    `signed` says that one did, and that somebody signed every entry as public. "dp" is then
    "dp-if-public". Words that are not strict have no condition.
    """
    return claim + _IF_PUBLIC if signed and claim in _OF_NOISE else claim


def claim_of(guarantee: str) -> str:
    """The word of the claim, without the conditions that `with_conditions` adds."""
    found = next((end for end in reversed(_CONDITIONS) if guarantee.endswith(end)), "")
    return guarantee.removesuffix(found)


def with_conditions(claim: str, *, signed: bool, fixed: bool) -> str:
    """The word of a claim as `if_public`, also where it holds for `fixed` weights of others.

    A calibrated weight depends on other records, so "dp" is then "dp-if-weights-fixed".
    """
    if claim not in _OF_NOISE or not fixed:
        return if_public(claim, signed=signed)
    return claim + (_CONDITIONS[-1] if signed else _IF_FIXED)


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
