"""Section 2.4 of [risk2024] and section 6 of its supplement: radius r and number of datasets L.

R's generators draw n = 1000 counts from 0.3 NB(100, 5) + 0.7 NB(100, 20) once. The study fits an
intercept-only negative binomial synthesizer unweighted, with marginal weights for four radii, and
with pairwise weights. A replicate repeats the fits and the synthesis on the same counts, so only
Monte Carlo error makes the replicates differ. The data are simulated: nothing here is confidential.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.resumable_jobs import Key, Result, whole_seed
from pyvws.evaluation.one_column import ecdf_utility
from pyvws.evaluation.whack_a_mole import risk_summary, whack_a_mole
from pyvws.mechanisms.count_weighted import MarginalWeighted, PairwiseWeighted
from pyvws.mechanisms.weighing import Request, WeightedFit
from pyvws.r_numbers import rarith
from pyvws.risks.identification_risk import identification_risk
from pyvws_studies._native_loop import native_loop, one_chain
from pyvws_studies._report import all_rows, table_of, write_report
from pyvws_studies.printed import Recomputed, paired_table, printed_tables, replicates_of
from pyvws_studies.replicates import ReplicatedStudy, Report
from pyvws_studies.risk_efficient_comparison import Rows, compare, differences, simulate, statistics

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


def report(settings: Mapping[str, Any], results: Mapping[Key, Result], out: Path) -> Report:
    """Write tables.csv, pairs.csv, risks.csv and the figures; show the tables."""
    rows = all_rows(results)
    seeds = settings["data_seeds"]
    replicates = len({row["replicate"] for row in rows})
    cells = {seed: compare(rows, seed) for seed in seeds}
    risks = _risk_rows(settings, rows)
    lines = [
        {"data_seed": seed, **asdict(cell), "inside": cell.inside}
        for seed, of_seed in cells.items()
        for cell in of_seed
    ]
    pairs = {seed: differences(rows, seed) for seed in seeds}
    differing = [
        {"data_seed": seed, **asdict(pair), "told_apart": pair.excludes_zero}
        for seed, of_seed in pairs.items()
        for pair in of_seed
    ]
    shown = [
        table
        for seed, of_seed in cells.items()
        for table in printed_tables(of_seed, f"data of R's seed {seed}")
    ]
    apart = [
        paired_table(f"What the replicates tell apart, data of R's seed {seed}", of_seed)
        for seed, of_seed in pairs.items()
        if replicates > 1
    ]
    return write_report(
        out,
        [*shown, *apart, _risk_table(risks, replicates)],
        tables={"tables.csv": lines, "risks.csv": risks, "pairs.csv": differing},
        pictures=_figures(settings, results),
    )


def _risk_rows(settings: Mapping[str, Any], rows: Rows) -> Rows:
    """Risks of the data, and the synthesizers' means over replicates, by data, r and mechanism."""
    lines: Rows = []
    for seed in settings["data_seeds"]:
        y = simulate(settings, seed)
        for r in settings["radii"]:
            risk = identification_risk(y, radius=r)
            of_data = risk_summary(risk)
            place = {"data_seed": seed, "radius": r}
            first = {"risk_mean": rarith.mean(risk), "risk_iqr": of_data.iqr}
            lines.append({**place, "mechanism": "data", **first, "risk_max": of_data.maximum})
            for name in ("synthesizer", "marginal", "pairwise"):
                own = [
                    row
                    for row in rows
                    if (row["data_seed"], row["mechanism"], row["radius"]) == (seed, name, r)
                    and row["datasets"] == settings["datasets"]
                ]
                if own:
                    means = {
                        column: rarith.mean([float(row[column]) for row in own])
                        for column in (
                            *("risk_mean", "risk_iqr", "risk_max"),
                            *("rose", "rose_much", "largest_rise"),
                        )
                    }
                    lines.append({**place, "mechanism": name, **means})
    return lines


_SHOWN: Final = {
    **{"seed": ("data_seed", "d"), "r": ("radius", ".0%"), "": ("mechanism", "")},
    **{"mean": ("risk_mean", ".3f"), "IQR": ("risk_iqr", ".3f"), "max": ("risk_max", ".3f")},
    **{"rose": ("rose", ".1f"), "by 0.25": ("rose_much", ".1f")},
    "largest rise": ("largest_rise", ".3f"),
}


def _risk_table(risks: Rows, replicates: int) -> Any:
    said = (
        f"means over {replicates} replicates; rose: records whose risk is above the synthesizer's"
    )
    title = "Identification risks; larger = riskier"
    return table_of(title, risks, _SHOWN, left=3, group="data_seed", caption=said)


def _figures(settings: Mapping[str, Any], results: Mapping[Key, Result]) -> dict[str, Any]:
    """Draw the paper's figures of the first replicate and dataset."""
    from pyvws import plots

    seed = settings["data_seeds"][0]
    first = next(result for key, result in results.items() if key[1:] == (seed, 1))
    risks = first.extra["risks"]
    y, figures = simulate(settings, seed), {}
    violins = {}
    for r in settings["radii"]:
        own = {"D": identification_risk(y, radius=r)}
        for label, name in (("S", "synthesizer"), ("M", "marginal"), ("P", "pairwise")):
            if f"{name} {r:g}" in risks:
                own[label] = np.array(risks[f"{name} {r:g}"])
        violins[f"r = {r:.0%}"] = own
    figures["risks.png"] = plots.risk_violins(violins)
    r = settings["pairwise_radius"]
    pair = violins[f"r = {r:.0%}"]
    figures["whack-a-mole.png"] = plots.whack_a_mole_scatter(
        pair["S"], {"Marginal": pair["M"], "Pairwise": pair["P"]}
    )
    figures["figure-4.png"] = plots.densities({"simulated data": y})
    by_radius = {title.removeprefix("r = "): own["M"] for title, own in violins.items()}
    figures["figure-6.png"] = plots.risk_violins({"Marginal": by_radius})
    data = _intervals(statistics(settings, [y]))
    estimates = {
        (row["mechanism"], row["radius"]): _intervals(row)
        for row in first.rows
        if row["datasets"] == settings["datasets"]
    }
    synthesizer = {"Synthesizer": estimates["synthesizer", r]}
    by_label = synthesizer | {f"{r:.0%}": estimates["marginal", r] for r in settings["radii"]}
    figures["figure-7.png"] = plots.intervals(_by_statistic(by_label), data)
    by_label = synthesizer | {x.title(): estimates[x, r] for x in ("marginal", "pairwise")}
    figures["supplement-figure-4.png"] = plots.intervals(_by_statistic(by_label), data)
    return figures


def _intervals(row: Mapping[str, Any]) -> dict[str, tuple[float, float, float]]:
    """(estimate, lower, upper) of the mean and the median."""
    return {
        name: (row[name], row[f"{name}_lower"], row[f"{name}_upper"]) for name in ("mean", "median")
    }


def _by_statistic(estimates: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        name: {label: entries[name] for label, entries in estimates.items()}
        for name in ("mean", "median")
    }


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
    rows = all_rows(replicates_of(study, replicates=replicates, seed=seed, jobs=jobs))
    return Recomputed(compare(rows, PAPERS_SEED), differences(rows, PAPERS_SEED))
