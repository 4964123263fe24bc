"""Cases of `pyvws.mechanisms.weighing`: weights of whole runs and what they state, against R.

R gets the same outcomes, draws and settings. Each source of weights has a row: a map of bounds,
one weight for all records, weights that are given, a fit made elsewhere, risks within patterns of
known columns, public records of a reference, and weights of each column. A last row has runs whose
settings name the total of all draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal

import numpy as np
import polars as pl
from scipy import stats

from pyvws._base.checks import Floats, Ints
from pyvws.engines.engine import Engine
from pyvws.errors import MissingDependencyError
from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.count_weighted import CountWeighted, MarginalWeighted, PairwiseWeighted
from pyvws.mechanisms.given_weights import GivenWeights
from pyvws.mechanisms.inverse_weighted import InverseWeighted
from pyvws.mechanisms.lipschitz_weighted import LipschitzWeighted
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.mechanisms.scalar_weighted import ScalarWeighted
from pyvws.release.release import Release
from pyvws.release.synthesizer import synthesize
from pyvws.synthesis.existing_fit import ExistingFit, from_arviz, from_log_lik
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._case import in_steps
from pyvws_validation._draws import Draws
from pyvws_validation._grid_engine import KnownByWidth, KnownDraws
from pyvws_validation._measured_case import OF_DRAWS, expected
from pyvws_validation.cases.accounting import (
    SEED,
    WORDS,
    costs,
    normal_draws,
    outcomes_and_draws,
    released,
    table_and_draws,
    table_run,
)

Holds = Literal["plain", "weighted"]

_OF_RECORDS: Final = ("weight_final", "lipschitz_bound_final")


def mapped_run(map: str, c: float, g: float, **data: Any) -> Floats:
    """An LW run under a map of bounds to risks."""
    return _figures(_run(LipschitzWeighted(map=map, c=c, g=g), **data))


def inverse_run(t: float, power: float, **data: Any) -> Floats:
    """A run under the inverse map at a public t."""
    return _figures(_run(InverseWeighted(t=t, power=power), **data))


def scalar_run(**data: Any) -> Floats:
    """An SW run whose one weight meets LW's bound."""
    return _figures(_run(ScalarWeighted(), **data))


def downscaled_run(epsilon: float, **data: Any) -> Floats:
    """An LW run whose weights are lowered until the bounds meet epsilon / 2."""
    return _figures(_run(LipschitzWeighted(g=0.0), epsilon=epsilon, downscale=True, **data))


def given_run(weights: Floats, **data: Any) -> Floats:
    """A run under weights (N,) that are given."""
    return _figures(_run(GivenWeights(weights), **data))


def outside_run(holds: Holds, **data: Any) -> Floats:
    """The release of a fit made elsewhere, whose matrix holds its weights or lacks them."""
    terms, weights = _terms(holds, **data)
    fit = from_log_lik(terms, weights, log_lik=holds, **_predicted(terms))
    return _figures(_outside(fit, **data))


def arviz_run(holds: Holds, **data: Any) -> Floats:
    """The same of a fit that arviz holds, in two chains."""
    if find_spec("xarray") is None:
        raise MissingDependencyError("xarray is missing. Install it: pip install xarray")
    import xarray

    terms, weights = _terms(holds, **data)
    by_chain = terms.reshape(2, -1, terms.shape[1])
    variable = xarray.DataArray(by_chain, dims=("chain", "draw", "record"))
    read = from_arviz(xarray.Dataset({"y": variable}), weights, log_lik=holds)
    fit = ExistingFit(read.log_lik, read.weights, chains=read.chains, **_predicted(terms))
    return _figures(_outside(fit, **data))


def risk_run(radius: float, pattern: Ints, c: float, marginal: bool, **data: Any) -> Floats:
    """A CW or a marginal run whose records have patterns by a known column."""
    kind = MarginalWeighted if marginal else CountWeighted
    mechanism = kind(c=c, radius=radius, radius_kind="absolute", known=("group",))
    return _figures(_run(mechanism, keep=["group"], columns={"group": pattern}, **data))


