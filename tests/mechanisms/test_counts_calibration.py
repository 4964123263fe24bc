"""Simulation-based calibration: the chain's draws rank the true counts evenly.

Tables are drawn from the model's own prior and counted under noise. Then a true count has the same
law as the imputed ones, so its rank among them is any whole number with one probability.
"""

from dataclasses import replace

import numpy as np
import pytest
from prior_of_classes import prior_draws

import pyvws as vws
from pyvws.mechanisms.counts.classes import impute
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.workload import workload

pytestmark = [pytest.mark.runs, pytest.mark.draws]

_N, _TABLES, _DRAWS, _SCALE = 40, 40, 19, 2.0
_COLUMNS = {name: vws.Column(model="logistic", levels=("0", "1")) for name in "ab"}
_TABLE = workload(vws.Schema(_COLUMNS), ("pairs",))


def _records(rng: np.random.Generator, prior: np.ndarray) -> np.ndarray:
    """Codes (n, 2) of the prior: two classes, and a prior of each column's shares in common."""
    first = rng.beta(1.0, max(rng.gamma(0.25, 4.0), 1e-12))
    z = (rng.random(_N) >= first).astype(np.intp)
    common = prior[rng.integers(len(prior), size=2)]
    share = [rng.beta(a, b, 2) for a, b in common]
    return np.column_stack([rng.random(_N) < own[z] for own in share]).astype(np.int32)


def _ranks(laplace: bool, believed: float) -> np.ndarray:
    """Ranks (T, 3) in [0, 1] of true counts; the chain takes the noise for so many times it."""
    rng, prior = np.random.default_rng(12), prior_draws(2, seed=6)
    ranks = []
    for seed in range(_TABLES):
        x = _records(rng, prior)
        noise = (rng.laplace if laplace else rng.normal)(0.0, _SCALE, len(_TABLE.possible))
        counts = _TABLE.counts(x) + np.rint(noise).astype(np.int64)
        noisy = Measurements(_TABLE, counts, np.array([_SCALE]), laplace, _N)
        noisy = replace(noisy, scales=noisy.scales * believed)
        made = impute(noisy, datasets=_DRAWS, classes=2, sweeps=190, chains=1, seed=seed).codes
        truth, drawn = (
            np.array([_TABLE.counts(own)[:3] for own in codes]) for codes in ([x], made)
        )
        below, ties = (drawn < truth).sum(axis=0), (drawn == truth).sum(axis=0)
        ranks.append((below + rng.random(3) * (ties + 1)) / (_DRAWS + 1))
    return np.array(ranks)


@pytest.mark.parametrize("laplace", [True, False])
def test_true_counts_have_even_ranks_and_half_of_the_noise_shows(laplace: bool) -> None:
    right, wrong = _ranks(laplace, 1.0), _ranks(laplace, 0.5)
    # Even ranks have a spread of 1; its error over cells that depend on each other is about 0.1.
    spread, too_wide = (((ranks - 0.5) ** 2).mean() * 12.0 for ranks in (right, wrong))
    assert np.abs(right.mean(axis=0) - 0.5).max() < 0.15
    assert spread == pytest.approx(1.0, abs=0.35)
    assert too_wide > spread + 0.1
