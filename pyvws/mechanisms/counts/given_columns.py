"""Columns that tables of other columns give, or their own families, in the place of classes."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.mechanisms.counts.cliques import Clique, clique, grouping
from pyvws.mechanisms.counts.coding import MOST_LEVELS, MOST_OF_PAIR, CountedColumn, counted_column
from pyvws.mechanisms.counts.differences import Difference, difference_of
from pyvws.mechanisms.counts.set_words import named_set
from pyvws.mechanisms.counts.skips import Skip
from pyvws.posterior.cell_family import CellFamily, by_no_family, cell_family
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.families import COUNTS
from pyvws.tables.schema.rules import Lookup, looked_up_by
from pyvws.tables.schema.schema import Schema

ALIKE: Final = "alike"
"""In `tables`: the columns of `alike_columns`."""
NONE: Final = "none"
"""In `tables`: no columns."""

_MOST_SHARES: Final = 1_000_000
_PRIOR_RECORDS: Final = 50.0  # Records that the prior of a table counts for, beside classes.
_OF_DIFFERENCE: Final = 10.0  # Records likewise of a difference: far from 0 it hardly has any.
_OF_CELLS: Final = 5.0  # Records that the prior of a number within its cells counts for.
_SEVERAL: Final = 4  # Levels that two columns hardly share by chance.
_LEAST_NAME: Final = 3  # Letters of a name that another one hardly holds by chance.
_ONE_RANGE: Final = 0.75  # Of the range that two numbers reach over together, both have so much.
_MOST_GIVING: Final = 2  # Columns that give a number.


@dataclass(frozen=True, slots=True, eq=False)
class GivenColumn:
    """A column whose codes have shares of their own for each combination of other columns.

    - `rows`: The combinations of the other columns, all of which stand before the column.
    - `prior` (rows, L): The parameters of the Dirichlet prior of a row's shares, 0 for an
      impossible code.
    - `redrawn`: Whether a row bars codes of others, so that a move to another row draws a code
      anew.
    - `family`: What gives the shares of a row in the place of a Dirichlet distribution.
    """

    rows: Clique
    prior: Floats
    redrawn: bool = False
    family: CellFamily | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RuledColumns:
    """The counted columns in their order, what rules fix them at, and what gives some of them.

    - `alike`: The columns of `alike_columns`, with those that give each.
    - `apart`: Those of them that a difference gives.
    """

    columns: Mapping[str, CountedColumn]
    skips: Mapping[str, Skip]
    given: Mapping[str, GivenColumn]
    alike: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    apart: Mapping[str, Difference] = field(default_factory=dict)


class NotGiven(NamedTuple):
    """A column that its own family cannot give, why, and what helps."""

    name: str
    why: str
    help: str


def grouped(
    schema: Schema, columns: Mapping[str, CountedColumn], skips: Mapping[str, Skip]
) -> RuledColumns:
    """Columns of many levels under the public groups that a lookup puts their levels in.

    The group is counted as a column in front of them, and the rules of the column fix it. Within
    its group each level has a share of its own, whatever the other columns are.
    """
    groups: dict[str, tuple[CountedColumn, NDArray[np.int32]]] = {}
    for name in schema.synthesized:
        column = schema.columns[name]
        is_small = column.categorical and len(column.coded_levels) <= MOST_LEVELS
        for rule in column.rules if is_small else ():
            large = columns.get(getattr(rule, "other", ""))
            if isinstance(rule, Lookup) and large is not None and large.size > MOST_LEVELS:
                group = counted_column(name, column)
                labels = map(looked_up_by, columns[rule.other].parts)
                group_codes = np.array(
                    [group.code_of(rule.value_of[label]) for label in labels], dtype=np.int32
                )
                if len(np.unique(group_codes)) == group.size:
                    groups.setdefault(rule.other, (group, group_codes))
    for name in [*groups]:
        skip, group_codes = skips.get(name), groups[name][1]
        ruled = [] if skip is None else [*skip.forced[skip.forced >= 0], *skip.barred]
        bars = skip is not None and skip.left is not None
        if bars or any((group_codes == group_codes[code]).sum() > 1 for code in ruled):
            del groups[name]  # A rule fixes or bars a part of a group.
    wider = in_front(columns, {name: group for name, (group, _) in groups.items()})
    kept, given = dict(skips), {}
    for name, (group, group_codes) in groups.items():
        rows = clique(wider, {group.name})
        inside = group_codes == np.arange(group.size)[:, None]
        prior = inside / np.maximum(inside.sum(axis=1, keepdims=True), 1)
        given[name] = GivenColumn(rows, prior, redrawn=True)
        skip = kept.pop(name, None)
        if skip is not None:
            forced = np.where(skip.forced < 0, np.int32(-1), group_codes[skip.forced])
            barred = tuple(sorted({int(group_codes[code]) for code in skip.barred}))
            kept[group.name] = replace(skip, forced=forced, barred=barred)
    return RuledColumns(wider, kept, given)


def in_front(
    columns: Mapping[str, CountedColumn], added: Mapping[str, CountedColumn]
) -> dict[str, CountedColumn]:
    """Columns with new ones, each in front of the column that names it."""
    wider: dict[str, CountedColumn] = {}
    for name, column in columns.items():
        if name in added:
            wider[added[name].name] = added[name]
        wider[name] = column
    return wider


def conditionals_of(
    schema: Schema, columns: Mapping[str, CountedColumn], given: Mapping[str, GivenColumn]
) -> dict[str, GivenColumn]:
    """Each column given its predictors in the schema, but for those that are given already."""
    others = (name for name in columns if name not in given)
    return dict(given) | {name: _by_schema(schema, name, columns) for name in others}


def not_given(
    schema: Schema, tables: Sequence[str], ruled: RuledColumns, *, conditionals: bool
) -> NotGiven | None:
    """The first column that its own family would have to give and cannot, why, and what helps."""
    columns, given = ruled.columns, ruled.given
    alone = [[*named_set(word, columns, "tables").cuts] for word in tables]
    asked = {names[0] for names in alone if len(names) == 1}
    for name, column in columns.items():
        wanted = _predictors_of(schema, name)
        if name in given or wanted is None or not (conditionals or name in asked):
            continue
        gone = sorted({*wanted} - {*columns})
        if gone:
            why = f"it follows from {gone[0]!r}, which is computed and has no public cells"
            return NotGiven(name, why, "Name the columns that it follows from as predictors")
        reason = by_no_family(schema, name, _ends_of(column))
        if reason is not None:
            return NotGiven(name, *reason)
    return None


def _predictors_of(schema: Schema, name: str) -> tuple[str, ...] | None:
    """The predictors of a column that its own family gives, and of its parts; None of a table."""
    if name not in schema.synthesized:
        return None
    own = schema.columns[name]
    if own.is_computed or own.is_constant or own.model == "table":
        return None
    return (*schema.predictors_of(name), *(schema.predictors_of_part(name) or ()))


def _ends_of(column: CountedColumn) -> tuple[Floats, Floats]:
    """The numbers that a number's cells (C,) begin with, and end before or with."""
    own = column.column
    parts = 0 if own.categorical else len(column.parts)
    low, high = (end[parts:] for end in column.ends)
    return low, high if own.is_whole and own.model in COUNTS else column.edges[1:]


