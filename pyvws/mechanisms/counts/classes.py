"""The posterior of latent classes given noisy counts: imputed records of the confidential table.

The model is a truncated Dirichlet process mixture of products of categories. Class h has the share
pi_h, of the prior of `ClassShares`. Within it column k has code c with probability phi_hkc,
independently of other columns.
The classes' shares of a column have a prior in common, which the records move: see `ProfilePrior`.
A column that a table gives has shares by the combination of other columns, in the place of classes.
The confidential records are missing data [ju2022] [nixon2022]. Given the parameters, a record is
proposed from the model, and accepted by the ratio of the noise's probabilities of the noisy counts.
Given the records, the parameters are conjugate. Where rules bar codes, the model is that of records
that are not barred. Barred ones are then drawn from the model beside the others, and the parameters
are conjugate given both [structuralzeros2014]. The target is p(records, parameters | noisy counts)
exactly. The noisy counts enter as they are, also below 0. Nothing here sees the confidential table.
Several chains run side by side, each with a stream of its own from the public seed.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.cores import share_out, steady_sums
from pyvws.mechanisms.counts._sweep import (
    Cliques,
    ColumnCases,
    NoisePrecision,
    SetCells,
    Shares,
    impossible_records,
    sweep,
)
from pyvws.mechanisms.counts.class_shares import ClassShares, ProfilePrior
from pyvws.mechanisms.counts.cliques import Clique
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.start import first_records
from pyvws.mechanisms.counts.workload import Workload
from pyvws.posterior.cell_family import FamilyChain
from pyvws.posterior.draws import Diagnostics, diagnose, together

_FREE: Final = 30  # Sweeps of the parameters alone, before records move.
_SINGLE: Final = 5  # Single columns of a record that a sweep tries to move.
_TOGETHER: Final = 4  # Moves of a family's parameters with their codes in a sweep.
_TINY: Final = 1e-300
_LEAST_KEPT: Final = 10  # Sweeps of each chain, for diagnostics.
_APART: Final = 1.1  # R-hat of a figure for which chains lie apart,
_DISAGREE: Final = 0.5  # and the share of such figures above which chains disagree.


@dataclass(frozen=True, slots=True, eq=False)
class Imputed:
    """Imputed tables, and how the chains that made them did.

    Attributes
    ----------
    codes : list of ndarray, shape (n, K)
        Records of spaced sweeps, of each chain in turn.
    numbers : list of mapping of str to ndarray, shape (n,)
        Numbers within the records' cells, of the columns whose family gives them.
    misfit : float
        Mean over cells of ((S - M) / deviation)^2, of the imputed counts M: near 1 where the model
        is large enough; larger = the model is too small for the noise.
    accepted, moved : float or None
        Shares in [0, 1] of whole and of single proposals that were accepted after the warm-up;
        larger = the records move more. None of a file that a fit gives, without proposals.
    classes : int
        Classes with a record at the end, of the chain that has most.
    diagnostics : Diagnostics or None
        The worst over sets, of the count of each set's largest cell over all chains; `column` is
        the set of the largest R-hat. None of fewer than 10 sweeps a chain after the warm-up.
    apart : float
        Share of these counts in [0, 1] whose R-hat is above 1.1; larger = chains agree less.
    """

    codes: list[Codes]
    numbers: list[dict[str, Floats]]
    misfit: float
    accepted: float | None
    moved: float | None
    classes: int
    diagnostics: Diagnostics | None
    apart: float

    @property
    def fitted(self) -> bool:
        """Whether fits of the counts give the files, and not chains of a posterior."""
        return self.accepted is None

    @property
    def disagree(self) -> bool:
        """Whether chains lie apart for more than half of these counts."""
        return self.apart > _DISAGREE


def impute(
    noisy: Measurements, *, datasets: int, classes: int, sweeps: int, seed: int, chains: int = 1
) -> Imputed:
    """Tables of imputed records: spaced sweeps of the second half of `sweeps`, of all chains.

    Post-processing of the noisy counts, so it costs nothing, and the seed may be public. It gives
    the same tables on any number of processors.
    """
    streams = np.random.SeedSequence(seed).spawn(chains)
    side_by_side = [
        _Chain(
            _Sampler(noisy, classes, np.random.default_rng(stream)),
            sweeps=sweeps,
            datasets=len(range(place, datasets, chains)),
        )
        for place, stream in enumerate(streams)
    ]
    runs = [chain.run() for chain in side_by_side]
    with steady_sums():
        next(runs[0])  # Kernels are compiled here, where an interrupt ends that at once.
        share_out(iter, runs)
    kept = [side_by_side[j % chains].kept[j // chains] for j in range(datasets)]
    accepted, moved = np.mean([chain.rates for chain in side_by_side], axis=(0, 1))
    return Imputed(
        codes=[codes for codes, _, _ in kept],
        numbers=[numbers for _, numbers, _ in kept],
        misfit=float(np.mean([misfit for _, _, misfit in kept])),
        accepted=float(accepted),
        moved=float(moved),
        classes=max(len(np.unique(chain.sampler.z)) for chain in side_by_side),
        **_diagnosed(noisy.table.names, np.array([chain.figures for chain in side_by_side])),
    )


def _diagnosed(names: Sequence[str], figures: Floats) -> dict[str, Any]:
    """The diagnostics of figures (chains, sweeps, Q) of the sets of these names, and `apart`."""
    moving = np.flatnonzero(np.ptp(figures, axis=(0, 1)) > 0.0).tolist()
    if figures.shape[1] < _LEAST_KEPT or not moving:
        return {"diagnostics": None, "apart": 0.0}
    by_set = [diagnose(figures[:, :, [q]], 0) for q in moving]
    return {
        "diagnostics": together(by_set, [names[q] for q in moving]),
        "apart": float(np.mean([not own.rhat_max <= _APART for own in by_set])),
    }


class _Chain:
    """One chain: what is kept of its sweeps after the warm-up, the first half of `sweeps`.

    `kept` has the records, numbers and misfit of spaced sweeps, for `datasets` of them. `figures`
    has the count of each set's largest cell (Q,) in each sweep, less a constant, and `rates` the
    accepted shares.
    """

    def __init__(self, sampler: _Sampler, *, sweeps: int, datasets: int) -> None:
        self.sampler, self._sweeps, self._first = sampler, sweeps, sweeps // 2
        after = sweeps - self._first
        self._wanted = {self._first + (after * (j + 1)) // datasets - 1 for j in range(datasets)}
        self.kept: list[tuple[Codes, dict[str, Floats], float]] = []
        self.figures: list[Floats] = []
        self.rates: list[tuple[float, float]] = []

    def run(self) -> Iterator[None]:
        """Make all sweeps, one a step."""
        sampler, largest = self.sampler, self.sampler.noisy.largest
        for _ in range(_FREE):
            sampler.step(whole=False, single=0)
            yield
        for number in range(self._sweeps):
            sampler.tuning = number < self._first
            rates = sampler.step(whole=True, single=_SINGLE)
            if number >= self._first:
                self.rates.append(rates)
                self.figures.append(sampler.gap[largest])
            if number in self._wanted:
                self.kept.append((sampler.x.copy(), sampler.numbers(), sampler.misfit()))
            yield


class _Sampler:
    """The state of the chain, and one sweep of it."""

    def __init__(self, noisy: Measurements, classes: int, rng: np.random.Generator) -> None:
        self.noisy, self.H, self.rng = noisy, classes, rng
        self.cells, self.cases = _cells(noisy.table), _cases(noisy.table)
        power = 1.0 if noisy.laplace else 2.0
        self.noise = NoisePrecision(noisy.laplace, noisy.scales**-power)
        self.x, self.z = first_records(noisy, classes, rng)
        self.gap = (noisy.counts - noisy.table.counts(self.x)).astype(np.float64)
        self.shares = ClassShares()
        self.tuning = True
        self.needed = _deciding(noisy.table)
        self.parameters: Shares | None = None
        table = noisy.table
        self.chains = {
            name: FamilyChain(given.family)
            for name, given in table.given.items()
            if given.family is not None
        }
        self.profiles = {
            name: ProfilePrior(column.size, skip.barred if (skip := table.skips.get(name)) else ())
            for name, column in table.columns.items()
            if name not in table.given
        }
        ends = dict(zip(table.columns, np.diff(self.cases.after_start) == 0, strict=True))
        self.last = [name for name in self.chains if name not in table.skips and ends[name]]

    def step(self, *, whole: bool, single: int) -> tuple[float, float]:
        if whole:
            for name in self.last * _TOGETHER:
                self._together(name)
        self.parameters = self._parameters()
        state = (self.x, self.z, self.gap, self.cells, self.cases, self.parameters, self.noise)
        return sweep(*state, whole, single, self.rng)

    def _together(self, name: str) -> None:
        """Move a family's parameters with the codes that they make of the same uniform numbers.

        Where noise is large beside the counts, records and parameters otherwise hold each other.
        The column is one that nothing follows from, so the noise and the prior alone decide.
        """
        noisy, chain = self.noisy, self.chains[name]
        codes = noisy.table.by_name(self.x)
        other = chain.proposed(noisy.table.given[name].rows.cells(codes), codes[name], self.rng)
        if other is None:
            return
        x = self.x.copy()
        noisy.table.by_name(x)[name][:] = other.codes
        gap = (noisy.counts - noisy.table.counts(x)).astype(np.float64)
        gain = other.log_ratio + self._log_noise(gap) - self._log_noise(self.gap)
        chance = math.exp(min(gain, 0.0))
        taken = self.rng.random() < chance
        chain.settle(other, chance, taken=taken, tuning=self.tuning)
        if taken:
            self.x, self.gap = x, gap

    def _log_noise(self, gap: Floats) -> float:
        """The log of the noise's probability of these gaps (C,), up to a constant."""
        precision = np.repeat(self.noise.precision, self.noisy.table.sizes)
        size = np.abs(gap) if self.noise.laplace else 0.5 * gap**2
        return -float(size @ precision)

    def numbers(self) -> dict[str, Floats]:
        """Numbers (n,) within the cells of the columns whose family gives them."""
        table = self.noisy.table
        codes = table.by_name(self.x)
        return {
            name: chain.numbers(table.given[name].rows.cells(codes), codes[name], self.rng)
            for name, chain in self.chains.items()
            if not table.columns[name].column.categorical
        }

    def misfit(self) -> float:
        unit = self.gap / np.repeat(self.noisy.deviations, self.noisy.table.sizes)
        return float((unit[self.noisy.table.possible] ** 2).mean())

    def _parameters(self) -> Shares:
        """Shares of classes and of codes by row from their conjugate posterior given records."""
        table = self.noisy.table
        alone = self.x, self.z
        both = self._with_barred() if self.needed.any() else alone
        pi = self.shares.moved(np.bincount(both[1], minlength=self.H), self.rng)
        sums, of_code, offsets, rows, offset = [], [], [], [], 0
        for (name, column), needed in zip(table.columns.items(), self.needed, strict=True):
            L, skip, given = column.size, table.skips.get(name), table.given.get(name)
            x, z = both if needed else alone
            codes = table.by_name(x)
            row, R = (z, self.H) if given is None else (given.rows.cells(codes), given.rows.size)
            code = codes[name]
            if skip is not None:
                active = skip.of(codes) < 0
                row, code = row[active], code[active]
            if name in self.chains:
                gamma = self.chains[name].move(row, code, self.rng, tuning=self.tuning) + _TINY
            else:
                counts = np.bincount(row * L + code, minlength=R * L).reshape(R, L)
                own = self.profiles[name].moved(counts, self.rng) if given is None else given.prior
                gamma = self.rng.standard_gamma(counts + own) + _TINY
            if given is not None:
                gamma[np.broadcast_to(given.prior, (R, L)) == 0.0] = 0.0
            if skip is not None:
                gamma[:, list(skip.barred)] = 0.0
            phi = gamma / gamma.sum(axis=1, keepdims=True)
            sums.append(np.cumsum(phi, axis=1).ravel())
            of_code.append(np.maximum(phi, _TINY).T.ravel())
            offsets.append(offset)
            rows.append(R)
            offset += R * L
        return Shares(
            np.cumsum(pi),
            pi,
            np.array(offsets, dtype=np.int64),
            np.array(rows, dtype=np.int64),
            np.concatenate(sums),
            np.concatenate(of_code),
        )

    def _with_barred(self) -> tuple[Codes, NDArray[np.int64]]:
        """The records and their classes, with those of barred ones by the last parameters."""
        if self.parameters is None:
            return self.x, self.z
        model = self.cells, self.cases, self.parameters, self.rng
        x, z = impossible_records(len(self.x), self.needed, *model)
        return np.concatenate([self.x, x]), np.concatenate([self.z, z])


