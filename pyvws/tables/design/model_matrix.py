"""A formula's design matrix, with the columns, order and names of R's ``model.matrix``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from scipy.linalg import qr

from pyvws._base.checks import Bools, Floats
from pyvws.errors import InputError
from pyvws.tables.files.frame import Frame, plain_columns
from pyvws.tables.schema.factors import Factor, factor_values, make_factor
from pyvws.tables.schema.formula import ReadFormula, read_formula

Block = tuple[Floats, tuple[str, ...]]  # Columns (N, k) and their names.


@dataclass(frozen=True, slots=True)
class Design:
    """A design matrix (N, K), its K column names, and the table columns that the formula reads."""

    matrix: Floats
    names: tuple[str, ...]
    predictors: tuple[str, ...]


def make_design(frame: Frame, formula: str, *, outcome: str) -> Design:
    """The design of a one-sided formula such as "~ Urban + Marital".

    Columns, their order and their names are those of R's ``model.matrix``: "(Intercept)",
    "UrbanYes", "urbanTRUE:age", "poly(age, 3)2", "I(x^2)". Numbers enter as they are. Text,
    booleans and categories are factors with treatment contrasts. An ordered pandas category has
    polynomial contrasts. factor(x), as.factor(x) and C(x) make a factor of a number. Levels of text
    are sorted by code point, as R sorts in the C locale. A name that is no identifier stands
    between backticks.

    Raises InputError for an unknown column or function, missing values, a date, a formula that uses
    the outcome, or columns that depend on each other.
    """
    read = _read(formula, outcome)
    return _checked_design(frame, read, evaluated(read, _raw(frame, read), len(frame)))


def _read(formula: str, outcome: str) -> ReadFormula:
    read = read_formula(formula)
    if outcome in read.columns:
        raise InputError.by("formula-reads-outcome", outcome=outcome)
    return read


def _raw(frame: Frame, read: ReadFormula) -> dict[str, Any]:
    """The columns that a formula reads, as numbers, truth values, text or categories (N,)."""
    columns = plain_columns(frame, read.columns, role="formula")
    return {name: factor_values(frame[name], own, role="formula") for name, own in columns.items()}


def _checked_design(frame: Frame, read: ReadFormula, variables: Sequence[Any]) -> Design:
    matrix = assembled(read, variables, len(frame))
    names, terms = named_columns(read, variables)
    worst = [term for term, x in zip(terms, matrix.T, strict=True) if not np.isfinite(x).all()]
    if worst:
        named = ", ".join(dict.fromkeys(worst))
        raise InputError.by("formula-values-of-table", formula=read.text, fromkeys=named)
    refuse_rank_deficient(matrix, terms, read, variables)
    used = tuple(name for name in frame.columns if name in read.columns)
    return Design(matrix, tuple(names), used)


def named_columns(read: ReadFormula, variables: Sequence[Any]) -> tuple[list[str], list[str]]:
    """The name and the term of each of the K columns of evaluated variables."""
    empty = [replace(x, codes=x.codes[:0]) if isinstance(x, Factor) else x[:0] for x in variables]
    names = ["(Intercept)"] if read.intercept else []
    terms = list(names)  # For messages: a design column's name holds a level, a value.
    for term, full in _codings(read, variables):
        labels = _term(read, empty, term, full)[1]
        names += labels
        terms += [":".join(read.variables[place].label for place in term)] * len(labels)
    if not names:
        raise InputError.by("formula-without-column", formula=read.text)
    return names, terms


def assembled(read: ReadFormula, variables: Sequence[Any], n: int) -> Floats:
    """The matrix (n, K) of evaluated variables."""
    matrix = np.zeros((n, len(named_columns(read, variables)[0])))
    start = int(read.intercept)
    matrix[:, :start] = 1.0
    for term, full in _codings(read, variables):
        variable = variables[term[0]]
        if len(term) == 1 and isinstance(variable, Factor) and not variable.ordered:
            width = variable.mark(matrix[:, start:], contrasts=not full)
        else:
            block = _term(read, variables, term, full)[0]
            width = block.shape[1]
            matrix[:, start : start + width] = block
        start += width
    return matrix


def _term(
    read: ReadFormula, variables: Sequence[Any], term: tuple[int, ...], full: frozenset[int]
) -> Block:
    """The columns of a term: the products of its variables' columns."""
    return reduce(_interaction, [_block(read, variables, place, place in full) for place in term])


