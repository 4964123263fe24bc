"""Conditional tables under one clamp: Metropolis steps of a level with all rows that are its own.

The units of a rare level may leave the window together. Nothing then holds the rows that only they
have, such as the shares of all columns given this level, so they do not come back row by row: each
row would have to return while the others are astray. A step here proposes the level's share and all
these rows at once. `pyvws.engines.table_rows` moves every row by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array

from pyvws._base.checks import Arrays, Data, Floats, Ints
from pyvws._base.kernels import kernel
from pyvws.engines.table_rows import TableRows, accepted, draw_shares, gain, log_dirichlet, log_rest

_LEAST: Final = 1.0  # Weighted records of a row that moves with a level.
_MOST: Final = 40.0  # Weighted records of a level: one of more does not leave as a whole.
_TRIES: Final = 3  # Proposals for each group in an iteration.
_PARTS: Final = 3  # Parts of the learned counts in the proposals.


@kernel
def _add_inside(
    entries: Data, units: Arrays, window: tuple[float, float], total: Floats, count: Floats
) -> None:
    """Add to `count` (W,) the weighted records of the units whose term lies inside the window."""
    unit, place, times = entries
    weight, number = units
    low, high = window
    for e in range(len(unit)):
        at = unit[e]
        if low < weight[at] * total[at] < high:
            count[place[e]] += times[e] * weight[at] * number[at]


@kernel
def _log_proposal(
    log_share: Floats, prior: Floats, learned: Floats, ends: Ints, count: Floats
) -> float:
    """The log density of shares (W,), as `move_groups` proposes them, up to a constant."""
    largest, total = -math.inf, 0.0
    for part in range(_PARTS + 1):
        _take_part(prior, learned, part, count)
        value, a = 0.0, 0
        for b in ends:
            value += log_dirichlet(log_share[a:b], count[a:b], b - a)
            a = b
        if value > largest:
            total = total * math.exp(largest - value) + 1.0
            largest = value
        else:
            total += math.exp(value - largest)
    return largest + math.log(total)


@kernel
def _take_part(prior: Floats, learned: Floats, part: int, count: Floats) -> None:
    """Fill `count` (W,) of a proposal; that of all other levels, at place 1, is always whole."""
    for w in range(len(count)):
        count[w] = prior[w] + learned[w] * (1.0 if w == 1 else part / _PARTS)


@kernel
def move_groups(
    rng: Generator,
    groups: Data,
    units: Arrays,
    window: tuple[float, float],
    z: Floats,
    total: Floats,
    sums: Floats,
    seen: Floats,
    learns: bool,
) -> int:
    """Move each group's level, against all others of its pattern, and its rows; returns how many
    moved.

    A proposal is from the posterior of no record, of the records that were inside in the warm-up on
    average, or of a part of these, each as likely. 
    """
    first_entry, own_entries, all_entries, first_row, of_rows, priors, levels, first_place = groups
    unit, place, times = all_entries
    after = total.copy()
    moved = 0
    for g in range(len(levels)):
        a, b = first_entry[g], first_entry[g + 1]
        entries = unit[a:b], place[a:b], times[a:b]
        own = unit[a : a + own_entries[g]]
        rows, prior_of = of_rows[first_row[g] : first_row[g + 1]], priors[first_row[g] :]
        W = first_place[g + 1] - first_place[g]
        ends = np.empty(len(rows), np.int64)
        prior, now, new = np.empty(W), np.empty(W), np.empty(W)
        count, learned = np.zeros(W), sums[first_place[g] : first_place[g + 1]].copy()
        if learns:
            _add_inside(entries, units, window, total, count)
            seen[g] += count[0]
            for w in range(W):
                learned[w] += count[0] * count[w]
                sums[first_place[g] + w] = learned[w]
        if seen[g] == 0.0:
            continue
        for w in range(W):
            learned[w] /= seen[g]
        whole = z[rows[0, 0] : rows[0, 0] + rows[0, 1]]
        now[0], now[1] = whole[levels[g]], log_rest(whole, levels[g])
        prior[0], prior[1] = prior_of[0], prior_of[0] * (len(whole) - 1)
        ends[0] = 2
        for r in range(1, len(rows)):
            c = ends[r - 1]
            ends[r] = c + rows[r, 1]
            for j in range(rows[r, 1]):
                now[c + j] = z[rows[r, 0] + j]
                prior[c + j] = prior_of[r]
        likely = _log_proposal(now, prior, learned, ends, count)
        rest, steps = now[1], 0
        for _ in range(_TRIES):
            _take_part(prior, learned, int(rng.random() * (_PARTS + 1)), count)
            c = 0
            for d in ends:
                draw_shares(rng, count[c:d], d - c, new[c:d])
                c = d
            for e in range(b - a):
                after[entries[0][e]] += entries[2][e] * (new[entries[1][e]] - now[entries[1][e]])
            its_likely = _log_proposal(new, prior, learned, ends, count)
            ratio = gain(own, units, window, total, after) + likely - its_likely
            for w in range(W):
                ratio += (prior[w] - 1.0) * (new[w] - now[w])
            if accepted(rng, ratio, own, total, after):
                now[:], likely = new, its_likely
                steps += 1
        if steps > 0:
            for j in range(len(whole)):
                whole[j] += now[1] - rest
            whole[levels[g]] = now[0]
            for r in range(1, len(rows)):
                for j in range(rows[r, 1]):
                    z[rows[r, 0] + j] = now[ends[r - 1] + j]
            moved += steps
    return moved


def groups_of(
    rows: Sequence[TableRows | None], blocks: Sequence[slice], units: tuple[Floats, Floats]
) -> tuple[Any, ...]:
    """What `move_groups` reads: each rare level of a column with the rows of later columns that
    only its units have.
    """
    entries: list[tuple[Any, ...]] = []
    own_entries, of_rows, priors, levels = [], [], [], []
    first_entry, first_row, first_place = [0], [0], [0]
    sizes = units[0] * units[1]
    tables = [(own, block.start) for own, block in zip(rows, blocks, strict=True) if own]
    M = len(sizes)
    for k, (own, at) in enumerate(tables):
        start, unit, level, times = own.entries
        P, L = len(start) - 1, own.n_levels
        pattern = np.repeat(np.arange(P), np.diff(start))
        cells = csr_array((np.ones(len(unit)), (unit, pattern * L + level)), (M, P * L))
        cells.data[:] = 1.0
        rare = np.asarray(own.rare[0] * L + own.rare[1])
        members: list[list[tuple[int, int]]] = [[] for _ in rare]
        for j in range(k + 1, len(tables)):
            other = tables[j][0]
            begin, its_unit = other.entries[0], other.entries[1]
            its = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
            has = csr_array((np.ones(len(its)), (its_unit, its)), (M, len(begin) - 1))
            has.data[:] = 1.0
            weight = sizes @ has
            within = (cells[:, rare].T @ has).tocoo()
            n = has.sum(axis=0)
            for c, p, both in zip(*within.coords, within.data, strict=True):
                if both == n[p] and weight[p] >= _LEAST:
                    members[c].append((j, int(p)))
        for c, mine in enumerate(members):
            if not mine or own.rare[2][c] >= _MOST:
                continue
            p, its_level = int(own.rare[0][c]), int(own.rare[1][c])
            part = slice(start[p], start[p + 1])
            entries.append((unit[part], (level[part] != its_level).astype(np.intp), times[part]))
            own_entries.append(part.stop - part.start)
            of_rows.append((at + p * L, L))
            priors.append(own.prior)
            place = 2
            for j, q in mine:
                other, its_at = tables[j]
                s, u, l, t = other.entries
                piece = slice(s[q], s[q + 1])
                entries.append((u[piece], l[piece] + place, t[piece]))
                of_rows.append((its_at + q * other.n_levels, other.n_levels))
                priors.append(other.prior)
                place += other.n_levels
            levels.append(its_level)
            first_place.append(first_place[-1] + place)
            first_row.append(len(of_rows))
            first_entry.append(sum(len(e[0]) for e in entries))
    flat = tuple(
        np.concatenate([e[i] for e in entries]) if entries else np.zeros(0, (np.intp, np.intp, float)[i])
        for i in range(3)
    )
    ints = [np.array(v, np.intp) for v in (first_entry, own_entries, first_row, levels, first_place)]
    return (
        ints[0], ints[1], flat, ints[2], np.array(of_rows, np.intp).reshape(-1, 2),
        np.array(priors, float), ints[3], ints[4],
    )
