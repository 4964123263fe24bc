"""A written table holds its cells and nothing else that was in memory."""

import io
from pathlib import Path

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws import Column, Schema, synthesize
from pyvws.tables.files.hidden_values import with_sorted_levels, without_hidden, without_notes
from pyvws.tables.files.read import write_table
from pyvws.tables.files.write import table_writer

_TEXT = "CANARY-Hq52-and-some-more-to-be-long"
_NUMBER = 97_531_864_209_753


def _in_memory(table: pa.Table) -> bytes:
    """What a table's arrays hold, dictionaries and children among it."""
    found = b""
    arrays = [chunk for column in table.columns for chunk in column.chunks]
    while arrays:
        array = arrays.pop()
        found += b"".join(part.to_pybytes() for part in array.buffers() if part is not None)
        if pa.types.is_dictionary(array.type):
            arrays.append(array.dictionary)
    return found


def _blanked(values: list[object], secret: object) -> pl.DataFrame:
    """A column that held a secret, which a user then made missing, the usual way."""
    full = pl.DataFrame({"kept": [*values, secret]})
    hide = pl.when(pl.col("kept") == pl.lit(secret, full.schema["kept"])).then(None)
    return full.with_columns(hide.otherwise(pl.col("kept")).alias("kept"))


def _masked_pandas() -> pl.DataFrame:
    frame = pd.DataFrame({"kept": pd.array([1, 2, _NUMBER], dtype="Int64")})
    frame.loc[2, "kept"] = pd.NA
    return nw.from_native(frame, eager_only=True).to_polars()


def _masked_arrow() -> pl.DataFrame:
    values = pa.array(np.array([1, 2, _NUMBER]), mask=np.array([False, False, True]))
    return nw.from_native(pa.table({"kept": values}), eager_only=True).to_polars()


