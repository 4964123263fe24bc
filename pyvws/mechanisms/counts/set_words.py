"""Sets of columns in words, such as sex:age/15/30/50:income, with public cuts coarser than their
columns' own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyvws._base.checks import near, positive
from pyvws.errors import InputError

_BETWEEN: Final = ":"
_CUT: Final = "/"
SHARE: Final = "*"
"""What the share of a set follows."""
_ENTRIES: Final = ("columns", "cuts", "share")


@dataclass(frozen=True, slots=True)
class NamedSet:
    """A set as a user names it.

    - `cuts`: The columns in their order, each with the labels or numbers at which a group begins;
      () for the column's own cells.
    - `share`: The set's share of the budget, times that of its number of cells; larger = less
      noise.
    """

    cuts: Mapping[str, tuple[str, ...]]
    share: float = 1.0


def set_word(entry: Any) -> str:
    """A set in words: a word as it is, names joined, or the entries columns, cuts and share.

    Raises InputError for entries of other names, and for signs that the words need themselves.
    """
    if isinstance(entry, str):
        return entry.strip()
    if not isinstance(entry, Mapping):
        return _BETWEEN.join(_part(name) for name in entry)
    columns, cuts = entry.get("columns", ()), entry.get("cuts", {})
    if isinstance(columns, str) and {*entry} == {"columns"}:
        return columns.strip()
    unknown = sorted({*entry} - {*_ENTRIES})
    if unknown or isinstance(columns, str) or not columns or not isinstance(cuts, Mapping):
        raise InputError.by("set-entries")
    for name in cuts:
        if name not in columns:
            raise InputError.by("cuts-of-other-column", name=name)
    words = [_CUT.join([_part(name), *map(_part, cuts.get(name, ()))]) for name in columns]
    share = "" if "share" not in entry else f"{SHARE}{positive(entry['share'], 'share'):g}"
    return _BETWEEN.join(words) + share


def _part(name: Any) -> str:
    text = str(name)
    if not is_plain(text):
        raise InputError.by("set-signs", text=text)
    return text


def is_plain(name: str) -> bool:
    """Whether a name is without the signs that words of sets need."""
    return bool(name) and not any(sign in name for sign in (_BETWEEN, _CUT, SHARE, ","))


def named_set(word: str, columns: Mapping[str, Any], setting: str = "measure") -> NamedSet:
    """The set that a word names; InputError for a name that is no column that is counted."""
    names, _, share = word.partition(SHARE)
    cuts = {}
    for part in names.split(_BETWEEN):
        name, *at = part.split(_CUT)
        if name not in columns:
            raise InputError.by(
                "set-unknown-column", setting=setting, name=name, hint=near(name, columns)
            )
        cuts[name] = tuple(at)
    try:
        return NamedSet(cuts, positive(float(share), "share") if share else 1.0)
    except ValueError:
        raise InputError.by("set-share", setting=setting, share=share) from None
