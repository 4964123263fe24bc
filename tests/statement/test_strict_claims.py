"""A strict claim: of two neighbouring tables everything that leaves is the same bytes, but values.

Under other claims it is so too, but for values and figures. `PYVWS_NEIGHBOUR_CASES` sets how many
pairs of tables are generated, 200 unless given, and 20 under other claims.
"""

import contextlib
import html
import io
import json
import os
import re
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from refusals import refused
from typer.testing import CliRunner

from pyvws.commands.cli import app
from pyvws.commands.output import tell_release
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import (
    ConvergenceError,
    ConvergenceWarning,
    DisclosureWarning,
    InputError,
    MisfitWarning,
)
from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.lipschitz_weighted import LipschitzWeighted
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram
from pyvws.models.registry import find_model
from pyvws.models.sequence import joint_draws
from pyvws.posterior.draws import Diagnostics, Posterior
from pyvws.release.synthesizer import Synthesizer
from pyvws.report.board_page import board_page
from pyvws.report.output_folder import read_confidential, read_public
from pyvws.statement.parts import figure
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.files.read import write_table
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema

pytestmark = pytest.mark.runs

CASES = int(os.environ.get("PYVWS_NEIGHBOUR_CASES", "200"))
WEIGHTED_CASES = int(os.environ.get("PYVWS_NEIGHBOUR_CASES", "20"))
FINE = Diagnostics(1.0, 1e3, 1e3, 0)
BAD = Diagnostics(1.5, 20.0, 30.0, 4)


@dataclass(frozen=True)
class SeededEngine:
    """An engine whose draws its seed decides alone, with diagnostics as given."""

    diagnostics: Diagnostics = FINE
    name: str = "seeded"

    def sample(self, target: Any, settings: Any, *, seed: int, **_: Any) -> Posterior:
        S = settings.chains * settings.draws
        q = 0.1 * np.random.default_rng(seed).normal(size=(S, target.dimension))
        draws = target.model.constrain(q, target.cells.n_coefficients)
        return Posterior(draws, settings.chains, self.diagnostics, 0.0, self.name)

    def sample_table(self, target: Any, settings: Any, *, seed: int, **_: Any) -> Posterior:
        S = settings.chains * settings.draws
        q = 0.1 * np.random.default_rng(seed).normal(size=(S, target.dimension))
        draws = {
            of.column: of.model.constrain(q[:, block], of.cells.n_coefficients)
            for of, block in zip(target.columns, target.blocks(), strict=True)
        }
        return Posterior(joint_draws(draws), settings.chains, self.diagnostics, 0.0, self.name)


class OwnEngine(SeededEngine):
    """The same engine, as a user would write it."""


SeededEngine.__module__ = "pyvws.engines.nuts"  # It stands in for an engine of the package.


# A family, its settings, and outcomes in its domain: ends, zeros and extremes among them.
COUNTS = st.sampled_from([0, 1, 2, 7, 1000, 2**40, 2**53])
AMOUNTS = st.sampled_from([-1e9, -2.5, -1.0, 0.0, 1e-9, 0.5, 1.0, 3.0, 1e12])
POSITIVE = st.sampled_from([1e-300, 1e-9, 0.5, 1.0, 2.5, 1e9])
SHARES = st.sampled_from([0.0, 5e-324, 1e-9, 0.25, 0.5, 1.0 - 2.0**-53, 1.0])
FAMILIES: list[tuple[str, dict[str, Any], Any]] = [
    ("poisson", {}, COUNTS),
    ("negative-binomial", {}, COUNTS),
    ("normal", {}, AMOUNTS),
    ("normal", {"outcome_scale": "signed-log"}, AMOUNTS),
    ("normal", {"outcome_scale": "log"}, POSITIVE),
    ("normal", {"outcome_centre": 2.5, "outcome_unit": 1e-3}, AMOUNTS),
    ("normal", {"outcome_scale": "log", "outcome_centre": -1.0, "outcome_unit": 10.0}, POSITIVE),
    ("gamma", {}, POSITIVE),
    ("logistic", {}, st.sampled_from([0, 1])),
    ("logistic", {}, st.booleans()),
    ("ordinal", {"levels": (1, 2, 3, 9)}, st.sampled_from([1, 2, 3, 9])),
    ("nominal", {"levels": ("1", "2", "x")}, st.sampled_from([1, 2, 2.0])),
    ("beta", {}, SHARES),
    ("beta", {"range": (-2, 2)}, SHARES.map(lambda v: 4 * v - 2)),
]
MIXTURE = ("normal-mixture", {"labels": "prior", "components": 2}, AMOUNTS)


