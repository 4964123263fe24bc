"""Units whose members are records, such as households with their persons.

A unit has a size, columns of its own and members in order. Each member is given the unit's columns
and summaries of the members before it, so that

    p(unit) = p(size) p(columns of the unit | size) prod_j p(member j | unit, members before j).

A summary is "size", "count", "count where CONDITION", "last COLUMN" or "last COLUMN where
CONDITION", of the members before. It is a function of values that a synthetic unit has too, so it
is computed and not released. Conditions read as in `pyvws.tables.schema.conditions`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Bools, Floats, Places, Values, as_text, near, non_negative, positive
from pyvws.errors import InputError
from pyvws.tables.schema.column import Column, Columns
from pyvws.tables.schema.conditions import Condition, read_condition
from pyvws.tables.schema.entries import names, several
from pyvws.tables.schema.read_values import Unknown, how_many

NONE: Final = "none"
"""The level of the summary "last COLUMN" where no member before counts."""

_SUMMARY: Final = re.compile(
    r"(?P<kind>size|count|last)(\s+(?P<column>(?!where\b)\S+))?(\s+where\s+(?P<condition>.+))?",
    re.S,
)
_HELP: Final = (
    'A summary reads "size", "count", "count where relation == \'child\'", "last age" or "last age '
    "where relation == 'child'\"."
)


@dataclass(frozen=True, slots=True)
class Summary:
    """What a member is given of those before it: a count, or the last one's value of `column`."""

    kind: str
    column: str | None = None
    condition: Condition | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the summary reads."""
        read = () if self.condition is None else self.condition.columns
        return read if self.column is None else (self.column, *read)

    def counts(self, values: Values, columns: Columns) -> Bools:
        """Which members (n,) count, by their values."""
        if self.condition is None:
            return np.ones(len(next(iter(values.values()))), dtype=np.bool_)
        return self.condition.holds(values, columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """What is public of units and their members.

    - `sizes`: The least and the largest number of members of a unit.
    - `of_unit`: Columns with one value a unit, which are drawn once a unit.
    - `size_shares`: Public shares of the sizes, from the least to the largest, or numbers in their
      proportion. Sizes of synthetic units are then drawn by them, and nothing is fitted to the
      table's sizes.
    - `summaries`: Names of further columns and what each is of the members before. One of them is
      "size".
    - `impossible`: Conditions that no member meets. A synthetic member that meets one is drawn
      again.
    - `slot`: The category that says which slot of its unit a member has, such as a wave, where
      units are counted. Without it members have the slots in the order of their rows.
    """

    sizes: tuple[int, int]
    of_unit: tuple[str, ...] = ()
    summaries: Mapping[str, str]
    impossible: tuple[str, ...] = ()
    size_shares: tuple[float, ...] = ()
    slot: str | None = None

    def __post_init__(self) -> None:
        low, high = self.sizes
        if not 1 <= low < high:
            raise InputError.by("sizes-order", sizes=as_text(self.sizes))
        given = several(self.size_shares, "size_shares")
        shares = tuple(non_negative(share, "each of size_shares") for share in given)
        object.__setattr__(self, "size_shares", shares)
        if shares and len(shares) != high - low + 1:
            raise InputError.by(
                "size-shares-length", high=high - low + 1, low=low, high2=high, shares=len(shares)
            )
        if shares:
            positive(sum(shares), "the sum of size_shares")
        if sum(summary.kind == "size" for summary in self.read.values()) != 1:
            raise InputError.by("summaries-without-size")

    @property
    def read(self) -> dict[str, Summary]:
        """The summaries, read."""
        return {name: _summary(name, text) for name, text in self.summaries.items()}

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions that no member meets, read."""
        return tuple(map(read_condition, self.impossible))

    @property
    def size(self) -> str:
        """Name of the column that holds the sizes."""
        return next(name for name, summary in self.read.items() if summary.kind == "size")

    @property
    def size_column(self) -> Column:
        """The size as a category without predictors, the first column to draw."""
        levels = tuple(map(str, range(self.sizes[0], self.sizes[1] + 1)))
        return Column(model="table", levels=levels, predictors=())

    @property
    def known_draws(self) -> dict[str, dict[str, Floats]]:
        """The public shares of the sizes in the place of a fit's draws, by column; empty for none.

        They are logarithms of shape (1, 1, L), as those of a conditional table with one pattern.
        """
        if not self.size_shares:
            return {}
        with np.errstate(divide="ignore"):
            return {self.size: {"log_theta": np.log([[self.size_shares]])}}

    @property
    def of_member(self) -> tuple[str, ...]:
        """Names of the summaries that differ within a unit."""
        return tuple(name for name in self.summaries if name != self.size)

    @property
    def entries(self) -> dict[str, Any]:
        """The entries as they stand in a file."""
        given = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: value for name, value in given.items() if value}

    def expanded(self, columns: Columns, unit: str | None) -> dict[str, Column]:
        """The columns of a schema with the size before them, and the summaries before the members'.

        Columns that have them already are left as they are. `unit` names the column of ids. Raises
        InputError for columns that no unit with members can have.
        """
        own = dict(columns)
        if unit is None:
            raise InputError.by("members-without-unit")
        if self.size in own and own[self.size] == self.size_column:
            return own
        for name in {*own} & {*self.summaries}:
            raise InputError.by("summary-name-taken", name=name)
        drawn = [name for name, column in own.items() if column.role == "synthesize"]
        for name in self.of_unit:
            if name not in drawn:
                raise InputError.by("of-unit-unknown-column", name=name, hint=near(name, drawn))
        if drawn[: len(self.of_unit)] != [name for name in drawn if name in self.of_unit]:
            raise InputError.by("unit-columns-order")
        if len(drawn) == len(self.of_unit):
            raise InputError.by("of-unit-every-column")
        for name, column in own.items():
            if column.role == "public":
                raise InputError.by("public-beside-units", name=name)
        expanded = {self.size: self.size_column}
        expanded |= {name: own[name] for name in own if name in self.of_unit}
        expanded |= {name: self._column(name, own) for name in self.of_member}
        expanded |= {name: column for name, column in own.items() if name not in expanded}
        of_summaries = (summary.condition for summary in self.read.values())
        for condition in (*self.conditions, *filter(None, of_summaries)):
            for read in condition.columns:
                if read not in expanded or expanded[read].role in ("drop", "id"):
                    raise InputError.by(
                        "impossible-unknown-column", read=read, hint=near(read, expanded)
                    )
            condition.holds({read: np.ones(1) for read in condition.columns}, expanded)
        return expanded

    def _column(self, name: str, own: Columns) -> Column:
        """A summary as a public column that nobody releases."""
        summary = self.read[name]
        for read in summary.columns:
            if read not in own or own[read].role != "synthesize":
                raise InputError.by(
                    "summary-unknown-column", name=name, read=read, hint=near(read, own)
                )
        if summary.kind == "count":
            return Column(role="public", levels=tuple(map(str, range(self.sizes[1]))))
        column = own[summary.column or ""]
        if not column.categorical:
            raise InputError.by("last-of-number", name=name, column=summary.column)
        return Column(
            role="public",
            levels=column.levels,
            missing=(*(True if code is None else code for code in column.missing_codes), NONE),
            cuts=column.cuts,
        )

    def start(self, units: int, columns: Columns) -> dict[str, Floats]:
        """The summaries (n,) of the first members of units: no member stands before."""
        levels = {name: columns[name].coded_levels for name in self.of_member}
        return {
            name: np.full(units, 1.0 if self.read[name].kind == "count" else at.index(NONE) + 1.0)
            for name, at in levels.items()
        }

    def after(self, before: Values, values: Values, columns: Columns) -> dict[str, Floats]:
        """The summaries (n,) of the next members, by those of members with `values` (n,)."""
        summaries = {}
        for name in self.of_member:
            summary, own = self.read[name], before[name]
            counts = summary.counts({**values, **before}, columns)
            if summary.kind == "count":
                summaries[name] = own + counts
                continue
            levels = columns[name].coded_levels
            last_of = summary.column or ""
            place = [levels.index(level) + 1.0 for level in columns[last_of].coded_levels]
            last = np.array(place)[values[last_of].astype(np.intp) - 1]
            summaries[name] = np.where(counts, last, own)
        return summaries

    def summarized(
        self,
        values: Values,
        units: Places,
        columns: Columns,
        counts: Floats | None = None,
        unknown: Unknown | None = None,
    ) -> dict[str, Floats]:
        """The summaries and sizes (N,) of N members, by their values and units 0 to H - 1.

        The members of a unit stand in their order. `counts` (N,) are the units that each one of a
        tally stands for. Raises InputError for a unit that is larger or smaller than the public
        sizes. Where `unknown` is given, all values of such a unit are unknown.
        """
        sizes, place = np.bincount(units), places_in(units)
        low, high = self.sizes
        other_size = ((sizes < low) | (sizes > high))[units]
        wrong = how_many(other_size & (place == 0), counts)
        if unknown is not None:
            unknown |= {name: rows | other_size for name, rows in unknown.items()}
            unknown[self.size] = other_size
            sizes = np.clip(sizes, low, high)
        elif wrong:
            raise InputError.by("units-of-other-sizes", wrong=wrong, low=low, high=high)
        summaries = {name: np.ones(len(units)) for name in self.of_member}
        before = self.start(len(sizes), columns)
        for number in range(high):
            rows = np.flatnonzero(place == number)
            own_units = units[rows]
            for name, own in before.items():
                summaries[name][rows] = own[own_units]
            next_ones = self.after(
                {name: own[own_units] for name, own in before.items()},
                {name: own[rows] for name, own in values.items()},
                columns,
            )
            for name, own in next_ones.items():
                before[name][own_units] = own
        return {self.size: np.asarray(sizes[units] - low + 1.0, np.float64), **summaries}

    def breaking(self, values: Values, columns: Columns) -> Bools:
        """Which members (n,) meet a condition that none can meet."""
        bad = np.zeros(len(next(iter(values.values()))), dtype=np.bool_)
        for condition in self.conditions:
            bad |= condition.holds(values, columns)
        return bad


