"""The sets of columns whose tables are counted, and the counts of a table by them.

A record is in one cell of each set's table, or in none: where a value is unknown to the schema, or
where its rules make the cell impossible. So a record moves each table by at most 1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel
from pyvws.errors import InputError
from pyvws.mechanisms.counts.by_rule import BoundedColumn, counted_columns, counted_names
from pyvws.mechanisms.counts.cliques import EVENLY, Clique, clique, grouping
from pyvws.mechanisms.counts.coding import MOST_LEVELS, MOST_OF_PAIR, Codes, CountedColumn
from pyvws.mechanisms.counts.differences import Difference, OfTwo
from pyvws.mechanisms.counts.given_columns import (
    ALIKE,
    NONE,
    GivenColumn,
    NotGiven,
    RuledColumns,
    alike_columns,
    conditionals_of,
    differences,
    given_by_tables,
    grouped,
    in_front,
    named_given,
    not_given,
)
from pyvws.mechanisms.counts.set_words import named_set
from pyvws.mechanisms.counts.skips import Skip, skips_of
from pyvws.tables.schema.schema import Schema

PAIRS: Final = "pairs"
PREDICTORS: Final = "predictors"
TRIPLES: Final = "triples"
MARGINS: Final = "margins"
AUTO: Final = "auto"
WORDS: Final = (PAIRS, PREDICTORS, TRIPLES, MARGINS, AUTO)
"""What `measure` may name beside sets. A number of records chooses what "auto" stands for."""

OF_ALL: Final = "records"
"""The set without columns, whose one cell has all records."""

MOST_CELLS: Final = 20_000_000
_AT_ONCE: Final = 1 << 16  # Records that are counted together, of codes that a cache holds.
_OF_ALIKE: Final = 0.3  # Of a share by cells: the prior of such a table is sparse.
_OF_DIFFERENCE: Final = 2.0  # No other set has the column.
_FAR_MORE: Final = 2.0  # Times the usual share: fits hold a pair of more nearer to its counts.
_TOGETHER: Final = {PAIRS: (2,), TRIPLES: (3, 2), MARGINS: (), AUTO: (3, 2)}

Counts = NDArray[np.int64]
Together = Callable[[Sequence[str]], bool]


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """What is counted of a table: public, and made of its schema and settings alone.

    - `columns`: The K columns, in their order.
    - `skips`: What rules fix a column at.
    - `given`: The columns that a table gives; classes give the others.
    - `cliques`: The Q sets, each with its columns and their groups.
    - `weights`: The sets' (Q,) shares of the budget, times those of their numbers of cells.
    - `offsets` (Q + 1,): Where the cells of each set begin among all cells C.
    - `possible` (C,): Whether the rules leave a cell possible. The others are not measured.
    - `too_large`: The pairs of columns that no set has, since they have more cells than a pair may
      have.
    """

    columns: Mapping[str, CountedColumn]
    skips: Mapping[str, Skip]
    given: Mapping[str, GivenColumn]
    cliques: tuple[Clique, ...]
    weights: tuple[float, ...]
    offsets: NDArray[np.int64]
    possible: NDArray[np.bool_]
    too_large: tuple[str, ...] = ()

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each set (Q,)."""
        return tuple(crossed.columns for crossed in self.cliques)

    @property
    def differences(self) -> list[Difference]:
        """The columns that are differences of others."""
        return [one for one in self.columns.values() if isinstance(one, Difference)]

    @property
    def bounded(self) -> dict[str, BoundedColumn]:
        """What is counted in the place of numbers that others bound, by the number's name."""
        bounded = (one for one in self.columns.values() if isinstance(one, BoundedColumn))
        return {one.later.name: one for one in bounded}

    def without(self, barred: Mapping[str, int]) -> Workload:
        """What is counted where some columns have one code less, which no rule speaks of."""
        none = Skip(clique(self.columns, ()), np.full(1, -1, dtype=np.int32))
        skips = {name: replace(none, barred=(code,)) for name, code in barred.items()}
        left = [possible_cells(crossed, self.columns, skips) for crossed in self.cliques]
        possible = self.possible & np.concatenate(left)
        return replace(self, skips=skips | {**self.skips}, possible=possible)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The numbers of cells (Q,) of the sets."""
        return np.diff(self.offsets)

    @property
    def possible_sizes(self) -> NDArray[np.int64]:
        """The numbers of possible cells (Q,) of the sets."""
        return np.add.reduceat(self.possible, self.offsets[:-1], dtype=np.int64)

    @property
    def weights_of_pairs(self) -> Floats:
        """The weights (K, K) of pairs of columns that have far more than usual, and of others 1."""
        place = {name: k for k, name in enumerate(self.columns)}
        found = np.ones((len(place), len(place)))
        for crossed, weight in zip(self.cliques, self.weights, strict=True):
            if crossed.is_pair:
                a, b = (place[name] for name in crossed.columns)
                found[a, b] = found[b, a] = weight if weight > _FAR_MORE else 1.0
        return found

    @property
    def names(self) -> list[str]:
        """The sets (Q,) in words: their columns' names and cuts, joined by a colon."""
        return [crossed.name for crossed in self.cliques]

    def labels(self, q: int) -> list[list[str]]:
        """The groups or codes in words of each column of set q."""
        crossed = self.cliques[q]
        return [(crossed.groups.get(name) or self.columns[name]).labels for name in crossed.columns]

    def reads(self, q: int) -> list[str]:
        """The columns of a table that set q is counted by."""
        of = [self.columns[name].reads for name in self.cliques[q].columns]
        return list(dict.fromkeys(one.name for one in chain.from_iterable(of)))

    def read(self, frame: Any) -> tuple[Codes, dict[str, Floats]]:
        """The codes (N, K) of a table's records, -1 for an unknown value, and values by column.

        The codes of a column that the frame lacks are -1.
        """
        there, columns = {*frame.columns}, self.columns.values()
        asked = {one.name: one for own in columns for one in own.reads} | {
            own.name: own for own in columns if not isinstance(own, OfTwo)
        }
        read = {name: column.read(frame) for name, column in asked.items() if name in there}
        codes = {name: own for name, (own, _) in read.items()}
        values = {name: own for name, (_, own) in read.items()}
        codes |= {
            own.name: own.codes_of(codes, values)
            for own in columns
            if isinstance(own, OfTwo) and {one.name for one in own.reads} <= there
        }
        none = np.full(len(frame), -1, dtype=np.int32)
        return np.column_stack([codes.get(name, none) for name in self.columns]), values

    def by_name(self, codes: Codes) -> dict[str, Codes]:
        """The codes (N,) of records (N, K) in each column."""
        return dict(zip(self.columns, codes.T, strict=True))

    def cells(self, codes: Codes, q: int) -> NDArray[np.int64]:
        """Each record's cell (N,) of set q among all cells C, -1 for none."""
        records = np.ascontiguousarray(codes, dtype=np.int32)
        return _cells(records, int(self.offsets[q]), -1, *self._steps(q))

    def counts(
        self, codes: Codes, sets: Iterable[int] | None = None, times: Counts | None = None
    ) -> Counts:
        """The counts (C,) of records (N, K) in all cells, or in those of some `sets`.

        Each row stands for `times` (N,) records, or for one.
        """
        counts = np.zeros(len(self.possible), dtype=np.int64)
        steps = {q: self._steps(q) for q in (range(len(self.sets)) if sets is None else sets)}
        for begin in range(0, len(codes), _AT_ONCE):
            rows = slice(begin, begin + _AT_ONCE)
            records = np.ascontiguousarray(codes[rows], dtype=np.int32)
            each = None if times is None else times[rows]
            for q, own in steps.items():
                low, high = self.offsets[q : q + 2]
                found = np.bincount(_cells(records, 1, 0, *own), each, minlength=1 + high - low)
                counts[low:high] += found[1:].astype(np.int64)
        return counts

    def _steps(self, q: int) -> tuple[Any, ...]:
        """Of set q: its columns' places and steps, where the steps begin, and possible cells."""
        crossed, place = self.cliques[q], {name: k for k, name in enumerate(self.columns)}
        steps = crossed.steps
        begins = np.cumsum([0, *map(len, steps)], dtype=np.int64)
        at = np.array([place[name] for name in crossed.columns], dtype=np.int64)
        possible = self.possible[slice(*self.offsets[q : q + 2])]
        return at, np.concatenate([begins[:0], *steps]), begins, possible


