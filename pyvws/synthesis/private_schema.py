"""A schema that is paid for: levels, ranges and cuts that are found in the records under noise.

What a steward knows of the columns stands in a schema whose other entries are "private". Each
column is one measurement of the seller, with a price; `private_answers` says what is counted, and
what follows of the answers. Nothing else is read of the records.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from narwhals.typing import IntoFrame

from pyvws._base.checks import positive
from pyvws.errors import InputError
from pyvws.mechanisms.counts.chosen_cells import FineCounts, fine_cells
from pyvws.plan.reading import within_cap
from pyvws.privacy.budget import Budget, Noise, epsilon_after, noise_of
from pyvws.privacy.discrete_noise import least_tail
from pyvws.privacy.seller import CountedValues, Seller
from pyvws.synthesis.private_answers import OTHER, ColumnCells, with_answers
from pyvws.tables.files.frame import Frame, check_columns, open_frame, units_from_0
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.paid import PaidSchema
from pyvws.tables.schema.schema import Schema

_RECORDS: Final = "records"
_FALSE: Final = 0.001  # The chance that noise alone makes any bin of a column stand out,
_APART: Final = 0.003  # that it makes a small whole number stand out,
_OF_ZERO: Final = 0.01  # or 0 among larger numbers,
_BESIDE: Final = 0.05  # and that it adds the bin beside those that do,
_LAST: Final = 0.2  # or such a number beside those that do.
_OF_RECORDS: Final = 0.25  # The share of the number of records in that of a column.
_OF_THRESHOLDS: Final = 0.1  # The share of delta that thresholds take; noise has the rest.


def buy_schema(
    frame: IntoFrame,
    *,
    epsilon: float,
    delta: float = 0.0,
    known: Schema | str | Path | None = None,
    records: int | None = None,
    neighbours: str = "loo",
) -> Schema:
    """A schema of a table whose private entries are found under noise, once.

    The cost, with the names of all that was bought, is `paid` of the schema. Each run with it adds
    that to its own, and several releases with one such schema pay it once.

    Parameters
    ----------
    frame : table
        The confidential table.
    epsilon : float
        What all of it costs together; larger = less private.
    delta : float
        The delta of that; private levels need one above 0. Larger = less private.
    known : Schema or path, optional
        What is known of the columns, on the word of whoever gives it, and which entries are
        "private". By default every column is private, in the order of the header.
    records : int, optional
        A public number of records. By default their noisy number is bought too.
    neighbours : {"loo", "replace"}
        One unit of privacy left out, or one replaced.

    Returns
    -------
    Schema
        With no private entry left.

    Raises
    ------
    InputError
        For private levels without a delta, a schema without private entries, and thresholds above
        the public number of records. Nothing of the records decides whether it is raised.
    """
    table = open_frame(frame, least=0)
    asked = Schema.read(known) if isinstance(known, str | Path) else known
    if asked is None:
        asked = Schema({n: Column(private=("levels", "range")) for n in table.columns})
    number = asked.records if records is None else records
    purchase = _Purchase(
        asked, float(positive(epsilon, "epsilon")), float(delta), neighbours, number
    )
    purchase.refuse()
    check_columns(table, [*purchase.columns, *filter(None, [asked.unit])], role="The schema")
    if asked.unit is not None:  # One record of each unit, by a choice that reads no other unit.
        table = table.filter(within_cap(units_from_0(table[asked.unit]), 1).tolist())
    return purchase.made(table)


@dataclass(frozen=True)
class _Purchase:
    """What is bought for a schema with private entries, priced by settings alone.

    `records` is a public number of records. Without it their noisy number is bought, but where all
    neighbours have as many.
    """

    asked: Schema
    epsilon: float
    delta: float
    neighbours: str
    records: int | None

    @property
    def columns(self) -> dict[str, Column]:
        """The columns with private entries."""
        return {name: self.asked.columns[name] for name in self.asked.private}

    @cached_property
    def cells(self) -> dict[str, ColumnCells]:
        """The public cells of each column whose levels or range are private."""
        return {
            name: ColumnCells(column)
            for name, column in self.columns.items()
            if {*column.private} - {"cuts"}
        }

    @cached_property
    def hidden(self) -> list[str]:
        """The columns that have values which are no public cells."""
        return [name for name, own in self.cells.items() if own.has_values]

    @cached_property
    def noise(self) -> Noise:
        """The noise of all that may be bought, by name."""
        budget = Budget(
            epsilon=self.epsilon,
            delta=self.delta - self.of_thresholds,
            neighbours=self.neighbours,
            adaptive=True,
        )
        shares = {_RECORDS: _OF_RECORDS} if self.counts_records else {}
        shares |= {_of_values(name): 1.0 for name in self.cells}
        cut = [name for name, column in self.columns.items() if "cuts" in column.private]
        return noise_of(budget, shares | {_of_cuts(name): 1.0 for name in cut})

    @property
    def counts_records(self) -> bool:
        """Whether the number of records is bought."""
        return self.records is None and self.neighbours == "loo"

    @property
    def of_thresholds(self) -> float:
        """The delta that all thresholds cost together."""
        return self.delta * _OF_THRESHOLDS if self.hidden else 0.0

    @cached_property
    def deltas(self) -> dict[str, float]:
        """The delta of each threshold, by the name of its measurement."""
        each = math.nextafter(self.of_thresholds / max(1, len(self.hidden)), 0.0)
        each *= 1.0 - 1e-12  # So that rounded parts never exceed the whole.
        return {_of_values(name): each for name in self.hidden}

    def seller(self, table: Frame | None) -> Seller[Any]:
        """The seller of the records of a table."""
        return Seller.of_noise(self.noise, table, deltas=self.deltas, thresholds=self.of_thresholds)

    def refuse(self) -> None:
        """Raise InputError for what settings alone tell cannot be bought."""
        if not self.columns:
            raise InputError.by("private-nothing")
        if self.asked.members is not None or self.asked.public:
            raise InputError.by("private-beside-public")
        if self.hidden and not self.delta:
            raise InputError.by("private-without-delta", names=", ".join(map(repr, self.hidden)))
        self.noise  # noqa: B018  # Refuses a budget out of range.
        least = max((self._least(name) for name in self.cells), default=0)
        if self.records is not None and self.records < least:
            raise InputError.by("private-threshold-above", least=least, records=self.records)
        for name in self.cells:
            with_answers(self.columns[name], None)  # Refuses what was given beside it.

    def _least(self, name: str) -> int:
        """The noisy count from which on an entry of a column is taken."""
        own = self.cells[name]
        return self.seller(None).threshold(_of_values(name)) if own.has_values else self.false(name)

    def false(self, name: str) -> int:
        """The noisy count that noise alone seldom gives any public cell of a column."""
        return self._tail(_FALSE / self.cells[name].size, _of_values(name))

    def _tail(self, chance: float, name: str) -> int:
        return least_tail(chance, scale=self.noise.scales[name], laplace=self.noise.budget.pure)

    def made(self, table: Frame) -> Schema:
        """The schema with what was bought of a table."""
        seller = self.seller(table)
        columns, entries, goods = dict(self.asked.columns), {}, {}
        if self.counts_records:
            number = seller.counts(_RECORDS, lambda own: np.zeros(len(own), dtype=np.int8), 1)
            goods[_RECORDS] = {"scale": seller.scale(_RECORDS), "count": max(0, int(number[0]))}
        for name, own in self.cells.items():
            good = _of_values(name)
            sold = seller.values(good, partial(_counted, own, name))
            chances = {"apart": _APART, "zero": _OF_ZERO, "beside": _BESIDE, "last": _LAST}
            counts = {kind: self._tail(chance, good) for kind, chance in chances.items()}
            found = own.found(sold, least=self.false(name), **counts)
            columns[name] = with_answers(self.columns[name], found)
            goods[good] = {
                "scale": seller.scale(good),
                "least": self._least(name),
                "delta": self.deltas.get(good, 0.0),
            }
        for name in [n for n, own in self.columns.items() if "cuts" in own.private]:
            columns[name] = self._cut(seller, name, columns[name])
            goods[_of_cuts(name)] = {"scale": seller.scale(_of_cuts(name))}
        word = {}
        for name, column in columns.items():
            asked = self.asked.columns[name]
            said = [n for n in asked.given if n not in asked.private]
            word[name] = tuple(n for n in said if n in column.given)
            if name in self.columns:
                bought = [n for n in column.given if n not in (*said, "outside", "note")]
                entries[name] = tuple(bought)
        paid = PaidSchema(
            name=secrets.token_hex(16),
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=self.neighbours,
            unit=self.asked.unit,
            goods=goods,
            entries=entries,
            word={name: own for name, own in word.items() if own},
        )
        paid = replace(paid, digest=paid.digest_with(columns))
        return replace(self.asked, columns=columns, paid=paid)

    def _cut(self, seller: Seller[Any], name: str, column: Column) -> Column:
        """A number with the cuts that the noisy counts of its fine cells in its range leave."""
        whole = replace(column, private=(), cuts=None)
        if whole.categorical or whole.range is None:
            return whole
        cells = fine_cells(Schema({name: whole}))
        if name not in cells.columns:
            return whole
        fine, good = cells.columns[name], _of_cuts(name)
        counts = seller.counts(good, lambda rows: fine.read(rows)[0], fine.size)
        noisy = FineCounts(counts, self.noise.scales[good], self.noise.deviation(good))
        return cells.chosen(Schema({name: whole}), {name: noisy}).columns[name]


def _counted(cells: ColumnCells, name: str, rows: Frame) -> CountedValues:
    """The counts of a column of records."""
    return cells.counted(rows[name])


def _of_values(name: str) -> str:
    """The name of the measurement of a column's values."""
    return f"values of {name}"


