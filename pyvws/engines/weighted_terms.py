"""Checks of a Stan program at its own draws: of its target, and of the predictions that it writes.

The target must move with the weights as the program's log_lik says.

Equation 3 of [vws2024] asks for two things. The target under some weights less the target under
others is the difference of the weighted log-likelihoods, up to a constant in the parameters. And
each weighted log-likelihood is a weight times a number that no weight moves: a program that leaves
the weights out altogether would pass the first test alone.

Predictions y_rep must be a function of the parameters, of public data and of random numbers. So
they must not change where the outcomes and the weights are others and all else is the same.
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
            raise InputError.by("stan-stops-under-weights") from None


def reads_records(engine: str, program: str, data: dict[str, Any], draws: Draws) -> bool:
    """Whether y_rep of a program changes with outcomes or weights at the program's own draws.

    `data` is what the program declares. Two tables stand in for its own: the outcomes in falling
    order without the largest, and in rising order without the least, under weights of 0.2 to 1.
    Raises InputError if the program stops under one of them.
    """
    with _unheard() if engine == "pystan" else nullcontext():
        try:
            module = import_module(f"pyvws.engines.{engine}")
            picked = _at_rows(draws)
            own = module.predictions(program, data, picked)
            others = [module.predictions(program, other, picked) for other in _others(data)]
        except (ValueError, RuntimeError):
            raise InputError.by("stan-stops-under-outcomes") from None
    return not all(np.array_equal(own, other, equal_nan=True) for other in others)


def _others(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Data with other outcomes, which have neither the same order nor the same range or mean."""
    rng = np.random.default_rng(2)
    weights = rng.uniform(0.2, 1.0, len(data["weights"]))
    if "y" not in data:
        return [{**data, "weights": weights}]
    rising = np.sort(data["y"])
    least, largest = rising[0], rising[-1]
    lower = np.where(rising == largest, least, rising)[::-1].copy()
    upper = np.where(rising == least, largest, rising)
    return [{**data, "y": y, "weights": weights} for y in (lower, upper)]


def _at_rows(draws: Draws) -> list[dict[str, Any]]:
    """A few evenly spaced draws, each a dict of the program's variables."""
    S = len(next(iter(draws.values())))
    rows = np.unique(np.linspace(0, S - 1, _DRAWS).astype(int))
    return [{name: values[row] for name, values in draws.items()} for row in rows]


def _agree(
    engine: str, program: str, data: dict[str, Any], draws: Draws, *, weighted: bool
) -> bool:
    module = import_module(f"pyvws.engines.{engine}")
    points = module.unconstrained(program, data, _at_rows(draws))
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
