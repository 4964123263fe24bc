"""What the package has to keep, and whether a run kept it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["FLOORS", "Floor", "better"]


@dataclass(frozen=True, slots=True)
class Floor:
    """A limit of a figure: from below where more is better, else from above.

    A figure on the wrong side of half the limit (twice, from above) fails a check where `ratio` is
    true: both sides of a ratio meet the same machine, while bare seconds depend on it.
    """

    limit: float
    unit: str
    more_is_better: bool = True
    ratio: bool = True

    def met(self, value: float) -> bool:
        """Whether the figure keeps the limit."""
        return value >= self.limit if self.more_is_better else value <= self.limit

    def fails(self, value: float) -> bool:
        """Whether a check fails."""
        if not self.ratio:
            return False
        half = value >= self.limit / 2 if self.more_is_better else value <= 2 * self.limit
        return not half

    def __str__(self) -> str:
        return f"{'at least' if self.more_is_better else 'at most'} {self.limit:g} {self.unit}"


FLOORS: Final = {
    "fits: native over rstan": Floor(20, "times"),
    "fits: native over CmdStan": Floor(10, "times"),
    "pipeline: over R in vectors": Floor(30, "times"),
    "pipeline: over R in the references' loops": Floor(30, "times"),
    "bounds: direct over one read of the matrix": Floor(2, "times", more_is_better=False),
    "bounds: leave-one-out over R's loop": Floor(2, "times"),
    "joint: compiled over Python, ten columns": Floor(5, "times"),
    "joint: compiled over Python, four columns": Floor(3, "times"),
    "samplers: draws a slope over nutpie's, worst": Floor(0.9, "times"),
    "samplers: draws a second over nutpie's, worst": Floor(0.85, "times"),
    "samplers: draws a slope over nutpie's, mean": Floor(0.95, "times"),
    "samplers: draws a second over nutpie's, mean": Floor(0.95, "times"),
    "samplers: slopes of the warm-up over nutpie's, most": Floor(
        1.1, "times", more_is_better=False
    ),
    "10^7 records, 20 datasets: time": Floor(180, "s", more_is_better=False, ratio=False),
    "10^7 records, 20 datasets: memory": Floor(2, "GB", more_is_better=False, ratio=False),
    "10^8 records, 1 dataset: time": Floor(300, "s", more_is_better=False, ratio=False),
    "10^8 records, 1 dataset: memory": Floor(4, "GB", more_is_better=False, ratio=False),
}
"""By what is measured. Fits are those of the mixture of counts at n = 1000."""


def better(name: str, one: float, other: float) -> float:
    """The better of two values of a figure."""
    return max(one, other) if FLOORS[name].more_is_better else min(one, other)
