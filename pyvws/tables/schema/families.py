"""What a schema knows of the families: their names, their settings, and which make categories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyvws._base.checks import near
from pyvws.errors import InputError

MOST_LEVELS: Final = 300
"""The family nominal has coefficients for each level, so more levels are refused."""

CATEGORICAL: Final = ("nominal", "ordinal", "logistic", "table")
"""Families of categories: their columns need levels."""

COUNTS: Final = ("poisson", "negative-binomial")
"""Families of whole numbers from 0 on."""

PARTED: Final = ("nominal", "table")
"""Families of the category of a number's parts."""

_NORMAL: Final = ("outcome_scale", "outcome_centre", "outcome_unit", "smallest_sd")

FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {
    "nominal": ("coefficient_sd",),
    "ordinal": (),
    "logistic": (),
    "table": ("concentration",),
    "poisson": (),
    "negative-binomial": (),
    "normal": _NORMAL,
    "truncated-normal": _NORMAL[:-1],
    "gamma": ("largest_shape",),
    "beta": ("squeeze", "largest_kappa"),
    "normal-mixture": ("components", "gamma_shape", "gamma_rate", "labels", *_NORMAL),
}
"""Each family with its settings beyond `levels` and `range`; `models/` has the families."""


def family_named(model: str | None) -> str | None:
    """A family's name, also of `a_b` for `a-b`; InputError for another word."""
    if model is None:
        return None
    word = model.replace("_", "-")
    if word not in FAMILIES:
        hint = near(word, FAMILIES)
        raise InputError.by("family-unknown", families=", ".join(FAMILIES), model=model, hint=hint)
    return word