HIDING = {
    "number": lambda: _blanked([1, 2], _NUMBER),
    "real": lambda: _blanked([1.5, 2.5], float(_NUMBER)),
    "text": lambda: _blanked(["a", "b"], _TEXT),
    "list": lambda: _blanked([["a"], ["b"]], [_TEXT]),
    "structure": lambda: _blanked([{"a": "b"}], {"a": _TEXT}),
    "part of a list": lambda: pl.DataFrame({"kept": [["a"], ["b"], [_TEXT]]}).head(2),
    "masked in pandas": _masked_pandas,
    "masked in Arrow": _masked_arrow,
    "level without a record": lambda: pl.DataFrame(
        {"kept": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b", _TEXT]))}
    ),
}
_SPELLINGS = [_TEXT.encode(), np.int64(_NUMBER).tobytes(), np.float64(_NUMBER).tobytes()]


def _holds(content: bytes) -> bool:
    return any(spelling in content for spelling in _SPELLINGS)


def _files(frame: pl.DataFrame, folder: Path, format: str) -> list[bytes]:
    """The file of each writer, unpacked by reading its columns' memory."""
    write_table(frame, folder / f"whole.{format}", format=format)
    with table_writer(folder / f"steps.{format}", format=format) as write:
        write(frame)
    paths = (folder / f"whole.{format}", folder / f"steps.{format}")
    return [
        path.read_bytes() + (_in_memory(_arrow_file(path)) if format == "arrow" else b"")
        for path in paths
    ]


def _arrow_file(path: Path) -> pa.Table:
    with pa.ipc.open_file(path) as file:
        return file.read_all()


@pytest.mark.parametrize("format", ["arrow", "parquet"])
@pytest.mark.parametrize("kind", HIDING)
def test_no_file_holds_what_no_cell_shows(kind: str, format: str, tmp_path: Path) -> None:
    frame = HIDING[kind]()
    assert not _holds(repr(frame.to_dicts()).encode())
    for content in _files(frame, tmp_path, format):
        assert not _holds(content)
    assert without_hidden(frame).to_dicts() == frame.to_dicts()


@pytest.mark.parametrize("kind", HIDING)
def test_the_search_finds_what_memory_hides(kind: str, tmp_path: Path) -> None:
    HIDING[kind]().write_ipc(tmp_path / "t.arrow", compat_level=pl.CompatLevel.oldest())
    content = (tmp_path / "t.arrow").read_bytes() + _in_memory(_arrow_file(tmp_path / "t.arrow"))
    assert _holds(content) == (kind != "part of a list")  # polars' own writer cuts that one.


@given(
    st.lists(
        st.tuples(st.booleans() | st.none(), st.integers(-9, 9) | st.none(), st.text(max_size=3)),
        min_size=9, max_size=20,
    ),
    st.integers(0, 8),
)  # fmt: skip
@settings(max_examples=60, derandomize=True)
def test_a_file_of_some_rows_is_that_of_a_table_of_these_rows(
    rows: list[tuple[object, ...]], first: int
) -> None:
    schema = {"truth": pl.Boolean, "number": pl.Int64, "text": pl.String}
    part = pl.DataFrame(rows, schema=schema, orient="row").slice(first, 5)
    fresh = pl.DataFrame(part.rows(), schema=schema, orient="row")
    made = []
    for frame in (part, fresh):
        made.append(io.BytesIO())
        bare = without_hidden(frame)
        bare.write_ipc(made[-1], compat_level=pl.CompatLevel.oldest())
        assert bare.equals(frame)
        assert bare.schema == frame.schema
    assert made[0].getvalue() == made[1].getvalue()


@pytest.mark.runs
def test_a_release_holds_no_blanked_cell_of_a_kept_column(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "visits": rng.poisson(20, 60),
            "town": [*(["a", "b"] * 29), _TEXT, _TEXT],
            "code": [*range(58), _NUMBER, _NUMBER],
        }
    )
    small = pl.col("code") == _NUMBER
    frame = frame.with_columns(
        pl.when(small).then(None).otherwise(pl.col(name)).alias(name) for name in ("town", "code")
    )
    release = synthesize(
        frame, outcome="visits", model="poisson", keep="all", datasets=1, draws=500, warmup=500,
        seed=1, mechanism="lw",
    )  # fmt: skip
    path = release.write(tmp_path / "out", format="arrow") / "release/synthetic-01.arrow"
    written = _arrow_file(path)
    assert written["town"].null_count == written["code"].null_count == 2
    assert not _holds(_in_memory(written))


_LEVELS = ["zeta", "mid", "alpha", "beta"]


def _categories(table: object) -> list[str]:
    if isinstance(table, pd.DataFrame):
        return list(table["town"].cat.categories)
    assert isinstance(table, pa.Table)
    return table["town"].combine_chunks().dictionary.to_pylist()


@pytest.mark.parametrize("keep_order", [False, True])
@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_levels_in_memory_tell_nothing_of_the_order_of_records(kind: str, keep_order: bool) -> None:
    towns = [_LEVELS[place] for place in np.random.default_rng(1).integers(0, 4, 60)]
    first_seen = list(dict.fromkeys(towns))
    outcome = np.random.default_rng(2).poisson(20, 60)
    if kind == "pandas":
        town = pd.Series(pd.Categorical(towns, categories=first_seen))
        frame: object = pd.DataFrame({"visits": outcome, "town": town})
        frame = frame.assign(rank=town.cat.as_ordered())
    else:
        parts = [pa.array(towns[:30]), pa.array(towns[30:])]
        town = pa.chunked_array([part.dictionary_encode() for part in parts])
        frame = pa.table({"visits": outcome, "town": town})
    release = synthesize(
        frame, outcome="visits", keep="all", mechanism="perturbed-histogram", range=(0, 99),
        epsilon=1, noise="seeded-float", datasets=1, keep_order=keep_order, seed=1,
    )  # fmt: skip
    (made,) = release.aligned()
    assert first_seen != sorted(_LEVELS) == _categories(made)
    assert (made["town"].tolist() if kind == "pandas" else made["town"].to_pylist()) == towns
    if kind == "pandas":  # An order that the table declares stays.
        assert list(made["rank"].cat.categories) == first_seen
        assert made["rank"].cat.ordered


