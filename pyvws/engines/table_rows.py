"""Conditional tables under one clamp: Metropolis steps, one pattern's shares at a time.

Given which units lie inside the window, the shares of a pattern have a Dirichlet posterior: the
prior's counts and the weighted counts of these units' records. A unit is one record where the table
has no others. Each step proposes the shares of one pattern from it, all else given, and is accepted
by the clamped target and both proposals' densities. So each step keeps the target of
`pyvws.posterior.joint_target` as it is. Few units cross an end of the window at once, so nearly all
steps are accepted, and draws are nearly independent. The other columns, of any family, enter by
each unit's sum of their terms. `pyvws.engines.nuts` runs the chains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numba.typed import List
from numpy.random import Generator
from numpy.typing import NDArray

from pyvws._base.checks import Arrays, Data, Floats, Ints, Places
from pyvws._base.kernels import kernel
from pyvws.models.conditional_table import ConditionalTable, patterns_of, weighted_counts
from pyvws.models.model import level_places
from pyvws.models.sequence import Conditional
from pyvws.posterior.joint_target import DistinctUnits, Entries, JointTarget

Window = tuple[float, float]
"""The ends between which a clamp leaves a term as it is."""

_RARE = 80.0  # Weighted records of a cell up to which its share moves by itself too.
_PARTS = 3  # Parts of such a cell's records in the proposals.


@kernel
def _clamped(term: float, low: float, high: float) -> float:
    """A term within its window; one that is not a number is at the lower end."""
    if low < term < high:
        return term
    return high if term >= high else low


@kernel
def log_dirichlet(log_share: Floats, count: Floats, L: int) -> float:
    """The log density of shares (L,) in a Dirichlet distribution of counts (L,)."""
    value, total = 0.0, 0.0
    for level in range(L):
        value += (count[level] - 1.0) * log_share[level] - math.lgamma(count[level])
        total += count[level]
    return value + math.lgamma(total)


@kernel
def draw_shares(rng: Generator, count: Floats, L: int, log_share: Floats) -> None:
    """Fill `log_share` (L,) from a Dirichlet distribution of counts (L,).

    Of a small count a, gamma(a) = gamma(a + 1) U^(1/a) can be 0 to a computer; its logarithm not.
    """
    largest = -math.inf
    for level in range(L):
        size = math.log(rng.standard_gamma(count[level] + 1.0))
        log_share[level] = size + math.log1p(-rng.random()) / count[level]
        largest = max(largest, log_share[level])
    total = 0.0
    for level in range(L):
        total += math.exp(log_share[level] - largest)
    for level in range(L):
        log_share[level] -= largest + math.log(total)


@kernel
def inside_counts(
    own: Ints,
    level: Ints,
    times: Floats,
    units: Arrays,
    window: Window,
    total: Floats,
    count: Floats,
) -> None:
    """Add to `count` (L,) the weighted records of the units whose term lies inside the window."""
    weight, number = units
    low, high = window
    for e in range(len(own)):
        at = own[e]
        if low < weight[at] * total[at] < high:
            count[level[e]] += times[e] * weight[at] * number[at]


@kernel
def gain(own: Ints, units: Arrays, window: Window, total: Floats, after: Floats) -> float:
    """How much the clamped terms of the units of a pattern's entries gain, each unit once."""
    weight, number = units
    low, high = window
    value = 0.0
    for e in range(len(own)):
        at = own[e]
        if e == 0 or at != own[e - 1]:
            new = _clamped(weight[at] * after[at], low, high)
            value += number[at] * (new - _clamped(weight[at] * total[at], low, high))
    return value


@kernel
def accepted(rng: Generator, ratio: float, own: Ints, total: Floats, after: Floats) -> bool:
    """Whether a step of this log ratio is accepted; both sums (M,) are then those that stay."""
    taken = math.log1p(-rng.random()) < ratio
    for e in range(len(own)):
        at = own[e]
        if taken:
            total[at] = after[at]
        else:
            after[at] = total[at]
    return taken


