"""Regressions by formula: the coefficients of R's ``lm`` and ``glm`` and their variances.

Least squares: b = (X'X)^-1 X'y by a QR decomposition; var(b) = s^2 diag (X'X)^-1 with
s^2 = RSS / (N - K).

Counts, and yes or no: mu = E(y) given x, link(mu) = x beta, with logit for 0 and 1 and log for
counts [mccullagh1989]. Fisher scoring solves X'(y - mu) = 0; var(beta) is the diagonal of
(X'WX)^-1 with W the variance of y given x, as the dispersion of both families is 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import narwhals as nw
import numpy as np
from narwhals.typing import IntoFrame
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, qr, solve_triangular
from scipy.special import expit

from pyvws._base.checks import Floats, choice
from pyvws._base.cores import steady_sums
from pyvws.errors import InputError
from pyvws.evaluation.original_and_datasets import complete_records
from pyvws.tables.design.model_matrix import make_design
from pyvws.tables.files.frame import linked_by, numeric_column, open_frame, units_by_id
from pyvws.tables.schema.formula import dotted, read_formula
from pyvws.tables.schema.schema import Schema

Rows = NDArray[np.intp]


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
    weights: str | None = None,
) -> LeastSquares:
    """Fit a formula such as "income ~ region + urban" on a table called `name`.

    The family is "gaussian" (least squares), "logistic" or "poisson".

    As in R, a name that is no plain word stands in backticks, on either side of "~". A call such as
    log(income) may stand before "~". A "." after it is the sum of all columns but those before.
    Records without a value in a column of the formula are left out; the schema says which codes of
    its columns are missing values, and that numbers with such codes are numbers. Where the table
    has the ids of the schema's units, variances are those of units as clusters. A column of
    `weights` above 0 enters least squares alone.

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
        others = [name for name in whole.columns if name not in (*before, weights)]
        right = dotted(f"~ {predictors}", others)
        unit = linked_by(whole, getattr(schema, "unit", None))
        named = filter(None, (unit, weights))
        frame = complete_records(whole, [*before, *read_formula(right).columns, *named], schema)
        if family == "logistic" and outcome in frame.columns and frame[outcome].dtype == nw.Boolean:
            frame = frame.with_columns(nw.col(outcome).cast(nw.Int8))
        y = _called(frame, outcome) if called else numeric_column(frame, outcome, role="formula")
        design = make_design(frame, right, outcome=outcome)
        dropped, X = len(whole) - len(frame), design.matrix
        if family == "gaussian":
            if weights is not None:
                root = np.sqrt(frame[weights].to_numpy())
                X, y = X * root[:, None], y * root
            fit = replace(least_squares(X, y, design.names), dropped=dropped)
            means, weight = X @ fit.coefficients, np.ones(len(y))
        else:
            found = glm(X, y, family=family)
            fit = LeastSquares(found.coefficients, found.variances, design.names, len(y), dropped)
            means, weight = found.fitted, _variance(found.fitted, family == "logistic")
        if unit is None:
            return fit
        units = units_by_id(frame[unit])
        if len(units) and (units == units[0]).all():
            raise InputError.by("regression-of-one-unit", unit=unit)
        return replace(fit, variances=clustered(X, y - means, weight, units))
    except InputError as error:
        raise InputError.by("in-fit", name=name, error=error) from None


def clustered(design: Floats, residuals: Floats, weight: Floats, units: Rows) -> Floats:
    """Variances (K,) of coefficients whose records are dependent within units, from 0, (N,).

    They are G / (G - 1) diag B (sum_g s_g s_g') B with B = (X'WX)^-1 and s_g the sum of x_i e_i
    over the records of unit g of G, as R's ``survey::svyglm`` has them. A column that follows from
    those before it has NaN.

    >>> clustered(np.ones((4, 1)), np.array([1.0, 1, -1, -1]), np.ones(4), np.array([0, 0, 1, 1]))
    array([1.])
    """
    kept = independent_columns(design)
    X, groups = design[:, kept], np.unique(units, return_inverse=True)[1]
    scores = np.zeros((int(groups.max()) + 1, len(kept)))
    np.add.at(scores, groups, X * residuals[:, None])
    beside = scores @ _solved(X, weight, np.eye(len(kept)))
    variances = np.full(design.shape[1], np.nan)
    many = len(scores)
    variances[kept] = (beside**2).sum(axis=0) * many / (many - 1) if many > 1 else np.nan
    return variances


def _called(frame: nw.DataFrame[Any], expression: str) -> Floats:
    """The values (N,) of a call such as log(income + 1)."""
    design = make_design(frame, f"~ {expression} - 1", outcome="")
    if design.matrix.shape[1] != 1:
        raise InputError.by("formula-outcome-not-numeric", expression=expression)
    values: Floats = design.matrix[:, 0]
    return values


