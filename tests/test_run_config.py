"""Settings as a file: written by every run, read back to the same run."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from pyvws import mechanisms
from pyvws.cli import app
from pyvws.commands.init import options_of
from pyvws.commands.synthesize import synthesize
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import InputError
from pyvws.models.registry import MODELS, find_model
from pyvws.run_config import config_text, read_config
from pyvws.run_settings import RunSettings

_FAST = ["--draws", "800", "--warmup", "300", "--chains", "2", "--datasets", "2"]


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    path = tmp_path / "visits.csv"
    pl.DataFrame({"visits": rng.poisson(30, 90), "town": rng.choice(["a", "b"], 90)}).write_csv(
        path
    )
    return path


def run(*words: str) -> Any:
    return CliRunner().invoke(app, list(words))


def test_a_run_is_repeated_by_its_own_file(visits: Path, tmp_path: Path) -> None:
    given = [
        *("--outcome", "visits", "--model", "poisson", "--mechanism", "cw", "--radius", "0.3"),
        *("--known", "town", "--keep", "town", *_FAST, "--seed", "3"),
    ]
    first = run("synthesize", str(visits), *given, "--out", str(tmp_path / "one"))
    assert first.exit_code == 0, first.output
    own = tmp_path / "one" / "confidential" / "run.toml"
    again = run("synthesize", str(visits), "--config", str(own), "--out", str(tmp_path / "two"))
    assert again.exit_code == 0, again.output
    for name in ("synthetic-01.csv", "synthetic-02.csv", "privacy.json", "run.toml"):
        one, two = ((tmp_path / which / "release" / name).read_bytes() for which in ("one", "two"))
        assert one == two
    assert own.stat().st_mode & 0o777 == 0o600
    public = tomllib.loads((tmp_path / "one" / "release" / "run.toml").read_text())
    assert "seed" not in public
    assert public == {k: v for k, v in tomllib.loads(own.read_text()).items() if k != "seed"}
    assert str(tmp_path) not in own.read_text()
    other = run(
        *("synthesize", str(visits), "--config", str(own), "--seed", "4"),
        *("--out", str(tmp_path / "three")),
    )
    assert other.exit_code == 0
    paths = [tmp_path / which / "release" / "synthetic-01.csv" for which in ("one", "three")]
    assert paths[0].read_bytes() != paths[1].read_bytes()


MECHANISMS: list[Any] = [
    mechanisms.LipschitzWeighted(c=0.5, g=0.1),
    mechanisms.PairwiseWeighted(known=("a", "b"), match="lw"),
    mechanisms.WeightedEpsilon(epsilon=5.0, passes=2),
    mechanisms.Censored(epsilon=5.0, weights="none"),
    mechanisms.PerturbedHistogram(epsilon=5.0, range=(0.0, 10.0), bins=4, neighbours="loo"),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda made: made.name)
def test_every_line_names_an_option(mechanism: Any, tmp_path: Path) -> None:
    for name in MODELS:
        settings = RunSettings(
            outcome="y",
            model=find_model(name),
            mechanism=mechanism,
            settings=SamplerSettings(draws=500),
            round=True,
        )
        path = tmp_path / "run.toml"
        path.write_text(config_text(settings, seed=7))
        read = read_config(path, options_of(synthesize))
        assert (read["mechanism"], read["seed"], read["draws"]) == (mechanism.name, 7, 500)


def test_init_writes_every_option_commented(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    assert run("init", str(path)).exit_code == 0
    text = path.read_text()
    assert tomllib.loads(text) == {}
    bare = "\n".join(re.findall(r"^# (\w+ = .*)$", text, flags=re.MULTILINE))
    assert set(tomllib.loads(bare)) == set(options_of(synthesize))
    again = run("init", str(path))
    assert again.exit_code == 1
    assert "exists" in str(again.exception)
    assert run("init", str(path), "--overwrite").exit_code == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "outcom = 1",
            "run.toml: pyvws synthesize has no setting 'outcom'. Did you mean 'outcome'?",
        ),
        ("outcome = ", "run.toml: not TOML"),
        ("[outcome]\nx = 1", "run.toml: 'outcome' must be one value, not a table."),
    ],
)
def test_files_that_are_none(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_config(path, options_of(synthesize))
    assert str(caught.value).startswith(message)
    with pytest.raises(InputError, match="cannot be read"):
        read_config(tmp_path / "none.toml", [])
