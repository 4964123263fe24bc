"""Losses of a schema that is paid for, on small tables and all neighbours of these tables.

The seam is the function that adds noise to counts, and the one that counts the values of a column.
What a neighbour moves is a count of a public cell or of a value that both tables have, whose loss
follows from the noise, or a value that one table alone has. Such a value leaves where its noisy
count reaches the threshold, which whole purchases with chosen answers show. Its chance to do so is
a part of delta.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import polars as pl
from scipy.stats import norm

from pyvws.privacy import seller
from pyvws.privacy.budget import MOVED, Budget, Noise, noise_of
from pyvws.privacy.seller import CountedValues
from pyvws.synthesis import private_answers, private_schema
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._counted_losses import gaussian_loss, hockey_stick, loss_distribution
from pyvws_validation._measured_case import Findings, MeasuredRow
from pyvws_validation.report import Measurement

_LEAST: Final = 0.9  # The share of a claim that a computed loss must reach,
_LEAST_DELTA: Final = 0.2  # and of delta: thresholds are rounded up.
_WITHIN: Final = 2.0  # The variance of discrete noise around the normal noise that is priced.
_STEPS: Final = 2_000
_REACH: Final = 10.0  # Deviations that a threshold is searched in.
_LONE: Final = "q"
_ROUNDING: Final = 1e-9

COLUMNS: Final = {
    "levels": Column(levels="private"),
    "any": Column(levels="private", range="private"),
    "number": Column(range="private", decimals=0, missing="N"),
    "joined": Column(range="private", days_since="2000-01-01"),
}
"""A category, a column of which nobody knows what it holds, a number and a date."""

RECORDS: Final = (
    ("a", "b", "3", "2001-02-03"),
    ("a", "b", "3", "2001-02-03"),
    (_LONE, _LONE, "N", ""),
    (" 7", "1e300", "x", "9999-99-99"),
    (None, None, None, None),
    ("(other)", "-2.55", "-1e9", "0001-01-01"),
    ("b", "2010-01-01", "0", "9999-12-31"),
)
"""Records of these columns, among them values that no schema knows."""


@dataclass(frozen=True, slots=True)
class Bought:
    """What the noise of a purchase was asked for, by column, with its scales, and the schema.

    `number` is that of the records, and `scales` has its noise under "records" where it was bought.
    """

    counted: Mapping[str, CountedValues]
    scales: Mapping[str, float]
    number: int
    schema: Schema


@cache
def _noise_of(budget: Budget, shares: tuple[tuple[str, float], ...]) -> Noise:
    return noise_of(budget, dict(shares))


def _noise(budget: Budget, shares: Mapping[str, float]) -> Noise:
    """The noise of a purchase, searched once: it is public."""
    return _noise_of(budget, tuple(shares.items()))


@contextmanager
def _answers(shift: int) -> Iterator[tuple[list[CountedValues], list[tuple[Any, float]]]]:
    """Answer values that are no public cells with their counts and a `shift`, cells with 0."""
    counted: list[CountedValues] = []
    calls: list[tuple[Any, float]] = []
    own = private_answers.ColumnCells.counted

    def seen(cells: Any, column: Any) -> CountedValues:
        counted.append(own(cells, column))
        return counted[-1]

    def answered(counts: Any, *, scale: float) -> Any:
        calls.append((np.array(counts), scale))
        public = len(counted[-1].cells) if counted else len(counts)
        answers = np.array(counts, dtype=np.int64) + shift
        answers[:public] = 0
        return answers

    with (
        patch.object(private_schema, "noise_of", _noise),
        patch.object(private_answers.ColumnCells, "counted", seen),
        patch.object(seller, "add_discrete_gaussian", answered),
        patch.object(seller, "add_discrete_laplace", answered),
    ):
        yield counted, calls


@dataclass(frozen=True, kw_only=True)
class PaidLoss(MeasuredRow):
    """The loss of a purchase and what thresholds add to delta, beside what the schema says.

    With `delta` 0 the noise is Laplace's, and no column has private levels. A `run` is the epsilon
    of one counted set after the purchase, at the same delta: the loss is then of both together.
    """

    columns: Mapping[str, Column] = field(default_factory=lambda: COLUMNS)
    neighbours: str = "loo"
    epsilon: float = 1.0
    delta: float = 0.0
    run: float = 0.0
    outside: str = "Above the claim, or too far below it to show anything"

    @property
    def function(self) -> str:
        return "pyvws.synthesis.private_schema:buy_schema"

    def bought(self, table: tuple[Any, ...], shift: int = 0) -> Bought:
        """What a purchase asks of a table's noise, with chosen answers."""
        places = [list(COLUMNS).index(name) for name in self.columns]
        rows = [tuple(record[k] for k in places) for record in table]
        frame = pl.DataFrame(rows, schema=dict.fromkeys(self.columns, pl.String), orient="row")
        asked: dict[str, Any] = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours,
        }
        with _answers(shift) as (counted, calls):
            schema = private_schema.buy_schema(frame, known=Schema(self.columns), **asked)
        of_all = {}
        if self.neighbours == "loo":  # Else all neighbours have as many.
            (_, of_all["records"]), *calls = calls
        scales = {name: scale for name, (_, scale) in zip(self.columns, calls, strict=True)}
        own = dict(zip(self.columns, counted, strict=True))
        return Bought(own, of_all | scales, len(table), schema)

    def threshold(self, name: str, scale: float) -> int:
        """The least noisy count with which a value of one record leaves."""

        def leaves(count: int) -> bool:
            made = self.bought((RECORDS[2],), shift=count - 1).schema.columns[name]
            return _LONE in (*(made.levels or ()), *made.missing_codes)

        return bisect_left(range(int(_REACH * scale) + 2), True, key=leaves)

    def pairs(self) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        """All neighbours: of tables of one record at most and one more, or of two, one replaced."""
        tables = [(), *((record,) for record in RECORDS)]
        for table, record in itertools.product(tables, RECORDS):
            if self.neighbours == "loo":
                yield table, (*table, record)
            else:
                yield from (((*table, other), (*table, record)) for other in RECORDS)

    def found(self) -> Findings:
        one = self.bought((RECORDS[2],))
        paid, scales = one.schema.paid, one.scales
        assert paid is not None
        step, together, stated_delta = self.epsilon / _STEPS, paid.epsilon, paid.delta
        if self.run:
            budget = Budget(
                epsilon=self.run, delta=self.delta, neighbours=self.neighbours, adaptive=True
            )
            beside = noise_of(budget, {"run": 1.0}).scales["run"]
            together = private_schema.cost_of_schema(paid, budget)["together"]
            stated_delta += budget.delta
        lone = {
            name: _tail(self.threshold(name, scales[name]) - 1, scales[name])
            for name, column in self.columns.items()
            if "levels" in column.private
        }
        stated = sum(own.get("delta", 0.0) for own in paid.goods.values())
        most, failing, whole = 0.0, 0.0, 0.0
        known: dict[Any, Bought] = {}
        for first, other in self.pairs():
            both = []
            for table in (tuple(sorted(x, key=repr)) for x in (first, other)):
                if table not in known:
                    known[table] = self.bought(table)
                both.append(known[table])
            if both[0].scales != both[1].scales:
                return Findings((), "The noise itself tells tables apart.")
            moves, values = _moved(*both)
            of_lone = max(sum(lone[name] for name in own) for own in values)
            failing = max(failing, of_lone)
            if not self.delta:
                most = max(most, sum(v / scale for v, scale in moves))
                continue
            most = max(most, gaussian_loss(tuple(moves), paid.delta - stated, step=step))
            if self.run:
                moves = [*moves, *[(1.0, beside)] * budget.moved]
            whole = max(whole, _failing(tuple(moves), together, step) + of_lone)
        high = 1.0 + _ROUNDING
        measured = [Measurement("loss", most, _LEAST * paid.epsilon, paid.epsilon * high)]
        if self.delta:
            measured += [
                Measurement("delta of thresholds", failing, 0.45 * stated, stated * high),
                Measurement("delta", whole, _LEAST_DELTA * stated_delta, stated_delta * high),
                Measurement(
                    "delta by normal noise",
                    _by_normal([*scales.values()], MOVED[self.neighbours], paid.epsilon) + stated,
                    0.9 * paid.delta,
                    paid.delta * high,
                ),
            ]
        return Findings(tuple(measured))


