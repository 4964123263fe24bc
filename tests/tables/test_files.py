"""Tables on disk: typed for modelling, as written for the release, refused in full sentences."""

import hashlib
import os
from pathlib import Path

import polars as pl
import pytest
from refusals import refused

from pyvws.errors import InputError
from pyvws.tables.files.frame import check_columns, open_frame
from pyvws.tables.files.headers import display_names, named, record_instead
from pyvws.tables.files.read import read_table, write_table
from pyvws.tables.files.steps import COUNT, open_large, rough_size

CELLS = b"\n".join(
    [
        b"id,visits,note,when",
        b'007,1,"a, b",2024-01-02',
        b'010,2,"say ""hi""",NA',
        b"0,30,  two  ,2024-03-04",
        b"",
    ]
)


def put(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    return path


def test_a_csv_is_typed_and_also_kept_as_written(tmp_path):
    table = read_table(put(tmp_path, "t.csv", CELLS))
    assert table.frame["id"].to_list() == [7, 10, 0]
    assert table.frame["visits"].to_list() == [1, 2, 30]
    assert table.frame["when"].to_list() == ["2024-01-02", None, "2024-03-04"]
    assert table.as_written.to_dict(as_series=False) == {
        "id": ["007", "010", "0"],
        "visits": ["1", "2", "30"],
        "note": ["a, b", 'say "hi"', "  two  "],
        "when": ["2024-01-02", "NA", "2024-03-04"],
    }
    assert table.format == "csv"
    assert table.sha256 == hashlib.sha256(CELLS).hexdigest()


def test_as_written_goes_through_a_file_unchanged(tmp_path):
    table = read_table(put(tmp_path, "t.csv", CELLS))
    write_table(table.as_written, tmp_path / "again.csv", format="csv")
    assert (tmp_path / "again.csv").read_bytes() == CELLS


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("read", [read_table, open_large])
def test_utf_16_is_named(tmp_path, encoding, read):
    text = CELLS.decode().replace("hi", "h\u00e9")
    path = put(tmp_path, "t.csv", text.encode(encoding))
    with refused("file-utf-16"):
        read(path)
    rough_size(path)
    read(put(tmp_path, "t.csv", text.encode("utf-8-sig")))


SPACED = b'"id" "pay" "note"\n"007" 1.5 "a, b"\n"010" NA "say ""hi"""\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.txt", SPACED),
        ("t.TXT", SPACED.replace(b" ", b"\t").replace(b",\t", b", ").replace(b"y\t", b"y ")),
        ("t.tsv", b'id\tpay\tnote\n007\t1.5\ta, b\n010\tNA\tsay "hi"\n'.replace(b'"', b"'")),
        ("t.txt", b'id,pay,note\n007,1.5,"a, b"\n010,NA,"say ""hi"""\n'),
    ],
)
def test_text_with_tabs_or_spaces_is_read_as_a_csv(tmp_path, name, content):
    path = put(tmp_path, name, content)
    table, large = read_table(path), open_large(path)
    assert table.format == large.format == "csv"
    assert table.frame["id"].to_list() == [7, 10]
    assert table.frame["pay"].to_list() == [1.5, None]
    assert table.as_written["id"].to_list() == ["007", "010"]
    notes = [one.replace("'", '"') for one in table.as_written["note"]]
    assert notes == ["a, b", 'say "hi"']
    assert large.written.collect().equals(table.as_written)
    assert dict(large.schema) == dict(table.frame.schema)
    assert rough_size(path)[1] == 3


def test_empty_cells_and_na_are_missing_in_numbers(tmp_path):
    table = read_table(put(tmp_path, "t.CSV", b"a,b\nNA,1\n,NA\n3,\n"))
    assert table.frame["a"].to_list() == [None, None, 3]
    assert table.frame["b"].to_list() == [1, None, None]
    assert table.frame.dtypes == [pl.Int64, pl.Int64]
    assert table.as_written["a"].to_list() == ["NA", None, "3"]


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfid,y\n1,2\n3,4\n",
        b"id,y\r\n1,2\r\n3,4\r\n",
        b"id,y\n1,2\n3,4",
        b'"id","y"\n"1","2"\n"3","4"\n',
    ],
)
def test_byte_order_mark_line_ends_and_quotes(tmp_path, content):
    frame = read_table(put(tmp_path, "t.csv", content)).frame
    assert frame.columns == ["id", "y"]
    assert frame.rows() == [(1, 2), (3, 4)]


def test_quoted_line_breaks_stay_inside_their_cell(tmp_path):
    table = read_table(put(tmp_path, "t.csv", b'a,b\n"one\ntwo",3\nx,4\n'))
    assert table.as_written["a"].to_list() == ["one\ntwo", "x"]


def test_quoted_marks_in_a_header_part_no_cells(tmp_path):
    assert read_table(put(tmp_path, "t.csv", b'"a;b"\n1\n2\n')).frame.columns == ["a;b"]
    assert read_table(put(tmp_path, "t.csv", b'a,"x;y;z"\n1,2\n')).frame.columns == ["a", "x;y;z"]


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\r\n\r\n\r\n"])
def test_empty_lines_at_the_end_are_no_records(tmp_path, end):
    """As R's read.csv has it, in memory and in steps."""
    path = put(tmp_path, "t.csv", f"a,b\n1,x\n2,y{end}".encode())
    table = read_table(path)
    assert table.frame.rows() == [(1, "x"), (2, "y")]
    assert table.as_written.rows() == [("1", "x"), ("2", "y")]
    large = open_large(path)
    assert large.written.collect().rows() == [("1", "x"), ("2", "y")]
    assert large.tally(["a", "b"])[1].drop(COUNT).rows() == [(1, "x"), (2, "y")]