def _cells(table: Workload) -> SetCells:
    """The sets of each column, and the steps of its codes in them."""
    sizes = np.array([column.size for column in table.columns.values()], dtype=np.int64)
    of_column: dict[str, list[int]] = {name: [] for name in table.columns}
    added: dict[str, list[NDArray[np.int64]]] = {name: [] for name in table.columns}
    for q, clique in enumerate(table.cliques):
        for name, steps in zip(clique.columns, clique.steps, strict=True):
            of_column[name].append(q)
            added[name].append(steps)
    start, sets = _packed(of_column.values())
    first = np.concatenate([[0], np.cumsum(np.diff(start) * sizes)]).astype(np.int64)
    by_code = np.concatenate([np.column_stack(steps).ravel() for steps in added.values()])
    unsigned = (array.astype(np.uint64) for array in (table.offsets[:-1], sets, by_code))
    begin, sets, by_code = unsigned
    return SetCells(sizes, begin, start, sets, first, by_code)


def _deciding(table: Workload) -> NDArray[np.bool_]:
    """Which columns (K,) decide whether a record is barred: with those that these follow from."""
    needed = {name for name, skip in table.skips.items() if skip.left is not None}
    for name in reversed([*table.columns]):  # Parents stand before their columns.
        if name in needed:
            needed |= _parents(table, name)
    return np.array([name in needed for name in table.columns])


