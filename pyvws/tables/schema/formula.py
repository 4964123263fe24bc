"""Read a formula as R does: variables in order of appearance, and the terms made of variables.

formulaic does the algebra of ``+ - * : / ^``. One plain word stands for each variable (a column or
a call) in this algebra, so that the variable keeps R's spelling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from pyvws.errors import InputError
from pyvws.tables.schema.expressions import Expression, Token, tokens

_BEFORE: Final = frozenset(["~", "+", "-", ""])
_AFTER: Final = frozenset(["+", "-", ""])


@dataclass(frozen=True, slots=True)
class ReadFormula:
    """A formula's intercept (true or false), variables, and terms as ascending variable places.

    Terms are in R's order: by the number of their variables, then by their place in the formula.
    """

    intercept: bool
    variables: tuple[Expression, ...]
    terms: tuple[tuple[int, ...], ...]

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
        raise InputError(
            f"formula must have nothing before '~', since outcome= names the outcome. Got "
            f"{formula!r}."
        )
    if "|" in signs:
        raise InputError(f"formula must have one part, without '|'. Got {formula!r}.")
    plain, variables = _plain(parts[1:] if parts and parts[0].text == "~" else parts, formula)
    if "~" in plain or not plain:
        raise _unreadable(formula)
    terms = _algebra(" ".join(plain), formula)
    return ReadFormula(() in terms, tuple(variables), tuple(term for term in terms if term))


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
    return InputError(
        f"formula {formula!r} cannot be read. Write it like '~ Urban + Marital', with `backticks` "
        "around names that are no plain words."
    )


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
