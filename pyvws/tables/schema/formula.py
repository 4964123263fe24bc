"""Read a formula as R does: variables in order of appearance, and the terms made of variables.

A variable is a column or an expression as R spells it: ``log(x)``, ``I(x^2)``, ``poly(age, 3)``.
Its tokens give its name as R prints it, the columns that it uses, and Python code to evaluate.
Operators that bind otherwise in Python than in R (``&``, ``!``, ``%%``) are no tokens, so the
package refuses a formula with such an operator and does not misread it.

formulaic does the algebra of ``+ - * : / ^``. One plain word stands for each variable in this
algebra, so that the variable keeps R's spelling.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.r_numbers import rarith
from pyvws.tables.schema.factors import (
    level_label,
    make_factor,
    number_label,
    orthogonal_polynomials,
)

if TYPE_CHECKING:
    import pandas as pd

_BEFORE: Final = frozenset(["~", "+", "-", ""])
_AFTER: Final = frozenset(["+", "-", ""])
_LOGARITHMS: Final[dict[float, Callable[[Any], Any]]] = {2: np.log2, 10: np.log10}


def as_factor(x: object) -> Any:
    """R's ``as.factor``: a category keeps its levels; other values get the sorted distinct ones."""
    import pandas as pd

    if isinstance(x, pd.Categorical):
        return x
    coded = make_factor(x)
    return pd.Categorical.from_codes(coded.codes, list(coded.levels))


def factor(x: object) -> Any:
    """R's ``factor``: the factor of `as_factor` without the levels that never occur."""
    return as_factor(x).remove_unused_categories()


def relevel(x: pd.Categorical, ref: object) -> Any:
    """R's ``relevel``: the level `ref` becomes the first."""
    import pandas as pd

    labels = [level_label(level) for level in x.categories]
    if x.ordered or str(ref) not in labels:
        raise ValueError("relevel takes a factor that is not ordered, and one of its levels")
    moved = sorted(labels, key=lambda label: label != str(ref))
    codes = np.array([moved.index(label) for label in labels])[x.codes]
    return pd.Categorical.from_codes(codes, moved)


def poly(x: ArrayLike, degree: int = 1, raw: bool = False) -> Floats:
    """R's ``poly``: orthogonal polynomials of x (N,), or its powers, shape (N, degree)."""
    values = np.asarray(x, dtype=np.float64)
    if raw:
        return np.asarray(values[:, None] ** np.arange(1, int(degree) + 1))
    return orthogonal_polynomials(values, int(degree))


def scale(x: ArrayLike) -> Floats:
    """R's ``scale``: (x - mean of x) / standard deviation of x."""
    values = np.asarray(x, dtype=np.float64)
    return np.asarray((values - rarith.mean(values)) / np.sqrt(rarith.var(values)))


def log(x: ArrayLike, base: ArrayLike | None = None) -> Any:
    """R's ``log``: the natural logarithm, or the logarithm to a base."""
    if base is None:
        return np.log(x)
    if isinstance(base, (int, float)) and base in _LOGARITHMS:
        return _LOGARITHMS[base](x)
    return np.log(x) / np.log(base)


def as_numeric(x: ArrayLike) -> Floats:
    """R's ``as.numeric``: numbers and truth values as floats."""
    if np.asarray(x).dtype.kind not in "bif":
        raise TypeError("as.numeric takes numbers and truth values")
    return np.asarray(x, dtype=np.float64)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "C": as_factor,
    "I": lambda x: x,  # Arithmetic inside it is plain arithmetic.
    "abs": np.abs,
    "as.factor": as_factor,
    "as.numeric": as_numeric,
    "ceiling": np.ceil,
    "exp": np.exp,
    "expm1": np.expm1,
    "factor": factor,
    "floor": np.floor,
    "log": log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "poly": poly,
    "relevel": relevel,
    "scale": scale,
    "sqrt": np.sqrt,
}
# The argument of these functions keeps its type: a whole number 100000 gives the level "100000",
# a double gives "1e+05".
FACTOR_MAKERS: Final = frozenset({"C", "as.factor", "factor", "relevel"})


