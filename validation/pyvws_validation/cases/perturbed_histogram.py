"""Cases of `pyvws.mechanisms.histogram.perturbed_histogram` and `pyvws.mechanisms.histogram.bins`.

A run cannot repeat secret noise, so these cases pass the noise as an argument, or draw the noise
from R's stream.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.mechanisms.histogram.bins import bin_counts, bin_probabilities, equal_edges
from pyvws.mechanisms.histogram.perturbed_histogram import NoisyHistogram, synthesize_from_histogram
from pyvws.r_numbers.r_random import RRandom
from pyvws_validation._draws import Draws

_EPSILONS: Final = (5.0, 4.0, 3.0, 0.7, 1e-3)


class _Uniform:
    """R's uniform numbers in the place of NumPy's generator."""

    def __init__(self, seed: int) -> None:
        self._stream = RRandom(seed)

    def random(self, size: int) -> Floats:
        return self._stream.runif(size)


def probabilities_with_noise(outcome: Floats, lower: float, upper: float, noise: Floats) -> Floats:
    """Probabilities of equal bins of [lower, upper], one bin for each entry of `noise`."""
    counts = bin_counts(outcome, equal_edges(lower, upper, bins=len(noise)))
    return bin_probabilities(counts + noise)


def synthesized(counts: Floats, edges: Floats, size: int, seed: int) -> Floats:
    """Records that the uniform numbers of R's stream draw from noisy counts."""
    cuts = np.asarray(edges, dtype=np.float64)
    noisy = NoisyHistogram(
        cuts, counts, bin_probabilities(counts), 1.0, "replace", 2.0, "none", False
    )
    stream: Any = _Uniform(seed)
    return synthesize_from_histogram(noisy, size, stream)


def _cubes(seed: int, root: int) -> dict[str, Any]:
    """Numbers of records around a cube, where a rounded power would go wrong."""
    return {"n": max(1, root**3 + (-2, -1, 0, 1, 2)[seed - 1])}


def _ends(seed: int, *_: int) -> dict[str, Any]:
    low, width = Draws(seed + 40).uniform(2, 0.1, 40.0)
    return {"lower": float(-low), "upper": float(width)}


def _inside(seed: int, records: int, edges: Floats) -> Floats:
    """Values within the edges, some of them on an edge, the first and the last among them."""
    draws = Draws(seed)
    values = np.clip(draws.uniform(records, edges[0], edges[-1]), edges[0], edges[-1])
    on_edge = draws.uniform(records) < 0.4
    values[on_edge] = edges[draws.whole(records, len(edges))][on_edge]
    values[0] = edges[-1] if seed % 2 else edges[0]
    return values


def _edges(seed: int, bins: int) -> Floats:
    """Uneven ascending edges about 0."""
    return np.asarray(np.cumsum(Draws(seed + 60).uniform(bins + 1, 0.1, 9.0)) - 20.0)


def _counted(seed: int, *shape: int) -> dict[str, Any]:
    edges = _edges(seed, 3 * seed - 2)
    return {"outcome": _inside(seed, shape[0], edges), "edges": edges}


def _loss(seed: int, *shape: int) -> dict[str, Any]:
    return {"epsilon": float(Draws(seed + shape[0]).uniform(1, 0.01, 8.0)[0])}


def _noisy(seed: int, *shape: int) -> dict[str, Any]:
    """Noisy counts of both signs; none above 0 for seed 5."""
    counts = Draws(seed).amounts(*shape)
    return {"counts": -np.abs(counts) if seed == 5 else counts}


def _given_noise(seed: int, *shape: int) -> dict[str, Any]:
    ends = _ends(seed)
    noise = np.floor(Draws(seed + 80).uniform(4 * seed, -6.0, 6.0))
    edges = np.array([ends["lower"], ends["upper"]])
    return {"outcome": _inside(seed, shape[0], edges), **ends, "noise": noise}


def _whole_way(seed: int, *shape: int) -> dict[str, Any]:
    """Each way to choose the bins, and a range with some records outside."""
    edges = _edges(seed, 4)
    ends = edges[[0, -1]]
    ways: tuple[dict[str, Any], ...] = (
        {"range": ends},
        {"range": ends, "bins": 5},
        {"edges": edges},
        {"range": ends, "public_n": 500, "neighbours": "loo"},
        {"range": edges[[1, -2]], "bins": 3, "allow_outside": True, "neighbours": "loo"},
    )
    return {
        "outcome": _inside(seed, shape[0], edges),
        "epsilon": _EPSILONS[seed - 1],
        "noise": "seeded-float",
        "seed": seed,
        **ways[seed - 1],
    }


def _drawn(seed: int, *shape: int) -> dict[str, Any]:
    edges = _edges(seed, 6)
    counts = np.floor(Draws(seed).uniform(6, -4.0, 9.0))
    return {"counts": counts, "edges": edges, "size": shape[0], "seed": seed}
