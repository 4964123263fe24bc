"""The code that families of counts share: checks, large counts, a rough fit, draws."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel
from pyvws.errors import ConvergenceError, InputError
from pyvws.models._gamma import stirling_gap
from pyvws.models.model import Start
from pyvws.models.regression import LOG, row_sums, scoring_start
from pyvws.tables.design.cells import Cells

_LARGEST_MEAN: Final = 1e15


def check_counts(outcome: Floats, column: str, *, model: str) -> None:
    """Raise InputError unless every outcome is a whole number of at least 0."""
    negative = int((outcome < 0).sum())
    if negative:
        raise InputError.by("counts-negative", column=column, negative=negative, model=model)
    fractional = int((outcome != np.floor(outcome)).sum())
    if fractional:
        raise InputError.by(
            "counts-with-fraction", column=column, fractional=fractional, model=model
        )
    if (outcome > 2.0**53).any():
        raise InputError.by("counts-above-floats", column=column)


def count_start(cells: Cells, weights: Floats, *, extra: int, dispersion: float) -> Start:
    """A rough fit of counts' beta by Fisher scoring, and its information, for 1/phi near
    `dispersion`.
    """
    count, total = row_sums(cells, weights)

    def scores(mean: Floats) -> tuple[Floats, Floats]:
        spread = 1.0 + dispersion * mean
        return (total - count * mean) / spread, count * mean / spread

    first = (total + 0.5) / (count + 0.5)
    return scoring_start(cells.rows, first, scores, link=LOG, extra=extra)


@kernel
def highest_poisson(y: Floats) -> Floats:
    """log Poisson(y | y) = y log y - y - log y! of counts (C,), in nats; 0 for a count of 0."""
    highest = np.zeros(len(y))
    for c in range(len(y)):
        if y[c] > 0.0:
            highest[c] = stirling_gap(y[c])[0] - math.log(y[c])
    return highest


def poisson_counts(mean: Floats, rng: np.random.Generator) -> Floats:
    """Poisson counts (N,) with the given means; raises ConvergenceError where no integer fits."""
    if not (mean <= _LARGEST_MEAN).all():
        raise ConvergenceError(
            "A posterior draw predicts counts beyond any integer: the weights leave too little of "
            "the data. Raise c or g, or the bound to meet."
        )
    return rng.poisson(mean).astype(np.float64)
