"""Tables 5 and 6 of [risk2024] and its supplement's Table 2 from few replicates, with intervals.

The study's own replicates, on the data that the paper's row D shows to be its own (R's seed 123):
only fit and synthesis are repeated. `pyvws study risk-efficient` runs more of them and says more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pyvws.studies._paired import Recomputed
from pyvws.studies._printed import LEVEL, Printed, half_unit, interval_of, replicates_of
from pyvws.studies._results import Key
from pyvws.studies.risk_efficient import SETTINGS, STUDY
from pyvws.studies.risk_efficient_comparison import differences, replicated
from pyvws.studies.risk_efficient_published import PUBLISHED

__all__ = ["PAPERS_SEED", "risk_efficient_tables"]

PAPERS_SEED: Final = 123


def keys(replicates: int) -> list[Key]:
    """A key for each replicate on the paper's data, as those of the whole study."""
    return [("data", PAPERS_SEED, number) for number in range(1, replicates + 1)]


def risk_efficient_tables(
    *,
    replicates: int = 8,
    seed: int = 1,
    jobs: int | None = None,
    settings: dict[str, Any] | None = None,
) -> Recomputed:
    """Every printed figure of the three tables; `settings` replaces some of the study's."""
    own = {**SETTINGS, **(settings or {}), "data_seeds": [PAPERS_SEED]}
    study = replace(STUDY, settings=own, keys=keys)
    results = replicates_of(study, replicates=replicates, seed=seed, jobs=jobs)
    rows = [row for result in results.values() for row in result.rows]
    how = f"{replicates} fits of the paper's data; {LEVEL:.0%} interval"
    made = []
    for shown in PUBLISHED:
        values = replicated(rows, PAPERS_SEED, shown)
        found = interval_of(values.tolist(), rounding=half_unit(shown.value))
        place = (shown.table, shown.row, shown.column)
        made.append(Printed("risk2024", *place, shown.value, *found, how))
    return Recomputed(made, differences(rows, PAPERS_SEED))
