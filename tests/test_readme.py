"""The README stays true: its blocks run as they stand, its tables and names are the package's."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import documents
import numpy as np
import polars as pl
import pytest
from documents import ROOT, blocks, commands, examples, run, words

from pyvws.mechanisms.registry import MECHANISMS

_README, _INDEX, _DEMO, _TUTORIAL = (
    (ROOT / name).read_text(encoding="utf-8")
    for name in ("README.md", "docs/index.md", "docs/studies.md", "docs/tutorial.md")
)
# The demo is seeded, but another processor's last bits can lead the sampler to other draws: bounds
# (largest of 4000 draws) then move by some per cent, distances near 0 by more.
_DEMO_TOLERANCE = [0.15, 0.15, 0.15, 0.05, 0.4, 0.4, 0.02, 0.02, 0.02, 0.02]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder, in which the README's examples run one after the other."""
    return tmp_path_factory.mktemp("readme")


@pytest.mark.slow
@pytest.mark.draws
def test_each_block_runs_as_it_stands_in_an_empty_folder(
    workplace: Path, record_property: Callable[[str, object], None]
) -> None:
    pytest.importorskip("opendp")
    shown = 0
    for example in examples(_README):
        if example.language == "r":
            continue
        place = f"README.md, line {example.line}"
        printed = documents.printed_by(example, workplace, {"__name__": "__main__"}, place)
        if example.shown is not None:
            shown += 1
            for number, (here, there) in enumerate(
                documents.figures(example.shown, printed), start=1
            ):
                record_property(f"{place}, number {number}", f"{here} {there}")
            assert (
                list(documents.differences(example.shown, printed, within=example.within)) == []
            ), place
    assert shown == 1
    for out in ("out", "out-table"):
        statement = json.loads((workplace / out / "release/privacy.json").read_text())
        assert statement["guarantee"] == "approximate-dp"
        assert statement["epsilon_total"] == 1.0
        assert (workplace / out / "release" / "synthetic-05.csv").exists()
    assert (workplace / "out-table/confidential/report.html").stat().st_size > 10_000


def test_the_printed_block_states_what_it_cost_and_what_it_kept() -> None:
    (shown,) = (example.shown for example in examples(_README) if example.shown)
    kept, of, apart, sample, epsilon = (
        word for word in words(str(shown)) if isinstance(word, float)
    )
    assert apart < kept < sample < of == 1000
    assert epsilon == 1.0


def test_no_command_that_writes_a_release_has_a_seed() -> None:
    """A short seed can be guessed, and a release under it tells records."""
    released = [one for one in commands(_README) if one.startswith("pyvws synthesize")]
    assert released
    assert "--seed" not in _README
    assert "seed=" not in _README


def test_blocks_can_be_run_again() -> None:
    """What a first try left is replaced: in the README, and in the tutorial's blocks that run."""
    tutorial = "\n".join(e.code for e in examples(_TUTORIAL) if e.language == "sh")
    for text in ("\n".join(commands(_README)), tutorial.replace("\\\n", " ")):
        writing = re.findall(r"(?m)^pyvws (?:example|schema|synthesize|report|init) .*$", text)
        assert writing
        assert [one for one in writing if "--overwrite" not in one] == []


def test_it_is_read_in_some_minutes() -> None:
    assert len(_README.splitlines()) <= 120
    assert len(_README.split()) <= 1200


def test_there_are_commands_of_each_kind() -> None:
    kinds = {command.split()[0] for command in commands(_README)}
    assert kinds == {"make", "pip", "pyvws"}


