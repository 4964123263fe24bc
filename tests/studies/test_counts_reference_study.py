"""Noisy counts with a public table as prior: the rows of made-up files, without any run."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
from pyvws_studies import counts_reference
from pyvws_studies.whole_tables import DESIGNS
from refusals import refused


def _file(path: Path, seed: int) -> Path:
    rng, columns = np.random.default_rng(seed), DESIGNS["ma2019"].columns
    made = {name: rng.choice(column.levels or (), 80) for name, column in columns.items()}
    made["PINCP"] = rng.choice(["N", "-5", "0", "1", "900000"], 80)
    made["POVPIP"] = rng.choice(["N", "0", "501"], 80)
    left_out = dict.fromkeys(counts_reference._LEFT_OUT, np.full(80, "1"))
    pl.DataFrame({**made, **left_out}).write_csv(path)
    return path


def test_each_table_has_rows_without_with_and_with_a_permuted_reference(tmp_path: Path) -> None:
    file, public = _file(tmp_path / "own.csv", 1), _file(tmp_path / "public.csv", 2)
    asked: list[dict[str, Any]] = []

    def synthesize(frame: pl.DataFrame, **given: Any) -> Any:
        asked.append({**given, "frame": frame})
        known = {} if given["reference"] is None else {"kappa": 0.5, "explained": 0.25}
        return SimpleNamespace(
            datasets=[frame if given["seed"] == 3 else frame.reverse()],
            privacy={"counts": {"reference": known}},
        )

    found = counts_reference.run(file, reference=public, synthesize=synthesize, seed=3, runs=2)
    assert [(row.columns, row.epsilon, row.reference) for row in found.rows] == [
        (columns, epsilon, name)
        for columns, epsilons in counts_reference.BUDGETS.items()
        for epsilon in epsilons
        for name in ("none", "public", "permuted")
    ]
    for row in found.rows:
        assert (row.pairs, row.triples, row.spread) == (1000.0, 1000.0, 0.0)
        assert (row.kappa, row.explained) == ((0, 0) if row.reference == "none" else (0.5, 0.25))
    given, permuted = asked[2]["reference"], asked[4]["reference"]
    assert given.columns == asked[2]["frame"].columns
    assert not given.equals(permuted)
    for name in given.columns:
        assert given[name].sort().equals(permuted[name].sort())
    bands = asked[-1]["frame"]
    assert not {*counts_reference._LEFT_OUT} & {*bands.columns}
    assert set(bands["PINCP"]) <= {"N", "0", "1", "2", str(len(counts_reference._BANDS["PINCP"]))}
    assert counts_reference.write(found, tmp_path) == ["reference.csv"]
    assert pl.read_csv(tmp_path / "reference.csv").height == len(found.rows)
    assert counts_reference.table(found).row_count == len(found.rows)
    pl.DataFrame({"x": [1]}).write_csv(tmp_path / "other.csv")
    with refused("not-ma2019"):
        counts_reference.run(
            tmp_path / "other.csv", reference=public, synthesize=synthesize, seed=1
        )
