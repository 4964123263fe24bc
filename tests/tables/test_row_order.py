"""Released rows stand in a secret random order, and the confidential part says which is whose."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from typer.testing import CliRunner

import pyvws as vws
from pyvws import InputError, SamplerSettings
from pyvws.commands.cli import app
from pyvws.statement.statement import ROW_ORDERS
from pyvws.statement.words import caveat_keys
from pyvws.tables.files.row_order import (
    NOT_ALIGNED,
    RELEASED_ROW,
    laid_out,
    order_stream,
    released_rows,
    row_order,
)

pytestmark = [
    pytest.mark.runs,
    pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning"),
]

_N = 1500
_BY_CHANCE = 4.5 / np.sqrt(_N)  # Beyond it no rank correlation of unrelated numbers lies.
_FAST = SamplerSettings(draws=800, warmup=300, chains=2)
_DP: dict[str, Any] = {
    "outcome": "income",
    "model": vws.Normal(outcome_scale="log"),
    "mechanism": vws.Censored(epsilon=30.0, weights="none"),
    "keep": ("id",),
    "datasets": 2,
    "settings": _FAST,
}
_HISTOGRAM = {
    **_DP,
    "model": "negative-binomial",
    "mechanism": vws.PerturbedHistogram(epsilon=4.0, range=(0, 1e6)),
}
KINDS: list[Callable[[pl.DataFrame], Any]] = [
    pl.DataFrame.to_pandas,
    pl.DataFrame.clone,
    pl.DataFrame.to_arrow,
]


def by_income(n: int = _N) -> pl.DataFrame:
    """Records sorted by the outcome, under an identifier that says nothing of it."""
    rng = np.random.default_rng(8)
    return pl.DataFrame(
        {
            "id": [f"p{number:05d}" for number in rng.permutation(n)],
            "urban": rng.choice(["yes", "no"], n),
            "income": np.sort(rng.lognormal(10, 0.7, n)).round(2),
        }
    )


def place_and_income(dataset: Any, table: pl.DataFrame) -> float:
    """Spearman's correlation of a row's place with the confidential income of its record."""
    ids = nw.from_native(dataset, eager_only=True)["id"].to_list()
    income = dict(zip(table["id"], table["income"], strict=True))
    ranks = np.argsort(np.argsort([income[name] for name in ids]))
    return float(np.corrcoef(ranks, np.arange(len(ids)))[0, 1])


def run_of(folder: Path) -> tuple[dict[str, Any], pl.DataFrame, pl.DataFrame]:
    """Statement, first dataset and records of an output folder."""
    files = sorted((folder / "release").glob("synthetic-*"))
    read = pl.read_csv if files[0].suffix == ".csv" else pl.read_parquet
    statement = json.loads((folder / "release" / "privacy.json").read_text())
    return statement, read(files[0]), pl.read_parquet(folder / "confidential" / "records.parquet")


def pyvws(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.parametrize("settings", [_DP, _HISTOGRAM], ids=["censored", "histogram"])
def test_a_place_tells_nothing_of_an_outcome_that_the_table_is_sorted_by(
    settings: dict[str, Any],
) -> None:
    table = by_income()
    made = vws.Synthesizer(**settings).fit(table, seed=5)
    assert made.privacy["guarantee"] in ("dp", "dp-if-bounded")
    assert made.privacy["row_order"] == ROW_ORDERS[False]
    assert "kept-order" not in caveat_keys(made.privacy)
    for dataset in made.datasets:
        assert abs(place_and_income(dataset, table)) < _BY_CHANCE
    assert made.datasets[0]["id"].equals(made.datasets[1]["id"])
    kept = vws.Synthesizer(**settings, keep_order=True).fit(table, seed=5)
    assert place_and_income(kept.datasets[0], table) > 1 - 1e-9
    assert kept.privacy["row_order"] == ROW_ORDERS[True]
    assert "kept-order" in caveat_keys(kept.privacy)
    assert kept.records[RELEASED_ROW].to_list() == list(range(1, _N + 1))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_are_shuffled_on_both_paths_alike(tmp_path: Path, suffix: str) -> None:
    table = by_income()
    path = tmp_path / f"in.{suffix}"
    getattr(table, f"write_{suffix}")(path)
    options = [
        *("--outcome", "income", "--model", "normal", "--outcome-scale", "log", "--keep", "id"),
        *("--mechanism", "censored", "--weights", "none", "--epsilon", "4", "--datasets", "1"),
        *("--draws", "200", "--warmup", "200", "--chains", "2", "--seed", "5"),
        "--accept-unconverged",
    ]
    found = {}
    for memory in ("1GB", "1KB"):
        out = tmp_path / memory
        result = pyvws("synthesize", path, *options, "--memory", memory, "--out", out)
        assert result.exit_code == 0, result.output
        statement, dataset, records = found[memory] = run_of(out)
        assert statement["row_order"] == ROW_ORDERS[False]
        assert abs(place_and_income(dataset, table)) < _BY_CHANCE
        rows = records[RELEASED_ROW].to_numpy() - 1
        assert dataset["id"][rows].to_list() == table["id"].to_list()
        assert sorted(part.name for part in out.iterdir()) == ["confidential", "release"]
    assert found["1GB"][1].equals(found["1KB"][1])
    assert found["1GB"][2][RELEASED_ROW].equals(found["1KB"][2][RELEASED_ROW])
    result = pyvws(
        *("synthesize", path, *options, "--keep-order", "--memory", "1KB"),
        *("--out", tmp_path / "kept"),
    )
    assert result.exit_code == 0, result.output
    statement, dataset, _ = run_of(tmp_path / "kept")
    assert (statement["row_order"], dataset["id"].to_list()) == (
        ROW_ORDERS[True],
        table["id"].to_list(),
    )
    assert "kept-order" in caveat_keys(statement)
    for part, said in (("kept", True), ("1GB", None)):
        config = tomllib.loads((tmp_path / part / "release" / "run.toml").read_text())
        assert config.get("keep_order") is said


@pytest.mark.parametrize("kind", KINDS, ids=["pandas", "polars", "arrow"])
def test_aligned_rows_are_those_of_the_records(kind: Callable[[pl.DataFrame], Any]) -> None:
    table = by_income()
    frame = kind(table)
    if isinstance(frame, pd.DataFrame):  # Labels would tell the order as places did.
        frame = frame.set_index(pd.Index(range(_N), name="number"))
    settings = {**_DP, "formula": "~ urban", "mechanism": "unweighted"}
    made = vws.Synthesizer(**settings).fit(frame, seed=5)
    lined_up = made.aligned()
    assert [type(dataset) for dataset in lined_up] == [type(frame)] * 2
    for dataset, shuffled in zip(lined_up, made.datasets, strict=True):
        first, second = (nw.from_native(part).to_polars() for part in (dataset, shuffled))
        assert first.select("id", "urban").equals(table.select("id", "urban"))
        assert second.sort("id").equals(first.sort("id"))
        assert second.columns == ["id", "urban", "income"]
        if isinstance(shuffled, pd.DataFrame):
            assert shuffled.index.equals(pd.RangeIndex(_N))
    kept = vws.Synthesizer(**settings, keep_order=True).fit(frame, seed=5)
    assert nw.from_native(kept.datasets[0])["id"].to_list() == table["id"].to_list()
    assert nw.from_native(kept.aligned()[0])["id"].to_list() == table["id"].to_list()


def test_the_order_of_a_histogram_does_not_come_from_the_seed() -> None:
    """Its noise is no seed's either, so that whoever finds the seed has nothing."""
    table = by_income(40)
    orders = {
        tuple(vws.Synthesizer(**_HISTOGRAM).fit(table, seed=5).datasets[0]["id"]) for _ in range(3)
    }
    assert len(orders) == 3
    loo = vws.PerturbedHistogram(epsilon=4.0, range=(0, 1e6), bins=8, neighbours="loo")
    alone = {**_HISTOGRAM, "mechanism": loo, "keep": ()}
    with pytest.raises(InputError, match="not those of records"):
        vws.Synthesizer(**alone).fit(table, seed=5).aligned()
    with refused("order-under-loo"):
        vws.Synthesizer(**alone, keep_order=True)


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=8),
    size=st.integers(1, 60),
    seed=st.integers(0, 2**64),
)
def test_rows_read_in_steps_are_laid_out_as_an_index_would(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], size: int, seed: int
) -> None:
    n = sum(sizes)
    order = row_order(order_stream(seed), n)
    assert sorted(order.tolist()) == list(range(n))
    rows = released_rows(order, n)
    np.testing.assert_array_equal(rows[order], np.arange(1, n + 1))
    table = pl.DataFrame(
        {
            "row": [f"x{i}" for i in range(n)],  # As the file names its own column.
            "level": pl.Series([["u", "v"][i % 2] for i in range(n)], dtype=pl.Enum(["u", "v"])),
            "holes": [None if i % 3 else i for i in range(n)],
        }
    )
    starts = np.cumsum([0, *sizes[:-1]]).tolist()
    batches = (table.slice(at, many) for at, many in zip(starts, sizes, strict=True))
    folder = tmp_path_factory.getbasetemp()
    before = sorted(folder.iterdir())
    found = []
    for part in laid_out(batches, rows, size=size, folder=folder):
        found.append(part)
        assert sorted(folder.iterdir()) == before  # The waiting rows have no name on the disk.
    assert [len(part) for part in found[:-1]] == [size] * (len(found) - 1)
    assert pl.concat(found).equals(table[order])


