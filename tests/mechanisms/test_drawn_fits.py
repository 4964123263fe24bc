"""Several datasets from fits of their own: their spread, what they keep, and the best file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import pyvws as vws
from pyvws._base.checks import Floats
from pyvws.commands.cli import app
from pyvws.mechanisms.counts.drawn_fits import (
    around,
    dependence,
    drawn_fits,
    once_more,
    spread_amounts,
    with_dependence,
)
from pyvws.mechanisms.counts.fitted_classes import PenalisedCounts, one_fit
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.workload import workload

_LEVELS = {"a": 4, "b": 3, "c": 4}
_COLUMNS = {
    name: vws.Column(model="nominal", levels=tuple(f"{name}{code}" for code in range(size)))
    for name, size in _LEVELS.items()
}


def _noisy(n: int, sigma: float, seed: int, tie: float = 0.5) -> tuple[Measurements, Floats]:
    """Noisy counts of all pairs of tied columns, and the counts without noise."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, n)
    b = np.where(rng.random(n) < tie, a % 3, rng.integers(0, 3, n))
    c = np.where(rng.random(n) < tie, a, rng.integers(0, 4, n))
    table = workload(vws.Schema(_COLUMNS), ("pairs",))
    exact = table.counts(np.column_stack([a, b, c]).astype(np.int32))
    noise = np.rint(rng.normal(0.0, sigma, len(exact))).astype(np.int64)
    scales = np.full(len(table.sets), sigma)
    return Measurements(table, exact + noise, scales, laplace=False, records=n), exact


@pytest.mark.draws
def test_datasets_differ_by_the_noise_of_the_counts() -> None:
    """Where every cell is large a fit follows its counts, so cells vary as their noise does."""
    noisy, _ = _noisy(8_000, 40.0, 1)
    made = drawn_fits(noisy, datasets=25, classes=12, seed=1)
    counts = np.array([noisy.table.counts(codes) for codes in made.codes])
    # Sets agree on n and on margins: 26 of the 40 cells are free, by least squares.
    ratio = counts.var(axis=0, ddof=1).mean() / 40.0**2
    assert 0.5 < ratio < 0.85
    assert {len(codes) for codes in made.codes} == {8_000}


@pytest.mark.parametrize("laplace", [False, True])
def test_noise_once_more_has_the_scale_of_the_noise(laplace: bool) -> None:
    noisy, _ = _noisy(1_000, 30.0, 2)
    own = Measurements(noisy.table, noisy.counts, noisy.scales, laplace, 1_000, 20.0)
    rng = np.random.default_rng(4)
    several = [once_more(own, rng) for _ in range(400)]
    spread = np.std([each.counts - own.counts for each in several])
    assert spread == pytest.approx(own.deviations[0], rel=0.05)
    number = np.std([each.records for each in several])
    assert number == pytest.approx(own.deviation_of_records, rel=0.15)


@pytest.mark.parametrize("datasets", [2, 5])
def test_noise_of_datasets_adds_nothing_to_their_mean(datasets: int) -> None:
    noisy, _ = _noisy(1_000, 30.0, 2)
    several = around(noisy, [np.random.default_rng(k) for k in range(datasets)])
    counts = np.array([own.counts for own in several])
    assert np.abs(counts.mean(axis=0) - noisy.counts).max() <= 0.5
    assert counts.var(axis=0, ddof=1).mean() == pytest.approx(900.0, rel=0.4)


def test_datasets_get_from_none_to_twice_of_what_fits_lose() -> None:
    amounts = spread_amounts(1.6, 20, 1)
    assert amounts.mean() == pytest.approx(1.6)
    assert np.diff(np.sort(amounts)) == pytest.approx(1.2 / 20)
    assert 1.0 < amounts.min() < amounts.max() < 2.2
    assert spread_amounts(1.0, 5, 1).tolist() == [1.0] * 5


