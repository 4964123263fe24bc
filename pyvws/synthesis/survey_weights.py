"""Survey weights as exponents: e_i = w_i over a public mean, what refuses them and what is said."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.phrase import Phrase
from pyvws.engines.registry import STAN_ENGINES
from pyvws.errors import InputError
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.tables.files.frame import numeric_column
from pyvws.tables.schema.schema import Schema


def refuse_exponents(schema: Schema, mechanism: Mechanism, engine: Any) -> None:
    """Raise InputError for what cannot take survey weights as exponents, where there are any."""
    if schema.exponents is None:
        return
    if mechanism.facts.clamps:
        raise InputError(
            f"survey_weight {schema.exponents!r} raises likelihoods to powers, which the clamp of "
            f"mechanism {mechanism.name} is not made for. Choose a mechanism without a clamp, such "
            "as lw, or synthesize the weights as the last column."
        )
    if schema.members is not None:
        raise InputError(
            f"survey_weight {schema.exponents!r} is of records, and members have whole units "
            "drawn, whose own columns count once. Synthesize the weights as a column, or leave "
            "members out."
        )
    if engine in STAN_ENGINES:
        raise InputError(
            f"The programs of engine {engine} take weights of at most 1, and survey weights over "
            "their mean exceed it. Choose engine native, or leave survey_weight out."
        )


def survey_exponents(
    frame: nw.DataFrame[Any], schema: Schema, counts: Floats | None = None
) -> Floats | None:
    """Survey weights (N,) over their public mean, or over the table's without a public one.

    `counts` (N,) are the records that each row of a tally stands for. None where the schema has no
    exponents. Raises InputError for negative or missing weights.
    """
    name = schema.exponents
    if name is None:
        return None
    weights = numeric_column(frame, name, role="survey_weight")
    if (weights < 0.0).any() or not (weights > 0.0).any():
        raise InputError(
            f"Column {name!r} of survey_weight has negative weights, or none above 0. Check the "
            "column."
        )
    mean = schema.mean_survey_weight or float(np.average(weights, weights=counts))
    return np.asarray(weights / mean)


def survey_caveats(schema: Schema | None) -> tuple[Phrase, ...]:
    """The caveats of survey weights as exponents; none without them."""
    if schema is None or schema.exponents is None:
        return ()
    by_data = (Phrase("mean-weight-from-data"),) if schema.mean_survey_weight is None else ()
    return (Phrase("survey-weights", {"column": schema.exponents}), *by_data)


def survey_uses(schema: Schema | None) -> tuple[Phrase, ...]:
    """The unaccounted mean of the survey weights, where no public one is given."""
    if schema is None or schema.exponents is None or schema.mean_survey_weight is not None:
        return ()
    return (Phrase("mean-weight"),)
