"""The two numbers that [vws2024] prints for its Poisson(100) study: LW's Delta and SW's weight.

The paper's "around 0.375" is SW's weight on the authors' data. R's seed 123 gives these data, so
the replicates repeat only the fit. The global bound 3.5 of Appendix 6 holds over samples, so each
replicate has its own sample, as R draws it with the replicate's number as seed. The data are
simulated: nothing here is confidential.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from pyvws._base.resumable_jobs import Key, Result, whole_seed
from pyvws_studies._native_loop import native_loop, one_chain
from pyvws_studies._report import all_rows
from pyvws_studies.printed import LEVEL, Printed, Recomputed, half_unit, interval_of, replicates_of
from pyvws_studies.replicates import ReplicatedStudy
from pyvws_studies.simulated_data import poisson_data

_DELTA: Final = "3.5"
_WEIGHT: Final = "0.375"
_AUTHORS_SEED: Final = 123

SETTINGS: Final[Mapping[str, Any]] = {"n": 1000, "draws": 4000, "warmup": 500}


def keys(replicates: int) -> list[Key]:
    """Two keys for each replicate: one for the authors' data, one for the replicate's own data."""
    return [(kind, number) for number in range(1, replicates + 1) for kind in ("authors", "sample")]


def replicate(settings: Mapping[str, Any], key: Key, seed: np.random.SeedSequence) -> Result:
    """One fit: Delta of LW in nats, and the weight that SW needs for the same bound."""
    y = poisson_data(_AUTHORS_SEED if key[0] == "authors" else int(key[1]), settings["n"])
    design = np.ones((len(y), 1))
    # Bounds are maxima over draws: take as many draws as four chains of a thousand.
    loop = native_loop("poisson", y, design, one_chain(settings), seed=whole_seed(seed))
    bound = float(loop.lipschitz().bounds.database)
    weight = bound / float(loop.unweighted().bounds.database)
    return Result([{"data": key[0], "replicate": key[1], "delta": bound, "weight": weight}])


def poisson_figures(*, replicates: int = 8, seed: int = 1, jobs: int | None = None) -> Recomputed:
    """Recompute both figures, each from `replicates` fits, `jobs` at once (default: all cores)."""
    results = replicates_of(STUDY, replicates=replicates, seed=seed, jobs=jobs)
    rows = all_rows(results)
    cells = []
    for table, column, value, name, data, what in (
        ("Appendix 6", "Delta of LW", _DELTA, "delta", "sample", "samples of 1000"),
        ("Figure 1b", "weight of SW", _WEIGHT, "weight", "authors", "fits of the authors' data"),
    ):
        own = [row[name] for row in rows if row["data"] == data]
        interval = interval_of(own, rounding=half_unit(value))
        how = f"{replicates} {what}; {LEVEL:.0%} interval"
        cells.append(Printed("vws2024", table, "Poisson(100)", column, value, *interval, how))
    return Recomputed(cells)


STUDY: Final = ReplicatedStudy(
    name="poisson-figures", settings=SETTINGS, replicates=8, keys=keys, replicate=replicate
)
