"""The conditionals of a table whose columns have missing values, points of mass and rules.

A number with missing codes or points of mass is two conditionals: the category "part of NAME" says
which code or point a record has, or that it has a value, and the number follows given a value. So
l_ik = log p(part_ik) + 1{value} log f(y_ik). Later columns are given both. A rule that fixes a
value makes the record's term 0. The term of a record that breaks a rule is 0 too: the record is
counted, and no error tells of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.schema.column import Column, part_of
from pyvws.tables.schema.groups import (
    Grouped,
    drawn_and_ruled,
    group_of,
    grouped_columns,
    level_in,
    places_within,
)
from pyvws.tables.schema.members import Members
from pyvws.tables.schema.schema import Schema


def modelled_schema(schema: Schema) -> Schema:
    """The schema with a category "part of NAME" before each number that has parts.

    Before a category with groups stand those of `pyvws.tables.schema.groups`.

    Its columns name all of their predictors, and numbers have no missing codes and no mass any
    more. InputError for a column that has such a name already.
    """
    if "modelled" not in schema.once:
        schema.once["modelled"] = _modelled(schema)
    modelled: Schema = schema.once["modelled"]
    return modelled


def _modelled(schema: Schema) -> Schema:
    used = {name: x for name, x in schema.columns.items() if x.role not in ("drop", "id")}
    if not any(column.parts or column.group_by is not None for column in used.values()):
        return schema if len(used) == len(schema.columns) else replace(schema, columns=used)
    conditionals: dict[str, Column] = {}
    for name, column in used.items():
        given: dict[str, Any] = {}
        if column.role == "synthesize" and name not in schema.computed:
            given = _predictors(schema, schema.predictors_of(name), column.formula)
        review = tuple(entry for entry in column.review if entry != "part")
        named = replace(column, part=None, review=review, **given)
        own: dict[str, Column] = {}
        if column.group_by is not None:
            own = grouped_columns(name, column, given)
        elif column.parts:
            own = {part_of(name): _part(schema, name, named)}
        for part in {*own} & {*schema.columns, *conditionals}:
            raise InputError(
                f"Column {part!r} has the name that the parts of {name!r} take. Rename it."
            )
        conditionals |= own
        if not column.parts:
            conditionals[name] = named
            continue
        review = tuple(entry for entry in named.review if entry not in ("missing", "mass", "rule"))
        rule = named.rule if named.is_computed else None
        conditionals[name] = replace(named, missing=None, mass=(), rule=rule, review=review)
    return replace(schema, columns=conditionals)


def _part(schema: Schema, name: str, named: Column) -> Column:
    """The category of a number's parts, with predictors of its own or those of the number."""
    column = schema.columns[name]
    if column.role == "public":
        return Column(role="public", levels=column.parts)
    entries: dict[str, Any] = {"predictors": named.predictors, "formula": named.formula}
    given = dict(column.part or {})
    wanted = schema.predictors_of_part(name)
    if wanted is not None:
        entries = _predictors(schema, wanted, given.pop("formula", None))
    given.pop("predictors", None)
    entries = {"model": given.pop("model", "nominal"), **entries, "settings": given}
    if _only_value(column):
        return Column(levels=column.parts, **entries)
    return Column(**drawn_and_ruled(column, column.parts), **entries)


def _only_value(column: Column) -> bool:
    """Whether a number has no part that is drawn but its value: rules settle the others."""
    return len(column.parts) - len(column.ruled_codes) == 1


def _predictors(schema: Schema, wanted: Sequence[str], formula: str | None) -> dict[str, Any]:
    """The entries that name predictors or have a formula of them, with the parts of each number."""
    parts = [part_of(predictor) for predictor in wanted if schema.columns[predictor].parts]
    if formula is not None:
        return {"formula": " + ".join([formula, *(f"`{part}`" for part in parts)])}
    entering = (x for name in wanted for x in _entering(name, schema.columns[name]))
    return {"predictors": tuple(entering)}


def _entering(name: str, column: Column) -> tuple[str, ...]:
    """The categories and numbers by which a predictor enters a design."""
    if column.group_by is not None:
        return (group_of(name),)
    return (part_of(name), name) if column.parts else (name,)


