"""Synthetic values in steps of records, so that a table's storage does not change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.models.model import Draws
from pyvws.models.sequence import DrawnColumn, draws_of
from pyvws.tables.row_order import RowNumbers

__all__ = ["AT_ONCE", "predicted"]

AT_ONCE: Final = 1 << 20  # Records a step.
_TRIES: Final = 50  # Draws of a value within its limits, before the nearest limit is taken.


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
    `AT_ONCE` at a time, column after column, each from the synthetic values before it. A value
    outside its public limits is drawn again, and rules settle the rest.
    """
    many = rows if isinstance(rows, int) else len(rows)
    steps = [slice(at, at + AT_ONCE) for at in range(0, many, AT_ONCE)]
    own = [draws_of(draw, one.column) or draw for one in columns]
    made: dict[str, list[Floats]] = {one.column: [] for one in columns}
    for step in steps:
        of = step if isinstance(rows, int) else rows[step]
        n = len(range(many)[step])
        values = {name: column[of] for name, column in public.items()}
        for one, drawn in zip(columns, own, strict=True):
            values[one.column] = _drawn(one, drawn, rng, of, values, n)
            made[one.column].append(values[one.column])
    return {
        name: parts[0] if len(parts) == 1 else np.concatenate(parts) for name, parts in made.items()
    }


def _drawn(
    one: DrawnColumn,
    draw: Draws,
    rng: np.random.Generator,
    of: Any,
    values: Mapping[str, Floats],
    n: int,
) -> Floats:
    """Values (n,) of one column for the rows `of`, given the `values` (n,) of those before it."""
    finish, model = one.finish, one.model
    if model is None:
        return np.ones(n) if finish is None else finish.settled(np.ones(n), values)
    design = one.design_rows(of, values)
    seen = None if one.seen is None else one.seen[of]
    found = model.predict(draw, design, rng, outcome=seen)
    found = found + one.first if one.first else found
    if finish is None:
        return found
    found, (low, high) = finish.rounded(found), finish.limits(values)
    for _ in range(_TRIES):
        bad = np.flatnonzero((found < low) | (found > high))
        if not len(bad):
            break
        again = model.predict(draw, design[bad], rng, outcome=None if seen is None else seen[bad])
        found[bad] = finish.rounded(again + one.first)
    return finish.settled(np.clip(found, low, high), values)
