"""The errata list: slips of the papers and scripts, each with a quote, a number and a test.

A second list holds conventions, on which sources merely differ. Both lists are in
``validation/errata.toml``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Final, TypeVar

from rich.console import Console
from rich.text import Text

from pyvws._base import resources as _resources
from pyvws._base.resources import REFERENCES
from pyvws.errors import PyvwsError

_SOURCES: Final = {"slides", "authors"} | set(REFERENCES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Erratum:
    """One slip.

    - `id`: Unique name that named edits and rows refer to.
    - `sources`: Keys of `pyvws._base.resources`, "slides" or "authors" (the risk-efficient paper's
      scripts).
    - `place`: Section, equation, step or function.
    - `says`, `meant`: The source's statement, and the statement that the authors meant, with the
      reason.
    - `number`: The quantity that `as_printed` and `as_meant` measure.
    - `as_printed`, `as_meant`: The quantity's value under either statement; "stops" or "nan" where
      there is no value.
    - `test`: The pytest node that computes both values.
    - `package`: The package's own choice.
    - `quotes`: The sources' text, word for word except for white space; empty for scripts.
    """

    id: str
    sources: tuple[str, ...]
    place: str
    says: str
    meant: str
    number: str
    as_printed: float | str
    as_meant: float | str
    test: str
    package: str
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """A point on which sources differ and no source is wrong, with the package's choice."""

    id: str
    sources: tuple[str, ...]
    differs: str
    package: str
    quotes: tuple[str, ...] = ()
    test: str = ""


Entry = TypeVar("Entry", Erratum, Convention)


def errata() -> tuple[Erratum, ...]:
    """All slips, in the order of the list."""
    return tuple(_entry(Erratum, table) for table in _content()["erratum"])


def conventions() -> tuple[Convention, ...]:
    """All conventions, in the order of the list."""
    return tuple(_entry(Convention, table) for table in _content()["convention"])


def count() -> str:
    """For example "57 errata and 16 conventions"."""
    return f"{len(errata())} errata and {len(conventions())} conventions"


def render(console: Console) -> None:
    """Print both lists, a paragraph for each entry."""
    console.print(Text("Errata", style="bold"))
    for slip in errata():
        lines = [
            *_quoted(slip.quotes),
            f"Says: {slip.says}",
            f"Meant: {slip.meant}",
            f"Effect: {slip.number}: {_formatted(slip.as_printed)} as printed, "
            f"{_formatted(slip.as_meant)} as meant.",
            f"Package: {slip.package}",
            f"Shown by: {slip.test}",
        ]
        _paragraph(console, f"{slip.id} ({', '.join(slip.sources)}; {slip.place})", lines)
    console.print(Text("Conventions", style="bold"))
    for entry in conventions():
        tests = [f"Shown by: {entry.test}"] if entry.test else []
        lines = [*_quoted(entry.quotes), entry.differs, f"Package: {entry.package}", *tests]
        _paragraph(console, f"{entry.id} ({', '.join(entry.sources)})", lines)
    console.print(f"{count()}.", highlight=False)


def _paragraph(console: Console, heading: str, lines: Sequence[str]) -> None:
    console.print(Text(heading, style="cyan"))
    for line in lines:
        console.print(Text(f"  {line}"))


def _quoted(quotes: Sequence[str]) -> list[str]:
    return [f"Reads: {quote}" for quote in quotes]


def _formatted(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.6g}"


@cache
def _content() -> dict[str, Any]:
    path = _resources.folder("validation") / "errata.toml"
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    ids = [table.get("id") for tables in content.values() for table in tables]
    if len(set(ids)) < len(ids):
        raise PyvwsError("validation/errata.toml has two entries with one id.")
    return content


def _entry(kind: type[Entry], table: dict[str, Any]) -> Entry:
    """An entry of the list; the entry must have exactly its kind's fields, and known sources."""
    known = {field.name for field in fields(kind)}
    strange = set(table) - known | set(table["sources"]) - _SOURCES
    if strange:
        raise PyvwsError(
            f"validation/errata.toml, {table.get('id')}: {', '.join(sorted(strange))} is unknown."
        )
    given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
    try:
        return kind(**given)
    except TypeError as error:
        raise PyvwsError(f"validation/errata.toml, {table.get('id')}: {error}.") from None