def test_the_stream_of_an_order_does_not_hold_the_seed() -> None:
    """Who knows the order of the table sees the permutation, and from it perhaps the stream."""
    entropy = np.atleast_1d(order_stream(2**31 + 5).bit_generator.seed_seq.entropy)
    assert 2**31 + 5 not in entropy
    again, other = order_stream(2**31 + 5), order_stream(2**31 + 6)
    assert (again.bit_generator.seed_seq.entropy == entropy).all()
    assert (other.bit_generator.seed_seq.entropy != entropy).any()


def test_every_order_is_as_likely() -> None:
    drawn = [tuple(row_order(order_stream(seed), 3)) for seed in range(1200)]
    kinds, times = np.unique(drawn, axis=0, return_counts=True)
    assert len(kinds) == 6
    assert np.abs(times - 200).max() < 5 * np.sqrt(200)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table and runs on it: `out`, and `kept` in the table's order."""
    place = tmp_path_factory.mktemp("runs")
    by_income(300).write_csv(place / "table.csv")
    options = [
        *("--outcome", "income", "--model", "gamma", "--formula", "~ urban", "--datasets", "3"),
        *("--mechanism", "unweighted", "--draws", "200", "--warmup", "300", "--chains", "2"),
    ]
    for name, more in (("out", []), ("kept", ["--keep-order"])):
        result = pyvws("synthesize", place / "table.csv", *options, *more, "--seed", 1,
                       "--out", place / name)  # fmt: skip
        assert result.exit_code == 0, result.output
    return place


