"""Published totals that a release meets: public sums over the cells of some sets of columns.

A file of totals has a column `total`, and a column for each column of the table that some total is
by. The set of a row is the columns where it has a level, so several sets stand in one file. A
number stands for the public cell that holds it. Totals are constants of the run: they come from no
record, so they cost nothing and are the same for all neighbours.

With T the sum of all totals, n rows of a dataset stand for T / n each. Noisy counts that share
columns with totals move to them by least squares: each cell by an equal part of what its margin
lacks. Records then move between cells until each cell has its total in whole rows. Sets that share
columns must have an order in which a set shares with one set before it all that it shares with any,
such as a:b, b:c. Then a set is met within the cells of the shared columns, and earlier ones stay.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.mechanisms.counts.cliques import Clique, clique
from pyvws.mechanisms.counts.coding import Codes, CountedColumn
from pyvws.mechanisms.counts.workload import Counts, Workload, possible_cells
from pyvws.tables.files.kinds import distinct
from pyvws.tables.files.labels import as_digit, as_number
from pyvws.tables.files.public import PublicTable
from pyvws.tables.schema.schema import Schema

if TYPE_CHECKING:
    import narwhals as nw

TOTAL: Final = "total"
"""The column of a file of totals that has them."""

_MOST: Final = 100_000  # Cells of a set.
_ALIKE: Final = 1e-6  # Of all: sums that are so near agree.
_OF_TABLE: Final = 1e-3  # Of all: a table's own sums are so near where they may be the totals.
_PASSES: Final = 20  # Over all sets of noisy counts and totals.
_TRIES: Final = 20  # Donors for a record that moves.


@dataclass(frozen=True, slots=True, eq=False)
class TotalsOfSet:
    """The published totals (C,) of all combinations of a set's columns, in units of the totals."""

    crossed: Clique
    totals: Floats

    def margin(self, shared: Clique, totals: Floats | Counts | None = None) -> Floats:
        """The sums of totals, or of others (C,), over the cells of a set of some of its columns."""
        own = self.totals if totals is None else totals
        return _sums(self.places(shared), own, shared.size)

    def places(self, shared: Clique) -> NDArray[np.int64]:
        """The cell of such a set that each combination (C,) lies in."""
        codes = {name: own.astype(np.int32) for name, own in self.crossed.codes.items()}
        return shared.cells(codes) if codes else np.zeros(1, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class PublishedTotals:
    """Totals of one or several sets, in an order in which records can meet one after another.

    - `columns`: The counted columns of the table.
    - `sets`: The sets, each with its totals.
    - `file`: Name of the file; "frame" for a table in memory.
    """

    columns: Mapping[str, CountedColumn]
    sets: tuple[TotalsOfSet, ...]
    file: str

    @classmethod
    def read(cls, table: PublicTable, counted: Workload, schema: Schema) -> PublishedTotals:
        """The totals of a public table; InputError for any that no release could meet.

        Without survey weights in the `schema` they are numbers of records.
        """
        frame, name = table.rows, table.file
        others = [column for column in frame.columns if column != TOTAL]
        if len(others) == len(frame.columns) or not len(frame):
            raise InputError.by("totals-columns", file=name)
        codes = {column: _codes(frame[column], counted, schema, name) for column in others}
        totals = _numbers(frame[TOTAL], name)
        if schema.weighing is None and (totals != np.rint(totals)).any():
            raise InputError.by("totals-whole", file=name)
        rows: dict[tuple[str, ...], list[int]] = {}
        among = [column for column in counted.columns if column in codes]
        for row in range(len(totals)):
            own = tuple(column for column in among if codes[column][row] >= 0)
            rows.setdefault(own, []).append(row)
        found = []
        for own, at in rows.items():
            crossed = clique(counted.columns, own)
            if crossed.size > _MOST:
                raise InputError.by("totals-too-many", file=name, of=_named(crossed), most=_MOST)
            by_name = {column: codes[column][at] for column in own}
            cells = crossed.cells(by_name) if own else np.zeros(len(at), dtype=np.int64)
            found.append(_of_set(crossed, cells, totals[at], counted, name))
        made = cls(counted.columns, tuple(found), name)
        made.refuse_contradictions()
        return made.in_turn()

    @classmethod
    def stated(cls, said: Mapping[str, Any], counted: Workload) -> PublishedTotals:
        """The totals that a statement has, as `figures` gives them."""
        sets = [
            TotalsOfSet(clique(counted.columns, own["columns"]), np.array(own["totals"]))
            for own in said["sets"]
        ]
        return cls(counted.columns, tuple(sets), said["file"])

    @property
    def population(self) -> float:
        """T, the sum of all totals."""
        return float(self.sets[0].totals.sum())

    @property
    def digest(self) -> str:
        """SHA-256 of the sets and their totals, in the order of `sets`."""
        parts = [f"{own.crossed.name}:{own.totals.tolist()}" for own in self.sets]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def figures(self) -> dict[str, Any]:
        """The totals for a statement, by set in the order of its cells."""
        sets = [
            {"columns": list(own.crossed.columns), "totals": own.totals.tolist()}
            for own in self.sets
        ]
        return {"file": self.file, "digest": self.digest, "sets": sets}

    def refuse_contradictions(self) -> None:
        """Raise InputError for totals that are all 0, and sets that disagree where they share."""
        if not self.sets[0].totals.sum() > 0.0:
            raise InputError.by("totals-nothing", file=self.file)
        for first, second in combinations(self.sets, 2):
            both = {*first.crossed.columns} & {*second.crossed.columns}
            shared = clique(self.columns, both)
            gaps = np.abs(first.margin(shared) - second.margin(shared))
            if gaps.max() > _ALIKE * self.population:
                at = _label(shared, int(gaps.argmax()), self.columns)
                one, other = _named(first.crossed), _named(second.crossed)
                raise InputError.by("totals-disagree", file=self.file, at=at, one=one, other=other)

    def in_turn(self) -> PublishedTotals:
        """The sets that no other has in it, each after those that it shares most columns with."""
        columns = [{*own.crossed.columns} for own in self.sets]
        left = [
            own
            for own, names in zip(self.sets, columns, strict=True)
            if not any(names < other for other in columns)
        ]
        ordered: list[TotalsOfSet] = []
        seen: set[str] = set()
        while left:
            nearest = max(left, key=lambda own: len(seen & {*own.crossed.columns}))
            shared = seen & {*nearest.crossed.columns}
            if shared and not any(shared <= {*own.crossed.columns} for own in ordered):
                raise InputError.by("totals-ring", file=self.file, of=_named(nearest.crossed))
            left.remove(nearest)
            ordered.append(nearest)
            seen |= {*nearest.crossed.columns}
        return PublishedTotals(self.columns, tuple(ordered), self.file)

    def _shared(self, place: int) -> tuple[Clique, TotalsOfSet | None]:
        """The columns that a set shares with those before it, and one of these that has them."""
        before, names = self.sets[:place], {*self.sets[place].crossed.columns}
        shared = clique(self.columns, names & {n for x in before for n in x.crossed.columns})
        having = (own for own in before if {*shared.columns} <= {*own.crossed.columns})
        return shared, next(having, None)

    def rows(self, n: int) -> list[Counts]:
        """The whole rows (C,) of each set's cells among n, which agree on shared columns."""
        found: list[Counts] = []
        for place, own in enumerate(self.sets):
            shared, before = self._shared(place)
            groups, number = own.places(shared), np.array([float(n)])
            if before is not None:
                number = before.margin(shared, found[self.sets.index(before)])
            parts = own.totals * (number / np.maximum(own.margin(shared), 1e-300))[groups]
            order = np.argsort(groups, kind="stable")
            ends = np.rint(np.cumsum(parts[order]))  # Groups end at whole numbers.
            whole = np.empty(len(parts), dtype=np.int64)
            whole[order] = np.diff(np.append(0.0, ends)).astype(np.int64)
            found.append(whole)
        return found

    def moved(self, table: Workload, counts: Counts, n: int) -> Counts:
        """Noisy counts (C,) of n rows, moved to the totals of the columns that they share."""
        found, steps = counts.astype(np.float64), []
        for crossed, (low, high) in zip(table.cliques, pairwise(table.offsets), strict=True):
            at = low + np.flatnonzero(table.possible[low:high])
            codes = crossed.codes
            for own in self.sets:
                names = {*own.crossed.columns} & {*crossed.columns}
                if names:
                    groups = {name: x for name, x in crossed.groups.items() if name in names}
                    shared = clique(table.columns, names, groups)
                    each = [codes[name][at - low] for name in shared.columns]
                    places = np.ravel_multi_index(each, shared.sizes)
                    wanted = own.margin(shared) * (n / self.population)
                    number = np.bincount(places, minlength=shared.size)
                    steps.append((at, places, wanted, np.maximum(number, 1)))
        for _ in range(_PASSES):
            for at, places, wanted, number in steps:
                lacking = wanted - np.bincount(places, found[at], minlength=len(wanted))
                found[at] += (lacking / number)[places]
        return np.rint(found).astype(np.int64)

    def met(
        self, codes: Codes, table: Workload, rng: np.random.Generator
    ) -> tuple[Codes, NDArray[np.intp]]:
        """Records (n, K) that meet the totals, and which of the given ones (n,) each comes from.

        A record that leaves a cell with too many becomes a copy of one of a cell with too few, but
        for columns of earlier sets and what rules fix. One that would break a rule stays, so that a
        total may be missed.
        """
        x, source, kept = codes.copy(), np.arange(len(codes)), dict.fromkeys("")
        for place, (own, wanted) in enumerate(zip(self.sets, self.rows(len(codes)), strict=True)):
            if not own.crossed.columns:
                continue
            cells = own.crossed.cells(table.by_name(x))
            number = np.bincount(cells, minlength=own.crossed.size)
            order = rng.permutation(len(x))
            order = order[np.argsort(cells[order], kind="stable")]
            start = np.cumsum(number) - number
            rank = np.arange(len(x)) - start[cells[order]]
            leaving = rng.permutation(order[rank < (number - wanted)[cells[order]]])
            into = np.repeat(np.arange(len(number)), np.maximum(wanted - number, 0))
            groups = own.places(self._shared(place)[0])
            leaving, into = _paired(leaving, groups[cells[leaving]], into, groups[into])
            held = [k for k, name in enumerate(table.columns) if name in kept]
            own_codes = own.crossed.codes
            for _ in range(_TRIES):
                there = number[into] > 0  # Else any record gives the other columns.
                first = np.where(there, start[into], 0)
                donors = order[first + rng.integers(0, np.where(there, number[into], len(x)))]
                made = x[donors]
                made[:, held] = x[leaving][:, held]
                for k, name in enumerate(table.columns):
                    if name in own_codes:
                        made[:, k] = own_codes[name][into]
                fits = np.ones(len(made), dtype=np.bool_)
                for k, name in enumerate(table.columns):
                    if (skip := table.skips.get(name)) is not None:
                        by_name = table.by_name(made)
                        forced = skip.of(by_name)
                        if name not in own_codes and k not in held:
                            made[:, k] = np.where(forced < 0, made[:, k], forced)
                        fits &= skip.keeps(by_name, made[:, k])
                x[leaving[fits]], source[leaving[fits]] = made[fits], source[donors[fits]]
                leaving, into = leaving[~fits], into[~fits]
            kept |= dict.fromkeys(own.crossed.columns)
        return x, source

    def apart(self, codes: Codes, table: Workload) -> float:
        """How many rows a cell of records (n, K) is from its total, at most."""
        by_name, n = table.by_name(codes), len(codes)
        gaps = [0.0]
        for own in self.sets:
            if own.crossed.columns and n:
                rows = np.bincount(own.crossed.cells(by_name), minlength=own.crossed.size)
                gaps.append(float(np.abs(rows - own.totals * (n / self.population)).max()))
        return max(gaps)


def _sums(cells: NDArray[np.int64], each: Floats | Counts, size: int) -> Floats:
    return np.bincount(cells, each, minlength=size).astype(np.float64)


def _named(crossed: Clique) -> str:
    return crossed.name or "all"


def _label(crossed: Clique, cell: int, columns: Mapping[str, CountedColumn]) -> str:
    """A cell in words."""
    codes = np.unravel_index(cell, crossed.sizes) if crossed.sizes else ()
    words = [
        f"{name} {columns[name].labels[code]}"
        for name, code in zip(crossed.columns, codes, strict=True)
    ]
    return ", ".join(words) or "all"


def _codes(column: nw.Series[Any], counted: Workload, schema: Schema, file: str) -> Codes:
    """The codes (R,) of the rows in a column of levels or of public cells; -1 of an empty cell."""
    name, own = column.name, counted.columns.get(column.name)
    if type(own) is not CountedColumn or name in counted.given:
        raise InputError.by("totals-column", file=file, name=name)
    if not own.column.categorical and schema.columns[name].cuts is None:
        raise InputError.by("totals-number", file=file, name=name)
    places, labels = distinct(column, any_cell=True)
    codes = own.coded(labels)[0]
    for code, label in zip(codes.tolist(), labels, strict=True):
        if code < 0 and label:
            raise InputError.by("totals-level", file=file, name=name, label=label)
    known = np.array([code if label else -1 for code, label in zip(codes, labels, strict=True)])
    return np.append(known, -1).astype(np.int32)[places]


def _numbers(column: nw.Series[Any], file: str) -> Floats:
    places, labels = distinct(column, any_cell=True)
    found = [as_number(as_digit(label)) for label in labels]
    numbers = np.array([*(np.nan if x is None else x for x in found), np.nan])[places]
    bad = np.flatnonzero(~(numbers >= 0.0))
    if len(bad):
        raise InputError.by("totals-value", file=file, row=int(bad[0]) + 1)
    return np.asarray(numbers)


def _of_set(
    crossed: Clique, cells: NDArray[np.int64], totals: Floats, counted: Workload, file: str
) -> TotalsOfSet:
    """The totals of a set; InputError for a cell twice, for one without, and for a barred one."""
    number = np.bincount(cells, minlength=crossed.size)
    given = _sums(cells, totals, crossed.size)
    possible = possible_cells(crossed, counted.columns, counted.skips)
    needed = possible.copy()
    for name, codes in crossed.codes.items():
        own = counted.columns[name]
        missing = [own.parts.index(code) for code in own.column.missing_codes]
        needed &= ~np.isin(codes, missing)

    def first(wrong: NDArray[np.bool_]) -> str:
        return _label(crossed, int(wrong.argmax()), counted.columns)

    if (twice := number > 1).any():
        raise InputError.by("totals-twice", file=file, at=first(twice))
    if (lacking := needed & (number == 0)).any():
        raise InputError.by("totals-lack", file=file, at=first(lacking))
    if (barred := ~possible & (given > 0.0)).any():
        raise InputError.by("totals-barred", file=file, at=first(barred))
    return TotalsOfSet(crossed, given)


def _paired(
    leaving: NDArray[np.intp],
    of_leaving: NDArray[np.int64],
    into: NDArray[np.intp],
    of_into: NDArray[np.int64],
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """As many records that leave as cells that they go to, group by group."""
    size = 1 + max(int(own.max(initial=0)) for own in (of_leaving, of_into))
    pairs = np.minimum(*(np.bincount(x, minlength=size) for x in (of_leaving, of_into)))
    found = []
    for own, groups in ((leaving, of_leaving), (into, of_into)):
        order = np.argsort(groups, kind="stable")
        rank = np.arange(len(own)) - np.searchsorted(groups[order], groups[order])
        found.append(own[order][rank < pairs[groups[order]]])
    return found[0], found[1]


def are_sums_of(totals: PublishedTotals, by_name: Mapping[str, Codes], each: Floats) -> bool:
    """Whether the totals are nearly the sums of records that count as `each` (N,).

    `by_name` has their codes (N,) by column, -1 of an unknown value.
    """
    apart = 0.0
    for own in totals.sets:
        known = np.ones(len(each), dtype=np.bool_)
        for name in own.crossed.columns:
            known &= by_name[name] >= 0
        cells = own.crossed.cells(by_name)[known]
        sums = _sums(cells, each[known], own.crossed.size)
        apart = max(apart, float(np.abs(own.totals - sums).max()))
    return apart <= _OF_TABLE * totals.population
