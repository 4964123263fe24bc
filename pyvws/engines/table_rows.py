"""Conditional tables under one clamp: Metropolis steps, one pattern's shares at a time.

Given which records lie inside the window, the shares of a pattern have a Dirichlet posterior: the
prior's counts and the weighted counts of the records inside. Each step proposes the shares of one
pattern from it, all else given, and is accepted by the clamped target and both proposals'
densities. So each step keeps the target of `pyvws.posterior.joint_target` as it is. Few records
cross an end of the window at once, so nearly all steps are accepted, and draws are nearly
independent.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.cores import share_out
from pyvws._base.kernels import kernel
from pyvws.engines.engine import Progress
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.models.conditional_table import ConditionalTable, patterns_of, weighted_counts
from pyvws.models.model import level_places
from pyvws.models.sequence import Conditional, joint_draws
from pyvws.posterior.diagnostics import diagnose, together
from pyvws.posterior.draws import Posterior
from pyvws.posterior.joint_target import DistinctRecords, JointTarget

_RARE = 80.0  # Weighted records of a cell up to which its share moves by itself too.
_PARTS = 3  # Parts of such a cell's records in the proposals.
_AT_ONCE = 5  # Iterations between two looks at progress and interrupts.


@kernel
def _clamped(term: float, low: float, high: float) -> float:
    """A term within its window; one that is not a number is at the lower end."""
    if low < term < high:
        return term
    return high if term >= high else low


@kernel
def _log_dirichlet(log_share: Any, count: Any, L: int) -> float:
    """The log density of shares (L,) in a Dirichlet distribution of counts (L,)."""
    value, total = 0.0, 0.0
    for level in range(L):
        value += (count[level] - 1.0) * log_share[level] - math.lgamma(count[level])
        total += count[level]
    return value + math.lgamma(total)


@kernel
def _draw_shares(rng: Any, count: Any, L: int, log_share: Any) -> None:
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
def _inside_counts(
    place: Any, level: Any, records: Any, term: Any, low: float, high: float, count: Any
) -> None:
    """Add to `count` (L,) the weighted records whose term lies inside the window."""
    weight, number = records
    for e in range(len(place)):
        at = place[e]
        if low < weight[at] * term[at] < high:
            count[level[e]] += weight[at] * number[at]


@kernel
def move_rows(
    rng: Any, shares: Any, prior: float, entries: Any, records: Any, window: Any, total: Any
) -> int:
    """Move the log shares (P, L) of a column's patterns, each once; returns how many moved.

    `entries` are the first entry of each pattern (P + 1,), and each entry's record and level, those
    of one record side by side. `records` are the weights and numbers of records (M,). `total` (M,)
    has the records' sums over all columns, and follows each move.
    """
    start, record, level_of = entries
    weight, number = records
    low, high = window
    P, L = shares.shape
    count, count_after, proposed = np.empty(L), np.empty(L), np.empty(L)
    after = total.copy()
    moved = 0
    for p in range(P):
        own = record[start[p] : start[p + 1]]
        level = level_of[start[p] : start[p + 1]]
        count[:] = prior
        count_after[:] = prior
        _inside_counts(own, level, records, total, low, high, count)
        _draw_shares(rng, count, L, proposed)
        for e in range(len(own)):
            after[own[e]] += proposed[level[e]] - shares[p, level[e]]
        _inside_counts(own, level, records, after, low, high, count_after)
        ratio = _log_dirichlet(shares[p], count_after, L) - _log_dirichlet(proposed, count, L)
        for j in range(L):
            ratio += (prior - 1.0) * (proposed[j] - shares[p, j])
        for e in range(len(own)):
            at = own[e]
            if e == 0 or at != own[e - 1]:
                new = _clamped(weight[at] * after[at], low, high)
                ratio += number[at] * (new - _clamped(weight[at] * total[at], low, high))
        accepted = math.log1p(-rng.random()) < ratio
        for e in range(len(own)):
            if accepted:
                total[own[e]] = after[own[e]]
            else:
                after[own[e]] = total[own[e]]
        if accepted:
            shares[p] = proposed
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
def move_cells(
    rng: Any,
    shares: Any,
    prior: float,
    cells: Any,
    entries: Any,
    records: Any,
    window: Any,
    total: Any,
) -> int:
    """Move single shares, against all other shares of their pattern; returns how many moved.

    `cells` are the pattern, the level and the weighted number of records of each cell. A cell whose
    records are all outside keeps a small share, which keeps them outside. So the proposal is from
    the posterior with none of the cell's records, with all, or with a part, each as likely.
    """
    pattern, place, whole = cells
    start, record, level_of = entries
    weight, number = records
    low, high = window
    L = shares.shape[1]
    both, two = np.empty(2), np.empty(2)
    after = total.copy()
    moved = 0
    for c in range(len(pattern)):
        p, level = pattern[c], place[c]
        before, others = shares[p, level], -math.inf
        for j in range(L):
            if j != level:
                others = max(others, shares[p, j])
        rest = 0.0
        for j in range(L):
            if j != level:
                rest += math.exp(shares[p, j] - others)
        log_rest = others + math.log(rest)
        own, at_level = record[start[p] : start[p + 1]], level_of[start[p] : start[p + 1]]
        counted = prior * (L - 1)
        for e in range(len(own)):
            at = own[e]
            if at_level[e] != level and low < weight[at] * total[at] < high:
                counted += weight[at] * number[at]
        two[0] = prior + whole[c] * int(rng.random() * (_PARTS + 1)) / _PARTS
        two[1] = counted
        _draw_shares(rng, two, 2, both)
        for e in range(len(own)):
            change = both[0] - before if at_level[e] == level else both[1] - log_rest
            after[own[e]] += change
        counted_after = prior * (L - 1)
        ratio = (prior - 1.0) * (both[0] - before)
        ratio += (prior * (L - 1) - 1.0) * (both[1] - log_rest)
        for e in range(len(own)):
            at = own[e]
            new = weight[at] * after[at]
            if at_level[e] != level and low < new < high:
                counted_after += weight[at] * number[at]
            if e == 0 or at != own[e - 1]:
                old = _clamped(weight[at] * total[at], low, high)
                ratio += number[at] * (_clamped(new, low, high) - old)
        ratio += _log_parts(before, log_rest, prior, whole[c], counted_after)
        ratio -= _log_parts(both[0], both[1], prior, whole[c], counted)
        accepted = math.log1p(-rng.random()) < ratio
        for e in range(len(own)):
            if accepted:
                total[own[e]] = after[own[e]]
            else:
                after[own[e]] = total[own[e]]
        if accepted:
            for j in range(L):
                shares[p, j] += both[1] - log_rest
            shares[p, level] = both[0]
            moved += 1
    return moved


@dataclass(frozen=True, slots=True)
class TableRows:
    """A conditional table of a clamped target: which of its M distinct records have which cell."""

    column: Conditional
    cell: NDArray[np.intp]
    entries: tuple[NDArray[np.intp], ...]
    rare: tuple[NDArray[np.intp], NDArray[np.intp], Floats]
    records: tuple[Floats, Floats]
    window: tuple[float, float]

    @classmethod
    def of(cls, column: Conditional, cell: NDArray[np.intp], records: DistinctRecords) -> TableRows:
        """The column's rows, from its cell of each distinct record (M,), -1 for none."""
        has = np.flatnonzero((cell >= 0) & (records.weight > 0.0))
        pattern, level = patterns_of(column.cells)[cell[has]], level_places(column.cells)[cell[has]]
        order = np.argsort(pattern, kind="stable")
        P = cast(ConditionalTable, column.model).patterns or 0
        start = np.searchsorted(pattern[order], np.arange(P + 1))
        entries = start, has[order], level[order]
        model, both = cast(ConditionalTable, column.model), (records.weight, records.count)
        sums = records.weight[has] * records.count[has]
        counts = weighted_counts(pattern, level, sums, P, len(model.levels))
        rows, levels = np.nonzero((counts > 0.0) & (counts < _RARE))
        rare = rows, levels, counts[rows, levels]
        return cls(column, cell, entries, rare, both, records.window)

    def terms(self, shares: Floats) -> Floats:
        """The log share of each distinct record's level (M,), 0 without one."""
        by_cell = self.column.model.log_likelihood({"log_theta": shares[None]}, self.column.cells)
        found = np.zeros(len(self.cell))
        has = self.cell >= 0
        found[has] = by_cell[0][self.cell[has]]
        return found

    def first(self, weights: Floats, rng: np.random.Generator) -> Floats:
        """Log shares (P, L) of the posterior under the records' weights (N,), without a clamp."""
        column = self.column
        drawn = column.model.exact_draws(column.cells, column.own(weights), 1, rng)
        return cast(Any, drawn)["log_theta"][0]

    def move(self, shares: Floats, total: Floats, rng: np.random.Generator) -> None:
        """Move each pattern's log shares (P, L), and the records' sums `total` (M,) with them."""
        prior = cast(ConditionalTable, self.column.model).prior_count
        given = self.entries, self.records, self.window, total
        move_rows(rng, shares, prior, *given)
        move_cells(rng, shares, prior, self.rare, *given)


