"""Check the number of posterior draws that datasets take, before any work."""

from __future__ import annotations

from pyvws._base.checks import whole_number
from pyvws.errors import InputError


def checked_draws(
    draws_per_release: int | None, *, datasets: int, sampled: int, reads_outcome: bool
) -> int | None:
    """The number of draws behind the datasets, or None for a draw each.

    A fit has `sampled` draws. Raises InputError for a number that the datasets cannot take.
    """
    d = draws_per_release
    if d is not None:
        d = whole_number(d, "draws_per_release", least=1)
        if d > datasets:
            raise InputError(
                f"draws_per_release must be at most datasets, {datasets}, since a draw without a "
                f"dataset would be paid for nothing. Got {d}; lower draws_per_release or raise "
                "datasets."
            )
        if d < datasets and reads_outcome:
            raise InputError(
                "This model draws each synthetic value from its record as well as from the "
                "posterior draw, so a draw that is paid once does not pay for several "
                "datasets. Leave draws_per_release out, or choose labels prior."
            )
    if (d or datasets) > sampled:
        raise InputError(
            f"{datasets} datasets need {d or datasets} posterior draws. Got {sampled}; raise draws "
            "or chains."
        )
    return d
