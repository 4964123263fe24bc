"""Regressions by formula: the coefficients of R's ``lm`` and ``glm`` and their variances.

b = (X'X)^-1 X'y by a QR decomposition; var(b) = s^2 diag (X'X)^-1 with s^2 = RSS / (N - K).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.typing import IntoFrame
from scipy.linalg import qr, solve_triangular

from pyvws._base.checks import Floats, choice
from pyvws.errors import InputError
from pyvws.evaluation.glm import glm
from pyvws.evaluation.original_and_datasets import complete_records
from pyvws.tables.design.model_matrix import make_design
from pyvws.tables.files.frame import numeric_column, open_frame
from pyvws.tables.schema.formula import dotted, read_formula
from pyvws.tables.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """`coefficients` (K,) in units of y per unit of x, with their `variances` (K,) and `names`.

    The fit is one of `records` records; `dropped` more lack a value.
    """

    coefficients: Floats
    variances: Floats
    names: tuple[str, ...]
    records: int
    dropped: int = 0


def least_squares(design: Floats, y: Floats, names: tuple[str, ...] = ()) -> LeastSquares:
    """Ordinary least squares of y (N,) on the columns of `design` (N, K).

    Raises InputError unless there are more records than columns.

    >>> least_squares(np.ones((3, 1)), np.array([1.0, 2.0, 3.0])).variances.round(6).tolist()
    [0.333333]
    """
    n, k = design.shape
    if n <= k:
        raise InputError.by("regression-too-few-records", k=k, k2=k + 1, n=n)
    q, r = qr(design, mode="economic")
    coefficients = solve_triangular(r, q.T @ y)
    residuals = y - design @ coefficients
    inverse = solve_triangular(r, np.eye(k))
    scale = float(residuals @ residuals) / (n - k)
    return LeastSquares(coefficients, scale * (inverse * inverse).sum(axis=1), names, n)


def fit_formula(
    table: IntoFrame,
    formula: str,
    name: str = "table",
    family: str = "gaussian",
    schema: Schema | None = None,
) -> LeastSquares:
    """Fit a formula such as "income ~ region + urban" on a table called `name`.

    The family is "gaussian" (least squares), "logistic" or "poisson".

    As in R, a name that is no plain word stands in backticks, on either side of "~". A call such as
    log(income) may stand before "~". A "." after it is the sum of all columns but those before.
    Records without a value in a column of the formula are left out; the schema says which codes of
    its columns are missing values, and that numbers with such codes are numbers.

    Raises InputError for a formula with nothing before "~" or an unknown column.
    """
    choice(family, "family", ("gaussian", "logistic", "poisson"))
    outcome, tilde, predictors = (part.strip() for part in formula.partition("~"))
    if not (outcome and tilde and predictors):
        raise InputError.by("formula-without-outcome", formula=formula)
    if len(outcome) > 2 and outcome[0] == outcome[-1] == "`":
        outcome = outcome[1:-1]
    try:
        whole = open_frame(table)
        called = "(" in outcome and outcome not in whole.columns
        before = read_formula(f"~ {outcome}").columns if called else (outcome,)
        others = [name for name in whole.columns if name not in before]
        right = dotted(f"~ {predictors}", others)
        frame = complete_records(whole, [*before, *read_formula(right).columns], schema)
        if family == "logistic" and outcome in frame.columns and frame[outcome].dtype == nw.Boolean:
            frame = frame.with_columns(nw.col(outcome).cast(nw.Int8))
        y = _called(frame, outcome) if called else numeric_column(frame, outcome, role="formula")
        design = make_design(frame, right, outcome=outcome)
        dropped = len(whole) - len(frame)
        if family == "gaussian":
            return replace(least_squares(design.matrix, y, design.names), dropped=dropped)
        fitted = glm(design.matrix, y, family=family)
        return LeastSquares(fitted.coefficients, fitted.variances, design.names, len(y), dropped)
    except InputError as error:
        raise InputError.by("in-fit", name=name, error=error) from None


def _called(frame: nw.DataFrame[Any], expression: str) -> Floats:
    """The values (N,) of a call such as log(income + 1)."""
    design = make_design(frame, f"~ {expression} - 1", outcome="")
    if design.matrix.shape[1] != 1:
        raise InputError.by("formula-outcome-not-numeric", expression=expression)
    values: Floats = design.matrix[:, 0]
    return values
