"""Cases of `pyvws.statement.accounting`: statements of whole runs, compared with R.

R gets the same outcomes and draws. An engine with known draws replaces the sampler, so every
figure follows from the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.lipschitz_weighted import LipschitzWeighted
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.mechanisms.unweighted import Unweighted
from pyvws.mechanisms.weighted_epsilon import WeightedEpsilon
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.release.release import Release
from pyvws.release.synthesizer import synthesize
from pyvws.statement.releases import costs_together
from pyvws.statement.several_draws import total_epsilon as total_of_draws
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._case import in_steps
from pyvws_validation._draws import Draws
from pyvws_validation._grid_engine import KnownByWidth, KnownDraws
from pyvws_validation._measured_case import OF_DRAWS, expected

SEED: Final = 2**60 + 1
WORDS: Final = {"none": 0.0, "asymptotic-dp": 1.0, "dp": 2.0}
FIGURES: Final = ("lipschitz_bound", "epsilon_per_dataset", "epsilon_total")


def reweighted_weights(**data: Any) -> Floats:
    """The weights (N,) of the fit that makes the datasets of that run."""
    release, _ = _run(LipschitzWeighted(), reweight=True, **data)
    return in_steps(release.records["weight_final"].to_numpy())


def records_statement(records: str, noise: float, **data: Any) -> Floats:
    """The statement of a censored run whose number of rows is "public" or "noisy", in numbers."""
    rows: dict[str, Any] = {"records": 7}
    if records == "noisy":
        rows = {"records": "noisy", "records_epsilon": noise}
    return censored_statement(weights="none", **rows, **data)


def draws_statement(draws: int, **data: Any) -> Floats:
    """The statement of a censored run whose datasets come from fewer draws, in numbers."""
    return censored_statement(weights="none", draws_per_release=draws, **data)


def staged_statement(stage: float, **data: Any) -> Floats:
    """The statement of a censored run whose weights come from one draw of a first stage."""
    return censored_statement(weights="staged", stage_epsilon=stage, **data)


def draws_by_delta(epsilon: float, stage: float, noise: float, **data: Any) -> Floats:
    """What a strict statement says of several draws at a public delta, and in zCDP."""
    given: dict[str, Any] = {"weights": "none"}
    if stage:
        given = {"weights": "staged", "stage_epsilon": stage}
    rows: dict[str, Any] = {"records": "noisy", "records_epsilon": noise} if noise else {}
    release, _ = _run(Censored(epsilon=epsilon, clamp="half", **given), **rows, **data)
    privacy = release.privacy
    figures = list(privacy["epsilon_total_by_delta"].values())
    for neighbours in privacy["epsilon_by_neighbours"].values():
        figures += [*neighbours["total_by_delta"].values(), neighbours["total_zcdp"]]
    return np.array(figures)


def after_statement(epsilon: float, before: float, **data: Any) -> Floats:
    """What a strict run says that it and an earlier one, at epsilon `before`, cost together.

    The earlier release shows its number of records; the later one has a public number of rows.
    """
    given: dict[str, Any] = {"weights": "none", "clamp": "half"}
    earlier, _ = _run(Censored(epsilon=before, **given), **data)
    with TemporaryDirectory() as folder:
        path = earlier.write(Path(folder, "out"))
        release, _ = _run(Censored(epsilon=epsilon, **given), records=7, after=str(path), **data)
    together = release.privacy["costs_together"]
    figures = together["strict"]
    return np.array([together["releases"]["strict"], figures["epsilon"], figures["zcdp"]])


def censored_terms(epsilon: float, weights: str, **data: Any) -> Floats:
    """The sum of terms (S,) that a censored run hands to its engine, in steps of 2^-30 nats."""
    mechanism = Censored(epsilon=epsilon, weights=weights, clamp="half")
    _, engine = _run(mechanism, **data)
    target = engine.targets[-1]
    # Subtract the prior at the same points.
    prior = PseudoPosterior(target.model, target.cells, np.zeros(len(data["outcome"])))
    densities = [either.density_and_gradient() for either in (target, prior)]
    sums = [densities[0](q)[0] - densities[1](q)[0] for q in engine.fits[0]]
    return in_steps(sums)


def table_statement(**data: Any) -> Floats:
    """The statement of an LW run on a table of two columns, in numbers, and each column's part."""
    release = table_run(LipschitzWeighted(), **data)
    parts = []
    for privacy in (release.summary["privacy"], release.privacy):
        parts += [column["epsilon_alone"] for column in privacy["columns"]]
        parts.append(privacy["epsilon_of_separate_runs"])
    return np.array([*_figures(release), *in_steps(parts[:3]), *parts[3:]])