def pairwise_run(radius: float, pattern: Ints, c: float, **data: Any) -> Floats:
    """A run under pairwise weights, with patterns of two records and more."""
    own: Any = {"radius_kind": "absolute", "known": ("group",)}
    mechanism = PairwiseWeighted(c=c, radius=radius, **own)
    return _figures(_run(mechanism, keep=["group"], columns={"group": pattern}, **data))


def table_risk_run(
    outcome: Floats,
    label: Ints,
    mean: Floats,
    log_scale: Floats,
    log_odds: Floats,
    radius: float,
    datasets: int,
) -> Floats:
    """A CW run on a table of a category and a number."""
    shares = np.column_stack([-np.logaddexp(0.0, log_odds), -np.logaddexp(0.0, -log_odds)])
    release = released(
        pl.DataFrame({"label": np.array(["a", "b"])[label], "y": outcome}),
        schema=Schema(
            {
                "label": Column(model="table", levels=("a", "b"), predictors=()),
                "y": Column(model="normal", predictors=()),
            }
        ),
        mechanism=CountWeighted(radius=radius, radius_kind="absolute"),
        engine=KnownByWidth([shares, normal_draws(mean, log_scale)]),
        draws=len(mean),
        datasets=datasets,
    )
    return _figures(release)


def shifted_run(c: float, **data: Any) -> Floats:
    """An LW run whose shift is the default."""
    return _figures(_run(LipschitzWeighted(c=c), **data))


def reference_run(
    public: Floats,
    public_mean: Floats,
    public_log_scale: Floats,
    epsilon: float,
    weights: str,
    mean: Floats,
    log_scale: Floats,
    **data: Any,
) -> Floats:
    """A censored run whose weights come from a fit to public records; both fits have own draws."""
    engine = KnownDraws(
        [normal_draws(public_mean, public_log_scale), normal_draws(mean, log_scale)]
    )
    with TemporaryDirectory() as folder:
        path = Path(folder, "public.parquet")
        pl.DataFrame({"y": public}).write_parquet(path)
        mechanism = Censored(epsilon=epsilon, clamp="half", weights=weights, reference=str(path))
        release = _run(mechanism, mean=mean, log_scale=log_scale, engine=engine, **data)
    return _figures(release)


def public_run(column: Floats, epsilon: float, c: float, g: float, **data: Any) -> Floats:
    """A censored run whose weights come from a public column, which is not released."""
    own: Any = {"weights": "public", "weight_column": "w", "clamp": "half", "c": c, "g": g}
    mechanism = Censored(epsilon=epsilon, **own)
    return _figures(_run(mechanism, columns={"w": column}, **data))


def by_column_run(**data: Any) -> Floats:
    """The bounds and epsilons of an LW run on a table whose columns have weights of their own."""
    release = table_run(LipschitzWeighted(by_column=True, g=0.0), **data)
    return np.array(costs(release.summary["privacy"], release.privacy))


def total_run(
    total: float, delta: float, draws: int, datasets: int, stage: float, noise: float, **data: Any
) -> Floats:
    """Epsilon of a dataset, and of all, of a strict run whose settings name the total."""
    staged: dict[str, Any] = {"weights": "none"}
    if stage:
        staged = {"weights": "staged", "stage_epsilon": stage}
    rows: dict[str, Any] = {"records": "noisy", "records_epsilon": noise} if noise else {}
    release = _run(
        "censored",
        clamp="half",
        total_epsilon=total,
        delta=delta or None,
        draws_per_release=min(draws, datasets),
        datasets=datasets,
        **staged,
        **rows,
        **data,
    )
    own = release.summary["privacy"]["epsilon_by_neighbours"]["leave-one-out"]
    return np.round(np.array([own["per_dataset"], own["total"]]) * 2**20) / 2**20


