"""Tables on engines of their own: counted there, released as from memory, in an order of no use."""

import hashlib
import json
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

import pyvws as vws
from pyvws import CountWeighted, InputError, SamplerSettings
from pyvws.tables.files.row_order import RELEASED_ROW, UNLINKED_ROW
from pyvws.tables.files.steps import COUNT, TalliedTable

# narwhals announces that its Dask part moves to a package of its own.
pytestmark = pytest.mark.filterwarnings("ignore:Dask support is moving:FutureWarning")


def on_duckdb(table: pl.DataFrame) -> Any:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    return connection.from_arrow(table.to_arrow())


def on_dask(table: pl.DataFrame) -> Any:
    dd = pytest.importorskip("dask.dataframe")
    return dd.from_pandas(table.to_pandas(), npartitions=3, sort=False)


def on_spark(table: pl.DataFrame) -> Any:
    spark = pytest.importorskip("pyspark.sql").SparkSession.builder.master("local[1]")
    return spark.getOrCreate().createDataFrame(table.rows(), schema=table.columns)


def on_ibis(table: pl.DataFrame) -> Any:
    return pytest.importorskip("ibis").memtable(table)


ENGINES = pytest.mark.parametrize("on", [on_duckdb, on_dask, on_spark, on_ibis])
On = Callable[[pl.DataFrame], Any]


def households(n: int = 2000) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    region = rng.choice(["north", "south", "east"], n)
    mean = np.where(region == "north", 12.0, 7.0)
    return pl.DataFrame(
        {
            "id": [f"{i:05d}" for i in rng.permutation(n)],
            "visits": rng.poisson(mean * rng.gamma(6, 1 / 6, n)),
            "region": region,
            "zip": [f"0{code}" for code in rng.integers(100, 104, n)],
            "age": rng.integers(20, 60, n),
        }
    )


def synthesizer(**changes: Any) -> vws.Synthesizer:
    given = {
        "outcome": "visits",
        "formula": "~ region",
        "mechanism": "unweighted",
        "datasets": 2,
        "settings": SamplerSettings(draws=300, warmup=300, chains=2),
        **changes,
    }
    return vws.Synthesizer(**given)


def dataset(folder: Path, number: int = 1) -> pl.DataFrame:
    return pl.read_parquet(folder / "release" / f"synthetic-{number:02d}.parquet")


