"""Tables with a schema from every engine, with odd columns and names: the release of memory."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused
from test_lazy_release import ENGINES, On, confidential, dataset, on_duckdb

import pyvws as vws
from pyvws import Column, ConvergenceWarning, InputError, Schema
from pyvws.synthesis.settings_by_name import arranged
from pyvws.tables.files.labels import label_of

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:Dask support is moving:FutureWarning"),
]

SEED, N = 5, 60
_RNG = np.random.default_rng(1)
TABLE = pl.DataFrame(
    {
        "note": _RNG.permutation(N),
        "pay": _RNG.normal(9, 1, N).round(1),
        "sex": _RNG.choice(["f", "m"], N),
        "code": _RNG.integers(1, 4, N),
        "owner": _RNG.random(N) < 0.4,
    }
)
SEX = Column(role="public", levels=("f", "m"))
CODE = Column(model="nominal", levels=(1, 2, 3, 4))
OWNER = Column(model="nominal", levels=(False, True))
SCHEMA = Schema(
    {
        "sex": SEX,
        "code": CODE,
        "owner": OWNER,
        "pay": Column(model="normal", range=(0, 20), decimals=1),
    }
)
SHORT = Schema({"sex": SEX, "code": CODE})


def run(schema: Schema = SCHEMA, **changes: Any) -> vws.Synthesizer:
    quick = {"draws": 25, "warmup": 100, "chains": 1, "datasets": 1, "mechanism": "unweighted"}
    return vws.Synthesizer(**arranged({"schema": schema, **quick, **changes}))


def in_memory(table: Any, schema: Schema = SCHEMA) -> pl.DataFrame:
    made = run(schema).fit(table, seed=SEED).datasets[0]
    return nw.from_native(made, eager_only=True).to_polars()


@ENGINES
def test_an_engine_gives_what_memory_gives_on_the_sorted_table(on: On, tmp_path: Path) -> None:
    whole = run()
    statement = whole.fit_to(on(TABLE), tmp_path / "out", seed=SEED)
    memory = whole.fit(TABLE.sort("sex", "code", "owner", "pay"), seed=SEED)
    assert statement == memory.privacy
    assert statement["columns_synthesized"] == ["code", "owner", "pay"]
    assert dataset(tmp_path / "out").equals(memory.datasets[0])
    assert memory.datasets[0].columns == ["pay", "sex", "code", "owner"]
    collected = whole.fit(on(TABLE), seed=SEED)
    assert collected.privacy == memory.privacy
    made = nw.from_native(collected.datasets[0], eager_only=True).to_polars()
    assert made.equals(memory.datasets[0])


@ENGINES
def test_an_engine_weighs_each_record_as_memory_does(on: On, tmp_path: Path) -> None:
    """The fits may differ: a tally adds the weights in another order, so the last bits differ."""
    whole = run(mechanism="cw")
    statement = whole.fit_to(on(TABLE), tmp_path / "out", seed=SEED)
    memory = whole.fit(TABLE.sort("sex", "code", "owner", "pay"), seed=SEED)
    assert statement["guarantee"] == memory.privacy["guarantee"] == "asymptotic-dp"
    for name in ("risk", "weight"):
        found = confidential(tmp_path / "out", "records")[name]
        np.testing.assert_array_equal(found, memory.records[name])


def test_a_polars_plan_gives_what_memory_gives(tmp_path: Path) -> None:
    statement = run().fit_to(TABLE.lazy(), tmp_path / "out", seed=SEED)
    memory = run().fit(TABLE, seed=SEED)
    assert statement == memory.privacy
    assert dataset(tmp_path / "out").equals(memory.datasets[0])
    assert run().fit(TABLE.lazy(), seed=SEED).datasets[0].equals(memory.datasets[0])


_CODES, _OWNS = TABLE["code"].to_numpy(), TABLE["owner"].to_numpy()
COLUMNS: dict[str, tuple[Column, Any]] = {
    "whole numbers that may be empty": (CODE, pd.Series(_CODES, dtype="Int64")),
    "small whole numbers": (CODE, pd.Series(_CODES, dtype="int8")),
    "real numbers": (CODE, pd.Series(_CODES.astype(float))),
    "categories of numbers": (CODE, pd.Series(pd.Categorical(_CODES, [3, 1, 2]))),
    "categories of text": (CODE, pd.Series(pd.Categorical(_CODES.astype(str), list("312")))),
    "truth values": (OWNER, pd.Series(_OWNS)),
    "truth values that may be empty": (OWNER, pd.Series(_OWNS, dtype="boolean")),
    "categories of truth values": (OWNER, pd.Series(pd.Categorical(_OWNS))),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_a_category_of_any_type_is_drawn_alike_and_may_keep_its_type(
    case: str, tmp_path: Path
) -> None:
    column, values = COLUMNS[case]
    schema = Schema({"sex": SEX, "value": column})
    plain = TABLE.select("sex", value="code" if column is CODE else "owner")

    def labels(table: Any) -> list[str]:
        return [label_of(one) for one in nw.from_native(table, eager_only=True)["value"].to_list()]

    expected = labels(in_memory(plain, schema))
    frame = pd.DataFrame({"sex": TABLE["sex"].to_list(), "value": values})
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    made = run(schema, types="table").fit(frame, seed=SEED).datasets[0]
    assert labels(made) == expected
    if isinstance(values.dtype, pd.CategoricalDtype):
        assert [label_of(one) for one in made["value"].cat.categories] == sorted(
            column.levels or ()
        )
    else:
        assert made["value"].dtype == values.dtype
    made = run(schema, types="table").fit(arrow, seed=SEED).datasets[0]
    assert labels(made) == expected
    assert made.schema.field("value").type == arrow.schema.field("value").type
    duckdb = pytest.importorskip("duckdb")
    run(schema).fit_to(duckdb.connect().from_arrow(arrow), tmp_path / "out", seed=SEED)
    expected = labels(in_memory(plain.sort("sex", "value"), schema))
    assert labels(dataset(tmp_path / "out")) == expected


@pytest.mark.parametrize("name", ["has space", 'quo"te', "it's", "back`tick", "a,b", "a.b", "ä"])
def test_a_column_may_have_any_name(name: str, tmp_path: Path) -> None:
    named = {"sex": f"sex {name}", "code": name}
    table = TABLE.select("sex", "code").rename(named)
    schema = Schema({f"sex {name}": SEX, name: CODE})
    expected = in_memory(TABLE.select("sex", "code"), SHORT).rename(named)
    assert in_memory(table, schema).equals(expected)
    table.write_csv(tmp_path / "in.csv")
    run(schema).fit_to(tmp_path / "in.csv", tmp_path / "steps", seed=SEED)
    run(schema).fit(table, seed=SEED).write(tmp_path / "memory")
    for file in ("release/synthetic-01.csv", "release/privacy.json", "release/schema.toml"):
        steps = (tmp_path / "steps" / file).read_bytes()
        assert steps == (tmp_path / "memory" / file).read_bytes()
    run(schema).fit_to(on_duckdb(table), tmp_path / "duckdb", seed=SEED)
    expected = in_memory(TABLE.select("sex", "code").sort("sex", "code"), SHORT).rename(named)
    assert dataset(tmp_path / "duckdb").equals(expected)


def _given(kind: str, table: pl.DataFrame, folder: Path) -> Any:
    """The table as a plan, on DuckDB, or as a file."""
    if kind in ("plan", "duckdb"):
        return table.lazy() if kind == "plan" else on_duckdb(table)
    path = folder / f"in.{kind}"
    table.write_csv(path) if kind == "csv" else table.write_parquet(path)
    return path


@pytest.mark.parametrize("kind", ["plan", "duckdb", "csv", "parquet"])
def test_in_steps_a_message_counts_records(kind: str, tmp_path: Path) -> None:
    """Three of the records are wrong and equal, so a tally has one row for them."""

    x = Column(role="public", levels=(1, 2, 3, 4))
    real, counts = Column(model="normal", range=(0, 9)), Column(model="poisson")
    for column, value, y, refusal in (
        ("x", 777, CODE, refused("cells-unknown-levels", column="x", others=3)),
        ("y", 777, CODE, refused("cells-unknown-levels", column="y", others=3)),
        ("x", None, CODE, refused("cells-empty", column="x", empty_cells=3)),
        ("y", None, CODE, refused("cells-empty", column="y", empty_cells=3)),
        ("y", None, real, refused("column-missing-or-infinite", name="y", empty=3)),
        ("y", 777, real, refused("cells-outside-range", name="y", beyond=3)),
        ("y", -777, counts, refused("counts-negative", column="y", negative=3)),
    ):
        table = pl.DataFrame({"x": [1, 2, 3, 4] * 5, "y": [2, 3, 1, 4] * 5})
        wrong = pl.int_range(20).is_in([4, 8, 12])
        table = table.with_columns(
            pl.when(wrong).then(value).otherwise(pl.col(column)).alias(column)
        )
        folder = tmp_path / f"{column}-{value}-{y.model}"
        folder.mkdir()
        with refusal as caught:
            run(Schema({"x": x, "y": y})).fit_to(
                _given(kind, table, folder), folder / "out", seed=SEED, listener=Unused()
            )
        assert not (folder / "out").exists()
        assert "777" not in str(caught.value)


class Unused:
    """A listener of a run that must not begin."""

    def fit(self, _label: str) -> Any:
        raise AssertionError("a fit began")

    def line(self, _text: str) -> None:
        return


def test_in_memory_a_message_counts_the_same_records() -> None:
    empty = TABLE.with_columns(
        pl.when(pl.int_range(N) < 3).then(None).otherwise(pl.col("code")).alias("code")
    )
    for table in (empty, empty.to_pandas(), empty.to_arrow()):
        with refused("cells-empty", column="code", empty_cells=3):
            run().fit(table, seed=SEED)


ZERO = {"s\0ex": ["f", "m"] * 5, "code": [1, 2] * 5}


@pytest.mark.parametrize("kind", ["polars", "pandas", "arrow", "plan", "csv", "parquet"])
def test_a_zero_byte_in_a_name_is_refused(kind: str, tmp_path: Path) -> None:
    made: dict[str, Callable[[Any], Any]] = {"pandas": pd.DataFrame, "arrow": pa.table}
    table = made.get(kind, pl.DataFrame)(ZERO)
    whole = run(Schema({"code": CODE}))
    call: Callable[[], Any] = partial(whole.fit, table, seed=SEED)
    if kind in ("plan", "csv", "parquet"):
        source = _given(kind, table, tmp_path)
        call = partial(whole.fit_to, source, tmp_path / "out", seed=SEED)
    with refused("column-name-zero-byte", cut="columns 1"):
        call()
    assert not (tmp_path / "out").exists()


def test_tables_of_one_record_and_of_two_equal_ones(tmp_path: Path) -> None:
    one = TABLE.head(1)
    for call in (
        lambda: run().fit(one, seed=SEED),
        lambda: run().fit_to(one.lazy(), tmp_path / "one", seed=SEED),
        lambda: run().fit_to(on_duckdb(one), tmp_path / "one", seed=SEED),
    ):
        with pytest.raises(InputError, match="at least 2 records"):
            call()
    two = pl.concat([one, one])
    memory = run().fit(two, seed=SEED)
    run().fit_to(two.lazy(), tmp_path / "two", seed=SEED)
    assert memory.datasets[0].height == 2
    assert dataset(tmp_path / "two").equals(memory.datasets[0])
    with refused("bounds-all-equal"):
        run(mechanism="lw").fit_to(two.lazy(), tmp_path / "lw", seed=SEED)
    assert not (tmp_path / "lw").exists()
