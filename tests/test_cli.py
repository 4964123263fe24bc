"""The command line as a user meets it: files written, exit codes, errors, interrupts, no leaks."""

import dataclasses
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from documents import validate_a_few
from run_here import run_here
from typer.main import get_command

import pyvws as vws
from pyvws.commands.cli import app

_CE = Path(__file__).parents[2] / "shared" / "data" / "ce_2017.csv"
_CANARY = 8_675_309
_OF_LW = ("synthesize", "x.csv", "--outcome", "y", "--mechanism", "lw", "--out", "out")
_FAST = ["--draws", "500", "--warmup", "300", "--chains", "2", "--datasets", "3", "--seed", "1"]
_FAST += ["--mechanism", "lw"]


def _script(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Counts with one unmistakable value, an identifier, and text with zeros in front."""
    rng = np.random.default_rng(8)
    frame = pl.DataFrame(
        {
            "person": [f"ID-{_CANARY + i}" for i in range(150)],
            "zip": [f"{i % 7:05d}" for i in range(150)],
            "visits": [*rng.poisson(40, 149), _CANARY],
            "urban": rng.choice(["yes", "no"], 150),
        }
    )
    path = tmp_path_factory.mktemp("table") / "people.csv"
    frame.write_csv(path)
    return path


def _modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.mark.slow
def test_the_ce_run_writes_what_the_readme_says(tmp_path: Path) -> None:
    if not _CE.exists():
        assert not os.environ.get("CI"), "the CE file must be there in CI"
        pytest.skip(f"needs {_CE.name}, which lies beside the checkout of the developers")
    out, some = tmp_path / "out", tmp_path / "some.csv"
    pl.read_csv(_CE).head(1500).write_csv(some)
    run = run_here(
        "synthesize", some, "--outcome", "Expenditure", "--formula", "~ Urban + Marital",
        "--round", "--model", "negative-binomial", "--mechanism", "lw", "--reweight",
        "--datasets", 20, "--seed", 1, "--out", out,
    )  # fmt: skip
    assert run.code == 0, run.err
    assert "k = 0.9500" in run.err
    confidential = pl.read_csv(some)
    records = pl.read_parquet(out / "confidential" / "records.parquet")
    names = [f"synthetic-{i:02d}.csv" for i in range(1, 21)]
    assert sorted(path.name for path in (out / "release").iterdir()) == [
        "privacy.json",
        "run.toml",
        *names,
    ]
    for name in names:
        synthetic = pl.read_csv(out / "release" / name)
        assert synthetic.columns == ["Urban", "Expenditure", "Marital"]
        public = synthetic.select("Urban", "Marital")[records["released_row"] - 1]
        assert public.equals(confidential.select("Urban", "Marital"))
        ratio = synthetic["Expenditure"].mean() / confidential["Expenditure"].mean()
        assert 0.85 < ratio < 1.15
    assert stat.S_IMODE((out / "confidential").stat().st_mode) == 0o700
    assert _modes(out / "confidential") == {0o600}
    summary = json.loads((out / "confidential" / "summary.json").read_text())
    privacy = json.loads((out / "release" / "privacy.json").read_text())
    assert records.height == confidential.height
    assert records["weight"].is_between(0, 1).all()
    assert records["weight_final"].is_between(0, 1).all()
    assert records["lipschitz_bound_final"].max() == summary["Delta"]
    before = records["lipschitz_bound"].max()
    assert abs(summary["Delta"] / before - 1) <= 0.05
    assert pl.read_parquet(out / "confidential" / "posterior.parquet").height == 4000
    assert summary["diagnostics"]["rhat_max"] < 1.01
    assert privacy["epsilon_total"] >= 20 * summary["epsilon"]
    assert privacy["guarantee"] == "asymptotic-dp"
    assert privacy["columns_released_unchanged"] == ["Urban", "Marital"]


def test_nothing_confidential_reaches_the_release_or_the_terminal(
    table: Path, tmp_path: Path
) -> None:
    run = run_here(
        "synthesize", table, "--outcome", "visits", "--formula", "~ urban", "--reweight",
        "--tolerance", "0.2", "--out", tmp_path / "out", *_FAST,
    )  # fmt: skip
    assert run.code == 0, run.err
    released = b"".join(path.read_bytes() for path in (tmp_path / "out/release").iterdir())
    summary = json.loads((tmp_path / "out/confidential/summary.json").read_text())
    records = pl.read_parquet(tmp_path / "out/confidential/records.parquet")
    secrets = [b"ID-", str(_CANARY).encode(), summary["input_sha256"].encode()]
    secrets += [b'"seed":', b"seed ="]
    secrets += [repr(value).encode() for value in records["weight_final"] if 0 < value < 1]
    for secret in secrets:
        assert secret not in released
    assert str(_CANARY) not in run.out + run.err
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_kept_column_passes_as_it_was_written(table: Path, tmp_path: Path) -> None:
    run = run_here(
        "synthesize", table, "--outcome", "visits", "--keep", "zip,urban", "--out",
        tmp_path / "out", *_FAST,
    )  # fmt: skip
    assert run.code == 0, run.err
    lines = (tmp_path / "out/release/synthetic-01.csv").read_text().splitlines()
    assert lines[0] == "zip,visits,urban"
    given = [line.split(",") for line in table.read_text().splitlines()[1:]]
    places = [table.read_text().splitlines()[0].split(",").index(name) for name in ("zip", "urban")]
    cells = sorted(tuple(row[place] for place in places) for row in given)
    assert sorted((zip_, urban) for zip_, _, urban in (x.split(",") for x in lines[1:])) == cells
    assert "00001" in dict(cells)


def test_systematic_draws_by_the_command_are_those_of_python(table: Path, tmp_path: Path) -> None:
    given = ("synthesize", table, "--outcome", "visits", "--model", "normal", *_FAST)
    folder, again = tmp_path / "out", tmp_path / "again"
    run = run_here(*given, "--sampling", "systematic", "--out", folder)
    assert run.code == 0, run.err
    for part in ("release", "confidential"):
        assert 'sampling = "systematic"' in (folder / part / "run.toml").read_text().splitlines()
    privacy = json.loads((folder / "release/privacy.json").read_text())
    assert privacy["relies_on"]["public_settings"]["sampling"] == "systematic"
    config = folder / "confidential/run.toml"
    assert run_here("synthesize", table, "--config", config, "--out", again).code == 0
    name = "release/synthetic-01.csv"
    assert (again / name).read_bytes() == (folder / name).read_bytes()
    for command in (("combine", "--formula", "visits ~ 1"), ("tabulate", "--mean", "visits")):
        judged = run_here(*command, folder / name, folder / "release/synthetic-02.csv")
        assert judged.code == 0, judged.err
        refused = run_here(*command, folder / name, again / name, "--kind", "full")
        assert refused.code == 1
        assert "drawn systematically" in refused.err
        assert len(refused.err.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("synthesize", "x.csv", "--outcome", "y", "--out", "out"),
        (*_OF_LW, "--datasets", "0"),
        (*_OF_LW, "--reweight", "--k", "2"),
        ("synthesize", "x.csv", "--outcome", "y", "--out", "out", "--mechanism", "censored"),
        (*_OF_LW, "--memory", "much"),
        ("audit", "x.csv", "--outcome", "y"),
        ("compare", "x.csv", "--outcome", "y", "--out", "out", "--seeds", "0"),
        ("validate", "--cached", "--level", "exactly"),
        ("tabulate", "x.csv", "x.csv"),
        ("tabulate", "x.csv", "x.csv", "--mean", "y", "--level", "1"),
        ("combine", "x.csv", "x.csv", "--formula", "y ~ 1", "--kind", "both"),
        ("risk", "x.csv", "x.csv"),
        ("study", "five-mechanisms", "--out", "out", "--replicates", "0"),
    ],
)
def test_wrong_usage_leaves_with_the_code_that_help_names(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No table could make these right."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("y\n1\n2\n4\n")
    run = run_here(*words)
    assert (run.code, run.out) == (2, "")
    assert len(run.err.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_parquet_in_parquet_out(table: Path, tmp_path: Path) -> None:
    source = tmp_path / "people.parquet"
    pl.read_csv(table).write_parquet(source)
    run = run_here(
        "synthesize", source, "--outcome", "visits", "--keep", "all", "--out", tmp_path / "out",
        *_FAST,
    )  # fmt: skip
    assert run.code == 0, run.err
    made = pl.read_parquet(tmp_path / "out/release/synthetic-03.parquet")
    rows = pl.read_parquet(tmp_path / "out/confidential/records.parquet")["released_row"] - 1
    assert made[rows].drop("visits").equals(pl.read_parquet(source).drop("visits"))


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["--outcome", "visit"], "Did you mean 'visits'", 1),
        (["--outcome", "visits", "--k", "0.9"], "k belongs to reweight. Add reweight", 2),
        (["--outcome", "visits", "--reweight", "--k", "1.5"], "k must lie strictly between", 2),
        (["--outcome", "visits", "--mechanism", "cw", "--match", "x"], "--match must be lw or", 2),
        (["--outcome", "visits", "--radius", "0.2"], "'lw' does not take radius", 2),
        (["--outcome", "visits", "--datasets", "0"], "datasets must be a whole number", 2),
        (["--outcome", "visits", "--mechanism", "xyz"], "'--mechanism': 'xyz' is not one of", 2),
        (["--outcome", "visits", "--sampling", "even"], "'--sampling': 'even' is not one of", 2),
        ([], "outcome must be the name of one column", 2),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    table: Path, tmp_path: Path, arguments: list[str], message: str, code: int
) -> None:
    run = run_here(
        *("synthesize", table, "--mechanism", "lw", *arguments, "--out", tmp_path / "out")
    )
    assert run.code == code
    assert message in run.err
    assert run.err.startswith("Error: ")
    assert "Traceback" not in run.err
    assert run.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_full_folder_is_refused_before_any_work_and_replaced_on_request(
    table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "old.txt").write_text("1")
    run = run_here("synthesize", table, "--outcome", "visits", "--mechanism", "lw", "--out", out)
    assert run.code == 1
    assert "is not empty" in run.err
    assert "fit" not in run.err
    run = run_here("synthesize", table, "--outcome", "visits", "--out", out, "--overwrite", *_FAST)
    assert run.code == 0, run.err
    assert sorted(path.name for path in out.iterdir()) == ["confidential", "release"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing(
    table: Path, tmp_path: Path, number: signal.Signals
) -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "pyvws", "synthesize", str(table), "--outcome", "visits",
         "--mechanism", "lw", "--draws", "10000000", "--most-seconds", "1e12",
         "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.stderr is not None
    assert "Expected: about" in run.stderr.readline()
    assert "fit 1" in run.stderr.readline()
    time.sleep(1.0)
    run.send_signal(number)
    _, error = run.communicate(timeout=60)
    assert run.returncode == 130
    assert error.strip().endswith("Interrupted; nothing was left half-written.")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_the_program_loads_prints_nothing() -> None:
    script = (
        "import signal, sys\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'pyvws.commands':\n"
        "            signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "from pyvws.__main__ import run\n"
        "run()\n"
    )
    run = _script(script)
    assert (run.returncode, run.stdout, run.stderr) == (-signal.SIGINT, "", "")


def test_an_interrupt_that_falls_into_a_finalizer_is_not_lost() -> None:
    script = (
        "import signal, sys, time, pyvws.commands.cli as cli\n"
        "class Finalized:\n"
        "    def __del__(self):\n"
        "        signal.raise_signal(signal.SIGTERM)\n"
        "def app(**_options):\n"
        "    Finalized()\n"
        "    print('goes on', flush=True)\n"
        "    while True:\n"
        "        time.sleep(0.01)\n"
        "cli.app = app\n"
        "cli.main()\n"
    )
    run = _script(script)
    assert (run.returncode, run.stdout) == (130, "goes on\n")
    assert run.stderr == "Error: Interrupted; nothing was left half-written.\n"


@pytest.mark.parametrize("caught_by", ["main", "typer"])
def test_an_interrupt_within_a_text_that_is_run_has_the_same_exit_code(
    caught_by: str, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(
        "import signal, sys, typer, pyvws.commands.cli as cli\n"
        "sys.argv[1:] = []\n"
        "def run():\n"
        "    exec('signal.raise_signal(signal.SIGINT)')\n"
        f"cli.app = typer.Typer() if {caught_by!r} == 'typer' else lambda **_options: run()\n"
        f"{'cli.app.command()(run)' if caught_by == 'typer' else ''}\n"
        "cli.main()\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "program"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert run.returncode == 130
    assert run.stderr == "Error: Interrupted; nothing was left half-written.\n"


@pytest.mark.parametrize(
    "words",
    [
        ("report", ".", "--original"),
        ("init",),
        ("validate", "--listings"),
        ("study", "nope", "--out"),
    ],
)
def test_a_name_that_no_file_can_have_is_said_in_a_line(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    ended = run_here(*words, tmp_path / f"{'z' * 300}.csv")
    assert ended.code in (1, 2)
    assert ended.err.count("\n") == 1
    assert "unexpected" not in ended.err


def test_an_unexpected_error_shows_no_value_and_no_traceback(tmp_path: Path) -> None:
    table = tmp_path / "x.csv"
    table.write_text("y\n1\n2\n")
    script = (
        "import sys, pyvws.tables.files.read as files, pyvws.commands.cli as cli\n"
        "def fail(path, **_): raise RuntimeError('the salary 8675309')\n"
        "files.read_table = fail\n"
        f"sys.argv = ['pyvws', 'synthesize', r'{table}', '--outcome', 'y', "
        f"'--mechanism', 'lw', '--out', "
        f"r'{tmp_path}/o']\n"
        "cli.main()\n"
    )
    run = _script(script)
    assert run.returncode == 1
    assert "8675309" not in run.stderr
    assert run.stderr.startswith("Error: An unexpected RuntimeError")


def test_validate_writes_its_rows_and_passes(tmp_path: Path) -> None:
    levels = "exact,close"
    ended = validate_a_few(
        f"pyvws validate --level {levels} --cached --json {tmp_path / 'rows.json'}", tmp_path
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert len(rows) >= 12
    assert {row["verdict"] for row in rows} == {"pass"}
    exact = [row for row in rows if row["tolerance"] == 0]
    assert len(exact) >= 12
    assert all((row["level"] == "exact") == (row["tolerance"] == 0) for row in rows)
    assert {row["largest_difference"] for row in exact} == {0}
    weights_and_bounds = {"rarith", "lipschitz", "weights", "reweight", "ecdf"}
    bounded = {row["id"].split("/")[0] for row in rows if row["tolerance"] > 0}
    assert not bounded & weights_and_bounds
    assert all(len(row["seeds"]) >= 5 and len(row["shapes"]) >= 3 for row in rows)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_cut_validation_keeps_its_rows_and_says_so(
    tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyvws_validation import provenance, runner

    def cut() -> list[object]:
        signal.raise_signal(number)
        return []

    jobs = runner.jobs(["exact"], "cached", cases=runner.CASES[:3])
    monkeypatch.setattr(provenance, "r_versions", lambda: {"R": "none"})
    monkeypatch.setattr(provenance, "engine_version", lambda _name: "none")
    monkeypatch.setattr(
        runner, "jobs", lambda *_: [jobs[0], dataclasses.replace(jobs[1], rows=cut), jobs[2]]
    )
    run = run_here("validate", "--json", tmp_path / "rows.json", "--report", tmp_path / "audit")
    assert run.code == 130, run.out + run.err
    assert "validate: 1 of 3 results" in run.err
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [(row["id"], row["verdict"]) for row in rows] == [
        (jobs[0].id, "pass"),
        ("exact/not-run", "skipped"),
    ]
    assert "interrupted before it had finished 2 of these" in rows[1]["reason"]
    written = json.loads((tmp_path / "audit" / "validation.json").read_text())
    assert (written["verdict"], written["interrupted"]) == ("incomplete", True)
    assert written["rows"] == rows
    page = (tmp_path / "audit" / "validation.html").read_text()
    assert "The run was interrupted: comparisons are missing" in page
    assert jobs[0].id in run.out


def test_validate_fails_when_a_function_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyvws_validation import runner

    module = import_module("pyvws.weights.weights")
    true = module.reweight
    monkeypatch.setattr(module, "reweight", lambda *a, **k: np.nextafter(true(*a, **k), 2))
    monkeypatch.setattr(runner, "CASES", [c for c in runner.CASES if "reweight" in c.id])
    run = run_here("validate", "--level", "exact", "--cached")
    assert run.code == 1
    assert "1 fail" in run.out


@pytest.fixture(scope="module")
def release(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three synthetic datasets of the table, with a predictor."""
    out = tmp_path_factory.mktemp("release") / "out"
    run = run_here(
        "synthesize", table, "--outcome", "visits", "--formula", "~ urban", "--model", "poisson",
        "--out", out, *_FAST,
    )  # fmt: skip
    assert run.code == 0, run.err
    return out / "release"


def test_risk_of_files_is_that_of_the_functions(table: Path, release: Path, tmp_path: Path) -> None:
    files = sorted(release.glob("*.csv"))
    run = run_here(
        "risk", table, release.parent, "--outcome", "visits", "--known", "urban", "--radius", "0.3",
        "--out", tmp_path / "risks.parquet",
    )  # fmt: skip
    assert run.code == 0, run.err
    original = pl.read_csv(table)
    rows = pl.read_parquet(release.parent / "confidential/records.parquet")["released_row"] - 1
    synthetic = [pl.read_csv(path)["visits"][rows] for path in files]
    expected = vws.identification_risk(
        original["visits"], synthetic, radius=0.3, known=[original["urban"]]
    )
    written = pl.read_parquet(tmp_path / "risks.parquet")
    np.testing.assert_array_equal(written["risk_synthetic"], expected)
    assert stat.S_IMODE((tmp_path / "risks.parquet").stat().st_mode) == 0o600
    assert f"{expected.max():.4f}" in run.out
    assert str(_CANARY) not in run.out


def test_utility_and_combine_of_files(table: Path, release: Path) -> None:
    files = sorted(release.glob("*.csv"))
    run = run_here("utility", table, *files, "--outcome", "visits")
    assert run.code == 0, run.err
    synthetic = [pl.read_csv(path)["visits"] for path in files]
    found = vws.ecdf_utility(pl.read_csv(table)["visits"], synthetic)
    assert f"U_m {found.maximum:.4f}, U_a {found.average:.6f}" in run.out
    run = run_here("combine", *files, "--formula", "visits ~ urban")
    assert run.code == 0, run.err
    both = vws.combine_formula([pl.read_csv(path) for path in files], "visits ~ urban")
    for name, combined in both.items():
        assert name in run.out
        assert f"{combined.estimate:.6g}" in run.out


def test_combine_reads_which_draw_made_each_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    files = [tmp_path / f"synthetic-{number:02d}.csv" for number in range(1, 6)]
    for file in files:
        pl.DataFrame({"y": rng.poisson(9, 40), "x": np.arange(40)}).write_csv(file)
    tables = [pl.read_csv(file) for file in files]
    statement = tmp_path / "privacy.json"

    def combined(*paths: Path) -> dict[str, float]:
        run = run_here("combine", *paths, "--formula", "y ~ x", "--json")
        assert run.code == 0, run.err
        found = json.loads(run.out)
        assert found["datasets"] == len(paths)
        return {"draws": found["draws"], "error": found["coefficients"]["x"]["standard_error"]}

    def expected(draws: Any) -> dict[str, float]:
        own = vws.combine_formula(tables[: len(draws)], "y ~ x", draw_of_dataset=draws)
        return {"draws": len(set(draws)), "error": own["x"].variance ** 0.5}

    assert combined(*files) == expected("abcde")
    two: dict[str, Any] = {"datasets": 5, "draws_released": 2, "draw_of_dataset": [1, 2, 1, 2, 1]}
    statement.write_text(json.dumps(two))
    assert combined(*files) == expected("ababa")
    assert combined(*files[:3]) == expected("aba")
    run = run_here("combine", *files, "--formula", "y ~ x")
    assert "over 5 datasets of 2 draws" in run.out
    for said, paths in (
        (two, files[::2]),
        ({"datasets": 5, "draw_of_dataset": [1] * 5}, files),
        ({"datasets": 5, "mechanism": "perturbed-histogram"}, files),  # Of version 2.
    ):
        statement.write_text(json.dumps(said))
        run = run_here("combine", *paths, "--formula", "y ~ x")
        assert run.code == 1
        assert run.err.startswith(f"Error: All {len(paths)} datasets come from one draw")
    renamed = [file.rename(tmp_path / f"table {file.stem}.csv") for file in files]
    run = run_here("combine", *renamed, "--formula", "y ~ x")
    assert "All 5 datasets come from one draw" in run.err


# What no table could make right.
OF_USAGE = ("--kind must", "radius must be above", "Give one of them", "--at", "the Laplace")
OF_USAGE += ("takes two numbers", "--levels takes")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["combine", "{0}", "--formula", "visits ~ urban"], "at least 2 datasets"),
        (["combine", "{0}", "{1}", "--formula", "visits ~ x"], "'x'"),
        (["combine", "{0}", "{0}", "--formula", "visits ~ urban", "--kind", "half"], "--kind must"),
        (["risk", "{table}", "{0}", "--outcome", "visits"], "rows are in a secret random order"),
        (["risk", "{table}", "{out}", "--outcome", "visit"], "Did you mean 'visits'"),
        (["risk", "{table}", "{out}", "--outcome", "visits", "--known", "x"], "column 'x'"),
        (
            ["risk", "{table}", "{out}", "--outcome", "visits", "--radius", "0"],
            "radius must be above",
        ),
        (["risk", "{table}", "{out}", "--outcome", "zip", "--radius-kind", "x"], "zip"),
        (["risk", "{table}", "{0}", "--keys", "urban", "--outcome", "visits"], "Give one of them"),
        (["risk", "{table}", "{0}", "--keys", "agee"], "Column 'agee' is not in the table"),
        (["utility", "{table}", "{0}", "--columns", "visits,vist"], "names column 'vist'"),
        (["utility", "{table}", "{0}", "--schema", "nothing.toml"], "nothing.toml: cannot be"),
        (["utility", "{table}", "{0}", "--figure", "no.xyz"], "no.xyz could not be written"),
        (
            ["tabulate", "{0}", "{1}", "--mean", "visits", "--by", "urban"],
            "needs its public levels",
        ),
        (["tabulate", "{0}", "{1}", "--quantile", "visits", "--at", "half"], "--at"),
        (["tabulate", "{0}", "{1}", "--mean", "visits", "--epsilon", "1"], "the Laplace"),
        (["synthesize", "{table}", "--outcome", "visits", "--model", "beta"], "outside the range"),
        (["synthesize", "{table}", "--outcome", "visits", "--range", "0"], "takes two numbers"),
        (["synthesize", "{table}", "--outcome", "urban", "--levels", "a"], "--levels takes"),
        (["utility", "{table}", "nothing.csv", "--outcome", "visits"], "cannot be read"),
    ],
)
def test_bad_files_and_options_are_one_line(
    table: Path, release: Path, tmp_path: Path, command: list[str], message: str
) -> None:
    first, other, out = (release / name for name in ("synthetic-01.csv", "synthetic-02.csv", ".."))
    filled = [part.format(first, other, table=table, out=out) for part in command]
    written = ["--out", tmp_path / "out"] if command[0] == "synthesize" else []
    written += ["--mechanism", "lw"] if written else []
    run = run_here(*filled, *written)
    assert run.code == (2 if message in OF_USAGE else 1)
    *warned, error = run.err.splitlines()
    assert error.startswith("Error: ")
    assert all(line.startswith("Warning: ") for line in warned)
    assert message in error
    assert not (tmp_path / "out").exists()


