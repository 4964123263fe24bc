"""From local to global bounds: section 6 of [vws2024], and the sample sizes of [global2022].

R's generators draw local databases of n records from Poisson(100), and from 0.2 NB(100, 5) +
0.8 NB(100, 20). The study fits each database unweighted, weighted (LW with c = 1), re-weighted (LW
at the paper's k = 0.95, once) and weighted-epsilon, with the intercept-only model of the database's
kind of data. Section 6 shows LW, and its procedure names the re-weighted synthesizer. The paper
takes n = 1000. The slides' violins take n of 100, 400, 1600 and 6400, and name neither their data
nor their truncation. So the study takes both kinds of data at every n, and Weighted-epsilon takes
the epsilon that section 6 prints as the global one. Section 6 gives R both as 100 and as 200, and
both dispersions as 5. The study takes R = 100, as section 6's text and figures do, and the mixture
of section 3.1. The data are simulated: nothing here is confidential.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.resumable_jobs import Key, Result, whole_seed
from pyvws.mechanisms.lipschitz_weighted import LipschitzWeighted
from pyvws.mechanisms.unweighted import Unweighted
from pyvws.mechanisms.weighing import Request, WeightedFit
from pyvws.mechanisms.weighted_epsilon import WeightedEpsilon
from pyvws.weights.weights import reweight
from pyvws_studies._native_loop import native_loop, one_chain
from pyvws_studies._report import all_rows, table_of, write_report
from pyvws_studies.five_mechanisms import statistics
from pyvws_studies.printed import PairedDifference, paired_difference, paired_table
from pyvws_studies.replicates import ReplicatedStudy, Report
from pyvws_studies.simulated_data import mixture_counts, poisson_data

MECHANISMS = ("unweighted", "weighted", "reweighted", "weighted-epsilon")
_PAIRS = (("unweighted", "weighted"), ("weighted", "reweighted"), ("weighted", "weighted-epsilon"))

SETTINGS: Mapping[str, Any] = {
    "sizes": [100, 400, 1000, 1600, 6400],
    "data": {
        "poisson": {"model": "poisson", "epsilon": 7.0},
        "mixture": {"model": "negative-binomial", "epsilon": 12.0},
    },
    "mean": 100.0,
    "shares": [0.2, 0.8],
    "dispersions": [5.0, 20.0],
    "k": 0.95,
    "draws": 1000,
    "warmup": 500,
}

COLUMNS = (
    *("data", "n", "replicate", "mechanism", "lipschitz", "of_window", "mu", "mean_weight", "out"),
    *("q15", "median", "mean", "q90"),
)
"""Columns of replicates.csv.

`lipschitz` is the database bound in nats, `of_window` what a draw costs with one record left out
and the weights held fixed, `mu` the posterior mean of the mean parameter, and `out`
the number of records at weight 0. The quantiles and the mean describe one synthetic dataset. A row
of mechanism "original" holds only the quantiles and the mean of the database itself.
"""


def keys(replicates: int) -> list[Key]:
    """A key for each replicate, kind of data and size; the keys of one replicate are adjacent."""
    return [
        (data, n, number)
        for number in range(1, replicates + 1)
        for data in SETTINGS["data"]
        for n in SETTINGS["sizes"]
    ]


def simulate(settings: Mapping[str, Any], data: str, n: int, seed: int) -> Floats:
    """Counts (n,) after R's ``set.seed(seed)``; R draws the mixture one record at a time."""
    if data == "poisson":
        return poisson_data(seed, n, settings["mean"])
    return mixture_counts(
        seed, n, **{name: settings[name] for name in ("shares", "dispersions", "mean")}
    )


