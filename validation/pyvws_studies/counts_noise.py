"""From which noise on 95 % intervals from noisy counts of ten columns are too short.

As `pyvws_studies.counts_coverage`, with all 45 pairs of ten categories. The runs differ in the
deviation of the noise, as a share of the records: by epsilon, and by the number of records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pyvws_studies.counts_coverage import SETTINGS as FOUR_COLUMNS
from pyvws_studies.counts_coverage import coverage_study

SETTINGS: Final[Mapping[str, Any]] = {
    **FOUR_COLUMNS,
    "levels": {"a": 6, "b": 4, "c": 5, "d": 2, "e": 4, "f": 3, "g": 5, "h": 2, "i": 3, "j": 4},
    "runs": [
        {"n": 1_000, "epsilon": 1.0, "delta": 1e-5},
        {"n": 1_000, "epsilon": 4.0, "delta": 1e-5},
        {"n": 4_000, "epsilon": 1.0, "delta": 1e-5},
    ],
    "measure": {"all_pairs": ["pairs"]},
    "sweeps": 600,
    "chains": 1,
}

STUDY = coverage_study("counts-noise", SETTINGS, 100)