@st.composite
def neighbours(draw: Any) -> tuple[dict[str, Any], list[pl.DataFrame]]:
    """Settings whose claim is strict, and two tables that are neighbours under it."""
    noise = find_spec("opendp") is not None  # Secret noise needs OpenDP.
    histogram = draw(st.sampled_from([False] * 7 + [noise]))
    name, of_model, outcomes = draw(st.sampled_from(FAMILIES))
    chosen: dict[str, Any] = {"outcome": "y", "datasets": draw(st.integers(1, 3))}
    if not histogram and draw(st.booleans()):
        chosen["draws_per_release"] = draw(st.integers(1, chosen["datasets"]))
    chosen["settings"] = SamplerSettings(draws=4, chains=draw(st.integers(1, 2)))
    epsilon = draw(st.sampled_from([0.01, 0.5, 2.0, 8.0, 1e3]))
    if histogram:
        outcomes = SHARES
        loo = draw(st.booleans())
        chosen["mechanism"] = PerturbedHistogram(
            epsilon=epsilon,
            range=(0.0, 1.0),
            bins=draw(st.sampled_from([3] if loo else [None, 3])),
            neighbours="loo" if loo else "replace",
        )
    else:
        chosen["model"] = find_model(name, **of_model)
        shape = {"c": draw(st.sampled_from([0.0, 0.5])), "g": draw(st.sampled_from([-1.0, 0.3]))}
        chosen["mechanism"] = Censored(epsilon=epsilon, weights="none", **shape)
        chosen["engine"] = SeededEngine()
        chosen["threshold"] = draw(st.sampled_from([1.0, 1.0, 0.9]))
        chosen["round"] = name in ("poisson", "ordinal") and draw(st.booleans())
        loo = draw(st.booleans())
        if loo:
            chosen["records"] = draw(st.sampled_from([1, 4, *(["noisy"] if noise else [])]))
            if chosen["records"] == "noisy":
                chosen["records_epsilon"] = draw(st.sampled_from([0.25, 5.0]))
    chosen["keep_order"] = not loo and draw(st.booleans())
    y = draw(st.lists(outcomes, min_size=2 if not loo else 3, max_size=7))
    place = draw(st.integers(0, len(y) - 1))
    other = [*y[:place], *([] if loo else [draw(outcomes)]), *y[place + 1 :]]
    tables = [pl.DataFrame({"y": values}, strict=False) for values in (y, other)]
    if not loo and not histogram and draw(st.booleans()):
        towns = pl.Series([f"town {i % 2}" for i in range(len(y))])
        tables = [table.with_columns(town=towns) for table in tables]
        chosen |= draw(st.sampled_from([{"formula": "~ town"}, {"keep": ["town"]}]))
    return chosen, tables


LEVELS = ("low", "mid", "high", "never seen")
DAYS = st.sampled_from([None, "2001-01-01", "2001-06-30", "2001-12-31"])
COLUMNS: dict[str, tuple[Column, Any]] = {
    "grade": (Column(model="ordinal", levels=LEVELS), st.sampled_from(LEVELS[:3])),
    "ill": (Column(model="logistic", levels=("no", "yes")), st.sampled_from(["no", "yes"])),
    "pay": (Column(model="normal", range=(-1e9, 1e12), decimals=1), AMOUNTS),
    "visits": (Column(model="poisson", range=(0, 2.0**53)), COUNTS),
    "kind": (
        Column(model="nominal", levels=(1, 2, 3), missing=True),
        st.sampled_from([None, 1, 2]),
    ),
    "own": (
        Column(model="nominal", levels=("true", "false"), missing=True),
        st.sampled_from([None, True]),
    ),
    "gain": (
        Column(model="normal", range=(-5, 99), decimals=0, mass=(0,), missing=("N", "99", True)),
        st.sampled_from([None, None, 0, 7.0, 99]),
    ),
    "hours": (
        Column(model="normal", range=(0, 1000), decimals=0, missing=True),
        st.sampled_from([None, 408, 12, 12.5]),
    ),
    "born": (
        Column(
            model="normal",
            days_since="2001-06-01",
            range=("2001-01-01", "2001-12-31"),
            missing=True,
        ),
        DAYS,
    ),
}
HALF = {
    "share": (
        Column(model="truncated-normal", range=(0, 1), missing=True),
        st.sampled_from([None, 0, 0.5, 1]),
    )
}
TYPES = {
    "pay": pl.Float64,
    "visits": pl.Int64,
    "gain": pl.Float64,
    "hours": pl.Float64,
    "born": pl.String,
    "share": pl.Float64,
}