@pytest.mark.draws
def test_datasets_keep_the_dependence_that_a_fit_under_large_noise_loses() -> None:
    """The slope of the datasets' dependence on the true one, over several noises, is near 1."""

    def slope(parts: list[Floats], exact: Floats, noisy: Measurements) -> float:
        counts = np.mean(parts, axis=0)
        own, true = (_depends(noisy, x) for x in (counts, exact))
        return float(own @ true / (true @ true))

    alone, given_back = [], []
    for seed in range(6):
        noisy, exact = _noisy(600, 30.0, seed, tie=0.4)
        shares, profiles = one_fit(PenalisedCounts(noisy), 12, np.random.default_rng(seed))
        pairs = (profiles * (600.0 * shares)[:, None]).T @ profiles
        alone.append(slope([_of_sets(noisy, pairs)], exact, noisy))
        made = drawn_fits(noisy, datasets=8, classes=12, seed=seed)
        counts = [noisy.table.counts(codes).astype(float) for codes in made.codes]
        given_back.append(slope(counts, exact, noisy))
    assert np.mean(given_back) == pytest.approx(1.0, abs=0.25)
    assert np.mean(given_back) > np.mean(alone) - 0.1


def _of_sets(noisy: Measurements, pair: Floats) -> Floats:
    """The counts of all sets out of those of all pairs of codes."""
    start = dict(zip(_LEVELS, np.cumsum([0, 4, 3]), strict=True))
    parts = []
    for one, other in noisy.table.sets:
        at = (slice(start[name], start[name] + _LEVELS[name]) for name in (one, other))
        parts.append(pair[tuple(at)].ravel())
    return np.concatenate(parts)


def _depends(noisy: Measurements, counts: Floats) -> Floats:
    """What the counts of each set have beside the product of their margins."""
    parts = []
    for q, crossed in enumerate(noisy.table.cliques):
        own = counts[slice(*noisy.table.offsets[q : q + 2])].reshape(crossed.sizes)
        parts.append(own - np.outer(own.sum(axis=1), own.sum(axis=0)) / own.sum())
    return np.concatenate([part.ravel() for part in parts])


@pytest.mark.parametrize("more", [1.0, 1.3, 2.0])
def test_a_fit_gets_so_many_times_its_dependence_and_keeps_its_margins(more: float) -> None:
    noisy, _ = _noisy(5_000, 30.0, 3, tie=0.2)
    counts = PenalisedCounts(noisy)
    shares, whole = one_fit(counts, 12, np.random.default_rng(0))
    profiles = 0.6 * whole + 0.4 * (shares @ whole)  # About a third of the dependence.
    moved = with_dependence(counts, shares, profiles, more)
    assert shares @ moved == pytest.approx(shares @ profiles, abs=1e-3)
    before, after = (dependence(shares, phi, 1.0)[1] for phi in (profiles, moved))
    held = np.vdot(counts.precision * before, after) / np.vdot(counts.precision * before, before)
    assert held == pytest.approx(more, rel=0.02)
    further = with_dependence(counts, shares, whole, 2.0 * more)
    assert counts.misfit(shares, further) < 2.1 * counts.misfit(shares, whole)


def test_the_best_file_stands_beside_several_datasets_and_is_none_of_them(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    frame = pl.DataFrame(
        [("a0", "b1", "c2"), ("a3", "b0", "c1")] * 60, ["a", "b", "c"], orient="row"
    )
    run: dict[str, Any] = {"schema": vws.Schema(_COLUMNS), "seed": 2, "datasets": 3}
    counts = vws.NoisyCounts(epsilon=8.0, best_file=True, classes=4, measure="pairs")
    release = vws.synthesize(frame, **run, mechanism=counts)
    assert len(release.datasets) == 3
    assert release.privacy["counts"]["from_fits"]
    best = release.public_tables["best-file.parquet"]
    assert best.columns == frame.columns
    assert len(best) == len(release.datasets[0])
    assert vws.tabulate(release, by="a", count=True)
    release.write(tmp_path / "out")
    said = CliRunner().invoke(app, ["reproduce", str(tmp_path / "out"), "--json"])
    assert said.exit_code == 0, said.output
    same = json.loads(said.output)["same"]
    assert [*same] == [f"synthetic-0{j}.csv" for j in (1, 2, 3)] + ["best-file.parquet"]
    best[:-1].write_parquet(tmp_path / "out" / "release" / "best-file.parquet")
    assert CliRunner().invoke(app, ["reproduce", str(tmp_path / "out")]).exit_code == 1
    told = CliRunner().invoke(app, ["tabulate", str(tmp_path / "out"), "--by", "a", "--count"])
    assert told.exit_code == 0, told.output
