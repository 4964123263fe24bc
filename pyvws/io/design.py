"""A formula's design matrix, by formulaic, with R's conventions for factors and intercepts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from scipy.linalg import qr

from pyvws._checks import Floats
from pyvws.errors import InputError
from pyvws.io.frame import plain_columns

__all__ = ["Design", "make_design"]

_DOTTED = re.compile(r"[^\W\d]\w*(\.\w+)+")


@dataclass(frozen=True, slots=True)
class Design:
    """A design matrix (N, K), its K column names, and the table's columns that it is made of."""

    matrix: Floats
    names: tuple[str, ...]
    predictors: tuple[str, ...]


def make_design(frame: nw.DataFrame[Any], formula: str, *, outcome: str) -> Design:
    """The design of a one-sided formula such as "~ Urban + Marital".

    Numbers enter as they are; text, booleans and categories become treatment contrasts against
    the first level; C(x) makes a number a factor. A name with a dot stands as in R, any other name
    that is no identifier between backticks. Raises InputError for an unknown column, missing
    values, a formula that uses the outcome, or columns that depend on each other.
    """
    from formulaic import Formula, StructuredFormula, model_matrix
    from formulaic.errors import FormulaicError

    plain, aliases = _aliased(formula, frame.columns)
    try:
        parsed = Formula(plain)
    except (FormulaicError, SyntaxError, ValueError):
        raise InputError(
            f"formula {formula!r} cannot be read. Write it like '~ Urban + Marital'."
        ) from None
    if hasattr(parsed, "lhs"):
        raise InputError(
            f"formula must have nothing before '~', since outcome= names the outcome. Got "
            f"{formula!r}."
        )
    if isinstance(parsed, StructuredFormula):
        raise InputError(f"formula must have one part, without '|'. Got {formula!r}.")
    originals = {alias: name for name, alias in aliases.items()}
    wanted = {originals.get(str(name), str(name)) for name in parsed.required_variables}
    if outcome in wanted:
        raise InputError(f"formula uses the outcome {outcome!r} as a predictor. Take it out.")
    plain_columns(frame, sorted(wanted - set(frame.columns)), role="formula")
    predictors = tuple(name for name in frame.columns if name in wanted)
    columns = plain_columns(frame, predictors, role="formula")
    renamed = {aliases.get(name, name): column for name, column in columns.items()}
    matrix, built = _materialize(model_matrix, plain, renamed, len(frame), shown=formula)
    names = tuple(_with_originals(name, originals) for name in built)
    _refuse_rank_deficient(matrix, names)
    return Design(matrix, names, predictors)


def _aliased(formula: str, columns: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The formula with identifiers for the columns whose names are none, and those by name.

    formulaic reads an expression as Python, where x.y is an attribute of x.
    """
    aliases = {}
    others = sorted((name for name in columns if not name.isidentifier()), key=len, reverse=True)
    for place, name in enumerate(others):
        pattern = re.escape(f"`{name}`")
        if _DOTTED.fullmatch(name):
            pattern += rf"|(?<![\w.`'\"]){re.escape(name)}(?![\w.`'\"(])"
        alias = f"_column_{place}_"
        formula, found = re.subn(pattern, alias, formula)
        if found:
            aliases[name] = alias
    return formula, aliases


def _with_originals(name: str, originals: dict[str, str]) -> str:
    for alias, original in originals.items():
        name = name.replace(alias, original)
    return name


def _materialize(
    model_matrix: Any, formula: str, columns: dict[str, Any], n: int, *, shown: str
) -> tuple[Floats, tuple[str, ...]]:
    import pandas as pd

    data = pd.DataFrame(columns, index=pd.RangeIndex(n))
    try:
        with np.errstate(all="ignore"):  # What is not finite is named below.
            built = model_matrix(formula, data, na_action="raise")
    except Exception as error:  # formulaic evaluates the user's own expressions
        raise InputError(
            f"formula {shown!r} could not be evaluated on the table "
            f"({type(error).__name__}). Check its functions and column types."
        ) from None
    matrix = np.ascontiguousarray(built, dtype=np.float64)
    names = tuple(str(name) for name in built.columns)
    if matrix.shape[1] == 0:
        raise InputError(f"formula {shown!r} leaves no column. Keep the intercept: '~ 1'.")
    if not np.isfinite(matrix).all():
        finite = [bool(np.isfinite(column).all()) for column in matrix.T]
        worst = [name for name, ok in zip(names, finite, strict=True) if not ok]
        raise InputError(
            f"formula {shown!r} gives missing or infinite values in {', '.join(worst)}."
        )
    return matrix, names


def _refuse_rank_deficient(matrix: Floats, names: tuple[str, ...]) -> None:
    size = np.abs(matrix).max(axis=0)
    rows = np.unique(matrix / np.where(size > 0, size, 1.0), axis=0)
    diagonal, order = qr(rows, mode="r", pivoting=True)
    found = np.abs(np.diag(diagonal))
    rank = int((found > 1e-10 * max(found.max(initial=0.0), 1e-300)).sum())
    if rank < matrix.shape[1]:
        spare = ", ".join(names[column] for column in sorted(order[rank:]))
        raise InputError(
            f"The design matrix is rank-deficient: {rank} independent columns of "
            f"{matrix.shape[1]}. Drop one of the terms behind: {spare}."
        )