def places_in(units: Places) -> Places:
    """The place of each record within its unit, from 0, in the records' order (N,)."""
    order = np.argsort(units, kind="stable")
    sizes = np.bincount(units)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.empty(len(units), dtype=np.intp)
    places[order] = np.arange(len(units)) - starts
    return places


def _summary(name: str, text: object) -> Summary:
    parts = _SUMMARY.fullmatch(text.strip()) if isinstance(text, str) else None
    if parts is None or (parts["column"] is None) == (parts["kind"] == "last"):
        raise InputError.by("summary-unreadable", name=name, help=_HELP)
    condition = parts["condition"]
    if condition is not None and parts["kind"] == "size":
        raise InputError.by("size-with-condition", name=name, help=_HELP)
    return Summary(
        parts["kind"],
        parts["column"],
        None if condition is None else read_condition(condition, parts.string),
    )


def read_members(value: object) -> Members:
    """The members of a schema's table `members`; InputError in one line for anything else."""
    if isinstance(value, Members):
        return value
    allowed = [entry.name for entry in fields(Members)]
    if not isinstance(value, Mapping) or not isinstance(value.get("summaries"), Mapping):
        raise InputError.by("members-shape")
    for name in value:
        if name not in allowed:
            raise InputError.by("members-entry-unknown", name=name, hint=near(name, allowed))
    sizes = value.get("sizes")
    if not (isinstance(sizes, list | tuple) and [type(entry) for entry in sizes] == [int, int]):
        raise InputError.by("sizes-not-whole")
    lists: dict[str, Any] = {x: names(value.get(x, ()), x) for x in ("of_unit", "impossible")}
    shares = value.get("size_shares", ())
    summaries, slot = dict(value["summaries"]), value.get("slot")
    if not (slot is None or isinstance(slot, str)):
        raise InputError.by("not-text", name="slot", value=as_text(slot))
    lists |= {"summaries": summaries, "size_shares": shares, "slot": slot}
    return Members(sizes=tuple(sizes), **lists)
