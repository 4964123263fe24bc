"""Records to begin with: drawn along a tree of the noisy tables of pairs.

The tree joins the columns of most mutual information, as Chow and Liu do, by shares of the noisy
counts that stand out of the noise. Like the sampler after it, it reads the noisy counts alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.skips import Skip

_FLOOR = 1e-3  # Records in a cell that the noise hides.
_STANDS_OUT = 10.0  # Deviations of the noise of a count, for the records of a class.
_FEW = 5  # Classes that records begin in at least.


def first_records(
    noisy: Measurements, classes: int, rng: np.random.Generator
) -> tuple[Codes, NDArray[np.int64]]:
    """Records (n, K) that keep the rules, and a class of each (n,)."""
    table, n = noisy.table, noisy.records
    names, columns = [*table.columns], [*table.columns.values()]
    K = len(names)
    margins = [_shares(noisy, (name,)) for name in names]
    pairs, gains = {}, {}
    for j, k in combinations(range(K), 2):
        shares = _shares(noisy, (names[j], names[k]))
        if shares is not None:
            pairs[j, k], gains[j, k] = shares, _information(shares)
    x = np.zeros((n, K), dtype=np.int32)
    root = max(range(K), key=lambda k: sum(g for pair, g in gains.items() if k in pair))
    x[:, root] = rng.choice(len(margins[root]), n, p=margins[root])
    inside = {root}
    while len(inside) < K:
        joined = [(gain, pair) for pair, gain in gains.items() if len(inside & {*pair}) == 1]
        if joined:
            _, (j, k) = max(joined)
            shares = pairs[j, k]
            if j not in inside:
                j, k, shares = k, j, shares.T
            sums = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
            x[:, k] = (rng.random(n)[:, None] > sums[x[:, j], :-1]).sum(axis=1)
        else:
            k = min(set(range(K)) - inside)
            x[:, k] = rng.choice(len(margins[k]), n, p=margins[k])
        inside.add(k)
    by_name = table.by_name(x)
    for k, name in enumerate(names):
        if name in table.skips:
            skip = table.skips[name]
            forced = skip.of(by_name)
            own = margins[k].copy()
            own[list(skip.barred)] = 0.0
            redrawn = (forced < 0) & np.isin(x[:, k], skip.barred)
            x[redrawn, k] = rng.choice(len(own), int(redrawn.sum()), p=own / own.sum())
            x[:, k] = np.where(forced < 0, x[:, k], forced)
            _among_left(by_name, x[:, k], skip, own, rng)
        elif name in table.given and table.given[name].redrawn:
            rows = table.given[name].rows.cells(by_name)
            for row in np.unique(rows):
                own = margins[k] * (table.given[name].prior[row] > 0.0)
                at = rows == row
                x[at, k] = rng.choice(len(own), int(at.sum()), p=own / own.sum())
    kept = np.ones(n, dtype=np.bool_)
    for name, skip in table.skips.items():
        kept &= skip.keeps(by_name, by_name[name])
    if not kept.all():
        if not kept.any():
            raise InputError.by("counts-rules-leave-none")
        x[~kept] = x[rng.choice(np.flatnonzero(kept), n - int(kept.sum()))]
    size, begun = columns[root].size, _first_classes(noisy, classes)
    return x, (x[:, root].astype(np.int64) * begun // size) % begun


def _among_left(
    codes: Mapping[str, Codes], x: Codes, skip: Skip, shares: Floats, rng: np.random.Generator
) -> None:
    """Give records with a barred code among x (n,) of a column one that their case leaves."""
    if skip.left is None:
        return
    case = skip.rows.cells(codes)
    barred = ~skip.left[case, x] & (skip.forced[case] < 0)
    for one in np.unique(case[barred]):
        own = np.where(skip.left[one], shares, 0.0)
        at = barred & (case == one)
        if own.sum() > 0.0:
            x[at] = rng.choice(len(own), int(at.sum()), p=own / own.sum())


def _first_classes(noisy: Measurements, classes: int) -> int:
    """How many classes have records at first: as many as stand out of the noise.

    A chain empties classes that the counts do not ask for more slowly than it fills new ones.
    """
    apart = noisy.records / (_STANDS_OUT * float(noisy.deviations.mean()))
    return min(classes, max(_FEW, round(apart)))


def _shares(noisy: Measurements, wanted: tuple[str, ...]) -> Any:
    """Shares of the codes of some columns, of the counts that stand out; None without a set."""
    found = noisy.summed(wanted)
    if found is None:
        return None
    counts, variance = found
    shares = np.where(counts > 1.5 * math.sqrt(variance), counts, 0.0) + _FLOOR
    return shares / shares.sum()


def _information(shares: Floats) -> float:
    """The mutual information of two columns, in nats, by their joint shares."""
    alone = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    return float((shares * np.log(shares / alone)).sum())
