"""Releases from sums of survey weights: their figures, words, cost, and what they refuse."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from jsonschema import Draft202012Validator
from refusals import refused
from runs import released
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.evaluation.combining_rules import NoisyCells
from pyvws.evaluation.published_table import tabulate
from pyvws.evaluation.whole_tables import SquaredWeights
from pyvws.statement.words import SCHEMA, claim_of

pytestmark = pytest.mark.runs
pytest.importorskip("opendp")
N = 1500
COLUMNS = {
    "area": vws.Column(model="nominal", levels=("a", "b", "c")),
    "poor": vws.Column(model="nominal", levels=("no", "yes")),
}


def sample() -> pl.DataFrame:
    """Records whose weights follow the outcome; some weights are out of range or none."""
    rng = np.random.default_rng(8)
    weights = np.clip(rng.lognormal(4.2, 0.6, N), 20, 300)
    poor = rng.random(N) < weights / 320
    own: list[str | None] = [f"{x:.4f}" for x in weights]
    own[:4] = ["-5", None, "0", "1e6"]
    area = rng.choice(["a", "b", "c"], N)
    return pl.DataFrame({"area": area, "poor": np.where(poor, "yes", "no"), "w": own})


def schema(**entries: Any) -> vws.Schema:
    return vws.Schema(COLUMNS, weight="w", weight_range=(20, 300), **entries)


def counted_weights() -> np.ndarray:
    """What the records count as, in units of the weights."""
    weights = sample()["w"].cast(pl.Float64).fill_null(0.0).to_numpy()
    return np.where(weights > 0, np.clip(weights, 20, 300), 0.0)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = "--mechanism noisy-counts --epsilon 40 --delta 1e-5 --datasets 3 --classes 8"
    folder = tmp_path_factory.mktemp("weighted")
    return released(folder, sample(), schema(), f"{words} --best-file")


def test_the_statement_says_what_was_added_up(written: Path) -> None:
    privacy = json.loads((written / "release/privacy.json").read_text())
    Draft202012Validator(SCHEMA).validate(privacy)
    assert privacy["guarantee"] == "approximate-dp-if-weights-fixed"
    assert claim_of(privacy["guarantee"]) == "approximate-dp"
    assert privacy["population"] == pytest.approx(counted_weights().sum(), rel=0.02)
    weights = privacy["counts"]["weights"]
    assert {"column": "w", "range": [20.0, 300.0], "calibrated": True}.items() <= weights.items()
    rows = len(pl.read_csv(written / "release/synthetic-01.csv"))
    assert weights["stands_for"] * rows == pytest.approx(privacy["population"])
    assert {"counts-weights", "counts-weights-fixed"} <= {x["key"] for x in privacy["caveat_keys"]}
    inside = json.loads((written / "confidential/summary.json").read_text())
    assert (inside["weights_clipped"], inside["records_without_weight"]) == (1, 3)
    assert "weights_clipped" not in privacy


def test_datasets_and_the_best_file_follow_the_population(written: Path) -> None:
    w, table = counted_weights(), sample()
    files = [pl.read_csv(x) for x in sorted((written / "release").glob("synthetic-*.csv"))]
    for own in (*files, pl.read_parquet(written / "release/best-file.parquet")):
        assert own.columns == ["area", "poor"]
        for area in "abc":
            at = (table["area"] == area).to_numpy()
            truth = w[at] @ (table["poor"].to_numpy()[at] == "yes") / w[at].sum()
            share = (own.filter(pl.col("area") == area)["poor"] == "yes").mean()
            assert share == pytest.approx(truth, abs=0.05)


def test_anyone_makes_the_same_bytes_and_the_same_cost(written: Path) -> None:
    ended = CliRunner().invoke(app, ["reproduce", str(written / "release")])
    assert ended.exit_code == 0, ended.output
    assert ended.output.count("the same bytes") == 4
    assert "cost epsilon 40;" in ended.output


def test_pages_say_that_the_data_beside_are_without_weights(written: Path) -> None:
    words = ["report", str(written), "--original", str(written.parent / "table.csv")]
    assert CliRunner().invoke(app, words).exit_code == 0
    board = (written / "confidential" / "report.html").read_text()
    assert "follow the population, by the survey weights &#39;w&#39;" in board
    assert "times its survey weight" not in (written / "release" / "report.html").read_text()


@pytest.mark.parametrize(
    ("said", "given", "counts"),
    [("exact", {}, {"neighbours": "replace"}), ("public", {"records": N + 7}, {"delta": 0.0})],
)
def test_a_number_of_rows_that_is_known_stays(
    said: str, given: dict[str, Any], counts: dict[str, Any], tmp_path: Path
) -> None:
    """The sums of sets move the population, and not the number of rows that others know."""
    mechanism = vws.NoisyCounts(**{"epsilon": 1.0, "delta": 1e-5, "classes": 3, **counts})
    made = vws.synthesize(sample(), schema=schema(**given), mechanism=mechanism, datasets=2, seed=5)
    assert made.privacy["number_of_rows"] == said
    assert {len(own) for own in made.datasets} == {given.get("records", N)}
    made.write(tmp_path / "out")
    ended = CliRunner().invoke(app, ["reproduce", str(tmp_path / "out")])
    assert (ended.exit_code, ended.output.count("the same bytes")) == (0, 2), ended.output


def test_counted_figures_are_of_the_population(written: Path) -> None:
    asked = ["tabulate", str(written), "--by", "area", "--count", "--share", "poor", "--json"]
    ended = CliRunner().invoke(app, asked)
    assert ended.exit_code == 0, ended.output
    rows = json.loads(ended.output)["rows"]
    w, table = counted_weights(), sample()
    for row in rows:
        at = (table["area"] == row["area"]).to_numpy()
        if row["statistic"] == "count":
            assert row["estimate"] == pytest.approx(w[at].sum(), rel=0.05)
        else:
            of_level = (table["poor"] == row["point"]).to_numpy()[at]
            p = w[at] @ of_level / w[at].sum()
            error = np.sqrt(w[at] ** 2 @ (of_level - p) ** 2) / w[at].sum()
            assert row["standard_error"] == pytest.approx(error, rel=0.2)
    ended = CliRunner().invoke(app, ["tabulate", str(written), "--counted", "--json"])
    counts = [row["count"] for row in json.loads(ended.output)["rows"] if row["set"] == "area:poor"]
    assert sum(counts) == pytest.approx(w.sum(), rel=0.03)


def test_figures_between_clusters_are_counted_too(written: Path) -> None:
    """Here areas stand for clusters; what was not counted by cluster is of the population too."""
    asked = ["tabulate", str(written), "--clusters", "area", "--count", "--share", "poor", "--json"]
    ended = CliRunner().invoke(app, asked)
    assert ended.exit_code == 0, ended.output
    rows = json.loads(ended.output)["rows"]
    assert [(row["counted"], row["df"]) for row in rows] == [(True, 2.0)] * 3
    w = counted_weights()
    assert rows[0]["estimate"] == pytest.approx(w.sum(), rel=0.03)
    # Areas are alike, so the variance is that of records alone.
    assert rows[0]["standard_error"] == pytest.approx(w.std() * N**0.5, rel=0.2)


def test_other_regressions_are_refused(written: Path) -> None:
    files = sorted(map(str, (written / "release").glob("synthetic-*.csv")))
    ended = CliRunner().invoke(app, ["combine", *files, "--formula", "poor ~ area"])
    assert getattr(ended.exception, "key", "") == "combine-of-weights"


def test_design_weights_have_no_condition_and_units_keep_theirs() -> None:
    table = sample().with_columns(home=pl.arange(0, N).cast(pl.String).str.slice(0, 3))
    own = vws.Schema(
        {"home": vws.Column(role="id"), **COLUMNS},
        **{"weight": "w", "weight_range": (20, 300), "weight_kind": "design", "unit": "home"},
    )
    mechanism = vws.NoisyCounts(epsilon=30.0, cap=2, classes=4, measure="pairs")
    release = vws.synthesize(table, schema=own, mechanism=mechanism, datasets=1)
    assert release.privacy["guarantee"] == "dp"
    for measure in ("auto", "pairs"):
        sets = vws.NoisyCounts(epsilon=1.0, measure=measure).workload(schema()).sets
        assert {len(columns) for columns in sets} == {2}
    with refused("canaries-of-weights"):
        vws.audit(
            table,
            schema=schema(),
            mechanism=vws.NoisyCounts(epsilon=1.0, measure="pairs"),
            canaries=100,
        )
    lacking = table.drop("w")
    with pytest.raises(vws.InputError, match="lacks"):
        vws.synthesize(
            lacking, schema=schema(), mechanism=vws.NoisyCounts(epsilon=1.0, measure="pairs")
        )


def test_a_table_in_steps_is_refused(tmp_path: Path) -> None:
    sample().write_csv(tmp_path / "table.csv")
    asked = vws.Synthesizer(
        schema=schema(), mechanism=vws.NoisyCounts(epsilon=1.0, measure="pairs"), datasets=1
    )
    with refused("counts-of-weights-in-steps", weight="w"):
        asked.fit_to(tmp_path / "table.csv", tmp_path / "out", seed=1)


@pytest.mark.parametrize("rows", [0, 1])
def test_hardly_a_record_ends_as_any_table_does(rows: int) -> None:
    release = vws.synthesize(
        sample().head(rows),
        schema=schema(),
        mechanism=vws.NoisyCounts(epsilon=5.0, measure="pairs"),
        datasets=1,
    )
    assert release.privacy["population"] > 0


def test_squares_without_noise_give_the_variance_of_the_sample() -> None:
    rng = np.random.default_rng(2)
    area, poor = rng.integers(0, 3, N), rng.integers(0, 2, N)
    weights = np.exp(rng.normal(size=N) * 0.3 + 0.7 * poor)
    rows = pl.DataFrame(
        {"set": ["squared weights by area"] * 3 + ["squared weights by poor"] * 2}
        | {"count": np.concatenate([_squares(area, weights, 3), _squares(poor, weights, 2)])}
    ).with_columns(scale=1e-6)
    stated = {"counts": {"noise": "gaussian", "weights": {"range": [0, 99], "stands_for": 1.0}}}
    squares = SquaredWeights.of(NoisyCells.of(rows, stated))
    assert squares is not None
    sums = np.bincount(2 * area + poor, weights, minlength=6)
    cells = {"area": np.repeat(np.arange(3), 2), "poor": np.tile([0, 1], 3)}
    found = sums * squares.raked(sums, cells)
    assert found == pytest.approx(_squares(2 * area + poor, weights, 6), rel=0.1)
    assert found.reshape(3, 2).sum(axis=0) == pytest.approx(_squares(poor, weights, 2), rel=1e-6)
    alike = SquaredWeights({"poor": np.array([9.0, 4.0])}, {"poor": 1e-9}, 1.0, 0.5, 2.0)
    assert alike.raked(np.array([9.0, 4.0]), {"poor": np.arange(2)}) == pytest.approx([1.0, 1.0])


def _squares(codes: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(codes, weights**2, minlength=size)


def test_a_release_says_its_own_squares() -> None:
    release = vws.synthesize(
        *(sample(),),
        schema=schema(records=N),
        mechanism=vws.NoisyCounts(epsilon=40.0, delta=1e-5, classes=6, measure="pairs"),
        datasets=2,
    )
    assert "number" not in release.public_tables["counts.parquet"]["set"]
    table = tabulate(release, share=["area"], count=True)
    assert table.figures[0].estimate == pytest.approx(release.privacy["population"], rel=0.02)
