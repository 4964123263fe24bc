"""What rules leave open: whether they decide a column wholly, and whether they leave a level.

"16-24 where age < 25" with "25+ where age >= 25" leaves no value open. Such a column is computed,
as a sum is: no family is fitted, and it costs nothing. Rules with "never" must leave a level in
each case.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.schema.column import Column, Columns
from pyvws.tables.schema.rules import Fixed, Never

_MOST_CASES: Final = 100_000


def is_decided(column: Column, columns: Columns) -> bool:
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
    try:
        values = _every_case(rules, columns)
        if values is None:
            return False
        fixed = [rule.condition.holds(values, columns) for rule in rules]
        return bool(np.logical_or.reduce(fixed).all())
    except InputError:
        return False


def check_left(name: str, columns: Columns) -> None:
    """Raise InputError where the rules of a category bar what they fix, or leave it no level.

    Asked are the cases that the schema allows, as far as `is_decided` can say that.
    """
    column = columns[name]
    bars = [rule for rule in column.rules if isinstance(rule, Never)]
    fixes = [rule for rule in column.rules if isinstance(rule, Fixed)]
    values = _every_case([*bars, *fixes], columns) if bars else None
    if values is None:
        return
    n = len(next(iter(values.values())))
    possible = np.ones(n, dtype=np.bool_)
    for other in values:  # A case that breaks a rule of another column is none.
        for rule in columns[other].rules:
            if columns[other].categorical and {*rule.columns} <= {*values}:
                possible &= ~rule.judged(other, None, values, columns)[1]
    left = np.ones((n, len(column.coded_levels)), dtype=np.bool_)
    for rule in bars:
        left = rule.left(name, left, values, columns)
    kept, done = left[:, : column.n_drawn].any(axis=1), np.zeros(n, dtype=np.bool_)
    for rule in fixes:
        where, code = rule.settled(name, values, columns, of_part=False)
        kept = np.where(where & ~done, left[:, int(code) - 1], kept)
        done |= where
    if (possible & ~kept).any():
        raise InputError.by("never-leaves-nothing")


def _every_case(rules: Sequence[Fixed | Never], columns: Columns) -> dict[str, Floats] | None:
    """Values (n,) of the columns that conditions read, one for each case that they tell apart.

    None of conditions that compare two columns, and of too many cases.
    """
    read = dict.fromkeys(name for rule in rules for name in rule.columns)
    trees = [rule.condition.tree for rule in rules]
    if any(_compares_columns(tree) for tree in trees):
        return None
    nodes = [node for tree in trees for node in ast.walk(tree)]
    constants = {node.value for node in nodes if isinstance(node, ast.Constant)}
    cases = [_cases(columns[name], constants) for name in read]
    if math.prod(map(len, cases)) > _MOST_CASES:
        return None
    grid = np.meshgrid(*cases, indexing="ij")
    return {name: axis.ravel() for name, axis in zip(read, grid, strict=True)}


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
