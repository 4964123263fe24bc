"""A comparison with noisy counts: one cost for all datasets, with its claim and its delta."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import pyvws as vws
from pyvws.comparison.compare import compare

pytestmark = pytest.mark.runs
pytest.importorskip("opendp")


def test_noisy_counts_stand_beside_a_mechanism_that_pays_for_each_dataset(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    a = rng.choice(["x", "y"], 300)
    table = pl.DataFrame({"a": a, "b": np.where(rng.random(300) < 0.8, a, "x")})
    columns = {name: vws.Column(model="table", levels=("x", "y")) for name in "ab"}
    found = compare(
        table,
        tmp_path / "compared",
        epsilons=[8.0],
        choices=["noisy-counts", "noisy-counts delta=1e-5", "lw"],
        seeds=1,
        jobs=1,
        schema=vws.Schema(columns, reviewed="A. Person"),
        datasets=3,
        draws=100,
        warmup=100,
        chains=2,
    )
    by_choice = {row.point.choice.label: row for row in found.rows if row.point.epsilon == 8.0}
    pure = by_choice["noisy-counts"]
    approximate = by_choice["noisy-counts delta=1e-5"]
    assert (pure.guarantee, pure.delta, pure.epsilons, pure.totals) == (
        "dp-if-public",
        0.0,
        (8.0,),
        (8.0,),
    )
    assert (approximate.guarantee, approximate.delta) == ("approximate-dp-if-public", 1e-5)
    assert approximate.totals == (8.0,)
    assert "1e-05" in approximate.kind
    lw = next(row for row in found.rows if row.point.choice.label == "lw" and row.scores)
    assert lw.totals[0] == pytest.approx(3 * lw.epsilons[0])
    entries = found.table().filter(pl.col("choice") == "noisy-counts delta=1e-5")
    assert entries["delta"].to_list() == [1e-5]
    assert entries["epsilon_total_mean"].to_list() == [8.0]
    (advice,) = found.advice
    assert advice.row in (pure, approximate)
    assert "all datasets together" in advice.text
    (sheet,) = found.sheets
    assert {len(row) for row in sheet.rows} == {len(sheet.columns)}
    page = (tmp_path / "compared/confidential/comparison.html").read_text()
    assert approximate.claim == approximate.kind == "strict if public, but for delta 1e-05"
    assert approximate.claim in page
    assert "A. Person" not in page
    said = sheet.facts["notes"][-1]
    assert said.startswith("The schema was proposed from the confidential table")
    assert said in page