@kernel
def move_rows(
    rng: Generator,
    shares: Floats,
    prior: float,
    entries: Data,
    units: Arrays,
    window: Window,
    total: Floats,
) -> int:
    """Move the log shares (P, L) of a column's patterns, each once; returns how many moved.

    `entries` are the first entry of each pattern (P + 1,), and each entry's unit, level and number
    of records, those of one unit side by side. `units` are the weights and numbers of units (M,).
    `total` (M,) has the units' sums over all columns, and follows each move.
    """
    start, unit_of, level_of, times_of = entries
    P, L = shares.shape
    count, count_after, proposed = np.empty(L), np.empty(L), np.empty(L)
    after = total.copy()
    moved = 0
    for p in range(P):
        own, level = unit_of[start[p] : start[p + 1]], level_of[start[p] : start[p + 1]]
        times = times_of[start[p] : start[p + 1]]
        for j in range(L):
            count[j] = count_after[j] = prior
        inside_counts(own, level, times, units, window, total, count)
        draw_shares(rng, count, L, proposed)
        for e in range(len(own)):
            after[own[e]] += times[e] * (proposed[level[e]] - shares[p, level[e]])
        inside_counts(own, level, times, units, window, after, count_after)
        ratio = log_dirichlet(shares[p], count_after, L) - log_dirichlet(proposed, count, L)
        for j in range(L):
            ratio += (prior - 1.0) * (proposed[j] - shares[p, j])
        ratio += gain(own, units, window, total, after)
        if accepted(rng, ratio, own, total, after):
            for j in range(L):
                shares[p, j] = proposed[j]
            moved += 1
    return moved


@kernel
def _log_beta_density(log_share: float, log_rest: float, count: float, rest: float) -> float:
    constant = math.lgamma(count + rest) - math.lgamma(count) - math.lgamma(rest)
    return (count - 1.0) * log_share + (rest - 1.0) * log_rest + constant


@kernel
def _log_parts(log_share: float, log_rest: float, prior: float, whole: float, rest: float) -> float:
    """The log density of a share, as `move_cells` proposes it with a part of the cell's records."""
    largest, total = -math.inf, 0.0
    for part in range(_PARTS + 1):
        count = prior + whole * part / _PARTS
        value = _log_beta_density(log_share, log_rest, count, rest)
        if value > largest:
            total = total * math.exp(largest - value) + 1.0
            largest = value
        else:
            total += math.exp(value - largest)
    return largest + math.log(total)


@kernel
def log_rest(log_share: Floats, level: int) -> float:
    """The log of the sum of all shares (L,) but the level's own."""
    largest, total = -math.inf, 0.0
    for j in range(len(log_share)):
        if j != level:
            largest = max(largest, log_share[j])
    for j in range(len(log_share)):
        if j != level:
            total += math.exp(log_share[j] - largest)
    return largest + math.log(total)


@kernel
def move_cells(
    rng: Generator,
    shares: Floats,
    prior: float,
    cells: Data,
    entries: Data,
    units: Arrays,
    window: Window,
    total: Floats,
) -> int:
    """Move single shares, against all other shares of their pattern; returns how many moved.

    `cells` are the pattern, the level and the weighted number of records of each cell. A cell whose
    records are all outside keeps a small share, which keeps them outside. So the proposal is from
    the posterior with none of the cell's records, with all, or with a part, each as likely.
    """
    pattern, place, whole = cells
    start, unit_of, level_of, times_of = entries
    L = shares.shape[1]
    both, two = np.empty(2), np.empty(2)
    count, count_after = np.empty(2), np.empty(2)
    after = total.copy()
    moved = 0
    for c in range(len(pattern)):
        p, level = pattern[c], place[c]
        before, others = shares[p, level], log_rest(shares[p], level)
        own, times = unit_of[start[p] : start[p + 1]], times_of[start[p] : start[p + 1]]
        is_other = np.empty(len(own), np.int64)
        for e in range(len(own)):
            is_other[e] = 0 if level_of[start[p] + e] == level else 1
        count[1] = count_after[1] = prior * (L - 1)
        inside_counts(own, is_other, times, units, window, total, count)
        two[0] = prior + whole[c] * int(rng.random() * (_PARTS + 1)) / _PARTS
        two[1] = count[1]
        draw_shares(rng, two, 2, both)
        for e in range(len(own)):
            change = both[1] - others if is_other[e] else both[0] - before
            after[own[e]] += times[e] * change
        inside_counts(own, is_other, times, units, window, after, count_after)
        ratio = (prior - 1.0) * (both[0] - before)
        ratio += (prior * (L - 1) - 1.0) * (both[1] - others)
        ratio += gain(own, units, window, total, after)
        ratio += _log_parts(before, others, prior, whole[c], count_after[1])
        ratio -= _log_parts(both[0], both[1], prior, whole[c], count[1])
        if accepted(rng, ratio, own, total, after):
            for j in range(L):
                shares[p, j] += both[1] - others
            shares[p, level] = both[0]
            moved += 1
    return moved


@kernel
def row_terms(rows: Data, z: Floats, own: Floats) -> None:
    """Fill `own` (M,) with each unit's sum of its records' log shares, from log shares z (P L,)."""
    start, unit_of, level_of, times_of = rows[1]
    L = len(z) // (len(start) - 1)
    for t in range(len(own)):
        own[t] = 0.0
    for p in range(len(start) - 1):
        for e in range(start[p], start[p + 1]):
            own[unit_of[e]] += times_of[e] * z[p * L + level_of[e]]


