"""Cases of noisy counts: what is counted, the delta of noise, and the posterior of few records.

The posterior is compared with a sum over all tables of the records: under Laplace noise, and under
Gaussian noise with a rule. So are those of columns which their own families give.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts.classes import impute
from pyvws.mechanisms.counts.fitted_classes import Logits, PenalisedCounts
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.workload import workload
from pyvws.privacy.discrete_noise import composed_delta
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._draws import Draws

_SWEEPS: Final = 4_000
_OF_LEVELS: Final = 600
_OF_NUMBERS: Final = 400
_SCALES: Final = np.array([2.0, 3.0])
_FIRST: Final = Column(model="logistic", levels=("0", "1"))
_NUMBERS: Final = {
    "normal": Column(model="normal", range=(-9, 9), cuts=(-1, 1)),
    "poisson": Column(model="poisson", range=(0, 9), cuts=(1, 3)),
}
_RULED: Final = Column(
    model="nominal", levels=("1", "2"), missing="N", rule="N only where a == '0'"
)


def pair_counts(first: Floats, second: Floats, third: Floats, sizes: Floats) -> Floats:
    """The counts of all pairs of three columns of codes (N,), one pair behind the other."""
    columns = {
        f"c{k}": Column(model="nominal", levels=tuple(map(str, range(int(size)))))
        for k, size in enumerate(sizes)
    }
    table = workload(Schema(columns), ("pairs",))
    codes = np.column_stack([first, second, third]).astype(np.int32)
    return np.asarray(table.counts(codes), dtype=np.float64)


def two_counts_delta(u: float, multiples: Floats, epsilon: float) -> float:
    """delta at epsilon in whole steps of 2^-40: a transform adds 1e-13 for its own rounding."""
    exact = composed_delta(u, [int(w) for w in multiples], epsilon) - 1e-13
    return float(np.round(exact * 2.0**40) / 2.0**40)


def state_means(
    n: int,
    first: Floats,
    second: Floats,
    drawn: Floats,
    noisy: Floats,
    noisy_first: Floats,
    scales: Floats,
    laplace: bool,
) -> Floats:
    """1 and the mean share of the n imputed records in each state, of a long chain."""
    ruled = not all(drawn)
    schema = Schema({"a": _FIRST, "b": _RULED if ruled else _FIRST})
    table = workload(schema, ("pairs", "a"))
    counts = np.zeros(len(table.possible), dtype=np.int64)
    wide = table.columns["b"].size
    places = np.asarray(first, dtype=np.int64) * wide + np.asarray(second, dtype=np.int64)
    counts[places] = noisy
    counts[2 * wide :] = noisy_first
    noisy_tables = Measurements(
        table=table,
        counts=counts,
        scales=np.asarray(scales, dtype=np.float64),
        laplace=bool(laplace),
        records=int(n),
    )
    codes = _kept_codes(noisy_tables, classes=2, sweeps=_SWEEPS)
    state = codes[:, :, 0] * wide + codes[:, :, 1]
    return 1.0 + np.array([(state == place).mean() for place in places])


def fit_slopes(**given: Any) -> Floats:
    """What a fit minimises, over 100, and 1 plus its slopes over 1000, at these logits."""
    counts, at = _fitted(**given)
    value, (of_shares, of_codes) = counts.penalised(at)
    slopes = np.concatenate([of_shares, of_codes.ravel()])
    return np.append(value / 100.0, 1.0 + slopes / 1000.0)


def fit_ties(**given: Any) -> Floats:
    """1 and what the shares of the pair have more than those of the classes at these logits."""
    counts, at = _fitted(**given)
    own = np.exp(at.shares) / np.exp(at.shares).sum()
    return 1.0 + counts.ties(own, counts.profiles(at.codes))[:2, 2:].ravel()


def _fitted(
    shares: Floats,
    codes: Floats,
    noisy: Floats,
    noisy_first: Floats,
    scales: Floats,
    laplace: bool,
    n: int,
) -> tuple[PenalisedCounts, Logits]:
    levels = tuple(map(str, range(len(noisy) // 2)))
    second = Column(model="nominal", levels=levels)
    counts = PenalisedCounts(
        Measurements(
            table=workload(Schema({"a": _FIRST, "b": second}), ("pairs", "a")),
            counts=np.concatenate([noisy, noisy_first]).astype(np.int64),
            scales=np.asarray(scales, dtype=np.float64),
            laplace=bool(laplace),
            records=int(n),
        )
    )
    prior = np.tile(counts.margins, (len(shares), 1))
    return counts, Logits(np.asarray(shares), np.asarray(codes).reshape(prior.shape), prior)


def logistic_means(n: int, noisy: Floats, scale: float) -> Floats:
    """1 and half the mean share of the n imputed records at each level of a `logistic` column."""
    return _family_means(_FIRST, n, noisy, scale, _OF_LEVELS)


def cell_means(n: int, noisy: Floats, scale: float, family: str) -> Floats:
    """The same of the three cells of a number."""
    return _family_means(_NUMBERS[family], n, noisy, scale, _OF_NUMBERS)


def _family_means(column: Column, n: int, noisy: Floats, scale: float, sweeps: int) -> Floats:
    table = workload(Schema({"b": column}), ("pairs",), conditionals=True)
    counts = np.asarray(noisy, dtype=np.int64)
    noisy_tables = Measurements(
        table=table,
        counts=counts,
        scales=np.array([float(scale)]),
        laplace=False,
        records=int(n),
    )
    codes = _kept_codes(noisy_tables, classes=1, sweeps=sweeps)
    return 1.0 + np.bincount(codes.ravel(), minlength=len(counts)) / codes.size / 2


def _kept_codes(noisy: Measurements, *, classes: int, sweeps: int) -> NDArray[np.int64]:
    """The imputed codes (T, n, K) of all T sweeps of the second half of one chain."""
    half = sweeps // 2
    chain = impute(noisy, datasets=half, classes=classes, sweeps=sweeps, seed=5)
    return np.array(chain.codes, dtype=np.int64)


def _records(seed: int, N: int) -> dict[str, Any]:
    """Codes of three columns; some are unknown."""
    draws = Draws(seed)
    sizes = np.array([2.0, 1.0 + seed, 4.0])
    columns = [draws.whole(N, int(size) + 1).astype(np.float64) - 1.0 for size in sizes]
    return dict(zip(("first", "second", "third"), columns, strict=True)) | {"sizes": sizes}


def _noise(seed: int, most: int) -> dict[str, Any]:
    """Multiples of the precision of two counts, and epsilon within the losses' reach."""
    draws = Draws(seed)
    return {"multiples": 1.0 + draws.whole(2, most).astype(np.float64)}


