"""Conditional tables under one clamp: Metropolis steps of a level with all rows that are its own.

The units of a rare level can leave the window together. Nothing then holds the rows that only they
have, such as the shares of later columns given this level. So each row would have to come back
while the others are astray, and a chain stays outside, or inside, for thousands of iterations. A
step here proposes the level's share and all of these rows at once. `pyvws.engines.table_rows` moves
every row by itself too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.random import Generator

from pyvws._base.checks import Arrays, Data, Floats, Ints
from pyvws._base.kernels import kernel
from pyvws.engines.table_rows import (
    TableRows,
    Window,
    accepted,
    draw_shares,
    gain,
    inside_counts,
    log_dirichlet,
    log_rest,
)
from pyvws.posterior.joint_target import JointTarget

_LEAST: Final = 1.0  # Weighted records of a row that moves with a level.
_MOST: Final = 40.0  # Weighted records of a level: with more it does not leave as a whole.
_TRIES: Final = 3  # Proposals for each group in an iteration.
_PARTS: Final = 3  # Parts of the learned records in the proposals.


@kernel
def _take_part(prior: Floats, learned: Floats, part: int, count: Floats) -> None:
    """Fill `count` (W,) of a proposal; that of all other levels, at place 1, is always whole."""
    for w in range(len(count)):
        count[w] = prior[w] + learned[w] * (1.0 if w == 1 else part / _PARTS)


@kernel
def _log_proposal(
    log_share: Floats, prior: Floats, learned: Floats, ends: Ints, count: Floats
) -> float:
    """The log density of shares (W,), as `move_groups` proposes them, up to a constant."""
    value = -math.inf
    for part in range(_PARTS + 1):
        _take_part(prior, learned, part, count)
        own, a = 0.0, 0
        for b in ends:
            own += log_dirichlet(log_share[a:b], count[a:b], b - a)
            a = b
        value = np.logaddexp(value, own)
    return value


@kernel
def move_groups(
    rng: Generator,
    groups: Data,
    units: Arrays,
    window: Window,
    z: Floats,
    total: Floats,
    learned: tuple[Floats, Floats],
    learns: bool,
) -> int:
    """Move each group's level, against all others of its pattern, and its rows; returns how many
    moved.

    A proposal is from the posterior of no record, of the records that a warm-up finds inside, or of
    a part of these, each as likely. The warm-up, which `learns`, sums what is inside over the
    iterations, each weighted by what is inside of the level itself. z (D,) has the log shares of
    all columns, and `total` (M,) the units' sums, which follow. `groups` are those of `groups_of`.
    """
    firsts, own_entries, (unit, place, times), (of_rows, priors), levels = groups
    sums, seen = learned
    after = total.copy()
    moved = 0
    for g in range(len(levels)):
        a, b = firsts[g, 0], firsts[g + 1, 0]
        of_entry, at, number = unit[a:b], place[a:b], times[a:b]
        own, first = of_entry[: own_entries[g]], firsts[g, 1]
        R, W = firsts[g + 1, 1] - first, firsts[g + 1, 2] - firsts[g, 2]
        count, mean = np.zeros(W), sums[firsts[g, 2] : firsts[g + 1, 2]]
        if learns:
            inside_counts(of_entry, at, number, units, window, total, count)
            seen[g] += count[0]
            for w in range(W):
                mean[w] += count[0] * count[w]
        if seen[g] == 0.0:
            continue
        mean = mean / seen[g]
        prior, now, new = np.empty(W), np.empty(W), np.empty(W)
        ends = np.empty(R, np.int64)
        shares, level = z[of_rows[first, 0] : of_rows[first, 1]], levels[g]
        now[0], now[1] = shares[level], log_rest(shares, level)
        prior[0], prior[1] = priors[first], priors[first] * (len(shares) - 1)
        rest, ends[0], c = now[1], 2, 2
        for r in range(1, R):
            for i in range(of_rows[first + r, 0], of_rows[first + r, 1]):
                now[c], prior[c] = z[i], priors[first + r]
                c += 1
            ends[r] = c
        likely, steps = _log_proposal(now, prior, mean, ends, count), 0
        for _ in range(_TRIES):
            _take_part(prior, mean, int(rng.random() * (_PARTS + 1)), count)
            c = 0
            for d in ends:
                draw_shares(rng, count[c:d], d - c, new[c:d])
                c = d
            for e in range(b - a):
                after[of_entry[e]] += number[e] * (new[at[e]] - now[at[e]])
            as_likely = _log_proposal(new, prior, mean, ends, count)
            ratio = gain(own, units, window, total, after) + likely - as_likely
            for w in range(W):
                ratio += (prior[w] - 1.0) * (new[w] - now[w])
            if accepted(rng, ratio, own, total, after):
                now[:], likely = new, as_likely
                steps += 1
        if steps > 0:
            for j in range(len(shares)):
                shares[j] += now[1] - rest
            shares[level], c = now[0], 2
            for r in range(1, R):
                for i in range(of_rows[first + r, 0], of_rows[first + r, 1]):
                    z[i] = now[c]
                    c += 1
            moved += steps
    return moved


def groups_of(target: JointTarget, rows: Sequence[TableRows | None]) -> tuple[Any, ...]:
    """The G rare levels of a pattern that have rows of later columns to themselves, with these.

    The first row of a group has two shares, the level's and that of all others. Then come the rows
    of which each unit has the level. These are each group's first entry, row and share (G + 1, 3);
    its entries of the first row (G,); each entry's unit, share of the group and records; each row's
    place (R, 2) in the D parameters and its prior count (R,); and each group's level (G,).
    """
    units = target.distinct()
    sizes, has = units.weight * units.count, np.zeros(len(units.weight), bool)
    tables = [
        (own, own.pattern_of_entry, block.start)
        for own, block in zip(rows, target.blocks(), strict=True)
        if own is not None
    ]
    entries = [(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0))]
    firsts, own_entries = [(0, 0, 0)], []
    of_rows: list[tuple[int, int]] = []
    priors, levels = [], []
    for k, (own, _, begin) in enumerate(tables):
        start, unit, level, times = own.entries
        for p, of_level, whole in zip(*own.rare, strict=True):
            part = slice(start[p], start[p + 1])
            other = (level[part] != of_level).astype(np.intp)
            has[:] = False
            has[unit[part][other == 0]] = True
            its_rows, its_entries, its_priors = [], [], []
            W = 2
            for later, pattern, at in tables[k + 1 :]:
                first, its_unit, its_level, its_times = later.entries
                P, L = len(first) - 1, later.n_levels
                records = np.bincount(pattern, its_times * sizes[its_unit], P)
                beside = np.bincount(pattern, ~has[its_unit], P)
                for q in np.flatnonzero((records >= _LEAST) & (beside == 0)):
                    piece = slice(first[q], first[q + 1])
                    its_entries.append((its_unit[piece], its_level[piece] + W, its_times[piece]))
                    its_rows.append((at + q * L, at + (q + 1) * L))
                    its_priors.append(later.prior)
                    W += L
            if its_rows and whole < _MOST:
                entries += [(unit[part], other, times[part]), *its_entries]
                at = begin + p * own.n_levels
                of_rows += [(at, at + own.n_levels), *its_rows]
                priors += [own.prior, *its_priors]
                own_entries.append(len(other))
                levels.append(of_level)
                length = sum(len(piece[0]) for piece in its_entries) + len(other)
                firsts.append((firsts[-1][0] + length, len(of_rows), firsts[-1][2] + W))
    of_entries = tuple(np.concatenate(pieces) for pieces in zip(*entries, strict=True))
    places = np.array(of_rows, np.intp).reshape(-1, 2), np.array(priors, np.float64)
    of_groups = np.array(own_entries, np.intp), of_entries, places, np.array(levels, np.intp)
    return np.array(firsts, np.intp), *of_groups
