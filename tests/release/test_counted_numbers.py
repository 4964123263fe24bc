"""Numbers of noisy counts: missing codes keep their shares, computed numbers their ranges."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused

import pyvws as vws
from pyvws.release.reproduce import ReleasedCounts
from pyvws.report.output_folder import dataset_files

pytestmark = pytest.mark.runs
pytest.importorskip("opendp")


def released(table: pl.DataFrame, schema: vws.Schema, epsilon: float) -> vws.Release:
    mechanism = vws.NoisyCounts(epsilon=epsilon, delta=1e-6, measure="pairs")
    return vws.synthesize(table, schema=schema, mechanism=mechanism, datasets=2, seed=1)


@pytest.mark.draws
@pytest.mark.parametrize("codes", [("-8", True), (True, "-8")])
def test_each_missing_code_keeps_its_share_in_any_order(codes: tuple[Any, ...]) -> None:
    rng = np.random.default_rng(2)
    kind = rng.choice(3, 800, p=[0.5, 0.1, 0.4])
    values = rng.integers(0, 90, 800).tolist()
    by_kind = [lambda value: value, lambda _: -8, lambda _: None]
    x = [by_kind[k](value) for k, value in zip(kind.tolist(), values, strict=True)]
    table = pl.DataFrame({"x": x, "y": rng.choice(["a", "b"], 800)})
    columns = {
        "x": vws.Column(model="normal", range=(0, 90), decimals=0, missing=codes),
        "y": vws.Column(model="nominal", levels=("a", "b")),
    }
    for made in released(table, vws.Schema(columns), 10.0).datasets:
        assert made["x"].is_null().mean() == pytest.approx((kind == 2).mean(), abs=0.03)
        assert (made["x"].fill_null(0) == -8).mean() == pytest.approx((kind == 1).mean(), abs=0.03)


def sums(total: tuple[int, int]) -> vws.Schema:
    columns = {
        "a": vws.Column(model="normal", range=(0, 500), decimals=0),
        "b": vws.Column(model="normal", range=(300, 900), decimals=0),
        "total": vws.Column(rule="= a + b", range=total, decimals=0),
    }
    return vws.Schema(columns)


@pytest.fixture(scope="module")
def parts() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    a, total = rng.integers(60, 490, 400), rng.integers(800, 901, 400)
    return pl.DataFrame({"a": a, "b": total - a, "total": total})


@pytest.mark.parametrize("epsilon", [0.5, 10.0])
def test_a_computed_number_keeps_its_range(
    parts: pl.DataFrame, epsilon: float, tmp_path: Path
) -> None:
    release = released(parts, sums((800, 900)), epsilon)
    for made in release.datasets:
        assert made["total"].is_between(800, 900).all()
        assert (made["total"] == made["a"] + made["b"]).all()
    release.write(tmp_path / "out")
    folder = tmp_path / "out" / "release"
    privacy = json.loads((folder / "privacy.json").read_text(encoding="utf-8"))
    files = dataset_files(tmp_path / "out")
    made_again = ReleasedCounts.read(folder, privacy).datasets(files)
    assert made_again == [file.read_bytes() for file in files]


def test_a_range_that_no_record_can_keep_is_one_line(parts: pl.DataFrame) -> None:
    with refused("computed-outside-range", names="'total'"):
        released(parts, sums((5_000, 6_000)), 10.0)
