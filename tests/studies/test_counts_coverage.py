"""The study of coverage from noisy counts: its population, and a small run of the whole."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pyvws_studies import counts_coverage as study
from pyvws_studies.registry import find_study
from pyvws_studies.replicates import run_study

from pyvws.privacy import seller

_SMALL = {
    **study.SETTINGS,
    "levels": {"a": 3, "b": 2, "c": 2},
    "runs": [{"n": 300, "epsilon": 5.0, "delta": 1e-5}],
    "measure": {"all_pairs": ["pairs"], "pairs_of_a": ["a:b", "a:c"]},
    "datasets": 8,
    "classes": 8,
}


def test_the_population_is_one_and_no_product() -> None:
    whole = study.population(study.SETTINGS)
    shares = whole.margin((0, 1, 2, 3), (6, 4, 5, 2))
    assert shares.sum() == pytest.approx(1.0)
    assert (shares > 0.0).all()
    b, c, d = (shares.sum(axis=(0, *others)) for others in ((2, 3), (1, 3), (1, 2)))
    product = b[:, None, None] * c[None, :, None] * d
    assert np.abs(shares.sum(axis=0) - product).sum() > 0.1


def test_keys_grow_with_the_replicates() -> None:
    few, many = (find_study("counts-coverage").keys(number) for number in (2, 5))
    assert set(few) < set(many)
    assert len(many) == 5 * 3 * 2 + 2 * 2  # Of more records every third replicate.


@pytest.mark.runs
@pytest.mark.draws
def test_a_small_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of a seed, since fresh noise moves the coverage of 32 databases by some 2 points."""
    rng = np.random.default_rng(7)

    def seeded(counts: np.ndarray, *, scale: float) -> np.ndarray:
        return counts + np.rint(rng.normal(0.0, scale, len(counts))).astype(np.int64)

    monkeypatch.setattr(seller, "add_discrete_gaussian", seeded)
    small = replace(study.STUDY, settings=_SMALL, keys=partial(study.keys, _SMALL))
    found = run_study(small, tmp_path, replicates=32, seed=4, jobs=1)
    lines = pl.read_csv(tmp_path / "coverage.csv")
    assert (lines["databases"] == 32).all()
    assert (lines["noise"] > 0.001).all()
    sure = lines.filter(pl.col("kind").is_in(["margin", "measured pair", "strong pair"]))
    imputed = sure.filter(pl.col("method") == "fits")
    assert (imputed["within"] > 0.85).all()  # 32 databases of some 7 figures, near 0.93.
    population, table = (imputed.filter(pl.col("of") == of)["width"].mean() for of in study.OF)
    assert population > table > 0
    other = lines.filter(pl.col("kind") == "other pair")
    assert other["measure"].unique().to_list() == ["pairs_of_a"]
    counted = lines.filter(pl.col("method") == "counted")
    assert set(counted["kind"]) == {"measured pair", "strong pair"}
    assert (counted["within"] > 0.85).all()
    assert [table.row_count for table in found.report.shown[:2]] == [6, 6]