@dataclass(frozen=True, slots=True)
class RecodedDesign:
    """The design of a reference's M rows, and N rows of a table in the same columns.

    `known` (N,) says which rows have only levels that the reference has. The other rows of `matrix`
    (N, K) mean nothing.
    """

    design: Design
    matrix: Floats
    known: Bools


def recoded_design(reference: Frame, frame: Frame, formula: str, *, outcome: str) -> RecodedDesign:
    """The design of a reference table, and another table in the reference's coding.

    Levels and their order are the reference's. A row of `frame` is coded from its own values alone.
    Raises InputError as `make_design` does, for a variable that is a category in one table and a
    number in the other, and for a term such as poly(age, 2) that reads other rows as well.
    """
    read = _read(formula, outcome)
    raw, M, N = _raw(reference, read), len(reference), len(frame)
    variables = evaluated(read, raw, M)
    alone = of_own_row(read, variables, raw, M)
    for expression, variable, own_row in zip(read.variables, variables, alone, strict=True):
        if not (own_row or isinstance(variable, Factor)):
            raise InputError.by("formula-of-other-rows-in-reference", label=expression.label)
    design = _checked_design(reference, read, variables)
    known = np.ones(N, dtype=np.bool_)
    own, ours = [], evaluated(read, _raw(frame, read), N, single=True)
    for expression, theirs, own_values in zip(read.variables, variables, ours, strict=True):
        if isinstance(theirs, Factor) and isinstance(own_values, Factor):
            codes = own_values.coded_by(theirs.levels)
            known &= codes >= 0
            own.append(Factor(theirs.levels, np.maximum(codes, 0), theirs.ordered))
        elif isinstance(theirs, Factor) or isinstance(own_values, Factor):
            raise InputError.by("formula-changes-type", label=expression.label)
        else:
            own.append(own_values)
    return RecodedDesign(design, assembled(read, own, N), known)


def of_own_row(
    read: ReadFormula, variables: Sequence[Any], raw: dict[str, Any], n: int
) -> list[bool]:
    """Which variables of n rows have the same values where the second half of the rows is gone.

    A factor has the same labels then.
    """
    some = (n + 1) // 2
    part = {name: values[:some] for name, values in raw.items()}
    alike = []
    for expression, whole in zip(read.variables, variables, strict=True):
        try:
            (half,) = evaluated(read.alone(expression), part, some, single=True)
        except InputError:  # Such as a polynomial of too few values.
            alike.append(False)
            continue
        if isinstance(whole, Factor):
            labels = np.array(whole.levels)[whole.codes[:some]]
            alike.append(bool((labels == np.array(half.levels)[half.codes]).all()))
        else:
            alike.append(np.allclose(whole[:some], half, rtol=1e-9, equal_nan=True))
    return alike