def test_risk_needs_the_same_records(table: Path, release: Path, tmp_path: Path) -> None:
    shorter = tmp_path / "short.csv"
    pl.read_csv(release / "synthetic-01.csv").head(10).write_csv(shorter)
    run = run_here("risk", table, shorter, "--outcome", "visits")
    assert run.code == 1
    assert "short.csv has 10 rows, people.csv has 150" in run.err


def test_version_is_the_packages() -> None:
    done = run_here("--version")
    assert (done.code, done.out.strip()) == (0, f"pyvws {vws.__version__}")


def _help_lines(*words: str) -> list[str]:
    run = run_here(*words)
    assert run.code == 0, run.err
    return run.out.rstrip("\n").splitlines()


def test_help_of_a_first_run_fits_a_screen_and_the_rest_has_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    few, everything = _help_lines("synthesize", "--help"), _help_lines("synthesize", "--help-all")
    assert len(few) <= 62
    assert all(len(line) <= 80 for line in few)
    named = {line.split()[0] for line in few if line.startswith("  --")}
    assert len(named - {"--help", "--help-all"}) == 12
    assert sum(line.startswith("    pyvws synthesize ") for line in few) == 3
    command: Any = get_command(app)
    options = {name for p in command.commands["synthesize"].params for name in p.opts}
    shown = {line.split()[0] for line in everything if line.startswith("  --")}
    assert {name for name in options if name.startswith("--")} <= shown
    assert named < shown
    for panel in ("Options:", "Model:", "Mechanism:", "Fit:"):
        assert panel in everything


