"""Losses of verification answers on tables of few units, over all ways in which coins may fall.

Each way is a partition of the units. A whole run is made for each, with the keys of its coins given
and the noise left out, so that it shows the number of parts to which noise goes. The probabilities
of the answer are those of all ways together.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, Final, Literal
from unittest.mock import patch

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.release import verification
from pyvws.release.synthesizer import synthesize
from pyvws.tables.files.read import file_digest
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._measured_case import OF_DRAWS, expected
from pyvws_validation._privacy_loss import RELATIONS, Losses, Outcomes, Runs
from pyvws_validation._seen_noise import seen_noise

_PARTS: Final = 20
_UNIT: Final = "home"
_REACH: Final = np.arange(-60, _PARTS + 61)


def partitions(n: int) -> Iterator[list[int]]:
    """The block of each of n units, in every partition; blocks are numbered by their first unit."""
    if n == 0:
        yield []
        return
    for first in partitions(n - 1):
        for block in range(max(first, default=-1) + 2):
            yield [*first, block]


@cache
def _held() -> TemporaryDirectory[str]:
    """A folder that goes with the process."""
    return TemporaryDirectory(prefix="pyvws-verified-")


@cache
def _folder(neighbours: str) -> Path:
    """A run's folder, whose datasets have a mean of about 5; its statement names units."""
    schema = Schema({"y": Column(model="normal", range=(0, 10), decimals=1, outside=True)})
    table = pl.DataFrame({"y": np.resize([4.0, 5.0, 6.0], 900)})
    how = NoisyCounts(epsilon=50, neighbours=neighbours, measure="pairs")
    with expected(*OF_DRAWS):
        made = synthesize(table, schema=schema, mechanism=how, datasets=1, seed=2**60 + 1)
    out = made.write(Path(_held().name, neighbours, "out"))
    file = out / "release" / "privacy.json"
    privacy = json.loads(file.read_text(encoding="utf-8"))
    privacy |= {"unit_of_privacy": f"all records of one {_UNIT}", "unit_column": _UNIT}
    file.write_text(json.dumps(privacy), encoding="utf-8")
    return out


@dataclass(frozen=True, kw_only=True)
class VerifiedRuns(Runs):
    """Whole answers about a mean; a unit is a tuple of its records' values."""

    function: ClassVar[str] = "pyvws.release.verification:verify"
    neighbours: Literal["replace", "loo"]

    def log_probabilities(self, outcomes: Outcomes, epsilon: float, losses: Losses) -> Floats:
        """log P(the noisy number of parts is k) for whole numbers k within reach."""
        out = _folder(self.neighbours)
        table = out.with_name("table.csv")
        units = [unit if isinstance(unit, tuple) else (unit,) for unit in outcomes]
        cells = [(str(own), str(x)) for own, unit in enumerate(units) for x in unit]
        pl.DataFrame(cells, schema=[_UNIT, "y"], orient="row").write_csv(table)
        summary = out / "confidential" / "summary.json"
        known = json.loads(summary.read_text(encoding="utf-8"))
        known |= {"input_sha256": file_digest(table), "input_sha256_of": "file"}
        summary.write_text(json.dumps(known), encoding="utf-8")
        probability = np.zeros(len(_REACH))
        for blocks in partitions(len(units)):
            agreeing, scale = self._agreeing(out, table, blocks, epsilon, losses)
            chance = math.perm(_PARTS, 1 + max(blocks)) / _PARTS ** len(units)
            noise = np.exp(-np.abs(_REACH - agreeing) / scale)
            probability += chance * math.tanh(0.5 / scale) * noise
        return np.asarray(np.log(probability))

    def _agreeing(
        self, out: Path, table: Path, blocks: list[int], epsilon: float, losses: Losses
    ) -> tuple[float, float]:
        """The number of parts that was to get noise, and the scale of that."""
        keys = np.array(blocks, dtype=np.uint64)
        shutil.rmtree(out / verification.ANSWERS, ignore_errors=True)
        with seen_noise() as seen, patch.object(verification, "secret_keys", lambda n: keys[:n]):
            found = verification.verify(
                *(out, "y ~ 1"),
                within=1.0,
                epsilon=epsilon,
                original=table,
                most_epsilon=1000.0,
                parts=_PARTS,
            )
        losses.hear(found.privacy, RELATIONS[self.neighbours], epsilon, "total")
        (of_scale,) = seen[0].tolist()
        assert found.agreeing is not None  # Without noise the exact number.
        return found.agreeing, found.agreeing / of_scale if of_scale else found.question.scale