def table_run(
    mechanism: Mechanism,
    *,
    outcome: Floats,
    mean: Floats,
    log_scale: Floats,
    second: Floats,
    intercept: Floats,
    slope: Floats,
    log_scale_2: Floats,
    half_width: float,
    datasets: int,
) -> Release:
    """A whole run on a table of two numbers, of which the second follows the first."""
    S = len(mean)
    wide = Column(model="normal", range=(-half_width, half_width))
    second_draws = np.column_stack([intercept, slope, np.zeros((S, 3)), log_scale_2])
    return released(
        pl.DataFrame({"first": outcome, "second": second}),
        schema=Schema({"first": wide, "second": Column(model="normal")}),
        mechanism=mechanism,
        engine=KnownByWidth([normal_draws(mean, log_scale), second_draws]),
        draws=S,
        datasets=datasets,
    )


def normal_draws(mean: Floats, log_scale: Floats) -> Floats:
    """Draws (S, 3) of a normal model without predictors."""
    return np.column_stack([mean, np.zeros(len(mean)), log_scale])


def released(table: pl.DataFrame, **given: Any) -> Release:
    """The release of a run whose draws are known, and fit no table."""
    with expected(*OF_DRAWS):
        return synthesize(table, chains=1, seed=SEED, **given)


def _run(
    mechanism: Mechanism, *, outcome: Floats, mean: Floats, log_scale: Floats, **options: Any
) -> tuple[Release, KnownDraws]:
    """A whole run of a normal model without predictors; each fit has the same draws."""
    engine = KnownDraws([normal_draws(mean, log_scale)])
    release = released(
        pl.DataFrame({"y": outcome}),
        outcome="y",
        model="normal",
        mechanism=mechanism,
        engine=engine,
        draws=len(mean),
        **{"datasets": 1, **options},
    )
    return release, engine


def _figures(release: Release) -> Floats:
    """The statement's figures in the order of `statement` in accounting.R."""
    released = release.privacy
    spent = next(entry for entry in released["ledger"] if entry["key"].startswith("datasets"))
    both = [
        released["epsilon_by_neighbours"][neighbours][count]
        for neighbours in ("leave-one-out", "replace-one")
        for count in ("per_dataset", "total")
    ]
    strict = released["certified"] or dict.fromkeys(FIGURES, 0.0)
    sure = [strict[name] for name in FIGURES[1:]]
    own = costs(release.summary["privacy"], released)
    return np.array([*own, spent["epsilon"], *both, *sure, WORDS[released["guarantee"]]])


def costs(exact: Mapping[str, Any], stated: Mapping[str, Any]) -> list[float]:
    """The figures of a run's own statement, in steps, and of the one that it releases."""
    return [*in_steps([exact[name] for name in FIGURES]), *(stated[name] for name in FIGURES)]


def _statement(kind: Callable[..., Mechanism], *names: str, **more: Any) -> Callable[..., Floats]:
    """What gives the statement of a run, in numbers: the mechanism takes the settings `names`."""

    def statement(**data: Any) -> Floats:
        settings = {name: data.pop(name) for name in names if name in data}
        return _figures(_run(kind(**settings), **more, **data)[0])

    return statement


unweighted_statement = _statement(Unweighted)
lw_statement = _statement(LipschitzWeighted)
reweighted_statement = _statement(LipschitzWeighted, reweight=True)
one_draw_statement = _statement(LipschitzWeighted, draws_per_release=1)
weighted_epsilon_statement = _statement(WeightedEpsilon, "epsilon")
censored_statement = _statement(
    partial(Censored, clamp="half"), "epsilon", "weights", "stage_epsilon"
)

# Arguments


