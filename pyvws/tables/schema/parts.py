"""The conditionals of a table whose columns have missing values, points of mass and rules.

A number with missing codes or points of mass is two conditionals: the category "part of NAME" says
which code or point a record has, or that it has a value, and the number follows given a value. So
l_ik = log p(part_ik) + 1{value} log f(y_ik). Later columns are given both. A rule that fixes a
value makes the record's term 0. The term of a record that breaks a rule is 0 too: the record is
counted, and no error tells of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pyvws._base.checks import Bools, Floats, Values
from pyvws.errors import InputError
from pyvws.tables.schema.category import Category
from pyvws.tables.schema.column import Column, part_of
from pyvws.tables.schema.groups import (
    group_codes,
    group_of,
    grouped_categories,
    level_in,
    places_within,
)
from pyvws.tables.schema.members import Members
from pyvws.tables.schema.rules import Rule
from pyvws.tables.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class ModelledSchema:
    """The variables of a schema's conditionals: its columns, and the categories of their parts.

    A category "part of NAME" stands before each number that has parts, and those of
    `pyvws.tables.schema.groups` before a category with groups.

    - `columns`: The variables by name, in the order of synthesis; dropped columns and ids are left
      out.
    - `given`: The variables that each synthesized one follows from, and their formula where it has
      one. A computed column has no entry.
    - `column_of`: The column that each variable is, or is a part of.
    - `derived`: Names of the columns that a table lacks.
    """

    columns: Mapping[str, Column | Category]
    given: Mapping[str, tuple[tuple[str, ...], str | None]]
    column_of: Mapping[str, str]
    derived: tuple[str, ...]

    def predictors_of(self, name: str) -> tuple[str, ...]:
        """The variables that a synthesized one follows from."""
        return self.given[name][0]

    def formula_of(self, name: str) -> str | None:
        """The formula of a variable's predictors; None without one."""
        return self.given[name][1]

    @property
    def synthesized(self) -> tuple[str, ...]:
        """Names of the variables to synthesize, in their order."""
        return self._with_role("synthesize")

    @property
    def public(self) -> tuple[str, ...]:
        """Names of the variables of columns that are released as they are."""
        return tuple(name for name in self._with_role("public") if name not in self.derived)

    def _with_role(self, role: str) -> tuple[str, ...]:
        return tuple(name for name, column in self.columns.items() if column.role == role)


def modelled_schema(schema: Schema) -> ModelledSchema:
    """The variables of a schema's conditionals, made once for each schema.

    InputError for a column that has the name of another one's part.
    """
    if "modelled" not in schema.once:
        schema.once["modelled"] = _modelled(schema)
    modelled: ModelledSchema = schema.once["modelled"]
    return modelled


def _modelled(schema: Schema) -> ModelledSchema:
    columns: dict[str, Column | Category] = {}
    given: dict[str, tuple[tuple[str, ...], str | None]] = {}
    column_of: dict[str, str] = {}
    for name, column in schema.columns.items():
        if column.role in ("drop", "id"):
            continue
        categories: dict[str, Category] = {}
        if column.group_by is not None:
            categories = grouped_categories(name, column)
        elif column.parts:
            categories = {part_of(name): column.category_of_parts}
        for part in {*categories} & {*schema.columns, *columns}:
            raise InputError.by("column-name-of-parts", part=part, name=name)
        columns |= {**categories, name: column}
        column_of |= dict.fromkeys([*categories, name], name)
        if column.role == "public":
            continue
        own = _predictors(schema, schema.predictors_of(name), column.formula)
        if name not in schema.computed:
            given[name] = own
        of_part = schema.predictors_of_part(name)
        for part in categories:
            if of_part is not None:
                given[part] = _predictors(schema, of_part, (column.part or {}).get("formula"))
            elif name in given or column.frees_missing:
                given[part] = own
    return ModelledSchema(columns, given, column_of, schema.derived)


def _predictors(
    schema: Schema, wanted: Sequence[str], formula: str | None
) -> tuple[tuple[str, ...], str | None]:
    """The variables by which predictors enter, and the formula with the parts of each number."""
    if formula is not None:
        parts = [part_of(name) for name in wanted if schema.columns[name].parts]
        return (*wanted, *parts), " + ".join([formula, *(f"`{part}`" for part in parts)])
    return tuple(x for name in wanted for x in _entering(name, schema.columns[name])), None


def _entering(name: str, column: Column) -> tuple[str, ...]:
    """The categories and numbers by which a predictor enters a design."""
    if column.group_by is not None:
        return (group_of(name),)
    return (part_of(name), name) if column.parts else (name,)


@dataclass(frozen=True, slots=True)
class Follows:
    """Which records of a table have a term in a conditional.

    - `modelled` (N,): Whether the record's value follows from the family, so that it is not fixed
      by a rule.
    - `valued` (N,): Whether it is besides a number that is neither missing nor a point of mass.
    - `breaking` (N,): Whether the record breaks a rule of the column. Its terms are 0.
    """

    modelled: Bools
    valued: Bools
    breaking: Bools


