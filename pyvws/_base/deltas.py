"""Which delta goes with a number of records.

A mechanism that publishes one record in n as it is has delta 1 / n. So a delta above that promises
a single record nothing, and one above a tenth of it is for a board to judge.
"""

from __future__ import annotations

import math


def above_a_record(delta: float, records: int) -> bool:
    """Whether a delta is above 1 / n."""
    return delta * records > 1.0


def delta_to_decide(delta: float, records: int) -> bool:
    """Whether a delta is above 1 / (10 n)."""
    return 10.0 * delta * records > 1.0


def modest_delta(records: int) -> float:
    """The largest power of ten below 1 / (10 n), of 1 record or more."""
    return float(f"1e-{math.floor(math.log10(10 * records)) + 1}")
