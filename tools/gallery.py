"""Draw every figure function once, from simulated data: python tools/gallery.py FOLDER

Writes a PNG for each function of pyvws.plots and pyvws_studies.figures, and index.html with all
of them. Nothing here is fitted: the draws only look like those of a study, so that the gallery is
made in seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyvws_studies import figures
from pyvws_studies.negative_binomial_mixture import simulate, statistics

from pyvws import identification_risk, plots

Floats = NDArray[np.float64]
RNG = np.random.default_rng(8)
Y = simulate(1)
FITS = {
    "Unweighted": (0, 40),
    "LW": (3, 20),
    "LW_final": (1, 25),
    "CW": (9, 5),
    "CW_final": (3, 18),
}
SYNTHETIC = {
    label: [RNG.choice(Y, Y.size) + shift + RNG.normal(0, 3, Y.size) for _ in range(60)]
    for label, (shift, _) in FITS.items()
}
WEIGHTS = {
    "LW": np.clip(1 - np.abs(Y - 100) / 120, 0.05, 1),
    "CW": np.clip(0.9 - np.abs(Y - 100) / 60, 0.05, 1) * RNG.uniform(0.8, 1, Y.size),
}
BOUNDS = {
    label: 6 * np.clip(weight, 0, 1) ** power
    for (label, weight), power in zip(WEIGHTS.items(), (0.3, 0.7), strict=True)
}
AFTER = {
    label: (np.clip(weight * 0.95 * BOUNDS[label].max() / BOUNDS[label], 0, 1))
    for label, weight in WEIGHTS.items()
}
BOUNDS_AFTER = {label: BOUNDS[label] * AFTER[label] / WEIGHTS[label] for label in WEIGHTS}
RISKS = {
    "D": identification_risk(Y, radius=0.15),
    **{
        label: identification_risk(Y, SYNTHETIC[source][:10], radius=0.15)
        for label, source in (("S", "Unweighted"), ("M", "CW"), ("P", "LW"))
    },
}


def _bounds_and_weights() -> Any:
    unweighted = {"Unweighted": 4 + np.abs(Y - 100) / 15}
    return plots.bounds_and_weights({**unweighted, **BOUNDS, "SW": 1.2 + np.abs(Y - 100) / 30},
                                    {**WEIGHTS, "SW": np.full(Y.size, 0.37)})  # fmt: skip


def _before_and_after() -> Any:
    return plots.before_and_after(
        {
            label: ((WEIGHTS[label], BOUNDS[label]), (AFTER[label], BOUNDS_AFTER[label]))
            for label in WEIGHTS
        }
    )


def _utility() -> Any:
    rows = {
        label: np.array([statistics(values) for values in datasets])
        for label, datasets in SYNTHETIC.items()
    }
    return plots.utility(rows, statistics(Y))


def _parameter_densities() -> Any:
    draws = {f"beta[{k}]": RNG.normal(k, 1, 800) for k in (1, 2)} | {"phi": RNG.gamma(8, 1, 800)}
    return plots.parameter_densities(draws, np.repeat([1, 2, 3, 4], 200))


def _intervals() -> Any:
    made = {
        name: {
            label: (middle + off, middle + off - half, middle + off + half)
            for label, off, half in (
                ("Synthesizer", 0.3, 2.0), ("Marginal", 2.5, 3.6), ("Pairwise", 0.6, 2.2)
            )
        }
        for name, middle in (("mean", 100), ("median", 98), ("90% quantile", 138), ("slope", -5))
    }  # fmt: skip
    data = {name: (of["Pairwise"][0] - 0.6,) * 3 for name, of in made.items()}
    data = {name: (middle, middle - 1.9, middle + 1.9) for name, (middle, *_) in data.items()}
    return plots.intervals(made, data)


def _weights_against_outcome() -> Any:
    base = np.clip(np.exp(-np.abs(Y - 100) / 60) * 0.6, 0, 1)
    titles = {"c = 1, g = 0": (1, 0), "c = 1.5, g = 0": (1.5, 0), "c = 1, g = 0.1": (1, 0.1)}
    return plots.weights_against_outcome(
        Y, {title: np.clip(c * base + g, 0, 1) for title, (c, g) in titles.items()}, name="income"
    )


def _contraction() -> Any:
    sizes = (100, 400, 1600, 6400)
    return figures.contraction(
        {
            label: {str(n): scale + RNG.gamma(4, wide * 8 / n**0.5, 100) for n in sizes}
            for label, scale, wide in (
                ("Unweighted", 6, 2.0),
                ("LW", 3, 0.7),
                ("Weighted-e", 2.4, 0.2),
            )
        },
        {"LW": 3.5, "Weighted-e": 2.5},
    )


_FIVE = {"Weighted": 0.02, "Weighted-e": 0.03, "Censor_w": 0.03, "Censor_uw": 0.045, "PH": 0.06}


def _replicate_violins() -> Any:
    return figures.replicate_violins(
        {
            f"ε = {epsilon}": {
                label: RNG.gamma(30, size * 5 / epsilon / 30, 100) for label, size in _FIVE.items()
            }
            for epsilon in (5, 4, 3)
        },
        name="maximum ECDF distance",
    )


def _choices_against_epsilon() -> Any:
    rng = np.random.default_rng(9)
    weights = {
        label: {e: rng.normal(at / e + 0.04, 0.01, 20) for e in (1.0, 2.0, 3.0, 5.0)}
        for label, at in {"none": 0.3, "public": 0.02, "staged": 0.2}.items()
    }
    shares = {
        label: {e * draws: rng.random(200) < share for e in (1.0, 2.0, 5.0)}
        for label, draws, share in (("1 draw", 1, 0.84), ("20 draws", 20, 0.95))
    }
    return plots.choices_against_epsilon(
        {"weights": weights, "intervals": shares},
        {"intervals": 0.95},
        names={"intervals": "share that hold the true mean"},
        against={"intervals": "ε spent in all"},
    )


def _epsilons() -> Any:
    counts = {"Unweighted": 12.4, "LW": 7.0, "CW": 7.2, "SW": 6.9}
    wages = {"Unweighted": 24.9, "LW": 10.4, "CW": 10.3, "SW": 10.8}
    papers = {"counts: log probabilities": counts, "wages: log densities": wages}
    halves = {label: epsilon / 2 for label, epsilon in counts.items()}
    return figures.epsilons(papers, {"counts: log probabilities": halves})


def _risk_violins() -> Any:
    return plots.risk_violins({f"r = {r}": RISKS for r in ("15%", "20%")})


def _whack_a_mole() -> Any:
    return plots.whack_a_mole_scatter(RISKS["S"], {"Marginal": RISKS["M"], "Pairwise": RISKS["P"]})


def _densities() -> Any:
    return plots.densities({label: made[0] for label, made in SYNTHETIC.items()}, Y, name="income")


def _association_matrices() -> Any:
    names = ["age", "sex", "region", "education", "income"]
    half = np.tril(RNG.uniform(-0.2, 0.8, (5, 5)), -1)
    data = half + half.T + np.eye(5)
    return plots.association_matrices({"Data": data, "LW": 0.85 * data + 0.15 * np.eye(5)}, names)


def _bound_shares() -> Any:
    columns = ("age", "region", "education", "income")
    parts = {name: RNG.gamma(2.0, 1.0, 8) for name in columns}
    return plots.bound_shares(parts, [f"row {row}" for row in RNG.integers(1, Y.size, 8)])


FIGURES: dict[str, Callable[[], Any]] = {
    "bounds_and_weights": _bounds_and_weights,
    "bounds_against_weights": lambda: plots.bounds_against_weights(BOUNDS, WEIGHTS),
    "before_and_after": _before_and_after,
    "weights_before_and_after": lambda: plots.weights_before_and_after(
        {label: (WEIGHTS[label], AFTER[label]) for label in WEIGHTS}
    ),
    "weights_against_outcome": _weights_against_outcome,
    "utility": _utility,
    "densities": _densities,
    "parameter_densities": _parameter_densities,
    "intervals": _intervals,
    "risk_violins": _risk_violins,
    "whack_a_mole_scatter": _whack_a_mole,
    "contraction": _contraction,
    "replicate_violins": _replicate_violins,
    "choices_against_epsilon": _choices_against_epsilon,
    "epsilons": _epsilons,
    "association_matrices": _association_matrices,
    "bound_shares": _bound_shares,
}


def main() -> None:
    """Draw all figures into the folder that the command line names."""
    parser = argparse.ArgumentParser(description="Draw every figure function from simulated data.")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    sections = []
    for name, draw in FIGURES.items():
        draw().savefig(folder / f"{name}.png", dpi=110)
        function = getattr(plots if name in plots.__all__ else figures, name)
        said = escape((function.__doc__ or "").split("\n\n")[0])
        sections.append(f'<h2>{name}</h2><p>{said}</p><img src="{name}.png" alt="{said}">')
        print(folder / f"{name}.png")
    page = "<!doctype html><meta charset=utf-8><title>pyvws figures</title>" + "".join(sections)
    (folder / "index.html").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
