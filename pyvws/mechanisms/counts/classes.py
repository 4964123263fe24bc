"""The posterior of latent classes given noisy counts: imputed records of the confidential table.

The model is a truncated Dirichlet process mixture of products of categories: class h has the share
pi_h, and within it column k has code c with probability phi_hkc, independently of other columns.
The confidential records are missing data [ju2022] [nixon2022]: given the parameters, a record is
proposed from the model and accepted by the ratio of the noise's probabilities of the noisy counts;
given the records, the parameters are conjugate. The target is p(records, parameters | noisy counts)
exactly. The noisy counts enter as they are, also below 0. Nothing here sees the confidential table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts._sweep import ClassShares, NoisePrecision, SetCells, SkipCases, sweep
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.noisy_tables import NoisyTables
from pyvws.mechanisms.counts.sets import CountedTable
from pyvws.mechanisms.counts.start import first_records

_FREE: Final = 30  # Sweeps of the parameters alone, before records move.
_SINGLE: Final = 5  # Single columns of a record that a sweep tries to move.
_SHAPE: Final = 0.25  # Of the gamma prior of the process's concentration, as is its rate.
_TINY: Final = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class Imputed:
    """Imputed tables, and how the sampler that made them did.

    Attributes
    ----------
    codes : list of ndarray, shape (n, K)
        Records of spaced sweeps.
    misfit : float
        Mean over cells of ((S - M) / deviation)^2, of the imputed counts M: near 1 where the model
        is large enough; larger = the model is too small for the noise.
    accepted, moved : float
        Shares of whole and of single proposals that were accepted after the warm-up.
    classes : int
        Classes with a record at the end.
    """

    codes: list[Codes]
    misfit: float
    accepted: float
    moved: float
    classes: int


def impute(noisy: NoisyTables, *, datasets: int, classes: int, sweeps: int, seed: int) -> Imputed:
    """Tables of imputed records: `datasets` spaced sweeps of the second half of `sweeps`.

    Post-processing of the noisy counts, so it costs nothing, and the seed may be public.
    """
    rng = np.random.default_rng(seed)
    sampler = _Sampler(noisy, classes, rng)
    for _ in range(_FREE):
        sampler.step(whole=False, single=0)
    first = sweeps // 2
    wanted = {first + ((sweeps - first) * (j + 1)) // datasets - 1 for j in range(datasets)}
    kept, rates, misfits = [], [], []
    for number in range(sweeps):
        rates.append(sampler.step(whole=True, single=_SINGLE))
        if number in wanted:
            kept.append(sampler.x.copy())
            misfits.append(sampler.misfit())
    accepted, moved = np.mean(rates[first:], axis=0)
    return Imputed(
        codes=kept,
        misfit=float(np.mean(misfits)),
        accepted=float(accepted),
        moved=float(moved),
        classes=len(np.unique(sampler.z)),
    )


class _Sampler:
    """The state of the chain, and one sweep of it."""

    def __init__(self, noisy: NoisyTables, classes: int, rng: np.random.Generator) -> None:
        self.noisy, self.H, self.rng = noisy, classes, rng
        self.cells, self.rules = _cells(noisy.table), _rules(noisy.table)
        power = 1.0 if noisy.laplace else 2.0
        self.noise = NoisePrecision(noisy.laplace, noisy.scales**-power)
        self.x, self.z = first_records(noisy, classes, rng)
        self.gap = (noisy.counts - noisy.table.counts(self.x)).astype(np.float64)
        self.alpha = 1.0

    def step(self, *, whole: bool, single: int) -> tuple[float, float]:
        parameters = self._parameters()
        state = (self.x, self.z, self.gap, self.cells, self.rules, parameters, self.noise)
        return sweep(*state, whole, single, self.rng)

    def misfit(self) -> float:
        unit = self.gap / np.repeat(self.noisy.deviations, self.noisy.table.sizes)
        return float((unit[self.noisy.table.possible] ** 2).mean())

    def _parameters(self) -> ClassShares:
        """Shares of classes and of codes from their conjugate posterior given the records."""
        log_shares = self._shares()
        sums, logs, offsets, offset = [], [], [], 0
        for k, column in enumerate(self.noisy.table.columns):
            L, skip = column.size, self.noisy.table.skips.get(k)
            drawn = slice(None) if skip is None else skip.of(self.x) < 0
            of_class = np.bincount(
                self.z[drawn] * L + self.x[drawn, k], minlength=self.H * L
            ).reshape(self.H, L)
            gamma = self.rng.standard_gamma(of_class + 1.0 / L) + _TINY
            if skip is not None:
                gamma[:, list(skip.barred)] = 0.0
            phi = gamma / gamma.sum(axis=1, keepdims=True)
            sums.append(np.cumsum(phi, axis=1).ravel())
            logs.append(np.log(np.maximum(phi, _TINY)).T.ravel())
            offsets.append(offset)
            offset += self.H * L
        return ClassShares(
            np.cumsum(np.exp(log_shares)),
            log_shares,
            np.array(offsets, dtype=np.int64),
            np.concatenate(sums),
            np.concatenate(logs),
        )

    def _shares(self) -> Floats:
        """log pi (H,) by sticks, of a process whose concentration follows from them."""
        number = np.bincount(self.z, minlength=self.H).astype(np.float64)
        beyond = number.sum() - np.cumsum(number)
        stick = self.rng.beta(1.0 + number[:-1], self.alpha + beyond[:-1])
        rest = np.log(np.maximum(1.0 - stick, _TINY))
        rate = _SHAPE - rest.sum()
        self.alpha = max(self.rng.gamma(_SHAPE + self.H - 1.0) / rate, 1e-3)
        before = np.concatenate([[0.0], np.cumsum(rest)])
        own = np.concatenate([np.log(np.maximum(stick, _TINY)), [0.0]])
        return np.asarray(own + before)


def _cells(table: CountedTable) -> SetCells:
    start, column, stride = [0], [], []
    for places in table.sets:
        sizes = [table.columns[k].size for k in places]
        for i, k in enumerate(places):
            column.append(k)
            stride.append(int(np.prod(sizes[i + 1 :], dtype=np.int64)))
        start.append(len(column))
    of_column = [
        [q for q, places in enumerate(table.sets) if k in places] for k in range(len(table.columns))
    ]
    with_start, with_column = _packed(of_column)
    return SetCells(
        np.array([one.size for one in table.columns], dtype=np.int64),
        np.array(start, dtype=np.int64),
        np.array(column, dtype=np.int64),
        np.array(stride, dtype=np.int64),
        table.offsets[:-1].copy(),
        with_start,
        with_column,
    )


def _rules(table: CountedTable) -> SkipCases:
    K = len(table.columns)
    skips = [table.skips.get(k) for k in range(K)]
    start, parent = _packed([[] if skip is None else list(skip.parents) for skip in skips])
    _, stride = _packed([[] if skip is None else list(skip.strides) for skip in skips])
    offset, forced, first = np.full(K, -1, dtype=np.int64), [np.zeros(1, dtype=np.int32)], 1
    for k, skip in enumerate(skips):
        if skip is not None:
            offset[k] = first
            forced.append(skip.forced)
            first += len(skip.forced)
    after: list[list[int]] = []
    for k in range(K):
        follows = {k}
        for j, skip in enumerate(skips):  # Parents stand before their columns.
            if skip is not None and follows & {*skip.parents}:
                follows.add(j)
        after.append(sorted(follows - {k}))
    return SkipCases(start, parent, stride, offset, np.concatenate(forced), *_packed(after))


def _packed(lists: list[list[int]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Lists as one array behind where each begins."""
    start = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return start, np.array([one for of in lists for one in of], dtype=np.int64)
