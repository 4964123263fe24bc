"""Losses of whole releases from noisy counts, on small tables and all neighbours of these tables.

The seam is the function that adds noise to counts. It shows which counts were to get noise, and at
which scale. It answers with numbers of its own that are the same for every table. So all else that
leaves has to be the same for neighbours, byte for byte: a difference is an infinite loss. The loss
of the counts themselves follows from the probabilities of the noise, by sums of this module.

Which records of a unit count is chosen by secret keys. Here the last ones are, in every table: a
loss that holds for each choice of the other units holds for all choices together.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final, NamedTuple
from unittest.mock import patch

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.signal import fftconvolve

from pyvws._base.checks import Floats
from pyvws.errors import PyvwsError
from pyvws.mechanisms.counts.coding import MOST_LEVELS
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.plan import reading
from pyvws.privacy import seller
from pyvws.release.release import Release
from pyvws.release.synthesizer import synthesize
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.members import Members
from pyvws.tables.schema.schema import Schema
from pyvws_validation._privacy_loss import RELATIONS, Losses, Runs, word

DELTA: Final = 1e-4
"""The delta of the runs that are not pure."""

_SEED: Final = 2**60 + 1
_STEPS: Final = 20_000  # Steps of a loss of epsilon: each count's loss is rounded down to one.
_FAR: Final = 12.0  # Standard deviations of noise: what lies beyond has a chance below 1e-30.
_MANY: Final = 5_000
_UNIT: Final = "home"
_WEIGHT: Final = "weight"

COLUMNS: Final = {
    "sex": Column(model="logistic", levels=("f", "m")),
    "age": Column(model="normal", range=(0, 40), cuts=(15, 30), decimals=0),
    "job": Column(model="nominal", levels=("1", "2"), missing="N", rule="N only where age < 15"),
}
"""A category, a number with public cuts, and a category with a missing code and a rule."""

OF_TABLES: Final = {
    name: replace(column, model="table") if column.categorical else column
    for name, column in COLUMNS.items()
}
"""The same columns, whose categories follow by tables where others would by their families."""

RECORDS: Final[tuple[Any, ...]] = (
    ("f", "3", "N"),
    ("m", "20", "1"),
    ("m", "39", "2"),
    ("f", "3", "1"),  # Breaks the rule.
    ("x", "1e300", "1"),  # Values that the schema does not know.
    (None, "?", None),
)
"""The records of which tables are made."""

_FIELDS: Final = {str(code): str(code % 2) for code in range(MOST_LEVELS + 1)}

OF_GROUPS: Final = {
    "sex": COLUMNS["sex"],
    "job": Column(
        model="nominal", levels=tuple(_FIELDS), missing="N", rule="N only where sex == 'f'"
    ),
    "field": Column(lookup={"job": {**_FIELDS, "N": "N"}}, levels=("0", "1", "N")),
}
"""A category of so many levels that a lookup's groups stand for it in the pairs."""

IN_GROUPS: Final[tuple[Any, ...]] = (
    ("m", "0", "0"),
    ("m", "50", "0"),
    ("m", "1", "1"),
    ("f", "N", "N"),
    ("m", "3", "0"),  # Not the group of its level.
    ("f", "3", "1"),  # Breaks the rule.
    ("m", "x", None),
)
"""Records of these columns."""


OF_NUMBERS: Final = {
    "sex": COLUMNS["sex"],
    "age": Column(model="normal", range=(0, 40), decimals=0),
    "pay": Column(model="normal", range=(-20, 9000), mass=(0,), missing="N"),
}
"""Numbers without cuts, whose cells are chosen; one of them is counted by its roundness too."""

IN_NUMBERS: Final[tuple[Any, ...]] = (
    ("f", "3", "0"),
    ("m", "20", "8999.5"),
    ("m", "39", "N"),
    ("x", "41", "-3"),  # Values that the schema does not know.
    (None, "20", "1e300"),
)
"""Records of these columns."""


OF_WEIGHTS: Final = {name: COLUMNS[name] for name in ("sex", "age")}
"""The columns of records that have a survey weight too, from 1 to 4 by public knowledge."""

WEIGHED: Final[tuple[Any, ...]] = (
    ("f", "3", "4"),
    ("m", "20", "4"),
    ("f", "39", "400"),  # Beyond the range.
    ("m", "3", "0.1"),
    ("x", "20", "4"),  # A value that the schema does not know.
    ("m", "39", "-2"),  # Weights that count nothing.
    ("f", "20", "inf"),
    ("f", "3", None),
)
"""Records of these columns and the weight."""
OF_ORDER: Final = {
    "begin": Column(model="normal", range=(0, 40), decimals=0, missing=True, cuts=(20,)),
    "end": Column(model="normal", range=(0, 50), decimals=0, missing="N", rule=">= begin"),
}
"""Two numbers in an order, of which the difference is counted."""

