"""Whether a Stan program adds to its target what it writes as log_lik, as Equation 3 of [vws2024]
asks: the target under some weights less that under others is the difference of the weighted
log-likelihoods, but for what no parameter moves.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import numpy as np

from pyvws._checks import Floats
from pyvws.models._model import Draws

__all__ = ["CHECKING_ENGINES", "adds_its_log_lik"]

CHECKING_ENGINES: Final = ("pystan", "rstan")  # Those that give a program's density at a point.
_DRAWS: Final = 8
_ROUNDING: Final = 1e-8  # Of the sums of log-likelihoods; a slip moves them by whole nats.


def adds_its_log_lik(
    engine: str, program: str, data: dict[str, Any], draws: Draws, *, weighted: bool
) -> bool:
    """Compare both differences at a few of the program's own draws.

    Parameters
    ----------
    engine : {"pystan", "rstan"}
        Which Stan evaluates the program.
    program : str
        Its text.
    data : dict
        What it declares; weights (n,) are replaced.
    draws : dict of ndarray, each of shape (S, ...)
        Draws of its parameters; other variables are ignored.
    weighted : bool
        Whether log_lik holds alpha_i l_i rather than l_i.
    """
    module = import_module(f"pyvws.engines.{engine}")
    S = len(next(iter(draws.values())))
    rows = np.unique(np.linspace(0, S - 1, _DRAWS).astype(int))
    points = module.unconstrained(
        program, data, [{name: values[row] for name, values in draws.items()} for row in rows]
    )
    rng = np.random.default_rng(1)
    apart = np.zeros(len(points))
    size = 1.0
    for sign in (1.0, -1.0):
        weights = rng.uniform(0.2, 1.0, len(data["weights"]))
        target, _, written = module.densities(program, {**data, "weights": weights}, points)
        terms: Floats = written["log_lik"] if weighted else written["log_lik"] * weights
        apart += sign * (target - terms.sum(axis=1))
        size = max(size, float(np.abs(terms).sum(axis=1).max()))
    return bool(np.ptp(apart) <= _ROUNDING * size)
