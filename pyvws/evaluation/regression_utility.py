"""A regression on the original beside its combined estimates from synthetic tables [karr2006].

The synthetic estimates and intervals follow the combining rule of the datasets; the overlap of the
intervals says whether a user of the synthetic tables would conclude the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri, stdtrit

from pyvws._base.checks import dataset_list, open_unit_interval
from pyvws.errors import InputError
from pyvws.evaluation.combining_rules import SeveralDatasets, combine_formula, rule_named
from pyvws.evaluation.figures_beside import FiguresBeside
from pyvws.evaluation.interval_overlap import interval_overlap
from pyvws.evaluation.least_squares import fit_formula
from pyvws.tables.schema.schema import Schema


def regression_utility(
    original: Any,
    synthetic: Any,
    formula: str,
    *,
    family: Literal["gaussian", "logistic", "poisson"] = "gaussian",
    kind: Literal["partial", "full"] = "partial",
    of: Literal["population", "table"] | None = None,
    draw_of_dataset: Sequence[Any] | None = None,
    schema: Schema | None = None,
    level: float = 0.95,
) -> FiguresBeside:
    """Coefficients of a regression with intervals, before and after, and how far they overlap.

    The score sees this regression and no other. A wide synthetic interval that holds the original's
    has an overlap above 1/2, so look at the lengths too.

    Parameters
    ----------
    original : pandas, polars or Arrow table
        Confidential records.
    synthetic : sequence of tables, or Release
        Two or more synthetic datasets with the same columns. A release says its own rule.
    formula : str
        Such as "income ~ region + urban"; "income ~ ." has all other columns.
    family : {"gaussian", "logistic", "poisson"}
        Least squares, or the regression of an outcome of 0 and 1, or of counts, as R's ``glm``.
    kind : {"partial", "full"}
        The combining rule, as in `pyvws.combine`.
    of : {"population", "table"}, optional
        As in `pyvws.combine`, for imputed records.
    draw_of_dataset : sequence of m labels, optional
        As in `pyvws.combine`.
    schema : Schema, optional
        As in `pyvws.combine_formula`: it says which codes are missing values.
    level : float
        Level of the intervals, in (0, 1). The original's are those of the t distribution for least
        squares, else of the normal one.

    Returns
    -------
    FiguresBeside
        .names, .original, .synthetic, their intervals and .overlap.

    Raises
    ------
    InputError
        For a formula that cannot be read, an outcome that the family cannot have, and tables whose
        designs have different columns.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"y": [1.0, 3.0, 2.0, 5.0], "x": [1.0, 2.0, 3.0, 4.0]})
    >>> bool(regression_utility(table, [table, table], "y ~ x").overlap.min() > 0.5)
    True
    """
    upper = 1.0 - (1.0 - open_unit_interval(level, "level")) / 2.0
    given: Any = {"kind": kind, "of": of, "draw_of_dataset": draw_of_dataset}
    several = SeveralDatasets.of(synthetic, schema, **given)
    own = fit_formula(original, formula, "original", family, several.schema)
    combined = combine_formula(
        *(dataset_list(several.tables, "synthetic"), formula),
        family=family,
        schema=several.schema,
        **several.rule,
    )
    if tuple(combined) != own.names:
        raise InputError(
            "The design matrices of the original and of the synthetic datasets have different "
            "columns. Give all tables the same levels, for example as categories."
        )
    degrees = own.records - len(own.names)
    factor = float(stdtrit(degrees, upper) if family == "gaussian" else ndtri(upper))
    half = factor * np.sqrt(own.variances)
    before = np.column_stack([own.coefficients - half, own.coefficients + half])
    after = np.array([coefficient.interval(level) for coefficient in combined.values()])
    return FiguresBeside(
        names=own.names,
        original=own.coefficients,
        original_interval=before,
        synthetic=np.array([coefficient.estimate for coefficient in combined.values()]),
        synthetic_interval=after,
        overlap=np.asarray(interval_overlap(before, after)),
        title=f"{formula} ({family})",
        level=level,
        rule=rule_named(kind, several.rule["of"]).words,
        dropped=own.dropped,
        dropped_synthetic=combined.dropped,
    )
