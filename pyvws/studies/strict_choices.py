"""What the choices of a strict run buy: sources of weights, exact draws, draws behind the datasets.

Every fit has the deviance clamp, so every row is a strict run's. Each replicate draws new records:
counts of section 3.1 of [vws2024], its negative binomial mixture, or the shares of [global2022].
Public settings stand in `SETTINGS` and come from no data. Epsilon is for one record left out.

- "weights": sources of weights at one cost of a dataset. "public" gives all records one constant,
  which is public. "reference" has records of another draw of the same kind. "staged" pays for its
  first stage from the same total, once for one dataset and once for many.
- "engines": fits under native NUTS and under engine grid, with what statements call their draws.
- "draws": datasets that share posterior draws, and how often a 95 % interval holds the true mean.

Engine grid's draws are secret, so its rows differ from run to run; all others follow from the seed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.resumable_jobs import Key, Result, whole_seed
from pyvws.engines.registry import find_engine, is_exact
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import ConvergenceWarning
from pyvws.evaluation.combining_rules import combine
from pyvws.evaluation.ecdf import ecdf_utility
from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.weighing import Request
from pyvws.models.model import Model
from pyvws.statement.released_draws import draw_of_dataset
from pyvws.statement.relied_on import ReliesOn
from pyvws.studies._native_loop import native_loop
from pyvws.studies.replicates import ReplicatedStudy
from pyvws.studies.strict import SETTINGS as STRICT
from pyvws.studies.strict import database
from pyvws.studies.strict_choices_report import report
from pyvws.synthesis.loop import SynthesisLoop

SETTINGS: Final[Mapping[str, Any]] = {
    "n": STRICT["n"],
    "epsilons": [0.5, 1.0, 2.0, 3.0, 4.0, 5.0],
    "room": 4.0,
    "stage": 5.0,
    "engine_epsilons": [0.5, 1.0, 3.0],
    "grid_range": [0.0, 6.0],
    "grid_steps": [20000],
    "engine_draws": 1000,
    "engine_chains": 4,
    "draw_epsilons": [0.5, 1.0, 2.0, 5.0, 10.0],
    "draw_counts": [1, 2, 5, 20],
    "draw_data": ["poisson", "mixture"],
    "true_mean": 100.0,
    "draw_share": 4,
    "largest_kappa": STRICT["largest_kappa"],
    "datasets": 20,
    "draws": 300,
    "warmup": 400,
    "chains": 2,
}
"""`room` is the epsilon from which the public constant is 1; below it is epsilon / room. `stage` is
the first stage's epsilon beside many datasets, at most half of their total."""

COLUMNS: Final = (
    *("part", "data", "n", "replicate", "choice", "guarantee", "epsilon", "spent"),
    *("u_m", "mean_weight", "outside", "rhat", "draws"),
    *("within", "within_apart", "width"),
)
"""Columns of replicates.csv.

`epsilon` is what a dataset costs, or a draw in part "draws"; `spent` is what all datasets cost.
`u_m` is a mean over the datasets. `draws` is what a statement calls the draws. In part "engines" a
fit whose diagnostics would stop a strict run has no u_m. `within` is whether the combining rule's
interval, which takes draws for what they are, holds the true mean. `within_apart` is that of a rule
that takes each dataset for a draw of its own. `width` is the former's width, or the latter's where
all datasets have one draw.
"""


def keys(settings: Mapping[str, Any], replicates: int) -> list[Key]:
    """A key for each part, kind of data and replicate; part "draws" has more of them."""
    all_keys: list[Key] = []
    for number in range(1, replicates + 1):
        all_keys += [("weights", data, number) for data in settings["n"]]
        all_keys.append(("engines", "poisson", number))
    all_keys += [
        ("draws", data, number)
        for number in range(1, settings["draw_share"] * replicates + 1)
        for data in settings["draw_data"]
    ]
    return all_keys


def replicate(settings: Mapping[str, Any], key: Key, seed: np.random.SeedSequence) -> Result:
    """The rows of one part on one database."""
    part, data = str(key[0]), str(key[1])
    rows = {"weights": _weights, "engines": _engines, "draws": _draws}[part](settings, data, seed)
    place = {"part": part, "data": data, "n": settings["n"][data], "replicate": key[2]}
    return Result([{**dict.fromkeys(COLUMNS), **place, **row} for row in rows])


def _records(
    settings: Mapping[str, Any], data: str, seed: np.random.SeedSequence
) -> tuple[Floats, Model]:
    """New records (n,) of a kind of data, and their model."""
    named = data if data == "beta" else f"{data}_databases"
    own = whole_seed(seed.spawn(1)[0]) % 2**31
    y, _, model = database(settings, named, settings["n"][data], own)
    return y, model


def _loop(
    settings: Mapping[str, Any], y: Floats, model: Model, seed: np.random.SeedSequence, **more: Any
) -> SynthesisLoop:
    names = ("draws", "warmup", "chains")
    sampling = SamplerSettings(**{name: settings[name] for name in names})
    own = whole_seed(seed.spawn(1)[0])
    return native_loop(model, y, np.ones((len(y), 1)), sampling, seed=own, **more)


def _distance(y: Floats, datasets: list[Floats]) -> float:
    return float(np.mean([ecdf_utility(y, [drawn]).maximum for drawn in datasets]))


