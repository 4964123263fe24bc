"""Cases of noisy counts: what is counted, the delta of noise, and what a fit minimises."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts.fitted_classes import Logits, PenalisedCounts
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.workload import workload
from pyvws.privacy.discrete_noise import composed_delta
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._draws import Draws

_SCALES: Final = np.array([2.0, 3.0])
_FIRST: Final = Column(model="logistic", levels=("0", "1"))


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