_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?L?(?![\w.]))
    | (?P<name>(?:[^\W\d]|\.(?!\d))[\w.]*)
    | `(?P<quoted>[^`]+)`
    | (?P<text>"[^"\\]*"|'[^'\\]*')
    | (?P<operator>\*\*|==|!=|<=|>=|[-+*/^:()~|,=<>])
    )""",
    re.VERBOSE,
)
_SYNTACTIC: Final = re.compile(r"(?:[^\W\d_]|\.(?!\d))[\w.]*")
_RESERVED: Final = frozenset(
    {"if", "else", "repeat", "while", "function", "for", "next", "break", "in"}
    | {"TRUE", "FALSE", "NULL", "Inf", "NaN", "NA"}
)
_CONSTANTS: Final = {"TRUE": "True", "FALSE": "False", "True": "True", "False": "False"}
_SPACED: Final = frozenset(["+", "-", "*", "==", "!=", "<=", ">=", "<", ">", "="])
_INSIDE: Final = _SPACED | {"**", "^", "/", "(", ")", ","}


@dataclass(frozen=True, slots=True)
class Token:
    """A word or sign of a formula: its kind (number, name, quoted, text, operator) and its text."""

    kind: str
    text: str


def tokens(formula: str) -> list[Token] | None:
    """The tokens of a formula, or None where a sign has no meaning in a formula."""
    read, place, text = [], 0, formula.strip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None or match.lastgroup is None:
            return None
        read.append(Token(match.lastgroup, match[match.lastgroup]))
        place = match.end()
    return read


class Expression:
    """A column name or a call within a formula.

    `label` is the expression as R prints it. `columns` are the columns that the expression reads,
    in order. The class raises InputError for an unknown function or a sign that has no meaning.
    """

    def __init__(self, parts: Sequence[Token]) -> None:
        self.label = "".join(_joined(parts, place) for place in range(len(parts)))
        self._parts = tuple(parts)
        names = [part.text for place, part in enumerate(parts) if _is_column(parts, place)]
        self.columns = tuple(dict.fromkeys(names))
        for place, part in enumerate(parts):
            if part.kind == "operator" and part.text not in _INSIDE:
                raise InputError.by("formula-sign-in-name", text=part.text, label=self.label)
            if _is_function(parts, place):
                _function(part.text)

    def evaluate(self, values: Mapping[str, Any], raw: Mapping[str, Any]) -> Any:
        """The expression over the columns' `values`; functions that make factors get `raw` ones."""
        names: dict[str, Any] = {"__builtins__": {}}
        code = []
        for place, part in enumerate(self._parts):
            alias = f"_{place}_"
            if _is_column(self._parts, place):
                names[alias] = (raw if self._makes_factor(place) else values)[part.text]
                code.append(alias)
            elif _is_function(self._parts, place):
                names[alias] = _function(part.text)
                code.append(alias)
            elif part.kind == "number":
                code.append(part.text.removesuffix("L"))
            else:
                code.append({"^": "**", **_CONSTANTS}.get(part.text, part.text))
        return eval(" ".join(code), names)

    def _makes_factor(self, place: int) -> bool:
        before = [part.text for part in self._parts[max(place - 2, 0) : place]]
        return len(before) == 2 and before[0] in FACTOR_MAKERS and before[1] == "("


def _is_function(parts: Sequence[Token], place: int) -> bool:
    following = parts[place + 1].text if place + 1 < len(parts) else ""
    return parts[place].kind == "name" and following == "("


def _is_column(parts: Sequence[Token], place: int) -> bool:
    part = parts[place]
    following = parts[place + 1].text if place + 1 < len(parts) else ""
    if part.kind == "quoted":
        return True
    return part.kind == "name" and following not in ("(", "=") and part.text not in _CONSTANTS


def _function(name: str) -> Any:
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    module, _, rest = name.partition(".")
    if module == "np" and callable(getattr(np, rest, None)):
        return getattr(np, rest)
    raise InputError.by("formula-function", name=name, functions=", ".join(sorted(FUNCTIONS)))


def _joined(parts: Sequence[Token], place: int) -> str:
    """A token as R prints it, with the spaces that R puts around it."""
    part = parts[place]
    if part.kind == "number":
        whole = part.text.endswith("L")
        return part.text if whole else number_label(float(part.text))
    if part.kind == "text":
        return '"' + part.text[1:-1].replace('"', '\\"') + '"'
    if part.kind in ("name", "quoted"):
        plain = _SYNTACTIC.fullmatch(part.text) and part.text not in _RESERVED
        return part.text if plain or part.text in _CONSTANTS else f"`{part.text}`"
    before = parts[place - 1] if place else Token("operator", "(")
    unary = part.text in "+-" and before.kind == "operator" and before.text != ")"
    if part.text == ",":
        return ", "
    if part.text in _SPACED and not unary:
        return f" {part.text} "
    return "^" if part.text == "**" else part.text


@dataclass(frozen=True, slots=True)
class ReadFormula:
    """A formula's intercept (true or false), variables, and terms as ascending variable places.

    Terms are in R's order: by the number of their variables, then by their place in the formula.
    `text` is the formula as messages have it.
    """

    intercept: bool
    variables: tuple[Expression, ...]
    terms: tuple[tuple[int, ...], ...]
    text: str

    def alone(self, variable: Expression) -> ReadFormula:
        """One variable of the formula, in no term."""
        return ReadFormula(False, (variable,), (), self.text)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the variables read, in order of appearance."""
        return tuple(dict.fromkeys(name for v in self.variables for name in v.columns))


@lru_cache(maxsize=100)
def read_formula(formula: str) -> ReadFormula:
    """Read a one-sided formula such as "~ Urban * log(age) - 1".

    The function raises InputError for a formula with two sides or two parts, or an unreadable one.
    """
    parts = tokens(formula)
    if parts is None:
        raise _unreadable(formula)
    signs = [part.text for part in parts if part.kind == "operator"]
    if "~" in signs and parts[0].text != "~":
        raise InputError.by("formula-two-sided", formula=formula)
    if "|" in signs:
        raise InputError.by("formula-with-bar", formula=formula)
    plain, variables = _plain(parts[1:] if parts and parts[0].text == "~" else parts, formula)
    if "~" in plain or not plain:
        raise _unreadable(formula)
    terms = _algebra(" ".join(plain), formula)
    return ReadFormula(() in terms, tuple(variables), tuple(filter(None, terms)), formula)


def dotted(formula: str, columns: Sequence[str]) -> str:
    """The formula with the sum of `columns` in the place of the word `.`, as in R and formulaic.

    A formula without the word, or one that cannot be read, stays as it is.
    """
    parts = tokens(formula)
    if not columns or parts is None or Token("name", ".") not in parts:
        return formula
    every = "(" + " + ".join(f"`{name}`" for name in columns) + ")"
    written = {"quoted": "`{}`"}
    return " ".join(
        every if part == Token("name", ".") else written.get(part.kind, "{}").format(part.text)
        for part in parts
    )


def _unreadable(formula: str) -> InputError:
    return InputError.by("formula-unreadable", formula=formula)


def _plain(parts: Sequence[Token], formula: str) -> tuple[list[str], list[Expression]]:
    """The formula with a plain word for each variable, and the distinct variables."""
    words: dict[str, int] = {}
    variables: list[Expression] = []
    plain: list[str] = []
    place, depth = 0, 0
    while place < len(parts):
        part = parts[place]
        if part.kind in ("name", "quoted"):
            end = _end(parts, place, formula)
            variable = Expression(parts[place:end])
            if words.setdefault(variable.label, len(variables)) == len(variables):
                variables.append(variable)
            plain.append(f"_{words[variable.label]}_")
            place = end
            continue
        depth += {"(": 1, ")": -1}.get(part.text, 0)
        if part.kind == "text" or (part.kind == "number" and not _number_fits(parts, place, depth)):
            raise _unreadable(formula)
        plain.append("**" if part.text == "^" else part.text)
        place += 1
    return plain, variables


def _end(parts: Sequence[Token], start: int, formula: str) -> int:
    """The place where the variable from `start` ends: after a name, or after a call's ')'."""
    if parts[start].kind == "quoted" or start + 1 == len(parts) or parts[start + 1].text != "(":
        return start + 1
    depth = 0
    for place in range(start + 1, len(parts)):
        if parts[place].kind == "operator":
            depth += {"(": 1, ")": -1}.get(parts[place].text, 0)
        if depth == 0:
            return place + 1
    raise _unreadable(formula)


def _number_fits(parts: Sequence[Token], place: int, depth: int) -> bool:
    """Whether a number is an intercept (0 or 1, outside brackets) or the power of a bracket."""
    before = parts[place - 1].text if place else ""
    after = parts[place + 1].text if place + 1 < len(parts) else ""
    if before in ("^", "**"):
        return parts[place].text.isdecimal()
    intercept = parts[place].text in ("0", "1") and (before, parts[place].text) != ("-", "0")
    return intercept and depth == 0 and before in _BEFORE and after in _AFTER


def _algebra(plain: str, formula: str) -> list[tuple[int, ...]]:
    """Terms of a formula over the words _0_, _1_, ...; the intercept is the empty term."""
    from formulaic import Formula
    from formulaic.errors import FormulaicError

    try:
        parsed: Any = Formula(plain)
    except (FormulaicError, SyntaxError, ValueError):
        raise _unreadable(formula) from None
    terms = []
    for term in parsed:
        words = [str(factor) for factor in term.factors]
        terms.append(tuple(sorted(int(word.strip("_")) for word in words if word != "1")))
    return terms
