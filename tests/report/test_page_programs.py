"""The programs of the public page: in both languages they give what `pyvws combine` gives."""

import ast
import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from documents import ROOT
from page_tables import rows_of
from refusals import refused
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.evaluation.combining_rules import NoisyCells
from pyvws.report.output_folder import read_public
from pyvws.report.public_page import public_page

pytestmark = [pytest.mark.runs, pytest.mark.draws]
N = 240
LANGUAGES = ["python", pytest.param("r", marks=pytest.mark.r)]
FEW = {"draws": 150, "warmup": 150}
ODD = ["None", "null", "02139", "TRUE", 'a, "b"', "Süd"]
SCHEMA = vws.Schema(
    {
        "place": vws.Column(model="nominal", levels=ODD),
        "own": vws.Column(model="nominal", levels=["FALSE", "TRUE"], missing=True),
        "kind": vws.Column(model="nominal", levels=["NA", "x", "B"], missing="9"),
        "note": vws.Column(model="logistic", levels=["", "z"]),
        "rooms": vws.Column(model="nominal", levels=["1", "2", "3"], missing="8"),
        "day": vws.Column(
            model="normal", days_since="2020-01-01", range=["2020-01-01", "2020-12-31"]
        ),
        "pay": vws.Column(
            model="normal", range=[-20, 40], missing=True, predictors=["place", "own"]
        ),
    }
)
FORMULAS = ("pay ~ place + own + kind", "pay ~ note + rooms + day")


def table() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    place, own = rng.choice(ODD, N), rng.choice(np.array([True, False, None]), N)
    pay = rng.normal(10.0, 2.0, N) + 3.0 * (place == "null") + 2.0 * (own == True)  # noqa: E712
    pay[rng.random(N) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "place": place,
            "own": pd.array(own, dtype="boolean"),
            "kind": rng.choice(["NA", "x", "B", "9"], N),
            "note": rng.choice(["", "z"], N),
            "rooms": rng.choice([1, 2, 3, 8], N),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, N), "D"),
            "pay": pay,
        }
    )


def by_schema(mechanism: str, **settings: Any) -> vws.Release:
    return vws.synthesize(
        table(), schema=SCHEMA, mechanism=mechanism, datasets=4, seed=1, **settings
    )


def one_column() -> vws.Release:
    frame = table()[["place", "note", "pay"]].assign(zone=np.resize(["02139", "12345"], N))
    frame["pay"] = frame["pay"].fillna(9.0)
    return vws.synthesize(
        frame,
        outcome="pay",
        formula="~ place + zone",
        model="normal",
        mechanism="lw",
        datasets=3,
        seed=1,
        keep="all",
        **FEW,
    )


def clamped() -> vws.Release:
    return by_schema("censored", epsilon=20.0, **FEW)


def counted() -> vws.Release:
    pytest.importorskip("opendp")
    # So little noise that no dataset lacks a level, for which a regression is refused.
    return by_schema("noisy-counts", epsilon=40.0)


RELEASES: dict[str, tuple[Callable[[], vws.Release], str, tuple[str, ...]]] = {
    "lw": (lambda: by_schema("lw", **FEW), "csv", FORMULAS),
    "censored": (clamped, "csv", FORMULAS),
    "noisy-counts": (counted, "csv", FORMULAS),
    "noisy-counts in parquet": (counted, "parquet", FORMULAS),
    "two draws": (
        lambda: by_schema("lw", draws_per_release=2, **FEW), "csv", FORMULAS[:1],
    ),
    "one column": (one_column, "csv", ("pay ~ place + zone",)),
}  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a release, made once."""
    made: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in made:
            make, format, _ = RELEASES[name]
            made[name] = make().write(tmp_path_factory.mktemp("made") / "out", format=format)
        return made[name]

    return folder


def blocks(out: Path) -> dict[str, str]:
    """The programs of a public page by their ids."""
    page = public_page(read_public(out))
    found = re.findall(r'<pre [^>]*id="([^"]*)">(.*?)</pre>', page, flags=re.S)
    return {name: html.unescape(text) for name, text in found}


def formula_of(text: str) -> str:
    """The formula of a page's program."""
    found = re.search(r'combine_formula\("\.", (".*?[^\\]")\)', text)
    assert found is not None
    return str(json.loads(found[1]))


def command(out: Path, *words: str) -> Any:
    """What a command says of the folder, as JSON."""
    ended = CliRunner().invoke(app, [words[0], str(out), *words[1:], "--json"])
    assert ended.exit_code == 0, ended.output
    return json.loads(ended.stdout)


