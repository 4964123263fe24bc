"""Table 1 of [vws2024]: 95 % intervals of Q15, Q90, mean and median before and after re-weighting.

The paper's sample is unknown, so each replicate draws its own n = 1000 counts from
0.2 NB(100, 5) + 0.8 NB(100, 20). A replicate fits LW and CW, with c of CW searched so that CW's
bound meets LW's bound. The replicate re-weights both fits with the paper's k = 0.95, and makes
synthetic datasets of each fit. An interval has the bootstrap percentiles of a dataset as ends,
averaged over the datasets. Only this reading gives the printed widths of one dataset and printed
ends that are fractions of counts.

The printed row of the data tells where the paper's sample lies. The study compares a mechanism's
printed figure with the data's printed figure plus the mechanism's shift in our samples. So the
comparison's interval holds the spread of samples, fits and synthesis, but not the place of the
sample. This interval is for one further sample, and hardly narrows with more replicates. The mean
of paired differences tells two mechanisms apart, and its interval narrows with more replicates.
The data are simulated: nothing here is confidential.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.resumable_jobs import Key, Result, whole_seed
from pyvws.weights.weights import reweight
from pyvws_studies import negative_binomial_mixture as mixture
from pyvws_studies._native_loop import native_loop, one_chain
from pyvws_studies._report import all_rows
from pyvws_studies.printed import (
    LEVEL,
    PairedDifference,
    Printed,
    Recomputed,
    half_unit,
    interval_of,
    paired_difference,
    papers,
    replicates_of,
)
from pyvws_studies.replicates import ReplicatedStudy

STATISTICS: Final = ("15th quantile", "90th quantile", "mean", "median")
PUBLISHED: Final[dict[str, str]] = papers()["vws2024"]["table-1"]
"""The printed table by column: the lower and upper end of each of `STATISTICS`, in order."""
PAIRS: Final = (("LW", "LW_final"), ("CW", "CW_final"), ("LW", "CW"), ("LW_final", "CW_final"))
"""The pairs of columns that the study compares within each replicate."""
REPLICATES: Final = 48
"""With this many replicates all `PAIRS` but LW and LW_final measurably differ at every end."""
_DELTA: Final = "6"  # "contraction around the global Lipschitz (where here Delta_alpha = 6)"
_ENDS: Final = ("lower", "upper")
_COLUMNS: Final = tuple(f"{name}: {end}" for name in STATISTICS for end in _ENDS)

SETTINGS: Final[Mapping[str, Any]] = {
    "datasets": 20,
    "bootstrap": 200,
    "k": 0.95,
    "draws": 1000,
    "warmup": 500,
}


def keys(replicates: int) -> list[Key]:
    return [("mixture", number) for number in range(1, replicates + 1)]


def interval_ends(datasets: list[Floats], times: int, rng: np.random.Generator) -> Floats:
    """Ends (4, 2) of the statistics' 95 % bootstrap intervals, averaged over datasets."""
    ends = np.empty((len(datasets), len(STATISTICS), 2))
    for place, values in enumerate(datasets):
        samples = values[rng.integers(len(values), size=(times, len(values)))]
        q15, q90, median = np.quantile(samples, [0.15, 0.9, 0.5], axis=1)
        statistics_of_samples = np.stack([q15, q90, samples.mean(axis=1), median])
        ends[place] = np.quantile(statistics_of_samples, [0.025, 0.975], axis=1).T
    return np.asarray(ends.mean(axis=0))


def replicate(settings: Mapping[str, Any], key: Key, seed: np.random.SeedSequence) -> Result:
    """One sample of the mixture: a row for each column of the table, with the bound in nats."""
    whole = whole_seed(seed)
    y = mixture.simulate(whole)
    design = np.ones((len(y), 1))
    loop = native_loop("negative-binomial", y, design, one_chain(settings), seed=whole)
    lw, cw = loop.lipschitz(), mixture.matched_count_weights(loop, y)
    fits = {"LW": lw, "CW": cw.fit}
    for name, fit in list(fits.items()):
        weights = reweight(fit.weights, fit.bounds.by_record, k=settings["k"])
        fits[f"{name}_final"] = loop.fit(weights, f"{name}_final")
    rng = np.random.default_rng(seed)
    sets = {"Data": [y]} | {
        name: loop.synthetic(fit, design, settings["datasets"]) for name, fit in fits.items()
    }
    rows = []
    for name, own in sets.items():
        ends = interval_ends(own, settings["bootstrap"], rng).ravel()
        row = {"replicate": key[1], "column": name, **dict(zip(_COLUMNS, ends, strict=True))}
        bound = fits[name].bounds.database if name in fits else 0.0
        rows.append({**row, "delta": bound, "c": cw.constants["c"] if name == "CW" else 0.0})
    return Result(
        [{k: float(v) if isinstance(v, np.floating) else v for k, v in r.items()} for r in rows]
    )


def compare(rows: list[dict[str, Any]], how: str) -> list[Printed]:
    """Compare each printed figure of the table, and LW's printed bound, with the rows."""
    by_mechanism = {name: [row for row in rows if row["column"] == name] for name in PUBLISHED}
    printed = {
        name: dict(zip(_COLUMNS, text.split(), strict=True)) for name, text in PUBLISHED.items()
    }
    cells = []
    for name, own in by_mechanism.items():
        for column in _COLUMNS:
            value = printed[name][column]
            values, rounding = np.array([row[column] for row in own]), half_unit(value)
            if name != "Data":
                anchor = printed["Data"][column]
                values = values - [row[column] for row in by_mechanism["Data"]] + float(anchor)
                rounding += half_unit(anchor)
            interval = interval_of(values.tolist(), rounding=rounding)
            cells.append(Printed("vws2024", "Table 1", name, column, value, *interval, how))
    bounds = interval_of([row["delta"] for row in by_mechanism["LW"]], rounding=half_unit(_DELTA))
    place = ("vws2024", "Appendix 6", "negative binomial mixture", "Delta of LW")
    return [*cells, Printed(*place, _DELTA, *bounds, how)]


def differences(rows: list[dict[str, Any]]) -> list[PairedDifference]:
    """The paired difference of each of `PAIRS` over the replicates, at each interval's ends."""
    by_mechanism = {name: [row for row in rows if row["column"] == name] for name in PUBLISHED}
    return [
        paired_difference(*pair, end, *([row[end] for row in by_mechanism[name]] for name in pair))
        for pair in PAIRS
        for end in _COLUMNS
    ]


def table_1(*, replicates: int = REPLICATES, seed: int = 1, jobs: int | None = None) -> Recomputed:
    """Recompute the table on `replicates` samples, `jobs` at once (by default all processors)."""
    results = replicates_of(STUDY, replicates=replicates, seed=seed, jobs=jobs)
    how = (
        f"{replicates} samples of 1000, {SETTINGS['datasets']} synthetic datasets each; "
        f"{LEVEL:.0%} interval, beside the printed data"
    )
    rows = all_rows(results)
    return Recomputed(compare(rows, how), differences(rows))


STUDY: Final = ReplicatedStudy(
    name="mixture-table", settings=SETTINGS, replicates=REPLICATES, keys=keys, replicate=replicate
)
