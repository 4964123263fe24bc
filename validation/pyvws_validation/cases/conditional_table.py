"""Cases of `pyvws.models.conditional_table`: weighted counts, log-likelihoods, clamped density."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyvws._base.checks import Floats, Ints
from pyvws.models.conditional_table import ConditionalTable
from pyvws.models.sequence import Conditional
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.joint_target import JointTarget
from pyvws.tables.design.cells import Cells, make_cells
from pyvws_validation._draws import Draws


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


def _betas(seed: int, N: int) -> dict[str, Any]:
    """Cells of few and of many records in patterns of few and of many."""
    draws = Draws(seed)
    own, others = (np.exp(draws.uniform(N, -1.0, 9.0)) for _ in range(2))
    return {"own": own, "others": others, "S": 100 * seed}


def log_likelihood(pattern: Ints, level: Ints, share: Floats) -> Floats:
    """log p (N,) of each record, from one draw of each pattern's shares (P, L)."""
    P, L = share.shape
    model = ConditionalTable(levels=tuple(map(str, range(L))), patterns=P)
    cells = _cells(pattern, level)
    log_lik = model.log_likelihood({"log_theta": np.log(share)[None]}, cells)
    return np.asarray(log_lik[0, cells.cell_of_record])


def _cells(pattern: Ints, level: Ints) -> Cells:
    return make_cells(1.0 + level.astype(np.float64), pattern.astype(np.float64)[:, None])


def clamped_density(
    pattern: Ints,
    level: Ints,
    share: Floats,
    other_pattern: Ints,
    other_level: Ints,
    other_share: Floats,
    weights: Floats,
    epsilon: float,
    concentration: float,
) -> Floats:
    """The log density of a table of two conditional tables at shares (P, L) and (Q, M)."""
    columns: list[Conditional] = []
    for own, places, codes in ((share, pattern, level), (other_share, other_pattern, other_level)):
        levels = tuple(map(str, range(own.shape[1])))
        model = ConditionalTable(levels, concentration, patterns=len(own))
        columns.append(Conditional(str(len(columns)), model, _cells(places, codes)))
    target = JointTarget(tuple(columns), weights, Clamp(epsilon, "deviance"))
    q = np.concatenate([np.log(share).ravel(), np.log(other_share).ravel()])
    return np.array([target.density_and_gradient()(q)[0]])


def _clamped(seed: int, *shape: int) -> dict[str, Any]:
    """Two columns of one table; at a small epsilon most records are at an end of the window."""
    first, second = (_drawn(own_seed, *shape) for own_seed in (seed, seed + 1))
    return {
        **first,
        **{f"other_{name}": values for name, values in second.items()},
        "weights": _records(seed, *shape)["weights"],
        "epsilon": (0.5, 2.0, 1.0, 4.0, 8.0)[seed - 1],
        "concentration": 0.5 + seed,
    }


def _drawn(seed: int, *shape: int) -> dict[str, Any]:
    records = _records(seed, *shape)
    P, L = records["P"], records["L"]
    part = Draws(100 + seed).uniform(P * L, 0.01, 1.0).reshape(P, L)
    return {
        "pattern": records["pattern"],
        "level": records["level"],
        "share": part / np.cumsum(part, axis=1)[:, -1:],
    }
