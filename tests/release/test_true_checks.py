"""Red and green of every kind of release: what a strict claim allows, and remedies that it has."""

import html
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import pyvws as vws
from pyvws.errors import MisfitWarning
from pyvws.evaluation.column_checks import check_column
from pyvws.evaluation.sample_errors import CellNoise
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.release import column_checks
from pyvws.report.board_page import board_page
from pyvws.report.output_folder import read_confidential, read_public

pytestmark = [
    pytest.mark.runs,
    pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::pyvws.errors.MisfitWarning"),
]

N = 400
_RNG = np.random.default_rng(2)
_KIND = _RNG.choice(["a", "b"], N)
TABLE = pl.DataFrame(
    {"kind": _KIND, "pay": _RNG.uniform(10.0, 20.0, N) + np.where(_KIND == "a", 5.0, 0.0)}
)
_OF_TABLE: dict[str, Any] = {
    "schema": vws.Schema(
        {
            "kind": vws.Column(model="table", levels=("a", "b")),
            "pay": vws.Column(model="normal", range=(0, 40)),
        }
    )
}
_OF_ONE: dict[str, Any] = {"outcome": "pay"}
_FIT: dict[str, Any] = {"draws": 60, "warmup": 200, "chains": 2}
KINDS: dict[str, tuple[Any, dict[str, Any], bool]] = {
    "lw": ("lw", {**_OF_TABLE, **_FIT}, False),
    "censored": (vws.Censored(epsilon=20.0, weights="none"), {**_OF_TABLE, "draws": 700}, True),
    "noisy-counts": (vws.NoisyCounts(epsilon=0.5, classes=3, measure="pairs"), _OF_TABLE, True),
    "histogram": (vws.PerturbedHistogram(epsilon=0.5, range=(0, 40)), _OF_ONE, True),
}
"""Each kind of release: its mechanism, its settings, and whether its claim is strict."""
_FITS = ("predictor", "another family", "interaction", "weights do this", "clamp", "--g")


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_judged_by_what_it_claims_and_helped_by_what_it_has(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every value of every dataset is planted beyond the data's largest value."""
    mechanism, settings, strict = KINDS[kind]
    asked: dict[str, dict[str, Any]] = {}

    def planted(original: Any, synthetic: Any, **how: Any) -> Any:
        number = how.get("levels") is None
        asked["pay" if number else "kind"] = how
        moved = [np.asarray(own) + 100.0 for own in synthetic] if number else synthetic
        return check_column(original, moved, **how)

    monkeypatch.setattr(column_checks, "check_column", planted)
    release = vws.synthesize(TABLE, mechanism=mechanism, datasets=3, seed=1 << 60, **settings)
    checks = release.summary["column_checks"]
    troubles = {row["trouble"] for row in checks["columns"]["pay"]}
    assert {"mean", "quantiles"} <= troubles
    assert bool(troubles & {"above", "far"}) != strict
    noise = asked["pay"]["noise"]
    if kind in ("noisy-counts", "histogram"):
        assert isinstance(noise, CellNoise)
        assert (noise.edges[0], noise.edges[-1]) == (0.0, 40.0)
        assert noise.deviation > 0.0
    else:
        assert noise is None
    release.write(out := tmp_path / "out")
    page = html.unescape(board_page(read_public(out), read_confidential(out), None))
    said = " ".join([*checks["advice"].values(), checks.get("k_marginal", {}).get("help", "")])
    shown = page[page.index('class="checks"') : page.index('id="decision"')]
    assert "differ from the data in: pay" in shown
    assert ("values above the largest" in page) != strict
    if kind in ("noisy-counts", "histogram"):
        assert not [word for word in _FITS if word in said]
        assert "predictor" not in shown
    if kind == "noisy-counts":
        assert "--model conditionals" in said


def test_the_noise_of_a_column_is_that_of_all_sets_that_have_it() -> None:
    """Two pairs tell of a column: one alone has a variance of its cells by those of the other."""
    columns = {
        name: vws.Column(model="table", levels=tuple("abcd")[:levels])
        for name, levels in (("x", 2), ("y", 3), ("z", 4))
    }
    schema = vws.Schema(columns)
    table = vws.NoisyCounts(epsilon=1.0, measure="pairs").workload(schema)
    scales = np.full(len(table.sets), 5.0)
    noisy = Measurements(table, np.zeros(len(table.possible), np.int64), scales, False, 100)
    by_hand = 5.0 * np.sqrt(1.0 / (1 / 3 + 1 / 4))
    assert noisy.of_column("x")[1] == pytest.approx(by_hand)


def test_a_release_that_noise_moved_is_told_of_its_counts_and_not_of_predictors() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MisfitWarning)
        mechanism = vws.NoisyCounts(epsilon=0.02, classes=3, measure="pairs")
        vws.synthesize(TABLE, mechanism=mechanism, datasets=2, seed=1 << 60, **_OF_TABLE)
    said = " ".join(str(one.message) for one in caught if one.category is MisfitWarning)
    assert "worse than independent columns" in said
    assert "--measure" in said
    assert not re.search("predictor|family or|interaction", said)