def sources(settings: Mapping[str, Any], epsilon: float) -> dict[str, tuple[Censored, int]]:
    """The mechanisms whose datasets cost epsilon each, and how many datasets that is reckoned for.

    A first stage costs `stage` once, but at most half of what all datasets cost.
    """
    many = settings["datasets"]
    constant = {"c": min(1.0, epsilon / settings["room"]), "weight_column": "constant"}
    mechanisms = {
        "none": (Censored(epsilon=epsilon, weights="none"), many),
        "public": (Censored(epsilon=epsilon, weights="public", **constant), many),
        "reference": (Censored(epsilon=epsilon, weights="reference", reference="records"), many),
    }
    for name, number in (("staged, one", 1), ("staged, many", many)):
        stage = min(settings["stage"], 0.5 * number * epsilon)
        own = epsilon - stage / number
        mechanisms[name] = (Censored(epsilon=own, weights="staged", stage_epsilon=stage), number)
    return mechanisms


def _weights(
    settings: Mapping[str, Any], data: str, seed: np.random.SeedSequence
) -> Iterator[dict[str, Any]]:
    y, model = _records(settings, data, seed)
    public, _ = _records(settings, data, seed)
    request = Request(y=y, column=np.ones(len(y)))
    for epsilon in settings["epsilons"]:
        for name, (mechanism, number) in sources(settings, epsilon).items():
            loop = _loop(settings, y, model, seed, public=public)
            with warnings.catch_warnings():  # Chains of the reference decide weights alone.
                warnings.simplefilter("ignore", ConvergenceWarning)
                weighting = mechanism.run(loop, request)
            fit, design = weighting.fit, np.ones((len(y), 1))
            sampled = [*weighting.stages, fit]
            yield {
                "choice": name,
                "guarantee": mechanism.facts.claim,
                "epsilon": epsilon,
                "spent": weighting.spent + number * mechanism.epsilon,
                "u_m": _distance(y, loop.synthetic(fit, design, settings["datasets"])),
                "mean_weight": float(fit.weights.mean()),
                "outside": float((fit.weights * fit.maxima >= mechanism.epsilon).mean()),
                "rhat": max(sampled_fit.posterior.diagnostics.rhat_max for sampled_fit in sampled),
            }


def _engines(
    settings: Mapping[str, Any], data: str, seed: np.random.SeedSequence
) -> Iterator[dict[str, Any]]:
    y, model = _records(settings, data, seed)
    m, design = settings["datasets"], np.ones((len(y), 1))
    sampling = {
        "native": SamplerSettings(draws=settings["engine_draws"], chains=settings["engine_chains"]),
        "grid": SamplerSettings(
            draws=m, chains=1, **{name: settings[name] for name in ("grid_range", "grid_steps")}
        ),
    }
    for epsilon in settings["engine_epsilons"]:
        mechanism = Censored(epsilon=epsilon, weights="none")
        for name, of_engine in sampling.items():
            own, engine = whole_seed(seed.spawn(1)[0]), find_engine(name)
            loop = native_loop(model, y, design, of_engine, seed=own, engine=engine)
            fit = mechanism.run(loop, Request(y=y)).fit
            relied = ReliesOn(neighbours="leave-one-out", engine=name, exact_draws=is_exact(engine))
            released = not loop.problems()
            yield {
                "choice": name,
                "guarantee": mechanism.facts.claim,
                "epsilon": epsilon,
                "spent": m * epsilon,
                "u_m": _distance(y, loop.synthetic(fit, design, m)) if released else None,
                "draws": relied.written([])["sampler"]["draws"],
            }


def _draws(
    settings: Mapping[str, Any], data: str, seed: np.random.SeedSequence
) -> Iterator[dict[str, Any]]:
    y, model = _records(settings, data, seed)
    for epsilon in settings["draw_epsilons"]:
        mechanism = Censored(epsilon=epsilon, weights="none")
        loop = _loop(settings, y, model, seed)
        fit = mechanism.run(loop, Request(y=y)).fit
        for count in settings["draw_counts"]:
            m, design = settings["datasets"], np.ones((len(y), 1))
            datasets = loop.synthetic(fit, design, m, draws=count)
            yield {
                "choice": str(count),
                "guarantee": mechanism.facts.claim,
                "epsilon": epsilon,
                "spent": count * epsilon,
                "u_m": _distance(y, datasets),
                "rhat": fit.posterior.diagnostics.rhat_max,
                **_coverage(datasets, count, settings["true_mean"]),
            }


def _coverage(datasets: list[Floats], count: int, truth: float) -> dict[str, Any]:
    """Whether the 95 % interval of the mean holds the truth, under both ways to combine."""
    means = [float(drawn.mean()) for drawn in datasets]
    variances = [float(drawn.var(ddof=1)) / len(drawn) for drawn in datasets]
    low, high = combine(means, variances).interval()
    covered: dict[str, Any] = {"within_apart": low <= truth <= high}
    if count > 1:
        draw_of_each = draw_of_dataset(len(datasets), count)
        low, high = combine(means, variances, draw_of_dataset=draw_of_each).interval()
        covered["within"] = low <= truth <= high
    return {**covered, "width": high - low}


STUDY = ReplicatedStudy(
    name="strict-choices",
    settings=SETTINGS,
    replicates=30,
    keys=partial(keys, SETTINGS),
    replicate=replicate,
    report=report,
)