_FAMILIES: Final = ("logistic", "poisson")
_MOST_STEPS: Final = 50
_AGREES: Final = 1e-8  # A step is quadratic: the next one would move a mean by its square.
_RIDGE: Final = 1e-12
_FURTHEST: Final = 30.0  # exp(-30) is nothing beside 1.
_FALL: Final = 1e-10  # The share of the log-likelihood that rounding may take from it.
_HALVINGS: Final = 30
_DEPENDENT: Final = 1e-11  # What is left of a column's squared length beside the columns before it.


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """`coefficients` (K,) on the link's scale, their `variances` (K,), and `fitted` means (N,).

    A column of the design that follows from columns before it has NaN for both. `rank` counts the
    others.
    """

    coefficients: Floats
    variances: Floats
    fitted: Floats
    rank: int


@steady_sums()
def glm(design: Floats, y: Floats, *, family: str) -> LinearModel:
    """Fit y (N,) on the columns of `design` (N, K), by family "logistic" or "poisson".

    Fisher scoring runs until the fitted means stay. A step that lowers the likelihood is halved
    until it does not, so that the fit ends at the largest likelihood also where many columns of
    few records make whole steps go too far; R's ``glm`` takes whole steps there. Where a plane
    separates the records with y = 0 from the others there is no finite fit: the means approach 0
    and 1, and coefficients and variances mean nothing.

    Raises InputError for an unknown family, and for y that the family cannot have.

    >>> found = glm(np.ones((4, 1)), np.array([0.0, 1.0, 1.0, 1.0]), family="logistic")
    >>> found.fitted.round(9).tolist()
    [0.75, 0.75, 0.75, 0.75]
    """
    choice(family, "family", _FAMILIES)
    logistic = family == "logistic"
    if logistic and not np.isin(y, (0.0, 1.0)).all():
        raise InputError.by("logistic-outcome")
    if not logistic and ((y < 0.0) | (y != np.floor(y))).any():
        raise InputError.by("poisson-outcome")
    kept = independent_columns(design)
    X = design[:, kept] if len(kept) < design.shape[1] else design
    start = (y + 0.5) / 2.0 if logistic else y + 0.1
    linear = np.log(start / (1.0 - start)) if logistic else np.log(start)
    fitted, beta, likelihood = start, np.zeros(len(kept)), -np.inf
    for step in range(_MOST_STEPS):
        weight = _variance(fitted, logistic)
        aim = y - fitted + (weight * linear if step == 0 else 0.0)
        change = _solved(X, weight, X.T @ aim)
        at, floor = _moved(X, y, beta + change, logistic), likelihood - _FALL * abs(likelihood)
        for _ in range(_HALVINGS if step else 0):
            if at[1] >= floor:
                break
            change *= 0.5
            at = _moved(X, y, beta + change, logistic)
        beta, (linear, likelihood) = beta + change, at
        before, fitted = fitted, expit(linear) if logistic else np.exp(linear)
        if np.abs(fitted - before).mean() <= _AGREES * fitted.mean():
            break
    coefficients = np.full(design.shape[1], np.nan)
    variances = coefficients.copy()
    coefficients[kept] = beta
    inverse = _solved(X, _variance(fitted, logistic), np.eye(len(kept)))
    variances[kept] = np.diag(inverse)
    return LinearModel(coefficients, variances, fitted, len(kept))


@steady_sums()
def independent_columns(design: Floats) -> NDArray[np.intp]:
    """Places, in rising order, of the columns of `design` (N, K) that follow from none before them.

    >>> independent_columns(np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 3.0]])).tolist()
    [0, 2]
    """
    gram = design.T @ design
    length = np.sqrt(np.diag(gram))
    length[length == 0.0] = 1.0
    left = gram / np.outer(length, length)
    kept = []
    for place in range(len(left)):
        if left[place, place] > _DEPENDENT:
            kept.append(place)
            left -= np.outer(left[place], left[place] / left[place, place])
    return np.array(kept, dtype=np.intp)


def _moved(X: Floats, y: Floats, beta: Floats, logistic: bool) -> tuple[Floats, float]:
    """The linear predictor (N,) at beta, and the log-likelihood but for what y alone gives."""
    linear = np.clip(X @ beta, -_FURTHEST, _FURTHEST)
    normalizer = np.logaddexp(0.0, linear) if logistic else np.exp(linear)
    return linear, float(y @ linear - normalizer.sum())


def _variance(mean: Floats, logistic: bool) -> Floats:
    return np.maximum(mean * (1.0 - mean) if logistic else mean, 1e-15)


def _solved(X: Floats, weight: Floats, right: Floats) -> Any:
    """(X' diag(weight) X)^-1 right, of columns scaled to length 1.

    A millionth of a millionth more on the diagonal keeps groups that a plane separates, which have
    next to no weight, from making the matrix singular. It moves no zero of X'(y - mu).
    """
    gram = X.T @ (X * weight[:, None])
    length = np.sqrt(np.diag(gram))
    scale = length if right.ndim == 1 else length[:, None]
    gram /= np.outer(length, length)
    gram[np.diag_indices_from(gram)] += _RIDGE
    return cho_solve(cho_factor(gram, overwrite_a=True, check_finite=False), right / scale) / scale