@dataclass(frozen=True, slots=True)
class Follows:
    """Which records of a table have a term in a conditional.

    Attributes
    ----------
    modelled : ndarray of bool, shape (N,)
        Whether the record's value follows from the family, so that it is not fixed by a rule.
    valued : ndarray of bool, shape (N,)
        Whether it is besides a number that is neither missing nor a point of mass.
    breaking : ndarray of bool, shape (N,)
        Whether the record breaks a rule of the column. Its terms are 0.
    """

    modelled: NDArray[np.bool_]
    valued: NDArray[np.bool_]
    breaking: NDArray[np.bool_]


def follows(schema: Schema, name: str, values: Mapping[str, Floats]) -> Follows:
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
    range or a bound, or at a missing code or a point of mass, is drawn again; this changes no draw
    of the parameters, so it costs nothing.
    """

    name: str
    schema: Schema
    of_part: bool = False

    @property
    def column(self) -> Column:
        """The column of the schema."""
        return self.schema.columns[self.name]

    def within(self, values: Mapping[str, Floats]) -> tuple[Floats | float, Floats | float]:
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

    @property
    def _is_number(self) -> bool:
        return not (self.of_part or self.column.categorical)

    def refused(self, drawn: Floats, values: Mapping[str, Floats]) -> NDArray[np.bool_]:
        """Which drawn values (n,) are outside the limits, or mean something else than a value."""
        if not self._is_number:
            return np.zeros(len(drawn), dtype=np.bool_)
        low, high = self.within(values)
        codes = (self.column.number_of(text) for text in filter(None, self.column.missing_codes))
        apart = [*self.column.mass, *(code for code in codes if code is not None)]
        outside = np.asarray((drawn < low) | (drawn > high))
        return outside | np.isin(drawn, apart) if apart else outside

    def broken(self, values: Mapping[str, Floats]) -> NDArray[np.bool_]:
        """Which rows (n,) have a settled number outside its limits, by a rule or a sum."""
        own = values[part_of(self.name) if self.of_part else self.name]
        low, high = self.within(values) if self._is_number else (-np.inf, np.inf)
        return np.asarray((own < low) | (own > high))

    def rounded(self, drawn: Floats | float) -> Floats:
        """Drawn values (n,), or limits of them, at the column's decimals."""
        return self.column.rounded(drawn) if self._is_number else np.asarray(drawn)

    def settled(self, drawn: Floats, values: Mapping[str, Floats]) -> Floats:
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
            settled = np.where(where & ~done, given, settled)
            done |= where
        return settled


def conditionals(
    schema: Schema, name: str, values: Mapping[str, Floats], modelled: Follows
) -> dict[str, tuple[Floats, NDArray[np.bool_]]]:
    """The columns of `modelled_schema` that a column is, in order, with values and records (N,).

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
    """Whether a family draws a column of `modelled_schema`: rules alone settle some columns.

    `schema` is the one that a user wrote.
    """
    of_part = name not in schema.columns
    whole = _whole(schema, name) if of_part else name
    column = schema.columns[whole]
    if column.group_by is not None:
        return of_part
    return not (whole in schema.computed or (of_part and _only_value(column)))


def _whole(schema: Schema, part: str) -> str:
    """The column that a category of `modelled_schema` is a part of."""
    return next(name for name, column in schema.columns.items() if part in _parts(name, column))


def _parts(name: str, column: Column) -> tuple[str, ...]:
    if column.group_by is None:
        return (part_of(name),)
    return (group_of(name), *(level_in(name, group) for group in column.groups))


def finish_of(schema: Schema, name: str) -> Finish | Grouped | None:
    """How synthetic values of a column of `modelled_schema` are finished; None as they are drawn.

    `schema` is the one that a user wrote.
    """
    whole = name if name in schema.columns else _whole(schema, name)
    column = schema.columns[whole]
    if column.group_by is not None:
        by_rule = Finish(whole, schema).settled
        of_level = name not in (whole, group_of(whole))
        return None if of_level else Grouped(whole, column, by_rule, of_group=name != whole)
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
