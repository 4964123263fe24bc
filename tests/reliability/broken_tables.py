"""Tables that are broken in known ways, as the bytes of a file."""

import csv
import datetime
import decimal
import io
import os
import random
from collections.abc import Callable
from pathlib import Path

import polars as pl

__all__ = ["TEXT_CANARY", "canaries", "write_table_file"]

TEXT_CANARY = "Kq7Canary"
NUMBER_CANARY = 86753098
"""Planted in the cells of every table: neither may stand in a message."""

Cells = list[list[str]]
Mutation = Callable[[random.Random, Cells], None]
ByteMutation = Callable[[random.Random, bytes], bytes]

_OUTCOMES: dict[str, Callable[[random.Random], str]] = {
    "count": lambda rng: str(int(rng.expovariate(1 / 20))),
    "real": lambda rng: f"{rng.gauss(0, 3):.3f}",
    "positive": lambda rng: f"{rng.lognormvariate(2, 1):.3f}",
    "binary": lambda rng: str(rng.randrange(2)),
    "level": lambda rng: str(rng.randrange(1, 4)),
    "share": lambda rng: f"{rng.uniform(0.05, 0.95):.3f}",
    "truth": lambda rng: rng.choice(["true", "false"]),
}
_ODD_NAMES = (
    "a b", "y~x", "x^2", "`x`", "I(x)", "1", "", " ", "größe", "收入", "x:g", "a'b", 'q"q', "-1",
    "np", "C", "log", "__import__", "if", "π", "x\ty", "x\ny", "e\u0301", "\u202ey", "y,x", "*",
    "chain", "draw", "weight", "NA", "records of this kind in the table", "\\", "%s", "{x}", "$",
)  # fmt: skip
_ODD_CELLS = (
    "", "NA", "NaN", "nan", "inf", "-inf", "1e400", "-1e400", "1e-400", "-3", "0", "007", "1,5",
    "1.0", "0.5", "2020-01-01", "2020-01-01T00:00:00", "12:30", "true", "x", "\x00", " ", "1_000",
    "0x1F", "1e308", "99999999999999999999999", "-9223372036854775809", "٣", "½", "+1", "1e5", "'",
    '"', "#N/A", "None", "null", "=1+1", "\u00a0", "\ufeff", "9007199254740993", "5e-324",
)  # fmt: skip


def canaries() -> tuple[str, ...]:
    """What no message may hold."""
    return (TEXT_CANARY.lower(), str(NUMBER_CANARY))


def write_table_file(
    rng: random.Random, folder: Path, name: str, *, outcome: str | None = None
) -> tuple[Path, list[str]]:
    """Write a table that is whole or broken somewhere; its path and the names of its columns.

    `outcome` is the kind of the outcome's values, any one without it.
    """
    header, rows = _cells(rng, outcome)
    kind = rng.choices(["csv", "parquet", "place"], [8, 3, 1])[0]
    if kind == "parquet":
        path = folder / f"{name}.parquet"
        path.write_bytes(_parquet(rng, header, rows))
        return path, header
    cells = [header, *rows]
    for mutation in rng.sample(_MUTATIONS, rng.choices([0, 1, 2, 3], [10, 6, 2, 1])[0]):
        mutation(rng, cells)
    content = _csv_bytes(rng, cells)
    if rng.random() < 0.1:
        content = rng.choice(_BYTE_MUTATIONS)(rng, content)
    path = folder / f"{name}.csv"
    if kind == "place":
        return _odd_place(rng, folder, name, content), header
    path.write_bytes(content)
    return path, cells[0] if cells else header


def _cells(rng: random.Random, kind: str | None) -> tuple[list[str], Cells]:
    """Outcome y, number x, category g, and columns of canaries that nothing names."""
    n = rng.choices([0, 1, 2, 3, 8, 20], [1, 2, 2, 2, 6, 20])[0]
    outcome = _OUTCOMES[kind or rng.choice(list(_OUTCOMES))]
    rows = [
        [
            outcome(rng),
            f"{rng.gauss(0, 1):.3f}",
            rng.choice("abc"),
            f"{TEXT_CANARY}-{row:04d}",
            str(NUMBER_CANARY),
        ]
        for row in range(n)
    ]
    return ["y", "x", "g", "person", "code"], rows


def _place(rng: random.Random, cells: Cells) -> tuple[int, int] | None:
    if len(cells) < 2 or not cells[-1]:
        return None
    row = rng.randrange(1, len(cells))
    return (row, rng.randrange(min(3, len(cells[row])))) if cells[row] else None


def _odd_cell(rng: random.Random, cells: Cells) -> None:
    if at := _place(rng, cells):
        cells[at[0]][at[1]] = rng.choice(_ODD_CELLS)


