"""Units as one record of slots each: the columns of a unit once, those of its members by slot.

A schema with `members` becomes a wide one, whose records are units: member 1, member 2 and so on up
to the largest public size. A slot is the member's place among the rows of its unit, or what a
column such as a wave says. An empty slot is a level of each of its columns, and the size says which
slots are empty. What a unit's slots hold follows from its own rows alone, so that neighbours which
differ by one unit differ by one wide record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Bools, Floats, Places, Values
from pyvws.errors import InputError
from pyvws.tables.files.kinds import distinct
from pyvws.tables.files.labels import meant
from pyvws.tables.schema.category import part_label
from pyvws.tables.schema.column import Column, part_of
from pyvws.tables.schema.members import Members, places_in
from pyvws.tables.schema.parts import Finish, computed_values
from pyvws.tables.schema.rules import Fixed
from pyvws.tables.schema.schema import Schema

_MOST_SLOTS_WITH_GAPS: Final = 8  # Of which any may be empty: the size has 2^8 - 1 levels.
_CANDIDATES: Final = 1000  # Units that may take the place of an impossible one.
_WORD: Final = re.compile(r"""'[^']*'|"[^"]*"|`[^`]+`|[^\W\d]\w*(?:\.\w+)*""")
_WHERE: Final = re.compile(r"\s+(?:only\s+)?where\s+")


