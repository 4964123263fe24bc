"""How many rows a synthetic dataset has where a setting decides it, and not the table."""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np

from pyvws.errors import InputError
from pyvws.mechanisms.histogram.discrete_laplace import add_discrete_laplace
from pyvws.mechanisms.histogram.perturbed_histogram import noise_scale
from pyvws.synthesis.settings import RunSettings

__all__ = ["ROWS_FROM", "number_of_rows"]

ROWS_FROM: Final[dict[type[Any], str]] = {type(None): "exact", int: "public", str: "noisy"}
"""The statement's word for where the number of rows comes from, by the type of `records`."""


def number_of_rows(settings: RunSettings, released: list[str], records: int) -> int | None:
    """The public number, or that of the records with secret noise; None for one row a record.

    One record more or less changes the count by 1, so noise of scale 1 / records_epsilon costs
    records_epsilon. Raises InputError where columns are released unchanged, which have the table's
    own rows; MissingDependencyError for noise where OpenDP is not installed.
    """
    if settings.records is None:
        return None
    if released != [settings.outcome]:
        raise InputError(
            "records draws another number of rows than the table has, and columns that are "
            "released as they are have the table's own. Take formula and keep out, or records."
        )
    if settings.records_epsilon is None:
        return cast(int, settings.records)
    scale = noise_scale(settings.records_epsilon, "loo")
    noisy = add_discrete_laplace(np.array([records]), scale=scale)
    return max(1, int(noisy[0]))
