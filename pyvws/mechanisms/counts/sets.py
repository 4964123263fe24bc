"""The sets of columns whose tables are counted, and the counts of a table by them.

A record is in one cell of each set's table, or in none: where a value is unknown to the schema, or
where its rules make the cell impossible. So a record moves each table by at most 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats, near
from pyvws.errors import InputError
from pyvws.mechanisms.counts.coding import MOST_LEVELS, Codes, CountedColumn, counted_columns
from pyvws.mechanisms.counts.skips import Skip, skips_of
from pyvws.tables.schema.schema import Schema

PAIRS: Final = "pairs"
PREDICTORS: Final = "predictors"
OF_ALL: Final = "records"
"""The set without columns, whose one cell has all records."""

MOST_CELLS: Final = 20_000_000
_OWN: Final = 20.0  # Average shares of a column of many levels.

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CountedTable:
    """What is counted of a table: public, and made of its schema alone.

    Attributes
    ----------
    columns : tuple of CountedColumn
        The K columns, in their order.
    skips : mapping of int to Skip
        What rules fix a column at, by its place.
    sets : tuple of tuple of int
        The Q sets, each with the places of its columns.
    offsets : ndarray, shape (Q + 1,)
        Where the cells of each set begin among all cells C.
    possible : ndarray of bool, shape (C,)
        Whether the rules leave a cell possible. The others are not measured.
    """

    columns: tuple[CountedColumn, ...]
    skips: dict[int, Skip]
    sets: tuple[tuple[int, ...], ...]
    offsets: NDArray[np.int64]
    possible: NDArray[np.bool_]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The numbers of cells (Q,) of the sets."""
        return np.diff(self.offsets)

    @property
    def names(self) -> list[str]:
        """The sets (Q,) as their columns' names, joined by a colon."""
        return [":".join(self.columns[k].name for k in places) for places in self.sets]

    def read(self, frame: Any) -> tuple[Codes, dict[str, Floats]]:
        """The codes (N, K) of a table's records, -1 for an unknown value, and values by column."""
        found = {one.name: one.read(frame[one.name]) for one in self.columns}
        codes = np.column_stack([codes for codes, _ in found.values()])
        return codes, {name: values for name, (_, values) in found.items()}

    def cells(self, codes: Codes, q: int) -> NDArray[np.int64]:
        """Each record's cell (N,) of set q among all cells C, -1 for none."""
        places = self.sets[q]
        cell = np.zeros(len(codes), dtype=np.int64)
        for k in places:
            cell = cell * self.columns[k].size + codes[:, k]
        cell += self.offsets[q]
        cell[(codes[:, list(places)] < 0).any(axis=1)] = -1
        cell[~self.possible[cell]] = -1
        return cell

    def counts(self, codes: Codes) -> Counts:
        """The counts (C,) of records (N, K) in all cells."""
        found = np.zeros(len(self.possible), dtype=np.int64)
        for q in range(len(self.sets)):
            cell = self.cells(codes, q)
            found += np.bincount(cell[cell >= 0], minlength=len(found))
        return found


def counted_table(schema: Schema, measure: Sequence[str]) -> CountedTable:
    """What is counted of a table with that schema, by the sets that `measure` names.

    Raises InputError for what cannot be counted, and for sets of too many cells.
    """
    columns = counted_columns(schema)
    sets = _sets(schema, columns, measure)
    every = tuple(columns.values())
    sizes = [math.prod(every[k].size for k in places) for places in sets]
    if sum(sizes) > MOST_CELLS:
        largest = int(np.argmax(sizes))
        raise InputError(
            f"The sets to measure have {sum(sizes)} cells, {sizes[largest]} of them in set "
            f"{':'.join(every[k].name for k in sets[largest])}. Give wider cuts or fewer sets."
        )
    skips = skips_of(schema, columns)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    possible = np.concatenate([_possible(places, every, skips) for places in sets])
    return CountedTable(every, skips, sets, offsets, possible)


def _sets(
    schema: Schema, columns: dict[str, CountedColumn], measure: Sequence[str]
) -> tuple[tuple[int, ...], ...]:
    places = {name: place for place, name in enumerate(columns)}
    small = [place for name, place in places.items() if columns[name].size <= MOST_LEVELS]
    sets: dict[tuple[int, ...], None] = {}
    for word in measure:
        if word == PAIRS:
            sets |= dict.fromkeys(combinations(small, 2))
        elif word == PREDICTORS:
            for name, place in places.items():
                of = [places[one] for one in schema.predictors_of(name) if one in places]
                sets[tuple(sorted({place, *of}))] = None
        else:
            sets[tuple(sorted(_named(word, places)))] = None
    alone = set(range(len(columns))) - {place for places in sets for place in places}
    return (*sets, *((place,) for place in sorted(alone)))


def _named(word: str, places: dict[str, int]) -> set[int]:
    names = word.split(":")
    for name in names:
        if name not in places:
            raise InputError(
                f"measure names {name!r}, which is no column to synthesize and count."
                f"{near(name, places)}"
            )
    return {places[name] for name in names}


def _possible(
    places: tuple[int, ...], columns: tuple[CountedColumn, ...], skips: dict[int, Skip]
) -> NDArray[np.bool_]:
    """Whether the cells (C_q,) of a set keep the rules that its columns alone decide."""
    sizes = [columns[k].size for k in places]
    number = math.prod(sizes)
    found = np.ones(number, dtype=np.bool_)
    ruled = [k for k in places if k in skips and {*skips[k].parents} <= {*places}]
    if not ruled:
        return found
    codes = np.zeros((number, len(columns)), dtype=np.int32)
    for k, grid in zip(places, np.indices(sizes, dtype=np.int32), strict=True):
        codes[:, k] = grid.ravel()
    for k in ruled:
        forced = skips[k].of(codes)
        found &= np.where(forced < 0, ~np.isin(codes[:, k], skips[k].barred), forced == codes[:, k])
    return found


def usual_shares(table: CountedTable, *, pure: bool, power: float | None) -> Floats:
    """Shares (Q,) of the budget by the sizes of the tables: cells^power.

    The power that loses least is near 2/3 for Gaussian noise, and lies between 1/2 and 3/4 for
    Laplace noise.
    """
    power = (0.6 if pure else 2.0 / 3.0) if power is None else power
    possible = np.add.reduceat(table.possible, table.offsets[:-1], dtype=np.int64)
    found = np.asarray(np.maximum(possible, 1) ** power, dtype=np.float64)
    own = [len(s) == 1 and table.columns[s[0]].size > MOST_LEVELS for s in table.sets]
    found[own] = np.maximum(found[own], _OWN * found.mean())  # No other set has the column.
    return found