@st.composite
def neighbouring_tables(draw: Any) -> tuple[dict[str, Any], list[pl.DataFrame]]:
    """Settings of a strict run on several columns, and two tables that differ in one record."""
    clamp = draw(st.sampled_from(["deviance", "half"]))
    known = COLUMNS if clamp == "deviance" else {**COLUMNS, **HALF}
    names = draw(st.permutations(list(known)))[: draw(st.integers(2, 4))]
    loo = draw(st.booleans())
    columns = {name: known[name][0] for name in names}
    if "kind" in names and "ill" in names[: names.index("kind")]:
        rule = draw(st.sampled_from(["missing", "never 2, missing"]))
        columns["kind"] = replace(columns["kind"], rule=f"{rule} where ill == 'no'")
    size = draw(st.integers(3, 6))
    record = st.tuples(*(known[name][1] for name in names))
    rows = [draw(record) for _ in range(size)]
    place = draw(st.integers(0, size - 1))
    other = [*rows[:place], *([] if loo else [draw(record)]), *rows[place + 1 :]]
    tables = [
        pl.DataFrame(
            {n: pl.Series([row[at] for row in r], dtype=TYPES.get(n)) for at, n in enumerate(names)}
        )
        for r in (rows, other)
    ]
    if not loo and draw(st.booleans()):
        columns = {"town": Column(role="public", levels=("a", "b")), **columns}
        towns = pl.Series([("a", "b", "a")[i % 3] for i in range(size)])
        tables = [table.with_columns(town=towns) for table in tables]
    weights = draw(st.sampled_from(["none", "staged"]))
    staged = {"stage_epsilon": 0.5} if weights == "staged" else {}
    chosen: dict[str, Any] = {
        "schema": Schema(columns),
        "sampling": draw(st.sampled_from(["independent", "systematic"])),
        "datasets": draw(st.integers(1, 2)),
        "settings": SamplerSettings(draws=4, chains=1),
        "mechanism": Censored(
            epsilon=draw(st.sampled_from([0.01, 2.0, 40.0])), weights=weights, clamp=clamp, **staged
        ),
        "engine": SeededEngine(),
    }
    if loo:
        chosen["records"] = draw(st.sampled_from([1, 4]))
    return chosen, tables


def what_leaves(folder: Path, *, size_is_noisy: bool) -> dict[str, Any]:
    """Everything in a release but the synthetic values: bytes of files, and tables without them.

    The random release_id of a release with secret noise is left out.
    """
    found: dict[str, Any] = {}
    privacy = json.loads((folder / "release" / "privacy.json").read_text())
    name = privacy["release_id"].encode()
    for path in sorted((folder / "release").iterdir()):
        if path.suffix != ".parquet":
            found[path.name] = path.read_bytes().replace(name, b"")
            continue
        table = pl.read_parquet(path)
        found[path.name] = table.schema, None if size_is_noisy else len(table)
        values = privacy.get("columns_synthesized", ["y"])
        found[f"{path.name} but y"] = table.drop(values).to_dict(as_series=False)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        tell_release(privacy, Path("out"), [], quiet=False, as_json=False)
    found["told"] = said.getvalue()
    return found


HOW = st.sampled_from(["in memory", "as pandas reads it", "in steps"])
"""pandas gives a column other types where one cell is empty, or has a fraction or a word."""


def what_leaves_by(
    how: str, run: Synthesizer, table: pl.DataFrame, *, size_is_noisy: bool = False
) -> dict[str, Any]:
    """`what_leaves` of a run in one way of `HOW`; a histogram has no steps."""
    frame: Any = table
    if how == "as pandas reads it":
        frame = pd.read_csv(io.StringIO(table.write_csv()))
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out"
        if how == "in steps" and not isinstance(run.mechanism, PerturbedHistogram):
            table.write_parquet(Path(scratch) / "table.parquet")
            run.fit_to(Path(scratch) / "table.parquet", out, seed=1 << 62)
        else:
            run.fit(frame, seed=1 << 62).write(out, format="parquet")
        return what_leaves(out, size_is_noisy=size_is_noisy)