def _run(
    mechanism: Mechanism | str,
    *,
    outcome: Floats,
    mean: Floats,
    log_scale: Floats,
    engine: Engine | None = None,
    columns: Mapping[str, Floats | Ints] | None = None,
    **given: Any,
) -> Release:
    """A whole run of a normal model without predictors; every fit has the same draws."""
    return released(
        pl.DataFrame({"y": outcome, **(columns or {})}),
        outcome="y",
        model="normal",
        mechanism=mechanism,
        engine=engine or KnownDraws([normal_draws(mean, log_scale)]),
        draws=len(mean),
        **given,
    )


def _terms(
    holds: Holds, *, outcome: Floats, mean: Floats, log_scale: Floats, weights: Floats, **_: Any
) -> tuple[Floats, Floats]:
    """Log-likelihoods (S, N) of a fit made elsewhere, and its weights (N,)."""
    terms = stats.norm.logpdf(outcome, mean[:, None], np.exp(log_scale)[:, None])
    return (terms * weights if holds == "weighted" else terms), weights


def _predicted(terms: Floats) -> dict[str, Any]:
    return {"y_rep": np.ones_like(terms), "y_rep_from": "parameters"}


def _outside(fit: ExistingFit, *, outcome: Floats, datasets: int, **_: Any) -> Release:
    with expected(*OF_DRAWS):
        return synthesize(
            pl.DataFrame({"y": outcome}),
            outcome="y",
            model="normal",
            existing_fit=fit,
            datasets=datasets,
            seed=SEED,
        )


def _figures(release: Release) -> Floats:
    """The figures in the order of `figures_of_run` in weighing.R."""
    own = release.privacy
    records = [release.records[name].to_numpy() for name in _OF_RECORDS]
    figures = costs(release.summary["privacy"], own)
    return np.array([*figures, WORDS[own["guarantee"]], *in_steps(np.concatenate(records))])


# Arguments

_columns: Final = table_and_draws


def _weighted(seed: int, *shape: int) -> dict[str, Any]:
    """Weights from 0 to 1, both among them, in no order."""
    weights = np.clip(Draws(seed + 800).uniform(shape[1], -0.3, 1.3), 0.0, 1.0)
    weights[:3] = 0.25, 1.0, 0.0
    return {**outcomes_and_draws(seed, *shape), "weights": weights}


def _column(seed: int, *shape: int) -> dict[str, Any]:
    arguments = _weighted(seed, *shape)
    return {"column": arguments.pop("weights"), **arguments}


def _patterns(seed: int, *shape: int) -> dict[str, Any]:
    pattern = Draws(seed + 900).whole(shape[1], 2 + seed % 3)
    return {**outcomes_and_draws(seed, *shape), "pattern": pattern}


def _pairs(seed: int, *shape: int) -> dict[str, Any]:
    return {**outcomes_and_draws(seed, *shape), "pattern": np.arange(shape[1]) % (2 + seed % 2)}


def _labelled(seed: int, *shape: int) -> dict[str, Any]:
    (S, N), stream = shape, Draws(seed + 1100)
    of_label = {"label": stream.whole(N, 2), "log_odds": stream.uniform(S, -2.0, 2.0)}
    return {**outcomes_and_draws(seed, *shape), **of_label}


def _alike(seed: int, *shape: int) -> dict[str, Any]:
    """Some records farthest out, of which seeds 1, 3 and 5 have two that are equal."""
    arguments = outcomes_and_draws(seed, *shape)
    arguments["outcome"][-2:] = 8.0, 8.0 if seed % 2 else 4.0
    return arguments


def _public(seed: int, *shape: int) -> dict[str, Any]:
    """Public records that are nearer to each other than the table's, and draws of their fit."""
    (S, N), stream = shape, Draws(seed + 1000)
    return {
        **outcomes_and_draws(seed, *shape),
        "public": stream.bell(N + 3, 0.25, 0.75),
        "public_mean": stream.uniform(S, -0.25, 0.5),
        "public_log_scale": stream.uniform(S, -1.0, 0.5),
    }