def replicate(settings: Mapping[str, Any], key: Key, seed: np.random.SeedSequence) -> Result:
    """One database: a row for the database itself, and a row for each mechanism."""
    data, n, number = str(key[0]), int(key[1]), int(key[2])
    of_data = settings["data"][data]
    data_seed = whole_seed(seed.spawn(1)[0]) % 2**31
    y = simulate(settings, data, n, data_seed)
    design = np.ones((n, 1))
    loop = native_loop(of_data["model"], y, design, one_chain(settings), seed=whole_seed(seed))
    mechanisms = (Unweighted(), LipschitzWeighted(), WeightedEpsilon(epsilon=of_data["epsilon"]))
    plain, lw, truncated = (mechanism.run(loop, Request(y=y)).fit for mechanism in mechanisms)
    weights = reweight(lw.weights, lw.bounds.by_record, k=settings["k"])
    all_fits = (plain, lw, loop.fit(weights, _LABELS["reweighted"]), truncated)
    fits = dict(zip(MECHANISMS, all_fits, strict=True))
    rows = [_row((data, n, number, "original"), None, y)]
    for name, fit in fits.items():
        rows.append(_row((data, n, number, name), fit, loop.synthetic(fit, design, 1)[0]))
    extra = {
        "data_seed": data_seed,
        "rhat": max(fit.posterior.diagnostics.rhat_max for fit in fits.values()),
        "divergences": sum(fit.posterior.diagnostics.divergences for fit in loop.fits),
    }
    return Result(rows, extra)


def _row(place: tuple[str, int, int, str], fit: WeightedFit | None, y: Floats) -> dict[str, Any]:
    of_fit: tuple[float | None, ...] = (None,) * 5
    if fit is not None:
        mu = float(np.exp(fit.posterior.draws["beta"]).mean())
        out = int((fit.weights == 0).sum())
        costs = fit.bounds.database, fit.bounds.epsilon_of_window
        of_fit = (*costs, mu, float(fit.weights.mean()), out)
    return {**dict(zip(COLUMNS, (*place, *of_fit), strict=False)), **statistics(y)}


_LABELS = {
    "unweighted": "Unweighted",
    "weighted": "LW",
    "reweighted": "LW_final",
    "weighted-epsilon": "Weighted-e",
}
_TITLES = {"poisson": "Poisson(100)", "mixture": "0.2 NB(100, 5) + 0.8 NB(100, 20)"}
_PAPER_SIZE = 1000  # n in section 6 of the paper.


def report(settings: Mapping[str, Any], results: Mapping[Key, Result], out: Path) -> Report:
    """Write summary.csv, explanation.txt and the figures; show tables and explanation."""
    rows = all_rows(results)
    lines = summary(settings, rows)
    replicates = len({row["replicate"] for row in rows})
    worst = max(result.extra["rhat"] for result in results.values())
    diverged = sum(result.extra["divergences"] for result in results.values())
    tables = [_table(settings, lines, data, replicates) for data in settings["data"]]
    if replicates > 1:
        tables += [
            paired_table(
                f"{_TITLES[data]}: pairs on one database", differences(settings, rows, data)
            )
            for data in settings["data"]
        ]
    return write_report(
        out,
        tables,
        tables={"summary.csv": lines},
        text=[f"Worst R-hat {worst:.3f}; {diverged} divergences."],
        pictures=_figures(settings, rows),
    )


def _values(rows: list[dict[str, Any]], column: str, data: str, n: int, mechanism: str) -> Floats:
    case = (data, n, mechanism)
    return np.array(
        [row[column] for row in rows if (row["data"], row["n"], row["mechanism"]) == case],
        dtype=np.float64,
    )


