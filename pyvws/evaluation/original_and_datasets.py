"""The reader of an original and of synthetic datasets: opened once, checked, and read by column.

A schema says which column is a category and which codes are missing values. Without a schema the
original says so, as `pyvws schema` proposes from it. Missing values of a category are levels.

Here alone the judges code categories, so that equal values have equal codes in all tables. With a
schema a cell is the level that it spells, as text or as a truth value, in capitals or small
letters, with blanks around it or without. What cannot be coded alike is refused: a risk of 0
would follow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import narwhals as nw
import numpy as np
from narwhals.typing import IntoFrame
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, dataset_list, finite_vector
from pyvws.errors import InputError
from pyvws.r_numbers import rarith
from pyvws.tables.files.frame import check_columns, open_frame
from pyvws.tables.files.headers import about, named
from pyvws.tables.files.kinds import distinct
from pyvws.tables.files.labels import as_number, bare, spelled_levels
from pyvws.tables.proposal.columns import proposed_columns
from pyvws.tables.schema.arithmetic import is_single
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.read_values import at_decimals, numbers_and_codes
from pyvws.tables.schema.schema import Schema
from pyvws.tables.schema.write_values import content_of

_TENTHS: Final = np.arange(1, 10) / 10
_HARDLY: Final = 0.1  # Of the records of either table, those whose value the other table has.

Codes = NDArray[np.intp]
Plain = Mapping[str, NDArray[Any]]
"""Columns (N,) by name: whole numbers are codes of a category, floats numbers, NaN if missing."""


@dataclass(frozen=True, slots=True, eq=False)
class OriginalAndDatasets:
    """Tables in memory by the role that messages name, the original first where there is one.

    `schema` says what their columns hold, None where nothing but the original says so.
    """

    frames: dict[str, nw.DataFrame[Any]]
    schema: Schema | None = None

    @classmethod
    def read(
        cls,
        original: IntoFrame | None,
        datasets: Iterable[IntoFrame],
        *,
        schema: Schema | None = None,
        holdout: IntoFrame | None = None,
        reference: IntoFrame | None = None,
        argument: str = "synthetic",
        role: str = "synthetic dataset",
    ) -> OriginalAndDatasets:
        """Open the tables; InputError for no dataset, or for a table without a record."""
        tables = {} if original is None else {"original": original}
        for number, dataset in enumerate(dataset_list(datasets, argument), start=1):
            tables[f"{role} {number}"] = dataset
        last = {"hold-out": holdout, "reference": reference}
        tables |= {name: table for name, table in last.items() if table is not None}
        frames = {}
        for name, table in tables.items():
            with about(name):
                frames[name] = open_frame(table, least=1)
        return cls(frames, schema)

    @property
    def first(self) -> nw.DataFrame[Any]:
        """The original, or the first dataset where there is none."""
        return next(iter(self.frames.values()))

    def require(self, names: Iterable[str]) -> None:
        """Raise InputError where a table lacks a column that the first one has."""
        wanted = list(names)
        for role, frame in list(self.frames.items())[1:]:
            check_columns(frame, wanted, role=role, header=self.first.columns)

    def kinds(self, columns: Sequence[str] | None = None) -> dict[str, Column]:
        """What the first table's columns hold, by the schema, else as a proposal reads them.

        The table may have more columns than these, such as those that the schema drops. New ids are
        of nobody, and the size of units and summaries of members are no columns of a table. A
        public column of the schema without levels or numbers is as proposed.
        """
        frame = self.first
        if columns is not None:
            check_columns(frame, columns, role="columns")
            frame = frame.select(list(dict.fromkeys(columns)))
        if self.schema is None:
            proposed = proposed_columns(frame)
            return {
                name: column
                for name, column in proposed.items()
                if column.role != "drop" and not column.is_constant
            }
        known = {
            name: column
            for name, column in self.schema.columns.items()
            if column.role not in ("drop", "id") and name not in self.schema.derived
        }
        if columns is None:
            check_columns(frame, known, role="The schema")
        names = [name for name in frame.columns if name in known]
        text = [
            name
            for name in names
            if not known[name].categorical and not _is_number(frame[name], known[name])
        ]
        kinds = known | (proposed_columns(frame.select(text)) if text else {})
        return {name: kinds[name] for name in names if kinds[name].role != "drop"}

    def numbers(self, name: str, column: Column) -> list[Floats]:
        """A number in each table (N_l,), as `_numbers` reads it.

        Where those of the first table are of single precision, all are compared at it: a rule
        computes other last digits than a program that keeps four bytes.
        """
        parts = []
        for role, frame in self.frames.items():
            with about(role):
                parts.append(_numbers(frame[name], column))
        return [*map(_singly, parts)] if is_single(parts[0]) else parts

    def codes(
        self, name: str, levels: Sequence[str | None] | None = None
    ) -> tuple[list[Codes], dict[Any, int]]:
        """A category in each table as codes (N_l,), and the code of each label, None if empty.

        `levels` are those that cells spell; by default the schema's.
        """
        levels = self._levels(name) if levels is None else levels
        cells = []
        for role, frame in self.frames.items():
            with about(role):
                places, labels = distinct(frame[name])
            spelled = spelled_levels(labels, levels)
            cells.append((places, [*spelled, *([None] if (places < 0).any() else [])]))
        return shared_codes(cells)

    def refuse_other_spellings(
        self,
        coded: Mapping[str, tuple[Sequence[Codes], Mapping[Any, int]]],
        levels: Mapping[str, Sequence[str | None]] | None = None,
    ) -> None:
        """Raise InputError for categories whose values the first and another table spell apart.

        These are columns with hardly a value in common, and columns where values differ in capitals
        or blanks alone. `coded` has them as `codes` gives them. Columns all of whose values are
        `levels`, by default the schema's, are spelled alike.
        """
        first, *others = self.frames
        known = {name: (levels or {}).get(name, self._levels(name)) for name in coded}
        coded = {name: own for name, own in coded.items() if {*own[1]} - {*known[name], None}}
        for place, role in enumerate(others, start=1):
            apart = [
                name
                for name, (parts, code_of) in coded.items()
                if _spelled_apart(parts[0], parts[place], code_of, self._missing_codes(name))
            ]
            if apart:
                raise InputError.by(
                    "spelled-apart",
                    first=first,
                    role=role,
                    columns=named(apart, self.first.columns),
                    way="as the schema does" if any(map(known.get, apart)) else "give a schema",
                )

    def _levels(self, name: str) -> Sequence[str | None]:
        """The levels of a category by the schema; none of another column."""
        entry = described(self.schema).get(name)
        return entry.coded_levels if entry is not None and entry.categorical else ()

    def _missing_codes(self, name: str) -> Collection[Any]:
        entry = described(self.schema).get(name)
        return {None, *(entry.missing_codes if entry is not None else ())}


def _spelled_apart(
    first: Codes, other: Codes, code_of: Mapping[Any, int], missing: Collection[Any]
) -> bool:
    """Whether two tables' codes (N,) and (M,) of a category are of labels that are spelled apart.

    Missing values do not count.
    """
    gone = [code for label, code in code_of.items() if label in missing]
    own, others = first[~np.isin(first, gone)], other[~np.isin(other, gone)]
    if not len(own) or not len(others):
        return False
    if max(np.isin(own, others).mean(), np.isin(others, own).mean()) < _HARDLY:
        return True
    label_of = {code: label for label, code in code_of.items()}
    alone = [
        {bare(label_of[code]) for code in np.setdiff1d(x, y).tolist()}
        for x, y in ((own, others), (others, own))
    ]
    return bool(alone[0] & alone[1])


def shared_codes(cells: Iterable[tuple[Any, Sequence[Any]]]) -> tuple[list[Codes], dict[Any, int]]:
    """Codes from 0 on of places (N_l,) among cells; equal cells of two tables have equal codes.

    The place -1 is that of the last cell.
    """
    code_of: dict[Any, int] = {}
    codes = []
    for places, labels in cells:
        own = np.array([code_of.setdefault(x, len(code_of)) for x in labels], dtype=np.intp)
        codes.append(own[places])
    return codes, code_of


@dataclass(frozen=True, slots=True, eq=False)
class PlainTables:
    """The same K columns of an original and of m synthetic datasets.

    - `original`: Columns (N,) by name: whole numbers are codes of a category, floats are numbers,
      NaN if missing.
    - `synthetic`: The same columns of each dataset, (N_l,). Equal labels of a category have equal
      codes.
    - `edges`: Rising edges of each number's bins.
    - `gone`: The codes of each category that stand for a missing value.
    - `left_out`: Columns of the original that are identifiers or constant, or that the schema drops
      or numbers anew.
    - `by_data`: Numbers whose bins are tenths of the original.
    """

    original: dict[str, NDArray[Any]]
    synthetic: list[dict[str, NDArray[Any]]]
    edges: dict[str, Floats]
    gone: dict[str, NDArray[np.intp]]
    left_out: tuple[str, ...]
    by_data: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the original's order."""
        return tuple(self.original)

    @property
    def categories(self) -> tuple[str, ...]:
        return tuple(name for name in self.original if name not in self.edges)

    def require(self, names: Iterable[str], header: Sequence[str]) -> None:
        """Raise InputError for a name that is none of the columns; `header` has the original's."""
        for name in names:
            if name not in self.original:
                usable = named(self.names, header)
                raise InputError.by("column-not-evaluated", name=name, usable=usable)

    def missing(self, table: Mapping[str, NDArray[Any]], name: str) -> NDArray[np.bool_]:
        """Which records (N,) of one of the tables have no value."""
        if name in self.edges:
            return np.isnan(table[name])
        return np.isin(table[name], self.gone[name])

    def cells(self, table: Mapping[str, NDArray[Any]]) -> NDArray[np.intp]:
        """Codes (N, K) of one of the tables, a number by its bin or as missing."""
        columns = []
        for name, values in table.items():
            if name in self.edges:
                bins = np.searchsorted(self.edges[name], values, side="right")
                values = np.where(np.isnan(values), len(self.edges[name]) + 1, bins)
            columns.append(values)
        return np.column_stack(columns).astype(np.intp)