def _by_normal(scales: list[float], moved: int, epsilon: float) -> float:
    """The delta of the normal noise that is a part of discrete noise of these scales."""
    mu = math.sqrt(moved * sum(1.0 / (scale**2 - _WITHIN) for scale in scales))
    tails = norm.sf(epsilon / mu - 0.5 * mu), norm.sf(epsilon / mu + 0.5 * mu)
    return float(tails[0] - math.exp(epsilon) * tails[1])


@cache
def _failing(moves: tuple[tuple[float, float], ...], epsilon: float, step: float) -> float:
    """The delta at epsilon of counts that move so far under noise of these scales."""
    return hockey_stick(*loss_distribution(moves, step=step), epsilon)


def _moved(first: Bought, other: Bought) -> tuple[list[tuple[float, float]], list[list[str]]]:
    """How far counts move, each with its scale, and where each table has a value of its own."""
    moves = [(float(abs(first.number - other.number)), first.scales.get("records", 1.0))]
    alone: list[list[str]] = [[], []]
    for name, own in first.counted.items():
        further, scale = other.counted[name], first.scales[name]
        moves += [(float(abs(v)), scale) for v in (own.cells - further.cells).tolist()]
        for value in {*own.values, *further.values}:
            counts = own.values.get(value, 0), further.values.get(value, 0)
            if 0 in counts:
                alone[counts.index(0) ^ 1].append(name)
                if max(counts) > 1:
                    raise AssertionError("A record moved a value by more than 1.")
            else:
                moves.append((float(abs(counts[0] - counts[1])), scale))
    return sorted((v, scale) for v, scale in moves if v), alone


def _tail(t: int, scale: float) -> float:
    """P[Z >= t] of discrete Gaussian noise, as a sum over whole numbers."""
    reach = int(40 * scale) + abs(t)
    z = np.arange(-reach, reach + 1)
    mass = np.exp(-0.5 * (z / scale) ** 2)
    return float(mass[z >= t].sum() / mass.sum())


def paid_losses(paper: str, delta: float) -> tuple[PaidLoss, ...]:
    """The rows: private levels and ranges with all neighbours, a run too, and pure ranges."""
    numbers = {name: COLUMNS[name] for name in ("number", "joined")}
    rows: dict[str, dict[str, Any]] = {
        "levels": {"delta": delta},
        "levels-replace": {"delta": delta, "neighbours": "replace"},
        "with-run": {"delta": delta, "columns": {"levels": COLUMNS["levels"]}, "run": 1.0},
        "ranges": {"columns": numbers},
        "ranges-replace": {"columns": numbers, "neighbours": "replace"},
    }
    return tuple(
        PaidLoss(id=f"guarantee/paid-schema-{name}", paper=paper, **given)
        for name, given in rows.items()
    )