def outcomes_and_draws(seed: int, *shape: int) -> dict[str, Any]:
    """Outcomes about 0, some far out, and draws; some draws make densities above 1."""
    stream, (S, N) = Draws(seed), shape
    outcome = stream.bell(N, 0.0, 1.0)
    outcome[stream.uniform(N) < 0.2] *= 2.5
    return {
        "outcome": outcome,
        "mean": stream.uniform(S, -0.5, 0.5),
        "log_scale": stream.uniform(S, -1.8, 0.9),
    }


def table_and_draws(seed: int, *shape: int) -> dict[str, Any]:
    """A second outcome that follows the first, and draws of both columns."""
    arguments, (S, N) = outcomes_and_draws(seed, *shape), shape
    stream = Draws(seed + 100)
    return {
        **arguments,
        "second": 0.5 * arguments["outcome"] + stream.bell(N, 0.0, 1.0),
        "intercept": stream.uniform(S, -0.5, 0.5),
        "slope": stream.uniform(S, 2.0, 6.0),
        "log_scale_2": stream.uniform(S, -0.9, 0.9),
    }


# What draws of one strict fit cost together


_DECADES: Final = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)


def total_epsilon(epsilon: float, draws: int, delta: Floats) -> Floats:
    """Epsilon of all draws at each delta, in whole steps of 2^-20 nats."""
    totals = [total_of_draws(epsilon, draws, delta=share) for share in np.atleast_1d(delta)]
    return np.round(np.array(totals) * 2**20) / 2**20


def deltas(seed: int, number: int) -> dict[str, Any]:
    """Deltas from 1e-9 to a tenth; a power's last bit differs between processors."""
    draws = Draws(seed)
    return {"delta": draws.uniform(number, 1.0, 10.0) * np.array(_DECADES)[draws.whole(number, 8)]}


# What the releases of one table cost together


_GUARANTEES: Final = ("dp", "approximate-dp", "asymptotic-dp", "none")
_NEIGHBOURS: Final = ("leave-one-out", "replace-one")


def releases_together(**releases: Any) -> Floats:
    """The figures of `costs_together` in the order of ledger.R; delta in steps of 2^-50."""
    names = list(releases)
    rows = zip(*(np.atleast_1d(releases[name]).tolist() for name in names), strict=True)
    costs = costs_together([_stated(**dict(zip(names, row, strict=True))) for row in rows])
    strict, loose, numbers = costs["strict"], costs["asymptotic"], costs["releases"]
    return np.array(
        [
            *(strict["epsilon"], round(strict["delta"] * 2**50) / 2**50, strict["zcdp"]),
            *(loose["epsilon"], loose["of_window"]),
            *(numbers["strict"], numbers["asymptotic"], numbers["none"]),
            float(costs["neighbours"] == "replace-one"),
        ]
    )


def _stated(
    *, kind: float, epsilon: float, delta: float, rho: float, window: float, replaced: float
) -> dict[str, Any]:
    """The parts of a statement that say what a release costs."""
    counts, strict = kind == 2.0, kind <= 2.0
    figures = {
        neighbours: {"total": steps * epsilon, "total_of_window": steps * window}
        | ({"total_zcdp": steps**2 * rho} if kind == 1.0 else {})
        for steps, neighbours in enumerate(_NEIGHBOURS, start=1)
    }
    claimed = _NEIGHBOURS[int(replaced)]
    total = epsilon if counts else figures[claimed]["total"]
    return {
        "guarantee": _GUARANTEES[int(kind) - 1],
        "unit_of_privacy": "one record",
        "epsilon_by_neighbours": figures,
        "certified": {"neighbours": claimed, "epsilon_total": total} if strict else None,
        "delta": delta,
        "counts": {"rho": rho},
    }


# Arguments


def releases(seed: int, number: int) -> dict[str, Any]:
    """Releases of all kinds, whose costs are whole eighths, but for deltas below 1e-6."""
    draws = Draws(seed)
    return {
        "kind": 1.0 + draws.whole(number, 4),
        "epsilon": (1.0 + draws.whole(number, 40)) / 8.0,
        "delta": draws.uniform(number, 1e-9, 1e-6),
        "rho": (1.0 + draws.whole(number, 40)) / 8.0,
        "window": draws.whole(number, 40) / 8.0,
        "replaced": (draws.uniform(number) < 0.3).astype(np.float64),
    }