@kernel
def _cells(
    codes: Codes,
    low: int,
    none: int,
    at: NDArray[np.int64],
    steps: NDArray[np.int64],
    begins: NDArray[np.int64],
    possible: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """The cells (N,) of records, of which the first is `low`, and `none` for a record in none."""
    found = np.full(len(codes), none, dtype=np.int64)
    for i in range(len(codes)):
        cell = 0
        for k in range(len(at)):
            code = codes[i, at[k]]
            if code < 0:
                cell = -1
                break
            cell += steps[begins[k] + code]
        if cell >= 0 and possible[cell]:
            found[i] = low + cell
    return found


def workload(
    schema: Schema,
    measure: Sequence[str],
    tables: Sequence[str] = (),
    *,
    conditionals: bool = False,
    priced: Sequence[str] | None = None,
    together: Together = lambda _: True,
) -> Workload:
    """What is counted of a table with that schema, by the sets that `measure` names.

    A pair or triple of columns is a set where it has at most `MOST_OF_PAIR` cells; once sets have
    prices, it is one where its name is among the `priced` ones, however many cells it then has.
    Pairs that no triple holds are beside triples. "auto" stands for priced pairs and triples. Only
    columns that may stand `together` are such a set.

    `tables` names columns that others give, as c:a:b for c given a and b, or c by its own family.
    "alike" among them names the columns of `alike_columns`, whose tables or differences are sets
    too. With `conditionals` its predictors in the schema give each column, and no others do.
    Raises InputError for what cannot be counted, for two sets of one name, and for sets and tables
    of too many cells.
    """
    ruled = _whole(schema, tables, conditionals=conditionals)
    sets = _sets(schema, measure, ruled, priced, together)
    names = [OF_ALL, *(crossed.name for crossed in sets)]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError.by("sets-of-one-name", repeated=repeated[0])
    cells = sum(crossed.size for crossed in sets)
    if cells > MOST_CELLS:
        largest = max(sets, key=lambda crossed: crossed.size)
        raise InputError.by(
            "sets-too-many-cells", cells=cells, size=largest.size, largest=largest.name
        )
    allowed = {crossed: possible_cells(crossed, ruled.columns, ruled.skips) for crossed in sets}
    cliques = tuple(crossed for crossed, own in allowed.items() if own.any())
    offsets = np.cumsum([0, *(crossed.size for crossed in cliques)], dtype=np.int64)
    possible = np.concatenate([allowed[crossed] for crossed in cliques])
    weights = tuple(sets[crossed] for crossed in cliques)
    crossed = [{*own.columns} for own in cliques]
    paired = combinations(_paired(ruled), 2) if {PAIRS, TRIPLES} & {*measure} else ()
    asked = (x for x in paired if together(x))
    left_out = tuple(":".join(x) for x in asked if not any({*x} <= own for own in crossed))
    return Workload(
        *(ruled.columns, ruled.skips, ruled.given, cliques, weights, offsets, possible),
        too_large=left_out,
    )


def in_own_cells(
    schema: Schema, measure: Sequence[str], tables: Sequence[str], *, conditionals: bool
) -> set[str]:
    """The columns of `workload` that take no fine cells.

    Words cut them, or they are alike, or a family draws them within the cells of the schema.
    """
    ruled = _whole(schema, tables, conditionals=conditionals)
    drawn = {
        name
        for name, own in ruled.given.items()
        if own.family is not None and schema.columns[name].cuts is not None
    }
    words = [word for word in measure if word not in WORDS] + _own(tables)
    cuts = [named_set(word, ruled.columns).cuts for word in words]
    cut = {name for own in cuts for name, at in own.items() if at and at[0][:1] != EVENLY}
    return {*drawn, *cut, *ruled.alike, *chain.from_iterable(ruled.alike.values())}


def by_no_family(schema: Schema, tables: Sequence[str], *, conditionals: bool) -> NotGiven | None:
    """A column of `workload` that its own family cannot give."""
    return not_given(schema, _own(tables), _grouped(schema), conditionals=conditionals)


def _own(tables: Sequence[str]) -> list[str]:
    """The words that name columns."""
    return [word for word in tables if word not in (ALIKE, NONE)]


def _whole(schema: Schema, tables: Sequence[str], *, conditionals: bool) -> RuledColumns:
    """The columns with differences among them, what fixes and gives them, and which are alike."""
    ruled = _grouped(schema)
    columns, given = ruled.columns, dict(ruled.given)
    if conditionals:
        given = conditionals_of(schema, columns, given)
    given |= named_given(schema, _own(tables), columns, given)
    alike = alike_columns(schema, columns, given) if ALIKE in tables else {}
    apart = differences(alike, columns, given, ruled.skips)
    columns = in_front(columns, apart)
    given |= given_by_tables(alike, apart, columns)
    return RuledColumns(columns, ruled.skips, given, alike, apart)


def _grouped(schema: Schema) -> RuledColumns:
    columns = counted_columns(schema)
    return grouped(schema, columns, skips_of(schema, columns))


def _sets(
    schema: Schema,
    measure: Sequence[str],
    ruled: RuledColumns,
    priced: Sequence[str] | None,
    together: Together,
) -> dict[Clique, float]:
    """The sets, and the share of each times that of its number of cells."""
    columns, apart = ruled.columns, ruled.apart
    released = [name for name, one in columns.items() if not isinstance(one, Difference)]
    as_counted = counted_names(columns)
    own = [n for n, x in as_counted.items() if x in released and not schema.columns[n].is_computed]
    sets: dict[tuple[str, tuple[str, ...]], tuple[Clique, float]] = {}
    for name, others in ruled.alike.items():
        counted, share = {name, *others}, _OF_ALIKE
        if name in apart:
            counted, share = (
                counted - {name, apart[name].earlier.name} | {apart[name].name},
                _OF_DIFFERENCE,
            )
        crossed = clique(columns, counted)
        sets[crossed.name, crossed.columns] = crossed, share
    for word in measure:
        if word in _TOGETHER:
            found = _together(ruled, _TOGETHER[word], priced, together)
            asked = [(crossed, 1.0) for crossed in found]
        elif word == PREDICTORS:
            wanted = [(n, *schema.predictors_of(n)) for n in own]
            counted_by = [{as_counted[x] for x in names if x in as_counted} for names in wanted]
            asked = [(clique(columns, names), 1.0) for names in counted_by]
        else:
            named = named_set(word, columns)
            groups = {n: grouping(columns[n], at) for n, at in named.cuts.items() if at}
            asked = [(clique(columns, named.cuts, groups), named.share)]
        for crossed, share in asked:
            key = crossed.name, crossed.columns
            sets[key] = (crossed, max(share, sets.get(key, (crossed, share))[1]))
    whole = {n for crossed, _ in sets.values() for n in crossed.columns if n not in crossed.groups}
    alone = [clique(columns, {name}) for name in columns if name not in whole]
    every = {**dict(sets.values()), **dict.fromkeys(alone, 1.0)}
    if priced is None:
        return every
    place = {name: q for q, name in enumerate(priced)}
    return dict(sorted(every.items(), key=lambda one: place.get(one[0].name, len(place))))


def _together(
    ruled: RuledColumns, orders: Sequence[int], priced: Collection[str] | None, together: Together
) -> list[Clique]:
    """The sets of so many columns each: the largest, then those that none of them has."""
    found: list[Clique] = []
    for order in orders:
        larger = [{*crossed.columns} for crossed in found]
        for names in filter(together, combinations(_paired(ruled), order)):
            crossed = clique(ruled.columns, names)
            if priced is not None:
                is_set = crossed.name in priced
            else:
                is_set = crossed.size <= MOST_OF_PAIR and not any({*names} <= x for x in larger)
            if is_set:
                found.append(crossed)
    return found


def _paired(ruled: RuledColumns) -> list[str]:
    """The columns that are in pairs: one of many levels is in none where its group is counted."""
    many = {name for name, one in ruled.columns.items() if one.size > MOST_LEVELS}
    by_group = {name for name, own in ruled.given.items() if own.redrawn} & many
    released = (n for n, one in ruled.columns.items() if not isinstance(one, Difference))
    return [name for name in released if name not in by_group]


def possible_cells(
    crossed: Clique, columns: Mapping[str, CountedColumn], skips: Mapping[str, Skip]
) -> NDArray[np.bool_]:
    """Whether the cells (C_q,) of a set keep the rules that its columns alone decide.

    A cell of groups is possible where a combination of their codes is.
    """
    fine = clique(columns, crossed.columns)
    among = {*crossed.columns}
    ruled = {n: skip for n, skip in skips.items() if {n, *skip.rows.columns} <= among}
    if not ruled or fine.size > MOST_CELLS:
        return np.ones(crossed.size, dtype=np.bool_)
    codes = {name: own.astype(np.int32) for name, own in fine.codes.items()}
    kept = np.ones(fine.size, dtype=np.bool_)
    for name, skip in ruled.items():
        kept &= skip.keeps(codes, codes[name])
    possible = np.zeros(crossed.size, dtype=np.bool_)
    possible[crossed.cells({name: own[kept] for name, own in codes.items()})] = True
    return possible


def usual_shares(table: Workload, *, pure: bool) -> Floats:
    """Shares (Q,) of the budget by the sizes of the tables: cells^power, times the sets' weights.

    The power that loses least is near 2/3 for Gaussian noise. For Laplace noise it is 1/2 where
    each column is in one set, and lies between 1/2 and 3/4 elsewhere, so 0.6. A column of many
    levels is in one set alone, whose cells count as often as an average column is in sets.
    """
    often = sum(map(len, table.sets)) / len(table.columns)
    power = 2.0 / 3.0 if not pure else 0.6 if often > 1.0 else 0.5
    shares = np.asarray(np.maximum(table.possible_sizes, 1) ** power, dtype=np.float64)
    own = [len(s) == 1 and table.columns[s[0]].size > MOST_LEVELS for s in table.sets]
    shares[own] *= max(1.0, often) ** power
    return shares * np.asarray(table.weights)
