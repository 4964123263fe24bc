"""Cases of `pyvws.statement.several_draws`: what draws of one strict fit cost together."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.statement.several_draws import total_epsilon as total_of_draws
from pyvws_validation._draws import Draws

_DECADES: Final = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)


def total_epsilon(epsilon: float, draws: int, delta: Floats) -> Floats:
    """Epsilon of all draws at each delta, in whole steps of 2^-20 nats."""
    totals = [total_of_draws(epsilon, draws, delta=share) for share in np.atleast_1d(delta)]
    return np.round(np.array(totals) * 2**20) / 2**20


def deltas(seed: int, number: int) -> dict[str, Any]:
    """Deltas from 1e-9 to a tenth; a power's last bit differs between processors."""
    draws = Draws(seed)
    return {"delta": draws.uniform(number, 1.0, 10.0) * np.array(_DECADES)[draws.whole(number, 8)]}
