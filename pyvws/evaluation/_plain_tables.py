"""Tables from any tool as plain arrays: codes of categories, and numbers with NaN where missing.

A schema says which column is a category and which codes are missing values. Without a schema the
original says so, as `pyvws schema` proposes from it. Missing values of a category are levels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats, dataset_list, finite_vector
from pyvws.errors import InputError
from pyvws.r_numbers import rarith
from pyvws.tables.column import Column
from pyvws.tables.frame import check_columns, open_frame
from pyvws.tables.levels import distinct
from pyvws.tables.numbers import numbers_and_codes
from pyvws.tables.proposal import proposed_columns
from pyvws.tables.schema import Schema

_TENTHS = np.arange(1, 10) / 10


@dataclass(frozen=True, slots=True, eq=False)
class PlainTables:
    """The same K columns of an original and of m synthetic datasets.

    Attributes
    ----------
    original : dict
        Columns (N,) by name: whole numbers are codes of a category, floats are numbers, NaN if
        missing.
    synthetic : list of dict
        The same columns of each dataset, (N_l,). Equal labels of a category have equal codes.
    edges : dict
        Rising edges of each number's bins.
    gone : dict
        The codes of each category that stand for a missing value.
    left_out : tuple of str
        Columns of the original that are identifiers or constant, or that the schema drops
        or numbers anew.
    by_data : tuple of str
        Numbers whose bins are tenths of the original.
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
        """The columns that are categories."""
        return tuple(name for name in self.original if name not in self.edges)

    def missing(self, table: Mapping[str, NDArray[Any]], name: str) -> NDArray[np.bool_]:
        """Which records (N,) of one of the tables have no value."""
        if name in self.edges:
            return np.isnan(table[name])
        return np.isin(table[name], self.gone[name])

    def cells(self, table: Mapping[str, NDArray[Any]]) -> NDArray[np.intp]:
        """Codes (N, K) of one of the tables, a number by its bin or as missing."""
        found = []
        for name, values in table.items():
            if name in self.edges:
                bins = np.searchsorted(self.edges[name], values, side="right")
                values = np.where(np.isnan(values), len(self.edges[name]) + 1, bins)
            found.append(values)
        return np.column_stack(found).astype(np.intp)


def plain_tables(
    original: Any,
    synthetic: Sequence[Any],
    *,
    schema: Schema | None = None,
    columns: Sequence[str] | None = None,
    bins: Mapping[str, Any] | None = None,
    least: int = 2,
    holdout: Any = None,
) -> PlainTables:
    """Read `columns`, or all that the schema or the original's own values make usable.

    A hold-out stands after the synthetic datasets, in one list with them. Messages name the table.
    Raises InputError for a column that a table or the schema lacks, fewer than `least` columns,
    bins that do not rise, and cells of a number that are neither a number nor a missing code.
    """
    given_tables = {"original": original}
    for number, one in enumerate(dataset_list(synthetic, "synthetic"), start=1):
        given_tables[f"synthetic dataset {number}"] = one
    if holdout is not None:
        given_tables["hold-out"] = holdout
    frames = {}
    for role, table in given_tables.items():
        with _named(role):
            frames[role] = open_frame(table, least=1)
    first = frames["original"]
    if columns is not None:
        check_columns(first, columns, role="columns")
        first = first.select(list(dict.fromkeys(columns)))
    kinds = proposed_columns(first) if schema is None else _of_schema(schema, first, columns)
    names = [name for name in first.columns if name in kinds and kinds[name].role != "drop"]
    if len(names) < least:
        raise InputError(
            f"{least} or more columns must be categories or numbers that vary. Got {len(names)}."
        )
    given = {name: rising_edges(values, name) for name, values in (bins or {}).items()}
    check_columns(first, given, role="bins")
    for role, frame in list(frames.items())[1:]:
        check_columns(frame, names, role=role, header=first.columns)
    tables: list[dict[str, NDArray[Any]]] = [{} for _ in frames]
    edges, gone = {}, {}
    for name in names:
        parts = {role: frame[name] for role, frame in frames.items()}
        if kinds[name].categorical:
            found, gone[name] = _codes(parts, kinds[name])
        else:
            found = []
            for role, part in parts.items():
                with _named(role):
                    found.append(read_numbers(part, kinds[name]))
            edges[name] = given.get(name, _tenths(found[0], kinds[name]))
        for table, values in zip(tables, found, strict=True):
            table[name] = values
    return PlainTables(
        original=tables[0],
        synthetic=tables[1:],
        edges=edges,
        gone=gone,
        left_out=tuple(name for name in first.columns if name not in names),
        by_data=tuple(name for name in edges if name not in given),
    )


def rising_edges(values: Any, name: str) -> Floats:
    """Edges of bins; InputError unless they rise."""
    edges = finite_vector(values, f"bins of {name!r}")
    if not (np.diff(edges) > 0).all():
        raise InputError(f"bins of {name!r} must rise. Give edges such as 0, 5, 10.")
    return edges


def _of_schema(
    schema: Schema, frame: nw.DataFrame[Any], columns: Sequence[str] | None
) -> dict[str, Column]:
    """The schema's columns that a table has; a public one without levels or numbers is as proposed.

    New ids are of nobody, and the size of units and summaries of members are no columns of a table.
    """
    known = {
        name: one
        for name, one in schema.columns.items()
        if one.role not in ("drop", "id") and name not in schema.derived
    }
    if columns is None:
        check_columns(frame, known, role="The schema")
    else:
        known = {name: known[name] for name in frame.columns if name in known}
    text = [n for n, one in known.items() if not one.categorical and not is_number(frame[n], one)]
    return known | (proposed_columns(frame.select(text)) if text else {})


def is_number(column: nw.Series[Any], said: Column) -> bool:
    """Whether a column without levels is one of numbers: by its type, or as the schema says.

    Dates count as days.
    """
    dates = said.days_since is not None
    return (
        dates or column.dtype.is_numeric() or said.role == "synthesize" or bool(said.missing_codes)
    )


def read_numbers(column: nw.Series[Any], said: Column) -> Floats:
    """A column as numbers (N,), dates as days, NaN where a cell is empty or has a missing code."""
    codes = dict.fromkeys([*said.missing_codes, None])
    return numbers_and_codes(column, tuple(codes), column.name, start=said.days_since)[0]


@contextmanager
def _named(role: str) -> Iterator[None]:
    """Put a table's role before the words of an InputError."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{role}: {error}") from None


def _codes(
    parts: Mapping[str, nw.Series[Any]], said: Column
) -> tuple[list[NDArray[Any]], NDArray[np.intp]]:
    """Codes of each table's cells, by its role, and the codes that stand for a missing value."""
    codes: dict[str | None, int] = {}
    found = []
    for role, part in parts.items():
        with _named(role):
            places, labels = distinct(part)
        of_label = [codes.setdefault(label, len(codes)) for label in labels]
        if (places < 0).any():
            of_label.append(codes.setdefault(None, len(codes)))
        found.append(np.array(of_label, dtype=np.intp)[places])
    missing = {None, *said.missing_codes}
    gone = [code for label, code in codes.items() if label in missing]
    return found, np.array(gone, dtype=np.intp)


def _tenths(values: Floats, said: Column) -> Floats:
    """Tenths of the original's numbers, with each point of mass in a bin of its own."""
    there = values[~np.isnan(values)]
    edges = rarith.quantile(there, _TENTHS) if len(there) else np.zeros(1)
    points = np.array(said.mass)
    return np.unique(np.concatenate([edges, points, np.nextafter(points, np.inf)]))