def _odd_column(rng: random.Random, cells: Cells) -> None:
    """One odd value throughout, or several in turn."""
    if at := _place(rng, cells):
        values = rng.sample(_ODD_CELLS, rng.choice([1, 1, 2, 5]))
        for number, row in enumerate(cells[1:]):
            if at[1] < len(row):
                row[at[1]] = values[number % len(values)]


def _canary_column(rng: random.Random, cells: Cells) -> None:
    """The outcome, the number or the category holds canaries, one record or all."""
    at = _place(rng, cells)
    if at is None:
        return
    value = rng.choice([str(NUMBER_CANARY), f"{TEXT_CANARY}", f"-{NUMBER_CANARY}"])
    for number, row in enumerate(cells[1:]) if rng.random() < 0.5 else [(0, cells[at[0]])]:
        if at[1] < len(row):
            row[at[1]] = f"{value}{number}" if rng.random() < 0.5 else value


def _huge_field(rng: random.Random, cells: Cells) -> None:
    if at := _place(rng, cells):
        cells[at[0]][at[1]] = rng.choice(["9", "z", TEXT_CANARY]) * rng.choice([400, 140_000])


def _ragged(rng: random.Random, cells: Cells) -> None:
    row = rng.choice(cells)
    if rng.random() < 0.5 and row:
        row.pop()
    else:
        row.extend(["more" if row is cells[0] else TEXT_CANARY] * rng.choice([1, 3]))


def _twice(rng: random.Random, cells: Cells) -> None:
    if cells[0]:
        cells[0][rng.randrange(len(cells[0]))] = rng.choice(cells[0])


def _odd_name(rng: random.Random, cells: Cells) -> None:
    if cells[0]:
        cells[0][rng.randrange(min(3, len(cells[0])))] = rng.choice(_ODD_NAMES)


def _no_rows(rng: random.Random, cells: Cells) -> None:
    del cells[rng.choice([1, 1, 2]) :]


def _equal_rows(_rng: random.Random, cells: Cells) -> None:
    for row in cells[2:]:
        row[:] = cells[1]


def _shuffled_columns(rng: random.Random, cells: Cells) -> None:
    order = rng.sample(range(len(cells[0])), len(cells[0]))
    if all(len(row) == len(order) for row in cells):
        cells[:] = [[row[k] for k in order] for row in cells]


def _one_column(_rng: random.Random, cells: Cells) -> None:
    cells[:] = [row[:1] for row in cells]


def _many_columns(rng: random.Random, cells: Cells) -> None:
    """A header of up to 100,000 columns."""
    more = rng.choices([300, 5_000, 100_000], [20, 4, 1])[0]
    del cells[4:]
    cells[0].extend(f"v{k}" for k in range(more))
    for row in cells[1:]:
        row.extend(["1"] * more)


def _blank_rows(rng: random.Random, cells: Cells) -> None:
    for _ in range(rng.choice([1, 3])):
        cells.insert(rng.randrange(len(cells) + 1), [])


def _scaled(rng: random.Random, cells: Cells) -> None:
    """A number's unit is far from 1."""
    if at := _place(rng, cells):
        power = rng.choice(["e300", "e150", "e-300", "e15", "000000000000"])
        for row in cells[1:]:
            if at[1] < len(row):
                row[at[1]] += power


def _signs_of_formulas(rng: random.Random, cells: Cells) -> None:
    if at := _place(rng, cells):
        for row in cells[1:]:
            if at[1] < len(row):
                row[at[1]] = rng.choice(["a:b", "T.a", "[T.a]", "a b", "~", "+", "é", "\u202e"])


_MUTATIONS: tuple[Mutation, ...] = (
    _odd_cell, _odd_cell, _odd_column, _odd_column, _canary_column, _canary_column, _huge_field,
    _ragged, _twice, _odd_name, _odd_name, _no_rows, _equal_rows, _shuffled_columns, _one_column,
    _many_columns, _blank_rows, _scaled, _signs_of_formulas,
)  # fmt: skip


def _csv_bytes(rng: random.Random, cells: Cells) -> bytes:
    text = io.StringIO(newline="")
    ends = rng.choices(["\n", "\r\n", "\r", "\n\n", "\u2028"], [24, 4, 1, 1, 1])[0]
    writer = csv.writer(
        text,
        delimiter=rng.choices([",", ";", "\t", "|"], [40, 2, 1, 1])[0],
        lineterminator=ends,
        quoting=rng.choices([csv.QUOTE_MINIMAL, csv.QUOTE_ALL], [4, 1])[0],
    )
    for row in cells:
        if row:
            writer.writerow(row)
        else:
            text.write(ends)
    codecs = ["utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-32", "cp500", "utf-7"]
    codec = rng.choices(codecs, [40, 3, 2, 2, 1, 1, 1])[0]
    return text.getvalue().encode(codec, errors="replace")


