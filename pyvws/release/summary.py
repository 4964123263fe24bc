"""What a run leaves for its own agency: exact figures, diagnostics, timings, versions."""

from __future__ import annotations

import math
import platform
from functools import cache
from importlib.metadata import version
from typing import Any, Final

import narwhals as nw
import numpy as np

from pyvws import __version__
from pyvws.mechanisms.weighing import WeightedFit, Weighting
from pyvws.posterior.draws import Posterior
from pyvws.statement.accounting import PrivacyStatement
from pyvws.synthesis.confidential_table import ConfidentialTable
from pyvws.synthesis.loop import SynthesisLoop

__all__ = ["library_version", "posterior_columns", "record_columns", "summarize", "table_like"]

library_version: Final = cache(version)
"""The version of an installed package; its files are read once."""

_LIBRARIES = ("numpy", "scipy", "numba", "nutpie", "polars", "narwhals", "formulaic")


def summarize(
    loop: SynthesisLoop,
    released: WeightedFit,
    statement: PrivacyStatement,
    *,
    seed: int,
    input_sha256: str | None,
    input_sha256_of: str,
    table: ConfidentialTable,
    settings: dict[str, Any],
    seconds: float,
) -> dict[str, Any]:
    """summary.json: everything exact, all of it confidential. Figures in nats and seconds."""
    cells = loop.cells
    return {
        "Delta": _number(released.bounds.database),
        "epsilon": _number(released.bounds.epsilon),
        "epsilon_total": _number(statement.epsilon_total),
        "privacy": {name: _number(value) for name, value in statement.exact().items()},
        "diagnostics": _diagnostics(released),
        "fits": [
            {
                "label": fit.label,
                "Delta": _number(fit.bounds.database),
                "epsilon": _number(fit.bounds.epsilon),
                "mean_weight": cells.mean(fit.weights),
                "diagnostics": _diagnostics(fit),
                "seconds": fit.posterior.seconds,
            }
            for fit in loop.fits
        ],
        "search": [
            {
                "label": made.label,
                "symbol": made.symbol,
                "value": made.value,
                "reached": _number(made.reached),
                "target": made.target,
            }
            for made in loop.tries
        ],
        "timings": {
            "total_seconds": seconds,
            "sampling_seconds": sum(fit.posterior.seconds for fit in loop.fits),
        },
        "records": cells.total_records,
        "cells": cells.n_cells,
        "design_columns": list(table.design.names),
        "engine": released.posterior.engine,
        "settings": settings,
        "seed": seed,
        "input_sha256": input_sha256 or table.sha256,
        "input_sha256_of": (
            input_sha256_of if input_sha256 else "outcome and design matrix as float64"
        ),
        "versions": {
            "pyvws": __version__,
            "python": platform.python_version(),
            **{name: library_version(name) for name in _LIBRARIES},
        },
    }


def posterior_columns(posterior: Posterior) -> dict[str, Any]:
    """Draws as columns: chain and draw from 1, then each parameter, arrays indexed from 1."""
    S = posterior.n_draws
    each = S // posterior.chains
    columns: dict[str, Any] = {
        "chain": np.repeat(np.arange(1, posterior.chains + 1), each),
        "draw": np.tile(np.arange(1, each + 1), posterior.chains),
    }
    for name, values in posterior.draws.items():
        if values.ndim == 1:
            columns[name] = values
            continue
        for place in np.ndindex(values.shape[1:]):
            label = ",".join(str(index + 1) for index in place)
            columns[f"{name}[{label}]"] = np.ascontiguousarray(values[(slice(None), *place)])
    return columns


def record_columns(weighting: Weighting, final: WeightedFit) -> dict[str, Any]:
    """records.parquet: weights, bounds (nats) and risks, of the mechanism's fit and the last."""
    return {
        "weight": weighting.fit.weights,
        "lipschitz_bound": weighting.fit.bounds.by_record,
        "risk": weighting.risk,
        "weight_final": final.weights,
        "lipschitz_bound_final": final.bounds.by_record,
    }


def table_like(columns: dict[str, Any], implementation: Any) -> Any:
    """A table of the given kind from columns of equal length."""
    return nw.from_dict(columns, backend=implementation).to_native()


def _diagnostics(fit: WeightedFit) -> dict[str, Any]:
    return {name: _number(v) for name, v in fit.posterior.diagnostics.as_dict().items()}


def _number(value: Any) -> Any:
    """JSON has no infinity and no NaN: such a figure is null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
