"""Categories with levels by the hundred: first the group of a level, then the level within it.

The levels that begin with the same characters are one group, so groups are public as levels are.
The category "group of NAME" follows from the column's predictors, and within each group of several
levels so does the level, by the records of the group: l_ik = log p(group_ik) + log p(level_ik |
group_ik). A missing code is a group of its own. Columns that follow are given the group, not the
level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.tables.schema.category import Category
from pyvws.tables.schema.column import Column


def group_of(name: str) -> str:
    """The name of the category that says which group a level belongs to."""
    return f"group of {name}"


def level_in(name: str, group: str) -> str:
    """The name of the category that says which level of a group a record has."""
    return f"{name} in {group}"


def group_codes(column: Column) -> Floats:
    """The code of its group, from 1 on, of each coded level (L,)."""
    place = {group: code for code, group in enumerate(column.groups, start=1)}
    return np.array([place[group] for group in column.group_of_level], dtype=np.float64)


def places_within(column: Column) -> Floats:
    """The place of each coded level (L,) within its group, from 1 on."""
    places, seen = [], dict.fromkeys(column.groups, 0)
    for group in column.group_of_level:
        seen[group] += 1
        places.append(seen[group])
    return np.array(places, dtype=np.float64)


def grouped_categories(name: str, column: Column) -> dict[str, Category]:
    """The conditionals of a column with groups: its group, then its level in each group.

    The groups of codes that only rules give come last.
    """
    if column.role == "public":
        return {group_of(name): Category(role="public", levels=column.groups)}
    own: dict[str, Any] = {"model": column.model, "settings": column.settings}
    drawn = len(column.groups) - len(column.ruled_codes)
    groups = Category(levels=column.groups[:drawn], ruled=column.groups[drawn:], **own)
    within = {
        level_in(name, group): Category(levels=levels, **own)
        for group, levels in column.levels_by_group.items()
        if len(levels) > 1
    }
    return {group_of(name): groups, **within}


@dataclass(frozen=True, slots=True)
class Grouped:
    """How synthetic levels of a column with groups, or their groups, come about.

    The level follows from its group and from the level drawn within the group, unless `fixed`, the
    rules of the column, settle it: a function of codes (n,) and of the values of columns before.
    """

    name: str
    column: Column
    fixed: Any
    of_group: bool

    def rounded(self, codes: Floats) -> Floats:
        """The codes (n,) as they are."""
        return codes

    def refused(self, codes: Floats, values: Mapping[str, Floats]) -> NDArray[np.bool_]:
        """None: every code of a level may be drawn."""
        return np.zeros(len(codes), dtype=np.bool_)

    def left(self, values: Mapping[str, Floats]) -> None:
        """None, which stands for all levels: no rule bars any."""

    def broken(self, values: Mapping[str, Floats]) -> NDArray[np.bool_]:
        """None: rules fix levels or leave them free."""
        return np.zeros(len(values[self.name]), dtype=np.bool_)

    def settled(self, drawn: Floats, values: Mapping[str, Floats]) -> Floats:
        """The codes (n,) of groups, or of levels by the groups and places among `values`."""
        by_rule = self.fixed(np.zeros(len(drawn)), values)
        if self.of_group:
            group = np.append(0.0, group_codes(self.column))[by_rule.astype(np.intp)]
            return np.where(by_rule > 0.0, group, drawn)
        codes = group_codes(self.column)
        settled = by_rule.copy()
        for code, group in enumerate(self.column.groups, start=1):
            rows = np.flatnonzero((values[group_of(self.name)] == code) & (by_rule == 0.0))
            levels = np.flatnonzero(codes == code) + 1.0  # In the order of their places.
            inside = values.get(level_in(self.name, group))
            settled[rows] = levels[0 if inside is None else inside[rows].astype(np.intp) - 1]
        return settled
