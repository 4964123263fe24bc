"""Files that are never held whole: the same release as from memory, in steps."""

import json
import math
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused

import pyvws as vws
from pyvws import OutputError, SamplerSettings
from pyvws.mechanisms.registry import make_mechanism
from pyvws.models.registry import find_model
from pyvws.release import synthesizer
from pyvws.release.large import large_release
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.files import steps
from pyvws.tables.files.read import file_digest, read_table, write_table
from pyvws.tables.files.steps import open_large, rough_size, run_bytes

pytestmark = pytest.mark.draws

_FAST = SamplerSettings(draws=1500, warmup=500, chains=2)


def households(n: int = 3000) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    region = rng.choice(["north", "south", "east"], n)
    mean = np.where(region == "north", 12.0, 7.0)
    return pl.DataFrame(
        {
            "id": [f"{i:05d}" for i in range(n)],
            "region": region,
            "urban": rng.random(n) < 0.5,
            "visits": rng.poisson(mean * rng.gamma(6, 1 / 6, n)),
            "zip": [f"0{code}" for code in rng.integers(100, 104, n)],
        }
    )


def settings(**changes: Any) -> RunSettings:
    given = {
        "outcome": "visits",
        "mechanism": "lw",
        "formula": "~ region + urban",
        "datasets": 3,
        "settings": _FAST,
        **changes,
    }
    return RunSettings(**given)


def written(table: pl.DataFrame, path: Path) -> Path:
    write_table(table, path, format={".feather": "arrow"}.get(path.suffix, path.suffix[1:]))
    return path


@pytest.fixture(autouse=True)
def small_steps(at_once: Callable[[int], None]) -> None:
    """Several batches from a small file, in memory and from the file alike."""
    at_once(700)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_unweighted_datasets_are_those_from_memory(tmp_path: Path, suffix: str) -> None:
    path = written(households(), tmp_path / f"in.{suffix}")
    run = settings(mechanism="unweighted", keep=("zip",))
    statement = large_release(run, open_large(path), tmp_path / "out", seed=5)
    source = read_table(path)
    given = {field.name: getattr(run, field.name) for field in fields(run) if field.init}
    memory = vws.Synthesizer(**given).fit(source.frame, seed=5, release_frame=source.as_written)
    memory.write(tmp_path / "memory", format=suffix)
    assert statement == memory.privacy
    for number in (1, 2, 3):
        name = f"release/synthetic-{number:02d}.{suffix}"
        one, other = (read_table(tmp_path / where / name) for where in ("out", "memory"))
        assert one.as_written.equals(other.as_written)
        assert one.as_written.columns == ["region", "urban", "visits", "zip"]
    for name in ("records.parquet", "posterior.parquet"):
        one, other = (
            pl.read_parquet(tmp_path / where / "confidential" / name) for where in ("out", "memory")
        )
        assert one.equals(other)
    same = {"confidential/posterior.parquet", "confidential/run.toml", "release/run.toml"}
    same |= {f"release/synthetic-{n:02d}.csv" for n in (1, 2, 3)} if suffix == "csv" else set()
    for name in same | {"release/privacy.json"}:
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "memory" / name).read_bytes()
    assert {p.relative_to(tmp_path / "out") for p in (tmp_path / "out").rglob("*")} == {
        p.relative_to(tmp_path / "memory") for p in (tmp_path / "memory").rglob("*")
    }
    summary = json.loads((tmp_path / "out" / "confidential" / "summary.json").read_text())
    assert summary["records"] == 3000
    assert summary["input_sha256"] == source.sha256
    mode = (tmp_path / "out" / "confidential" / "records.parquet").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


@pytest.mark.parametrize("mechanism", ["lw", "cw", "pairwise"])
def test_weights_and_risks_are_those_from_memory(tmp_path: Path, mechanism: str) -> None:
    path = written(households(), tmp_path / "in.parquet")
    ball = {} if mechanism == "lw" else {"radius": 0.3, "known": ("region", "zip")}
    made = make_mechanism(mechanism, **ball)
    large_release(settings(mechanism=made), open_large(path), tmp_path / "out", seed=5)
    records = pl.read_parquet(tmp_path / "out" / "confidential" / "records.parquet")
    memory = vws.synthesize(
        pl.read_parquet(path),
        outcome="visits",
        formula="~ region + urban",
        mechanism=made,
        datasets=3,
        draws=1500,
        warmup=500,
        chains=2,
        seed=5,
    ).records
    assert len(records) == 3000
    if mechanism == "lw":  # The unweighted fits are equal; the weighted ones within their noise.
        np.testing.assert_allclose(records["weight"], memory["weight"], atol=1e-9)
    else:
        np.testing.assert_array_equal(records["risk"], memory["risk"])
        np.testing.assert_array_equal(records["weight"], memory["weight"])
    ratio = records["lipschitz_bound"].max() / memory["lipschitz_bound"].max()
    assert 0.9 < ratio < 1.1