def sample_rows(
    target: JointTarget, settings: SamplerSettings, *, seed: int, progress: Progress | None = None
) -> Posterior:
    """S = chains x draws of the clamped target of conditional tables alone.

    As `sample_joint`; a chain starts at a draw of the posterior without the clamp. Diagnostics are
    of the log shares that some record has.
    """
    began = time.perf_counter()
    chains = [
        _Chain(target, settings, np.random.default_rng(stream))
        for stream in np.random.SeedSequence(seed).spawn(settings.chains)
    ]
    each = settings.warmup + settings.draws
    for done in range(0, each, _AT_ONCE):
        count = min(_AT_ONCE, each - done)
        share_out(partial(_Chain.advance, iterations=count), chains)
        if progress is not None:
            progress((done + count) * settings.chains, each * settings.chains)
    fits, diagnostics = {}, []
    for k, column in enumerate(target.columns):
        drawn = np.stack([chain.drawn[k] for chain in chains])
        fits[column.column] = {"log_theta": drawn.reshape(-1, *drawn.shape[2:])}
        cells = column.cells
        compared = drawn[:, :, patterns_of(cells), level_places(cells)]
        diagnostics.append(diagnose(compared if cells.n_cells else drawn[:, :, 0], 0))
    return Posterior(
        draws=joint_draws(fits),
        chains=settings.chains,
        diagnostics=together(diagnostics, list(fits)),
        seconds=time.perf_counter() - began,
        engine="native",
    )


class _Chain:
    """One chain: the log shares (P, L) of each column, and its draws (draws, P, L) so far."""

    def __init__(
        self, target: JointTarget, settings: SamplerSettings, rng: np.random.Generator
    ) -> None:
        self._rng, self._settings, self._done = rng, settings, 0
        records, N = target.distinct(), len(target.weights)
        self._rows = [
            TableRows.of(column, column.places(N)[records.first], records)
            for column in target.columns
        ]
        self._shares = [rows.first(target.weights, rng) for rows in self._rows]
        self.drawn = [np.empty((settings.draws, *shares.shape)) for shares in self._shares]

    def advance(self, iterations: int) -> None:
        """Make some iterations, of the warm-up first."""
        for _ in range(iterations):
            pairs = list(zip(self._rows, self._shares, strict=True))
            total = np.sum([rows.terms(shares) for rows, shares in pairs], axis=0)
            for rows, shares in pairs:
                rows.move(shares, total, self._rng)
            at = self._done - self._settings.warmup
            self._done += 1
            if at >= 0:
                for drawn, shares in zip(self.drawn, self._shares, strict=True):
                    drawn[at] = shares