def _parents(table: Workload, name: str) -> set[str]:
    """The columns that a rule or a table of a column reads."""
    read = (table.skips.get(name), table.given.get(name))
    return {parent for own in read if own is not None for parent in own.rows.columns}


def _cases(table: Workload) -> ColumnCases:
    place = {name: k for k, name in enumerate(table.columns)}
    K = len(place)
    skips = [table.skips.get(name) for name in place]
    given = [table.given.get(name) for name in place]
    forced, offset, first = [np.zeros(1, dtype=np.int32)], np.full(K, -1, dtype=np.int64), 1
    for k, skip in enumerate(skips):
        if skip is not None:
            offset[k] = first
            forced.append(skip.forced)
            first += len(skip.forced)
    left, left_start, first = [np.ones(1, dtype=np.bool_)], np.full(K, -1, dtype=np.int64), 1
    for k, skip in enumerate(skips):
        if skip is not None and skip.left is not None:
            left_start[k] = first
            left.append(skip.left.ravel())
            first += skip.left.size
    after: list[list[int]] = []
    for first_of_all in place:
        follows = {first_of_all}
        for name in place:
            if follows & _parents(table, name):
                follows.add(name)
        after.append([place[name] for name in place if name in follows - {first_of_all}])
    return ColumnCases(
        _cliques([None if skip is None else skip.rows for skip in skips], place, offset),
        np.concatenate(forced),
        left_start,
        np.concatenate(left),
        _cliques(
            [None if given_column is None else given_column.rows for given_column in given],
            place,
            [0 if given_column else -1 for given_column in given],
        ),
        np.array([given_column is not None and given_column.redrawn for given_column in given]),
        *_packed(after),
    )


def _cliques(cliques: Sequence[Clique | None], place: Mapping[str, int], offset: Any) -> Cliques:
    """Combinations as the sweep reads them, by the place of a column; None has no columns."""
    start, column = _packed(
        [[] if clique is None else [place[name] for name in clique.columns] for clique in cliques]
    )
    steps = [step for clique in cliques if clique is not None for step in clique.steps]
    first = np.cumsum([0, *map(len, steps)])[:-1].astype(np.int64)
    every = np.concatenate([*steps, np.zeros(1, dtype=np.int64)])
    return Cliques(start, column, first, every, np.array(offset, dtype=np.int64))


def _packed(lists: Collection[list[int]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Lists as one array behind where each begins."""
    start = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return start, np.array([entry for entries in lists for entry in entries], dtype=np.int64)
