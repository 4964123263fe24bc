"""Files of columns and folders of their parts, as one table each."""

import hashlib
import subprocess
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
from refusals import refused

from pyvws.errors import InputError
from pyvws.tables.files.read import (
    file_digest,
    file_kind,
    read_table,
    rows_and_columns,
    write_table,
)
from pyvws.tables.files.steps import open_large, rough_size
from pyvws.tables.files.write import table_writer

TABLE = pl.DataFrame(
    {
        "id": ["007", None, "010", "0"],
        "y": [1, 2, 30, 4],
        "kind": pl.Series(["a", "b", "a", None], dtype=pl.Categorical),
        "urban": [True, False, None, True],
        "share": [0.5, 1.5, None, -0.0],
    },
    schema_overrides={"y": pl.UInt16},
)


def parted(folder: Path, kind: str, names: tuple[str, str] = ("b", "a")) -> Path:
    """The first two rows in the part named first, the others in the second."""
    for rows, name in ((TABLE.head(2), names[0]), (TABLE.slice(2), names[1])):
        path = folder / f"{name}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_table(rows, path, format=kind)
    return folder


@pytest.mark.parametrize("suffix", ["arrow", "feather", "ARROW"])
def test_an_arrow_file_keeps_its_types(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    write_table(TABLE, path, format="arrow")
    table = read_table(path)
    assert table.format == "arrow"
    assert table.frame.equals(TABLE)
    assert table.frame.schema == TABLE.schema
    assert table.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert open_large(path).schema == TABLE.schema
    assert rough_size(path) == (4, 5)


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_feather_files_of_pyarrow_are_read_and_ours_by_pyarrow(tmp_path, compression):
    rows = TABLE.drop("kind")
    theirs, ours = tmp_path / "theirs.feather", tmp_path / "ours.arrow"
    pyarrow.feather.write_feather(rows.to_arrow(), theirs, compression=compression)
    assert read_table(theirs).frame.equals(rows)
    write_table(rows, ours, format="arrow")
    assert pl.from_arrow(pyarrow.feather.read_table(ours)).equals(rows)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_folder_is_its_parts_by_name(tmp_path, kind):
    folder = parted(tmp_path / "table", kind)
    for mark in ("_SUCCESS", "README.txt", f".hidden.{kind}", f"_metadata.{kind}"):
        (folder / mark).write_text("no table")
    in_order = pl.concat([TABLE.slice(2), TABLE.head(2)])
    assert file_kind(folder) == kind
    table = read_table(folder)
    assert table.frame.equals(in_order)
    assert table.format == kind
    large = open_large(folder)
    assert large.schema == TABLE.schema
    assert pl.concat(list(large.batches(TABLE.columns, 3))).equals(in_order)
    assert table.sha256 == large.digest()
    assert rough_size(folder) == (4, 5)


def test_the_digest_of_a_folder_is_that_of_what_sha256sum_prints(tmp_path):
    folder = parted(tmp_path / "table", "parquet", ("x/b", "a"))
    sums = subprocess.run(
        ["sha256sum", "a.parquet", "x/b.parquet"], cwd=folder, capture_output=True, check=True
    )
    assert file_digest(folder) == hashlib.sha256(sums.stdout).hexdigest()


def test_folders_named_key_value_make_columns(tmp_path):
    base = tmp_path / "run=3" / "table"  # A name above the table is none of its columns.
    parted(base, "parquet", ("year=2020/area=a%20b/p", "year=2019/area=0/p"))
    frame = read_table(base).frame
    assert frame.columns == [*TABLE.columns, "year", "area"]
    assert frame["year"].to_list() == [2019, 2019, 2020, 2020]
    assert frame["area"].to_list() == ["0", "0", "a b", "a b"]
    assert frame.select(TABLE.columns).equals(pl.concat([TABLE.slice(2), TABLE.head(2)]))
    assert open_large(base).schema == frame.schema
    parted(tmp_path / "zeros", "parquet", ("code=01/p", "code=__HIVE_DEFAULT_PARTITION__/p"))
    assert read_table(tmp_path / "zeros").frame["code"].to_list() == ["01", "01", None, None]


def test_names_are_no_patterns(tmp_path):
    path = tmp_path / "t[1]*.parquet"
    write_table(TABLE, path, format="parquet")
    (tmp_path / "t1.parquet").write_bytes(b"another")
    assert read_table(path).frame.equals(TABLE)


@pytest.mark.parametrize("read", [read_table, open_large])
def test_folders_that_are_refused(tmp_path, read):
    (tmp_path / "empty").mkdir()
    with refused("folder-of-several-kinds", path="empty", kinds="none"):
        read(tmp_path / "empty")
    both = parted(parted(tmp_path / "both", "arrow"), "parquet")
    with refused("folder-of-several-kinds", path="both", kinds="arrow and parquet"):
        read(both)
    broken = parted(tmp_path / "broken", "parquet")
    (broken / "0.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match=r"^broken: not a readable parquet file \("):
        read(broken)


@pytest.mark.parametrize("read", [read_table, open_large])
@pytest.mark.parametrize("place", ["other.parquet", "key=1/other.parquet"])
def test_a_folder_of_several_tables_is_told_apart_from_a_damaged_one(tmp_path, read, place):
    mixed = parted(tmp_path / "mixed", "parquet")
    (mixed / place).parent.mkdir(exist_ok=True)
    TABLE.select(other=1).write_parquet(mixed / place)
    with pytest.raises(
        InputError, match="parts of a folder need the same columns, and each part must be whole"
    ):
        read(mixed)


@pytest.mark.parametrize("read", [read_table, open_large])
@pytest.mark.parametrize("content", [b"", b"ARROW1", b"a,b\n1,2\n"])
def test_an_arrow_file_that_is_none(tmp_path, read, content):
    path = tmp_path / "t.arrow"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"^t.arrow: not a readable arrow file \(\w+\)\."):
        read(path)


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
def test_batches_make_one_table(tmp_path, format):
    rows = TABLE.drop("kind") if format == "csv" else TABLE
    path = tmp_path / f"t.{format}"
    with table_writer(path, format=format, mode=0o600) as write:
        for at in (0, 1, 3):
            write(rows.slice(at, 1 if at == 0 else 2).head(rows.height - at))
    assert path.stat().st_mode & 0o777 == 0o600
    whole = tmp_path / f"whole.{format}"
    if format == "arrow":
        rows = rows.with_columns(pl.col("kind").cast(pl.String))
    write_table(rows, whole, format=format)
    assert read_table(path).as_written.equals(read_table(whole).as_written)
    with pytest.raises(FileExistsError), table_writer(path, format=format):
        raise AssertionError
    if format == "arrow":
        with pa.ipc.open_file(path) as file:
            assert file.num_record_batches == 3


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
def test_a_column_that_a_file_has_no_type_for_is_named(tmp_path, format):
    value = 2**100 + 7
    column = pl.Series("odd", [value, 1], dtype=pl.Int128)
    rows = pl.DataFrame({"y": [1, 2], "odd": [[3], [4]] if format == "csv" else column})
    with (
        refused("values-no-file-holds", strange="odd") as raised,
        table_writer(tmp_path / "t", format=format) as write,
    ):
        write(rows)
    assert str(value) not in str(raised.value)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_cells_of_a_type_that_only_polars_reads_are_counted_roughly(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    values = [7**k % 2**120 for k in range(4000)]
    write_table(pl.DataFrame({"big": pl.Series(values, dtype=pl.Int128)}), path, format=kind)
    rows, columns = rows_and_columns(path, kind)
    assert columns == 1
    assert 1000 < rows < 16_000
    assert read_table(path).frame["big"].to_list() == values
