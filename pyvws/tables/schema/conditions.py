"""Conditions on the columns of a record, as rules and households have them.

A condition compares columns with numbers, dates or labels, by ``==``, ``!=``, ``<``, ``<=``, ``>``,
``>=`` and ``in``, joined by ``and``, ``or`` and ``not``; `missing` stands for a missing value. An
order takes sums of numbers too, as in "parent - age < 12"; they are missing where a part is.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Bools, Floats, Values
from pyvws.errors import InputError
from pyvws.tables.files.labels import as_days, as_number, label_of
from pyvws.tables.schema.arithmetic import HELP, Coded, folded, numbers_of, parsed

MISSING: Final = "missing"
_ORDER: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on other columns of a record; `columns` are the names that it reads."""

    tree: ast.expr
    names: Mapping[str, str]
    text: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, each once."""
        names = (name.id for name in ast.walk(self.tree) if isinstance(name, ast.Name))
        return tuple(dict.fromkeys(self.names.get(name, name) for name in names if name != MISSING))

    def holds(self, values: Values, columns: Mapping[str, Coded]) -> Bools:
        """Where the condition holds (n,), by the columns' values (n,) as `Schema.coded` gives them.

        A missing value is unequal to every other, and neither above nor below one. Raises
        InputError for a label that a category lacks and an order of labels that are no numbers.
        """
        return _Reader(self.names, values, columns).truth(self.tree)


def read_condition(expression: str, text: str | None = None) -> Condition:
    """The condition that an expression states; InputError in one line, naming the rule `text`."""
    text = text or expression
    tree, names = parsed(expression, text)
    condition = Condition(tree, names, expression)
    _check(tree, text)
    if not condition.columns:
        raise InputError.by("rule-without-column", text=text, help=HELP)
    return condition


def _check(node: ast.expr, text: str) -> None:
    """Raise InputError for a condition that holds something else than comparisons."""
    match node:
        case ast.BoolOp():
            for part in node.values:
                _check(part, text)
        case ast.UnaryOp(op=ast.Not()):
            _check(node.operand, text)
        case ast.Compare():
            ordered = all(type(op) in _ORDER for op in node.ops)
            for side in (node.left, *node.comparators):
                if not (_plain(side) or (ordered and _is_sum(side))):
                    raise InputError.by("rule-compares-more", text=text, help=HELP)
            for op, side in zip(node.ops, node.comparators, strict=True):
                listed, among = isinstance(side, ast.List | ast.Tuple), isinstance(op, ast.In)
                if listed != (among or isinstance(op, ast.NotIn)) or isinstance(op, ast.Is):
                    raise InputError.by("rule-in-without-list", text=text, help=HELP)
        case _:
            raise InputError.by("rule-without-comparison", text=text, help=HELP)


def _plain(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or _constant(node) is not None


def _is_sum(node: ast.expr) -> bool:
    """Whether a side of a comparison adds and subtracts columns and numbers."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return _is_sum(node.left) and _is_sum(node.right)
    return _plain(node)


def _constant(node: ast.expr) -> Any:
    """The number, label or list of them that a node spells; None for anything else."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str()):
            return node.value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return -ast.literal_eval(node.operand)
        case ast.List() | ast.Tuple():
            constants = [_constant(element) for element in node.elts]
            return None if any(x is None or isinstance(x, list) for x in constants) else constants
    return None


@dataclass(frozen=True, slots=True)
class _Reader:
    """Evaluates a condition's tree on the values of columns."""

    names: Mapping[str, str]
    values: Values
    columns: Mapping[str, Coded]

    def truth(self, node: ast.expr) -> Bools:
        if isinstance(node, ast.BoolOp):
            joined = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
            return np.asarray(joined.reduce([self.truth(part) for part in node.values]))
        if isinstance(node, ast.UnaryOp):
            return ~self.truth(node.operand)
        assert isinstance(node, ast.Compare)
        sides = [node.left, *node.comparators]
        pairs = zip(sides[:-1], node.ops, sides[1:], strict=True)
        return np.asarray(np.logical_and.reduce([self.pair(*part) for part in pairs]))

    def pair(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Bools:
        """One comparison (n,) of two sides."""
        if isinstance(op, ast.In | ast.NotIn):
            assert isinstance(right, ast.List | ast.Tuple)
            equal = [self.equal(left, label) for label in right.elts]
            among = np.logical_or.reduce(equal) if equal else self.equal(left, left) & False
            return ~among if isinstance(op, ast.NotIn) else np.asarray(among)
        if isinstance(op, ast.Eq | ast.NotEq):
            equal_sides = self.equal(left, right)
            return ~equal_sides if isinstance(op, ast.NotEq) else equal_sides
        with np.errstate(invalid="ignore"):
            sides = self.number(left, right), self.number(right, left)
            return np.asarray(_ORDER[type(op)](*sides))

    def named(self, node: ast.expr) -> str | None:
        """The column that a node names; None for a constant and for `missing`."""
        name = self.names.get(node.id, node.id) if isinstance(node, ast.Name) else None
        return name if name != MISSING or name in self.columns else None

    def equal(self, left: ast.expr, right: ast.expr) -> Bools:
        if self.named(left) is None:
            left, right = right, left
        name = self.named(left)
        assert name is not None
        column, values = self.columns[name], self.values[name]
        if isinstance(right, ast.Name) and self.named(right) is None:
            return is_missing(column, values)
        if self.named(right) is not None:
            return np.asarray(self.number(left, right) == self.number(right, left))
        if not column.categorical:
            return np.asarray(values == self.number(right, left))
        label = label_of(_constant(right))
        if label not in column.coded_levels:
            raise InputError.by("rule-unknown-label", name=name)
        return np.asarray(values == column.coded_levels.index(label) + 1.0)

    def start(self, node: ast.expr) -> str | None:
        """The start of the days that a side counts; None for a side that is no column of dates."""
        name = self.named(node)
        return None if name is None else self.columns[name].days_since

    def number(self, node: ast.expr, beside: ast.expr) -> Any:
        """A side as numbers: a constant, a number's values, or labels that are all numbers.

        Beside dates a constant is a date too, and counts days since their start.
        """
        if isinstance(node, ast.BinOp):
            return folded(node, lambda part: (self.number(part, part),) * 2)[0]
        name, start = self.named(node), self.start(beside)
        if name is None:
            constant = _constant(node)
            if start is not None:
                days = as_days(str(constant), start)
                if days is None:
                    raise InputError.by("rule-compares-dates-with-text")
                return days
            number = as_number(constant) if isinstance(constant, str) else constant
            if number is None or isinstance(number, list):
                raise InputError.by("rule-orders-no-number")
            return float(number)
        if self.named(beside) is not None and self.start(node) != start:
            raise InputError.by("rule-compares-dates-of-other-days")
        column, values = self.columns[name], self.values[name]
        return numbers_of(column, values, f"a rule compares column {name!r} by size")


def is_missing(column: Coded, values: Floats) -> Bools:
    """Where a column is missing (n,), by its values as `Schema.coded` gives them."""
    if not column.categorical:
        return np.isnan(values)
    levels = column.coded_levels
    codes = [levels.index(code) + 1.0 for code in column.missing_codes if code in levels]
    return np.isin(values, codes)
