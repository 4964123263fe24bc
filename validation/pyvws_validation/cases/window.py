"""Cases of the window's figure: what a draw costs where terms are log probabilities."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws.bounds.joint import joint_bounds
from pyvws.release.synthesizer import synthesize
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._case import in_steps
from pyvws_validation._draws import Draws
from pyvws_validation._grid_engine import KnownByWidth
from pyvws_validation.cases.accounting import SEED

_NEIGHBOURS: Final = ("leave-one-out", "replace-one")


def window_widths(first: Floats, second: Floats, third: Floats, weights: Floats) -> Floats:
    """The widths (N,) of three columns' records, of which the second is a log density; Delta."""
    bounds = joint_bounds(
        [first, second, third], weights=weights, probabilities=[True, False, True]
    )
    return in_steps([*bounds.windows, bounds.database])


def _figures(
    *,
    counts: Floats,
    log_mean: Floats,
    numbers: Floats,
    mean: Floats,
    log_scale: Floats,
    **settings: Any,
) -> Floats:
    """The statement's figures in the order of `figures` in window.R, from a whole run."""
    S, places = len(log_mean), np.arange(len(counts))
    nothing = np.zeros(S)
    release = synthesize(
        pl.DataFrame({"counts": counts, "numbers": numbers, "unit": places // 2}),
        mechanism="lw",
        g=0.0,
        engine=KnownByWidth(
            [np.column_stack([log_mean, nothing]), np.column_stack([mean, nothing, log_scale])]
        ),
        draws=S,
        chains=1,
        seed=SEED,
        **settings,
    )
    exact, released = release.summary["privacy"], release.privacy
    key, names = "epsilon_of_window", ("of_window", "total_of_window")
    if key not in exact:  # Only densities: the papers' figure is the window's.
        key, names = "epsilon_per_dataset", ("per_dataset", "total")
    both = [
        released["epsilon_by_neighbours"][relation][name]
        for relation in _NEIGHBOURS
        for name in names
    ]
    steps = in_steps([exact["lipschitz_bound"], exact[key]])
    return np.array([*steps, released["epsilon_per_dataset"], released[key], *both])


_TABLE: Final = {
    "counts": Column(model="poisson"),
    "numbers": Column(model="normal", predictors=()),
    "unit": Column(role="drop"),
}
probability_statement = partial(_figures, model="poisson", outcome="counts")
density_statement = partial(_figures, model="normal", outcome="numbers")
mixed_statement = partial(_figures, schema=Schema(_TABLE))
units_statement = partial(_figures, model="poisson", outcome="counts", unit="unit")

# Arguments


def columns_of_terms(seed: int, *shape: int) -> dict[str, Any]:
    """Log probabilities, log densities of both signs, log probabilities, and weights."""
    stream, (S, N) = Draws(seed), shape
    first, second, third = (
        stream.uniform(S * N, low, high).reshape(S, N)
        for low, high in ((-3.0, 0.0), (-2.0, 4.0), (-1.5, 0.0))
    )
    return {"first": first, "second": second, "third": third, "weights": stream.uniform(N)}


def counts_and_numbers(seed: int, *shape: int) -> dict[str, Any]:
    """Counts and numbers, and draws of both columns; all log densities lie above 0."""
    stream, (S, N) = Draws(seed), shape
    return {
        "counts": np.floor(stream.uniform(N, 0.0, 9.0)),
        "log_mean": stream.uniform(S, -0.5, 1.8),
        "numbers": stream.uniform(N, -0.02, 0.02),
        "mean": stream.uniform(S, -0.02, 0.02),
        "log_scale": stream.uniform(S, -3.0, -1.5),
    }
