"""Effective draws per second of every engine that is installed, and of a normal approximation.

Every engine runs one chain in a process of its own, in turn, so that none profits from more
processors. Seconds are those of warm-up and sampling; compilation is left out. The effective draws
are the smallest bulk ESS over the parameters that diagnostics compare. rstan runs the papers'
program, the other Stans today's. At n = 1000 medians of three runs count.

At n = 100,000, and for the mixture of two normals, all engines make fewer draws after a shorter
warm-up, in the same proportion, in one run. A fit that is over the cap is stopped: had all of its
draws been made by then, each independent of the others, the ratio would be the one that stands
there as the least.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

import numpy as np
from pyvws_studies.negative_binomial_mixture import DISPERSIONS, MEAN, SHARE

from benchmarks._found import Entry, Found, Plan, Table, medians
from benchmarks._worker import OverTheCapError, Worker
from pyvws import SamplerSettings
from pyvws._base.checks import Floats
from pyvws.engines.registry import engine_version, find_engine
from pyvws.errors import MissingDependencyError
from pyvws.families import Nominal, NormalMixture
from pyvws.models.registry import find_model
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells

__all__ = ["counts", "run"]

ENGINES: Final = ("native", "cmdstan", "pystan", "rstan")
Measured = dict[str, tuple[float, ...] | None]
"""Median ESS and seconds by engine; None where a fit is over the cap."""
_FLOORS: Final = {
    "rstan": "fits: native over rstan",
    "cmdstan": "fits: native over CmdStan",
}
_BRIEF: Final = SamplerSettings(draws=4, warmup=100, chains=1)
_USUAL: Final = SamplerSettings(draws=2000, warmup=1000, chains=1)
_HALF: Final = SamplerSettings(draws=1000, warmup=500, chains=1)
_FEWER: Final = SamplerSettings(draws=300, warmup=150, chains=1)
_SIZES: Final = (1000, 100_000)
_LEVELS: Final = (5, 20, 60, 150)
_APPROXIMATION: Final = """
Engine laplace beside NUTS on a nominal column given two public predictors, a number of 71 values
and a category of three levels. Both make 2000 draws, NUTS by one chain after a warm-up of 1000;
medians of three runs count. Processor seconds are those of all threads. The ESS of laplace is that
of its importance weights. Where khat is above 0.7 or the ESS under 400 its draws are not to be
relied on, and engine auto takes NUTS.
"""


def counts(rng: np.random.Generator, n: int) -> Floats:
    """n records of the 2024 paper's mixture, 0.2 NB(100, 5) + 0.8 NB(100, 20)."""
    phi = np.where(rng.random(n) < SHARE, *DISPERSIONS)
    return rng.negative_binomial(phi, phi / (phi + MEAN)).astype(np.float64)


_DATA: Final[dict[str, Callable[[np.random.Generator, int], Floats]]] = {
    "negative-binomial": counts,
    "poisson": lambda rng, n: rng.poisson(100.0, n).astype(np.float64),
    "beta": lambda rng, n: rng.beta(2.0, 5.0, n),
    "normal-mixture": lambda rng, n: np.where(rng.random(n) < 0.3, -2.0, 1.0) + rng.normal(size=n),
}


def target(model: str, n: int) -> PseudoPosterior:
    """The unweighted pseudo posterior of n records with an intercept alone."""
    outcome = _DATA[model](np.random.default_rng(1), n)
    family = NormalMixture(components=2) if model == "normal-mixture" else find_model(model)
    cells = make_cells(family.encode(outcome), np.ones((n, 1)))
    return PseudoPosterior(family.prepare(outcome, "y"), cells, np.ones(n))


def fit(
    engine: str, model: str, n: int, settings: SamplerSettings, seed: int
) -> tuple[float, float]:
    """Smallest bulk ESS of one fit, and its seconds."""
    made = find_engine(engine).sample(target(model, n), settings, seed=seed)
    return made.diagnostics.ess_bulk_min, made.seconds


def nominal_target(levels: int, n: int) -> PseudoPosterior:
    """The unweighted pseudo posterior of n records of a column with so many levels."""
    rng = np.random.default_rng(1)
    group = rng.integers(3, size=n)
    number = rng.integers(71, size=n) / 35.0 - 1.0
    design = np.column_stack([np.ones(n), number, group == 1, group == 2]).astype(np.float64)
    heights = design @ rng.normal(size=(4, levels)) + rng.gumbel(size=(n, levels))
    family = Nominal(levels=tuple(map(str, range(levels))))
    outcome = 1.0 + np.argmax(heights, axis=1)
    cells = make_cells(family.encode(outcome), design)
    return PseudoPosterior(family.prepare(outcome, "y"), cells, np.ones(n))


def fit_nominal(
    engine: str, levels: int, n: int, settings: SamplerSettings, seed: int
) -> tuple[float, ...]:
    """Smallest ESS of one fit, its seconds, also of processors, and khat; no number for chains."""
    given, began = nominal_target(levels, n), time.process_time()
    made = find_engine(engine).sample(given, settings, seed=seed)
    spent, khat = time.process_time() - began, made.diagnostics.khat
    ess = made.diagnostics.ess_bulk_min
    return ess, made.seconds, spent, math.nan if khat is None else khat


