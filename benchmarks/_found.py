"""What a part is asked for and what it finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter

__all__ = ["Entry", "Found", "Plan", "Table", "medians", "seconds_in_turn"]

Entry = str | int | float
"""An entry of a table: text as it is, numbers as they were measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much to run.

    `small` is a version of some two minutes. `cap` is the most that one fit may take, in seconds.
    `largest` is the power of ten at which growth ends. `authors` is a checkout of the
    risk-efficient paper's public scripts. `say` is told what was just measured.
    """

    small: bool = False
    cap: float = 120.0
    largest: int = 8
    authors: Path | None = None
    say: Callable[[str], None] = lambda _text: None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one kind, under columns that name their units, and what a reader has to know."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Entry, ...]]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """Tables of a part, its figures that have a floor (by the floor's name), what was left out."""

    tables: list[Table]
    figures: dict[str, float] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def seconds_in_turn(calls: dict[str, Callable[[], object]], runs: int) -> dict[str, list[float]]:
    """Seconds of each call, all of them run in turn, so that a busy spell meets all alike."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(runs):
        for name, act in calls.items():
            began = perf_counter()
            act()
            taken[name].append(perf_counter() - began)
    return taken


def medians(rows: list[tuple[float, ...]]) -> tuple[float, ...]:
    """The median of each column."""
    return tuple(median(column) for column in zip(*rows, strict=True))
