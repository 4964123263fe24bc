"""Arithmetic of rules: sums, products, ratios, powers and logarithms of the numbers of a record.

An expression takes names of columns, numbers, ``+``, ``-``, ``*``, ``/``, ``**`` with a positive
number, and ``log``, ``log10``, ``log1p``, ``exp`` and ``sqrt``. It is evaluated between ends, from
those of its parts: the ends of a column's range give the range of what follows from it. It is
missing where a part is.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np

from pyvws._base.checks import Floats, Values
from pyvws.errors import InputError
from pyvws.tables.files.labels import as_number

SINGLE: Final = 1e-7
"""How far a number of single precision is from the one it stands for, as a share of it."""

EXACT: Final = 1e-12
"""The same of a double: arithmetic of amounts such as 0.1 is exact but for last bits."""

HELP: Final = (
    'A rule reads "missing where age < 15", "missing only where age < 15", '
    '"N only where age < 15", "0 where owner == \'no\'", "never married where age < 15", '
    '">= wages", "< assets", "= wages + pensions - 5" or "= 0.17 * minutes".'
)
FUNCTIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    **{"log": np.log, "log10": np.log10, "log1p": np.log1p},
    **{"exp": np.exp, "sqrt": np.sqrt},
}
"""The functions of an expression, all of which rise."""

_QUOTED: Final = re.compile(r"`([^`]+)`")
_LARGEST: Final = float(np.finfo(np.float64).max)

Ends = tuple[Any, Any]
"""The least and the largest value, NaN where there is none."""


class Coded(Protocol):
    """What an expression, a condition or a rule asks of a column.

    Labels of its codes, or None for a number; dates have the start of their days.
    """

    @property
    def coded_levels(self) -> tuple[str | None, ...]: ...

    @property
    def categorical(self) -> bool: ...

    @property
    def missing_codes(self) -> tuple[str | None, ...]: ...

    @property
    def days_since(self) -> str | None: ...

    @property
    def range(self) -> tuple[float, float] | None: ...

    @property
    def decimals(self) -> int | None: ...

    @property
    def group_by(self) -> int | None: ...

    def takes(self, label: str) -> bool: ...

    def code_of(self, label: str | None) -> float: ...

    def part_code_of(self, label: str | None) -> float: ...

    def rounded(self, numbers: Floats | float) -> Floats: ...


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """An expression of columns of a record, as `text` states it."""

    tree: ast.expr = field(compare=False, repr=False)
    names: Mapping[str, str] = field(compare=False, repr=False)
    text: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, each once, as they stand in the text."""
        walked = [*ast.walk(self.tree)]
        called = {id(node.func) for node in walked if isinstance(node, ast.Call)}
        found = [x for x in walked if isinstance(x, ast.Name) and id(x) not in called]
        found.sort(key=lambda x: (x.lineno, x.col_offset))
        return tuple(dict.fromkeys(self.names.get(x.id, x.id) for x in found))

    @property
    def column(self) -> str | None:
        """The column that the expression is; None for more than a name."""
        return self.columns[0] if isinstance(self.tree, ast.Name) else None

    def of(self, values: Values, columns: Mapping[str, Coded]) -> Floats:
        """The numbers (n,), by the columns' values (n,) as `Schema.coded` gives them."""
        return np.asarray(self.between(values, columns, 0.0)[0])

    def between(self, values: Values, columns: Mapping[str, Coded], share: Floats | float) -> Ends:
        """The ends (n,) of the numbers where each part may be wrong by a `share` (n,) of it."""

        def ends(name: str) -> Ends:
            numbers = numbers_of(columns[name], values[name], _asker(name))
            return numbers - share * np.abs(numbers), numbers + share * np.abs(numbers)

        return self._folded(ends)

    def range_in(self, columns: Mapping[str, Coded]) -> tuple[float, float]:
        """The least and the largest number, infinite where a part has no range.

        Raises InputError for a category with labels that are no numbers, and where a logarithm, a
        root or a ratio would have no value for some numbers of a range.
        """

        def ends(name: str) -> Ends:
            column = columns[name]
            if not column.categorical:
                return column.range or (-_LARGEST, _LARGEST)
            numbers = level_numbers(column, _asker(name))
            known = numbers[~np.isnan(numbers)]
            return (known.min(), known.max()) if len(known) else (0.0, 0.0)

        low, high = map(float, self._folded(ends))
        if math.isnan(low) or math.isnan(high):
            raise InputError.by("rule-undefined-for-numbers", text=self.text)
        return -math.inf if low <= -_LARGEST else low, math.inf if high >= _LARGEST else high

    def dates(self, columns: Mapping[str, Coded]) -> int:
        """How many dates are added, less those subtracted; InputError for other arithmetic."""

        def signed(node: ast.expr) -> int:
            match node:
                case ast.Name():
                    return int(columns[self.names.get(node.id, node.id)].days_since is not None)
                case ast.BinOp(op=ast.Add()):
                    return signed(node.left) + signed(node.right)
                case ast.BinOp(op=ast.Sub()):
                    return signed(node.left) - signed(node.right)
                case ast.UnaryOp():
                    return -signed(node.operand)
                case ast.BinOp() | ast.Call():
                    parts = [node.left, node.right] if isinstance(node, ast.BinOp) else node.args
                    if any(map(signed, parts)):
                        raise InputError.by("rule-adds-dates")
            return 0

        return signed(self.tree)

    def _folded(self, ends_of: Callable[[str], Ends]) -> Ends:
        def leaf(node: ast.expr) -> Ends:
            if isinstance(node, ast.Name):
                return ends_of(self.names.get(node.id, node.id))
            number = _number(node)
            assert number is not None
            return number, number

        with np.errstate(all="ignore"):
            return folded(self.tree, leaf)


