"""Under a strict claim no record decides whether a run ends, or what it says outside.

Two tables that differ in one record, odd or not, end alike by every reader: with the same exit code
and error, the same words outside, the same files with the same columns and types, and a statement
with the same keys. Warnings to the agency describe the table and stay inside.
`PYVWS_NEIGHBOUR_CASES` sets how many pairs are generated, 60 unless given.
"""

import contextlib
import csv
import datetime
import io
import json
import os
import tempfile
import warnings
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from run_here import run_here

from pyvws.commands.output import tell_release
from pyvws.commands.synthesize import as_read
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import ConvergenceWarning, DisclosureWarning, MisfitWarning, PyvwsError
from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram
from pyvws.models.registry import find_model
from pyvws.models.sequence import joint_draws
from pyvws.posterior.draws import Diagnostics, Posterior
from pyvws.r.interface import frame as r_frame
from pyvws.r.interface import received
from pyvws.release.synthesizer import Synthesizer
from pyvws.tables.files.kinds import distinct
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema

pytestmark = pytest.mark.runs

CASES = int(os.environ.get("PYVWS_NEIGHBOUR_CASES", "60"))


class SeededEngine:
    """An engine whose draws its seed decides alone."""

    name = "seeded"

    def sample(self, target: Any, settings: Any, *, seed: int, **_: Any) -> Posterior:
        S = settings.chains * settings.draws
        q = 0.1 * np.random.default_rng(seed).normal(size=(S, target.dimension))
        draws = target.model.constrain(q, target.cells.n_coefficients)
        return Posterior(draws, settings.chains, Diagnostics(1.0, 1e3, 1e3, 0), 0.0, self.name)

    def sample_table(self, target: Any, settings: Any, *, seed: int, **_: Any) -> Posterior:
        S = settings.chains * settings.draws
        q = 0.1 * np.random.default_rng(seed).normal(size=(S, target.dimension))
        draws = {
            of.column: of.model.constrain(q[:, block], of.cells.n_coefficients)
            for of, block in zip(target.columns, target.blocks(), strict=True)
        }
        fine = Diagnostics(1.0, 1e3, 1e3, 0)
        return Posterior(joint_draws(draws), settings.chains, fine, 0.0, self.name)


SeededEngine.__module__ = "pyvws.engines.nuts"  # It stands in for an engine of the package.

COLUMNS = {
    "home": Column(role="id"),
    "sex": Column(model="logistic", levels=("f", "m")),
    "own": Column(model="nominal", levels=("true", "false"), missing=True, predictors=("sex",)),
    "job": Column(model="nominal", levels=("1", "02", "1e16"), rule="never 1 where sex == 'f'"),
    "age": Column(model="poisson", range=(0, 90), predictors=("sex", "job")),
    "pay": Column(model="normal", range=(-10, 1e6), decimals=1, mass=(0,), missing=("-8", True)),
    "gain": Column(model="normal", predictors=("pay",)),
    "born": Column(
        model="normal",
        days_since="2000-01-01",
        range=("2000-01-01", "2000-12-31"),
        missing=True,
        predictors=("sex", "own"),
    ),
}
ROWS = [
    ("h1", "f", True, 2, 31, 20.5, -3.5, "2000-02-29"),
    ("h1", "m", None, 1, 0, 0.0, 0.25, None),
    ("h2", "m", False, 1, 90, None, 12.0, "2000-12-31"),
    ("h3", "f", True, 2, 45, 999.9, 1.5, "2000-01-01"),
    ("h4", "m", True, 1, 18, -8, 7.0, "2000-06-30"),
]
NAMES = list(COLUMNS)
DAY = datetime.date
CELLS: tuple[Any, ...] = (
    *(None, "", "NA", True, False, -1, -0.0, 7, 1e16, -1e300, 1e308, np.inf, -np.inf, np.nan),
    *(2**53 + 1, 2**63, -(2**70), 10**400, "1e16", "1E400", "1_000", " 1 ", "\uff11", "0x10"),
    *(
        "abc",
        "true",
        "F",
        "\x00",
        "a\x1b[31mb",
        "a\rb",
        "a\nb",
        'say "x"',
        "'",
        ",",
        "\u202e\u00e9",
    ),
    *("x" * 200_000, "9999-99-99", "0001-01-01", "30/06/2000", "2000-06-30T12:00:00"),
    *(DAY(1, 1, 1), DAY(9999, 12, 31), DAY(2000, 6, 30), datetime.datetime(2000, 6, 30, 12)),
    *([1, 2], {"a": 1}, Decimal("1.50"), Decimal("1e999999"), b"\xff", 1 + 2j, "\ud800"),
)