def _of_cuts(name: str) -> str:
    """The name of the measurement of a number in the cells of a grid."""
    return f"grid of {name}"


def budget_of_schema(paid: PaidSchema) -> Budget:
    """The budget of the noise with which entries of a schema were found."""
    return Budget(
        epsilon=paid.epsilon, delta=paid.delta_of_noise, neighbours=paid.neighbours, adaptive=True
    )


def cost_of_schema(paid: PaidSchema | None, run: Budget) -> dict[str, Any]:
    """What a statement has of a schema that was paid for, and epsilon of it and a run together."""
    if paid is None:
        return {}
    together = epsilon_after(run, budget_of_schema(paid), paid.scales)
    return {"paid": {**paid.cost, "run": run.epsilon}, "together": together}


def purchase_notes(schema: Schema, labels: Mapping[str, str]) -> list[str]:
    """What a reader is told of a schema that was paid for: by its answers and settings alone."""
    paid = schema.paid
    assert paid is not None
    least = max((int(own["least"]) for own in paid.goods.values() if "least" in own), default=0)
    number = paid.goods.get(_RECORDS, {}).get("count")
    dropped = [labels[n] for n in paid.entries if schema.columns[n].role == "drop"]
    other = [labels[n] for n in paid.entries if schema.columns[n].levels == (OTHER,)]
    notes = [f"A value or bin takes at least {least:,} records, by its noisy count."] * (least > 0)
    if number is not None:
        notes.append(f"The table has about {int(number):,} records or units, by a noisy count.")
        if number < least:
            notes.append(
                "That is below what a value takes, so this schema holds next to nothing. A larger "
                "epsilon, or fewer private entries, would find more, at its own cost."
            )
    if dropped:
        notes.append(f"Dropped, since nothing stands out of the noise: {', '.join(dropped)}.")
    if other:
        notes.append(f"All values are {OTHER!r} in: {', '.join(other)}.")
    return notes
