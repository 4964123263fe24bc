"""Cases of `pyvws.models.conditional_table`: weighted counts, and log-likelihoods of records."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws.models.conditional_table import ConditionalTable
from pyvws.tables.design.cells import make_cells
from pyvws.validation._draws import Draws


def _records(seed: int, N: int) -> dict[str, Any]:
    """Few or many patterns; some have no record, and some records have weight 0 or 1."""
    draws, P, L = Draws(seed), 1 + 3 * seed, 2 + seed
    weights = draws.uniform(N)
    weights[::4] = 0.0
    weights[1::5] = 1.0
    return {
        "pattern": draws.whole(N, P),
        "level": draws.whole(N, L),
        "weights": weights,
        "P": P,
        "L": L,
    }


def log_likelihood(pattern: Any, level: Any, share: Any) -> Floats:
    """log p (N,) of each record, from one draw of each pattern's shares (P, L)."""
    P, L = share.shape
    model = ConditionalTable(levels=tuple(map(str, range(L))), patterns=P)
    cells = make_cells(1.0 + np.asarray(level), np.asarray(pattern, dtype=np.float64)[:, None])
    log_lik = model.log_likelihood({"log_theta": np.log(share)[None]}, cells)
    return np.asarray(log_lik[0, cells.cell_of_record])


def _drawn(seed: int, *shape: int) -> dict[str, Any]:
    records = _records(seed, *shape)
    P, L = records["P"], records["L"]
    part = Draws(100 + seed).uniform(P * L, 0.01, 1.0).reshape(P, L)
    return {
        "pattern": records["pattern"],
        "level": records["level"],
        "share": part / np.cumsum(part, axis=1)[:, -1:],
    }
