"""The scale on which a family models a continuous outcome, and the scale's effect on bounds.

The supplement of [risk2024] models the logarithm of income; "signed-log" does the same for outcomes
of either sign. The likelihood is of the encoded outcome and has no Jacobian of the scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from pyvws._base.checks import Floats, choice
from pyvws._base.phrase import Phrase
from pyvws._base.setting import about
from pyvws.errors import ConvergenceError, InputError
from pyvws.tables.cells import Cells

__all__ = [
    "DECLARED",
    "DECLARED_SD",
    "OUTCOME_SCALES",
    "SMALLEST_SD",
    "check_scale",
    "decode",
    "encode",
    "highest_normal",
    "known_scale",
    "scale_caveats",
]

OUTCOME_SCALES: Final = ("identity", "log", "signed-log")
"""y as it is, log y for y > 0, and sign(y) log(1 + |y|)."""

DECLARED: Final = about(
    "Scale on which the outcome is modelled: identity, log or signed-log.", choices=OUTCOME_SCALES
)
"""The setting `outcome_scale` of each family that takes it."""

SMALLEST_SD: Final = 0.05
DECLARED_SD: Final = about(
    "Least standard deviation on the outcome's scale, known without looking at the data.",
    more="Each component of normal-mixture lies above it. For normal it only ends the public range "
    "of the deviance clamp: the further below the truth, the more of epsilon is lost.",
)
"""The setting `smallest_sd` of the normal families, and its default."""

_ENCODE: Final[dict[str, Callable[[Floats], Floats]]] = {
    "identity": lambda y: y,
    "log": lambda y: np.asarray(np.log(y)),
    "signed-log": lambda y: np.asarray(np.sign(y) * np.log1p(np.abs(y))),
}

_DECODE: Final[dict[str, Callable[[Floats], Floats]]] = {
    "identity": lambda v: v,
    "log": lambda v: np.asarray(np.exp(v)),
    "signed-log": lambda v: np.asarray(np.sign(v) * np.expm1(np.abs(v))),
}


def known_scale(scale: str) -> str:
    """The scale, one of OUTCOME_SCALES; underscores count as hyphens."""
    return choice(str(scale).replace("_", "-"), "outcome_scale", OUTCOME_SCALES)


def check_scale(outcome: Floats, column: str, scale: str, model: str) -> None:
    """Raise InputError where an outcome (N,) has no value on the scale."""
    not_positive = int((outcome <= 0).sum())
    if scale == "log" and not_positive:
        raise InputError(
            f"Column {column!r} has {not_positive} values that are not above 0; {model} with "
            "outcome scale log needs them above 0. Make 0 a point of mass in a "
            "schema (mass = [0]); for negative amounts use --outcome-scale identity "
            "(outcome_scale='identity' in Python)."
        )


def encode(outcome: Floats, scale: str) -> Floats:
    """Outcomes (N,) on the scale of the likelihood."""
    return _ENCODE[scale](outcome)


def decode(encoded: Floats, scale: str) -> Floats:
    """The inverse of `encode`. Raises ConvergenceError where an outcome is beyond any float."""
    with np.errstate(over="ignore", invalid="ignore"):
        outcome = _DECODE[scale](encoded)
    if not np.isfinite(outcome).all():
        raise ConvergenceError(
            "A posterior draw predicts outcomes beyond any number: the weights leave too little of "
            "the data. Raise c or g, or the bound to meet."
        )
    return outcome


def scale_caveats(scale: str) -> tuple[Phrase, ...]:
    """The caveats of the privacy statement about a density on the scale."""
    return Phrase(f"unit-{scale}"), Phrase("no-upper-limit")


def highest_normal(cells: Cells, smallest_sd: float) -> Floats:
    """The largest normal log density (C,), in nats, of any mean and an sd of at least smallest_sd.

    Raises InputError for a smallest_sd of 0, under which no density is the largest.
    """
    if smallest_sd == 0.0:
        raise InputError(
            "The deviance clamp needs a public smallest standard deviation above 0. Set "
            "--smallest-sd (smallest_sd in Python), or take --clamp half."
        )
    return np.full(cells.n_cells, -math.log(smallest_sd) - 0.5 * math.log(2.0 * math.pi))
