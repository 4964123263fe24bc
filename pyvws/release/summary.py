"""The confidential figures of a run, for its own agency: exact figures, diagnostics, versions."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace
from functools import cache
from importlib.metadata import version
from typing import Any, Final

import numpy as np

from pyvws import __version__
from pyvws._base.checks import Floats
from pyvws._base.seeds import release_id
from pyvws.mechanisms.weighing import WeightedFit, Weighting
from pyvws.posterior.draws import Y_REP, Posterior
from pyvws.release.column_checks import Sample, check_columns
from pyvws.release.draw_source import DrawSource
from pyvws.statement.accounting import PrivacyStatement
from pyvws.statement.statement import ShownStatement
from pyvws.synthesis.fit_sources import FitSource, ModelSource
from pyvws.synthesis.loop import SynthesisLoop
from pyvws.synthesis.settings_by_name import config_text
from pyvws.tables.design.units import by_record

_version: Final = cache(version)  # The cache reads an installed package's files once.
_LIBRARIES = ("numpy", "scipy", "numba", "polars", "narwhals", "formulaic")


def once_a_run(
    run: DrawSource,
    samples: Sequence[Sample],
    *,
    as_table: Callable[[dict[str, Any]], Any],
    began: float,
    input_sha256: str | None,
    input_sha256_of: str = "file",
) -> dict[str, Any]:
    """The parts of a release that a run has once, by the names that `Release` gives them.

    `samples` are rows of each dataset, which are checked here. `as_table` makes a table of columns.
    The run began at perf_counter `began`.
    """
    settings, table = run.settings, run.table
    name = release_id(None if run.secret else run.seed)
    figures = run.figures()
    checks = check_columns(
        table,
        samples,
        mechanism=settings.chosen_mechanism,
        rounded=settings.round,
        records=run.records(),
        noise=run.noise,
    )
    summary = {
        **figures,
        **({"records_that_break_rules": table.breaking} if table.breaking else {}),
        **({"records_with_unknown_values": table.unknown} if table.unknown else {}),
        **({"signed_proposal": table.plan.signature} if table.plan.signature else {}),
        "column_checks": checks,
        "timings": {"total_seconds": time.perf_counter() - began, **figures["timings"]},
        "settings": {**_recorded(run), **figures["settings"]},
        "seed": run.seed,
        "input_sha256": input_sha256 or table.sha256,
        "input_sha256_of": (
            input_sha256_of if input_sha256 else "outcomes and design matrices as float64"
        ),
        "versions": {
            "pyvws": __version__,
            "python": platform.python_version(),
            **{name: _version(name) for name in _LIBRARIES},
        },
    }
    return {
        "privacy": ShownStatement({**run.statement.released(), "release_id": name}),
        "posterior": as_table(run.posterior()),
        "public_tables": run.public_tables(),
        "summary": summary,
        "console": run.console,
        "config": config_text(settings, seed=None, plan=table.plan),
        "config_with_seed": config_text(settings, seed=run.seed, plan=table.plan),
        **run.texts,
    }


def _recorded(run: DrawSource) -> dict[str, Any]:
    """The settings as plain values; families as prepared for the table."""
    apart = ("model", "mechanism", "settings", "engine", "program", "schema", "existing_fit")
    settings = run.settings
    mechanism: Any = settings.mechanism
    own = {entry.name: getattr(settings, entry.name) for entry in fields(settings) if entry.init}
    own |= run.table.plan.written
    families: Any = {outcome.name: outcome.model for outcome in run.table.outcomes}
    by_column = {name: {"model": x.name, **asdict(x)} for name, x in families.items()}
    return {
        **by_column.get(own["outcome"] or "", {"columns": by_column}),
        "mechanism": mechanism.name,
        **asdict(settings.settings),
        **{name: x for name, x in asdict(mechanism).items() if name != "alpha"},
        **{name: x for name, x in own.items() if name not in apart and x is not None},
        "program": settings.program and settings.program.text,
    }


def fit_figures(
    loop: SynthesisLoop,
    released: WeightedFit,
    statement: PrivacyStatement,
    constants: dict[str, float],
) -> dict[str, Any]:
    """The figures of fits, in nats and seconds, and the constants that searches found."""
    cells, units = loop.cells, loop.source.units
    return {
        "Delta": plain_number(released.bounds.database),
        "epsilon": plain_number(released.bounds.epsilon),
        "epsilon_total": plain_number(statement.epsilon_total),
        "privacy": {name: plain_number(value) for name, value in statement.exact().items()},
        "diagnostics": _diagnostics(released),
        "fits": [
            {
                "label": fit.label,
                "Delta": plain_number(fit.bounds.database),
                "epsilon": plain_number(fit.bounds.epsilon),
                "mean_weight": cells.mean(fit.weights),
                "diagnostics": _diagnostics(fit),
                "engine": fit.posterior.engine,
                "seconds": fit.posterior.seconds,
            }
            for fit in loop.fits
        ],
        "search": [
            {
                "label": attempt.label,
                "symbol": attempt.symbol,
                "value": attempt.value,
                "reached": plain_number(attempt.reached),
                "target": attempt.target,
            }
            for attempt in loop.tries
        ],
        "timings": {"sampling_seconds": sum(fit.posterior.seconds for fit in loop.fits)},
        "records": (cells if units is None else units.records).total_records,
        "cells": cells.n_cells,
        "engine": released.posterior.engine,
        "settings": constants,
    }


def unit_figures(source: FitSource, released: WeightedFit) -> dict[str, Any]:
    """The figures of units of privacy: how large they are, and what records alone would cost.

    A guarantee for records holds for a unit of m records at m times its epsilon. The figure is that
    product for the largest unit, from the bounds of records under the same fit and weights. A clamp
    of records would cost its epsilon, whatever the fit.
    """
    assert isinstance(source, ModelSource)
    assert source.units is not None
    units = source.units
    if released.clamp is not None:
        epsilon = released.clamp.epsilon
    else:
        alone = replace(source, units=None)
        weights = by_record(released.weights, units)
        epsilon = alone.bounded(released.posterior, weights)[0].epsilon
    return {
        "units": {
            "number": units.total_records,
            "largest": units.largest,
            "largest_share": units.largest / units.records.total_records,
            "epsilon_of_records_times_largest": plain_number(units.largest * epsilon),
        }
    }


def posterior_columns(posterior: Posterior) -> dict[str, Any]:
    """Draws as columns: chain and draw, numbered from 1, then parameters, arrays indexed from 1."""
    S = posterior.n_draws
    each = S // posterior.chains
    columns: dict[str, Any] = {
        "chain": np.repeat(np.arange(1, posterior.chains + 1), each),
        "draw": np.tile(np.arange(1, each + 1), posterior.chains),
    }
    for name, values in posterior.draws.items():
        if name.rpartition(".")[2] == Y_REP:  # Synthetic values, which are no parameters.
            continue
        if values.ndim == 1:
            columns[name] = values
            continue
        for place in np.ndindex(values.shape[1:]):
            label = ",".join(str(index + 1) for index in place)
            columns[f"{name}[{label}]"] = np.ascontiguousarray(values[(slice(None), *place)])
    return columns


def record_columns(
    weighting: Weighting, final: WeightedFit, names: Sequence[str]
) -> dict[str, Floats]:
    """Columns of records.parquet: weights and bounds (nats) of the own and the last fit, risks.

    Of a table, each column's own bound in the last fit stands behind them, and its own weights if
    it has any: the weight of a record is then the mean of its columns' weights.
    """
    by_column = {
        "lipschitz_bound_final": final.bounds.by_column,
        "weight_final": final.weights if final.weights.ndim == 2 else None,
    }
    return {
        "weight": _of_record(weighting.fit.weights),
        "lipschitz_bound": weighting.fit.bounds.by_record,
        "risk": weighting.risk,
        "weight_final": _of_record(final.weights),
        "lipschitz_bound_final": final.bounds.by_record,
        **{
            f"{figure}_{name}": np.ascontiguousarray(values)
            for figure, matrix in by_column.items()
            if matrix is not None
            for name, values in zip(names, matrix.T, strict=True)
        },
    }


def _of_record(weights: Floats) -> Floats:
    """The weights (N,), or the means (N,) of weights by column."""
    return weights if weights.ndim == 1 else weights.mean(axis=1)


def _diagnostics(fit: WeightedFit) -> dict[str, Any]:
    return {name: plain_number(v) for name, v in fit.posterior.diagnostics.as_dict().items()}


def plain_number(value: object) -> Any:
    """The value, or None for infinity and NaN, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
