"""From local to global bounds: section 6 of [vws2024], and the sample sizes of [global2022].

Local databases of n records from Poisson(100), and from 0.2 NB(100, 5) + 0.8 NB(100, 20), by R's
generators. Each is fitted unweighted, weighted (LW with c = 1) and weighted-epsilon, by the
intercept-only model of its kind of data. The paper takes n = 1000; the slides' violins take n of
100, 400, 1600 and 6400 and name neither their data nor their truncation, so both kinds of data are
taken at every n here, and epsilon of Weighted-epsilon is what section 6 prints as the global one.
Section 6 gives R both as 100 and as 200, and both dispersions as 5; its text and figures have
R = 100, and section 3.1 the mixture above. The data are simulated: nothing here is confidential.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws.mechanisms.lipschitz_weighted import LipschitzWeighted
from pyvws.mechanisms.unweighted import Unweighted
from pyvws.mechanisms.weighing import Request, WeightedFit
from pyvws.mechanisms.weighted_epsilon import WeightedEpsilon
from pyvws.r_numbers.r_random import RRandom
from pyvws.studies._native_loop import native_loop, one_chain
from pyvws.studies._replicates import ReplicatedStudy, whole_seed
from pyvws.studies._results import Key, Result
from pyvws.studies.contraction_report import MECHANISMS
from pyvws.studies.five_mechanisms import statistics
from pyvws.studies.simulated_data import poisson_data

__all__ = ["COLUMNS", "SETTINGS", "STUDY", "keys", "replicate", "simulate"]

SETTINGS: Mapping[str, Any] = {
    "sizes": [100, 400, 1000, 1600, 6400],
    "data": {
        "poisson": {"model": "poisson", "epsilon": 7.0},
        "mixture": {"model": "negative-binomial", "epsilon": 12.0},
    },
    "mean": 100.0,
    "shares": [0.2, 0.8],
    "dispersions": [5.0, 20.0],
    "draws": 1000,
    "warmup": 500,
}

COLUMNS = (
    *("data", "n", "replicate", "mechanism", "lipschitz", "mu", "mean_weight", "out"),
    *("q15", "median", "mean", "q90"),
)
"""Columns of replicates.csv.

`lipschitz` is the database bound in nats, `mu` the mean of the posterior of the mean parameter,
`out` the number of records at weight 0; quantiles and mean are those of one synthetic dataset. Rows
of mechanism "original" hold those of the database itself, and nothing else.
"""


def keys(replicates: int) -> list[Key]:
    """A key for each replicate, kind of data and size, replicates of one number together."""
    return [
        (data, n, number)
        for number in range(1, replicates + 1)
        for data in SETTINGS["data"]
        for n in SETTINGS["sizes"]
    ]


def simulate(settings: Mapping[str, Any], data: str, n: int, seed: int) -> Floats:
    """Counts (n,) after R's ``set.seed(seed)``; the mixture's one record at a time."""
    if data == "poisson":
        return poisson_data(seed, n, settings["mean"])
    stream, values = RRandom(seed), np.empty(n)
    for record in range(n):
        component = int(stream.rmultinom(1, 1, settings["shares"]).argmax())
        values[record] = stream.rnegbin(1, settings["mean"], settings["dispersions"][component])[0]
    return values


def replicate(settings: Mapping[str, Any], key: Key, seed: np.random.SeedSequence) -> Result:
    """One database: its own row and one for each mechanism."""
    data, n, number = str(key[0]), int(key[1]), int(key[2])
    of_data = settings["data"][data]
    data_seed = whole_seed(seed.spawn(1)[0]) % 2**31
    y = simulate(settings, data, n, data_seed)
    design = np.ones((n, 1))
    loop = native_loop(of_data["model"], y, design, one_chain(settings), seed=whole_seed(seed))
    mechanisms = (Unweighted(), LipschitzWeighted(), WeightedEpsilon(epsilon=of_data["epsilon"]))
    made = [mechanism.run(loop, Request(y=y)).fit for mechanism in mechanisms]
    fits = dict(zip(MECHANISMS, made, strict=True))
    rows = [_row((data, n, number, "original"), None, y)]
    for name, fit in fits.items():
        rows.append(_row((data, n, number, name), fit, loop.synthetic(fit, design, 1)[0]))
    extra = {
        "data_seed": data_seed,
        "least_bound": float(loop.unweighted().bounds.by_record.min()),
        "rhat": max(fit.posterior.diagnostics.rhat_max for fit in fits.values()),
        "divergences": sum(fit.posterior.diagnostics.divergences for fit in loop.fits),
    }
    return Result(rows, extra)


def _row(place: tuple[str, int, int, str], fit: WeightedFit | None, y: Floats) -> dict[str, Any]:
    of_fit: tuple[float | None, ...] = (None,) * 4
    if fit is not None:
        mu = float(np.exp(fit.posterior.draws["beta"]).mean())
        out = int((fit.weights == 0).sum())
        of_fit = (fit.bounds.database, mu, float(fit.weights.mean()), out)
    return {**dict(zip(COLUMNS, (*place, *of_fit), strict=False)), **statistics(y)}


def _report(*arguments: Any) -> Any:
    from pyvws.studies.contraction_report import report

    return report(*arguments)


STUDY = ReplicatedStudy(
    name="contraction",
    settings=SETTINGS,
    replicates=100,
    keys=keys,
    replicate=replicate,
    report=_report,
)
