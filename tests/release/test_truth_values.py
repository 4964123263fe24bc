"""Truth values are logical in memory, and a csv spells them as the schema does."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.report.output_folder import read_public

pytestmark = [pytest.mark.runs, pytest.mark.draws]
N = 300
WORDS = [("false", "true"), ("FALSE", "TRUE"), ("False", "True")]
MECHANISMS: dict[str, dict[str, Any]] = {
    "lw": {"draws": 60, "warmup": 100, "chains": 1},
    "censored": {"draws": 60, "warmup": 100, "chains": 1, "epsilon": 20.0},
    "noisy-counts": {"epsilon": 8.0},
}
FRAMES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda table: table,
    "polars": pl.from_pandas,
    "arrow": lambda table: pl.from_pandas(table).to_arrow(),
}


def schema_of(words: tuple[str, str]) -> vws.Schema:
    some = {"model": "nominal", "levels": words}
    own, gap = vws.Column(**some), vws.Column(**some, missing=True)
    return vws.Schema(
        {"own": own, "gap": gap, "x": vws.Column(model="logistic", levels=["u", "v"])}
    )


def table_of(kind: str, words: tuple[str, str] = WORDS[0]) -> pd.DataFrame:
    """Truth values of a type of their own, or as the words for them."""
    rng = np.random.default_rng(2)
    own, x = rng.random(N) < 0.3, rng.choice(["u", "v"], N)
    gap = np.where(rng.random(N) < 0.2, None, rng.random(N) < 0.6)
    if kind == "truth":
        return pd.DataFrame({"own": own, "gap": pd.array(gap, dtype="boolean"), "x": x})
    named = {False: words[0], True: words[1], None: None}
    text = {"own": [named[bool(i)] for i in own], "gap": [named[i] for i in gap]}
    return pd.DataFrame(text).astype("category" if kind == "category" else object).assign(x=x)


def cells(path: Path, name: str) -> set[str | None]:
    return {*pl.read_csv(path, infer_schema=False)[name]}


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_they_come_out_as_one_type_and_in_the_words_of_the_schema(
    mechanism: str, words: tuple[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("opendp")
    place = WORDS.index(words)
    for k, kind in enumerate(("truth", "text", "category")):
        frame = [*FRAMES][(place + k) % 3]  # Each kind in each frame, over the words.
        release = vws.synthesize(
            FRAMES[frame](table_of(kind, words)), schema=schema_of(words), mechanism=mechanism,
            datasets=1, seed=1, **MECHANISMS[mechanism],
        )  # fmt: skip
        made = nw.from_native(release.datasets[0], eager_only=True)
        for name in ("own", "gap"):
            assert made[name].dtype == nw.Boolean, (kind, frame)
        out = release.write(tmp_path / kind)
        assert cells(out / "release/synthetic-01.csv", "own") == {*words}
        assert cells(out / "release/synthetic-01.csv", "gap") == {*words, None}
        columns = {column.name: column for column in read_public(out).columns}
        release.write(tmp_path / f"{kind}-parquet", format="parquet")
        stored = tmp_path / f"{kind}-parquet/release/synthetic-01.parquet"
        assert pl.read_parquet_schema(stored)["gap"] == pl.Boolean
        for folder in (out, tmp_path / f"{kind}-parquet"):
            read = read_public(folder)
            assert read.values(columns["own"]).levels == words
            assert read.values(columns["gap"]).levels == (*words, "(empty)")


@pytest.mark.parametrize("words", WORDS[1:])
def test_a_file_keeps_its_words_in_memory_and_in_steps(
    words: tuple[str, str], tmp_path: Path, at_once: Callable[[int], None]
) -> None:
    at_once(100)
    path = tmp_path / "in.csv"
    table_of("text", words).to_csv(path, index=False)
    run = CliRunner().invoke(app, ["schema", str(path), "--out", str(tmp_path / "s.toml")])
    assert run.exit_code == 0, run.output
    proposed = vws.Schema.read(tmp_path / "s.toml")
    for name in ("own", "gap"):
        assert proposed.columns[name].levels == words
        assert "levels" not in proposed.columns[name].review  # They are no values of records.
    schema_of(words).write(tmp_path / "s.toml")
    asked = ["synthesize", str(path), "--schema", str(tmp_path / "s.toml"), "--seed", "1"]
    asked += ["--mechanism", "unweighted", "--datasets", "2", "--draws", "60", "--warmup", "100"]
    for name, memory in (("whole", "2GB"), ("steps", "1kB")):
        run = CliRunner().invoke(app, [*asked, "--memory", memory, "--out", str(tmp_path / name)])
        assert run.exit_code == 0, (run.output, run.exception)
    for number in (1, 2):
        file = f"release/synthetic-0{number}.csv"
        assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "steps" / file).read_bytes()
        assert cells(tmp_path / "steps" / file, "own") == {*words}


def test_a_reproduced_csv_has_the_same_words(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    words = WORDS[1]
    path = tmp_path / "in.csv"
    table_of("text", words).to_csv(path, index=False)
    schema_of(words).write(tmp_path / "s.toml")
    asked = ["synthesize", str(path), "--schema", str(tmp_path / "s.toml"), "--datasets", "2"]
    asked += ["--mechanism", "noisy-counts", "--epsilon", "8"]
    assert CliRunner().invoke(app, [*asked, "--out", str(tmp_path / "out")]).exit_code == 0
    assert cells(tmp_path / "out/release/synthetic-02.csv", "own") == {*words}
    again = CliRunner().invoke(app, ["reproduce", str(tmp_path / "out")])
    assert again.exit_code == 0, again.output


@pytest.mark.r
def test_r_reads_the_words_of_r_as_truth_values(tmp_path: Path) -> None:
    release = vws.synthesize(
        table_of("truth"), schema=schema_of(WORDS[1]), mechanism="unweighted", datasets=1, seed=1,
        draws=60, warmup=100,
    )  # fmt: skip
    out = release.write(tmp_path / "out")
    code = (
        'd <- read.csv("synthetic-01.csv"); cat(is.logical(d$own), is.logical(d$gap), anyNA(d$gap))'
    )
    run = subprocess.run(
        ["Rscript", "--vanilla", "-e", code], cwd=out / "release", capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert run.stdout == "TRUE TRUE TRUE"
