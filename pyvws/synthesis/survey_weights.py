"""Survey weights as exponents: e_i = w_i over a public mean, and what is said of them."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.phrase import Phrase
from pyvws.errors import InputError
from pyvws.plan.plan import Plan
from pyvws.tables.files.frame import numeric_column


def survey_exponents(
    frame: nw.DataFrame[Any], plan: Plan, counts: Floats | None = None
) -> Floats | None:
    """Survey weights (N,) over their public mean, or over the table's without a public one.

    `counts` (N,) are the records that each row of a tally stands for. None where the plan has no
    exponents. Raises InputError for negative or missing weights.
    """
    name = plan.exponents
    if name is None:
        return None
    weights = numeric_column(frame, name, role="survey_weight")
    if (weights < 0.0).any() or not (weights > 0.0).any():
        raise InputError(
            f"Column {name!r} of survey_weight has negative weights, or none above 0. Check the "
            "column."
        )
    mean = plan.mean_exponent or float(np.average(weights, weights=counts))
    return np.asarray(weights / mean)


def survey_caveats(plan: Plan) -> tuple[Phrase, ...]:
    """The caveats of survey weights as exponents; none without them."""
    if plan.exponents is None:
        return ()
    by_data = (Phrase("mean-weight-from-data"),) if plan.mean_exponent is None else ()
    return (Phrase("survey-weights", {"column": plan.exponents}), *by_data)


def survey_uses(plan: Plan) -> tuple[Phrase, ...]:
    """The unaccounted mean of the survey weights, where no public one is given."""
    by_data = plan.exponents is not None and plan.mean_exponent is None
    return (Phrase("mean-weight"),) if by_data else ()
