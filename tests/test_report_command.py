"""pyvws report as a user meets it, what programs read of each command, and canaries."""

import base64
import json
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import numpy as np
import polars as pl
import pytest
from run_here import run_here

from pyvws._base import kernels as _kernels

_OUTCOME = 8_675_309  # In the outcome, and shown to the board as its largest record.
_HIDDEN = 97_531_864.25  # In a numeric column that is not kept.
_TEXT = "CANARY-Zx81"  # In a text column that is not kept.
_FAST = ["--draws", "1000", "--warmup", "500", "--chains", "2", "--datasets", "3", "--seed", "1"]


def _process(
    *arguments: object, folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pyvws", *map(str, arguments)], capture_output=True, text=True,
        timeout=300, check=False, cwd=folder, env={**os.environ, **environment},
    )  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Counts with one unmistakable value, two columns that are not kept, and one that is."""
    rng = np.random.default_rng(8)
    frame = pl.DataFrame(
        {
            "person": [f"{_TEXT}-{i}" for i in range(150)],
            "wealth": np.where(np.arange(150) == 7, _HIDDEN, rng.normal(5, 1, 150)),
            "visits": [*rng.poisson(40, 149), _OUTCOME],
            "urban": rng.choice(["yes", "no"], 150),
        }
    )
    path = tmp_path_factory.mktemp("table") / "people.csv"
    frame.write_csv(path)
    return path


def _synthesize(table: Path, out: Path, *options: object) -> list[object]:
    return ["synthesize", table, "--outcome", "visits", "--formula", "~ urban", "--out", out,
            "--mechanism", "lw", *_FAST, *options]  # fmt: skip


@pytest.fixture(scope="module")
def made(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "out"
    run = run_here(*_synthesize(table, out))
    assert run.code == 0, run.err
    return out


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture(scope="module")
def together(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of two columns together."""
    folder = tmp_path_factory.mktemp("together")
    (folder / "schema.toml").write_text(
        '[columns.urban]\nmodel = "logistic"\nlevels = ["no", "yes"]\n'
        '[columns.visits]\nmodel = "negative-binomial"\n'
    )
    run = run_here(
        *("synthesize", table, "--schema", folder / "schema.toml", "--mechanism", "lw"),
        *("--out", folder / "out", *_FAST),
    )
    assert run.code == 0, run.err
    return folder / "out"


def _spellings() -> list[bytes]:
    """The canaries as text and as numbers of 4 and 8 bytes, either way round."""
    text = [_TEXT, str(_OUTCOME), f"{_OUTCOME:,}", str(_HIDDEN), f"{_HIDDEN:,}", str(int(_HIDDEN))]
    packed = [
        struct.pack(order + kind, value)
        for order in "<>"
        for kind, value in (("i", _OUTCOME), ("q", _OUTCOME), ("d", _OUTCOME), ("d", _HIDDEN))
    ]
    return [spelling.encode() for spelling in text] + packed


def _layers(content: bytes) -> Iterator[bytes]:
    """A file's bytes, and inside a page each image's chunks, packed and unpacked."""
    yield content
    for source in re.findall(rb"base64,([A-Za-z0-9+/=]+)", content):
        image = base64.b64decode(source)
        yield image
        at, pixels = 8, b""
        while at < len(image):
            size = int.from_bytes(image[at : at + 4], "big")
            kind, body = image[at + 4 : at + 8], image[at + 8 : at + 8 + size]
            pixels += body if kind == b"IDAT" else b""
            at += size + 12
        yield zlib.decompress(pixels)


def _holding(folder: Path) -> set[Path]:
    found = set()
    for path in folder.rglob("*"):
        if path.is_file():
            layers = list(_layers(path.read_bytes()))
            if any(canary in layer for canary in _spellings() for layer in layers):
                found.add(path)
    return found