def plain_tables(
    tables: OriginalAndDatasets,
    *,
    columns: Sequence[str] | None = None,
    bins: Mapping[str, Any] | None = None,
    least: int = 2,
) -> PlainTables:
    """Read `columns`, or all that the schema or the original's own values make usable.

    A hold-out stands after the synthetic datasets, in one list with them. Messages name the table.
    Raises InputError for a column that a table or the schema lacks, fewer than `least` columns,
    bins that do not rise, cells of a number that are neither a number nor a missing code, and
    categories that two tables spell apart.
    """
    kinds = tables.kinds(columns)
    if len(kinds) < least:
        hint = " Judge a single column by pyvws utility --outcome." if kinds else ""
        raise InputError.by("too-few-that-vary", least=least, kinds=len(kinds), hint=hint)
    given = {name: rising_edges(values, name) for name, values in (bins or {}).items()}
    asked = tables.first.columns if columns is None else list(dict.fromkeys(columns))
    check_columns(tables.first.select(asked), given, role="bins")
    tables.require(kinds)
    plain: list[dict[str, NDArray[Any]]] = [{} for _ in tables.frames]
    edges, gone = {}, {}
    coded = {name: tables.codes(name) for name, kind in kinds.items() if kind.categorical}
    tables.refuse_other_spellings(coded)
    for name, kind in kinds.items():
        parts: Sequence[NDArray[Any]]
        if kind.categorical:
            parts, code_of = coded[name]
            missing = {None, *kind.missing_codes}
            gone[name] = np.array([code_of[x] for x in code_of if x in missing], dtype=np.intp)
        else:
            parts = tables.numbers(name, kind)
            edges[name] = given.get(name, _tenths(parts[0], kind))
        for table, values in zip(plain, parts, strict=True):
            table[name] = values
    return PlainTables(
        original=plain[0],
        synthetic=plain[1:],
        edges=edges,
        gone=gone,
        left_out=tuple(name for name in asked if name not in kinds),
        by_data=tuple(name for name in edges if name not in given),
    )