def test_levels_of_several_kinds_and_other_tables_stay() -> None:
    levels = ["b", 2, 1]
    mixed = pd.DataFrame({"schema": [1, 2, 3], "town": pd.Categorical([2, "b", 1], levels)})
    assert with_sorted_levels(mixed)["town"].tolist() == [2, "b", 1]
    assert list(with_sorted_levels(mixed)["town"].cat.categories) != levels
    for other in (pd.DataFrame({"n": [1]}), pl.DataFrame({"n": [1]})):
        assert with_sorted_levels(other) is other


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_levels_of_a_public_column_stand_as_the_schema_has_them(kind: str) -> None:
    """Levels that the schema does not name follow, rising."""
    towns = ["m", "z", "a", "m"]
    if kind == "pandas":
        frame: object = pd.DataFrame({"town": pd.Categorical(towns, ["q", "z", "m", "b", "a"])})
    else:
        frame = pa.table({"town": pa.array(towns).dictionary_encode()})
    made = with_sorted_levels(frame, {"town": ("z", "a", "m", "unused")})
    expected = ["z", "a", "m", "b", "q"] if kind == "pandas" else ["z", "a", "m"]
    assert _categories(made) == expected
    assert (made["town"].tolist() if kind == "pandas" else made["town"].to_pylist()) == towns
    schema = Schema(
        {
            "town": Column(role="public", levels=("z", "a", "m")),
            "own": Column(model="table", levels=("x", "y")),
        }
    )
    more = {"town": (["z", "m", "a"] * 20), "own": ["x", "y"] * 30}
    table: object = pd.DataFrame({name: pd.Categorical(found) for name, found in more.items()})
    if kind == "arrow":
        table = pa.table({name: pa.array(x).dictionary_encode() for name, x in more.items()})
    release = synthesize(table, schema=schema, mechanism="unweighted", datasets=1, seed=1)
    assert _categories(release.datasets[0]) == ["z", "a", "m"]


@pytest.mark.parametrize("format", ["arrow", "parquet"])
def test_levels_in_a_file_stand_as_its_rows_have_them(format: str, tmp_path: Path) -> None:
    towns = [*_LEVELS, *(_LEVELS[place] for place in np.random.default_rng(1).integers(0, 4, 56))]
    frame = pl.DataFrame({"visits": range(60), "town": pl.Series(towns, dtype=pl.Enum(_LEVELS))})
    release = synthesize(
        frame, outcome="visits", keep="all", mechanism="perturbed-histogram", range=(0, 99),
        epsilon=1, noise="seeded-float", datasets=1, seed=1,
    )  # fmt: skip
    path = release.write(tmp_path / "out", format=format) / f"release/synthetic-01.{format}"
    table = _arrow_file(path) if format == "arrow" else pq.read_table(path)
    seen = list(dict.fromkeys(table["town"].to_pylist()))
    assert _categories(table) == seen != _LEVELS


def test_an_arrow_table_loses_its_notes_and_other_tables_stay() -> None:
    kept = {"kept": pa.array(["a", None]).dictionary_encode(), "n": pa.array([1, 2], pa.int8())}
    noted = [pa.field(name, values.type, metadata={"note": _TEXT}) for name, values in kept.items()]
    table = pa.table(list(kept.values()), schema=pa.schema(noted, metadata={"pandas": _TEXT}))
    bare = without_notes(table)
    assert bare.equals(pa.table(kept), check_metadata=True)
    assert not _holds(bare.schema.serialize().to_pybytes())
    for other in (pd.DataFrame({"n": [1]}), pl.DataFrame({"n": [1]})):
        assert without_notes(other) is other
    made = synthesize(
        pa.table({"y": pa.array(range(9, 60)), "kept": pa.array([1] * 51)}).replace_schema_metadata(
            {"note": _TEXT}
        ),
        outcome="y", keep="kept", mechanism="perturbed-histogram", range=(0, 99), epsilon=1, seed=1,
    )  # fmt: skip
    assert all(dataset.schema.metadata is None for dataset in made.datasets)