def follows(schema: Schema, name: str, values: Values) -> Follows:
    """Which records follow from the family of a column, by values as `Schema.coded` gives them."""
    column, n = schema.columns[name], len(values[name])
    part = values[part_of(name)] if column.parts else None  # Any column may have that name.
    fixed, breaking = (np.zeros(n, dtype=np.bool_) for _ in range(2))
    for rule in column.rules:
        holds, broken = rule.judged(name, part, values, schema.columns)
        breaking |= broken & ~(holds & fixed)  # The first rule that holds decides.
        fixed |= holds
    modelled = ~(fixed | breaking)
    return Follows(modelled, modelled if part is None else modelled & (part == 1.0), breaking)


@dataclass(frozen=True, slots=True)
class Finish:
    """What is public of synthetic values besides their family: rules, parts, range and decimals.

    `of_part` is true for the category of a number's parts. A value that a family draws outside the
    range or a bound, at a barred level, or at a missing code or a point of mass, is drawn again;
    this changes no draw of the parameters, so it costs nothing.
    """

    name: str
    schema: Schema
    of_part: bool = False

    @property
    def column(self) -> Column:
        return self.schema.columns[self.name]

    def within(self, values: Values) -> tuple[Floats | float, Floats | float]:
        """Lowest and highest number by row, from the values (n,) of the columns before it.

        Both have the column's decimals, so that a number at its limit is within after rounding.
        """
        low: Floats | float
        high: Floats | float
        low, high = self.column.range or (-np.inf, np.inf)
        for rule in self.column.rules:
            low, high = rule.narrowed(low, high, values)
        step = self.column.step
        if step is None or not self._is_number:
            return low, high
        below, above = self.rounded(low), self.rounded(high)
        return (
            np.where(below < low, self.rounded(below + step), below),
            np.where(above > high, self.rounded(above - step), above),
        )

    def ends(self, values: Values) -> Floats:
        """The ends (n, 2) of what becomes a number `within` its limits.

        A number at its decimals stands for what is rounded to it: half a step below and above, as
        far as the range goes.
        """
        half = 0.5 * (self.column.step or 0.0)
        low, high = np.broadcast_arrays(*self.within(values))
        ends = np.column_stack([low - half, high + half])
        return np.clip(ends, *self.column.range) if self.column.range else ends

    @property
    def _bars(self) -> tuple[Rule, ...]:
        """The rules that bar levels; only a category has such."""
        return tuple(rule for rule in self.column.rules if rule.bars)

    def left(self, values: Values) -> Bools | None:
        """Which levels of those that a family draws (n, L) the rules leave; None for all."""
        if not self._bars:
            return None
        left = np.ones((1, len(self.column.coded_levels)), dtype=np.bool_)
        for rule in self._bars:
            left = rule.left(self.name, left, values, self.schema.columns)
        return left[:, : self.column.n_drawn]

    @property
    def _is_number(self) -> bool:
        return not (self.of_part or self.column.categorical)

    def refused(self, drawn: Floats, values: Values) -> Bools:
        """Which drawn values (n,) are outside the limits, barred, or mean something else."""
        if not self._is_number:
            if not self._bars:
                return np.zeros(len(drawn), dtype=np.bool_)
            return self.broken({**values, self.name: self.settled(drawn, values)})
        low, high = self.within(values)
        codes = (self.column.number_of(text) for text in filter(None, self.column.missing_codes))
        apart = [*self.column.mass, *(code for code in codes if code is not None)]
        outside = np.asarray((drawn < low) | (drawn > high))
        return outside | np.isin(drawn, apart) if apart else outside

    def broken(self, values: Values) -> Bools:
        """Which rows (n,) have a settled number outside its limits, or a level that is barred."""
        own = values[part_of(self.name) if self.of_part else self.name]
        if self._bars:
            columns = self.schema.columns
            each = [rule.judged(self.name, None, values, columns)[1] for rule in self._bars]
            return np.asarray(np.logical_or.reduce(each))
        low, high = self.within(values) if self._is_number else (-np.inf, np.inf)
        return np.asarray((own < low) | (own > high))

    def rounded(self, drawn: Floats | float) -> Floats:
        """Drawn values (n,), or limits of them, at the column's decimals."""
        return self.column.rounded(drawn) if self._is_number else np.asarray(drawn)

    def settled(self, drawn: Floats, values: Values) -> Floats:
        """Drawn values (n,), or the codes of parts, where rules and parts leave them as they are.

        `values` are those of the columns before, and for a number those of its parts.
        """
        settled, column = drawn.copy(), self.column
        if self._is_number:
            settled = np.clip(settled, *self.within(values))
        if self.of_part:
            low, high = self.within(values)
            for code, point in enumerate(column.mass, start=2):  # A point beyond a bound is none.
                settled[(settled == code) & ~((low <= point) & (point <= high))] = 1.0
        elif column.parts:
            part = values[part_of(self.name)]
            points = (*column.mass, *[np.nan] * len(column.missing_codes))
            for code, point in enumerate(points, start=2):
                settled[part == code] = point
        done = np.zeros(len(drawn), dtype=np.bool_)
        for rule in column.rules:
            where, given = rule.settled(
                self.name, values, self.schema.columns, of_part=self.of_part
            )
            if rule.frees_missing and not self.of_part:
                where = where & (values[part_of(self.name)] == 1.0)
            settled = np.where(where & ~done, given, settled)
            done |= where
        return settled