def confidential(folder: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(folder / "confidential" / f"{name}.parquet")


@pytest.fixture(autouse=True)
def small_steps(at_once: Callable[[int], None]) -> None:
    at_once(700)


@ENGINES
@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
def test_an_engine_gives_what_memory_gives_on_the_sorted_table(on: On, tmp_path: Path) -> None:
    table = households()
    run = synthesizer(keep=("zip",))
    statement = run.fit_to(on(table), tmp_path / "out", seed=5)
    # Those that the model cannot tell apart are equal in public, so their order does not matter.
    memory = run.fit(table.sort("region", "zip"), seed=5)
    assert statement == memory.privacy
    for number, whole in enumerate(memory.datasets, start=1):
        made = dataset(tmp_path / "out", number)
        assert made.columns == ["visits", "region", "zip"]
        assert made.equals(whole)
    assert confidential(tmp_path / "out", "posterior").equals(memory.posterior)
    records = confidential(tmp_path / "out", "records")
    assert len(records) == len(table)
    summary = json.loads((tmp_path / "out" / "confidential" / "summary.json").read_text())
    tally = table.group_by("region", "visits").agg(pl.len().alias(COUNT)).sort("region", "visits")
    assert summary["input_sha256"] == hashlib.sha256(tally.write_csv().encode()).hexdigest()
    assert summary["input_sha256_of"] == "tally of the modelled columns as csv"
    assert summary["records"] == len(table)


@pytest.mark.parametrize("on", [on_duckdb, on_dask])
@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
def test_records_say_which_row_of_the_release_is_theirs(on: On, tmp_path: Path) -> None:
    table = households()
    risky = CountWeighted(radius=0.3, known=("region", "age"))
    run = synthesizer(mechanism=risky, keep=("id",), datasets=1)
    run.fit_to(on(table), tmp_path / "out", seed=5)
    records = confidential(tmp_path / "out", "records").sort(UNLINKED_ROW)
    made = dataset(tmp_path / "out").with_columns(records).sort("id")
    memory = run.fit(table, seed=5)
    expected = table.select("id").with_columns(memory.records).sort("id")
    assert made["id"].to_list() == expected["id"].to_list()
    for name in ("risk", "weight"):
        np.testing.assert_array_equal(made[name], expected[name])


@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
def test_a_polars_plan_has_numbered_records(tmp_path: Path) -> None:
    table = households()
    run = synthesizer(keep="all")
    run.fit_to(table.lazy(), tmp_path / "out", seed=5)
    memory = run.fit(table, seed=5)
    assert dataset(tmp_path / "out").equals(memory.datasets[0])
    assert confidential(tmp_path / "out", "records").equals(memory.records)


@ENGINES
@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
def test_fit_collects_the_columns_that_it_reads(on: On) -> None:
    table = households()
    run = synthesizer(keep=("id",), datasets=1)
    made = run.fit(on(table), seed=5).datasets[0]
    released = nw.from_native(made, eager_only=True)
    assert released.columns == ["id", "visits", "region"]
    public = released.to_polars().select("id", "region").sort("id")
    assert public.equals(table.select("id", "region").sort("id"))


@ENGINES
@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
def test_fit_states_no_link_to_an_order_that_an_engine_need_not_repeat(on: On) -> None:
    table = households(300)
    run = synthesizer(keep=("zip",), datasets=1)
    made, again = (run.fit(on(rows), seed=5) for rows in (table, table.reverse()))
    records, others = (
        nw.from_native(of.records, eager_only=True).to_polars() for of in (made, again)
    )
    assert UNLINKED_ROW in records.columns
    assert RELEASED_ROW not in records.columns
    assert records.equals(others)
    first, second = (
        nw.from_native(of.datasets[0], eager_only=True).to_polars() for of in (made, again)
    )
    assert first.equals(second)
    with pytest.raises(InputError, match="kept no link"):
        made.aligned()
    with refused("release-frame-without-order"):
        run.fit(on(table), seed=5, release_frame=table)


@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
def test_an_engine_has_no_order_to_keep(tmp_path: Path) -> None:
    with refused("keep-order-of-no-order"):
        synthesizer(keep_order=True).fit_to(on_duckdb(households()), tmp_path / "out", seed=1)
    with refused("keep-order-of-no-order"):
        synthesizer(keep_order=True).fit(on_duckdb(households()), seed=1)
    assert list(tmp_path.iterdir()) == []


@given(
    counts=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), min_size=1, max_size=12),
    size=st.integers(1, 20),
)
def test_every_record_is_laid_out_once(counts: list[tuple[int, int]], size: int) -> None:
    tally = pl.DataFrame(
        {
            "public": [group for group, _ in counts],
            "hidden": range(len(counts)),
            COUNT: [count for _, count in counts],
        }
    ).sort("public", "hidden")
    tallied = TalliedTable(tally, ["public", "hidden"], "the table")
    batches = list(tallied.batches(["public", "hidden"], size))
    assert [len(batch) for batch in batches[:-1]] == [size] * (len(batches) - 1)
    found = pl.concat(batches)["hidden"].to_list()
    assert found == np.repeat(tally["hidden"], tally[COUNT]).tolist()


