"""Chains of noisy counts: the same on any processors, stopped by an interrupt, and compared."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import pyvws as vws
from pyvws._base.cores import one_core
from pyvws.errors import ConvergenceWarning
from pyvws.mechanisms.counts import classes
from pyvws.mechanisms.counts.classes import Imputed, impute
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.workload import workload
from pyvws.report.board_page import board_page
from pyvws.report.output_folder import read_confidential, read_public

pytestmark = pytest.mark.runs
_RECORDS = 600
_LEVELS = tuple("abcdef")


def _noisy() -> Measurements:
    """Counts of three columns that follow each other, a number by its own family among them."""
    schema = vws.Schema(
        {
            "x": vws.Column(model="nominal", levels=_LEVELS),
            "y": vws.Column(model="nominal", levels=_LEVELS),
            "z": vws.Column(model="normal", range=(0, 10), cuts=(2, 4, 6, 8), predictors=("x",)),
        }
    )
    table = workload(schema, ("pairs",), ("z",))
    rng = np.random.default_rng(2)
    x = rng.integers(0, 6, _RECORDS)
    y = np.where(rng.random(_RECORDS) < 0.9, x, rng.integers(0, 6, _RECORDS))
    z = np.clip(x + rng.integers(-1, 2, _RECORDS), 0, 4)
    counts = table.counts(np.column_stack([x, y, z]).astype(np.int32))
    counts = counts + np.rint(rng.normal(0, 2, len(counts))).astype(np.int64)
    return Measurements(
        table=table,
        counts=np.where(table.possible, counts, 0),
        scales=np.full(len(table.sets), 2.0),
        laplace=False,
        records=_RECORDS,
    )


def _imputed(**given: int) -> Imputed:
    settings = {"datasets": 5, "classes": 12, "sweeps": 24, "seed": 4, "chains": 2}
    return impute(_noisy(), **{**settings, **given})


def _bytes(imputed: Imputed) -> list[bytes]:
    numbers = [values.tobytes() for drawn in imputed.numbers for values in drawn.values()]
    return [*(codes.tobytes() for codes in imputed.codes), *numbers]


def test_chains_give_the_same_on_one_core_and_on_several():
    several = _imputed()
    with one_core():
        alone = _imputed()
    assert _bytes(several) == _bytes(alone)
    assert several.diagnostics == alone.diagnostics
    assert len(set(_bytes(several))) == 10  # No chain repeats another, and no dataset a dataset.


def test_datasets_come_from_both_chains_in_turn():
    both, first = _imputed(datasets=5), _imputed(chains=1, datasets=3)
    assert [codes.tobytes() for codes in both.codes[::2]] == [c.tobytes() for c in first.codes]


def test_chains_that_have_not_met_are_told_from_those_that_have():
    few, many = _imputed(sweeps=20), _imputed(sweeps=400)
    assert few.apart > many.apart
    assert few.diagnostics.rhat_max > many.diagnostics.rhat_max > 1.0
    assert few.diagnostics.column in _noisy().table.names
    assert few.diagnostics.ess_bulk_min < many.diagnostics.ess_bulk_min < 400.0
    assert _imputed(sweeps=18).diagnostics is None  # Too few to say.


def test_an_interrupt_ends_all_chains(monkeypatch):
    threads = threading.active_count()
    sweep, swept = classes.sweep, []

    def interrupted(*given):
        swept.append(1)
        if len(swept) == 90:
            raise KeyboardInterrupt
        return sweep(*given)

    monkeypatch.setattr(classes, "sweep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _imputed(sweeps=100_000)
    assert len(swept) < 100
    assert threading.active_count() == threads


def test_chains_that_disagree_are_said_everywhere(tmp_path: Path, monkeypatch):
    pytest.importorskip("opendp")
    diagnose = classes.diagnose
    monkeypatch.setattr(
        classes, "diagnose", lambda *given: replace(diagnose(*given), rhat_max=1.25)
    )
    frame = pl.DataFrame({"x": list("abc" * 100), "y": list("aab" * 99 + "ccc")})
    columns = {name: vws.Column(model="nominal", levels=("a", "b", "c")) for name in frame.columns}
    with pytest.warns(ConvergenceWarning, match="Raise sweeps"):
        release = vws.synthesize(
            frame,
            schema=vws.Schema(columns),
            mechanism=vws.NoisyCounts(epsilon=1.0, model="conditionals", sweeps=20, chains=3),
            datasets=2,
        )
    assert release.privacy["guarantee"] == "dp"  # What follows the counts changes no guarantee.
    assert release.summary["imputation"]["diagnostics"]["rhat_max"] == 1.25
    assert release.summary["settings"]["chains"] == 3
    assert "chains = 3" in release.config
    out = release.write(tmp_path / "out")
    privacy = json.loads((out / "release/privacy.json").read_text())
    assert "counts-chains" in json.dumps(privacy)
    page = board_page(read_public(out), read_confidential(out), None)
    assert "1.25" in page
    assert "disagree on 100%" in page