def schema(*names: str, **more: Any) -> Schema:
    kept = {name: COLUMNS[name] for name in NAMES if name in names}
    drop = {name: Column(role="drop") for name in NAMES if name not in names}
    given = {
        name: {
            **({"rule": None} if name == "job" and "sex" not in names else {}),
            **(
                {"predictors": tuple(x for x in own.predictors if x in names)}
                if own.predictors
                else {}
            ),
        }
        for name, own in kept.items()
    }
    changed = {
        name: Column(**{k: v for k, v in {**own.given, **given[name]}.items() if v is not None})
        for name, own in kept.items()
    }
    return Schema({**changed, **drop}, **more)


def censored(**more: Any) -> dict[str, Any]:
    return {
        "engine": SeededEngine(),
        "settings": SamplerSettings(draws=4, chains=1),
        "datasets": 2,
        "mechanism": Censored(epsilon=2.0, weights="none"),
        **more,
    }


def counts(**more: Any) -> dict[str, Any]:
    chosen: dict[str, Any] = {"measure": "pairs"}
    return {
        "datasets": 1,
        "mechanism": NoisyCounts(epsilon=2.0, **{"measure": "pairs", **chosen, **more}),
    }


FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "age": ("poisson", {}),
    "gain": ("normal", {}),
    "sex": ("nominal", {"levels": ("f", "m")}),
    "own": ("logistic", {}),
    "job": ("ordinal", {"levels": (1, 2, 3)}),
    "pay": ("beta", {"range": (-10, 1000)}),
}
SOME = "sex", "own", "job", "age", "pay", "gain", "born"
MEMBERS = {"of_unit": ["sex"], "sizes": [1, 2], "summaries": {"persons": "size"}}
RUNS: dict[str, Callable[[], dict[str, Any]]] = {
    "table": lambda: censored(schema=schema(*SOME)),
    "table, left out": lambda: censored(schema=schema(*SOME), records=4),
    "constant": lambda: censored(
        schema=schema("age", "born", "own"),
        mechanism=Censored(epsilon=1.0, weights="constant", c=0.3),
    ),
    "staged": lambda: censored(
        schema=schema("own", "pay"),
        mechanism=Censored(epsilon=1.0, weights="staged", stage_epsilon=1.0),
    ),
    "units": lambda: censored(schema=schema("home", "age", "own", unit="home"), records=4),
    "members": lambda: censored(schema=schema("home", "sex", "age", unit="home", members=MEMBERS)),
    "one outcome, entries": lambda: censored(
        outcome="pay", model="normal", column={"missing": ["-8", True], "mass": [0]}
    ),
    **{
        f"one outcome, {name}": partial(
            lambda name, model, given: censored(outcome=name, model=find_model(model, **given)),
            name,
            *FAMILIES[name],
        )
        for name in FAMILIES
    },
}
WITH_NOISE: dict[str, Callable[[], dict[str, Any]]] = {
    "counts": lambda: {"schema": schema("sex", "own", "job", "age"), **counts()},
    "counts of numbers": lambda: {"schema": schema("pay", "born", "own"), **counts(delta=1e-6)},
    "counts, replaced": lambda: {
        "schema": schema("job", "age"), **counts(neighbours="replace"),
    },
    "counts of units": lambda: {
        "schema": schema("home", "sex", "own", unit="home"), **counts(cap=2),
    },
    "histogram": lambda: {
        "outcome": "pay", "datasets": 1,
        "mechanism": PerturbedHistogram(epsilon=2.0, range=(-10, 1000)),
    },
    "histogram, left out": lambda: {
        "outcome": "pay", "datasets": 1,
        "mechanism": PerturbedHistogram(epsilon=2.0, range=(-10, 99), bins=3, neighbours="loo"),
    },
}  # fmt: skip
if find_spec("opendp") is not None:  # Secret noise needs OpenDP.
    RUNS |= WITH_NOISE
