"""Section 2.4 of [risk2024] and section 6 of its supplement: radius r and number of datasets L.

R's generators draw n = 1000 counts from 0.3 NB(100, 5) + 0.7 NB(100, 20) once. The study fits an
intercept-only negative binomial synthesizer unweighted, with marginal weights for four radii, and
with pairwise weights. A replicate repeats the fits and the synthesis on the same counts, so only
Monte Carlo error makes the replicates differ. The data are simulated: nothing here is confidential.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.resumable_jobs import Key, Result, whole_seed
from pyvws.evaluation.one_column import ecdf_utility
from pyvws.evaluation.whack_a_mole import whack_a_mole
from pyvws.mechanisms.count_weighted import MarginalWeighted, PairwiseWeighted
from pyvws.mechanisms.weighing import Request, WeightedFit
from pyvws.r_numbers import rarith
from pyvws.risks.identification_risk import identification_risk
from pyvws_studies._native_loop import native_loop, one_chain
from pyvws_studies._report import all_rows
from pyvws_studies.printed import LEVEL, Printed, Recomputed, half_unit, interval_of, replicates_of
from pyvws_studies.replicates import ReplicatedStudy
from pyvws_studies.risk_efficient_comparison import (
    PUBLISHED,
    differences,
    replicated,
    simulate,
    statistics,
)
from pyvws_studies.risk_efficient_report import report

SETTINGS: Mapping[str, Any] = {
    "n": 1000,
    # The authors' public script has seed 1234; the paper's printed row of the data is of seed 123.
    "data_seeds": [123, 1234],
    "radii": [0.3, 0.25, 0.2, 0.15],
    "pairwise_radius": 0.15,
    "datasets": 20,
    "other_datasets": [30, 10, 5, 1],
    "other_datasets_radius": 0.2,
    "draws": 1000,
    "warmup": 1000,
    "bootstrap": 1000,
    "bootstrap_seed": 123,
    "rise": 0.25,
}


def keys(settings: Mapping[str, Any], replicates: int) -> list[Key]:
    """A key for each replicate on each dataset; the keys of one replicate are adjacent."""
    return [
        ("data", seed, number)
        for number in range(1, replicates + 1)
        for seed in settings["data_seeds"]
    ]


def replicate(settings: Mapping[str, Any], key: Key, seed: np.random.SeedSequence) -> Result:
    """One fit and synthesis of the key's data: a row for each synthesizer, r and L, and risks."""
    y = simulate(settings, int(key[1]))
    design = np.ones((len(y), 1))
    loop = native_loop("negative-binomial", y, design, one_chain(settings), seed=whole_seed(seed))
    request = Request(y=y)
    plain = loop.unweighted()
    marginal = {r: MarginalWeighted(radius=r).run(loop, request).fit for r in settings["radii"]}
    pairwise_radius = settings["pairwise_radius"]
    pairwise = PairwiseWeighted(radius=pairwise_radius).run(loop, request).fit
    rows = _Rows(settings, key, y)
    L = settings["datasets"]
    rows.add("synthesizer", settings["radii"], plain, loop.synthetic(plain, design, L))
    for r, fit in marginal.items():
        rows.add("marginal", [r], fit, loop.synthetic(fit, design, L))
    rows.add("pairwise", [pairwise_radius], pairwise, loop.synthetic(pairwise, design, L))
    r = settings["other_datasets_radius"]
    for L in settings["other_datasets"]:
        for name, fit in (("synthesizer", plain), ("marginal", marginal[r])):
            rows.add(name, [r], fit, loop.synthetic(fit, design, L))
    return Result(rows.made, {"risks": rows.risks})


class _Rows:
    """Rows of one replicate; for each r and L the unweighted synthesizer's row comes first."""

    def __init__(self, settings: Mapping[str, Any], key: Key, y: Floats) -> None:
        self.made: list[dict[str, Any]] = []
        self.risks: dict[str, list[float]] = {}
        self._settings, self._key, self._y = settings, key, y
        self._unweighted: dict[tuple[float, int], Floats] = {}

    def add(self, name: str, radii: list[float], fit: WeightedFit, sets: list[Floats]) -> None:
        """Add a row for each radius; `sets` are the datasets drawn from `fit`."""
        utility, diagnostics = ecdf_utility(self._y, sets), fit.posterior.diagnostics
        of_sets = {
            "u_m": utility.maximum,
            "u_a": utility.average,
            **statistics(self._settings, sets),
        }
        of_fit = {
            "mean_weight": float(fit.weights.mean()),
            "mu": float(np.exp(fit.posterior.draws["beta"]).mean()),
            "phi": float(fit.posterior.draws["phi"].mean()),
            "rhat": diagnostics.rhat_max,
            "ess": diagnostics.ess_bulk_min,
            "divergences": diagnostics.divergences,
        }
        for r in radii:
            risk = identification_risk(self._y, sets, radius=r)
            before = self._unweighted.setdefault((r, len(sets)), risk)
            mole = whack_a_mole(before, risk, rise=self._settings["rise"])
            if len(sets) == self._settings["datasets"]:
                self.risks[f"{name} {r:g}"] = risk.tolist()
            of_risk = {
                "risk_mean": rarith.mean(risk),
                "risk_iqr": mole.weighted.iqr,
                "risk_max": mole.weighted.maximum,
                "rose": int((mole.change > 0).sum()),
                "rose_much": int(mole.rose.sum()),
                "largest_rise": float(mole.change.max()),
            }
            place = {"data_seed": self._key[1], "replicate": self._key[2], "mechanism": name}
            size = {"radius": r, "datasets": len(sets)}
            self.made.append({**place, **size, **of_sets, **of_risk, **of_fit})


STUDY = ReplicatedStudy(
    name="risk-efficient",
    settings=SETTINGS,
    replicates=20,
    keys=partial(keys, SETTINGS),
    replicate=replicate,
    report=report,
)


PAPERS_SEED: Final = 123


def risk_efficient_tables(
    *,
    replicates: int = 8,
    seed: int = 1,
    jobs: int | None = None,
    settings: dict[str, Any] | None = None,
) -> Recomputed:
    """Recompute each printed figure of the three tables; `settings` replace the study's."""
    own = {**SETTINGS, **(settings or {}), "data_seeds": [PAPERS_SEED]}
    study = replace(STUDY, settings=own, keys=partial(keys, own))
    results = replicates_of(study, replicates=replicates, seed=seed, jobs=jobs)
    rows = all_rows(results)
    how = f"{replicates} fits of the paper's data; {LEVEL:.0%} interval"
    cells = []
    for published in PUBLISHED:
        values = replicated(rows, PAPERS_SEED, published)
        interval = interval_of(values.tolist(), rounding=half_unit(published.value))
        place = (published.table, published.row, published.column)
        cells.append(Printed("risk2024", *place, published.value, *interval, how))
    return Recomputed(cells, differences(rows, PAPERS_SEED))
