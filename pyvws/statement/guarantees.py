"""The words of a guarantee: that of a claim, and with it the condition of a signed proposal."""

from __future__ import annotations

from typing import Final

_IF_PUBLIC: Final = "-if-public"
_OF_NOISE: Final = ("dp", "approximate-dp")

STRICT: Final = (*_OF_NOISE, "dp-if-bounded", *(word + _IF_PUBLIC for word in _OF_NOISE))
"""The words of claims that hold for every table that the settings admit."""


def if_public(claim: str, *, signed: bool) -> str:
    """The word of a claim where a program may have read the schema off the records.

    `signed` says that one did, and that somebody signed every entry as public. "dp" is then
    "dp-if-public". Words that are not strict have no condition.
    """
    return claim + _IF_PUBLIC if signed and claim in _OF_NOISE else claim


def claim_of(guarantee: str) -> str:
    """The word of the claim, without the condition that `if_public` adds."""
    return guarantee.removesuffix(_IF_PUBLIC)
