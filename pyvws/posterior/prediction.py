"""Synthetic outcomes in steps of records, so that a table's storage does not change them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.models.model import Draws, Model
from pyvws.tables.row_order import RowNumbers

__all__ = ["AT_ONCE", "predicted"]

AT_ONCE: Final = 1 << 20  # Records a step.


def predicted(
    model: Model,
    draw: Draws,
    design: Floats,
    rng: np.random.Generator,
    *,
    outcome: Floats | None = None,
    order: RowNumbers | None = None,
) -> Floats:
    """Call `Model.predict`, `AT_ONCE` records at a time; row j is of record order[j], or of j."""
    parts: list[Any] = [slice(at, at + AT_ONCE) for at in range(0, len(design), AT_ONCE)]
    if order is not None:
        parts = [order[part] for part in parts]
    made = [
        model.predict(draw, design[part], rng, outcome=None if outcome is None else outcome[part])
        for part in parts
    ]
    return made[0] if len(made) == 1 else np.concatenate(made)