@dataclass(frozen=True, eq=False)
class Slots:
    """The wide schema of a schema with members, and the way there and back.

    - `schema`: What is public of the members, whose records a table and a dataset have.
    """

    schema: Schema

    @cached_property
    def of(self) -> Members:
        """What is public of units."""
        assert self.schema.members is not None
        return self.schema.members

    @property
    def number(self) -> int:
        """The number of slots, S."""
        return self.of.sizes[1]

    @cached_property
    def by_member(self) -> tuple[str, ...]:
        """The columns that are counted in each slot: those that nothing computes."""
        once = {*self.schema.of_unit, *self.schema.computed, self.of.slot}
        return tuple(name for name in self.schema.synthesized if name not in once)

    def name(self, column: str, slot: int) -> str:
        """The wide column of a member's column in a slot, from 0, such as age_1."""
        return f"{column}_{slot + 1}"

    @cached_property
    def place(self) -> dict[str, tuple[str, int]]:
        """The column and the slot, from 0, of each wide column of a slot."""
        return {self.name(x, k): (x, k) for k in range(self.number) for x in self.by_member}

    @cached_property
    def present(self) -> Bools:
        """Which slots (L, S) each level of the wide size has.

        Without a column of slots a unit of size s has the first s of them.
        """
        low, high = self.of.sizes
        if self.of.slot is None:
            return np.tri(high, dtype=np.bool_)[low - 1 :]
        every = np.array([*product([True, False], repeat=high)], dtype=np.bool_)
        return every[every.sum(axis=1) >= low]

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        """The levels (L,) of the wide size: sizes, or the slots that there are."""
        if self.of.slot is None:
            return tuple(map(str, self.present.sum(axis=1)))
        return tuple("+".join(self._slots[k] for k in np.flatnonzero(x)) for x in self.present)

    @cached_property
    def _slots(self) -> tuple[str, ...]:
        """The labels (S,) of the column of slots; InputError where it cannot say them."""
        slot, columns = self.of.slot or "", self.schema.columns
        if slot not in self.schema.synthesized or slot in self.schema.of_unit:
            raise InputError.by("slot-unknown-column", name=slot)
        levels = columns[slot].coded_levels
        if len(levels) != self.number or None in levels or columns[slot].missing_codes:
            raise InputError.by("slot-levels", name=slot, slots=self.number)
        if self.number > _MOST_SLOTS_WITH_GAPS:
            raise InputError.by("slot-too-many", name=slot, most=_MOST_SLOTS_WITH_GAPS)
        return tuple(str(level) for level in levels)

    @cached_property
    def wide(self) -> Schema:
        """The schema whose records are units.

        InputError for a rule of members that reads what no slot has.
        """
        own = self.schema.columns
        columns = {
            self.of.size: Column(model="table", levels=self._labels, predictors=()),
            **{name: own[name] for name in self.schema.of_unit if name != self.of.size},
        }
        for name, (column, slot) in self.place.items():
            if name in own or name in columns:
                raise InputError.by("slot-name-taken", name=name)
            columns[name] = self._column(column, slot)
        return Schema(columns, records=self.schema.records, reviewed=self.schema.reviewed)

    def _column(self, name: str, slot: int) -> Column:
        """A member's column in a slot: with a level for an empty slot, and its rules."""
        column, words = self.schema.columns[name], self._words(name)
        codes, rules = [words[code] for code in column.missing_codes], []
        there = self.present[:, slot]
        if not there.all():
            codes.append(self.empty(name))
            rules.append(f"'{self.empty(name)}' only where {self._size_among(~there)}")
            rules += [f"{x} and {self._size_among(there)}" for x in self._rules(name, slot)]
        else:
            rules = self._rules(name, slot)
        of_levels: Any = {"model": "table", "cuts": None, "group_by": None, "settings": {}}
        return replace(
            column,
            **(of_levels if column.categorical else {}),
            missing=tuple(codes) or None,
            rule=tuple(rules) or None,
            predictors=self._predictors(name, slot),
            formula=None,
            part=None,
            review=(),
        )

    def _size_among(self, levels: Bools) -> str:
        """The condition that the wide size is among some of its levels (L,)."""
        listed = [repr(x) for x, own in zip(self._labels, levels, strict=True) if own]
        return f"`{self.of.size}` in [{', '.join(listed)}]"

    def empty(self, name: str) -> str:
        """The level of a column in an empty slot."""
        return _free("no member", self.schema.columns[name])

    def _words(self, name: str) -> dict[str | None, str]:
        """The word of each code that says missing; an empty cell has one in slots too."""
        column = self.schema.columns[name]
        return {x: _free("blank", column) if x is None else x for x in column.missing_codes}

    def _rules(self, name: str, slot: int) -> list[str]:
        """The rules of a member's column as a slot has them: of its own columns, in brackets."""
        column, words = self.schema.columns[name], self._words(name)
        given = column.rule or ()
        texts, rules = (given,) if isinstance(given, str) else given, []
        for text, rule in zip(texts, column.rules, strict=True):
            before, *where = _WHERE.split(text, maxsplit=1)
            if not where or {*rule.columns} & {*self.schema.derived}:
                raise InputError.by("slot-rule", name=name, rule=text)
            if isinstance(rule, Fixed) and rule.value is None:
                if rule.only and len(column.missing_codes) > 1:
                    raise InputError.by("slot-rule", name=name, rule=text)
                before = f"'{words[column.missing_codes[0]]}'"
            only = "only " * (isinstance(rule, Fixed) and rule.only)
            rules.append(f"{before} {only}where ({self._in_slot(where[0], slot)})")
        return rules

    def _in_slot(self, condition: str, slot: int) -> str:
        """A condition with the members' columns by slot."""

        def named(found: re.Match[str]) -> str:
            plain = found[0].strip("`")
            return f"`{self.name(plain, slot)}`" if plain in self.by_member else found[0]

        return _WORD.sub(named, condition)

    def _predictors(self, name: str, slot: int) -> tuple[str, ...] | None:
        """The predictors of a wide column; "last x" is x of the slot before, and no count is."""
        if self.schema.columns[name].predictors is None:
            return None
        found, summaries = [], self.of.read
        for wanted in self.schema.predictors_of(name):
            before = summaries[wanted].column if wanted in summaries else None
            if before in self.by_member and slot:
                found.append(self.name(before, slot - 1))
            elif wanted in self.by_member:
                found.append(self.name(wanted, slot))
            elif wanted in self.schema.of_unit:
                found.append(wanted)
        return tuple(dict.fromkeys(found))

    def together(self, names: Sequence[str]) -> bool:
        """Whether wide columns may be in one set that a word such as pairs asks for.

        They are of one slot and the unit, or of two slots: neighbours, or the first and another
        where no column says the slots.
        """
        slots = sorted({self.place[name][1] for name in names if name in self.place})
        near = len(slots) < 2 or slots[1] - slots[0] == 1 or (self.of.slot is None and not slots[0])
        return len(slots) < 3 and near

    def in_slots(self, words: Sequence[str]) -> tuple[str, ...]:
        """Sets in words, such as age:sex, once for each slot where they name members' columns."""
        found = []
        for word in words:
            sets, _, share = word.partition("*")
            parts = [part.partition("/") for part in sets.split(":")]
            if not any(name in self.by_member for name, _, _ in parts):
                found.append(word)
                continue
            for slot in range(self.number):
                own = [
                    f"{self.name(name, slot) if name in self.by_member else name}{cut}{cuts}"
                    for name, cut, cuts in parts
                ]
                found.append(":".join(own) + (f"*{share}" if share else ""))
        return tuple(dict.fromkeys(found))

    def widened(
        self, frame: nw.DataFrame[Any], units: Places
    ) -> tuple[nw.DataFrame[Any], WideRows]:
        """The wide records (H,) of a table, as text, and which rows (N,) they come from.

        `units` (N,) are 0 to H - 1. Of rows in one slot the first counts, and a unit's own columns
        are its first row's.
        """
        rows = self._rows_in_slots(frame, units)
        first = np.full(len(rows), -1, dtype=np.intp)
        first[units[::-1]] = np.arange(len(units))[::-1]
        columns: dict[str, list[str | None]] = {}
        differ = {}
        for name in self.schema.of_unit:
            if name == self.of.size:
                continue
            places, labels = distinct(frame[name], any_cell=True)
            columns[name] = _taken([*labels, None], places[first])
            other = np.zeros(len(rows), dtype=np.bool_)
            other[units[places != places[first][units]]] = True
            differ[name] = int(other.sum())
        for name in self.by_member:
            places, labels = distinct(frame[name], any_cell=True)
            spelled = [*labels, self._words(name).get(None), self.empty(name)]
            for slot in range(self.number):
                own = rows[:, slot]
                cells = np.where(places[own] < 0, len(labels), places[own])
                columns[self.name(name, slot)] = _taken(
                    spelled, np.where(own < 0, len(labels) + 1, cells)
                )
        weights = 1 << np.arange(self.number)
        level = {int(x @ weights): own for x, own in zip(self.present, self._labels, strict=True)}
        columns[self.of.size] = [level.get(code) for code in ((rows >= 0) @ weights).tolist()]
        kinds = dict.fromkeys(columns, nw.String)
        made = nw.from_dict(columns, kinds, backend=frame.implementation)
        return made, WideRows(len(rows), len(units) - int((rows >= 0).sum()), differ)

    def _rows_in_slots(self, frame: nw.DataFrame[Any], units: Places) -> Places:
        """The row of each unit in each slot (H, S), -1 of an empty one."""
        if self.of.slot is None:
            slots = places_in(units)
        else:
            places, labels = distinct(frame[self.of.slot], any_cell=True)
            at = {meant(label): k for k, label in enumerate(self._slots)}
            slots = np.array([*(at.get(meant(x), -1) for x in labels), -1])[places]
        rows = np.full((int(units.max()) + 1 if len(units) else 0, self.number), -1, dtype=np.intp)
        kept = np.flatnonzero((slots >= 0) & (slots < self.number))[::-1]  # The first row last.
        rows[units[kept], slots[kept]] = kept
        return rows

    def mean_size(self, codes: NDArray[np.int32]) -> float:
        """The mean number of members of synthetic units, whose codes (M, K) begin with the size."""
        return float(self.present.sum(axis=1)[codes[:, 0]].mean()) if len(codes) else 1.0

    def members_of(
        self, steps: Iterable[dict[str, Floats]], rng: np.random.Generator
    ) -> Iterator[dict[str, Floats]]:
        """The values of the members of units, of so many units at a time."""
        first = 1
        for values in steps:
            yield self.members(values, rng, first)
            first += len(values[self.of.size])

    def members(
        self, values: Values, rng: np.random.Generator, first: int = 1
    ) -> dict[str, Floats]:
        """The values (n,) of members by column, of M synthetic units (M,) that `first` numbers.

        A unit with a member that the schema calls impossible, or with a computed number beyond its
        range, takes the values of another one of its size: the most alike of some by chance.
        """
        made, units = self._apart(values)
        broken = self.of.breaking(made, self.schema.columns)
        for name in self.schema.synthesized:
            if name in self.schema.computed and name != self.of.size:
                broken |= Finish(name, self.schema).broken(made)
        bad = np.zeros(len(values[self.of.size]), dtype=np.bool_)
        bad[units[broken]] = True
        if bad.any():
            source = self._sources(values, bad, rng)
            made, units = self._apart({name: own[source] for name, own in values.items()})
        ids: dict[str, Any] = {x: units + first for x in self.schema.ids if x == self.schema.unit}
        return made | ids

    def _sources(self, values: Values, bad: Bools, rng: np.random.Generator) -> Places:
        """Each unit's source (M,): itself, or of a `bad` one another one of its size.

        It is the most similar of some by chance: by Gower's coefficient, where a category is alike
        or not, and of a number the distance counts as a part of its range. Categories that make
        units impossible count more than all else, so that units keep who their members are.
        """
        if bad.all():
            raise InputError.by("units-all-impossible")
        columns = self.wide.columns.items()
        categories = [name for name, x in columns if x.categorical]
        codes = np.column_stack([values[name] for name in categories])
        read = {name for condition in self.of.conditions for name in condition.columns}
        decides = np.array([self.place.get(name, (name,))[0] in read for name in categories])
        worth = np.where(decides, len(self.wide.columns), 1.0)
        scaled = [values[name] / np.ptp(x.range) for name, x in columns if x.range]
        numbers = np.column_stack(scaled or [np.zeros(len(bad))])
        source, sizes = np.arange(len(bad)), values[self.of.size]
        for size in np.unique(sizes[bad]):
            others = np.flatnonzero(~bad & (sizes == size))
            others = others if len(others) else np.flatnonzero(~bad)
            for unit in np.flatnonzero(bad & (sizes == size)):
                some = rng.choice(others, _CANDIDATES)
                near = np.nan_to_num(1.0 - np.abs(numbers[some] - numbers[unit]))
                similar = (codes[some] == codes[unit]) @ worth + near.sum(axis=1)
                source[unit] = some[similar.argmax()]
        return source

    def _apart(self, values: Values) -> tuple[dict[str, Floats], Places]:
        """The values (n,) of the members of units (M,), and each one's unit from 0."""
        there = self.present[values[self.of.size].astype(np.intp) - 1]
        units, slots = np.nonzero(there)
        made: dict[str, Floats] = {}
        for name in self.schema.of_unit:
            for variable in (name, part_of(name)):
                if name != self.of.size and variable in values:
                    made[variable] = values[variable][units]
        for name in self.by_member:
            column = self.schema.columns[name]
            wide = [self.name(name, slot) for slot in range(self.number)]
            numbers = np.column_stack([values[own] for own in wide])[there]
            codes = self._codes(name, slots)
            if column.categorical:
                made[name] = codes[slots, numbers.astype(np.intp) - 1]
                continue
            made[name] = numbers
            if column.parts:
                ones = np.ones(len(there))
                parts = np.column_stack([values.get(part_of(own), ones) for own in wide])[there]
                made[part_of(name)] = codes[slots, parts.astype(np.intp) - 1]
        if self.of.slot is not None:
            made[self.of.slot] = slots.astype(np.float64) + 1.0
        made |= self.of.summarized(made, units, self.schema.columns)
        for name in self.schema.synthesized:
            if name not in made:
                made |= computed_values(self.schema, name, made)
        return made, units

    def _codes(self, name: str, slots: Places) -> Floats:
        """The code of a member's column for each code of the wide ones, (S, L); 1 for none."""
        column, words = self.schema.columns[name], self._words(name)
        own = column.coded_levels if column.categorical else column.parts
        spelled = [words.get(x, x) for x in own]
        if not column.categorical:  # The first part is that there is a value.
            codes = [part_label(words[code]) for code in column.missing_codes]
            spelled = [*own[: len(own) - len(codes)], *codes]
        code = {label: place + 1.0 for place, label in enumerate(spelled)}
        wide = [self.wide.columns[self.name(name, slot)] for slot in range(self.number)]
        levels = [x.coded_levels if x.categorical else x.parts for x in wide]
        found = np.ones((self.number, max(map(len, levels), default=1) or 1))
        for slot, labels in enumerate(levels):
            found[slot, : len(labels)] = [code.get(label or "", 1.0) for label in labels]
        return found


@dataclass(frozen=True, slots=True)
class WideRows:
    """What a table's rows became: H `units`, and for the agency alone what was left out.

    `beyond` rows are in no slot: they come after as many as there are slots, or share one, or their
    slot is unknown. `differ` has the number of units whose rows differ in a column of the unit.
    """

    units: int
    beyond: int
    differ: Mapping[str, int]

    @property
    def figures(self) -> dict[str, Any]:
        """The part of summary.json."""
        differ = {name: number for name, number in self.differ.items() if number}
        return {"units": self.units, "rows_in_no_slot": self.beyond, "units_that_differ": differ}


def _free(word: str, column: Column) -> str:
    """A word that is no level and no code of a column."""
    taken = {meant(x) for x in (*column.coded_levels, *column.missing_codes) if x is not None}
    while meant(word) in taken:
        word += "_"
    return word


def _taken(labels: Sequence[str | None], places: Places) -> list[str | None]:
    """The labels at places (n,), of which -1 is the last."""
    taken: list[str | None] = np.array(labels, dtype=object)[places].tolist()
    return taken
