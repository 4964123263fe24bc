"""What a release tells of its seed: a short one can be found, and then the run be repeated."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from run_here import run_here

import pyvws as vws
from pyvws._base.seeds import drawn_seed

_SEED = 2718
_LONG = 1 << 53
_SAID = "trial finds it from the synthetic values"


def _table() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    urban = rng.integers(0, 2, 80)
    return pl.DataFrame({"hours": 3 + urban + rng.normal(size=80), "urban": urban})


def _release(table: pl.DataFrame, seed: int | None) -> vws.Release:
    return vws.synthesize(
        table, outcome="hours", model="normal", formula="~ urban", mechanism="censored", epsilon=8,
        weights="none", datasets=1, draws=600, seed=seed,
    )  # fmt: skip


@pytest.fixture(scope="module")
def release() -> vws.Release:
    return _release(_table(), _SEED)


def _found(public: pl.DataFrame, privacy: dict[str, Any], upto: int) -> int | None:
    """The seed under which the synthetic values lie on a line but for its normal numbers."""
    fits = len(privacy["ledger"])
    X = np.column_stack([np.ones(len(public)), public["urban"].to_numpy()])
    basis, _ = np.linalg.qr(X)

    def rest(values: Any) -> Any:
        left = values - basis @ (basis.T @ values)
        return left / np.linalg.norm(left)

    seen = rest(public["hours"].to_numpy())
    for seed in range(upto):
        stream = np.random.SeedSequence(seed, spawn_key=(fits,))
        if abs(seen @ rest(np.random.default_rng(stream).standard_normal(len(X)))) > 1 - 1e-9:
            return seed
    return None


def test_a_short_seed_is_found_from_the_release_alone_and_said_to_be(release: vws.Release) -> None:
    assert _found(release.datasets[0], release.privacy, upto=3000) == _SEED
    assert any(_SAID in caveat for caveat in release.privacy["caveats"])
    again = _release(_table(), _SEED)  # a right guess of the table
    assert again.datasets[0].equals(release.datasets[0])


@pytest.mark.parametrize(("seed", "short"), [(_LONG - 1, True), (_LONG, False), (1 << 100, False)])
def test_which_seeds_are_short(seed: int, short: bool) -> None:
    privacy = _release(_table(), seed).privacy
    assert any(_SAID in caveat for caveat in privacy["caveats"]) == short
    trusted = " ".join(privacy["trust_assumptions"])
    assert "seed is random, secret" in trusted
    assert "used for this run alone" in trusted
    assert privacy["guarantee"] == "dp"


def test_a_drawn_seed_is_long_and_another_each_time() -> None:
    drawn = {drawn_seed() for _ in range(100)}
    assert len(drawn) == 100
    assert min(drawn) > _LONG
    assert max(drawn) < 1 << 63


def test_python_draws_a_seed_too_and_keeps_it_in_the_confidential_part() -> None:
    one, two = (_release(_table(), None) for _ in range(2))
    seeds = [made.summary["seed"] for made in (one, two)]
    assert all(_LONG < seed < 1 << 63 for seed in seeds)
    assert seeds[0] != seeds[1]
    assert f"seed = {seeds[0]}" in one.config_with_seed
    assert str(seeds[0]) not in one.config + repr(one) + str(one.privacy)
    again = _release(_table(), seeds[0])
    assert again.datasets[0].equals(one.datasets[0])


def test_a_run_without_a_seed_draws_a_long_one_that_repeats_it(tmp_path: Path) -> None:
    _table().write_csv(tmp_path / "t.csv")

    def run(out: str, *options: str) -> Path:
        done = run_here("synthesize", tmp_path / "t.csv", "--out", tmp_path / out, *options)
        assert done.code == 0, done.err
        return tmp_path / out

    words = ("--outcome", "hours", "--model", "normal", "--mechanism", "lw", "--datasets", "1")
    first = run("1", *words)
    seed = json.loads((first / "confidential/summary.json").read_text())["seed"]
    assert _LONG < seed < 1 << 63
    assert _SAID not in (first / "release/privacy.json").read_text()
    second = run("2", "--config", str(first / "confidential/run.toml"))
    name = "release/synthetic-01.csv"
    assert (second / name).read_bytes() == (first / name).read_bytes()
    assert str(seed) not in (first / "release/run.toml").read_text()
