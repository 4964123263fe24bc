"""Published totals: what a file of them says, how records meet them, and what a release tells."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from refusals import refused
from runs import released
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.evaluation.published_table import tabulate
from pyvws.mechanisms.counts.totals import PublishedTotals
from pyvws.mechanisms.counts.workload import Workload
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.statement.words import SCHEMA

COLUMNS = {
    "area": vws.Column(model="nominal", levels=("a", "b", "c")),
    "sex": vws.Column(model="nominal", levels=("f", "m"), missing="9"),
    "age": vws.Column(model="normal", range=(0, 90), cuts=(15, 65), decimals=0),
    "work": vws.Column(
        model="nominal", levels=("no", "yes"), missing="N", rule="missing where age < 15"
    ),
}
PLAIN = vws.Schema(COLUMNS)
WEIGHTED = vws.Schema(COLUMNS, weight="w", weight_range=(20, 300))
SIZES = {"area": 3, "sex": 3, "age": 3, "work": 3}


def sample(seed: int = 3, n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 91, n)
    work = np.where(age < 15, "N", rng.choice(["no", "yes"], n))
    own = {"area": rng.choice(["a", "b", "c"], n), "sex": rng.choice(["f", "m"], n)}
    return pl.DataFrame({**own, "age": age, "work": work, "w": rng.uniform(20, 300, n)})


AREAS = pl.DataFrame({"area": ["a", "b", "c"], "total": [30_000.5, 20_000, 0]}, strict=False)
BY_SEX = pl.DataFrame(
    {
        "area": ["a", "b", "c", None, None, None, None, None, None],
        "sex": [None, None, None, *"fm" * 3],
        "age": [None, None, None, 0, 0, 20, 20, 70, 70],
        "total": [200, 150, 50, 40, 45, 120, 115, 50, 30],
    }
)


def read(frame: pl.DataFrame, schema: vws.Schema = WEIGHTED) -> PublishedTotals:
    totals = NoisyCounts(epsilon=1.0, totals=frame, measure="pairs").counting(schema).totals
    assert totals is not None
    return totals


def records(rng: np.random.Generator, n: int) -> np.ndarray:
    """Codes of records that keep the rule: work is missing (code 2) below 15 (the first age)."""
    x = np.column_stack([rng.integers(0, size, n) for size in SIZES.values()]).astype(np.int32)
    x[:, 3] = np.where(x[:, 2] == 0, 2, x[:, 3] % 2)
    return x


def table() -> Workload:
    return NoisyCounts(epsilon=1.0, measure="pairs").workload(PLAIN)


# One file of totals


def test_sets_stand_in_one_file_and_one_within_another_is_left_out() -> None:
    rows = [("a", None, 3.0), ("b", None, 2.0), ("c", None, 1.0), (None, None, 6.0)]
    rows += [(area, sex, x / 2) for area, x in zip("abc", (3, 2, 1), strict=True) for sex in "fm"]
    totals = read(pl.DataFrame(rows, ["area", "sex", "total"], orient="row"))
    [own] = totals.sets
    assert own.crossed.columns == ("area", "sex")
    assert own.totals.reshape(3, 3).tolist() == [[1.5, 1.5, 0], [1, 1, 0], [0.5, 0.5, 0]]
    assert totals.population == 6.0
    again = PublishedTotals.stated(json.loads(json.dumps(totals.figures())), table())
    assert again.digest == totals.digest
    alone = read(pl.DataFrame({"total": [50_000.0]}))
    assert (alone.population, alone.sets[0].crossed.columns) == (50_000.0, ())


def changed(**cells: Any) -> pl.DataFrame:
    return AREAS.with_columns(**{name: pl.Series(own) for name, own in cells.items()})


WRONG = {
    "totals-columns": pl.DataFrame({"area": ["a"]}),
    "totals-column": changed(town=["x", "y", "z"]),
    "totals-level": changed(area=["a", "b", "z"]),
    "totals-twice": changed(area=["a", "b", "b"]),
    "totals-lack": AREAS.head(2),
    "totals-value": changed(total=[1.0, -1.0, 2.0]),
    "totals-nothing": changed(total=[0, 0, 0]),
    "totals-disagree": pl.concat([AREAS, pl.DataFrame({"total": [7.0]})], how="diagonal"),
    "totals-barred": pl.DataFrame(
        [(age, work, 5.0) for age in (0, 20, 70) for work in ("no", "yes")],
        ["age", "work", "total"],
        orient="row",
    ),
    "totals-ring": pl.concat(
        [
            pl.DataFrame([(x, y, 6) for x in own for y in other], [*names, "total"], orient="row")
            for names, own, other in (
                (("area", "sex"), "abc", "fm"),
                (("sex", "age"), "fm", ["0", "20", "70"]),
                (("area", "age"), "abc", ["0", "20", "70"]),
            )
        ],
        how="diagonal",
    ).with_columns(
        total=pl.when(pl.col("age").is_null())
        .then(6)
        .when(pl.col("sex").is_null())
        .then(4)
        .otherwise(6)
    ),
}


@pytest.mark.parametrize("key", WRONG)
def test_totals_that_no_release_could_meet_are_refused(key: str) -> None:
    with refused(key, file="frame"):
        read(WRONG[key])


@pytest.mark.parametrize("value", ["many", "inf", "nan", None])
def test_a_total_that_is_no_number_is_refused_by_its_row(value: str | None) -> None:
    with refused("totals-value", row=2):
        read(changed(total=["1", value, "2"]))


def test_totals_that_do_not_go_with_the_run_are_refused() -> None:
    free = vws.Schema({**COLUMNS, "pay": vws.Column(model="normal", range=(0, 9_000))})
    with refused("totals-number", name="pay"):
        read(pl.DataFrame({"pay": [1], "total": [4]}), free)
    with refused("totals-whole"):
        read(AREAS, PLAIN)
    mechanism = NoisyCounts(epsilon=1.0, totals=BY_SEX, measure="pairs")
    with refused("totals-records", total=400, n=401):
        vws.synthesize(sample(), schema=PLAIN, mechanism=mechanism, records=401)


# Records that meet totals


def drawn_totals(rng: np.random.Generator, *sets: tuple[str, ...]) -> pl.DataFrame:
    """Totals by some sets of one population that keeps the rule, with cells without anybody."""
    people = records(rng, int(rng.integers(3, 60)))[:, :3] % [3, 2, 3]
    labels = {"area": "abc", "sex": "fm", "age": [0, 20, 70]}
    rows = []
    for names in sets:
        at = [[*labels].index(name) for name in names]
        for cell in np.ndindex(*(len(labels[name]) for name in names)):
            own = {n: str(labels[n][code]) for n, code in zip(names, cell, strict=True)}
            rows.append(own | {"total": 100.0 * (people[:, at] == cell).all(axis=1).sum()})
    return pl.DataFrame(rows, {**dict.fromkeys(labels, pl.String), "total": pl.Float64})


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(0, 300), st.booleans())
def test_records_meet_totals_and_keep_rules(seed: int, n: int, shared: bool) -> None:
    rng, own = np.random.default_rng(seed), table()
    sets = (("area", "sex"), ("sex", "age")) if shared else (("area",), ("sex", "age"))
    totals = read(drawn_totals(rng, *sets))
    x = records(rng, n)
    met, source = totals.met(x, own, rng)
    assert totals.apart(met, own) <= (2.0 if shared else 1.0)
    for one, rows in zip(totals.sets, totals.rows(n), strict=True):
        assert rows.sum() == n
        cells = one.crossed.cells(own.by_name(met))
        assert np.bincount(cells, minlength=len(rows)).tolist() == rows.tolist()
    assert (met[met[:, 2] == 0, 3] == 2).all()
    assert source.min(initial=0) >= 0
    assert source.max(initial=-1) < n


def test_records_that_meet_totals_stay_as_they_are() -> None:
    own, rng = table(), np.random.default_rng(1)
    totals = read(BY_SEX)
    met, _ = totals.met(records(rng, 400), own, rng)
    again, source = totals.met(met, own, rng)
    assert (again == met).all()
    assert source.tolist() == list(range(400))


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_noisy_counts_move_to_totals_by_least_squares(seed: int) -> None:
    """The nearest counts with these margins, as a least-squares solver finds them."""
    rng, own = np.random.default_rng(seed), table()
    totals = read(drawn_totals(rng, ("area",), ("sex",)))
    counts = rng.integers(-500, 5_000, len(own.possible)) * own.possible
    moved = totals.moved(own, counts, 1_000)
    q = own.sets.index(("area", "sex"))
    at = slice(*own.offsets[q : q + 2])
    codes = own.cliques[q].codes
    rows = [codes["area"] == k for k in range(3)] + [codes["sex"] == k for k in range(3)]
    wanted = np.concatenate([one.totals for one in totals.sets]) * (1_000 / totals.population)
    A = np.array(rows, dtype=float)
    nearest = counts[at] + np.linalg.lstsq(A, wanted - A @ counts[at], rcond=None)[0]
    assert moved[at] == pytest.approx(nearest, abs=0.51)
    assert (moved[~own.possible] == counts[~own.possible]).all()


# Releases

pytest_runs = pytest.mark.runs


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("opendp")
    folder = tmp_path_factory.mktemp("totals")
    AREAS.write_csv(folder / "totals.csv")
    words = "--mechanism noisy-counts --epsilon 4 --delta 1e-5 --datasets 2 --classes 4"
    words += f" --best-file --totals {folder}/totals.csv"
    return released(folder, sample(), WEIGHTED, words)


@pytest_runs
def test_a_release_meets_totals_and_says_on_whose_word(written: Path) -> None:
    privacy = json.loads((written / "release/privacy.json").read_text())
    Draft202012Validator(SCHEMA).validate(privacy)
    assert privacy["guarantee"] == "approximate-dp-if-weights-fixed"
    assert privacy["population"] == 50_000.5
    assert privacy["spending"]["sold"] == pytest.approx(4.0, rel=1e-3)
    own = privacy["counts"]["totals"]
    assert (own["file"], own["sets"][0]["totals"]) == ("totals.csv", [30_000.5, 20_000.0, 0.0])
    assert own["rows_apart"] <= 1.0
    assert own["noise_apart"] > 1.0  # A third of the sample is in c.
    assert "counts-totals" in {x["key"] for x in privacy["caveat_keys"]}
    assert any("totals.csv" in str(one) for one in privacy["ledger"])
    for file in (*(written / "release").glob("synthetic-*.csv"),):
        rows = pl.read_csv(file)
        areas = rows["area"].value_counts().sort("area")["count"].to_list()
        assert areas == pytest.approx([len(rows) * 0.6, len(rows) * 0.4], abs=1.0)
    best = pl.read_parquet(written / "release/best-file.parquet")
    assert "c" not in best["area"].unique()
    counts = pl.read_parquet(written / "release/counts.parquet")
    assert counts.filter(set="records")["scale"].item() == 0.0
    summary = json.loads((written / "confidential/summary.json").read_text())
    assert summary["totals"] == {"alike": False, "warning": None}


@pytest_runs
def test_anyone_makes_the_same_bytes_without_the_file(written: Path) -> None:
    (written.parent / "totals.csv").unlink(missing_ok=True)
    ended = CliRunner().invoke(app, ["reproduce", str(written / "release")])
    assert ended.exit_code == 0, ended.output
    assert ended.output.count("the same bytes") == 3
    assert "cost epsilon 4;" in ended.output


@pytest_runs
def test_figures_that_totals_fix_have_no_width(written: Path) -> None:
    asked = ["tabulate", str(written), "--by", "area", "--count", "--share", "sex", "--json"]
    ended = CliRunner().invoke(app, asked)
    rows = json.loads(ended.output)["rows"]
    counts = {row["area"]: row for row in rows if row["statistic"] == "count"}
    assert counts["a"]["estimate"] == pytest.approx(30_000.5)
    assert {x["standard_error"] for x in counts.values()} == {0.0}
    assert all(row["counted"] for row in counts.values())
    shares = [row["standard_error"] for row in rows if row["area"] == "a" and row["point"] == "f"]
    assert min(shares) > 0.01
    ended = CliRunner().invoke(app, ["tabulate", str(written), "--counted", "--json"])
    cells = [row for row in json.loads(ended.output)["rows"] if row["set"] == "area:sex"]
    assert sum(row["count"] for row in cells) == pytest.approx(50_000.5, rel=1e-3)
    assert sum(row["count"] for row in cells if row["label"][0] == "c") == pytest.approx(0, abs=1)
    words = ["report", str(written), "--original", str(written.parent / "table.csv")]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert "totals.csv within" in (written / "confidential/report.html").read_text()


@pytest_runs
@pytest.mark.parametrize("how", [{"neighbours": "replace"}, {"tables": "work:area:sex"}])
def test_totals_of_a_census_are_its_number_of_rows(how: dict[str, Any]) -> None:
    """Without weights nothing is bought for the number of records."""
    pytest.importorskip("opendp")
    mechanism = NoisyCounts(epsilon=6.0, totals=BY_SEX, classes=4, **{"measure": "pairs", **how})
    release = vws.synthesize(sample(), schema=PLAIN, mechanism=mechanism, datasets=2)
    assert {len(own) for own in release.datasets} == {400}
    assert release.privacy["number_of_rows"] == "public"
    for own in release.datasets:
        assert own["area"].value_counts().sort("area")["count"].to_list() == [200, 150, 50]
        young = own.filter(pl.col("age") < 15)
        assert young["sex"].value_counts().sort("sex")["count"].to_list() == [40, 45]
        assert (young["work"] == "N").all()
    figures = tabulate(release, by=["area"], count=True).figures
    assert [one.estimate for one in figures] == pytest.approx([200, 150, 50])
    assert {one.standard_error for one in figures} == {0.0}


@pytest_runs
def test_totals_that_a_table_adds_up_to_are_told_inside() -> None:
    pytest.importorskip("opendp")
    own = sample()["area"].value_counts(name="total")
    mechanism = NoisyCounts(epsilon=2.0, totals=own, classes=2, measure="pairs")
    release = vws.synthesize(sample(), schema=PLAIN, mechanism=mechanism, datasets=1)
    assert "not public" in release.summary["totals"]["warning"]
    assert "alike" not in release.privacy["counts"]["totals"]


@pytest_runs
@pytest.mark.parametrize("schema", [PLAIN, WEIGHTED])
def test_totals_in_another_unit_are_refused_by_the_noisy_counts(schema: vws.Schema) -> None:
    pytest.importorskip("opendp")
    own = changed(total=[40, 20, 10] if schema is WEIGHTED else [40_000, 20_000, 10_000])
    mechanism = NoisyCounts(epsilon=20.0, totals=own, classes=2, measure="pairs")
    with refused("totals-other-unit"):
        vws.synthesize(sample(), schema=schema, mechanism=mechanism, datasets=1)