LEFT_OUT = ("table, left out", "units", "counts", "counts of numbers", "histogram, left out")


def spelled(cell: Any) -> str:
    """A cell as a csv has it."""
    return "" if cell is None else str(cell).encode("utf-8", "replace").decode()


def as_csv(rows: list[Any], path: Path, last: bytes | None = None) -> Path:
    """A csv of the rows; a `last` line takes the place of the last row as it is."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(NAMES)
    kept = rows if last is None else rows[:-1]
    writer.writerows([spelled(cell) for cell in row] for row in kept)
    path.write_bytes(text.getvalue().encode() + (last or b""))
    return path


def as_pandas(rows: list[Any]) -> pd.DataFrame:
    def column(cells: list[Any]) -> Any:
        try:
            return pd.Series(cells)
        except UnicodeEncodeError:  # pandas keeps text by Arrow.
            return pd.Series(cells, dtype=object)

    return pd.DataFrame({name: column([row[at] for row in rows]) for at, name in enumerate(NAMES)})


def as_arrow(rows: list[Any]) -> pa.Table:
    def column(cells: list[Any]) -> Any:
        try:
            return pa.array(cells)
        except (pa.ArrowException, OverflowError, ValueError, TypeError):  # Of no one type.
            return pa.array([None if cell is None else spelled(cell) for cell in cells])

    return pa.table({name: column([row[at] for row in rows]) for at, name in enumerate(NAMES)})


def as_polars(rows: list[Any]) -> pl.DataFrame:
    def column(name: str, cells: list[Any]) -> pl.Series:
        try:
            return pl.Series(name, cells)
        except (pl.exceptions.PolarsError, OverflowError, RuntimeError, TypeError, ValueError):
            return pl.Series(name, cells, dtype=pl.Object)

    return pl.DataFrame([column(n, [row[at] for row in rows]) for at, n in enumerate(NAMES)])


def as_r(rows: list[Any]) -> pd.DataFrame:
    """A data frame as R hands it over: logical, double or text; dates by their class."""

    def column(cells: list[Any]) -> Any:
        there = [cell for cell in cells if cell is not None]
        if all(type(cell) is datetime.date for cell in there):
            days = [np.nan if x is None else float((x - DAY(1970, 1, 1)).days) for x in cells]
            return received("column", "double", [np.array(days).tobytes()], classes=("Date",))
        if all(isinstance(cell, bool) for cell in there):
            marks = np.array([-(2**31) if x is None else int(x) for x in cells], np.int32)
            return received("column", "logical", [marks.tobytes()])
        if all(isinstance(cell, int | float) for cell in there) and max(map(abs, there)) < 1e300:
            numbers = np.array([np.nan if x is None else float(x) for x in cells])
            return received("column", "double", [numbers.tobytes()])
        gaps = bytes(cell is None for cell in cells)
        return received("column", "character", [spelled(cell) for cell in cells], missing=gaps)

    columns = [column([row[at] for row in rows]) for at in range(len(NAMES))]
    return r_frame(NAMES, columns, len(rows))


IN_MEMORY: dict[str, Callable[[list[Any]], Any]] = {
    "pandas": as_pandas,
    "polars": as_polars,
    "arrow": as_arrow,
    "R": as_r,
    "pandas of a csv": lambda rows: pd.read_csv(_text(rows)),
    "pandas by arrow": lambda rows: as_arrow(rows).to_pandas(types_mapper=pd.ArrowDtype),
}
FILES = ("csv", "csv in steps", "parquet", "parquet in steps", "arrow file", "arrow file in steps")


def _text(rows: list[Any]) -> io.StringIO:
    with tempfile.TemporaryDirectory() as folder:
        return io.StringIO(as_csv(rows, Path(folder) / "t.csv").read_text())


def on_disk(how: str, rows: list[Any], folder: Path, last: bytes | None) -> Path:
    if how.startswith("csv"):
        return as_csv(rows, folder / "table.csv", last)
    table = as_polars(rows)
    if any(kind == pl.Object for kind in table.dtypes):
        table = cast(pl.DataFrame, pl.from_arrow(as_arrow(rows)))
    path = folder / f"table.{how.split()[0]}"
    (table.write_parquet if how.startswith("parquet") else table.write_ipc)(path)
    return path


def told_outside(
    run: dict[str, Any], how: str, rows: list[Any], last: bytes | None = None
) -> dict[str, Any]:
    """What others may see of a run: how it ended, what it printed, and what its release holds."""
    settings_of_run = Synthesizer(**run)
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("error")
        for inside in (ConvergenceWarning, DisclosureWarning, MisfitWarning):
            warnings.simplefilter("ignore", inside)
        folder, out = Path(scratch), Path(scratch) / "out"
        try:
            if how in IN_MEMORY:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # Of other libraries' readers.
                    table = IN_MEMORY[how](rows)
                settings_of_run.fit(table, seed=1 << 62).write(out, format="parquet")
            else:
                path = on_disk(how, rows, folder, last)
                if how.endswith("steps") and not isinstance(
                    settings_of_run.mechanism, NoisyCounts | PerturbedHistogram
                ):
                    settings_of_run.fit_to(path, out, seed=1 << 62)
                else:
                    source = read_table(path, every_line=True)
                    table = as_read(settings_of_run, source)
                    release = settings_of_run.fit(
                        table, seed=1 << 62, release_frame=source.as_written
                    )
                    release.write(out, format=source.format)
        except PyvwsError as error:
            return {
                "error": (type(error).__name__, str(error)),
                "files": sorted(os.listdir(folder)),
            }
        privacy = json.loads((out / "release" / "privacy.json").read_text())
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            tell_release(privacy, Path("out"), [], quiet=False, as_json=False)
        kinds = {}
        for path in (out / "release").glob("synthetic-*"):
            if path.suffix == ".csv":
                kinds[path.name] = pl.read_csv(path, infer_schema=False).columns
            else:
                read = pl.read_parquet if path.suffix == ".parquet" else pl.read_ipc
                kinds[path.name] = read(io.BytesIO(path.read_bytes())).schema
        by_noise = ("counts-lost",)
        privacy["caveat_keys"] = [x for x in privacy["caveat_keys"] if x["key"] not in by_noise]
        return {
            "files": sorted(str(p.relative_to(out)) for p in out.rglob("*")),
            "told": said.getvalue(),
            "kinds": kinds,
            "keys": sorted(privacy),
            "caveats": [own["key"] for own in privacy["caveat_keys"]],
            "ledger": [own["key"] for own in privacy["ledger"]],
            "guarantee": privacy["guarantee"],
        }


ANY_ROW = st.tuples(*[st.sampled_from(CELLS)] * len(NAMES))
ONE_ODD = st.tuples(st.sampled_from(ROWS), st.integers(0, len(NAMES) - 1), st.sampled_from(CELLS))
ODD = st.one_of(ONE_ODD.map(lambda x: (*x[0][: x[1]], x[2], *x[0][x[1] + 1 :])), ANY_ROW)
OTHER_LINES = (b"\n", b"h9\n", b",,,,,,,,,,,\n", b"\xff,\xfe,1\n", b"h9,f,true,1,1,1,1,\xff")
"""Lines of a csv that have too few or too many cells, or bytes that are no UTF-8."""
WAYS = [*IN_MEMORY, *FILES]


@given(st.sampled_from(sorted(RUNS)), st.sampled_from(WAYS), ODD, st.sampled_from(OTHER_LINES))
@settings(
    max_examples=CASES,
    phases=[Phase.generate],
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_an_odd_record_changes_nothing_that_others_see(
    name: str, how: str, odd: Any, line: bytes
) -> None:
    plain = [*ROWS, ROWS[1]]
    usual = told_outside(RUNS[name](), how, plain)
    refused = name == "one outcome, entries" and how.endswith("in steps")  # By its settings.
    assert ("error" in usual) == refused, usual
    assert told_outside(RUNS[name](), how, [*ROWS, odd]) == usual
    if name in LEFT_OUT:
        assert told_outside(RUNS[name](), how, ROWS) == usual
    if how.startswith("csv"):
        assert told_outside(RUNS[name](), how, plain, line) == usual


@pytest.mark.parametrize("how", ["polars", "csv", "csv in steps"])
@pytest.mark.parametrize("name", [name for name in LEFT_OUT if name in RUNS])
def test_one_record_ends_as_several_do(name: str, how: str) -> None:
    """A left-out record may be the second one. Counts and histograms take none too."""
    usual = told_outside(RUNS[name](), how, ROWS)
    none = [] if name in ("table, left out", "units") else [[]]
    for rows in ([ROWS[1]], [("abc",) * len(NAMES)], *none):
        assert told_outside(RUNS[name](), how, rows) == usual


@pytest.mark.skipif(find_spec("opendp") is None, reason="secret noise needs opendp")
@pytest.mark.parametrize(
    "last", [b'h9,f,true,1,1,1,1,"x\n', b'h9,f,true,1,1,1,1,x"y\n'], ids=["open", "within"]
)
def test_a_csv_with_broken_quotes_is_no_table(last: bytes) -> None:
    """Where a record ends cannot be told, so the file is refused before the claim begins."""
    run = RUNS["counts"]()
    told = told_outside(run, "csv", [*ROWS, ROWS[1]], last)
    assert told["files"] == ["table.csv"]
    assert "quotes" in told["error"][1]


def test_no_cell_changes_the_label_of_another() -> None:
    """1 and true are one key to pandas, which would give both the label of the first."""
    import narwhals as nw

    for cells in ([True, 1, "x"], [1, True, "x"], [1.0, True, "1"]):
        column = nw.from_native(pd.Series(cells, dtype=object), series_only=True)
        places, labels = distinct(column)
        own = ["true" if cell is True else str(cell).removesuffix(".0") for cell in cells]
        assert [labels[place] for place in places] == own


@pytest.mark.skipif(find_spec("opendp") is None, reason="secret noise needs opendp")
def test_the_command_line_ends_alike_and_counts_unknown_values_inside(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(schema("sex", "job", "age").text)
    told = {}
    for name, last in {"plain": None, "odd": b"1e16,1e16,1e16,1e16,1e308\n"}.items():
        table = as_csv([*ROWS, ROWS[1]], tmp_path / f"{name}.csv", last)
        done = run_here(
            *("synthesize", table, "--schema", tmp_path / "schema.toml", "--out", tmp_path / name),
            *("--mechanism", "noisy-counts", "--measure", "pairs"),
            *("--epsilon", 2, "--datasets", 1),
        )
        told[name] = done.code, done.out.replace(name, ""), done.err.partition("Warning: ")[0]
        files = [path.relative_to(tmp_path / name) for path in (tmp_path / name).rglob("*")]
        told[name] += (sorted(map(str, files)),)
    assert told["odd"] == told["plain"]
    assert told["odd"][0] == 0
    summary = json.loads((tmp_path / "odd/confidential/summary.json").read_text())
    assert min(summary["records_in_no_cell"].values()) == 1


def test_a_fit_counts_unknown_values_inside() -> None:
    odd = (*ROWS[0][:4], 1e16, *ROWS[0][5:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # What the agency is told of so few records.
        made = Synthesizer(**RUNS["table"]()).fit(as_polars([*ROWS, odd]), seed=1)
    assert made.summary["records_with_unknown_values"] == {"age": 1}
    assert len(made.datasets[0]) == len(ROWS) + 1
    assert "unknown" not in json.dumps(made.privacy)


def test_a_date_of_r_beyond_python_s_years_is_an_unknown_value() -> None:
    """R hands a column over before a run has settings, so nothing there may end for one cell."""
    (far,) = received("column", "double", [np.array([4e6]).tobytes()], classes=("Date",))
    assert far == "12921-08-18"
    table = as_pandas([*ROWS, (*ROWS[0][:-1], far)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # What the agency is told of so few records.
        made = Synthesizer(**RUNS["constant"]()).fit(table, seed=1)
    assert made.summary["records_with_unknown_values"] == {"born": 1}
