"""LW under another map of bounds to risks: what the command writes says so."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pyvws.commands.cli import app

SHORT = (
    *("--model", "poisson", "--engine", "laplace", "--draws", "200", "--warmup", "100"),
    *("--chains", "1", "--datasets", "1", "--seed", "1"),
)


@pytest.mark.parametrize("map", ["linear", "softmax", "logistic"])
def test_the_statement_names_the_map(map: str, tmp_path: Path) -> None:
    counts = np.random.default_rng(1).poisson(9.0, 60)
    pd.DataFrame({"visits": counts}).to_csv(tmp_path / "visits.csv", index=False)
    out = tmp_path / "out"
    words = ["synthesize", str(tmp_path / "visits.csv"), "--outcome", "visits", "--mechanism", "lw"]
    done = CliRunner().invoke(app, [*words, *SHORT, "--map", map, "--g", "0", "--out", str(out)])
    assert done.exit_code == 0, done.output
    privacy = json.loads((out / "release" / "privacy.json").read_text(encoding="utf-8"))
    said = [caveat["values"] for caveat in privacy["caveat_keys"] if "map" in caveat["key"]]
    assert said == ([] if map == "linear" else [{"map": map}])
    records = pd.read_parquet(out / "confidential" / "records.parquet")
    np.testing.assert_allclose(records["weight"], 1.0 - records["risk"], rtol=1e-12, atol=1e-15)
    ends = (records["risk"].min() == 0.0, records["risk"].max() == 1.0)
    assert ends == ((True, True) if map == "linear" else (False, False))
