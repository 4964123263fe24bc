"""Seconds of a forecast beside the processor seconds that the run then takes.

The command forecasts with `--plan`, and then runs. A short run compiles before. The tables are made
up: categories, each given the one before it, or a count beside normal numbers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import polars as pl

import pyvws as vws
from benchmarks._found import Entry, Found, Plan, Table
from benchmarks.tables import LEVELS, categories

__all__ = ["run"]

_FEW: Final = 300  # Records of the run that compiles.


@dataclass(frozen=True, slots=True)
class Setting:
    """The words of a run, its records and columns, and the model of these."""

    words: str
    records: int
    columns: int
    model: str


_COUNTS: Final = "noisy-counts --epsilon 1 --delta 1e-7 --datasets"
SETTINGS: Final = (
    Setting("lw", 5_000, 10, "table"),
    Setting("lw", 50_000, 10, "table"),
    Setting("sw", 5_000, 24, "table"),
    Setting("lw", 7_634, 6, "nominal"),
    Setting("lw", 27_253, 10, "nominal"),
    Setting("sw", 3_000, 16, "nominal"),
    Setting(f"{_COUNTS} 1", 7_634, 10, "nominal"),
    Setting(f"{_COUNTS} 5", 200_000, 10, "nominal"),
    Setting(f"{_COUNTS} 1", 7_634, 24, "nominal"),
    Setting("lw", 1_000, 1, "poisson"),
    Setting("lw", 20_000, 1, "negative-binomial"),
    Setting("sw", 2_000, 30, "poisson"),
)


def words_of(setting: Setting, records: int, folder: Path) -> list[str]:
    """Write the table and schema of a setting; the words of its run."""
    file, schema = folder / f"{records}.csv", folder / "schema.toml"
    words = [str(file), "--mechanism", *setting.words.split(), "--seed", "1"]
    if setting.model not in ("table", "nominal"):
        rng = np.random.default_rng(8)
        numbers = {f"x{k}": rng.normal(size=records) for k in range(setting.columns)}
        pl.DataFrame({**numbers, "y": rng.poisson(3, records)}).write_csv(file)
        return [*words, "--outcome", "y", "--formula", "~ .", "--model", setting.model]
    levels = [LEVELS[place % len(LEVELS)] for place in range(setting.columns)]
    table = categories(records, tuple(levels))
    chosen: dict[str, vws.Column] = {}
    for name, L in zip(table.columns, levels, strict=True):
        before = tuple(chosen)[-2 if setting.model == "table" else None :]
        given: Any = {"model": setting.model, "predictors": before}
        chosen[name] = vws.Column(levels=tuple(map(str, range(L))), **given)
    table.write_csv(file)
    vws.Schema(chosen).write(schema)
    return [*words, "--schema", str(schema)]


def command(words: Sequence[str]) -> tuple[str, float, float]:
    """What `pyvws synthesize` prints, and its seconds of the processor and of the clock."""
    used, began = os.times(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pyvws", "synthesize", *words], stdout=subprocess.PIPE, check=True
    )
    spent = sum(os.times()[2:4]) - sum(used[2:4])
    return done.stdout.decode(), spent, time.perf_counter() - began


def seconds(setting: Setting) -> tuple[float, float, float]:
    """Seconds that are forecast, and of the processor and the clock that the run takes."""
    with TemporaryDirectory() as name:
        folder, key = Path(name), "time-of-counts" if "counts" in setting.words else "time"
        command([*words_of(setting, _FEW, folder), "--out", str(folder / "few")])
        words = words_of(setting, setting.records, folder)
        told = json.loads(command([*words, "--plan", "--json"])[0])["figures"][key]["seconds"]
        limit = ["--most-seconds", "1e9", "--out", str(folder / "out")]
        return told, *command([*words, *limit])[1:]


def run(plan: Plan) -> Found:
    """A row a setting."""
    rows: list[tuple[Entry, ...]] = []
    for setting in SETTINGS[:: 6 if plan.small else 1]:
        told, taken, clock = seconds(setting)
        row = (setting.words, f"{setting.records:,} x {setting.columns}", setting.model)
        rows.append((*row, told, taken, clock, told / taken))
        plan.say(f"  {' '.join(row)}: {told:.3g} s told, {taken:.3g} s taken, {clock:.3g} s clock")
    columns = ("run", "table", "model", "told", "taken", "clock", "told / taken")
    note = "Seconds: told by --plan, taken by the processor in the whole command, and by the clock."
    return Found([Table("Seconds of a forecast", columns, rows, note)])
