"""Section 3.2 and 4.2 of [vws2024]: every mechanism on a negative binomial mixture.

The study draws n = 1000 counts from 0.2 NB(100, 5) + 0.8 NB(100, 20), and fits an intercept-only
negative binomial synthesizer. CW has a radius of 30 %, and a search finds c so that CW's bound
meets LW's bound. SW has the same bound. The study also re-weights LW and CW. The data are
simulated: nothing here is confidential.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.evaluation.one_column import ecdf_utility
from pyvws.mechanisms.count_weighted import CountWeighted
from pyvws.mechanisms.scalar_weighted import ScalarWeighted
from pyvws.mechanisms.weighing import Request, WeightedFit, Weighting
from pyvws.r_numbers import rarith
from pyvws.synthesis.loop import SILENT, Listener, SynthesisLoop
from pyvws_studies._native_loop import native_loop
from pyvws_studies._report import save_pictures, table_of

N = 1000
MEAN = 100.0
DISPERSIONS = (5.0, 20.0)
SHARE = 0.2
RADIUS = 0.3
DATASETS = 200
TOLERANCE = 0.04  # Of bounds that must meet; smaller than a run's default of 5 %.


@dataclass(frozen=True, slots=True)
class MixtureRow:
    """One line of the study's table, statistics averaged over the synthetic datasets.

    `epsilon` is the paper's 2 Delta, and `of_window` what a draw costs with one record left out and
    the weights held fixed: Delta for log probabilities, such as those of counts, and 2 Delta for
    log densities. Both larger = less private.
    """

    label: str
    delta: float
    epsilon: float
    of_window: float
    mean_weight: float
    u_m: float
    u_a: float
    q15: float
    q90: float
    mean: float
    median: float


@dataclass(frozen=True, slots=True)
class MixtureStudy:
    """The data (N,), CW's c, and for each mechanism its fit, synthetic outcomes and row."""

    y: Floats
    fits: dict[str, WeightedFit]
    synthetic: dict[str, list[Floats]]
    c: float
    rows: list[MixtureRow]


def simulate(seed: int) -> Floats:
    """N counts from the mixture; each component is NB(mean 100, dispersion phi)."""
    rng = np.random.default_rng(seed)
    phi = np.where(rng.random(N) < SHARE, *DISPERSIONS)
    return rng.negative_binomial(phi, phi / (phi + MEAN)).astype(np.float64)


def run(
    *,
    seed: int,
    datasets: int = DATASETS,
    settings: SamplerSettings | None = None,
    listener: Listener = SILENT,
    y: Floats | None = None,
) -> MixtureStudy:
    """Fit the six mechanisms; `y` (N,) replaces the simulated data."""
    outcome = simulate(seed) if y is None else y
    design = np.ones((len(outcome), 1))
    sampling = settings or SamplerSettings()
    loop = native_loop("negative-binomial", outcome, design, sampling, seed=seed, listener=listener)
    lw = loop.lipschitz()
    cw = matched_count_weights(loop, outcome)
    fits = {
        "unweighted": loop.unweighted(),
        "LW": lw,
        "LW_final": loop.reweighted(lw, tolerance=TOLERANCE)[0],
        "CW": cw.fit,
        "CW_final": loop.reweighted(cw.fit, tolerance=TOLERANCE)[0],
        "SW": ScalarWeighted().run(loop, Request(y=outcome)).fit,
    }
    synthetic = {label: loop.synthetic(fit, design, datasets) for label, fit in fits.items()}
    rows = [_row(label, fit, outcome, synthetic[label]) for label, fit in fits.items()]
    return MixtureStudy(outcome, fits, synthetic, cw.constants["c"], rows)


def matched_count_weights(loop: SynthesisLoop, y: Floats) -> Weighting:
    """CW of the outcome (N,) at the study's radius, with c such that the bound meets LW's."""
    mechanism = CountWeighted(radius=RADIUS, match="lw")
    return mechanism.run(loop, Request(y=y, tolerance=TOLERANCE))


def statistics(y: Floats) -> Floats:
    """Q15, Q90, mean and median of an outcome, shape (4,)."""
    q15, q90, median = rarith.quantile(y, [0.15, 0.9, 0.5])
    return np.array([q15, q90, rarith.mean(y), median])


def _row(label: str, fit: WeightedFit, y: Floats, synthetic: list[Floats]) -> MixtureRow:
    utility = ecdf_utility(y, synthetic)
    averages = np.mean([statistics(values) for values in synthetic], axis=0)
    return MixtureRow(
        label,
        fit.bounds.database,
        fit.bounds.epsilon,
        fit.bounds.epsilon_of_window,
        float(fit.weights.mean()),
        utility.maximum,
        utility.average,
        *(float(value) for value in averages),
    )


_SHOWN = {
    **{"mechanism": ("label", ""), "Delta": ("delta", ".2f"), "epsilon": ("epsilon", ".2f")},
    **{"window": ("of_window", ".2f"), "mean weight": ("mean_weight", ".3f")},
    **{"U_m": ("u_m", ".4f"), "U_a": ("u_a", ".5f"), "Q15": ("q15", ".1f")},
    **{"Q90": ("q90", ".1f"), "mean": ("mean", ".1f"), "median": ("median", ".1f")},
}


def table(result: MixtureStudy) -> Any:
    """The study as a table for a terminal, the data's own statistics last."""
    names = ("q15", "q90", "mean", "median")
    data = {"label": "data", "part": "data", **dict(zip(names, statistics(result.y), strict=True))}
    said = (
        f"CW: radius {RADIUS:.0%}, c = {result.c:.2f} found so that its bound meets LW's. "
        "One sample: validation/reproduce/table1_2024.py shows which differences hold over samples."
    )
    title = "0.2 NB(100, 5) + 0.8 NB(100, 20), n = 1000"
    rows = [*map(asdict, result.rows), data]
    return table_of(title, rows, _SHOWN, group="part", caption=said)


def write(result: MixtureStudy, folder: Path) -> list[str]:
    import polars as pl

    from pyvws.plots import before_and_after, bounds_and_weights, utility
    from pyvws_studies.figures import epsilons

    pl.DataFrame(result.rows).write_csv(folder / "table.csv")
    labels, both = list(result.fits), ("LW", "CW")
    figures = {
        "bounds-and-weights.png": bounds_and_weights(
            {label: fit.bounds.by_record for label, fit in result.fits.items()},
            {label: fit.weights for label, fit in result.fits.items() if label != "unweighted"},
        ),
        "before-and-after.png": before_and_after(
            {label: (_scatter(result, label), _scatter(result, f"{label}_final")) for label in both}
        ),
        "utility.png": utility(
            {
                label: np.array([statistics(values) for values in result.synthetic[label]])
                for label in labels
            },
            statistics(result.y),
        ),
        "epsilons.svg": epsilons(
            {"": {row.label: row.epsilon for row in result.rows}},
            {"": {row.label: row.of_window for row in result.rows}},
        ),
    }
    save_pictures(figures, folder)
    return ["table.csv", *figures]


def _scatter(result: MixtureStudy, label: str) -> tuple[Floats, Floats]:
    return result.fits[label].weights, result.fits[label].bounds.by_record
