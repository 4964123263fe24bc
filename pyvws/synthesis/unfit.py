"""Refuse, before a table is read, what would stop a fit to any table that the settings admit."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.engines.registry import check_table, is_exact
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import InputError
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.models.model import Model
from pyvws.models.registry import is_own
from pyvws.tables.cells import make_cells

__all__ = ["refuse_design", "refuse_windows"]

_NO_CELLS: Final = make_cells(np.ones(1), np.ones((1, 1))).part(slice(0, 0))


def refuse_design(
    engine: Any, settings: SamplerSettings, mechanism: Mechanism, family: Model, K: int
) -> None:
    """Raise InputError for K design columns that an exact engine does not take."""
    if is_exact(engine) and not family.prepared_from_data:
        from pyvws.engines._public_grid import check_grid

        check_grid(settings, family, K, mechanism.windows)


def refuse_windows(
    mechanism: Mechanism, families: tuple[Model, ...], engine: Any, *, table: bool, program: bool
) -> None:
    """Raise InputError for a clamp that the families, the engine or an own program cannot have."""
    if mechanism.clamps and program:
        raise InputError(
            "Your own Stan program cannot be censored from outside. Leave --stan out, or clamp "
            "the terms in the program and choose another mechanism."
        )
    for family in families:
        for clamp in () if is_own(family) else mechanism.windows:
            clamp.shift(family, _NO_CELLS)
    if table and mechanism.clamps:
        check_table(engine)
