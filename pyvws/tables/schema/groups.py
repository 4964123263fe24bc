"""Categories with levels by the hundred: first the group of a level, then the level within it.

The levels that begin with the same characters are one group, so groups are public as levels are.
The category "group of NAME" follows from the column's predictors, and within each group of several
levels so does the level, by the records of the group: l_ik = log p(group_ik) + log p(level_ik |
group_ik). A missing code is a group of its own. Columns that follow are given the group, not the
level.
"""

from __future__ import annotations

from typing import Any

import numpy as np

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
