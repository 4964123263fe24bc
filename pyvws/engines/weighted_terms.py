"""Checks that a Stan program's target moves with the weights as the program's log_lik says.

Equation 3 of [vws2024] asks for two things. The target under some weights less the target under
others is the difference of the weighted log-likelihoods, up to a constant in the parameters. And
each weighted log-likelihood is a weight times a number that no weight moves: a program that leaves
the weights out altogether would pass the first test alone.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.models.model import Draws

CHECKING_ENGINES: Final = ("pystan", "rstan")  # They give a program's density at a point.
_DRAWS: Final = 8
_ROUNDING: Final = 1e-8  # Of the sums of log-likelihoods; a slip moves them by whole nats.


def adds_its_log_lik(
    engine: str, program: str, data: dict[str, Any], draws: Draws, *, weighted: bool
) -> bool:
    """Compare both differences at a few of the program's own draws, each of shape (S, ...).

    `data` is what the program declares; its weights (n,) are replaced. `weighted` says whether
    log_lik holds alpha_i l_i rather than l_i. Raises InputError if the program stops at one of its
    draws. The program's prints can hold data values, so this function discards them.
    """
    with _unheard() if engine == "pystan" else nullcontext():
        try:
            return _agree(engine, program, data, draws, weighted=weighted)
        except (ValueError, RuntimeError):
            raise InputError(
                "The Stan program stops at draws of its own under other weights, so its log_lik "
                "cannot be compared with its target. Let it take any weights in [0, 1]."
            ) from None


def _agree(
    engine: str, program: str, data: dict[str, Any], draws: Draws, *, weighted: bool
) -> bool:
    module = import_module(f"pyvws.engines.{engine}")
    S = len(next(iter(draws.values())))
    rows = np.unique(np.linspace(0, S - 1, _DRAWS).astype(int))
    points = module.unconstrained(
        program, data, [{name: values[row] for name, values in draws.items()} for row in rows]
    )
    rng = np.random.default_rng(1)
    apart = np.zeros(len(points))
    records: list[Floats] = []  # l_i, which no weight moves.
    size = 1.0
    for sign in (1.0, -1.0):
        weights = rng.uniform(0.2, 1.0, len(data["weights"]))
        target, _, written = module.densities(program, {**data, "weights": weights}, points)
        terms: Floats = written["log_lik"] if weighted else written["log_lik"] * weights
        records.append(terms / weights)
        apart += sign * (target - terms.sum(axis=1))
        size = max(size, float(np.abs(terms).sum(axis=1).max()))
    with np.errstate(invalid="ignore"):
        moved = float(np.abs(records[0] - records[1]).max())
    return bool(max(np.ptp(apart), moved) <= _ROUNDING * size)


@contextmanager
def _unheard() -> Iterator[None]:
    """Nothing reaches the process's standard output, not even from a compiled program."""
    library = ctypes.CDLL(None)
    sys.stdout.flush()
    library.fflush(None)
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    try:
        yield
    finally:
        library.fflush(None)  # Else text still in memory would be printed below.
        os.dup2(kept, 1)
        os.close(kept)