def test_one_module_writes_what_a_run_leaves() -> None:
    room = Path(vws.__file__).parent / "release"
    writes = ("whole_folder(", "table_writer(", "private_write(", ".write_bytes(", ".write_text(")
    texts = {path.name: path.read_text(encoding="utf-8") for path in room.glob("*.py")}
    assert {name for name, text in texts.items() if any(w in text for w in writes)} == {"output.py"}


def test_the_command_takes_the_large_way_when_the_table_exceeds_its_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from pyvws.commands.cli import app

    path = written(households(800), tmp_path / "in.csv")
    assert 10_000 < 50 * math.prod(rough_size(path)) < 1e6
    calls = []
    real = large_release

    def spy(*args: Any, **kwargs: Any) -> dict[str, Any]:
        calls.append(args)
        return real(*args, **kwargs)

    monkeypatch.setattr(synthesizer, "large_release", spy)
    options = [
        *("synthesize", str(path), "--outcome", "visits", "--model", "poisson", "--datasets", "2"),
        *("--mechanism", "lw", "--draws", "500", "--warmup", "300", "--chains", "2", "--seed", "1"),
    ]
    for memory, times in (("1GB", 0), ("10KB", 1)):
        out = tmp_path / memory
        result = CliRunner().invoke(app, [*options, "--memory", memory, "--out", str(out)])
        assert result.exit_code == 0, result.output
        assert len(calls) == times
        assert len(list((out / "release").glob("synthetic-*.csv"))) == 2


def test_the_limit_is_for_inputs_draws_and_datasets(tmp_path: Path) -> None:
    path = written(households(1000), tmp_path / "in.parquet")

    def size(**changes: Any) -> int:
        return run_bytes(path, **{"used": 1, "datasets": 1, "draws": 0, **changes})

    assert rough_size(path) == (1000, 5)
    assert size() > 1000 * 5 * 50
    assert size(datasets=21) - size() == 20 * 1000 * 8  # Each dataset's outcome, as a float.
    assert size(used=3) > size(used=2) > size()
    assert size(used=None) == size(used=5) == size(used=9)
    assert size(draws=4000) - size() == 4000 * 2 * 8
    for keep, used in (("all", None), ("id", 4), (("id", "zip", "region"), 5), ((), 3)):
        assert settings(keep=keep).plan.used == used
    known = vws.CountWeighted(known=("zip",))
    assert settings(mechanism=known).plan.used == 4
    # Two categorical predictors and 20 datasets of 10^7 records took 5.8 GB of a limit of 2 GB.
    big = tmp_path / "big.parquet"
    rows = pl.DataFrame({"y": [1], "region": ["a"], "urban": ["b"]})
    pl.concat([rows] * 1000).write_parquet(big)
    assert 1e4 * run_bytes(big, used=3, datasets=20, draws=4000) > 5.8e9


def test_datasets_alone_can_exceed_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from pyvws.commands.cli import app

    path = written(households(800), tmp_path / "in.csv")
    calls: list[Any] = []
    monkeypatch.setattr(synthesizer, "large_release", lambda *given, **_: calls.append(given))
    options = [
        *("synthesize", str(path), "--outcome", "visits", "--model", "poisson", "--quiet"),
        *(
            "--mechanism",
            "lw",
            "--draws",
            "500",
            "--warmup",
            "300",
            "--chains",
            "2",
            "--seed",
            "1",
            "--memory",
            "700KB",
        ),
    ]
    assert 50 * math.prod(rough_size(path)) < run_bytes(path, used=1, datasets=2, draws=1000) < 7e5
    for datasets, times in (("2", 0), ("100", 1)):
        result = CliRunner().invoke(
            app, [*options, "--datasets", datasets, "--out", str(tmp_path / datasets)]
        )
        assert len(calls) == times, result.output