def test_risk_lines_a_run_s_folder_up(folder: Path, tmp_path: Path) -> None:
    table = pl.read_csv(folder / "table.csv")
    how = ["--outcome", "income", "--known", "urban"]
    result = pyvws("risk", folder / "table.csv", folder / "out", *how, "--out", tmp_path / "r")
    assert result.exit_code == 0, result.output
    rows = pl.read_parquet(folder / "out/confidential/records.parquet")[RELEASED_ROW].to_numpy() - 1
    files = sorted((folder / "out/release").glob("synthetic-*.csv"))
    aligned = [pl.read_csv(path)["income"].to_numpy()[rows] for path in files]
    expected = vws.identification_risk(table["income"], aligned, known=[table["urban"]])
    written = pl.read_parquet(tmp_path / "r")["risk_synthetic"]
    np.testing.assert_array_equal(written, expected)
    kept = sorted((folder / "kept/release").glob("synthetic-*.csv"))
    by_files = pyvws("risk", folder / "table.csv", *kept, *how)
    assert by_files.exit_code == 0, by_files.output
    assert by_files.output == pyvws("risk", folder / "table.csv", folder / "kept", *how).output


@pytest.mark.parametrize(
    "command",
    [("utility", "table.csv", "--outcome", "income"), ("combine", "--formula", "income ~ urban")],
    ids=["utility", "combine"],
)
def test_a_run_s_folder_stands_for_its_datasets(folder: Path, command: tuple[str, ...]) -> None:
    words = [folder / word if word.endswith(".csv") else word for word in command]
    files = sorted((folder / "out/release").glob("synthetic-*.csv"))
    by_folder, by_files = pyvws(*words, folder / "out"), pyvws(*words, *files)
    assert by_folder.exit_code == by_files.exit_code == 0, by_folder.output
    assert by_folder.output == by_files.output
    assert "3" in by_folder.output


