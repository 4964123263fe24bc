"""How often fresh draws exceed a searched bound: python tools/fresh_draws.py --runs 20

For each table and each seed a run with --epsilon ends at confirmed weights. The tool then fits
again under these weights, `--again` times from seeds of their own, with as many draws as the
stated bound is of. It prints the share of these fits above the stated epsilon and above the
target, and the largest ratio to the stated one.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
import polars as pl

from pyvws.release.posterior import fitted_run
from pyvws.release.synthesizer import Synthesizer
from pyvws.synthesis.confidential_table import check_table
from pyvws.synthesis.loop import SILENT
from pyvws.synthesis.open_loop import open_loop
from pyvws.weights.search import LONGER


def _visits(rng: np.random.Generator) -> pl.DataFrame:
    town = rng.integers(0, 4, 1000)
    return pl.DataFrame({"y": rng.poisson(np.exp(1.0 + 0.3 * town)), "x": town.astype(str)})


def _spells(rng: np.random.Generator) -> pl.DataFrame:
    return pl.DataFrame({"y": rng.negative_binomial(2, 0.02, 1000), "x": np.zeros(1000)})


_TABLES: dict[str, tuple[Callable[[np.random.Generator], pl.DataFrame], dict[str, object]]] = {
    "counts by town": (_visits, {"model": "poisson", "formula": "~ x", "epsilon": 2.0}),
    "overdispersed counts": (_spells, {"model": "negative-binomial", "epsilon": 2.0}),
}


def _ratios(name: str, seed: int, again: int) -> tuple[np.ndarray, float]:
    """Epsilons of fresh fits over the stated one, and the target over the stated one."""
    make, given = _TABLES[name]
    run = Synthesizer(outcome="y", mechanism="lw", datasets=1, **given)  # type: ignore[arg-type]
    table = check_table(make(np.random.default_rng(seed)), run)
    loop = open_loop(run, table, seed=seed, listener=SILENT)
    done = fitted_run(run, table, seed=seed, listener=SILENT, loop=loop)
    stated = done.final.bounds.epsilon
    fresh = [loop.fit(done.final.weights, "again", longer=LONGER) for _ in range(again)]
    return np.array([fit.bounds.epsilon for fit in fresh]) / stated, run.epsilon / stated


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--again", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in _TABLES:
        found = [_ratios(name, seed, options.again) for seed in range(1, options.runs + 1)]
        ratios = np.concatenate([fresh for fresh, _ in found])
        over = np.concatenate([fresh > target for fresh, target in found])
        print(
            f"{name}: {len(ratios)} fits, {(ratios > 1).mean():.0%} above the stated epsilon, "
            f"{over.mean():.0%} above the target, at most {ratios.max():.2f} times the stated",
            flush=True,
        )


if __name__ == "__main__":
    main()
