"""Whether a column is computed: by a rule of such a kind, or since rules decide it wholly.

"16-24 where age < 25" with "25+ where age >= 25" leaves no value open. Such a column is computed,
as a sum is: no family is fitted, and it costs nothing.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Mapping
from typing import Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.rules import Fixed

_MOST_CASES: Final = 100_000


def is_decided(column: Column, columns: Mapping[str, Column]) -> bool:
    """Whether a synthesized column has no family: a sum, a lookup, a constant, or wholly by rules.

    Rules decide a category wholly where they fix its value in every record that the schema allows.
    False where the schema cannot say that: of conditions that compare two columns, and of more
    cases than 100,000.
    """
    if column.is_computed or column.is_constant:
        return True
    rules = [rule for rule in column.rules if isinstance(rule, Fixed)]
    if not column.categorical or column.group_by is not None or not rules:
        return False
    read = dict.fromkeys(name for rule in rules for name in rule.columns)
    trees = [rule.condition.tree for rule in rules]
    if any(_compares_columns(tree) for tree in trees):
        return False
    constants = {
        node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)
    }
    try:
        cases = [_cases(columns[name], constants) for name in read]
        if math.prod(map(len, cases)) > _MOST_CASES:
            return False
        grid = np.meshgrid(*cases, indexing="ij")
        values = {name: axis.ravel() for name, axis in zip(read, grid, strict=True)}
        return bool(np.logical_or.reduce([r.condition.holds(values, columns) for r in rules]).all())
    except InputError:
        return False


def _compares_columns(tree: ast.expr) -> bool:
    """Whether a comparison reads more than one column, or adds to one."""
    return any(
        sum(isinstance(part, ast.Name) and part.id != "missing" for part in ast.walk(node)) > 1
        or any(isinstance(part, ast.BinOp) for part in ast.walk(node))
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
    )


def _cases(column: Column, constants: Collection[object]) -> Floats:
    """Values (C,) of a column of which each condition is true or false of a whole stretch."""
    if column.categorical:
        return np.arange(1.0, len(column.coded_levels) + 1.0)
    spelled = (str(x) for x in constants if not isinstance(x, bool))
    known = {x for x in map(column.number_of, spelled) if x is not None}
    known |= {-x for x in known}  # A sign is an operator of its own.
    step = column.step
    beside = [
        x + sign * step if step else np.nextafter(x, sign * np.inf)
        for x in known
        for sign in (-1.0, 1.0)
    ]
    low, high = column.range or (-1e300, 1e300)
    inside = [x for x in (*known, *beside) if low <= x <= high]
    return np.array([low, high, *inside, *([np.nan] if column.missing_codes else [])])