def _cut(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _flipped(rng: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 5, 50]) if changed else 0):
        changed[rng.randrange(len(changed))] = rng.choice([0, 0xFF, 0x22, rng.randrange(256)])
    return bytes(changed)


def _inserted(rng: random.Random, content: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    odd = (b"\0", b'"', b"\xff\xfe", b"\xc3", b"\r", b"\n\n\n", b",,,", b"\x1a", b"\xef\xbb\xbf")
    return content[:at] + rng.choice(odd) + content[at:]


_BYTE_MUTATIONS: tuple[ByteMutation, ...] = (
    _cut,
    _flipped,
    _inserted,
    lambda _rng, _content: b"",
    lambda rng, _content: rng.choice([b"\n", b"\r\n\r\n", b"\0" * 40, b'"', b",", b"\xef\xbb\xbf"]),
    lambda rng, _content: rng.randbytes(rng.choice([1, 20, 3000])),
    lambda _rng, content: b"PAR1" + content + b"PAR1",
    lambda _rng, content: content.partition(b"\n")[2] or content,
    lambda _rng, content: content.rstrip(b"\r\n"),
)


def _parquet(rng: random.Random, header: list[str], rows: Cells) -> bytes:
    """Columns of types that a csv cannot have, whole or with broken bytes."""
    n = len(rows)
    columns = {name: [row[k] for row in rows] for k, name in enumerate(header)}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(header, pl.String)).with_columns(
        pl.col("y", "x").replace({"true": "1", "false": "0"}).cast(pl.Float64)
    )
    day = datetime.date(2020, 1, 1)
    odd = (
        pl.Series([day] * n, dtype=pl.Date),
        pl.Series([datetime.datetime(2020, 1, 1)] * n, dtype=pl.Datetime),
        pl.Series([datetime.timedelta(1)] * n, dtype=pl.Duration),
        pl.Series([datetime.time(1)] * n, dtype=pl.Time),
        pl.Series([decimal.Decimal("1.5")] * n, dtype=pl.Decimal(10, 2)),
        pl.Series([[1.0, 2.0]] * n, dtype=pl.List(pl.Float64)),
        pl.Series([{"a": 1}] * n, dtype=pl.Struct({"a": pl.Int64})),
        pl.Series([b"\xff"] * n, dtype=pl.Binary),
        pl.Series([None] * n, dtype=pl.Null),
        pl.Series([None] * n, dtype=pl.Float64),
        pl.Series([2**64 - 1] * n, dtype=pl.UInt64),
        pl.Series([k % 3 for k in range(n)], dtype=pl.Int8),
        pl.Series([k % 2 == 0 for k in range(n)], dtype=pl.Boolean),
        pl.Series([k % 2 == 0 if k else None for k in range(n)], dtype=pl.Boolean),
        pl.Series([f"{TEXT_CANARY}{k % 2}" for k in range(n)], dtype=pl.Categorical),
        pl.Series(["ab"[k % 2] for k in range(n)], dtype=pl.Enum(["a", "b", "unused"])),
        pl.Series([float(NUMBER_CANARY)] * n, dtype=pl.Float32),
    )
    for name in rng.sample(["y", "x", "g"], rng.choice([0, 1, 1, 2])):
        frame = frame.with_columns(rng.choice(odd).alias(name))
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    content = buffer.getvalue()
    return rng.choice([_cut, _flipped])(rng, content) if rng.random() < 0.4 else content


def _odd_place(rng: random.Random, folder: Path, name: str, content: bytes) -> Path:
    """A path that is no plain file of the right name."""
    plain = folder / f"{name}-plain.csv"
    plain.write_bytes(content)
    what = rng.randrange(11)
    path = folder / f"{name}.csv"
    if what == 0:
        return folder / "missing.csv"
    if what == 1:
        path.mkdir()
    elif what == 2:
        path.symlink_to(plain)
    elif what == 3:
        path.symlink_to(folder / "nowhere.csv")
    elif what == 4:
        path.symlink_to(path)
    elif what == 5:
        plain.chmod(0o000)
        return plain
    elif what == 6:
        path = plain.rename(folder / f"{name}{rng.choice(['.txt', '', '.xlsx', '.parquet'])}")
    elif what == 7:
        return folder / "missing folder" / "table.csv"
    elif what == 8:
        return plain / "table.csv"
    elif what == 9:
        os.mkfifo(path)
    else:
        odd = rng.choice(["a\nb.csv", "b'ü\u202e.csv", "--x.csv", "%s{}.csv", "z" * 300 + ".csv"])
        path = folder / odd
        if len(odd) < 250:
            plain.rename(path)
    return path
