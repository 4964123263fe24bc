"""Steps of NUTS over a target whose blocks of parameters move in turn, and their adaptation.

A step doubles a trajectory until it turns back, and draws one of its points in proportion to their
densities [hoffman2014], with the weights and the test of turning of [betancourt2017]. In the
warm-up the step size follows the wanted acceptance by dual averaging, and the variances of the
parameters are the ratio sqrt(var(z) / var(slope)), which is the exact variance where a density is
normal. Each step renews them, from the window that runs and the one before, and windows grow.

All of it is compiled. A density is a C function of one type, whatever its family, so the sampler is
compiled once (`pyvws.engines.compiled_target`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.random import Generator

from pyvws._base.checks import Bools, Data, Floats, Ints
from pyvws._base.kernels import inlined_kernel, kernel
from pyvws.engines.table_groups import move_groups
from pyvws.engines.table_rows import move_table, row_terms

STOP, DONE, DIVERGED, LEAPFROGS, WARM = range(5)
"""The places of a chain's counts (5,): ask it to stop; iterations, those that diverged, slopes, and
slopes of the warm-up.
"""

STATES: Final = 7
"""Numbers that a block's adaptation keeps."""

_SIZE, _MIDDLE, _ERROR, _AVERAGE, _STEPS, _SEEN = range(6)
_DEEPEST = 10  # Doublings of a trajectory at most.
_LOST = 1000.0  # Nats of energy that an error of a trajectory may take.
_KEPT: Final = 0.1  # Share of what moves of groups learned before a window's end.
_NARROWEST, _WIDEST = 1e-8, 1e4


@inlined_kernel
def _height(
    density: Callable[..., int], words: Ints, z: Floats, gradient: Floats, value: Floats
) -> float:
    """The log density at z (D,), -inf where it or a slope is not finite; fills gradient (D,)."""
    ended = density(np.uint64(len(z)), z.ctypes, gradient.ctypes, value.ctypes, words.ctypes)
    return value[0] if ended == 0 else -np.inf


@inlined_kernel
def _copy(source: Floats, target: Floats) -> None:
    for i in range(len(target)):
        target[i] = source[i]


@inlined_kernel
def _log_sum(a: float, b: float) -> float:
    top = max(a, b)
    return top + math.log(math.exp(a - top) + math.exp(b - top))


@inlined_kernel
def _back(first: Floats, last: Floats, total: Floats, more: Floats, variances: Floats) -> bool:
    """Whether either end of a part with momenta's sum total + more (D,) points back along it."""
    start = end = 0.0
    for i in range(len(first)):
        way = variances[i] * (total[i] + more[i])
        start += first[i] * way
        end += last[i] * way
    return not (start > 0.0 and end > 0.0)


@kernel
def _turned(
    first: Floats,
    last: Floats,
    total: Floats,
    next_first: Floats,
    next_last: Floats,
    next_total: Floats,
    scale: Floats,
) -> bool:
    """Whether adjacent parts of a trajectory, or one and the other's next point, turn back."""
    return (
        _back(first, next_last, total, next_total, scale)
        or _back(first, next_first, total, next_first, scale)
        or _back(last, next_last, next_total, last, scale)
    )


class Step(NamedTuple):
    """The log density after a step, the mean acceptance, and whether its trajectory broke off."""

    value: float
    acceptance: float
    diverged: bool


