"""Synthetic values in steps of records, so that a table's storage does not change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.models.model import Draws
from pyvws.models.sequence import DrawnColumn, draws_of
from pyvws.tables.row_order import RowNumbers

__all__ = ["AT_ONCE", "predicted"]

AT_ONCE: Final = 1 << 20  # Records a step.


def predicted(
    columns: Sequence[DrawnColumn],
    draw: Draws,
    rng: np.random.Generator,
    *,
    rows: RowNumbers | int,
    public: Mapping[str, Floats],
) -> dict[str, Floats]:
    """Synthetic values by column, in the table's coding, from one joint draw (S = 1).

    Row j stands for record rows[j]; a number stands for all records in their order. `public` has
    the coded public predictors (N,) of columns that are drawn from synthetic values. Rows are drawn
    `AT_ONCE` at a time, column after column, each from the synthetic values before it.
    """
    many = rows if isinstance(rows, int) else len(rows)
    steps = [slice(at, at + AT_ONCE) for at in range(0, many, AT_ONCE)]
    own = [draws_of(draw, one.column) if len(columns) > 1 else draw for one in columns]
    made: dict[str, list[Floats]] = {one.column: [] for one in columns}
    for step in steps:
        of = step if isinstance(rows, int) else rows[step]
        values = {name: column[of] for name, column in public.items()}
        for one, drawn in zip(columns, own, strict=True):
            design = one.design[of] if one.coded is None else one.coded(values)
            seen = None if one.seen is None else one.seen[of]
            found = one.model.predict(drawn, design, rng, outcome=seen)
            values[one.column] = found + one.first if one.first else found
            made[one.column].append(values[one.column])
    return {
        name: parts[0] if len(parts) == 1 else np.concatenate(parts) for name, parts in made.items()
    }