def summary(settings: Mapping[str, Any], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each kind of data, mechanism and n: the bounds' size and spread, the share of
    bounds above the paper's global bound, and the mean and root mean squared error of mu.
    """
    lines = []
    for data, of_data in settings["data"].items():
        for mechanism in MECHANISMS:
            for n in settings["sizes"]:
                bounds = _values(rows, "lipschitz", data, n, mechanism)
                mu = _values(rows, "mu", data, n, mechanism)
                lines.append(
                    {
                        **{"data": data, "mechanism": mechanism, "n": n},
                        "smallest": float(bounds.min()),
                        "mean": float(bounds.mean()),
                        "largest": float(bounds.max()),
                        "spread": float(np.ptp(bounds)),
                        "sd": float(bounds.std()),
                        "above": float((bounds > 0.5 * of_data["epsilon"]).mean()),
                        "out": float(_values(rows, "out", data, n, mechanism).mean()),
                        "mu": float(mu.mean()),
                        "mu_rmse": float(np.sqrt(((mu - settings["mean"]) ** 2).mean())),
                    }
                )
    return lines


def differences(
    settings: Mapping[str, Any], rows: list[dict[str, Any]], data: str
) -> list[PairedDifference]:
    """Paired differences of bounds, and of distances of mu, between mechanisms on one database."""
    pairs = []
    for first, second in _PAIRS:
        for n in settings["sizes"]:
            bounds = (_values(rows, "lipschitz", data, n, name) for name in (first, second))
            pairs.append(paired_difference(first, second, f"bound, n = {n}", *bounds))
            away = (
                np.abs(_values(rows, "mu", data, n, name) - settings["mean"])
                for name in (first, second)
            )
            pairs.append(paired_difference(first, second, f"distance of mu, n = {n}", *away))
    return pairs


def _table(
    settings: Mapping[str, Any], lines: list[dict[str, Any]], data: str, replicates: int
) -> Any:
    half = 0.5 * settings["data"][data]["epsilon"]
    own = [{**x, "label": _LABELS[x["mechanism"]]} for x in lines if x["data"] == data]
    columns = {
        **{"": ("label", ""), "n": ("n", "d")},
        **{name: (name, ".2f") for name in ("smallest", "mean", "largest", "spread", "sd")},
        **{f"above {half:g}": ("above", ".0%"), "at weight 0": ("out", ".0f")},
        **{"mu": ("mu", ".2f"), "RMSE of mu": ("mu_rmse", ".2f")},
    }
    said = "database Lipschitz bounds over local databases, in nats; larger = less private"
    title = f"{_TITLES[data]}, R = {replicates}"
    return table_of(title, own, columns, group="label", caption=said)


def _figures(settings: Mapping[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Draw bounds and mu over n, and at the paper's n the violins of bounds and estimands."""
    from pyvws_studies.figures import contraction, epsilons, replicate_violins

    pictures = {}
    for data, of_data in settings["data"].items():
        half = 0.5 * of_data["epsilon"]

        def over_sizes(column: str, data: str = data) -> dict[str, dict[str, Floats]]:
            return {
                label: {str(n): _values(rows, column, data, n, name) for n in settings["sizes"]}
                for name, label in _LABELS.items()
            }

        lines = dict.fromkeys(_LABELS.values(), half)
        pictures[f"bounds-{data}.png"] = contraction(over_sizes("lipschitz"), lines)
        means = dict.fromkeys(_LABELS.values(), settings["mean"])
        pictures[f"mu-{data}.png"] = replicate_violins(
            over_sizes("mu"), means, name="posterior mean of mu", line="true mean"
        )
        if _PAPER_SIZE in settings["sizes"]:
            labels = {"original": "Data", "unweighted": "Unweighted", "weighted": "LW"}
            of_paper = {
                statistic: {
                    label: _values(rows, column, data, _PAPER_SIZE, name)
                    for name, label in labels.items()
                }
                for column, statistic in (
                    *(("q15", "15th quantile"), ("q90", "90th quantile")),
                    *(("mean", "mean"), ("median", "median")),
                )
            }
            pictures[f"estimands-{data}.png"] = replicate_violins(
                of_paper, name="one dataset of each database"
            )
    if _PAPER_SIZE in settings["sizes"]:
        panels = {
            _TITLES[data]: {
                _LABELS[name]: _values(rows, "lipschitz", data, _PAPER_SIZE, name)
                for name in ("unweighted", "weighted")
            }
            for data in settings["data"]
        }
        global_bounds = {
            _TITLES[data]: 0.5 * of_data["epsilon"] for data, of_data in settings["data"].items()
        }
        pictures["local-to-global.png"] = contraction(panels, global_bounds)
        papers, windows = (
            {
                _TITLES[data]: {
                    label: times * float(_values(rows, column, data, _PAPER_SIZE, name).mean())
                    for name, label in _LABELS.items()
                }
                for data in settings["data"]
            }
            for column, times in (("lipschitz", 2.0), ("of_window", 1.0))
        )
        pictures["epsilons.png"] = epsilons(papers, windows)
    return pictures


STUDY = ReplicatedStudy(
    name="contraction",
    settings=SETTINGS,
    replicates=100,
    keys=keys,
    replicate=replicate,
    report=report,
)
