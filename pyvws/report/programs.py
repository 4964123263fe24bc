"""What the programs of the public page say of columns: how the files of a release are read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from pyvws.report.output_folder import PublicPart
from pyvws.report.released_columns import ReportedColumn, kinds_in
from pyvws.tables.files.labels import as_number
from pyvws.tables.files.read import CSV_NULLS
from pyvws.tables.schema.write_values import Content, content_of, says_content

_WIDTH: Final = 88


@dataclass(frozen=True, slots=True)
class TypedColumns:
    """The columns of a release by what they hold; those in no list hold text.

    - `usual`: The cells that stand for a missing value in columns that `missing` does not name.
    - `missing`: Such cells by column.
    """

    usual: list[str]
    numbers: list[str] = field(default_factory=list)
    truth_values: list[str] = field(default_factory=list)
    days_since: dict[str, str] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)

    @property
    def codes_are_numbers(self) -> bool:
        """Whether a number has a missing code that is a number, which a file may spell as 9.0."""
        codes = (code for name in self.numbers for code in self.missing.get(name, ()))
        return any(as_number(code) is not None for code in codes)

    def r(self, name: str) -> str:
        """One of the lists as an assignment in R."""
        value = getattr(self, name)
        if not isinstance(value, dict):
            return _wrapped(f"{name} <- c(", map(_quoted, value))
        parts = (f"{_quoted(key)} = {_in_r(one)}" for key, one in value.items())
        return _wrapped(f"{name} <- list(", parts)

    def python(self, name: str) -> str:
        """One of the lists as an assignment in Python."""
        value = getattr(self, name)
        if not isinstance(value, dict):
            return _wrapped(f"{name} = [", map(_quoted, value), "]")
        parts = (f"{_quoted(key)}: {_quoted(one)}" for key, one in value.items())
        return _wrapped(f"{name} = {{", parts, "}")


def typed_columns(public: PublicPart) -> TypedColumns:
    """What the columns of a release hold, by its schema; what no entry says, by the first file."""
    file = public.files[0].path
    untold = [
        column.name
        for column in public.columns
        if not says_content(column.number) or column.levels == ()
    ]
    empty = list(CSV_NULLS) if file.suffix == ".csv" else []
    typed = TypedColumns(empty if len(untold) == len(public.columns) else [""])
    kinds = kinds_in(file, untold)
    for column in public.columns:
        held = _held(kinds[column.name]) if column.name in kinds else content_of(column.number)
        if held == "numbers":
            typed.numbers.append(column.name)
        elif held == "truth values":
            typed.truth_values.append(column.name)
        elif held == "dates":
            typed.days_since[column.name] = str(column.number.days_since)
        codes = empty if column.name in kinds else _codes(column)
        if codes != typed.usual:
            typed.missing[column.name] = codes
    return typed


def _held(kind: pl.DataType) -> Content:
    if kind == pl.Boolean:
        return "truth values"
    return "numbers" if kind.is_numeric() else "text"


def _codes(column: ReportedColumn) -> list[str]:
    """The cells that stand for a missing value: an empty one too, unless it is a level."""
    own = column.number
    codes = dict.fromkeys("" if code is None else code for code in own.missing_codes)
    return [*({} if "" in (own.levels or ()) else {"": None}) | codes]


def _quoted(value: Any) -> str:
    """Text, or a list of it, as both languages read it."""
    return json.dumps(value, ensure_ascii=False)


def _in_r(value: Any) -> str:
    return _quoted(value) if isinstance(value, str) else f"c({', '.join(map(_quoted, value))})"


def _wrapped(start: str, parts: Iterable[str], end: str = ")") -> str:
    """The parts between commas, in lines that fit a page."""
    listed = list(parts)
    whole = start + ", ".join(listed) + end
    if len(whole) <= _WIDTH:
        return whole
    lines = [""]
    for part in listed:
        if lines[-1] and len(lines[-1]) + len(part) > _WIDTH - 4:
            lines.append("")
        lines[-1] += f"{part}, "
    return "\n  ".join([start, *map(str.rstrip, lines)]).removesuffix(",") + "\n" + end