@given(neighbours(), HOW)
@settings(max_examples=CASES, derandomize=True, suppress_health_check=list(HealthCheck))
def test_neighbours_release_the_same_bytes_but_for_the_values(
    case: tuple[dict[str, Any], list[pl.DataFrame]], how: str
) -> None:
    chosen, tables = case
    noisy = chosen.get("records") == "noisy" or (
        getattr(chosen["mechanism"], "neighbours", "") == "loo"
    )
    run = Synthesizer(**chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # Told to the agency alone.
        left = [what_leaves_by(how, run, table, size_is_noisy=noisy) for table in tables]
    assert left[0] == left[1]
    statement = json.loads(left[0]["privacy.json"])
    assert statement["guarantee"] in ("dp", "dp-if-bounded")
    assert statement["certified"] is not None


@given(neighbouring_tables(), HOW)
@settings(max_examples=CASES // 2, derandomize=True, suppress_health_check=list(HealthCheck))
def test_neighbouring_tables_release_the_same_bytes_but_for_the_values(
    case: tuple[dict[str, Any], list[pl.DataFrame]], how: str
) -> None:
    chosen, tables = case
    run = Synthesizer(**chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DisclosureWarning)  # Of a town by chance in rank order.
        left = [what_leaves_by(how, run, table) for table in tables]
    assert left[0] == left[1]
    statement = json.loads(left[0]["privacy.json"])
    assert statement["guarantee"] == "dp"
    separate = len(statement["columns"]) * chosen["mechanism"].epsilon
    assert statement["epsilon_of_separate_runs"] == figure(separate, True)


PERSONS = ("h1", "yes", 3.0), ("h1", None, 0.0), ("h2", "no", 99.0)
OTHERS = {
    "one unit fewer": PERSONS,
    "a larger unit": (*PERSONS, *[("h4", "yes", 99.0)] * 3),
    "unlike records": (*PERSONS, ("h4", None, None)),
}


@pytest.mark.parametrize("how", ["in memory", "in steps"])
@pytest.mark.parametrize("weights", [{}, {"weights": "staged", "stage_epsilon": 0.5}])
@pytest.mark.parametrize(
    ("other", "members"), [*((name, False) for name in OTHERS), ("a larger unit", True)]
)
def test_tables_that_differ_by_a_unit_release_the_same_bytes(
    other: str, weights: dict[str, Any], members: bool, how: str
) -> None:
    """One unit is left out or replaced by a unit of another size. Whole units keep their number."""
    gain = Column(model="normal", range=(-5, 99), decimals=0, mass=(0,), missing=True)
    ill = Column(model="nominal", levels=("no", "yes"), missing=True)
    home = Column(role="id")
    of_units = {"sizes": [1, 4], "summaries": {"persons": "size"}}
    more: dict[str, Any] = {"members": of_units} if members else {"records": 4}
    run = Synthesizer(
        schema=Schema({"home": home, "ill": ill, "gain": gain}, unit="home", **more),
        datasets=2,
        settings=SamplerSettings(draws=4, chains=1),
        mechanism=Censored(epsilon=2.0, **{"weights": "none", **weights}),
        engine=cast(Any, SeededEngine()),
    )
    left = []
    for records in ((*PERSONS, ("h3", "no", 7.0)), OTHERS[other]):
        table = pl.DataFrame(records, schema=["home", "ill", "gain"], orient="row")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            left.append(what_leaves_by(how, run, table, size_is_noisy=members))
    assert left[0] == left[1]
    statement = json.loads(left[0]["privacy.json"])
    assert statement["guarantee"] == "dp"
    assert statement["certified"]["neighbours"] == ("replace-one" if members else "leave-one-out")


WAYS = ("built", "read", "dated", "arrow", "steps")
"""Records as pandas builds them of Python's values and reads them, with dates; a file in steps."""


def released_by(way: str, run: Synthesizer, table: pl.DataFrame, scratch: Path) -> list[Path]:
    """Folders of releases as csv and as parquet, of records that come by one of the `WAYS`."""
    formats, outs = ("csv", "parquet"), [scratch / "csv", scratch / "parquet"]
    if way == "steps":
        for format, out in zip(formats, outs, strict=True):
            write_table(table, scratch / f"table.{format}", format=format)
            run.fit_to(scratch / f"table.{format}", out, seed=1 << 62)
        return outs
    frame: Any = table.to_arrow()
    if way != "arrow":
        frame = pd.DataFrame(table.to_dict(as_series=False))
    if way == "read":
        frame = pd.read_csv(io.StringIO(table.write_csv()))
    if way == "dated":
        dates = {"born"} & {*table.columns}
        frame = frame.assign(**{name: pd.to_datetime(frame[name]) for name in dates})
    made = run.fit(frame, seed=1 << 62)
    return [made.write(out, format=format) for format, out in zip(formats, outs, strict=True)]


def without_figures(privacy: bytes) -> str:
    """The statement without its numbers."""
    return re.sub(r"-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?", "#", privacy.decode())


def keeps_spelling(schema: Schema, path: Path) -> None:
    """Each cell of a csv is spelled as the schema says, and not as the records were."""
    for name, cells in pl.read_csv(path, infer_schema=False).to_dict(as_series=False).items():
        column = schema.columns[name]
        for cell in cells:
            if column.categorical:
                assert cell in column.coded_levels
            elif cell not in column.missing_codes:
                pattern = r"[0-9]{4}-[0-9]{2}-[0-9]{2}" if column.days_since else r"-?[0-9]+"
                assert not column.is_whole or re.fullmatch(pattern, cell), name


@given(neighbouring_tables(), st.sampled_from(WAYS))
@settings(
    max_examples=WEIGHTED_CASES,
    phases=[Phase.generate],
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_neighbouring_tables_under_lw_release_the_same_but_for_figures(
    case: tuple[dict[str, Any], list[pl.DataFrame]], way: str
) -> None:
    """Bytes of csv files, types of parquet and words: draws, which the seed decides, are equal."""
    chosen, tables = case
    run = Synthesizer(**{**chosen, "mechanism": LipschitzWeighted(c=0.5, g=0.3)})
    left = []
    for table in tables:
        found: dict[str, Any] = {}
        with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
            warnings.simplefilter("ignore", DisclosureWarning)
            warnings.simplefilter("ignore", MisfitWarning)
            try:
                outs = released_by(way, run, table, Path(scratch))
            except InputError as error:  # A run under lw may refuse what a strict one takes.
                assume(not re.search("bounds are equal|leave open", str(error)))
                raise
            for path in (path for out in outs for path in sorted((out / "release").iterdir())):
                shown: Any = path.read_bytes()
                if path.name == "privacy.json":
                    shown = without_figures(shown)
                elif path.suffix == ".parquet":
                    shown = pl.read_parquet_schema(path)
                elif path.suffix == ".csv":
                    keeps_spelling(cast(Schema, run.schema), path)
                found[f"{path.parent.parent.name}/{path.name}"] = shown
        left.append(found)
    assert left[0] == left[1]


@given(
    st.lists(st.tuples(*[st.sampled_from([True, False, None])] * 2), min_size=3, max_size=6),
    st.tuples(*[st.sampled_from([True, False, None])] * 2),
    HOW,
)
@settings(max_examples=15, derandomize=True)
def test_a_proposal_that_nobody_signed_is_never_strict(rows: Any, other: Any, how: str) -> None:
    """Whatever its entries say: of truth values none of them lists is under `review`.

    A column without any value would have a list that is.
    """
    for column in (*zip(*rows, strict=True), *zip(*[other, *rows[1:]], strict=True)):
        assume(any(value is not None for value in column))
    left: list[Any] = []
    for signed in (False, True):
        for records in (rows, [other, *rows[1:]]):
            names = {
                name: pl.Series(cells, dtype=pl.Boolean)
                for name, cells in zip("ab", zip(*records, strict=True), strict=True)
            }
            table = pl.DataFrame(names)
            schema = Schema.propose(table)
            plain = {name: replace(one, review=()) for name, one in schema.columns.items()}
            schema = replace(schema, columns=plain, reviewed="A. Person" if signed else False)
            run = Synthesizer(**strict(outcome=None, model="negative-binomial", schema=schema))
            left.append(what_leaves_by(how, run, table))
    for shown in left[:2]:
        statement = json.loads(shown["privacy.json"])
        assert statement["guarantee"] == "asymptotic-dp"
        assert statement["certified"] is None
        assert statement["ledger"][0]["key"] == "proposed"
        assert "schema.toml" not in shown
    assert left[0] == left[1]
    for shown in left[2:]:
        statement = json.loads(shown["privacy.json"])
        assert statement["guarantee"] == "dp-if-public"
        assert statement["certified"]["neighbours"] == "replace-one"
        assert b"Person" not in shown["schema.toml"]


def run_twice(folder: Path, *given: str) -> Callable[..., Any]:
    """The command on a table of counts: run with these words, and then by the file of that run."""
    rng = np.random.default_rng(1)
    pl.DataFrame({"y": rng.poisson(6, 90)}).write_csv(folder / "table.csv")

    def run(*words: str) -> Any:
        return CliRunner().invoke(app, ["synthesize", str(folder / "table.csv"), *words])

    own = str(folder / "one/confidential/run.toml")
    for out, words in (("one", given), ("two", ("--config", own))):
        done = run(*words, "--out", str(folder / out))
        assert done.exit_code == 0, done.output
    return run


def test_a_noisy_number_of_rows_from_the_command_line_is_repeated_by_its_own_file(
    tmp_path: Path,
) -> None:
    pytest.importorskip("opendp")
    given = [
        *("--outcome", "y", "--model", "poisson", "--mechanism", "censored", "--weights", "none"),
        *("--epsilon", "20", "--datasets", "1", "--draws", "600", "--seed", str(1 << 62)),
        *("--records", "noisy", "--records-epsilon", "0.5", "--accept-unconverged"),
    ]
    run = run_twice(tmp_path, *given)
    for name in ("privacy.json", "run.toml"):
        one, two = (
            re.sub(r'"release_id": "\w{32}"', "", (tmp_path / which / "release" / name).read_text())
            for which in ("one", "two")
        )
        assert one == two
    statement = json.loads((tmp_path / "one/release/privacy.json").read_text())
    assert (statement["number_of_rows"], statement["guarantee"]) == ("noisy", "none")
    wrong = run(*given, "--records", "some", "--out", str(tmp_path / "three"))
    assert str(wrong.exception) == "--records must be a whole number or noisy. Got 'some'."


def strict(**changes: Any) -> dict[str, Any]:
    return {
        "outcome": "y",
        "model": "poisson",
        "mechanism": Censored(epsilon=3.0, weights="none"),
        "datasets": 2,
        "settings": SamplerSettings(draws=4, chains=1),
        "engine": SeededEngine(),
        **changes,
    }


VISITS = pl.DataFrame({"y": [3, 4, 1, 2, 5, 2, 2, 3]})


@given(
    st.sampled_from([*FAMILIES[:1], *FAMILIES[2:], MIXTURE]),
    st.sampled_from(["censored", "lw", "unweighted"]),
    st.sampled_from(["none", "cw", "lw"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=60, derandomize=True)
def test_the_settings_alone_decide_the_word(
    family: Any, mechanism: str, weights: str, named: bool, prior: bool, downscale: bool
) -> None:
    name, of_model, _ = family
    if name == "ordinal" and not named:
        of_model = {}
    if name == "normal-mixture" and not prior:
        of_model = {"components": 2}
    chosen = strict(model=find_model(name, **of_model))
    chosen |= {"mechanism": Censored(epsilon=3.0, weights=weights), "downscale": downscale}
    if mechanism != "censored":
        chosen |= {"mechanism": mechanism, "downscale": False}
    run = Synthesizer(**chosen)
    real = [0.25, 0.5, 0.75, 0.5]
    y = {"ordinal": [1, 3, 2, 1], "logistic": [0, 1, 1, 0], "poisson": [1, 2, 3, 4]}.get(name, real)
    said = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            said.append(run.fit(pl.DataFrame({"y": y}), seed=1).privacy["guarantee"])
        except InputError:
            assert not run.strict
            return
    assert run.strict == (said == ["dp"])
    if not run.strict:
        with refused("no-guarantee"):
            RunSettings(**chosen, accept_unconverged=True)


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_strict_run_whose_chains_fail_stops_before_anything_is_written(
    in_memory: bool, tmp_path: Path
) -> None:
    source, out = tmp_path / "table.parquet", tmp_path / "out"
    VISITS.write_parquet(source)
    run = Synthesizer(**strict(engine=SeededEngine(BAD)))
    with pytest.raises(ConvergenceError) as caught:
        run.fit(VISITS, seed=1) if in_memory else run.fit_to(source, out, seed=1)
    for remedy in ("larger epsilon", "draws, warmup or target_accept", "--accept-unconverged"):
        assert remedy in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]
    lw = Synthesizer(**strict(engine=SeededEngine(BAD), mechanism=LipschitzWeighted()))
    with pytest.warns(ConvergenceWarning, match="R-hat reaches"):
        assert lw.fit(VISITS, seed=1).privacy["guarantee"] == "asymptotic-dp"


def test_an_engine_of_a_user_s_own_makes_no_strict_claim() -> None:
    checked, own = (
        Synthesizer(**strict(engine=engine)).fit(VISITS, seed=1).privacy
        for engine in (SeededEngine(), OwnEngine())
    )
    assert (checked["guarantee"], checked.get("unchecked")) == ("dp", None)
    assert (own["guarantee"], own["certified"]) == ("asymptotic-dp", None)
    assert own["unchecked"] == ["engine"]
    assert "unchecked-engine" in {said["key"] for said in own["caveat_keys"]}


def test_a_comparison_of_settings_on_the_table_leaves_no_strict_claim() -> None:
    pytest.importorskip("opendp")
    histogram = PerturbedHistogram(epsilon=2.0, range=(0.0, 9.0))
    for changes, word in (({}, "asymptotic-dp"), ({"mechanism": histogram}, "none")):
        plain, compared = (
            Synthesizer(**strict(**changes), compared=said).fit(VISITS, seed=1).privacy
            for said in (False, True)
        )
        assert plain["guarantee"].startswith("dp")
        assert (compared["guarantee"], compared["certified"]) == (word, None)
        entries = [entry["key"] for entry in compared["ledger"] if entry["key"] == "compared"]
        assert entries == ["compared"]
        assert "compared" in {said["key"] for said in compared["caveat_keys"]}


def test_chains_that_are_accepted_whatever_they_do_leave_no_guarantee() -> None:
    said = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for diagnostics in (FINE, BAD):
            chosen = strict(engine=SeededEngine(diagnostics), accept_unconverged=True)
            made = Synthesizer(**chosen).fit(VISITS, seed=1)
            assert made.privacy["guarantee"] == "none"
            assert made.privacy["certified"] is None
            assert any("accept chains that fail" in caveat for caveat in made.privacy["caveats"])
            assert "accept_unconverged = true" in made.config
            said.append(made.privacy["ledger"])
    assert said[0] == said[1]


def test_a_posterior_that_is_the_prior_is_told_to_the_agency_alone() -> None:
    chosen = strict(mechanism=Censored(epsilon=1e-9, weights="none"))
    with pytest.warns(ConvergenceWarning, match="the posterior is the prior"):
        made = Synthesizer(**chosen).fit(VISITS, seed=1)
    assert made.summary["posterior_is_prior"] is True
    assert made.summary["share_outside_window"] == {"mean": 1.0, "least": 1.0, "most": 1.0}
    assert made.records["share_outside_window"].to_list() == [1.0] * len(VISITS)
    assert "outside" not in json.dumps(made.privacy)
    assert made.privacy["guarantee"] == "dp"
    assert Synthesizer(**strict()).fit(VISITS, seed=1).summary["posterior_is_prior"] is False


def test_a_public_number_of_rows_changes_the_rows_alone() -> None:
    plain = Synthesizer(**strict()).fit(VISITS, seed=3)
    assert plain.privacy["certified"]["neighbours"] == "replace-one"
    for records in (1, 8, 50):
        made = Synthesizer(**strict(records=records)).fit(VISITS, seed=3)
        assert [len(table) for table in made.datasets] == [records] * 2
        assert made.privacy["certified"] == {
            "neighbours": "leave-one-out", "epsilon_per_dataset": 3.0, "epsilon_total": 6.0
        }  # fmt: skip
        assert made.privacy["number_of_rows"] == "public"
        assert made.posterior.equals(plain.posterior)
        assert f'records = "{records}"' in made.config
    labelled = VISITS.to_pandas().set_index(np.arange(8) * 7)
    for records in (5, 8):
        made = Synthesizer(**strict(records=records)).fit(labelled, seed=3)
        assert list(made.datasets[0].index) == list(range(records))
    same = Synthesizer(**strict(records=8)).fit(VISITS, seed=3)
    for one, other in zip(same.datasets, plain.datasets, strict=True):
        assert sorted(one["y"]) == sorted(other["y"])


def test_a_noisy_number_of_rows_is_paid_for() -> None:
    pytest.importorskip("opendp")
    sizes = set()
    for _ in range(8):
        chosen = strict(records="noisy", records_epsilon=0.5)
        made = Synthesizer(**chosen).fit(VISITS, seed=3)
        (size,) = {len(table) for table in made.datasets}
        sizes.add(size)
        assert size >= 1
    assert len(sizes) > 1  # All eight are alike with a chance below 1e-4.
    assert made.privacy["certified"] == {
        "neighbours": "leave-one-out", "epsilon_per_dataset": 3.5, "epsilon_total": 6.5
    }  # fmt: skip
    assert made.privacy["epsilon_total"] == 6.5
    assert [entry["epsilon"] for entry in made.privacy["ledger"]] == [6.0, 0.5]
    assert made.privacy["epsilon_by_neighbours"]["replace-one"]["total"] == 12.0
    exact = Synthesizer(**strict(records="noisy", records_epsilon=1e3)).fit(VISITS, seed=3)
    assert [len(table) for table in exact.datasets] == [8, 8]


@pytest.mark.parametrize(("draws", "total"), [(1, 6.0), (2, 12.0), (5, 30.0), (None, 30.0)])
def test_datasets_of_one_draw_are_paid_once_in_memory_and_in_steps(
    draws: int | None, total: float, tmp_path: Path
) -> None:
    VISITS.write_parquet(tmp_path / "table.parquet")
    run = Synthesizer(**strict(datasets=5, draws_per_release=draws, settings=LONGER))
    made = run.fit(VISITS, seed=2**60)
    steps = run.fit_to(tmp_path / "table.parquet", tmp_path / "out", seed=2**60)
    assert made.privacy == steps
    assert steps["certified"] == {
        "neighbours": "replace-one", "epsilon_per_dataset": 6.0, "epsilon_total": total
    }  # fmt: skip
    for number, whole in enumerate(made.datasets, start=1):
        file = tmp_path / "out" / "release" / f"synthetic-{number:02d}.parquet"
        assert pl.read_parquet(file).equals(whole)
    assert len({tuple(dataset["y"]) for dataset in made.datasets}) > 1


LONGER = SamplerSettings(draws=5, chains=1)


@pytest.mark.parametrize(
    ("changes", "clamp", "settings"),
    [
        ({}, "deviance", {}),
        ({"mechanism": Censored(epsilon=3.0, weights="none", clamp="half")}, "half", {}),
        ({"records": 5}, "deviance", {"records": 5}),
        ({"sampling": "systematic"}, "deviance", {"sampling": "systematic"}),
        (
            {"model": find_model("ordinal", levels=(1, 2, 3, 4, 5))},
            "deviance",
            {"levels": [1, 2, 3, 4, 5]},
        ),
        (
            {"model": find_model("beta", range=(0, 9), largest_kappa=30.0)},
            "deviance",
            {"range": [0.0, 9.0], "squeeze": 0.0, "largest_kappa": 30.0},
        ),
        (
            {"model": find_model("normal", smallest_sd=0.5)},
            "deviance",
            {
                "outcome_scale": "identity",
                "outcome_centre": 0.0,
                "outcome_unit": 1.0,
                "smallest_sd": 0.5,
            },
        ),
    ],
)
def test_a_run_names_its_clamp_and_public_settings(
    changes: dict[str, Any], clamp: str, settings: dict[str, Any]
) -> None:
    run = Synthesizer(**strict(**changes))
    relied = run.fit(VISITS, seed=1).privacy["relies_on"]
    assert relied["clamp"] == {"kind": clamp, "epsilon": 3.0}
    assert relied["public_settings"] == settings
    assert set(cast(Any, run.model).public_settings) <= set(settings)
    assert relied["weights"] == {"source": "none", "epsilon": 0.0}
    assert relied["sampler"] == {"engine": "seeded", "draws": "as-if-converged"}
    expected = {"as-if-exact", "converged", "domain", "other-releases", "public-settings"}
    assert set(relied["not_covered"]) - {"records"} == expected


def test_as_many_draws_as_the_statement_says_decide_the_datasets() -> None:
    """At a posterior whose draws are far apart, a dataset's values tell its draw."""

    class Apart(SeededEngine):
        def sample(self, target: Any, settings: Any, *, seed: int, **_: Any) -> Posterior:
            q = np.arange(settings.draws, dtype=np.float64)[:, None] * np.ones(target.dimension)
            draws = target.model.constrain(q, target.cells.n_coefficients)
            return Posterior(draws, 1, FINE, 0.0, self.name)

    Apart.__module__ = SeededEngine.__module__
    settings = SamplerSettings(draws=12, chains=1)
    for draws, places in ((1, [0, 0, 0, 0]), (2, [0, 6, 0, 6]), (3, [0, 4, 8, 0])):
        run = Synthesizer(
            **strict(datasets=4, draws_per_release=draws, engine=Apart(), settings=settings)
        )
        made = run.fit(VISITS, seed=1)
        logs = [float(np.log(max(dataset["y"].mean(), 1e-9))) for dataset in made.datasets]
        assert np.abs(np.array(logs) - places).max() < 1.5
        assert made.privacy["draw_of_dataset"] == [1 + places.index(place) for place in places]


def test_numbers_of_draws_that_are_refused() -> None:
    with refused("not-a-whole-number", name="draws_per_release"):
        Synthesizer(**strict(draws_per_release=0))
    with refused("too-few-draws"):
        Synthesizer(**strict(datasets=5))
    Synthesizer(**strict(datasets=5, draws_per_release=4))


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"records": 0}, "not-a-whole-number"),
        ({"records": "many"}, "records-words"),
        ({"records": "noisy", "records_epsilon": 0.0}, "not-above-0"),
        ({"records_epsilon": 1.0}, "belongs-to-setting"),
    ],
)
def test_numbers_of_rows_that_are_refused(changes: dict[str, Any], key: str) -> None:
    with refused(key):
        Synthesizer(**strict(**changes))


