"""Words for columns in messages: their names, or their places where the names may be values.

Names of columns are public, and values of records are not. A file without a header has the values
of its first record in the place of the names, so a message then gives the columns' places. A long
name may be a question of a survey or the text of a record, so a message gives its place alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyvws.errors import InputError

_SHOWN = 20
_LONGEST = 60
_VALUE = re.compile(
    r"\s*(|na|nan|null|true|false|[-+]?(inf|[\d.,/:\s_-]*\d[\d.,e%/:\s+-]*))\s*", re.I
)
_CELLS_WITHIN = re.compile(r"[;\t|\x00-\x1f]")


@contextmanager
def about(what: str) -> Iterator[None]:
    """Put what it is about, such as a table's role, before the words of an InputError."""
    try:
        yield
    except InputError as error:
        raise InputError.by("in-header", what=what, error=error) from None


def record_instead(header: Sequence[str]) -> bool:
    """Whether a header looks like a record: a name is a number or a date, empty, or cells."""
    return any(_VALUE.fullmatch(name) or _CELLS_WITHIN.search(name) for name in header)


def display_names(header: Sequence[str]) -> dict[str, str]:
    """What a message calls each column: its name, or its place where the name may be a value."""
    hidden = record_instead(header)
    return {
        name: f"column {place}" if hidden or len(name) > _LONGEST else name
        for place, name in enumerate(header, start=1)
    }


def named(some: Sequence[str], header: Sequence[str]) -> str:
    """Some of a header's names for a message; the places where the names may be values."""
    if not record_instead(header):
        more = f" and {len(some) - _SHOWN} more" if len(some) > _SHOWN else ""
        shown = display_names(header)
        return ", ".join(shown.get(name, name) for name in some[:_SHOWN]) + more
    return placed(some, header)


def placed(some: Sequence[str], header: Sequence[str]) -> str:
    """The places of some of a header's names for a message, from 1."""
    wanted = set(some)
    places = [place for place, name in enumerate(header, start=1) if name in wanted]
    return "columns " + ", ".join(map(str, places[:_SHOWN])) + (" ..." if places[_SHOWN:] else "")


def names_or_number(header: Sequence[str]) -> str:
    """A sentence with a header's first names, or their number where the names may be values."""
    if record_instead(header):
        return (
            f"It has {len(header)} columns, and its first line looks like a record. A file needs a "
            "header, and commas between cells."
        )
    shown = display_names(header)
    first = (repr(name) if shown[name] == name else shown[name] for name in header[:_SHOWN])
    return f"It has: {', '.join(first)}."
