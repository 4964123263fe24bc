"""The form of a statement's figures: rounded up, by neighbours, by draw, in the ledger, of columns.

Datasets come from draws: each draw is paid, each dataset is not. A dataset is a function of its
draw and of fresh randomness, so several datasets of one draw cost what the draw costs
(post-processing). d draws cost d times as much (sequential composition).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

import numpy as np

from pyvws._base.phrase import Phrase
from pyvws.privacy.seller import Spending
from pyvws.statement.words import use

_EXACT = Context(prec=400)  # Digits enough for the largest float and one decimal.


def rounded_up(value: float) -> float | None:
    """The value rounded up to one decimal, never down; None where it is not finite."""
    if not np.isfinite(value):
        return None
    tenth = Decimal("0.1")
    return float(Decimal(float(value)).quantize(tenth, rounding=ROUND_CEILING, context=_EXACT))


def figure(value: float, round_up: bool) -> float | None:
    """A figure as the statement has it: None where it is not finite, since JSON has no infinity."""
    if round_up:
        return rounded_up(value)
    return value if np.isfinite(value) else None


def spent(spending: Spending) -> dict[str, Any]:
    """The statement's `spending`: the cap of the settings, and the sum of what was sold."""
    return {
        "cap": spending.cap,
        "delta": spending.delta,
        "sold": spending.sold,
        "measurements": len(spending.measurements),
    }


Epsilons = tuple[float, float]
"""The epsilon of one dataset, and the epsilon of all datasets together; larger = less private."""


def by_neighbours(
    left_out: Epsilons,
    replaced: Epsilons,
    round_up: bool,
    *,
    windows: tuple[Epsilons, Epsilons] | None = None,
) -> dict[str, dict[str, float | None]]:
    """The statement's `epsilon_by_neighbours`: one record left out, and one record replaced.

    `windows` are the window's figures of both, where there are any.
    """
    entries = {}
    for place, (name, (dataset, total)) in enumerate(
        {"leave-one-out": left_out, "replace-one": replaced}.items()
    ):
        figures = {"per_dataset": dataset, "total": total}
        if windows is not None:
            figures["of_window"], figures["total_of_window"] = windows[place]
        entries[name] = {relation: figure(value, round_up) for relation, value in figures.items()}
    return entries


def certified(neighbours: str, epsilons: Epsilons, round_up: bool) -> dict[str, Any]:
    """The statement's `certified`: the neighbours that a strict claim is for, and its figures."""
    dataset, total = (figure(epsilon, round_up) for epsilon in epsilons)
    return {"neighbours": neighbours, "epsilon_per_dataset": dataset, "epsilon_total": total}


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One use of the confidential data; `epsilon` is its cost, None if not accounted."""

    use: Phrase
    epsilon: float | None

    def written(self, round_up: bool) -> dict[str, Any]:
        """The entry as plain values; `round_up` rounds the cost up to one decimal."""
        cost = "not accounted" if self.epsilon is None else figure(self.epsilon, round_up)
        return {"use": use(self.use), "epsilon": cost, **self.use.written()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnCost:
    """One conditional of a table: a synthesized column, or the category of a number's parts.

    `engine` drew its parameters. `epsilon` is what a run of this column alone costs under the same
    weights, 2 max_i Delta_ik, or the whole epsilon of a clamp; larger = less private.
    """

    name: str
    model: str
    predictors: tuple[str, ...]
    engine: str
    epsilon: float

    def written(self, round_up: bool) -> dict[str, Any]:
        """The column's entry in a statement."""
        return {
            "name": self.name,
            "model": self.model,
            "predictors": list(self.predictors),
            "engine": self.engine,
            "epsilon_alone": figure(self.epsilon, round_up),
        }


def draw_of_dataset(datasets: int, draws: int) -> list[int]:
    """The number, from 1, of the draw behind each of m datasets that come from d <= m draws.

    The draws take turns: the first d datasets come from d different draws, and the numbers of
    datasets of two draws differ by at most 1.
    """
    return [1 + dataset % draws for dataset in range(datasets)]


def with_released_draws(privacy: Mapping[str, Any]) -> dict[str, Any]:
    """The statement with draws_released and draw_of_dataset, which came with version 3.

    The datasets of an earlier statement have one posterior draw each, or one noisy histogram.
    """
    datasets = privacy.get("datasets")
    if "draw_of_dataset" in privacy or not isinstance(datasets, int):
        return dict(privacy)
    draws = datasets if "lipschitz_bound" in privacy else 1
    draw_of = draw_of_dataset(datasets, draws)
    return {**privacy, "draws_released": draws, "draw_of_dataset": draw_of}