def _few(seed: int, n: int, laplace: bool = True, ruled: bool = False) -> dict[str, Any]:
    """Noisy counts about n records, some of them below 0."""
    states = ((0, 2), (1, 0), (1, 1)) if ruled else ((0, 0), (0, 1), (1, 0), (1, 1))
    draws = Draws(seed)
    return {
        "n": n,
        "first": np.array([a for a, _ in states], dtype=np.float64),
        "second": np.array([b for _, b in states], dtype=np.float64),
        "drawn": np.array([float(not ruled or a == 1) for a, _ in states]),
        "noisy": draws.whole(len(states), 7).astype(np.float64) - 2.0,
        "noisy_first": draws.whole(2, 7).astype(np.float64) - 1.0,
        "scales": _SCALES,
        "laplace": laplace,
    }


def plain(seed: int, n: int) -> dict[str, Any]:
    """Two categories, Laplace noise."""
    return _few(seed, n)


def ruled(seed: int, n: int) -> dict[str, Any]:
    """A rule fixes the second column, Gaussian noise."""
    return _few(seed, n, laplace=False, ruled=True)


def fitted(seed: int, wide: int, laplace: bool = False) -> dict[str, Any]:
    """Noisy counts of a pair and of its first column, and logits of two classes; Gaussian noise."""
    draws = Draws(seed)
    return {
        "shares": draws.bell(2, 0.0, 1.0),
        "codes": draws.bell(2 * (2 + wide), 0.0, 1.0),
        "noisy": draws.whole(2 * wide, 40).astype(np.float64) - 5.0,
        "noisy_first": draws.whole(2, 60).astype(np.float64),
        "scales": _SCALES,
        "laplace": laplace,
        "n": 30 * wide,
    }


def fitted_laplace(seed: int, wide: int) -> dict[str, Any]:
    """The same under Laplace noise."""
    return fitted(seed, wide, laplace=True)


def two_levels(seed: int, n: int) -> dict[str, Any]:
    """Noisy counts of two levels."""
    return {"n": n, "noisy": Draws(seed).whole(2, 7).astype(np.float64) - 2.0, "scale": 1.5}


def normal_cells(seed: int, n: int) -> dict[str, Any]:
    """Noisy counts of three cells, most of them in the middle."""
    noisy = np.array([-1.0, 2.0, -1.0]) + Draws(seed).whole(3, 4)
    return {"n": n, "noisy": noisy, "scale": 1.5, "family": "normal"}


def poisson_cells(seed: int, n: int) -> dict[str, Any]:
    """The same of a Poisson column."""
    return normal_cells(seed, n) | {"family": "poisson"}
