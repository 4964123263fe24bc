"""A schema in TOML: the text that states it, and the column that entries of a file make."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from pyvws._base.toml import toml_key, toml_value
from pyvws.errors import InputError
from pyvws.tables.files.headers import about
from pyvws.tables.schema.column import ENTRIES, Column
from pyvws.tables.schema.paid import SAID, PaidSchema

_TABLES: Final = ("part", "lookup")  # Entries of a column that are tables themselves.
_SAID = "# What is public of a table: what is known of it without looking at its records.\n"
_PROPOSED = (
    "# A proposal made this file from the records, so all of it is under review. Check each\n"
    "# entry, above all those that `review` names, against what is known of the survey, and take\n"
    "# the names out of `review`. Then sign: set `reviewed` to true or to your name. Until then\n"
    "# keep this file confidential.\n"
)


def schema_text(
    given: Mapping[str, Any],
    columns: Mapping[str, Column],
    without: Collection[str] = (),
    *,
    under_review: bool,
    paid: PaidSchema | None = None,
) -> str:
    """The TOML of a schema: what is `given` of the table, then its columns.

    Entries that are None or named in `without` stay out. The text of a schema `under_review` begins
    with what its reader has to do. Where entries were `paid` for, each line says what it is.
    """

    def said(words: str) -> str:
        return "" if paid is None else f"  # {words}"

    parts = [_SAID, *([_PROPOSED] if under_review else [])]
    parts += [
        f"{name} = {toml_value(value)}{said(SAID)}\n"
        for name, value in given.items()
        if value is not None and name not in without
    ]
    for name, column in columns.items():
        parts.append(f"\n[columns.{toml_key(name)}]\n")
        parts += [
            f"{toml_key(entry)} = {toml_value(value)}"
            + ("" if paid is None else said(paid.mark(name, entry)))
            + "\n"
            for entry, value in column.given.items()
            if entry not in without
        ]
    if paid is not None:
        parts.append("\n[paid]\n")
        parts += [f"{name} = {toml_value(value)}\n" for name, value in paid.written.items()]
    return "".join(parts)


def read_column(name: str, entries: object) -> Column:
    """The column of the values that stand below its name in a TOML file."""
    with about(f"Column {name!r}"):
        if not isinstance(entries, dict):
            raise InputError.by("entries-in-one-line", name=toml_key(name))
        for entry, value in entries.items():
            if isinstance(value, dict) and entry not in _TABLES:
                raise InputError.by("entry-is-a-table", entry=entry)
        own = {entry: value for entry, value in entries.items() if entry in ENTRIES}
        settings = {
            entry: tuple(value) if isinstance(value, list) else value
            for entry, value in entries.items()
            if entry not in ENTRIES
        }
        return Column(**own, settings=settings)
