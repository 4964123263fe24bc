"""One file that carries what a fit of the noisy counts knows, with as little chance as can be.

Classes have whole numbers of records by their shares, and codes whole numbers in a class. Records
join the codes of a class at random. Then codes are swapped within classes, so that the counts of
all pairs of columns come near to those that the fit expects, and none to what rules bar. The few
records that still break a rule get a code that it leaves. So a file has about the errors of the
fit alone, while a draw of a posterior has those of the draw too. Columns that tables give follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.fitted_classes import FittedClasses, Further, fitted_classes
from pyvws.mechanisms.counts.fitted_counts import in_pairs, with_classes, within_reach
from pyvws.mechanisms.counts.given_records import with_given
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.skips import barred_pairs
from pyvws.mechanisms.counts.whole_records import swapped, swapped_towards, whole_numbers
from pyvws.mechanisms.counts.workload import Workload

AT_ONCE: Final = 1 << 22
"""Records that are made together: more take small codes, part by part."""

_PASSES: Final = 4  # Of swaps over all records,
_LEAST: Final = 1  # and fewer, but one, of more records than
_MANY: Final = 100_000  # these.
_BARRED: Final = 1e9  # Records that pairs which rules bar have too many, as swaps see it.
_HARDLY: Final = 1e-9  # A code's share in a class that lacks it, where rules leave no other.


@dataclass(frozen=True, slots=True, eq=False)
class Imputed:
    """Imputed tables, and how near to the counts they are.

    - `codes` (n, K): The records of each dataset.
    - `numbers` (n,): Numbers within the records' cells, of the columns whose family gives them.
    - `misfit`: Mean over cells of ((S - M) / deviation)^2, of the fitted counts M, or those of the
      records where no class gives a column: near 1 where the model is large enough; larger = the
      model is too small for the noise.
    - `classes`: Classes of the fits.
    - `noise` (D, C): What the fit of each dataset added to the counts; None where nothing was.
    """

    codes: list[Codes]
    numbers: list[dict[str, Floats]]
    misfit: float
    classes: int
    noise: NDArray[np.int64] | None = None


def misfit_of(noisy: Measurements, codes: Codes) -> float:
    """The misfit of records (n, K) themselves."""
    gap = (noisy.counts - noisy.table.counts(codes)) / np.repeat(
        noisy.deviations, noisy.table.sizes
    )
    return float((gap[noisy.table.possible] ** 2).mean())


def best_file(
    noisy: Measurements, *, classes: int, seed: int, further: Further | None = None
) -> Imputed:
    """The file of a fit, from noisy counts and public things alone: it costs nothing."""
    noisy = within_reach(noisy)
    paired, rng = in_pairs(noisy), np.random.default_rng([seed, 2])
    of_rest = with_classes(paired)
    fitted = None
    if of_rest.table.columns and noisy.records:
        fitted = fitted_classes(of_rest, classes=classes, seed=seed, further=further)
    least = np.min_scalar_type(max(column.size for column in noisy.table.columns.values()))
    parts, numbers = [], []
    for low in range(0, max(1, noisy.records), AT_ONCE):
        size = min(AT_ONCE, noisy.records - low)
        records = np.empty((size, len(of_rest.table.columns)), dtype=np.int32)
        if fitted is not None:
            towards = with_classes(_part(noisy, size))
            records = best_records(fitted, size, rng, towards)
        made, drawn = with_given(records, _part(paired, size), rng, fitted)
        parts.append(made if size == noisy.records else made.astype(least))
        numbers.append(drawn)
    codes = np.concatenate(parts) if len(parts) > 1 else parts[0]
    return Imputed(
        codes=[codes],
        numbers=[{name: np.concatenate([one[name] for one in numbers]) for name in numbers[0]}],
        misfit=misfit_of(noisy, codes) if fitted is None else fitted.misfit,
        classes=0 if fitted is None else len(fitted.shares),
    )


def _part(noisy: Measurements, records: int) -> Measurements:
    """The noisy counts of so many of the records, as far as they are alike."""
    if records == noisy.records:
        return noisy
    share = records / noisy.records
    counts = np.rint(share * noisy.counts).astype(np.int64)
    return replace(noisy, counts=counts, scales=share * noisy.scales, records=records)


def best_records(
    fitted: FittedClasses,
    records: int,
    rng: np.random.Generator,
    towards: Measurements,
) -> Codes:
    """Codes (n, K) of so many records of a fit, in a random order.

    Triples come near to their counts in `towards`, and no record breaks a rule of its columns.
    """
    ends = np.rint(np.cumsum(fitted.shares) / fitted.shares.sum() * records).astype(np.int64)
    start = np.append(0, ends)
    offsets, sizes = fitted.offsets, np.diff(fitted.offsets)
    whole = whole_numbers(fitted.profiles, np.diff(start), offsets)
    x = np.empty((records, len(sizes)), dtype=np.int32)
    for k, size in enumerate(sizes):
        codes = np.arange(size, dtype=np.int32)
        for h, (low, high) in enumerate(pairwise(start)):
            own = np.repeat(codes, whole[h, offsets[k] : offsets[k + 1]])
            x[low:high, k] = rng.permutation(own)
    gap = fitted.pairs(records)
    for j in range(len(sizes)):
        for k in range(j):
            pair = np.bincount(x[:, j] * sizes[k] + x[:, k], minlength=sizes[j] * sizes[k]).reshape(
                sizes[j], sizes[k]
            )
            gap[offsets[j] : offsets[j + 1], offsets[k] : offsets[k + 1]] -= pair
            gap[offsets[k] : offsets[k + 1], offsets[j] : offsets[j + 1]] -= pair.T
    gap = np.where(fitted.near, gap, 0.0)
    gap[barred_pairs(towards.table.columns, towards.table.skips)] = -_BARRED
    passes = min(_PASSES, max(_LEAST, _PASSES * _MANY // records))
    weights = towards.table.weights_of_pairs
    swapped(x, start, gap, offsets, np.arange(len(sizes)), weights, passes, rng)
    swapped_towards(x, start, towards, rng)
    _keep_rules(x, np.repeat(np.arange(len(ends)), np.diff(start)), fitted, towards.table, rng)
    return x[rng.permutation(records)]


def _keep_rules(
    x: Codes,
    of_class: NDArray[np.intp],
    fitted: FittedClasses,
    table: Workload,
    rng: np.random.Generator,
) -> None:
    """Draw codes that rules leave for the records x (n, K) that break them, by their class (n,).

    Rules read columns in front of their own, so one pass is enough.
    """
    codes = table.by_name(x)
    for k, (name, column) in enumerate(table.columns.items()):
        if (skip := table.skips.get(name)) is None:
            continue
        broken = np.flatnonzero(~skip.keeps(codes, codes[name]))
        left = skip.allowed(skip.rows.cells(codes)[broken], column.size)
        if not left.any(axis=1).all():
            raise InputError.by("counts-rules-leave-none")
        own = slice(*fitted.offsets[k : k + 2])
        likely = left * (fitted.profiles[of_class[broken], own] + _HARDLY)
        x[broken, k] = np.argmax(likely / rng.standard_exponential(likely.shape), axis=1)
