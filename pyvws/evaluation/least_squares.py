"""Regressions by formula: the coefficients of R's ``lm`` and ``glm`` and their variances.

b = (X'X)^-1 X'y by a QR decomposition; var(b) = s^2 diag (X'X)^-1 with s^2 = RSS / (N - K).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from scipy.linalg import qr, solve_triangular

from pyvws._base.checks import Floats, choice
from pyvws.errors import InputError
from pyvws.evaluation.glm import glm
from pyvws.tables.design import make_design
from pyvws.tables.formula import dotted, read_formula
from pyvws.tables.frame import numeric_column, open_frame

__all__ = ["LeastSquares", "fit_formula", "least_squares"]


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """`coefficients` (K,) in units of y per unit of x, with their `variances` (K,) and `names`."""

    coefficients: Floats
    variances: Floats
    names: tuple[str, ...]


def least_squares(design: Floats, y: Floats, names: tuple[str, ...] = ()) -> LeastSquares:
    """Ordinary least squares of y (N,) on the columns of `design` (N, K).

    Raises InputError unless there are more records than columns.

    Examples
    --------
    >>> least_squares(np.ones((3, 1)), np.array([1.0, 2.0, 3.0])).variances.round(6).tolist()
    [0.333333]
    """
    n, k = design.shape
    if n <= k:
        raise InputError(f"A regression on {k} columns needs at least {k + 1} records. Got {n}.")
    q, r = qr(design, mode="economic")
    coefficients = solve_triangular(r, q.T @ y)
    residuals = y - design @ coefficients
    inverse = solve_triangular(r, np.eye(k))
    scale = float(residuals @ residuals) / (n - k)
    return LeastSquares(coefficients, scale * (inverse * inverse).sum(axis=1), names)


def fit_formula(
    table: Any, formula: str, name: str = "table", family: str = "gaussian"
) -> LeastSquares:
    """Fit a formula such as "income ~ region + urban" on a table called `name`.

    The family is "gaussian" (least squares), "logistic" or "poisson".

    As in R, a name that is no plain word stands in backticks, on either side of "~". A call such as
    log(income) may stand before "~". A "." after it is the sum of all columns but those before.

    Raises InputError for a formula with nothing before "~", an unknown column or missing values.
    """
    choice(family, "family", ("gaussian", "logistic", "poisson"))
    outcome, tilde, predictors = (part.strip() for part in formula.partition("~"))
    if not (outcome and tilde and predictors):
        raise InputError(
            f"formula must name a column before '~', like 'income ~ region'. Got {formula!r}."
        )
    if len(outcome) > 2 and outcome[0] == outcome[-1] == "`":
        outcome = outcome[1:-1]
    try:
        frame = open_frame(table)
        called = "(" in outcome and outcome not in frame.columns
        if family == "logistic" and outcome in frame.columns and frame[outcome].dtype == nw.Boolean:
            frame = frame.with_columns(nw.col(outcome).cast(nw.Int8))
        y = _called(frame, outcome) if called else numeric_column(frame, outcome, role="formula")
        before = read_formula(f"~ {outcome}").columns if called else (outcome,)
        others = [name for name in frame.columns if name not in before]
        design = make_design(frame, dotted(f"~ {predictors}", others), outcome=outcome)
        if family == "gaussian":
            return least_squares(design.matrix, y, design.names)
        found = glm(design.matrix, y, family=family)
        return LeastSquares(found.coefficients, found.variances, design.names)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _called(frame: Any, expression: str) -> Floats:
    """The values (N,) of a call such as log(income + 1)."""
    made = make_design(frame, f"~ {expression} - 1", outcome="")
    if made.matrix.shape[1] != 1:
        raise InputError(f"formula must have one column of numbers before '~'. Got {expression!r}.")
    values: Floats = made.matrix[:, 0]
    return values