def combined(out: Path, formula: str) -> np.ndarray[Any, Any]:
    """Estimates and ends of intervals (K, 3) by the command."""
    rows = command(out, "combine", "--formula", formula)["coefficients"].values()
    return np.array([[row["estimate"], row["lower"], row["upper"]] for row in rows])


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of R that has the R package."""
    found = tmp_path_factory.mktemp("library")
    words = ["R", "CMD", "INSTALL", "--no-docs", f"--library={found}", ROOT / "r_package/pyvws"]
    subprocess.run(words, capture_output=True, check=True)
    return found


@pytest.mark.parametrize("name", RELEASES)
def test_three_lines_of_python_give_what_the_commands_give(
    written: Callable[[str], Path],
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = written(name)
    text = blocks(out)["python"]
    assert text.count("\n") == 2
    own = formula_of(text)
    assert not own.endswith("~ 1")
    monkeypatch.chdir(out / "release")
    exec(text, {})
    found = ast.literal_eval(capsys.readouterr().out.splitlines()[-1])
    np.testing.assert_allclose(list(found.values()), combined(out, own), rtol=1e-9)
    for formula in RELEASES[name][2]:
        found = vws.combine_formula(out, formula)
        ends = [(one.estimate, *one.interval()) for one in found.values()]
        np.testing.assert_allclose(ends, combined(out, formula), rtol=1e-9)
    told = re.search(r'tabulate\("\.", (.*)\)\.frame', text)
    assert told is not None
    asked = eval(f"dict({told[1]})")
    words = [x for key, value in asked.items() for x in (f"--{key}", value) if x is not True]
    rows = command(out, "tabulate", *words)["rows"]
    figures = vws.tabulate(".", **asked).figures
    assert [one.estimate for one in figures] == pytest.approx([row["estimate"] for row in rows])
    with refused("folder-of-datasets", folder=out / "confidential"):
        vws.tabulate(out / "confidential", count=True)


@pytest.mark.r
@pytest.mark.parametrize("name", ["lw", "noisy-counts", "one column"])
def test_the_lines_of_r_give_the_same(
    written: Callable[[str], Path], name: str, library: Path
) -> None:
    out = written(name)
    text = blocks(out)["r"]
    own = formula_of(text)
    run = subprocess.run(
        ["Rscript", "--vanilla", "-e", f'options(digits = 15); .libPaths("{library}"); {text}'],
        cwd=out / "release", capture_output=True, text=True, check=False,
        env={**os.environ, "RETICULATE_PYTHON": sys.executable},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    lines = run.stdout[run.stdout.index("[,1]") :].splitlines()[1:]
    found = np.array([line.split()[-3:] for line in lines], dtype=np.float64)
    np.testing.assert_allclose(found, combined(out, own), rtol=1e-9)


def test_the_page_says_what_is_counted_modelled_and_unsupported(
    written: Callable[[str], Path],
) -> None:
    release = written("noisy-counts") / "release"
    page = public_page(read_public(release.parent))
    rows = {row[0]: row[1:] for row in rows_of(page, "What figures depend on")}
    counts = pd.read_parquet(release / "counts.parquet").query("set != 'records'")
    drowned = int((counts["count"] < 2 * counts["scale"]).sum())
    assert rows[f"of cells below twice their noise: {drowned} of {len(counts)}"][0] == "unsupported"
    assert {row[0] for row in rows.values()} == {"counted", "modelled", "unsupported"}
    held = [
        (row[0], name) for row in rows_of(page, "What the noisy") for name in row[1].split(", ")
    ]
    for file in ("counts.parquet", "cells.parquet"):
        if (release / file).is_file():
            own = [name for of, name in held if of == file]
            assert own == list(pd.read_parquet(release / file))
    own = json.loads((release / "privacy.json").read_text())["counts"]["predicted"]
    told = {row[0]: row[1] for row in rows_of(page, "How near a dataset should be")}
    assert {name: told[f"score of {name}"] for name in own} == {
        name: f"{score:.1f}" for name, score in own.items()
    }
    rows = {row[0]: row[1] for row in rows_of(public_page(read_public(written("lw"))), "What fig")}
    assert rows["of a synthetic column and its predictors"] == "modelled"
    assert rows["of tails and of small groups"] == "unsupported"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["lw", "one column"])
def test_a_dataset_is_read_with_dates_and_codes_as_they_are(
    written: Callable[[str], Path], name: str, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = written(name) / "release"
    text = blocks(out.parent)[f"read-{language}"]
    cells = pd.read_csv(out / "synthetic-01.csv", dtype=str, keep_default_na=False)
    if language == "python":
        monkeypatch.chdir(out)
        held: dict[str, Any] = {}
        exec(text, held)
        missing = held["data"].isna().sum().to_dict()
        kinds = held["data"].dtypes.astype(str).to_dict()
    else:
        shown = "for (x in names(data)) cat(x, sum(is.na(data[[x]])), class(data[[x]]), '\\n')"
        words = ["Rscript", "--vanilla", "-e", f"{text}\n{shown}"]
        run = subprocess.run(words, cwd=out, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr[-2000:]
        rows = [line.split() for line in run.stdout.splitlines()]
        missing, kinds = {x[0]: int(x[1]) for x in rows}, {x[0]: x[2] for x in rows}
    assert set(kinds) == {*cells}
    if name == "lw":
        codes = {"own": [""], "kind": ["9"], "rooms": ["8"], "pay": [""]}
        assert kinds["day"].startswith(("Date", "datetime64"))
    else:  # No schema says that an empty cell is a value.
        codes = {name: ["", "NA"] for name in cells}
        assert kinds["zone"] in ("character", "str", "object")  # 02139 stays as it is.
    for column in cells:
        assert missing[column] == cells[column].isin(codes.get(column, [])).sum(), column


def test_no_program_gives_intervals_of_one_histogram(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    release = vws.synthesize(
        table()[["pay"]].fillna(9.0), outcome="pay", mechanism="perturbed-histogram",
        epsilon=2.0, bins=10, range=(-20.0, 40.0), datasets=3, seed=1,
    )  # fmt: skip
    out = release.write(tmp_path / "out")
    page = public_page(read_public(out))
    assert "stand without valid intervals" in page
    assert "combine_formula" not in page
    ended = CliRunner().invoke(app, ["combine", str(out), "--formula", "pay ~ 1"])
    assert "come from one draw" in str(ended.exception)


def test_a_release_says_its_own_rule(written: Callable[[str], Path], tmp_path: Path) -> None:
    """Functions that are given a release, its page, and the command on its folder agree."""
    release, formula = counted(), "pay ~ place"
    assert SCHEMA.columns["pay"].missing  # Its records are left out by both.
    found = vws.combine_formula(release, formula)
    given: dict[str, Any] = {"schema": SCHEMA, "of": "population"}
    assert found == vws.combine_formula(release.datasets, formula, **given)
    assert found != vws.combine_formula(release.datasets, formula, schema=SCHEMA)
    beside = vws.regression_utility(table(), release, formula)
    assert [*map(list, beside.synthetic_interval)] == [
        pytest.approx(one.interval()) for one in found.values()
    ]
    tabled = vws.tabulate(release, by="own", share="kind")
    assert (tabled.of, tabled.rule.cites) == ("population", "rubin1987")
    given["counted"] = NoisyCells.of(release.public_tables["counts.parquet"], release.privacy)
    again = vws.tabulate(release.datasets, by="own", share="kind", **given)
    assert repr(tabled.figures) == repr(again.figures)  # Some are NaN.

    out = release.write(tmp_path / "out")
    data = tmp_path / "data.csv"
    table().to_csv(data, index=False)
    words = ["utility", str(data), str(out), "--regression", formula]
    ended = CliRunner().invoke(app, [*words, "--json"])
    assert ended.exit_code == 0, ended.output
    for row, expected in zip(
        json.loads(ended.stdout).values(), combined(out, formula), strict=True
    ):
        assert row["synthetic_interval"] == pytest.approx(expected[1:])
    assert "imputed records" in CliRunner().invoke(app, words).output
    words = ["tabulate", str(out), "--by", "own", "--count", "--out", str(tmp_path / "table")]
    assert CliRunner().invoke(app, words).exit_code == 0
    for page in (public_page(read_public(out)), (tmp_path / "table/table.html").read_text()):
        assert "T = (1 + 1/m) b + v" in page
        assert "b / m" not in page
        assert "[rubin1987]" in page
    lw = written("lw")
    with refused("figures-of-imputed-records", given="lw"):
        vws.combine_formula(by_statement(lw), formula, of="table")
    both = [str(next((path / "release").glob("*.csv"))) for path in (out, lw)]
    ended = CliRunner().invoke(app, ["combine", *both, "--formula", formula])
    assert "two combining rules" in str(ended.exception)


def by_statement(out: Path) -> Any:
    """What functions read of a release, from its folder."""
    privacy = json.loads((out / "release/privacy.json").read_text())
    return type("Read", (), {"privacy": privacy, "datasets": [], "schema": "", "public_tables": {}})