def test_one_column_may_have_an_empty_cell(tmp_path):
    assert read_table(put(tmp_path, "t.csv", b"a\n1\n\n2\n")).frame["a"].to_list() == [1, None, 2]


@pytest.mark.parametrize("suffix", ["parquet", "pq"])
def test_parquet_keeps_its_types(tmp_path, suffix):
    frame = pl.DataFrame({"id": ["007", None], "y": [1, 2]}, schema_overrides={"y": pl.UInt16})
    path = tmp_path / f"t.{suffix}"
    write_table(frame, path, format="parquet")
    table = read_table(path)
    assert table.format == "parquet"
    assert table.frame.equals(frame)
    assert table.frame.schema == frame.schema
    assert table.as_written.equals(frame)


UNREADABLE = pytest.raises(InputError, match=r"^t.csv: not a readable csv file \(\w+\). A csv must")
PARQUET = pytest.raises(InputError, match=r"^t.parquet: not a readable parquet file \(\w+\). Write")
UNEVEN = "rows-of-other-length"


@pytest.mark.parametrize(
    ("name", "content", "refusal"),
    [
        ("t.xlsx", b"a\n1\n", refused("file-suffix")),
        ("t.txt", b'"a" "b"\n"1" 1 2\n"2" 3 4\n', refused(UNEVEN)),
        ("t.txt", b"id;pay\n1;2,5\n2;3,5\n", refused("file-separator", other=";")),
        ("t.txt", b"my id;pay\n1;2\n", refused("file-separator", other=";")),
        ("t.tsv", b"id | pay\n1 | 2\n", refused("file-separator", other="|")),
        ("t.csv", b"id|pay\n1|2\n", refused("file-separator", other="|")),
        ("t.csv", b"id;pay\n1;2,5\n2;3,5\n", refused("file-separator", other=";")),
        ("t.csv", b"id\tpay\n1\t2,5\n2\t3,5\n", refused("file-separator", spelling="a tab")),
        ("t.csv", b"", UNREADABLE),
        ("t.csv", b"\n\n", UNREADABLE),
        ("t.csv", "id,y\nJosé,1\n".encode("latin-1"), UNREADABLE),
        ("t.csv", b"a,b,a\n1,2,3\n", refused("header-names-twice", twice="columns 1, 3")),
        ("t.csv", b'a,"a"\n1,2\n', refused("header-names-twice", twice="columns 1, 2")),
        ("t.csv", b"a,b\n1,2\n3\n4,5\n", refused(UNEVEN, uneven="1 (row 2)")),
        ("t.csv", b"a,b\n1,2,3\n4,5\n6,7,8\n", refused(UNEVEN, uneven="2 (rows 1 and 3)")),
        ("t.csv", b"a,b\n1,2\n\n3,4\n", refused(UNEVEN, uneven="1 (row 2)")),
        ("t.parquet", b"", PARQUET),
        ("t.parquet", b"a,b\n1,2\n", PARQUET),
    ],
)
def test_files_that_are_refused(tmp_path, name, content, refusal):
    with refusal:
        read_table(put(tmp_path, name, content))


@pytest.mark.parametrize("name", ["gone.csv", "gone"])
def test_a_file_that_is_not_there(tmp_path, name):
    path = tmp_path / name
    with refused("file-cannot-be-read"):
        read_table(path)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_a_folder_or_a_pipe_is_no_table(tmp_path, make):
    path = tmp_path / "t.csv"
    make(path)
    for read in (read_table, open_large, rough_size):
        with refused("not-a-plain-file"):
            read(path)


def test_lines_that_end_in_two_ways_are_not_taken_for_one(tmp_path):
    with refused("rows-run-together"):
        read_table(put(tmp_path, "t.csv", b"a\n1\r2\n3\n"))


def test_a_first_record_in_place_of_names_is_not_shown(tmp_path):
    """Without a header its values would stand in messages as the names of columns."""
    headless = read_table(put(tmp_path, "t.csv", b"7,Ann\n8,Bob\n9,Joe\n")).frame
    for table in (headless, pl.DataFrame({"pay;Ann": ["7;Bob", "8;Joe"]})):
        frame = open_frame(table)
        with refused("columns-lacking") as caught:
            check_columns(frame, ["pay"], role="outcome")
        assert "Ann" not in str(caught.value)
    with refused("header-names-twice", twice="columns 2, 3"):
        read_table(put(tmp_path, "t.csv", b"7,Ann,Ann\n8,Bob,Joe\n"))


def test_a_long_name_hides_itself_alone():
    """It may be a question, or the text of a first record: the other names stay."""
    question = "How content are you on the whole with the place in which you live now"
    table = pl.DataFrame({"pay": [1.0, 2.0], question: [1, 2], "town": ["a", "b"]})
    for asked, said in (("zzzz", "It has: 'pay', column 2, 'town'."), ("towns", "'town'?")):
        with pytest.raises(InputError) as caught:
            check_columns(open_frame(table), [asked], role="outcome")
        assert said in str(caught.value)
    with pytest.raises(InputError) as caught:
        check_columns(open_frame(table), [f"{question}?"], role="outcome")
    assert caught.value.args[0].count(question) == 1  # The user's own word, and no more.
    with refused("columns-lacking", role="dataset"):
        check_columns(
            open_frame(table.select("pay")), [question], role="dataset", header=table.columns
        )
    assert named([question, "pay"], table.columns) == "column 2, pay"
    assert display_names(table.columns)[question] == "column 2"
    assert not record_instead(table.columns)
    assert named(["pay"], [*table.columns, "1999"]) == "columns 1"
