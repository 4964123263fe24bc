"""Moments of draws beside those that are known, in Monte Carlo standard errors."""

from __future__ import annotations

import numpy as np

from pyvws._base.checks import Floats


def with_products(values: Floats) -> Floats:
    """Values (..., D), then the products of all pairs of them and their squares."""
    D = values.shape[-1]
    pairs = [values[..., i] * values[..., j] for i in range(D) for j in range(i + 1)]
    return np.concatenate([values, np.stack(pairs, axis=-1)], axis=-1)


def errors_apart(found: Floats, known: Floats) -> float:
    """The largest distance of the means of draws (chains, draws, Q) from `known` (Q,), in errors.

    The draws are bounded, so that their standard errors are to be relied on. Draws that never move
    have none, and are infinitely far.
    """
    from arviz_stats.base import array_stats

    error = array_stats.mcse(found, method="mean", chain_axis=0, draw_axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.abs(found.mean(axis=(0, 1)) - known) / error
    return float(np.nan_to_num(gap, nan=np.inf).max())