def evaluated(read: ReadFormula, raw: dict[str, Any], n: int, *, single: bool = False) -> list[Any]:
    """Each variable of the formula as a `Factor` or as numbers (N, k).

    A factor of one level is refused unless `single`.
    """
    values = {
        name: column.astype(np.float64) if column.dtype.kind == "i" else column
        for name, column in raw.items()
    }
    variables: list[Any] = []
    for expression in read.variables:
        try:
            with np.errstate(all="ignore"):  # make_design names a variable that is not finite.
                value = expression.evaluate(values, raw)
                numeric = getattr(value, "dtype", None) in (np.float64, np.int64, np.float32)
                result: Any = np.asarray(value, np.float64) if numeric else make_factor(value)
            rows = len(result) if numeric else len(result.codes)
            if rows != n:
                raise ValueError("one value for each record is needed")
        except Exception as error:  # evaluates the user's own expressions
            kind = type(error).__name__
            raise InputError.by("formula-not-evaluated", formula=read.text, kind=kind) from None
        if not (numeric or single) and len(result.levels) < 2:
            raise InputError.by("formula-single-level", label=expression.label)
        variables.append(result.reshape(n, result.size // n if n else 1) if numeric else result)
    return variables


def _codings(
    read: ReadFormula, variables: Sequence[Any]
) -> list[tuple[tuple[int, ...], frozenset[int]]]:
    """Each term with its factors that need a column for every level, by R's rule.

    A factor has contrasts when its term without the factor is empty or within an earlier term.
    Without an intercept the first factor of the formula has a column for every level.
    """
    codings = []
    first = not read.intercept
    for number, term in enumerate(read.terms):
        earlier = [set(other) for other in read.terms[:number]]
        full = set()
        for place in term:
            if not isinstance(variables[place], Factor):
                continue
            rest = set(term) - {place}
            if first or (rest and not any(rest <= other for other in earlier)):
                full.add(place)
            first = False
        codings.append((term, frozenset(full)))
    return codings


def _block(read: ReadFormula, variables: Sequence[Any], place: int, full: bool) -> Block:
    variable, label = variables[place], read.variables[place].label
    if isinstance(variable, Factor):
        matrix, names = variable.dummies() if full else variable.contrasts()
        return matrix, tuple(label + name for name in names)
    width = variable.shape[1]
    return variable, tuple(f"{label}{k}" for k in range(1, width + 1)) if width > 1 else (label,)


def _interaction(first: Block, second: Block) -> Block:
    """Products of all columns of two variables; the first varies fastest."""
    width = first[0].shape[1] * second[0].shape[1]
    matrix = (second[0][:, :, None] * first[0][:, None, :]).reshape(len(first[0]), width)
    return matrix, tuple(f"{left}:{right}" for right in second[1] for left in first[1])


def refuse_rank_deficient(
    matrix: Floats, terms: Sequence[str], read: ReadFormula, variables: Sequence[Any]
) -> None:
    if not len(matrix):  # Without a record no column says what another says.
        return
    largest = np.abs(matrix).max(axis=0)
    scaled = matrix / np.where(largest > 0, largest, 1.0)
    triangle: Any = np.linalg.qr(scaled, mode="r")
    length = np.sqrt((triangle * triangle).sum(axis=0))
    triangle /= np.where(length > 0, length, 1.0)
    rank, columns = _rank(triangle), matrix.shape[1]
    if rank == columns:
        return
    ranks = [0, *(_rank(triangle[:, : k + 1]) for k in range(columns))]
    widths = Counter(terms)
    dependent = Counter(term for k, term in enumerate(terms) if ranks[k + 1] == ranks[k])
    spare = ", ".join(
        f"{term} ({count} of its {widths[term]} columns)" if widths[term] > 1 else term
        for term, count in dependent.items()
    )
    unused = [
        f"{label.label} ({len(levels)})"
        for label, variable in zip(read.variables, variables, strict=True)
        if isinstance(variable, Factor) and (levels := variable.unused())
    ]
    hint = f" No record has some levels; take them out of their category: {', '.join(unused)}."
    raise InputError.by(
        "design-rank-deficient", rank=rank, columns=columns, spare=spare, it=hint if unused else ""
    )


def _rank(triangle: Floats) -> int:
    """Number of independent columns of a triangle whose columns have length 1 or 0."""
    diagonal = np.abs(np.diag(qr(triangle, mode="r", pivoting=True)[0]))
    return int((diagonal > 1e-10 * max(diagonal.max(initial=0.0), 1e-300)).sum())