@kernel
def nuts_step(
    density: Callable[..., int],
    words: Ints,
    rng: Generator,
    z: Floats,
    value: float,
    gradient: Floats,
    noted: Floats,
    seen: Floats,
    variances: Floats,
    size: float,
    both_ways: bool,
    counts: Ints,
) -> Step:
    """Move z (D,) with its gradient (D,) and what the density has `noted` there (M,), in place.

    The density notes what it finds at a point in `seen` (M,). `variances` (D,) scale the steps,
    and `size` is in their unit. Taken `both_ways`, a gain of energy counts against acceptance like
    a loss.
    """
    D = len(z)
    ends, momenta, slopes = np.empty((2, D)), np.empty((2, D)), np.empty((2, D))
    at, p, g, height = np.empty(D), np.empty(D), np.empty(D), np.empty(1)
    first, last = np.empty((_DEEPEST, D)), np.empty((_DEEPEST, D))
    totals = np.empty((_DEEPEST, D))
    levels = np.empty(_DEEPEST, np.int64)
    total, drawn, drawn_slope = np.empty(D), np.empty(D), np.empty(D)
    drawn_noted = np.empty(len(noted))
    energy = value
    for i in range(D):
        p[i] = rng.standard_normal() / math.sqrt(variances[i])
        energy -= 0.5 * variances[i] * p[i] * p[i]
        total[i] = p[i]
        for side in range(2):
            ends[side, i], momenta[side, i], slopes[side, i] = z[i], p[i], gradient[i]
    log_weight, accepted, leapfrogs, diverged, drawn_value = 0.0, 0.0, 0, False, value
    for depth in range(_DEEPEST):
        side = 1 if rng.random() < 0.5 else 0
        step = size if side == 1 else -size
        _copy(ends[side], at)
        _copy(momenta[side], p)
        _copy(slopes[side], g)
        grown, top, stopped = -np.inf, 0, False
        for _ in range(1 << depth):
            for i in range(D):
                p[i] += 0.5 * step * g[i]
                at[i] += step * variances[i] * p[i]
            now = _height(density, words, at, g, height)
            leapfrogs += 1
            gain = now - energy
            for i in range(D):
                p[i] += 0.5 * step * g[i]
                gain -= 0.5 * variances[i] * p[i] * p[i]
            if counts[STOP] != 0 or not gain > -_LOST:
                diverged = stopped = True
                break
            likely = math.exp(min(0.0, gain))
            if both_ways:
                likely *= 2.0 / (1.0 + math.exp(min(gain, _LOST / 2)))
            accepted += likely
            grown = _log_sum(grown, gain)
            if math.log(rng.random()) < gain - grown:
                _copy(at, drawn)
                _copy(g, drawn_slope)
                _copy(seen, drawn_noted)
                drawn_value = now
            _copy(p, first[top])
            _copy(p, last[top])
            _copy(p, totals[top])
            levels[top] = 0
            top += 1
            while top > 1 and levels[top - 1] == levels[top - 2]:
                a, b = top - 2, top - 1
                if _turned(first[a], last[a], totals[a], first[b], last[b], totals[b], variances):
                    stopped = True
                    break
                _copy(last[b], last[a])
                for i in range(D):
                    totals[a, i] += totals[b, i]
                levels[a] += 1
                top -= 1
            if stopped:
                break
        if stopped:
            break
        if math.log(rng.random()) < grown - log_weight:
            _copy(drawn, z)
            _copy(drawn_slope, gradient)
            _copy(drawn_noted, noted)
            value = drawn_value
        log_weight = _log_sum(log_weight, grown)
        far, near = momenta[1 - side], momenta[side]
        turned = _turned(far, near, total, first[0], last[0], totals[0], variances)
        for i in range(D):
            total[i] += totals[0, i]
        _copy(at, ends[side])
        _copy(p, momenta[side])
        _copy(g, slopes[side])
        if turned:
            break
    counts[LEAPFROGS] += leapfrogs
    return Step(value, accepted / max(1, leapfrogs), diverged)


@kernel
def _average_from(state: Floats, size: float) -> None:
    """Begin to average step sizes anew at a size."""
    state[_SIZE], state[_MIDDLE] = size, math.log(2.0 * size)
    state[_STEPS], state[_ERROR], state[_AVERAGE] = 0.0, 0.0, math.log(size)


@kernel
def _see(z: Floats, slope: Floats, moments: Floats, seen: float) -> float:
    """Add a point and its slope (D,) to the means and sums of squares of `seen` before, (4, D)."""
    seen += 1.0
    for i in range(len(z)):
        gap = z[i] - moments[0, i]
        moments[0, i] += gap / seen
        moments[1, i] += gap * (z[i] - moments[0, i])
        gap = slope[i] - moments[2, i]
        moments[2, i] += gap / seen
        moments[3, i] += gap * (slope[i] - moments[2, i])
    return seen


@kernel
def _take_variances(moments: Floats, variances: Floats) -> None:
    """Set variances (D,) to sqrt(var(z) / var(slope)), 1 where neither moved."""
    for i in range(len(variances)):
        ratio = math.sqrt(moments[1, i] / moments[3, i])
        variances[i] = min(max(ratio, _NARROWEST), _WIDEST) if np.isfinite(ratio) else 1.0


