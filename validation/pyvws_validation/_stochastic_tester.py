"""A lower limit of a mechanism's epsilon from its releases on two neighbouring databases.

If a mechanism has epsilon, no event is more than e^epsilon times as likely on one database as on
the other. The tester chooses an event on one half of the releases. The tester counts the event on
the other half, and gives the event's two probabilities exact (Clopper-Pearson) limits.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy import stats

from pyvws._base.checks import Floats

_MOST_EVENTS: Final = 200


def epsilon_at_least(first: Floats, second: Floats, *, failure: float) -> float:
    """A lower limit of the mechanism's epsilon in nats, wrong with a chance of at most `failure`.

    `first` and `second` (R,) hold one number of each of R independent releases of either database.
    """
    chosen, counted = (slice(0, None, 2), slice(1, None, 2))
    least = 0.0
    for tested, other in ((first, second), (second, first)):
        events = _events(tested[chosen], other[chosen])
        # Choose the event with the highest limit on the choosing half.
        limits = [_limit(tested[chosen], other[chosen], event, failure) for event in events]
        best = events[int(np.argmax(limits))]
        least = max(least, _limit(tested[counted], other[counted], best, failure / 2.0))
    return least


def _events(first: Floats, other: Floats) -> list[tuple[float, float]]:
    """Half-lines (low, high] that divide the releases at their quantiles."""
    cuts = np.unique(
        np.quantile(np.concatenate([first, other]), np.linspace(0, 1, _MOST_EVENTS), method="lower")
    )
    return [pair for cut in cuts for pair in ((-math.inf, float(cut)), (float(cut), math.inf))]


def _limit(first: Floats, other: Floats, event: tuple[float, float], failure: float) -> float:
    """A lower limit of log P(event | one) / P(event | other)."""
    low, high = event
    hits, others = (int(((low < x) & (x <= high)).sum()) for x in (first, other))
    least = stats.beta.ppf(failure / 2.0, hits, len(first) - hits + 1) if hits else 0.0
    most = stats.beta.ppf(1.0 - failure / 2.0, others + 1, len(other) - others)
    if others == len(other):
        most = 1.0
    return math.log(least / most) if least > 0.0 else -math.inf
