"""What a row of the table of refusals is, and how rows are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pyvws.errors import InputError


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing that a run cannot have.

    `key` stays as it is, whatever becomes of the words. `when` gets settings or a plan, `asked` in
    the words. What it gives is false where nothing is wrong, and is `it` in the words elsewhere.
    """

    key: str
    when: Callable[[Any], Any]
    words: str
    remedy: str


def refuse(asked: Any, rows: Iterable[Refusal]) -> None:
    """Raise InputError, with the row's key, for the first of the rows that holds."""
    for row in rows:
        if it := row.when(asked):
            words = f"{row.words} {row.remedy}".format(asked=asked, it=it)
            raise InputError(words, key=row.key)
