"""How often 95 % intervals from noisy counts hold the truth where the population is a real file.

As `pyvws_studies.counts_noise`, with ten columns of ma2019.csv [nist2023], whose records are the
population. Databases are samples of them with replacement. Many columns of the file depend on each
other strongly, which noise hides from the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pyvws_studies.counts_coverage import coverage_study
from pyvws_studies.counts_noise import SETTINGS as TEN_COLUMNS
from pyvws_studies.replicates import ReplicatedStudy

SETTINGS: Final[Mapping[str, Any]] = {
    **{name: value for name, value in TEN_COLUMNS.items() if name != "levels"},
    "runs": [
        {"n": 1_000, "epsilon": 1.0, "delta": 1e-5},
        {"n": 1_000, "epsilon": 4.0, "delta": 1e-5},
        {"n": 4_000, "epsilon": 1.0, "delta": 1e-5},
        {"n": 4_000, "epsilon": 4.0, "delta": 1e-5},
    ],
}


def records_study(file: Path) -> ReplicatedStudy:
    """The study on a copy of ma2019.csv."""
    return coverage_study("counts-records", {**SETTINGS, "file": str(file)}, 100)