def test_its_table_of_mechanisms_is_that_of_the_package() -> None:
    rows = re.findall(r"^\| (`[a-z][^|]*) \| ([^|]+) \| [^|]+ \| [^|]+ \|$", _README, re.MULTILINE)
    named = [(name, said) for first, said in rows for name in re.findall(r"`([a-z][\w-]+)`", first)]
    assert {name for name, _ in named} == set(MECHANISMS)
    in_docs = {
        (name, word)
        for name, _, word in re.findall(
            r"^\| `([\w-]+)`([^|]*)\| `([\w-]+)` \|",
            (ROOT / "docs/mechanisms.md").read_text().split("## The knobs")[0],
            flags=re.MULTILINE,
        )
    }
    said_here = {(name, word) for name, said in named for word in re.findall(r"`([a-z-]+)`", said)}
    assert in_docs <= said_here


@pytest.mark.slow
@pytest.mark.draws
def test_make_demo_prints_the_table_that_the_docs_show(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    venv = Path(sys.prefix)
    if not (venv / ".installed").exists():
        pytest.skip("runs in the environment that make test creates")
    assert "make demo" in commands(_README)
    assert "On another processor figures differ" in " ".join(_DEMO.split())
    done = run(f"make -C {ROOT} demo VENV={venv} OUT={tmp_path / 'demo'}", tmp_path)
    assert done.returncode == 0, done.stderr
    made = pl.read_csv(tmp_path / "demo" / "table.csv")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in _DEMO.splitlines()
        if re.match(r"\| (unweighted|[LCS]W|[LC]W_final) \|", line)
    ]
    assert [row[0] for row in rows] == list(made["label"])
    for row, measured in zip(rows, made.drop("label").iter_rows(), strict=True):
        for number, (cell, here) in enumerate(zip(row[1:], measured, strict=True), start=1):
            record_property(f"docs/studies.md, {row[0]}, number {number}", f"{cell} {here}")
        gaps = np.abs(np.array([float(cell) for cell in row[1:]]) / measured - 1)
        assert (gaps <= _DEMO_TOLERANCE).all()
    for name in ("utility.png", "before-and-after.png", "bounds-and-weights.png"):
        assert name in done.stdout
        assert (tmp_path / "demo" / name).stat().st_size > 10_000


def test_make_test_runs_the_suite() -> None:
    done = run("make -n test", ROOT)
    assert done.returncode == 0
    assert "-m pytest" in done.stdout
    assert "need-r.sh" in done.stdout


@pytest.mark.slow
def test_pip_installs_the_package(tmp_path: Path) -> None:
    assert "pip install '.[dp]'" in commands(_README)
    offline = f"--no-deps --no-build-isolation --target {tmp_path / 'site'}"
    done = run(f"{sys.executable} -m pip install -q {offline} {ROOT}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "pyvws" / "_resources_data" / "r_reference").is_dir()


def test_each_extra_that_it_names_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = set(re.findall(r"'\.\[(\w+)\]'", _README + _INDEX))
    extras = project["optional-dependencies"]
    assert {"dp", "r", "all"} <= named <= set(extras)
    (whole,) = extras["all"]
    parts = set(re.fullmatch(r"pyvws\[([\w,]+)\]", whole)[1].split(","))
    assert parts == set(extras) - {"all", "docs", "dev"}


@pytest.mark.slow
@pytest.mark.parametrize("code", blocks(_README, "r"))
def test_each_r_example_runs(
    code: str, tmp_path: Path, rscript: Callable[[str, Path], subprocess.CompletedProcess[str]]
) -> None:
    pytest.importorskip("opendp")
    library = tmp_path / "library"
    library.mkdir()
    command = ["R", "CMD", "INSTALL", "--no-docs", f"--library={library}", ROOT / "r_package/pyvws"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    done = rscript(f'.libPaths("{library}")\n{code}', tmp_path)
    assert done.returncode == 0, done.stderr
    assert "approximate-dp-if-public: epsilon 1 for all of them" in done.stdout


def test_its_pictures_and_files_exist() -> None:
    for path in re.findall(r"\]\(([^)#]+)[^)]*\)", _README):
        assert (ROOT / path).exists(), path
    for name in ("CITATION.cff", "SECURITY.md", "LICENSE", "CHANGELOG.md"):
        assert (ROOT / name).exists()