_PEAKS = """
import os, resource, sys, warnings

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # Each thread draws a dataset.
import numpy as np, polars as pl, pyvws as vws

warnings.simplefilter("ignore")
rng = np.random.default_rng(1)
run = vws.Synthesizer(
    outcome="y", model="poisson", formula="~ town", mechanism="unweighted", datasets=20,
    settings=vws.SamplerSettings(draws=100, warmup=100, chains=1),
)
for n in (10_000, 1_200_000):
    pl.DataFrame(
        {"y": rng.poisson(3, n), "town": np.array(["a", "b"])[rng.integers(0, 2, n)]}
    ).write_parquet(f"{n}.parquet")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run.fit_to(f"{n}.parquet", f"out-{n}", seed=1)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_run_in_steps_takes_a_part_of_what_it_would_take_whole(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    environment = {**os.environ, "POLARS_MAX_THREADS": "2"}
    made = subprocess.run(
        [sys.executable, "-c", _PEAKS],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    kilobytes = int(made.stdout.split()[-1])
    whole = run_bytes(tmp_path / "1200000.parquet", used=2, datasets=20, draws=100)
    assert 1024 * kilobytes < 0.6 * whole
    assert 1024 * kilobytes < 1e9


def test_arrow_files_and_folders_of_parts_by_the_command(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from pyvws.commands.cli import app
    from pyvws.report.output_folder import read_public

    def run(*words: str) -> None:
        result = CliRunner().invoke(app, list(words))
        assert result.exit_code == 0, result.output

    table = households(800)
    path = written(table, tmp_path / "in.feather")
    folder = tmp_path / "parts"
    folder.mkdir()
    written(table.head(300), folder / "part-0.parquet")
    written(table.slice(300), folder / "part-1.parquet")
    options = [
        *("--outcome", "visits", "--model", "poisson", "--datasets", "2", "--keep", "id"),
        *("--mechanism", "unweighted", "--draws", "300", "--chains", "2", "--seed", "1"),
    ]
    made = []
    for source, suffix in ((path, "arrow"), (folder, "parquet")):
        for memory in ("1GB", "10KB"):
            out = tmp_path / f"{suffix}-{memory}"
            run("synthesize", str(source), *options, "--memory", memory, "--out", str(out))
            public = read_public(out)
            assert [file.path.suffix for file in public.files] == [f".{suffix}"] * 2
            assert [column.name for column in public.columns] == ["id", "visits"]
            made.append(read_table(public.files[0].path).frame)
            summary = json.loads((out / "confidential" / "summary.json").read_text())
            assert summary["input_sha256"] == file_digest(source)
    assert all(frame.equals(made[0]) for frame in made[1:])
    assert made[0]["id"].to_list() != table["id"].to_list()
    assert sorted(made[0]["id"]) == table["id"].to_list()
    synthetic = [str(file.path) for file in read_public(tmp_path / "arrow-1GB").files]
    run("utility", str(folder), *synthetic, "--outcome", "visits")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_missing_values_are_counted_not_shown(tmp_path: Path, suffix: str) -> None:
    table = households(50).with_columns(
        visits=pl.when(pl.int_range(50) < 3).then(None).otherwise(pl.col("visits"))
    )
    path = written(table, tmp_path / f"in.{suffix}")
    with refused("column-missing-in-records"):
        large_release(settings(), open_large(path), tmp_path / "out", seed=1)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_kept_copy_of_the_outcome_is_refused(tmp_path: Path, suffix: str) -> None:
    visits = pl.col("visits")
    table = households(1500).with_columns(
        copy=visits, near=pl.when(pl.int_range(1500) < 1499).then(visits).otherwise(-1)
    )
    path = written(table, tmp_path / f"in.{suffix}")
    run = settings(keep=("copy", "near"), datasets=1)
    with refused("columns-equal-outcome", outcome="visits"):
        large_release(run, open_large(path), tmp_path / "out", seed=1)
    assert not (tmp_path / "out").exists()


def test_what_the_large_way_refuses(tmp_path: Path) -> None:
    path = written(households(50), tmp_path / "in.parquet")
    table = open_large(path)
    with refused("columns-lacking"):
        large_release(settings(formula="~ regoin"), table, tmp_path / "out", seed=1)
    histogram = vws.PerturbedHistogram(epsilon=1.0, range=(0, 100))
    run = settings(formula="~ 1", mechanism=histogram)
    with refused("not-in-steps"):
        large_release(run, table, tmp_path / "out", seed=1)
    named = written(households(50).rename({"zip": steps.COUNT}), tmp_path / "named.parquet")
    with refused("reserved-column-name"):
        large_release(settings(), open_large(named), tmp_path / "out", seed=1)
    short = tmp_path / "short.csv"
    short.write_text("visits,zip\n1,2\n3\n")
    with refused("rows-of-other-length", header=2):
        open_large(short)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("1")
    with pytest.raises(OutputError, match="is not empty"):
        large_release(settings(mechanism="unweighted"), table, tmp_path / "full", seed=1)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "full", "in.parquet", "named.parquet", "short.csv",
    ]  # fmt: skip


def test_a_continuous_outcome_that_does_not_collapse(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"share": rng.beta(0.5, 3, 2000)})
    path = written(table, tmp_path / "in.csv")
    run = settings(
        outcome="share",
        formula="~ 1",
        model=find_model("beta", range=(0.0, 1.0)),
        mechanism="unweighted",
    )
    large_release(run, open_large(path), tmp_path / "out", seed=2)
    made = pl.read_csv(tmp_path / "out" / "release" / "synthetic-01.csv")
    assert len(made) == 2000
    assert abs(made["share"].mean() - table["share"].mean()) < 0.03