def test_columns_released_unchanged_have_the_table_s_own_rows(tmp_path: Path) -> None:
    table = VISITS.with_columns(town=pl.Series(["a", "b"] * 4))
    for role in ({"formula": "~ town"}, {"keep": "all"}):
        with refused("records-unchanged"):
            Synthesizer(**strict(records=5, **role)).fit(table, seed=1)
        table.write_parquet(tmp_path / "table.parquet")
        with refused("records-unchanged"):
            Synthesizer(**strict(records=5, **role)).fit_to(
                tmp_path / "table.parquet", tmp_path / "out", seed=1
            )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("format", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("records", [1, 8, 5000])
def test_a_number_of_rows_is_drawn_in_steps_as_in_memory(
    records: int, format: str, tmp_path: Path, at_once: Callable[[int], None]
) -> None:
    """To the byte: the size of the table decides which of them a run takes."""
    at_once(700)
    source = tmp_path / f"table.{format}"
    write_table(VISITS, source, format=format)
    run = Synthesizer(**strict(records=records))
    said = run.fit_to(source, tmp_path / "out", seed=2**60)
    made = run.fit(VISITS, seed=2**60)
    assert said == made.privacy
    assert said["certified"]["neighbours"] == "leave-one-out"
    made.write(tmp_path / "whole", format=format)
    for number in (1, 2):
        name = f"release/synthetic-{number:02d}.{format}"
        steps, whole = ((tmp_path / way / name).read_bytes() for way in ("out", "whole"))
        assert steps == whole
    rows = pl.read_parquet(tmp_path / "out" / "confidential" / "records.parquet")
    assert rows.equals(made.records)


def test_a_noisy_number_of_rows_in_steps_is_that_of_records(tmp_path: Path) -> None:
    """Not that of distinct records, of which the tally has fewer."""
    pytest.importorskip("opendp")
    pl.concat([VISITS] * 9).write_parquet(tmp_path / "table.parquet")
    run = Synthesizer(**strict(records="noisy", records_epsilon=1e3))
    run.fit_to(tmp_path / "table.parquet", tmp_path / "out", seed=2**60)
    assert len(pl.read_parquet(tmp_path / "out" / "release" / "synthetic-01.parquet")) == 72


@pytest.mark.parametrize(("bins", "left_out"), [(2, 0.5), (None, None)])
def test_a_histogram_whose_bins_follow_n_has_no_figure_for_deletion(
    bins: int | None, left_out: float | None
) -> None:
    """The rule of bins takes n: where a record is left out, all edges may move."""
    pytest.importorskip("opendp")
    histogram = PerturbedHistogram(epsilon=1.0, range=(0, 9), bins=bins)
    made = Synthesizer(outcome="y", mechanism=histogram, datasets=1).fit(
        pl.DataFrame({"y": [1, 2, 3, 4]}), seed=1
    )
    figures = made.privacy["epsilon_by_neighbours"]
    assert figures["leave-one-out"]["per_dataset"] == left_out
    said = any("The number of bins follows" in caveat for caveat in made.privacy["caveats"])
    assert said == (left_out is None)
    keys = {caveat["key"] for caveat in made.privacy["caveat_keys"]}
    assert {"records", "certified-for-replacement"} <= keys  # The number of rows is exact.
    assert figures["replace-one"] == {"per_dataset": 1.0, "total": 1.0}


def test_the_board_is_asked_about_the_epsilon_that_is_certified(tmp_path: Path) -> None:
    for records, total, neighbours in ((None, "12", "replace-one"), (5, "6", "leave-one-out")):
        made = Synthesizer(**strict(records=records)).fit(VISITS, seed=2**60)
        out = made.write(tmp_path / neighbours)
        page = board_page(read_public(out), read_confidential(out), None)
        asked = f"Whether ε = {total} for the whole release is acceptable, under {neighbours}"
        assert asked in html.unescape(page)
