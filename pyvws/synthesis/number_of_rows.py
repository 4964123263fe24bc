"""A public or noisy number of rows: check it before any work, and draw its noise."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

import numpy as np

from pyvws._base.checks import positive, whole_number
from pyvws.errors import InputError
from pyvws.mechanisms.histogram.discrete_laplace import add_discrete_laplace
from pyvws.mechanisms.histogram.perturbed_histogram import noise_scale


def checked_rows(
    records: Any,
    epsilon: Any,
    *,
    keep_order: bool,
    fits_model: bool,
    reads_outcome: bool,
    whole: bool,
) -> tuple[Any, float | None]:
    """The number of rows, or "noisy" with what it costs; InputError for what a run cannot have.

    `whole` says whether what is counted are whole units of privacy: records, or units with members.
    """
    if keep_order:
        raise InputError(
            "With records set no released row is a record's own, so there is no order to keep. "
            "Leave keep_order or records out."
        )
    if not fits_model:
        raise InputError(
            "A perturbed histogram protects the number of records under loo neighbours "
            "(--neighbours loo). Leave records out."
        )
    if reads_outcome:
        raise InputError(
            "This model draws each synthetic value from one record, so the datasets have as "
            "many rows as there are records. Leave records out, or choose labels prior."
        )
    if records == "noisy":
        if not whole:
            raise InputError(
                "The noise of a noisy number of rows is for one record more or less, and a unit "
                "has several. Give a public number, or leave records out."
            )
        if epsilon is None:
            raise InputError(
                "A noisy number of rows costs epsilon of its own. Say how much by "
                "--records-epsilon (records_epsilon=... in Python)."
            )
        noise_scale(positive(epsilon, "records_epsilon"), "loo")
        return records, float(epsilon)
    if isinstance(records, str):
        raise InputError(f"records must be a whole number or 'noisy'. Got {records!r}.")
    found = whole_number(records, "records", least=1)
    if epsilon is not None:
        raise InputError("A public number of rows costs nothing. Leave records_epsilon out.")
    return found, None


def refuse_unchanged(records: Any, unchanged: Collection[str]) -> None:
    """Raise InputError for `records` beside `unchanged` columns, which have the table's rows."""
    if records is not None and unchanged:
        raise InputError(
            "records draws another number of rows than the table has, and columns that are "
            "released as they are have the table's own. Take formula and keep out, or records."
        )


def rows_to_draw(records: Any, epsilon: float | None, *, counted: int) -> int | None:
    """The public number of rows, or a noisy number of records; None for one row a record.

    `counted` is the number of records. One record more or less changes it by 1, so noise of scale
    1 / epsilon costs epsilon. Raises MissingDependencyError for noise where OpenDP is not
    installed.
    """
    if records is None:
        return None
    if epsilon is None:
        return cast(int, records)
    noisy = add_discrete_laplace(np.array([counted]), scale=noise_scale(epsilon, "loo"))
    return max(1, int(noisy[0]))
