"""Expressions of a formula as R spells them: ``log(x)``, ``I(x^2)``, ``poly(age, 3)``.

An expression is known by its tokens. They give its name as R prints it, the columns that it uses,
and Python code to evaluate. Operators that bind otherwise in Python than in R (``&``, ``!``,
``%%``) are no tokens, so a formula with one is refused rather than misread.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pyvws.errors import InputError
from pyvws.tables.factors import number_label
from pyvws.tables.r_functions import FACTOR_MAKERS, FUNCTIONS

__all__ = ["Expression", "Token", "tokens"]

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
    """One word or sign: its kind (number, name, quoted, text, operator) and its text."""

    kind: str
    text: str


def tokens(formula: str) -> list[Token] | None:
    """The tokens of a formula, or None where a sign has no meaning in one."""
    found, place, text = [], 0, formula.strip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None or match.lastgroup is None:
            return None
        found.append(Token(match.lastgroup, match[match.lastgroup]))
        place = match.end()
    return found


class Expression:
    """A column name or a call within a formula.

    `label` is how R prints it and `columns` what it reads, in order. Raises InputError for an
    unknown function or a sign that has no meaning in an expression.
    """

    def __init__(self, parts: Sequence[Token]) -> None:
        self.label = "".join(_spelled(parts, place) for place in range(len(parts)))
        self._parts = tuple(parts)
        names = [part.text for place, part in enumerate(parts) if _is_column(parts, place)]
        self.columns = tuple(dict.fromkeys(names))
        for place, part in enumerate(parts):
            if part.kind == "operator" and part.text not in _INSIDE:
                raise InputError(
                    f"formula has {part.text!r} within {self.label!r}, where it has no meaning. "
                    "Make the column in the table first."
                )
            if _is_function(parts, place):
                _function(part.text)

    def evaluate(self, values: Mapping[str, Any], raw: Mapping[str, Any]) -> Any:
        """The expression over the columns' `values`; what makes factors gets the `raw` ones."""
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
    raise InputError(
        f"formula uses the function {name!r}, which is not known here. Known: "
        f"{', '.join(sorted(FUNCTIONS))}, and NumPy's as np.name. Or make the column in the table "
        "first."
    )


def _spelled(parts: Sequence[Token], place: int) -> str:
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
