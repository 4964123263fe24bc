"""What the terminal is told: names in brackets, which rich takes for markup, and missed targets."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pyvws.commands.cli import app
from pyvws.commands.output import console_listener
from pyvws.errors import SearchError
from pyvws.sheet import Sheet, plain_console, print_sheets

run = CliRunner().invoke


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    rng = np.random.default_rng(3)
    paths = [tmp_path / f"{k}.csv" for k in range(3)]
    for path in paths:
        made = pd.DataFrame({"pay [eur]": rng.gamma(3, 9, 40), "size [m]": rng.integers(1, 5, 40)})
        made.to_csv(path, index=False)
    return [str(path) for path in paths]


def test_titles_and_coefficients_keep_names_in_brackets(files: list[str]) -> None:
    for command in (["risk", *files], ["utility", *files]):
        made = run(app, [*command, "--outcome", "pay [eur]"])
        assert made.exit_code == 0, made.output
        assert "pay [eur]" in made.output
    made = run(app, ["combine", *files, "--formula", "`pay [eur]` ~ `size [m]`"])
    assert made.exit_code == 0, made.output
    assert made.output.count("size [m]") == 2  # The title, and the coefficient's own row.


def test_an_epsilon_that_was_not_reached_is_told(files: list[str], tmp_path: Path) -> None:
    made = run(
        app,
        ["synthesize", files[0], "--outcome", "pay [eur]", "--round", "--epsilon", "3",
         "--mechanism", "weighted-epsilon", "--datasets", "1", "--seed", "1",
         "--accept-above-target", "--out", str(tmp_path / "out")],
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    assert made.stdout.endswith("the epsilon asked for, 3.0, was not reached\n")


def test_an_epsilon_that_is_missed_ends_without_a_release(files: list[str], tmp_path: Path) -> None:
    made = run(
        app,
        ["synthesize", files[0], "--outcome", "pay [eur]", "--round", "--epsilon", "3",
         "--mechanism", "weighted-epsilon", "--datasets", "1", "--seed", "1",
         "--out", str(tmp_path / "out")],
    )  # fmt: skip
    assert made.exit_code != 0
    assert isinstance(made.exception, SearchError)
    assert "--accept-above-target" in str(made.exception)
    assert sorted(map(str, tmp_path.iterdir())) == files


def test_a_warning_keeps_an_extra_in_brackets(files: list[str], tmp_path: Path) -> None:
    made = run(
        app,
        ["synthesize", files[0], "--outcome", "pay [eur]", "--round", "--mechanism", "censored",
         "--epsilon", "8", "--weights", "none", "--draws", "100", "--warmup", "100",
         "--chains", "2", "--datasets", "1", "--seed", "1", "--accept-unconverged",
         "--out", str(tmp_path / "out")],
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    (warning,) = [line for line in made.stderr.splitlines() if line.startswith("Warning: ")]
    assert warning.endswith(".")


def test_a_kind_of_records_that_leaves_the_fit_is_told_inside(tmp_path: Path) -> None:
    answers = pd.DataFrame({"works": [0, 1] * 30, "region": ["n", "n", "s"] * 20})
    answers.to_csv(tmp_path / "answers.csv", index=False)
    told = {}
    for g in ("0", "0.5", None):
        out = tmp_path / f"out-{g}"
        made = run(
            app,
            ["synthesize", str(tmp_path / "answers.csv"), "--outcome", "works", "--model",
             "logistic", "--formula", "~ region", *(["--g", g] if g else []), "--datasets", "1",
             "--mechanism", "lw", "--chains", "2",
             "--draws", "200", "--warmup", "200", "--seed", "1", "--out", str(out)],
        )  # fmt: skip
        assert made.exit_code == 0, made.output
        told[g] = "LW gives weight 0 to" in made.stderr
        assert (g is None) == ("So g is 0.5 c here" in made.stderr.replace("\n", " "))
        assert "weight 0" not in made.stdout
        for path in (out / "release").iterdir():
            assert "weight 0" not in path.read_text()
    assert told == {"0": True, "0.5": False, None: False}


def test_a_wide_table_of_figures_keeps_every_digit(capsys: pytest.CaptureFixture[str]) -> None:
    figures = [f"{x:.6g}" for x in (1.23456e100 * np.arange(1, 12))]
    names = ("", *(f"number {k}" for k in range(11)))
    print_sheets([Sheet("wide", names, [("row", *figures)], notes=["a line"])])
    printed = capsys.readouterr().out
    assert all(figure in printed for figure in figures)
    assert max(len(line) for line in printed.splitlines()) > 100
    print_sheets([Sheet("narrow", ("", "number"), [("row", 1)])])
    assert max(len(line) for line in capsys.readouterr().out.splitlines()) < 100


NAMES = ("income [/eur]", "[k]", ":warning: [bold]", "[red]x[/red]")


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_printed_as_it_is(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_sheets([Sheet(name, ("", name, "review"), [(name, 1, name)], [f"{name} cannot see."])])
    said = capsys.readouterr().out
    assert said.count(name) == 5
    for terminal in (False, True):
        said = io.StringIO()
        console = plain_console(file=said, force_terminal=terminal, width=200)
        with console_listener(console) as listener:
            tell = listener.fit(name)
            assert tell is not None
            tell(1, 2, [name])
            listener.line(name)
        assert name in said.getvalue()
        assert said.getvalue().count(name) >= 2


def test_utility_of_columns_with_brackets(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    paths = [str(tmp_path / f"{k}.csv") for k in range(2)]
    for path in paths:
        made = pd.DataFrame({name: rng.normal(size=40).round(3) for name in NAMES})
        made.to_csv(path, index=False)
    made = run(app, ["utility", *paths])
    assert made.exit_code == 0, made.output
    lines = " ".join(made.output.split())
    assert f"Bins of k_marginal are tenths of the data: {', '.join(NAMES)}." in lines