def run(plan: Plan) -> Found:
    """Every installed engine on every family and size; laplace beside NUTS."""
    installed, left_out = _installed()
    rows: list[tuple[Entry, ...]] = []
    figures = {}
    for model in list(_DATA)[: 1 if plan.small else None]:
        for n in _SIZES[: 1 if plan.small else None]:
            found = _side_by_side(installed, model, n, plan.cap)
            rows += _rows(found, model, n, plan.cap)
            plan.say(f"  {model}, n = {n:,}")
            if (model, n) == ("negative-binomial", 1000):
                figures = _figures(found)
    columns = ("family", "n", "engine", "warm-up + draws", "ESS", "seconds", "ESS/s", "native over")
    note = " ".join((__doc__ or "").split("\n\n", 1)[1].split())
    tables = [Table("Effective draws per second", columns, rows, note), approximation(plan)]
    return Found(tables, figures, left_out)


def approximation(plan: Plan) -> Table:
    """Engine laplace beside NUTS on columns of few and of many levels."""
    n, runs = (1000, 1) if plan.small else (10_000, 3)
    rows: list[tuple[Entry, ...]] = []
    for levels in _LEVELS[: 1 if plan.small else None]:
        D = nominal_target(levels, n).dimension
        for engine in ("native", "laplace"):
            with Worker() as worker:
                worker.ask(fit_nominal, engine, _LEVELS[0], 300, _BRIEF, 1)  # compiles
                given = (fit_nominal, engine, levels, n, _USUAL)
                try:
                    found = [worker.ask(*given, seed, cap=plan.cap) for seed in range(runs)]
                except OverTheCapError:
                    over = f"over the cap of {plan.cap:.0f}"
                    rows.append((levels, n, D, engine, "", over, "", ""))
                    continue
            *measured, khat = medians(found)
            rows.append((levels, n, D, engine, *measured, "" if math.isnan(khat) else khat))
        plan.say(f"  nominal, {levels} levels, n = {n:,}")
    columns = ("levels", "n", "parameters", "engine", "ESS", "seconds", "processor s", "khat")
    return Table("A normal approximation", columns, rows, " ".join(_APPROXIMATION.split()))


def _installed() -> tuple[list[str], list[str]]:
    """Engines that are there, and a sentence for each that is not."""
    installed, left_out = [], []
    for engine in ENGINES:
        try:
            engine_version(engine)
            installed.append(engine)
        except MissingDependencyError as missing:
            left_out.append(f"{engine}: {missing}")
    return installed, left_out


def _plan(model: str, n: int) -> tuple[SamplerSettings, int]:
    """Iterations of a fit, and how many of them."""
    if n > 1000:
        return _FEWER, 1
    return (_HALF, 1) if model == "normal-mixture" else (_USUAL, 3)


def _rows(found: Measured, model: str, n: int, cap: float) -> list[tuple[Entry, ...]]:
    """A row for each engine."""
    settings, _ = _plan(model, n)
    about = (f"{settings.warmup} + {settings.draws}",)
    native = found["native"]
    rows: list[tuple[Entry, ...]] = []
    for engine, measured in found.items():
        if measured is not None:
            ratio: Entry = "" if native is None else _rate(native) / _rate(measured)
            shown: tuple[Entry, ...] = (*measured, _rate(measured), ratio)
        else:
            ratio = "" if native is None else f"over {_rate(native) * cap / settings.draws:.3g}"
            shown = ("", f"over the cap of {cap:.0f}", "", "" if engine == "native" else ratio)
        rows.append((model, n, engine, *about, *shown))
    return rows


def _figures(found: Measured) -> dict[str, float]:
    """What has a floor: how much faster the native engine is."""
    native = found["native"]
    return {
        name: _rate(native) / _rate(measured)
        for engine, name in _FLOORS.items()
        if native is not None and (measured := found.get(engine)) is not None
    }


def _rate(measured: tuple[float, ...]) -> float:
    return measured[0] / measured[1]


def _side_by_side(engines: list[str], model: str, n: int, cap: float) -> Measured:
    """Median ESS and seconds of each engine; None where a fit is over the cap."""
    with ExitStack() as stack:
        workers = {engine: stack.enter_context(Worker()) for engine in engines}
        for engine, worker in workers.items():
            worker.ask(fit, engine, model, 30, _BRIEF, 1)  # compiles
        taken: dict[str, list[tuple[float, ...]]] = {engine: [] for engine in engines}
        over = set()
        settings, runs = _plan(model, n)
        for seed in range(runs):
            for engine in [name for name in engines if name not in over]:
                ask = workers[engine].ask
                try:
                    measured = ask(fit, engine, model, n, settings, seed, cap=cap)
                    taken[engine].append(measured)
                except OverTheCapError:
                    over.add(engine)
        return {name: None if name in over else medians(taken[name]) for name in engines}