def rising_edges(values: ArrayLike, name: str) -> Floats:
    """Edges of bins; InputError unless they rise."""
    edges = finite_vector(values, f"bins of {name!r}")
    if not (np.diff(edges) > 0).all():
        raise InputError.by("bins-not-rising", name=name)
    return edges


def _is_number(column: nw.Series[Any], described: Column) -> bool:
    """Whether a column without levels is one of numbers: by its type, or as the schema says.

    Dates count as days.
    """
    dates = described.days_since is not None
    return (
        dates
        or column.dtype.is_numeric()
        or described.role == "synthesize"
        or bool(described.missing_codes)
    )


def _numbers(column: nw.Series[Any], described: Column) -> Floats:
    """A column as numbers (N,), dates as days, NaN where a cell is empty or has a missing code."""
    codes = dict.fromkeys([*described.missing_codes, None])
    numbers, _ = numbers_and_codes(column, tuple(codes), start=described.days_since)
    return at_decimals(described, numbers)


def _singly(numbers: Floats) -> Floats:
    """Numbers (N,) at single precision, but for those beyond it."""
    with np.errstate(over="ignore"):
        single = numbers.astype(np.float32).astype(np.float64)
    return np.where(np.isinf(single), numbers, single)


def _tenths(values: Floats, described: Column) -> Floats:
    """Tenths of the original's numbers, with each point of mass in a bin of its own."""
    there = values[~np.isnan(values)]
    edges = rarith.quantile(there, _TENTHS) if len(there) else np.zeros(1)
    points = np.array(described.mass)
    return np.unique(np.concatenate([edges, points, np.nextafter(points, np.inf)]))


