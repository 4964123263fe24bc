"""The README stays true: its commands run, its table is the demo's, its names exist."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from documents import ROOT, blocks, commands, run, validate_a_few

import pyvws as vws

_README = (ROOT / "README.md").read_text(encoding="utf-8")
# The demo is seeded, but another processor's last bits can lead the sampler to other draws: bounds
# (largest of 4000 draws) then move by some per cent, distances near 0 by more.
_DEMO_TOLERANCE = [0.15, 0.15, 0.05, 0.4, 0.4, 0.02, 0.02, 0.02, 0.02]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the table that the README speaks of."""
    rng = np.random.default_rng(11)
    folder = tmp_path_factory.mktemp("readme")
    urban = rng.choice(["yes", "no"], 250, p=[0.8, 0.2])
    spent = rng.gamma(3.0, 900.0 + 400.0 * (urban == "yes"))
    pl.DataFrame(
        {"expenditure": spent, "urban": urban, "marital": rng.integers(1, 4, 250)}
    ).write_csv(folder / "households.csv")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(
            command,
            marks=[
                *([pytest.mark.r] if "validate" in command else []),
                *([pytest.mark.evidence] if "study" in command and "--out" in command else []),
            ],
        )
        for command in commands(_README)
        if command.startswith("pyvws")
    ],
)
def test_each_pyvws_command_runs(command: str, workplace: Path, need: Callable[[str], str]) -> None:
    for engine in ("pystan", "rstan"):
        if engine in command or "posterior" in command:
            need(engine)
    few = validate_a_few if command.startswith("pyvws validate ") else run
    done = few(command, workplace)
    assert done.returncode == 0, done.stderr


def test_there_are_commands_of_each_kind() -> None:
    kinds = {command.split()[0] for command in commands(_README)}
    assert kinds == {"make", "pip", "pyvws"}


@pytest.mark.slow
@pytest.mark.draws
def test_make_demo_prints_the_table_of_the_readme(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    venv = Path(sys.prefix)
    if not (venv / ".installed").exists():
        pytest.skip("runs in the environment that make test creates")
    assert "make demo" in commands(_README)
    assert "Another processor gives other last digits" in " ".join(_README.split())
    done = run(f"make -C {ROOT} demo VENV={venv} OUT={tmp_path / 'demo'}", tmp_path)
    assert done.returncode == 0, done.stderr
    made = pl.read_csv(tmp_path / "demo" / "table.csv")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in _README.splitlines()
        if re.match(r"\| (unweighted|[LCS]W|[LC]W_final) \|", line)
    ]
    assert [row[0] for row in rows] == list(made["label"])
    for row, figures in zip(rows, made.drop("label").iter_rows(), strict=True):
        for number, (cell, here) in enumerate(zip(row[1:], figures, strict=True), start=1):
            record_property(f"README, {row[0]}, number {number}", f"{cell} {here}")
        gaps = np.abs(np.array([float(cell) for cell in row[1:]]) / figures - 1)
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
    assert "pip install ." in commands(_README)
    offline = f"--no-deps --no-build-isolation --target {tmp_path / 'site'}"
    done = run(f"{sys.executable} -m pip install -q {offline} {ROOT}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "pyvws" / "_resources_data" / "r_reference").is_dir()


def test_each_extra_that_it_names_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = set(re.findall(r"'\.\[(\w+)\]'", _README))
    assert {"r", "pystan"} <= named <= set(project["optional-dependencies"])


@pytest.mark.slow
def test_the_python_example_runs(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workplace)
    for example in blocks(_README, "python"):
        exec(compile(example, "README.md", "exec"), {})
    assert (workplace / "out-python" / "release" / "synthetic-05.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize("code", blocks(_README, "r"))
def test_each_r_example_runs(
    code: str,
    workplace: Path,
    rscript: Callable[[str, Path], subprocess.CompletedProcess[str]],
) -> None:
    done = rscript(code, workplace)
    assert done.returncode == 0, done.stderr


def test_each_name_of_the_table_exists_on_both_sides() -> None:
    rows = re.findall(r"^\| [^|]+ \| (`[^|]+) \| `vws\.(\w+)", _README, flags=re.MULTILINE)
    assert len(rows) >= 9
    scripts = "\n".join(path.read_text() for path in (ROOT / "r_reference").glob("*.R"))
    for in_r, in_python in rows:
        assert callable(getattr(vws, in_python))
        for name in re.findall(r"`(\w+)", in_r):
            assert name == "quantile" or f"\n{name} <- function" in "\n" + scripts


def test_its_pictures_and_files_exist() -> None:
    for path in re.findall(r"\]\(([^)#]+)\)", _README):
        assert (ROOT / path).exists()
    for name in ("CITATION.cff", "SECURITY.md", "LICENSE", "CHANGELOG.md"):
        assert (ROOT / name).exists()