@kernel
def _adapt(
    z: Floats,
    slope: Floats,
    acceptance: float,
    wanted: float,
    window_ends: bool,
    learns: bool,
    warm: bool,
    state: Floats,
    moments: Floats,
    variances: Floats,
) -> None:
    """Learn from a step of the warm-up; a `warm` chain keeps its size from here on."""
    state[_STEPS] += 1.0
    state[_ERROR] += (wanted - acceptance - state[_ERROR]) / (state[_STEPS] + 10.0)
    log_size = state[_MIDDLE] - 20.0 * math.sqrt(state[_STEPS]) * state[_ERROR]
    state[_AVERAGE] += state[_STEPS] ** -0.75 * (log_size - state[_AVERAGE])
    state[_SIZE] = math.exp(log_size)
    if learns:
        for which in range(2):
            state[_SEEN + which] = _see(z, slope, moments[which], state[_SEEN + which])
        if window_ends:
            for row in range(4):
                for i in range(len(z)):
                    moments[0, row, i], moments[1, row, i] = moments[1, row, i], 0.0
            state[_SEEN], state[_SEEN + 1] = state[_SEEN + 1], 0.0
        _take_variances(moments[0], variances)
    if warm:
        state[_SIZE] = math.exp(state[_AVERAGE])


@kernel
def _sum_others(terms: Floats, total: Floats, k: int, others: Floats) -> None:
    """Fill others (M,) with the sum of terms (K, M) but for block k's, from all blocks' total."""
    for t in range(len(others)):
        others[t] = total[t] - terms[k, t]
        if not np.isfinite(total[t]):  # A record that some block gives no chance.
            others[t] = 0.0
            for j in range(len(terms)):
                if j != k:
                    others[t] += terms[j, t]


class _Words(NamedTuple):
    """A block's words, and the last 2 M of them: the sum of the others' terms, and its own."""

    own: Ints
    others: Floats
    seen: Floats


@inlined_kernel
def _words_of(words: Ints, first_word: Ints, k: int, M: int) -> _Words:
    own = words[first_word[k] : first_word[k + 1]]
    last = own[len(own) - 2 * M :].view(np.float64)
    return _Words(own, last[:M], last[M:])


@kernel
def _at_first(
    density: Callable[..., int],
    words: Ints,
    points: Floats,
    z: Floats,
    slope: Floats,
    value: Floats,
) -> bool:
    """Fill z (D,) and its slope with the first of points (tries, D) that is finite and moves."""
    for t in range(len(points)):
        for i in range(len(z)):
            z[i] = points[t, i]
        if _height(density, words, z, slope, value) > -np.inf and np.abs(slope).max() > 0.0:
            return True
    return False