def _by_schema(schema: Schema, name: str, columns: Mapping[str, CountedColumn]) -> GivenColumn:
    """A column given its predictors in the schema: by its own family, or by a table."""
    if name not in schema.columns:
        raise InputError.by("counts-bounded-by-family", counted=name)
    own, column = schema.columns[name], columns[name]
    lookup = name not in schema.synthesized or own.is_computed
    of_family = _predictors_of(schema, name)
    wanted = schema.predictors_of(name) if of_family is None and not lookup else of_family or ()
    rows = clique(columns, wanted)
    by_table = _table_of(column, rows, own.settings.get("concentration", 1.0))
    if of_family is None:
        return by_table
    values = {
        variable: of_code[at]
        for parent, at in rows.codes.items()
        for variable, of_code in columns[parent].as_predictor.items()
    }
    ends = _ends_of(column)
    family = cell_family(schema, name, values, rows.size, size=column.size, ends=ends)
    return replace(by_table, family=family)


def named_given(
    schema: Schema,
    tables: Sequence[str],
    columns: Mapping[str, CountedColumn],
    given: Mapping[str, GivenColumn],
) -> dict[str, GivenColumn]:
    """The columns that words such as c:a:b name, c given a and b, or c alone by its own family.

    Raises InputError for other words.
    """
    found: dict[str, GivenColumn] = {}
    for word in tables:
        (name, own), *others = named_set(word, columns, "tables").cuts.items()
        parents = dict(others)
        if own or not {*parents} <= {*_before(columns, name)} or name in given:
            raise InputError.by("tables-words", word=word)
        if not parents:
            found[name] = _by_schema(schema, name, columns)
            continue
        groups = {parent: grouping(columns[parent], at) for parent, at in others if at}
        rows = clique(columns, parents, groups)
        found[name] = _table_of(columns[name], rows, _PRIOR_RECORDS / rows.size)
    return found


def _before(columns: Mapping[str, CountedColumn], name: str) -> list[str]:
    """The columns in front of one, and itself."""
    names = [*columns]
    return names[: names.index(name) + 1]