def complete_records(
    frame: nw.DataFrame[Any], names: Iterable[str], schema: Schema | None = None
) -> nw.DataFrame[Any]:
    """The records (n,) of a frame (N,) without a missing value in the columns `names`.

    Missing are empty cells, NaN, and the codes of the schema. A number of the schema comes out as
    floats, also where a code such as N made text of it, and a date as days. A category is what its
    levels say: numbers, truth values or text. A name that the frame lacks is left to its reader.

    Raises InputError where no record is left, and for cells of a number that are neither a number
    nor a code.
    """
    known = described(schema)
    there = np.ones(len(frame), dtype=np.bool_)
    columns = []
    for name in names:
        if name in frame.columns:
            column, has = _with_value(frame[name], known.get(name))
            there &= has
            columns.append(column)
    if not there.any():
        raise InputError.by("no-complete-record", frame=len(frame))
    return frame.with_columns(*columns).filter(there.tolist())


def _with_value(
    column: nw.Series[Any], described: Column | None
) -> tuple[nw.Series[Any], NDArray[np.bool_]]:
    """A column as it enters a regression, and which records (N,) have a value in it."""
    if described is not None and described.categorical:
        return _category(column, described)
    if described is not None and _is_number(column, described):
        return _floats(column, _numbers(column, described))
    missing = column.is_null()
    if column.dtype.is_float():
        missing = missing | column.is_nan()
    return column, ~np.asarray(missing.fill_null(True).to_numpy(), dtype=np.bool_)


def _floats(column: nw.Series[Any], numbers: Floats) -> tuple[nw.Series[Any], NDArray[np.bool_]]:
    floats = nw.new_series(column.name, numbers, nw.Float64, backend=column.implementation)
    return floats, ~np.isnan(numbers)


def _category(
    column: nw.Series[Any], described: Column
) -> tuple[nw.Series[Any], NDArray[np.bool_]]:
    """A category as what its levels say that it holds, however the table's reader typed it.

    Text of an empty cell is one, unless it is a level.
    """
    levels = described.coded_levels
    places, labels = distinct(column)
    read = spelled_levels(labels, levels)
    gone = {None, *described.missing_codes, *({""} - {*levels})}
    there = np.array([label not in gone for label in [*read, None]])[places]
    if content_of(described) == "numbers":
        known = [None if label in gone else as_number(str(label)) for label in [*read, None]]
        numbers = np.array(known, dtype=np.float64)[places]
        if unread := int((np.isnan(numbers) & there).sum()):
            raise InputError.by("cells-no-level", column=column.name, unread=unread)
        return _floats(column, numbers)
    truth = content_of(described) == "truth values"
    cells = [str(label).lower() == "true" if truth else label for label in read]
    values = np.array([*cells, None], dtype=object)[places].tolist()
    kind: Any = nw.Boolean if truth else nw.String
    return nw.new_series(column.name, values, kind, backend=column.implementation), there


def described(schema: Schema | None) -> Mapping[str, Column]:
    """What a schema says of columns, by name; nothing without one."""
    return {} if schema is None else schema.columns