@kernel
def move_table(
    rng: Generator, rows: Data, units: Arrays, window: Window, z: Floats, total: Floats, own: Floats
) -> None:
    """Move a column's log shares z (P L,), and with them the units' sums over all columns and over
    this column alone, `total` and `own` (M,).

    `rows` are the prior's count, entries and cells of `TableRows`.
    """
    prior, entries, cells = rows
    P = len(entries[0]) - 1
    shares = z.reshape(P, len(z) // P)
    move_rows(rng, shares, prior, entries, units, window, total)
    move_cells(rng, shares, prior, cells, entries, units, window, total)
    row_terms(rows, z, own)


@dataclass(frozen=True, slots=True)
class TableRows:
    """A conditional table of a clamped target: which cells its M distinct units have."""

    column: Conditional
    prior: float
    entries: tuple[NDArray[Any], ...]
    rare: tuple[Places, Places, Floats]

    @classmethod
    def of(cls, column: Conditional, of_units: Entries, units: DistinctUnits) -> TableRows:
        """The column's rows, from the cells of the distinct units."""
        model = column.model
        assert isinstance(model, ConditionalTable)
        first, cell, times = of_units
        unit = np.repeat(np.arange(len(units.weight)), np.diff(first))
        used = units.weight[unit] > 0.0
        unit, cell, times = unit[used], cell[used], times[used]
        pattern, level = patterns_of(column.cells)[cell], level_places(column.cells)[cell]
        order = np.argsort(pattern, kind="stable")
        P = model.patterns or 0
        start = np.searchsorted(pattern[order], np.arange(P + 1))
        entries = start, unit[order], level[order], times[order]
        sums = times * units.weight[unit] * units.count[unit]
        counts = weighted_counts(pattern, level, sums, P, len(model.levels)).ravel()
        cells = np.flatnonzero((counts > 0.0) & (counts < _RARE))
        rare = *np.divmod(cells, len(model.levels)), counts[cells]
        return cls(column, model.prior_count, entries, rare)

    @property
    def n_levels(self) -> int:
        """L, the number of the outcome's levels."""
        assert isinstance(self.column.model, ConditionalTable)
        return len(self.column.model.levels)

    @property
    def pattern_of_entry(self) -> Places:
        """Each entry's pattern, counted from 0."""
        return np.repeat(np.arange(len(self.entries[0]) - 1), np.diff(self.entries[0]))

    @property
    def packed(self) -> tuple[Any, ...]:
        """What `move_table` reads of the rows."""
        return self.prior, self.entries, self.rare

    def first(self, weights: Floats, rng: Generator) -> Floats:
        """Log shares (P L,) of the posterior under the records' weights (N,), without a clamp."""
        column = self.column
        drawn = column.model.exact_draws(column.cells, column.own(weights), 1, rng)
        assert drawn is not None
        return drawn["log_theta"].ravel()


def rows_of(target: JointTarget) -> tuple[TableRows | None, ...]:
    """The rows of each column (K,) of a target, None for a column of another family."""
    units = target.distinct()
    return tuple(
        TableRows.of(column, cells, units) if isinstance(column.model, ConditionalTable) else None
        for column, cells in zip(target.columns, target.entries(units), strict=True)
    )


_NONE = np.zeros(0, np.intp)
_NO_ROWS: Final = (0.0, (_NONE, _NONE, _NONE, np.zeros(0)), (_NONE, _NONE, np.zeros(0)))


def with_rows(
    target: JointTarget, rows: Sequence[TableRows | None], groups: tuple[Any, ...], rng: Generator
) -> tuple[Any, ...]:
    """What a chain reads of the K columns' rows.

    These are the place (K,) of each column among those of other families, -1 for a table; a point
    (D,) at which tables start, each at a draw of its posterior without a clamp; and, for the moves,
    each column's rows, the units' weights and numbers, the window, and the `groups` of `groups_of`.
    The last four are None without a table.
    """
    of_others = np.array([own is None for own in rows])
    first = np.zeros(target.dimension)
    for own, block in zip(rows, target.blocks(), strict=True):
        if own is not None:
            first[block] = own.first(target.record_weights, rng)
    place = np.where(of_others, np.cumsum(of_others) - 1, -1)
    if of_others.all():
        return place, first, None
    units = target.distinct()
    packed = List([_NO_ROWS if own is None else own.packed for own in rows])
    return place, first, (packed, (units.weight, units.count), units.window, groups)