@pytest.mark.parametrize("name", sorted(get_command(app).commands))
def test_help_shows_no_type_after_a_flag(name: str) -> None:
    text = "\n".join(_help_lines(name, "--help"))
    assert "<bool>" not in text
    assert "\u2502" not in text


@pytest.mark.parametrize("name", ["synthesize", "compare"])
def test_examples_in_help_take_options_that_exist(name: str) -> None:
    text = "\n".join(_help_lines(name, "--help"))
    command: Any = get_command(app)
    options = {one for p in command.commands[name].params for one in p.opts} | {"--help"}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text)) <= options


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("exmaple",), "'example'"),
        (("studdy",), "'study'"),
        (("synthesize", "x.csv", "--mechansim", "lw", "--out", "out"), "'--mechanism'"),
        (("synthesize", "x.csv", "--mechanism", "noisy-count", "--out", "out"), "'noisy-counts'"),
        (("synthesize", "x.csv", "--mechanism", "lv", "--out", "out"), "'lw'"),
        (("synthesize", "x.csv", "--mechanism", "LW", "--out", "out"), "'lw'"),
        (("synthesize", "x.csv", "--mechanism", "xw", "--out", "out"), ""),  # lw, cw or sw
        (("synthesize", "x.csv", "--model", "norml", "--out", "out"), "'normal'"),
        (("synthesize", "x.csv", "--model", "zzz", "--out", "out"), ""),
        (("validate", "--level", "exat"), "'exact'"),
    ],
)
def test_a_wrong_word_is_told_the_nearest(words: tuple[str, ...], hint: str) -> None:
    run = run_here(*words)
    assert (run.code, run.out) == (2, "")
    assert len(run.err.splitlines()) == 1
    assert ("Did you mean" in run.err) == bool(hint)
    assert run.err.count("Did you mean") <= 1
    assert hint in run.err


@pytest.mark.parametrize(
    "words",
    [("synthesize",), ("synthesize", "x.csv"), ("combine", "x.csv"), ("zzzz",), ("study", "zzzz")],
)
def test_what_is_missing_or_unknown_leads_to_the_help(words: tuple[str, ...]) -> None:
    run = run_here(*words)
    assert (run.code, run.out) == (2, "")
    assert len(run.err.splitlines()) == 1
    assert "--help" in run.err
