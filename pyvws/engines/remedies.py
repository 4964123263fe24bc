"""Advice on how to change a design matrix under which a sampler fails."""

from __future__ import annotations

import numpy as np

from pyvws._base.checks import Floats

_MOST_COLUMNS = 50  # Each pair of coefficients has a correlation of its own in the prior.
_LARGE = 1e3  # Times 1, where the prior expects coefficients.


def design_remedy(design: Floats) -> str:
    """A sentence on a design (N, K) of too many columns or columns far from 1; else empty."""
    K = design.shape[1]
    if K == 1:  # An intercept, or the numbers of a conditional table's patterns.
        return ""
    if K > _MOST_COLUMNS:
        return (
            f"There are too many design columns ({K}). Join levels, or take predictors out of the "
            "formula."
        )
    sizes = np.abs(design).max(axis=0, initial=0.0)
    if ((sizes > _LARGE) | ((sizes > 0) & (sizes < 1 / _LARGE))).any():  # 0: an unseen level.
        return "Rescale the predictors: choose units in which their values are near 1."
    return ""


def failure_remedy(design: Floats | None) -> str:
    """The sentence of `design_remedy`, or else general advice; `design` may be None."""
    remedy = "" if design is None else design_remedy(np.atleast_2d(design))
    return remedy or "Check that the weights leave enough of the data, or choose another model."