def test_canaries_stay_in_the_confidential_folder(table: Path, tmp_path: Path) -> None:
    places = {name: tmp_path / name for name in ("temporary", "work", "figures", "cache")}
    for name in ("temporary", "work"):
        places[name].mkdir()
    # Machine code and fonts as the user has them, so that nothing is made anew.
    kernels = _kernels._cache_folder()
    shutil.copytree(kernels, places["cache"] / "pyvws" / "numba" / kernels.name)
    shutil.copytree(matplotlib.get_cachedir(), places["figures"])
    environment = {
        "TMPDIR": str(places["temporary"]),
        "MPLCONFIGDIR": str(places["figures"]),
        "XDG_CACHE_HOME": str(places["cache"]),
    }
    said = []
    outs = {"lw": ["--reweight", "--tolerance", "0.3"], "unweighted": ["--mechanism", "unweighted"]}
    for name, options in outs.items():
        run = _process(
            *_synthesize(table, tmp_path / name, *options), folder=places["work"],
            environment=environment,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        said.append(run.stdout + run.stderr)
    run = _process(
        "report", tmp_path / "lw", "--original", table, "--known", "urban", "--unweighted",
        tmp_path / "unweighted", folder=places["work"], environment=environment,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    said.append(run.stdout + run.stderr)
    board = tmp_path / "lw/confidential/report.html"
    confidential = {tmp_path / name / "confidential" for name in outs}
    holding = _holding(tmp_path)
    assert board in holding  # so a canary is found where it is
    assert {path for path in holding if path.parent not in confidential} == set()
    for canary in _spellings()[:6]:
        assert canary.decode() not in "".join(said)
    assert list(places["temporary"].iterdir()) == []
    assert list(places["work"].iterdir()) == []
    public = tmp_path / "lw/release/report.html"
    assert public.stat().st_size > 10_000
    assert public not in holding
    assert stat.S_IMODE(board.stat().st_mode) == 0o600


def test_canaries_of_a_table_stay_in_the_confidential_folder(
    together: Path, table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(together, out)
    run = run_here("report", out, "--original", table, "--outcome", "visits")
    assert run.code == 0, run.err
    board = out / "confidential/report.html"
    holding = _holding(tmp_path)
    assert board in holding
    assert {path.parent for path in holding} == {out / "confidential"}
    for canary in _spellings()[:6]:
        assert canary.decode() not in run.out + run.err
    page = board.read_text()
    assert "An intruder knows a record&#39;s visits within r = 20%, and nothing else." in page
    assert "Scatter plots of weights of one record against the confidential visits" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--known", "urban"], "Name it by --outcome: one of 'visits'."),
        (["--unweighted", "nowhere"], "Name it by --outcome: one of 'visits'."),
        (["--outcome", "visits", "--known", "urban"], "'urban', which is synthetic in"),
        (["--outcome", "urban"], "'urban' is a category or may be missing, and a radius"),
        (["--outcome", "wealth"], "synthetic values of 'visits', 'urban', not 'wealth'"),
    ],
)
def test_what_a_report_on_a_table_cannot_be_asked(
    together: Path, table: Path, arguments: list[str], message: str
) -> None:
    before = {path: path.read_bytes() for path in together.rglob("*") if path.is_file()}
    run = run_here("report", together, "--original", table, *arguments)
    assert run.code == 1
    assert run.err.splitlines()[-1].startswith("Error: ")
    assert message in run.err
    assert run.out == ""
    assert {path: path.read_bytes() for path in together.rglob("*") if path.is_file()} == before


def test_commands_on_a_table_take_its_schema_at_its_word(together: Path, table: Path) -> None:
    run = run_here("utility", table, together, "--outcome", "urban", "--json")
    assert run.code == 0, run.err
    told = json.loads(run.out)
    own = [pl.read_csv(file)["urban"] for file in sorted((together / "release").glob("*.csv"))]
    shares = [float((values == "no").mean()) for values in own]
    assert list(told["levels"]) == ["no", "yes"]
    assert told["levels"]["no"]["average"] == pytest.approx(np.mean(shares))
    data = float((pl.read_csv(table)["urban"] == "no").mean())
    assert told["distance"] == pytest.approx(np.mean(np.abs(np.array(shares) - data)))
    run = run_here("combine", together, "--formula", "visits ~ urban", "--json")
    assert set(json.loads(run.out)["coefficients"]) == {"(Intercept)", "urbanyes"}
    for arguments, message in (
        (["--outcome", "urban"], "is a category of"),
        (["--outcome", "visits", "--known", "urban"], "which is synthetic in"),
    ):
        run = run_here("risk", table, together, *arguments)
        assert run.code == 1
        assert run.err.count("\n") == 1
        assert message in run.err
    assert run_here("risk", table, together, "--outcome", "visits").code == 0


def test_the_search_finds_a_canary_in_each_spelling(tmp_path: Path) -> None:
    text_chunk = b"\x00\x00\x00\x0btEXt" + _TEXT.encode() + bytes(4)
    packed = zlib.compress(struct.pack("<d", _HIDDEN))
    pixels = len(packed).to_bytes(4, "big") + b"IDAT" + packed + bytes(4)
    for place, chunk in enumerate((text_chunk, pixels)):
        page = b'<img src="data:image/png;base64,' + base64.b64encode(bytes(8) + chunk + pixels)
        (tmp_path / f"{place}.html").write_bytes(page + b'">')
    assert len(_holding(tmp_path)) == 2
    for place, canary in enumerate(_spellings()):
        (tmp_path / f"{place}.bin").write_bytes(b"x" + canary + b"y")
    assert len(_holding(tmp_path)) == 2 + len(_spellings())


def test_report_says_where_and_runs_once(out: Path, table: Path) -> None:
    run = run_here("report", out, "--original", table)
    assert run.code == 0, run.err
    assert run.out.splitlines() == [
        f"for the board, confidential: {out / 'confidential/report.html'}",
        f"may leave the building: {out / 'release/report.html'}",
    ]
    run = run_here("report", out)
    assert run.code == 1
    assert "--overwrite to replace it" in run.err
    run = run_here("report", out, "--overwrite", "--json")
    assert run.code == 0
    assert run.err == ""
    assert json.loads(run.out)["public"] == str(out / "release/report.html")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere has no folder release"),
        (["{out}", "--known", "urban"], "Add --original"),
        (["{out}", "--original", "{table}", "--outcome", "wealth"], "not 'wealth'"),
        (["{out}", "--original", "{table}", "--known", "city"], "column 'city'"),
        (["{out}", "--original", "nothing.csv"], "there is no such file"),
        (["{out}", "--original", "{table}", "--radius", "0"], "radius must be above 0"),
        (["{out}", "--original", "{table}", "--rise", "0"], "rise must be above 0"),
        (["{out}", "--original", "{table}", "--unweighted", "nowhere"], "has no folder release"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    out: Path, table: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    run = run_here("report", *(part.format(out=out, table=table) for part in arguments))
    usage = message.endswith("must be above 0") or message == "Add --original"
    assert run.code == (2 if usage else 1)
    assert run.err.splitlines()[-1].startswith("Error: ")
    assert message in run.err
    assert run.out == ""
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_json_and_quiet_of_each_command(table: Path, made: Path, tmp_path: Path) -> None:
    files = sorted((made / "release").glob("*.csv"))
    commands: dict[str, tuple[list[object], set[str]]] = {
        "synthesize": (_synthesize(table, tmp_path / "new", "--overwrite"), {"privacy", "release"}),
        "risk": (["risk", table, made, "--outcome", "visits"], {"confidential", "synthetic"}),
        "utility": (["utility", table, *files, "--outcome", "visits"], {"u_m", "pmse", "data"}),
        "combine": (["combine", *files, "--formula", "visits ~ urban"], {"coefficients"}),
    }
    printed = {}
    for command, (arguments, keys) in commands.items():
        run = run_here(*arguments, "--json")
        assert run.code == 0, run.err
        found = json.loads(run.out)
        assert keys <= set(found)
        printed[command] = found
        assert "fit 1" not in run.err
        run = run_here(*arguments, "--quiet")
        assert (run.code, run.out) == (0, ""), command
        assert "fit 1" not in run.err
    released = json.loads((tmp_path / "new/release/privacy.json").read_text())
    assert printed["synthesize"]["privacy"] == released
    coefficients = printed["combine"]["coefficients"]
    assert set(coefficients) == {"(Intercept)", "urbanyes"}
    assert set(coefficients["urbanyes"]) == {"estimate", "standard_error", "df", "lower", "upper"}


def test_help_documents_the_exit_codes_and_they_hold(table: Path, tmp_path: Path) -> None:
    text = re.sub(r"\s+", " ", run_here("--help").out)
    for said in (
        "0 means that all is done",
        "1 means that an error",
        "2 means wrong usage",
        "130 means",
    ):
        assert said in text
    assert run_here("report").code == 2
    assert run_here("report", tmp_path / "nowhere").code == 1
    assert run_here("doctor").code == 0