@dataclass(frozen=True, slots=True)
class Grouped(Finish):
    """The same of the levels of a column with groups, or of their groups where `of_group` says so.

    The level follows from its group and from the level drawn within the group, unless the rules of
    the column settle it.
    """

    of_group: bool = False

    def settled(self, drawn: Floats, values: Values) -> Floats:
        """The codes (n,) of groups, or of levels by the groups and places among `values`."""
        by_rule = Finish.settled(self, np.zeros(len(drawn)), values)
        codes = group_codes(self.column)
        if self.of_group:
            of_rule = np.append(0.0, codes)[by_rule.astype(np.intp)]
            return np.where(by_rule > 0.0, of_rule, drawn)
        settled = by_rule.copy()
        for code, group in enumerate(self.column.groups, start=1):
            rows = np.flatnonzero((values[group_of(self.name)] == code) & (by_rule == 0.0))
            levels = np.flatnonzero(codes == code) + 1.0  # In the order of their places.
            inside = values.get(level_in(self.name, group))
            settled[rows] = levels[0 if inside is None else inside[rows].astype(np.intp) - 1]
        return settled


def conditionals(
    schema: Schema, name: str, values: Values, modelled: Follows
) -> dict[str, tuple[Floats, Bools]]:
    """The variables of `modelled_schema` that a column is, in order, with values and records (N,).

    The records are those that have a term in the conditional, as `modelled` says of the column.
    """
    column, has = schema.columns[name], modelled.modelled
    if column.group_by is None:
        part = {part_of(name): (values[part_of(name)], has)} if column.parts else {}
        return {**part, name: (values[name], modelled.valued)}
    group, codes = values[group_of(name)], values[name].astype(np.intp) - 1
    places = places_within(column)[codes]
    chained = {group_of(name): (group, has)}
    for code, (own_group, levels) in enumerate(column.levels_by_group.items(), start=1):
        if len(levels) > 1:
            chained[level_in(name, own_group)] = (places, has & (group == code))
    return {**chained, name: (values[name], has)}


def is_drawn(schema: Schema, name: str) -> bool:
    """Whether a fitted family draws a variable of `modelled_schema`.

    Rules alone settle some columns, and sizes of units may have public shares. `schema` is the one
    that a user wrote.
    """
    whole = modelled_schema(schema).column_of[name]
    column = schema.columns[whole]
    of_part = name not in schema.columns
    if schema.members is not None and name in schema.members.known_draws:
        return False
    if column.group_by is not None:
        return of_part
    only_value = len(column.parts) - len(column.ruled_codes) == 1  # Rules settle the other parts.
    if of_part and column.frees_missing:
        return True
    return not (whole in schema.computed or (of_part and only_value))


def finish_of(schema: Schema, name: str) -> Finish | None:
    """How synthetic values of a variable of `modelled_schema` are finished; None as they are drawn.

    `schema` is the one that a user wrote.
    """
    whole = modelled_schema(schema).column_of[name]
    column = schema.columns[whole]
    if column.group_by is not None:
        of_level = name not in (whole, group_of(whole))
        return None if of_level else Grouped(whole, schema, of_group=name != whole)
    if name != whole:
        return Finish(whole, schema, of_part=True)
    bounded = not column.categorical and (column.range is not None or column.decimals is not None)
    return Finish(name, schema) if column.rules or column.parts or bounded else None


@dataclass(frozen=True, slots=True)
class UnitsDrawn:
    """How units are drawn: the schema of their members, and which columns are theirs.

    The first `of_unit` columns to draw are drawn once a unit. The confidential table has `number`
    units, and `impossible` members that meet a condition which none can meet.
    """

    schema: Schema
    of_unit: int
    number: int
    impossible: int = 0

    @property
    def members(self) -> Members:
        """What is public of the members."""
        assert self.schema.members is not None
        return self.schema.members


def computed_values(schema: Schema, name: str, values: Values) -> dict[str, Floats]:
    """The values (n,) of a column that rules compute from others, or of a constant."""
    first = np.ones(len(next(iter(values.values()))))
    made: dict[str, Floats] = {}
    if schema.columns[name].parts:
        drawn = values.get(part_of(name), first)  # A rule may leave a missing value free.
        made[part_of(name)] = Finish(name, schema, of_part=True).settled(drawn, values)
    return {**made, name: Finish(name, schema).settled(first, {**values, **made})}