IN_ORDER: Final[tuple[Any, ...]] = (
    ("3", "9"),
    ("39", "2"),  # Breaks the rule.
    ("9", "9"),
    (None, "50"),
    ("20", "N"),
    ("3", "1e300"),  # A value that the schema does not know.
)
"""Records of these columns."""


class SeenCounts(NamedTuple):
    """Counts that were to get noise (C,), the scale of the noise of each, and what it answered."""

    counts: Floats
    scales: Floats
    answers: NDArray[np.int64]


def _falling_keys(n: int) -> NDArray[np.uint64]:
    """Keys (n,) by which the last records of each unit count."""
    return np.arange(n, dtype=np.uint64)[::-1]


@contextmanager
def _seen_counts() -> Iterator[list[SeenCounts]]:
    """What each call of the noise was handed. Every table gets the same answers."""
    seen: list[SeenCounts] = []

    def answered(counts: ArrayLike, *, scale: float) -> Any:
        given = np.asarray(counts)
        answers = (7 * np.arange(len(given), dtype=np.int64) + 6) % 9 - 2  # Some are negative.
        seen.append(SeenCounts(given.astype(np.float64), np.full(len(given), scale), answers))
        return answers

    with (
        patch.object(seller, "add_discrete_laplace", answered),
        patch.object(seller, "add_discrete_gaussian", answered),
        patch.object(reading, "secret_keys", _falling_keys),
    ):
        yield seen


@dataclass(frozen=True, kw_only=True)
class CountedRuns(Runs):
    """Runs of noisy counts; a record has the `columns`.

    With a `cap` or `members` it is a unit, a tuple of records.

    - `columns`: What the schema says of each entry of a record.
    - `neighbours` {"loo", "replace"}: The neighbours that the runs are for.
    - `delta`: 0 for Laplace noise.
    - `cap`: The most records of a unit that are counted.
    - `members`: What is public of units that are counted whole, each as one record of slots.
    - `records`: A public number of records.
    - `measure`, `tables`: The sets that are counted, and the columns that tables give.
    - `model` {"classes", "conditionals"}: The model that imputes records.
    - `weighted`: Whether a record has a survey weight at its end, so that counts are sums of them.
    - `totals`: Published totals that records meet.
    """

    columns: Mapping[str, Column] = field(default_factory=lambda: COLUMNS)
    neighbours: str
    delta: float = 0.0
    cap: int | None = None
    members: Members | None = None
    records: int | None = None
    measure: tuple[str, ...] = ("pairs",)
    tables: tuple[str, ...] = ()
    model: str = "classes"
    weighted: bool = False
    totals: Any = None
    known: dict[Any, Floats] = field(default_factory=dict, compare=False, repr=False)

    def losses(self, epsilon: float) -> Losses:
        """Losses of the neighbours that the claim is for."""
        self.known.clear()
        losses = super().losses(epsilon)
        own = RELATIONS[self.neighbours]
        losses.by_neighbours = {own: losses.by_neighbours[own]}
        return losses

    def log_probabilities(
        self, outcomes: tuple[Any, ...], epsilon: float, losses: Losses
    ) -> Floats:
        """The counts over their scales (C + 1, 2) of a run, after a mark of all else that left."""
        if outcomes not in self.known:
            release, seen = self._run(outcomes, epsilon)
            self._hear(release.privacy, epsilon, losses)
            self.known[outcomes] = np.column_stack(
                [
                    np.concatenate([[_mark(release)], *(call.counts for call in seen)]),
                    np.concatenate([[epsilon], *(call.scales for call in seen)]),
                ]
            )
        return self.known[outcomes]

    def distance(self, first: Floats, other: Floats) -> float:
        """The loss at delta; infinite where other things than the counts differ."""
        if first.shape != other.shape or (first[0] != other[0]).any():
            return math.inf
        if not np.array_equal(first[:, 1], other[:, 1]):
            return math.inf  # The noise itself would tell the tables apart.
        moves, scales = np.abs(first[1:, 0] - other[1:, 0]), first[1:, 1]
        if self.delta == 0.0:
            return float((moves / scales).sum())
        moved = moves > 0.0
        pairs = sorted(zip(moves[moved].tolist(), scales[moved].tolist(), strict=True))
        return gaussian_loss(tuple(pairs), self.delta, step=first[0, 1] / _STEPS)

    def _run(self, outcomes: tuple[Any, ...], epsilon: float) -> tuple[Release, list[SeenCounts]]:
        """The release of a table, and what the noise was asked for."""
        with _seen_counts() as seen, warnings.catch_warnings(action="ignore"):
            release = synthesize(
                self._table(outcomes),
                schema=Schema(
                    {**({_UNIT: Column(role="id")} if self._of_units else {}), **self.columns},
                    unit=_UNIT if self._of_units else None,
                    weight=_WEIGHT if self.weighted else None,
                    weight_range=(1, 4) if self.weighted else None,
                    members=self.members,
                ),
                mechanism=NoisyCounts(
                    epsilon=epsilon,
                    delta=self.delta,
                    neighbours=self.neighbours,
                    cap=self.cap,
                    measure=self.measure,
                    tables=self.tables,
                    model=self.model,
                    totals=self.totals,
                    classes=2,
                ),
                records=self.records,
                datasets=2,
                seed=_SEED,
            )
        tables = release.public_tables
        if self.weighted:  # Sums are released as rows, to the nearest one.
            return release, seen
        released = tables["counts.parquet"].filter(pl.col("set") != "records")["count"].to_list()
        fine = tables["cells.parquet"]["count"].to_list() if "cells.parquet" in tables else []
        answers = [answer for call in seen for answer in call.answers.tolist()]
        if answers[len(answers) - len(fine) - len(released) :] != fine + released:
            raise PyvwsError("The release has counts that are not those of the noise.")
        return release, seen

    @property
    def _of_units(self) -> bool:
        return self.cap is not None or self.members is not None

    def _table(self, outcomes: tuple[Any, ...]) -> pl.DataFrame:
        units = outcomes if self._of_units else [[record] for record in outcomes]
        rows = [(str(number), *record) for number, unit in enumerate(units) for record in unit]
        own = [_UNIT, *self.columns, *([_WEIGHT] if self.weighted else [])]
        names = dict.fromkeys(own, pl.String)
        frame = pl.DataFrame(rows, schema=names, orient="row")
        return frame if self._of_units else frame.drop(_UNIT)

    def _hear(self, statement: dict[str, Any], epsilon: float, losses: Losses) -> None:
        """The smallest figure that the statement has for all datasets under its neighbours."""
        own, strict = RELATIONS[self.neighbours], statement["certified"]
        claims = [epsilon, statement["epsilon_by_neighbours"][own]["total"]]
        claims += [] if strict is None else [strict["epsilon_total"]]
        if statement["neighbours"] == own and statement["delta"] <= self.delta:
            claims.append(statement["epsilon_total"])
            losses.words.add(word(statement))
        else:
            losses.words.add(("none", "none"))
        losses.claims[own] = min([losses.claims.get(own, math.inf), *claims])