def alike_columns(
    schema: Schema, columns: Mapping[str, CountedColumn], given: Container[str]
) -> dict[str, tuple[str, ...]]:
    """The columns that look like those of another person, and the earlier ones that give each.

    The name of one holds that of the other, as headrace holds race. A category follows from an
    earlier one with the same levels, four or more. A number follows from its predictors, one or two
    that the schema names, where one of them is a number of nearly the same range. This is public:
    it reads the schema alone.
    """
    tables: dict[str, tuple[str, ...]] = {}
    for name in columns:
        if name in given or name not in schema.columns:
            continue
        own = schema.columns[name]
        before = [
            other
            for other in _before(columns, name)[:-1]
            if _one_name(name, other) and other in schema.columns
        ]
        if own.categorical:
            several = len(own.coded_levels) >= _SEVERAL
            twins = [o for o in before if schema.columns[o].coded_levels == own.coded_levels]
            giving = tuple(twins[:1]) if several else ()
        else:
            twins = [o for o in before if _of_one_range(own, schema.columns[o])]
            giving = (own.predictors or ()) if {*twins} & {*(own.predictors or ())} else ()
        cells = math.prod(columns[each].size for each in (name, *giving) if each in columns)
        if 0 < len(giving) <= _MOST_GIVING and cells <= MOST_OF_PAIR and {*giving} <= {*columns}:
            tables[name] = giving
    return tables


def _one_name(first: str, second: str) -> bool:
    """Whether one name holds the other and a letter more; q11 does not hold q1 so."""
    shorter, longer = sorted((first.lower(), second.lower()), key=len)
    rest = longer.replace(shorter, "", 1)
    return len(shorter) >= _LEAST_NAME and shorter in longer and any(map(str.isalpha, rest))


def _of_one_range(own: Column, other: Column) -> bool:
    """Whether two numbers reach over nearly the same range."""
    if own.range is None or other.range is None or own.days_since != other.days_since:
        return False
    shared = min(own.range[1], other.range[1]) - max(own.range[0], other.range[0])
    both = max(own.range[1], other.range[1]) - min(own.range[0], other.range[0])
    return shared >= _ONE_RANGE * both


def differences(
    alike: Mapping[str, tuple[str, ...]],
    columns: Mapping[str, CountedColumn],
    given: Container[str],
    ruled: Container[str],
) -> dict[str, Difference]:
    """What numbers of `alike_columns` have more than the earlier ones that they look like.

    Without those that are `given` otherwise, and later ones that are `ruled`. No number is in two
    differences.
    """
    by_name: dict[str, Difference] = {}
    taken: set[str] = set()
    for name, others in alike.items():
        own = columns[name].column
        for twin in (o for o in others if _of_one_range(own, columns[o].column)):
            free = name not in ruled and twin not in given
            found = difference_of(columns[name], columns[twin]) if _one_name(name, twin) else None
            if free and found and found.name not in columns and not taken & {name, twin}:
                by_name[name] = found
                taken |= {name, twin}
    return by_name


def given_by_tables(
    tables: Mapping[str, tuple[str, ...]],
    apart: Mapping[str, Difference],
    columns: Mapping[str, CountedColumn],
) -> dict[str, GivenColumn]:
    """The columns that tables of others give; those in `apart` by a difference too."""
    found: dict[str, GivenColumn] = {}
    for name, others in tables.items():
        rows = clique(columns, others)
        if name in apart:
            found |= _by_difference(rows, columns, apart[name])
        else:
            found[name] = _table_of(columns[name], rows, _PRIOR_RECORDS / rows.size)
    return found


def _by_difference(
    rows: Clique, columns: Mapping[str, CountedColumn], apart: Difference
) -> dict[str, GivenColumn]:
    """A difference by the columns of `rows`, and its later number by both."""
    earlier, shares = apart.earlier.name, apart.shares
    possible = (shares.sum(axis=2) > 0.0)[rows.codes[earlier]]
    prior = possible * (_OF_DIFFERENCE / rows.size / possible.sum(axis=1, keepdims=True))
    all_rows = clique(columns, (*rows.columns, apart.name))
    within = shares[all_rows.codes[earlier], all_rows.codes[apart.name]]
    within[~within.any(axis=1)] = 1.0  # No record is in such a row.
    within *= _OF_CELLS / within.sum(axis=1, keepdims=True)
    return {
        apart.name: GivenColumn(rows, prior, redrawn=True),
        apart.later.name: GivenColumn(all_rows, within, redrawn=True),
    }


def _table_of(column: CountedColumn, rows: Clique, concentration: float) -> GivenColumn:
    L = column.size
    if rows.size * L > _MOST_SHARES:
        raise InputError.by("given-too-many-codes", columns=column.name, size=rows.size, l=L)
    return GivenColumn(rows, np.full(L, float(concentration) / L))
