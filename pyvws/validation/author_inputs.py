"""Seeded arguments for the authors' functions, and the package's numbers for the same data.

Each function gives a case `(seed, n) -> (their call, our result)`, or is one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd

from pyvws._base.checks import Floats
from pyvws.evaluation.bootstrap import bootstrap_interval
from pyvws.evaluation.ecdf import ecdf_utility
from pyvws.r_numbers import rarith
from pyvws.risks.identification_risk import identification_risk
from pyvws.risks.pairwise import pairwise_weights
from pyvws.validation._author_case import AuthorCall
from pyvws.validation._draws import Draws
from pyvws.weights.weights import risk_weights

__all__ = [
    "at_the_end",
    "bootstrap",
    "confidential",
    "ecdf",
    "filtered",
    "marginal",
    "one_record",
    "pairwise_scaled",
    "synthetic",
    "two_outcomes",
]

_RADII: Final = (0.2, 0.15, 0.3, 0.25, 0.1)
_SCALES: Final = ((1.0, 0.0), (1.7, 0.3), (0.8, -0.25), (0.9, 0.05), (1.5, 0.0))


def _frame(y: Any, index: Any = None) -> pd.DataFrame:
    return pd.DataFrame({"outcome": np.asarray(y)}, index=index)


def _risk(y: pd.DataFrame, synthetic: list[pd.DataFrame], radius: float) -> dict[str, Any]:
    return {
        "origdata": y,
        "syndata": synthetic,
        "syn.vars": np.array(y.columns, dtype=object),
        "m": len(synthetic),
        "n": len(y),
        "r": radius,
    }


def _neighbours(y: Floats, seed: int, datasets: int) -> list[Floats]:
    """Synthetic values near and far, in whole steps."""
    steps = Draws(seed + 900).whole(datasets * len(y), 81) - 40
    return [y + step for step in steps.reshape(datasets, len(y))]


def _values(seed: int, n: int, kind: str) -> Floats:
    """Counts, or whole amounts of both signs."""
    counts = Draws(seed).counts(n)
    if kind == "counts":
        return counts
    return np.asarray(np.where(Draws(seed + 5).uniform(n) < 0.3, -counts - 1.0, counts))


def confidential(
    ours: Callable[..., Floats], kind: str = "counts", known: bool = False
) -> Callable[[int, int], tuple[AuthorCall, Floats]]:
    """Risk or pairwise weights of the confidential data: theirs takes them as one dataset."""

    def case(seed: int, n: int) -> tuple[AuthorCall, Floats]:
        y, radius = _values(seed, n, kind), _RADII[seed - 1]
        codes = np.arange(n, dtype=np.int64) % 3 if known else None
        frame = _frame(y)
        return (
            AuthorCall(_risk(frame, [frame], radius), known=codes),
            ours(y, radius=radius, known=codes),
        )

    return case


def synthetic(seed: int, n: int) -> tuple[AuthorCall, Floats]:
    y, radius = Draws(seed).counts(n), _RADII[seed - 1]
    datasets = _neighbours(y, seed, 3)
    call = AuthorCall(_risk(_frame(y), [_frame(values) for values in datasets], radius))
    return call, identification_risk(y, datasets, radius=radius)


def filtered(seed: int, n: int) -> tuple[AuthorCall, Floats]:
    """A frame that kept its row names when every other row was dropped."""
    y, radius = Draws(seed).counts(n), _RADII[seed - 1]
    names = np.arange(2, 2 * n + 1, 2)
    frame = _frame(y, names)
    return AuthorCall(_risk(frame, [frame], radius)), identification_risk(y, radius=radius)


def two_outcomes(seed: int, n: int) -> tuple[AuthorCall, Floats]:
    first, radius = Draws(seed).counts(n) + 1.0, _RADII[seed - 1]
    second = Draws(seed + 3).counts(n) * 16.0 + 1.0
    frame = pd.DataFrame({"outcome": first, "other": second})
    y = np.column_stack([first, second])
    return AuthorCall(_risk(frame, [frame], radius)), identification_risk(y, radius=radius)


def at_the_end(seed: int, n: int) -> tuple[AuthorCall, Floats]:
    """Synthetic values at y + r y exactly, the end of the ball, which belongs to it."""
    y, radius = Draws(seed).uniform(n, 1.0, 1000.0), _RADII[seed - 1]
    call = AuthorCall(_risk(_frame(y), [_frame(y + radius * y)], radius))
    return call, identification_risk(y, [y + radius * y], radius=radius)


def marginal(seed: int, n: int) -> tuple[AuthorCall, Floats]:
    risk, (c, g) = Draws(seed).uniform(n), _SCALES[seed - 1]
    arguments = {"exp.risk_record": risk, "scale_factor": c, "shift_factor": g}
    return AuthorCall(arguments), risk_weights(risk, c=c, g=g)


def pairwise_scaled(seed: int, n: int) -> tuple[AuthorCall, Floats]:
    """Their driver hands 1 - alpha to the function of the marginal weights."""
    y, (c, g) = Draws(seed).counts(n), _SCALES[seed - 1]
    risk = 1.0 - pairwise_weights(y, radius=0.2)
    arguments = {"exp.risk_record": risk, "scale_factor": c, "shift_factor": g}
    return AuthorCall(arguments), pairwise_weights(y, radius=0.2, c=c, g=g)


def one_record(seed: int, _: int) -> tuple[AuthorCall, Floats]:
    y = Draws(seed).counts(1) + 1.0
    call = AuthorCall(_risk(_frame(y), [_frame(y)], 0.2))
    return call, pairwise_weights(y, singletons="weight-zero")


def ecdf(seed: int, n: int) -> tuple[AuthorCall, Floats]:
    y = Draws(seed).counts(n)
    datasets = _neighbours(y, seed, 3)
    found = ecdf_utility(y, datasets)
    arguments = {"origdata": _frame(y), "syndata": [_frame(v) for v in datasets], "m": 3}
    return AuthorCall(arguments, part=("Um", "Ua")), np.array([found.maximum, found.average])


def bootstrap(
    name: str, *, records: int | None = None
) -> Callable[[int, int], tuple[AuthorCall, Floats]]:
    statistics = {
        "mean": rarith.mean,
        "median": lambda x: float(rarith.quantile(x, 0.5)),
        "quantile": lambda x: float(rarith.quantile(x, 0.9)),
    }

    def case(seed: int, n: int) -> tuple[AuthorCall, Floats]:
        y = Draws(seed).counts(n if records is None else records) + 9.0
        datasets = _neighbours(y, seed, 2) if records is None else [y]
        found = bootstrap_interval(datasets, statistics[name], n=n, replicates=40, seed=seed)
        extra = {"q": 0.9} if name == "quantile" else {"FUN": name}
        frames = [_frame(values) for values in datasets]
        arguments = {"syndata": frames, "m": len(frames), "seed": seed, "S": 40, "n": n, **extra}
        ours = np.array([found.estimate, found.lower, found.upper])
        return AuthorCall(arguments, part=("PE", "lower", "upper")), ours

    return case