def test_risk_of_shuffled_files_says_what_is_missing(folder: Path, tmp_path: Path) -> None:
    released = folder / "out/release"
    for path in (released / "synthetic-01.csv", released):
        result = pyvws("risk", folder / "table.csv", path, "--outcome", "income")
        assert result.exit_code == 1
        assert "rows are in a secret random order" in str(result.exception)
        assert "Name the run's folder instead" in str(result.exception)
    elsewhere = tmp_path / "other.csv"  # Made by another tool, for all that is known.
    pl.read_csv(released / "synthetic-01.csv").write_csv(elsewhere)
    result = pyvws("risk", folder / "table.csv", elsewhere, "--outcome", "income")
    assert result.exit_code == 0, result.output


def test_a_folder_without_a_link_has_no_risk(folder: Path, tmp_path: Path) -> None:
    import shutil

    out = tmp_path / "out"
    shutil.copytree(folder / "out", out)
    path = out / "confidential/records.parquet"
    records = pl.read_parquet(path)
    for broken, message in (
        (records.drop(RELEASED_ROW), NOT_ALIGNED),
        (records.with_columns(pl.lit(1).alias(RELEASED_ROW)), "does not name each row once"),
    ):
        broken.write_parquet(path)
        result = pyvws("risk", folder / "table.csv", out, "--outcome", "income")
        assert result.exit_code == 1
        assert message in str(result.exception)


def test_the_board_s_risks_are_those_of_lined_up_rows(folder: Path) -> None:
    from pyvws.commands._tables import read_records

    linked = read_records(folder / "table.csv", [folder / "out"], "income", None)
    table = pl.read_csv(folder / "table.csv")
    np.testing.assert_array_equal(linked.y, table["income"])
    rows = pl.read_parquet(folder / "out/confidential/records.parquet")[RELEASED_ROW].to_numpy() - 1
    first = pl.read_csv(folder / "out/release/synthetic-01.csv")
    np.testing.assert_array_equal(linked.datasets[0], first["income"].to_numpy()[rows])
    assert first["urban"][rows].to_list() == table["urban"].to_list()
    result = pyvws("report", folder / "out", "--original", folder / "table.csv", "--unweighted",
                   folder / "kept", "--known", "urban")  # fmt: skip
    assert result.exit_code == 0, result.output


def test_a_mixture_reads_the_outcome_of_the_row_s_own_record() -> None:
    rng = np.random.default_rng(2)
    high = rng.random(400) < 0.5
    table = pl.DataFrame(
        {"id": range(400), "amount": np.where(high, 60.0, 10.0) + rng.normal(size=400)}
    )
    made = vws.synthesize(
        table,
        outcome="amount",
        model=vws.NormalMixture(components=2, labels="full-conditional"),
        mechanism=vws.Unweighted(),
        keep=["id"],
        datasets=1,
        draws=200,
        warmup=300,
        chains=2,
        seed=3,
    ).datasets[0]
    assert made["id"].to_list() != table["id"].to_list()
    assert ((made["amount"] > 35) == pl.Series(high)[made["id"]]).mean() > 0.99
