"""Columns that look like survey weights, by their names and values: no columns of a model."""

from __future__ import annotations

import re
from typing import Any, Final

import narwhals as nw
import numpy as np

from pyvws.tables.files.kinds import floats_of, holds_numbers

_OF_WEIGHTS: Final = re.compile(
    r"[ph]?w(gh?|eigh)?ts?[0-9]*|w|gewicht|poids|ponder[a-z]*|pond|peso|fexp|expansion"
)
_OF_SURVEYS: Final = re.compile(
    r"(?:^|_)(?:[ph]?wgtp|fnlwgt|pweight|hweight|dweight|pspwg?h?t|anweight)[0-9]*$"
    r"|(?:survey|sampl\w*|design|final|person|hh|house\w*|calib\w*|base|resp\w*)_?(?:weight|wgh?t|wt)"
)
_WORDS: Final = re.compile(r"[^a-z0-9]+")
_DECIMALS: Final = 2  # Of measured sizes, at most; weights are quotients.
_HEAVY: Final = 250.0  # No mean weight of persons in kilograms or pounds is as large.


def are_survey_weights(column: nw.Series[Any]) -> bool:
    """Whether a column looks like survey weights: by a name of weights, and values above 0.

    "weight" may be that of a body. So such a name needs values with many decimals, or values that
    no body has.
    """
    if not holds_numbers(column):
        return False
    name, values = column.name.lower(), floats_of(column)
    values = values[~np.isnan(values)]
    if len(np.unique(values)) < 2 or (values < 0.0).any() or np.isinf(values).any():
        return False
    if _OF_SURVEYS.search(name):
        return True
    if not any(_OF_WEIGHTS.fullmatch(word) for word in _WORDS.split(name)):
        return False
    parts = values * 10**_DECIMALS
    fractions = np.abs(parts - np.rint(parts)) > 1e-6 * np.maximum(1.0, parts)
    return bool(np.mean(fractions) > 0.5 or values.mean() > _HEAVY)