@kernel
def sample_chain(
    densities: Sequence[Callable[..., int]],
    restores: Sequence[Callable[..., int]],
    words: Ints,
    first_word: Ints,
    blocks: Ints,
    density_of: Ints,
    z: Floats,
    rows: Data | None,
    rng: Generator,
    starts: Floats,
    near: Floats,
    M: int,
    window_ends: Bools,
    learning: int,
    wanted: float,
    thin: int,
    drawn: Floats,
    counts: Ints,
) -> bool:
    """Run one chain: fill drawn (draws, D), and count in `counts`; whether it found a start.

    After the warm-up the last of each `thin` iterations is a draw.
    Each of K blocks has the C functions and the words of its `CompiledTarget`; its density reads
    the sum of the others' terms and notes its own in the last 2 M words. Block k has the places
    blocks[k] to blocks[k + 1] - 1 of the D parameters. Its functions are at `density_of[k]`, which
    is below 0 for a conditional table. That starts at z (D,) and moves by steps of its own, which
    read the `rows` of `with_rows`. Without a table they are None, and no such step is compiled.
    `window_ends` (warmup,) tells where a window of the variances ends; the variances stay from
    iteration `learning` on. A chain takes the first of the points `starts` (tries, D) that it can,
    and its first variances from those `near`.
    """
    K, D, warmup = len(density_of), blocks[-1], len(window_ends)
    variances, height = np.empty(D), np.empty(1)
    slope, moments, values = np.empty(D), np.zeros((2, 4, D)), np.empty(K)
    states, terms, total = np.zeros((K, STATES)), np.zeros((K, M)), np.zeros(M)
    if rows is not None:
        learned = np.zeros(rows[3][0][-1, 2]), np.zeros(len(rows[3][4]))
    for k in range(K):
        a, b, j = blocks[k], blocks[k + 1], density_of[k]
        if rows is not None and j < 0:
            row_terms(rows[0][k], z[a:b], terms[k])
            for t in range(M):
                total[t] += terms[k, t]
            continue
        own, others, seen = _words_of(words, first_word, j, M)
        if not _at_first(densities[j], own, starts[:, a:b], z[a:b], slope[a:b], height):
            return False
        values[k] = height[0]
        for t in range(M):
            terms[k, t] = seen[t]
            total[t] += seen[t]
    for k in range(K):
        a, b, j = blocks[k], blocks[k + 1], density_of[k]
        if j < 0:
            continue
        own, others, seen = _words_of(words, first_word, j, M)
        _sum_others(terms, total, k, others)
        point, its_slope = np.empty(b - a), np.empty(b - a)
        for t in range(len(near)):
            counts[LEAPFROGS] += 1
            if _at_first(densities[j], own, near[t : t + 1, a:b], point, its_slope, height):
                states[k, _SEEN] = _see(point, its_slope, moments[0, :, a:b], states[k, _SEEN])
        _take_variances(moments[0, :, a:b], variances[a:b])
        _average_from(states[k], 0.5 * (b - a) ** -0.25)
    for iteration in range(warmup + thin * len(drawn)):
        any_diverged = False
        for t in range(M):
            total[t] = 0.0
            for k in range(K):
                total[t] += terms[k, t]
        if rows is not None:
            warm = iteration < warmup
            if move_groups(rng, rows[3], rows[1], rows[2], z, total, learned, warm) > 0:
                for k in range(K):
                    if density_of[k] < 0:
                        row_terms(rows[0][k], z[blocks[k] : blocks[k + 1]], terms[k])
            if warm and window_ends[iteration]:  # Counts for less than what comes.
                learned[0][:] *= _KEPT
                learned[1][:] *= _KEPT
        for k in range(K):
            a, b, j = blocks[k], blocks[k + 1], density_of[k]
            if rows is not None and j < 0:
                move_table(rng, rows[0][k], rows[1], rows[2], z[a:b], total, terms[k])
                if counts[STOP] != 0:
                    return True
                if iteration >= warmup:
                    for i in range(a, b):
                        drawn[(iteration - warmup) // thin, i] = z[i]
                continue
            own, others, seen = _words_of(words, first_word, j, M)
            if K > 1:  # The other blocks have moved.
                _sum_others(terms, total, k, others)
                values[k] = _height(densities[j], own, z[a:b], slope[a:b], height)
                counts[LEAPFROGS] += 1
                for t in range(M):
                    terms[k, t] = seen[t]
            values[k], acceptance, diverged = nuts_step(
                densities[j],
                own,
                rng,
                z[a:b],
                values[k],
                slope[a:b],
                terms[k],
                seen,
                variances[a:b],
                states[k, _SIZE],
                2 * iteration >= warmup,  # A chain that still climbs only gains.
                counts,
            )
            if counts[STOP] != 0:
                return True
            any_diverged = any_diverged or diverged
            for t in range(M):
                total[t] = others[t] + terms[k, t]
            if iteration < warmup:
                _adapt(
                    z[a:b],
                    slope[a:b],
                    acceptance,
                    wanted,
                    window_ends[iteration],
                    iteration < learning,
                    iteration == warmup - 1,
                    states[k],
                    moments[:, :, a:b],
                    variances[a:b],
                )
            else:
                at = drawn[(iteration - warmup) // thin, a:b]
                restores[j](np.uint64(b - a), z[a:b].ctypes, at.ctypes, own.ctypes)
        if iteration >= warmup:
            counts[DIVERGED] += any_diverged
        elif iteration == warmup - 1:
            counts[WARM] = counts[LEAPFROGS]
        counts[DONE] = iteration + 1
    return True