def _mark(release: Release) -> float:
    """A number (52 bits) of all that leaves: datasets, counts, statement, settings and schema.

    Secret noise gives each release a random name, which is left out.
    """
    tables = [*release.datasets, *release.public_tables.values()]
    own = {name: value for name, value in release.privacy.items() if name != "release_id"}
    texts = [repr(own), release.config, release.public_schema]
    texts += [repr(dict(table.schema)) + table.write_csv() for table in tables]
    digest = hashlib.sha256("\0".join(texts).encode()).digest()
    return float(int.from_bytes(digest[:6], "big"))


@cache
def gaussian_loss(moves: tuple[tuple[float, float], ...], delta: float, *, step: float) -> float:
    """Epsilon at `delta` of counts under discrete Gaussian noise, by moves |v| and scales sigma.

    The loss of noise z is (2 v z + v^2) / (2 sigma^2), by its own probability. Each loss is rounded
    down to a whole number of steps, so the result is at most the truth, by a step for each count.
    """
    losses, masses = loss_distribution(moves, step=step)

    def exceeds(epsilon: float) -> float:
        return hockey_stick(losses, masses, epsilon) - delta

    if not moves or exceeds(0.0) <= 0.0:
        return 0.0
    return float(brentq(exceeds, 0.0, max(losses.max(), step), xtol=step))


def hockey_stick(losses: Floats, masses: Floats, epsilon: float) -> float:
    """E[(1 - exp(epsilon - loss))+]: the delta at epsilon of a distribution of losses."""
    above = losses > epsilon
    return float(masses[above] @ -np.expm1(epsilon - losses[above]))


def loss_distribution(
    moves: Sequence[tuple[float, float]], *, step: float
) -> tuple[Floats, Floats]:
    """Losses (L,) in steps, rounded down, and their probabilities: counts add up one by one."""
    total: Floats = np.ones(1)
    lowest = 0
    for v, sigma in moves:
        reach = math.ceil(_FAR * sigma) + 2
        z = np.arange(-reach, reach + 1)
        mass = np.exp(-0.5 * (z / sigma) ** 2)
        places = np.floor((2.0 * v * z + v**2) / (2.0 * sigma**2) / step + 1e-9).astype(np.int64)
        own: Any = np.bincount(places - places[0], weights=mass / mass.sum())
        total, lowest = _convolved(total, own), lowest + int(places[0])
    return step * (lowest + np.arange(len(total), dtype=np.float64)), total


def _convolved(first: Floats, other: Floats) -> Floats:
    """The distribution of a sum of two whole numbers; the sparse one has few masses."""
    if np.count_nonzero(other) > _MANY:  # Of sums of weights, whose losses lie close together.
        return np.maximum(fftconvolve(first, other), 0.0)
    sums = np.zeros(len(first) + len(other) - 1)
    for place in np.flatnonzero(other):
        sums[place : place + len(first)] += other[place] * first
    return sums