@pytest.mark.parametrize("on", [on_duckdb, on_dask])
@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
def test_a_mixture_that_reads_outcomes_takes_each_record_s_own(on: On, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    n = 1200
    high = rng.random(n) < 0.5
    amount = np.round(np.where(high, 60.0, 10.0) + rng.normal(size=n), 1)
    table = pl.DataFrame({"id": rng.permutation(n), "amount": amount})
    run = synthesizer(
        outcome="amount",
        formula="~ 1",
        model=vws.NormalMixture(components=2, labels="full-conditional"),
        keep=("id",),
        datasets=1,
    )
    run.fit_to(on(table), tmp_path / "out", seed=3)
    made = dataset(tmp_path / "out").join(table, on="id", suffix="_seen")
    assert len(made) == n
    near = (made["amount"] > 35) == (made["amount_seen"] > 35)
    assert near.mean() > 0.99  # The record's own component, or the rows would be crossed.
    run = synthesizer(
        outcome="amount",
        formula="~ 1",
        model=vws.NormalMixture(components=2, labels="full-conditional"),
        datasets=1,
    )
    run.fit_to(on(table), tmp_path / "bare", seed=3)
    alone = dataset(tmp_path / "bare")["amount"].to_numpy()
    assert abs(np.corrcoef(np.arange(n), alone)[0, 1]) < 4.5 / np.sqrt(n)


def twice_named(connection: Any) -> Any:
    return connection.sql("select 1 as visits, 2 as visits, 'a' as region")


def test_a_column_twice_is_refused(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with refused("column-names-twice", twice="visits"):
        synthesizer().fit_to(twice_named(duckdb.connect()), tmp_path / "out", seed=1)
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame([[1, 2, "a"], [3, 4, "b"]], columns=["visits", "visits", "region"])
    with refused("column-names-twice", twice="visits"):
        synthesizer().fit_to(dd.from_pandas(frame, npartitions=1), tmp_path / "out", seed=1)


@pytest.mark.parametrize("on", [on_duckdb, on_dask, pl.DataFrame.lazy])
def test_what_is_refused_before_any_work(on: On, tmp_path: Path) -> None:
    table = households(40)
    gone = table.with_columns(
        region=pl.when(pl.int_range(40) < 3).then(None).otherwise(pl.col("region"))
    )
    for refusal, source, changes in (
        (refused("column-missing-in-records", column="region", tally=3), gone, {}),
        (refused("columns-lacking", role="formula"), table, {"formula": "~ regoin"}),
        (refused("columns-lacking", role="keep"), table, {"keep": ("zap",)}),
        (refused("too-few-rows", records=1), table.head(1), {}),
        (refused("too-few-rows", records=0), table.head(0), {}),
        (refused("reserved-column-name"), table.rename({"zip": COUNT}), {}),
    ):
        with refusal:
            synthesizer(**changes).fit_to(on(source), tmp_path / "out", seed=1)
        assert list(tmp_path.iterdir()) == []


def test_a_table_in_memory_is_sent_to_fit(tmp_path: Path) -> None:
    with refused("table-in-memory", kind="DataFrame"):
        synthesizer().fit_to(households(40), tmp_path / "out", seed=1)
    with pytest.raises(InputError, match=r"must be a pandas, polars or"):
        synthesizer().fit_to(3, tmp_path / "out", seed=1)


@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
def test_what_an_engine_says_of_values_stays_inside(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    secret = households(40).with_columns(zip=pl.lit("SECRET-ZIP"))
    connection = duckdb.connect()
    connection.register("secret", secret.to_arrow())
    cast = connection.sql("select visits, region, cast(zip as integer) as zip from secret")
    plan = secret.lazy().with_columns(pl.col("zip").cast(pl.Int64))
    for lazy in (cast, plan):
        for call in (
            lambda table: synthesizer(keep=("zip",)).fit_to(table, tmp_path / "out", seed=1),
            lambda table: synthesizer(formula="~ zip").fit_to(table, tmp_path / "out", seed=1),
            lambda table: synthesizer(formula="~ zip").fit(table, seed=1),
        ):
            with refused("file-cells-unread") as caught:
                call(lazy)
            assert "SECRET" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
def test_a_table_that_changes_between_its_readings_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    table = households(400)
    table.write_csv(path)

    class Meddler:
        def fit(self, _label: str) -> None:
            table.with_columns(visits=pl.col("visits") + 1000).write_csv(path)

        def line(self, _text: str) -> None:
            return

    with pytest.raises(InputError, match="The table changed while it was read"):
        synthesizer().fit_to(path, tmp_path / "out", seed=1, listener=Meddler())
    assert [place.name for place in tmp_path.iterdir()] == ["in.csv"]