def precision(numbers: Floats) -> Floats:
    """How far numbers (n,) may be from those they stand for, as a share: `SINGLE` or `EXACT`.

    A number of single precision, as 6.19999980926514, is one that four bytes hold.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.abs(numbers.astype(np.float32) - numbers)
    return np.where(off <= EXACT * np.abs(numbers), SINGLE, EXACT)


def is_single(numbers: Floats) -> bool:
    """Whether all numbers (n,) that are not missing are of single precision."""
    return bool((precision(numbers[~np.isnan(numbers)]) == SINGLE).all())


def read_arithmetic(expression: str, text: str) -> Arithmetic:
    """The expression that a rule `text` states; InputError in one line for other text."""
    tree, names = parsed(expression, text)
    try:
        _check(tree, text)
    except RecursionError:
        raise InputError.by("rule-unreadable", text=text, help=HELP) from None
    read = Arithmetic(tree, names, expression.strip())
    if not read.columns:
        raise InputError.by("rule-without-column", text=text, help=HELP)
    return read


def parsed(expression: str, text: str) -> tuple[ast.expr, dict[str, str]]:
    """The syntax tree, in which names in backquotes stand as plain ones, and what these mean."""
    names: dict[str, str] = {}

    def plain(quoted: re.Match[str]) -> str:
        names[f"quoted_{len(names)}"] = quoted[1]
        return list(names)[-1]

    try:
        return ast.parse(_QUOTED.sub(plain, expression).strip(), mode="eval").body, names
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError.by("rule-unreadable", text=text, help=HELP) from None


def _check(node: ast.expr, text: str) -> None:
    """Raise InputError for an expression that holds something else than arithmetic."""
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
            _check(node.left, text)
            _check(node.right, text)
        case ast.BinOp(op=ast.Pow()) if _number(node.right):
            _check(node.left, text)
        case ast.UnaryOp(op=ast.USub()):
            _check(node.operand, text)
        case ast.Call(func=ast.Name(id=name), args=[part], keywords=[]) if name in FUNCTIONS:
            _check(part, text)
        case ast.Name():
            pass
        case ast.Constant() if _number(node) is not None:
            pass
        case _:
            known = ", ".join(FUNCTIONS)
            raise InputError.by("rule-words", text=text, known=known, help=HELP)


def _number(node: ast.expr) -> float | None:
    """The number that a constant is, at least 0 as none has a sign; None of anything else."""
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value > _LARGEST:
        return None
    return float(value)


def folded(node: ast.expr, leaf: Callable[[ast.expr], Ends]) -> Ends:
    """The ends of an expression, from those that `leaf` gives for its names and constants."""
    if isinstance(node, ast.BinOp):
        return _OPERATIONS[type(node.op)](folded(node.left, leaf), folded(node.right, leaf))
    if isinstance(node, ast.UnaryOp):
        low, high = folded(node.operand, leaf)
        return -high, -low
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)
        function = FUNCTIONS[node.func.id]
        low, high = (_finite(function(end)) for end in folded(node.args[0], leaf))
        return low, high
    return leaf(node)


def _finite(numbers: Floats) -> Any:
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _outer(ends: list[Any]) -> Ends:
    return np.minimum.reduce(ends), np.maximum.reduce(ends)


def _ratio(a: Ends, b: Ends) -> Ends:
    around_0 = (b[0] <= 0.0) & (b[1] >= 0.0)
    low, high = _outer([np.divide(x, y) for x in a for y in b])
    return np.where(around_0, np.nan, low), np.where(around_0, np.nan, high)


def _power(a: Ends, b: Ends) -> Ends:
    low, high = _outer([np.power(x, b[0]) for x in a])
    turns = (b[0] % 2.0 == 0.0) & (a[0] < 0.0) & (a[1] > 0.0)
    return np.where(turns, 0.0, low), high


_OPERATIONS: Final[Mapping[type[ast.operator], Callable[[Ends, Ends], Ends]]] = {
    ast.Add: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    ast.Sub: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    ast.Mult: lambda a, b: _outer([x * y for x in a for y in b]),
    ast.Div: _ratio,
    ast.Pow: _power,
}


def _asker(name: str) -> str:
    return f"a rule takes the numbers of column {name!r}"


def numbers_of(column: Coded, values: Floats, asker: str) -> Floats:
    """The numbers (n,) of a column, by its values as `Schema.coded` gives them.

    Those of a category are what its labels spell, as `level_numbers` gives them.
    """
    if not column.categorical:
        return values
    return level_numbers(column, asker)[values.astype(np.intp) - 1]


def level_numbers(column: Coded, asker: str) -> Floats:
    """The numbers (L,) that a category's labels spell, NaN for a missing one.

    Raises InputError for a label that is no number; `asker` is what asks for numbers.
    """
    numbers = [
        np.nan if label is None or label in column.missing_codes else as_number(label)
        for label in column.coded_levels
    ]
    if None in numbers:
        raise InputError.by("compared-levels-not-numbers", asker=asker)
    return np.array(numbers, dtype=np.float64)
