"""A public table as a prior on what ties columns: its records, raked to the noisy margins.

Records x_r of the reference have weights w_r that rake them to the noisy counts' margins, n records
in all. They enter the fit of classes as a power prior [ibrahim2000]: the fit also minimises

    - kappa sum_r w_r log sum_h pi_h prod_k phi_hk(x_rk),

where a column whose value the schema does not know is left out of the product, and phi runs over
the codes that the reference has. Within a fit w_r is raked to the margins of the classes, again and
again. So the prior says nothing of margins, which the noisy counts have already told.

kappa follows from the noisy counts S. Beside a table M of a pair's expected counts their squares
sum (S - M)^2 exceed those of noise by X(M). The reference explains the share 1 - X(ref) / X(ind) of
the dependence, where "ind" are products of margins. kappa is that share, times
sum_q n (1 - sum_c m_c^2) / X(ref) or 1: a reference is worth as many records as have a sampling
error of that size. kappa is 0 where X(ind) is not above 3 of its standard deviations.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.counting import CellCounting, CountedInSteps, CountedRecords
from pyvws.mechanisms.counts.fitted_classes import PenalisedCounts
from pyvws.mechanisms.counts.fitted_counts import in_pairs, with_classes, within_reach
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.skips import rule_patterns
from pyvws.tables.files.public import PublicTable

_RAKED: Final = 40  # Passes over the columns,
_RAKED_IN_FIT: Final = 2  # and each time that a fit has read all records.
_CLEAR: Final = 3.0  # Standard deviations.
_BATCH: Final = 2000  # Distinct records that one step of a fit reads.
_MOST: Final = 200_000  # Distinct records that a fit reads at all; of more, the most frequent ones.
_SHOWN: Final = 5
_NOT_COMPARED: Final = "Nobody compared the reference with the table, which was read in steps."
_OVERLAPS: Final = (
    "The reference seems to hold records of the table. Then it is not public, and no claim holds."
)


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceRecords:
    """Distinct records of a reference in the cells of a table.

    - `codes` (R, K): Codes of the columns that classes give, -1 for a value that the schema does
      not know and for a column that the reference lacks.
    - `times` (R,): How many records of the reference a row stands for.
    - `records`: The records of the reference, those that break a rule of the schema too.
    - `lacks`: The columns that the reference lacks.
    - `unknown`: How many of its records have a value that the schema does not know, by column.
    - `digest`: SHA-256 of columns, codes and times: equal for equal records in any order.
    """

    codes: Codes
    times: NDArray[np.int64]
    records: int
    lacks: tuple[str, ...]
    unknown: dict[str, int]
    digest: str

    @classmethod
    def of(cls, counting: CellCounting, noisy: Measurements) -> ReferenceRecords:
        """The records of a counting's reference, in the cells that its noisy counts have."""
        frame, table = counting.referred, with_classes(within_reach(noisy)).table
        read = counting.recoded(counting.read(frame), noisy.table)
        by_name = noisy.table.by_name(read.codes)
        there = {*frame.columns}
        lacks = tuple(
            name for name, own in table.columns.items() if not {x.name for x in own.reads} <= there
        )
        none = np.full(len(frame), -1, dtype=np.int32)
        x = np.column_stack([none if n in lacks else by_name[n] for n in table.columns])
        unknown = {
            name: int((own < 0).sum())
            for name, own in zip(table.columns, x.T, strict=True)
            if name not in lacks and (own < 0).any()
        }
        codes, times = np.unique(x, axis=0, return_counts=True)
        sizes = [column.size for column in table.columns.values()]
        patterns = rule_patterns(table.columns, table.skips)
        at = np.append(0, np.cumsum(sizes))[:-1]
        allowed = np.zeros(len(codes), dtype=np.bool_)
        for own in patterns:
            allowed |= (own[codes + at] | (codes < 0)).all(axis=1)
        in_table = dict(zip(table.columns, codes.T, strict=True))
        for name, skip in table.skips.items():
            unknown_there = np.any([in_table[n] < 0 for n in (name, *skip.rows.columns)], axis=0)
            allowed &= unknown_there | skip.keeps(in_table, in_table[name])
        codes, times = codes[allowed], times[allowed].astype(np.int64)
        if len(codes) > _MOST:
            kept = np.sort(np.argsort(-times, kind="stable")[:_MOST])
            codes, times = codes[kept], times[kept]
        content = [repr(list(table.columns)).encode(), codes.tobytes(), times.tobytes()]
        digest = hashlib.sha256(b"".join(content)).hexdigest()
        return cls(codes, times, len(frame), lacks, unknown, digest)


@dataclass(frozen=True, eq=False)
class ReferencePrior:
    """The power prior of a reference beside noisy counts, and what these say of it."""

    reference: ReferenceRecords
    counts: PenalisedCounts
    table: PublicTable

    @classmethod
    def of(cls, counting: CellCounting, noisy: Measurements) -> ReferencePrior | None:
        """The prior of a counting's reference; None without one, and for no records to make."""
        if counting.reference is None or not noisy.records:
            return None
        counts = PenalisedCounts(with_classes(in_pairs(within_reach(noisy))))
        return cls(ReferenceRecords.of(counting, noisy), counts, counting.reference)

    @property
    def _n(self) -> float:
        return float(self.counts.noisy.records)

    @cached_property
    def cells(self) -> Any:
        """Which codes (R, sum of L) the records have, as a sparse array of 0 and 1."""
        codes = self.reference.codes
        rows, columns = np.nonzero(codes >= 0)
        places = (codes + self.counts.offsets[:-1])[rows, columns]
        shape = len(codes), int(self.counts.offsets[-1])
        return csr_array((np.ones(len(rows)), (rows, places)), shape=shape)

    @cached_property
    def covered(self) -> NDArray[np.bool_]:
        """Which codes (sum of L,) some record has, and all codes of a column that none has."""
        there = self.cells.sum(axis=0) > 0.0
        of_columns = np.add.reduceat(there, self.counts.offsets[:-1])
        return np.asarray(there | np.repeat(of_columns == 0, self.counts.sizes))

    @cached_property
    def weights(self) -> Floats:
        """The weights (R,) of the records, n in all, by which they have the noisy margins."""
        w = self.reference.times * (self._n / self.reference.times.sum())
        return self.raked(w, self.counts.margins, _RAKED)

    def raked(self, w: Floats, margins: Floats, passes: int) -> Floats:
        """The weights w (R,) of records, raked to margins (sum of L,).

        Of each column the codes that records have keep their sum.
        """
        parts = [*enumerate(np.split(margins, self.counts.offsets[1:-1]))]
        for k, own in parts * passes:
            places = self.reference.codes[:, k] + 1  # The first one is that of no code.
            there = np.bincount(places, w, len(own) + 1)
            sought = np.where(there[1:] > 0.0, own, 0.0)
            sought *= there[1:].sum() / max(sought.sum(), 1e-300)
            factor = np.ones(len(there))
            np.divide(sought, there[1:], out=factor[1:], where=there[1:] > 0.0)
            w = w * factor[places]
        return w

    @cached_property
    def pairs(self) -> Floats:
        """The raked records' counts of all pairs of codes (sum of L, sum of L)."""
        cells = self.cells
        raked = np.asarray((cells.T @ (cells * self.weights[:, None])).todense())
        covered = np.where(self.covered, self.counts.margins, 0.0)
        sought = self._n * self.counts.by_pairs(np.outer(covered, covered))
        known = sought / np.maximum(self.counts.by_pairs(raked), 1e-300)
        return raked * self.counts.by_cells(known)

    def _by_pair(self, values: Floats) -> Floats:
        """Sums of values of cells (sum of L, sum of L) by pairs of columns (K, K), each once."""
        return np.triu(self.counts.by_pairs(values), 1)

    @cached_property
    def _variance(self) -> Floats:
        """The noise's variance of cells (sum of L, sum of L); 0 for what one of both lacks."""
        precision, laplace = self.counts.precision, self.counts.noisy.laplace
        has = self.cells.sum(axis=0) > 0.0
        known = (precision > 0.0) & np.outer(has, has)
        power, times = (2.0, 2.0) if laplace else (1.0, 1.0)
        return np.divide(times, precision**power, out=np.zeros_like(precision), where=known)

    def _excess(self, expected: Floats) -> Floats:
        """By pair (K, K), how far squares of S - M exceed those of noise, where M is `expected`.

        M is raked to margins that have noise of their own, some of it that of the cells.
        """
        variance = self._variance
        measured, margins, sizes = variance > 0.0, self.counts.margins, self.counts.sizes
        names = self.counts.noisy.table.columns
        deviations = [self.counts.noisy.of_column(name)[1] for name in names]
        of_code = np.repeat(np.square(deviations), sizes)[:, None]
        of_row = expected / (self._n * margins[:, None])
        others = np.repeat(sizes, sizes)[None, :]
        raked = of_code * (of_row**2 - 2.0 * of_row / others)
        squares = (self.counts.square - expected) ** 2 - variance - raked - raked.T
        return self._by_pair(np.where(measured, squares, 0.0))

    @cached_property
    def _gaps(self) -> Floats:
        return self._excess(self.pairs)

    @cached_property
    def _dependence(self) -> Floats:
        margins = self.counts.margins
        return self._excess(self._n * margins[:, None] * margins[None, :])

    @property
    def _of_squares(self) -> float:
        """The variance of a squared error of noise, in squares of the noise's variance."""
        return 5.0 if self.counts.noisy.laplace else 2.0

    @cached_property
    def is_clear(self) -> bool:
        """Whether the noisy counts show enough dependence to judge a reference by."""
        of_pair = self._variance
        cells = self._by_pair((of_pair > 0.0).astype(np.float64))
        variance = self._by_pair(of_pair) / np.maximum(cells, 1.0)
        squares = self._of_squares * self._by_pair(of_pair**2)
        crossed = 4.0 * variance * self._dependence
        deviation = np.sqrt(max(float((squares + crossed).sum()), 0.0))
        return bool(self._dependence.sum() > _CLEAR * deviation)

    @cached_property
    def explained(self) -> float:
        """The share of the pairs' dependence that the reference explains, at most 1.

        It is 0 or below where the reference says nothing of the table, and 0 where noise hides the
        dependence.
        """
        if not self.is_clear:
            return 0.0
        return min(1.0, 1.0 - float(self._gaps.sum() / self._dependence.sum()))

    @cached_property
    def _sampling(self) -> Floats:
        """By pair (K, K), the sum of squared errors of a sample of n records of the reference."""
        shares = self._by_pair(np.where(self._variance > 0.0, (self.pairs / self._n) ** 2, 0.0))
        return np.where(self._by_pair(self._variance) > 0.0, self._n * (1.0 - shares), 0.0)

    @cached_property
    def kappa(self) -> float:
        """How many records the prior counts as, for each record to make; in [0, 1]."""
        if self.explained <= 0.0:
            return 0.0
        sampling, gap = float(self._sampling.sum()), float(self._gaps.sum())
        return self.explained * (min(1.0, sampling / gap) if gap > 0.0 else 1.0)

    @cached_property
    def contradicted(self) -> list[str]:
        """The pairs where noisy counts are clearly apart from the reference, the furthest first.

        They are further off than noise and the sampling error of the records explain.
        """
        deviation = np.sqrt(self._of_squares * self._by_pair(self._variance**2))
        far = self._gaps - self._sampling
        clear = np.where(far > _CLEAR * deviation, far, 0.0)
        names = list(self.counts.noisy.table.columns)
        order = np.argsort(-clear, axis=None, kind="stable")[: int((clear > 0.0).sum())]
        found = zip(*np.unravel_index(order, clear.shape), strict=True)
        return [f"{names[a]}:{names[b]}" for a, b in found]

    def figures(self) -> dict[str, Any]:
        """What noisy counts and a public table say, for the statement."""
        own = self.reference
        return {
            "file": self.table.file,
            "is_release": self.table.is_release,
            "records": own.records,
            "digest": own.digest,
            "kappa": self.kappa,
            "explained": self.explained,
            "contradicted": len(self.contradicted),
            "most_contradicted": self.contradicted[:_SHOWN],
            "lacks": list(own.lacks),
            "unknown": own.unknown,
        }

    def batches(self, rng: np.random.Generator) -> ReferenceSlopes:
        """What one fit adds to its slopes, reading some of the records in each step."""
        return ReferenceSlopes(self, rng)


class ReferenceSlopes:
    """The slopes of the prior by the logits of classes, from batches in a random order."""

    def __init__(self, prior: ReferencePrior, rng: np.random.Generator) -> None:
        self.prior, self.rng = prior, rng
        self.order, self.next = np.empty(0, dtype=np.intp), 0
        self.weights = prior.weights

    def _rows(self, margins: Floats) -> NDArray[np.intp]:
        """The records of the next batch; weights are raked anew once all have been read."""
        if self.next + _BATCH > len(self.order):
            self.weights = self.prior.raked(self.prior.weights, margins, _RAKED_IN_FIT)
            self.order, self.next = self.rng.permutation(len(self.weights)), 0
        self.next += _BATCH
        return self.order[self.next - _BATCH : self.next]

    def at(self, shares: Floats, profiles: Floats) -> tuple[Floats, Floats]:
        """The slopes by the logits of shares (H,) and of codes (H, sum of L).

        `shares` (H,) and `profiles` (H, sum of L) are those of the classes.
        """
        prior, rows = self.prior, self._rows(shares @ profiles)
        counts, cells, total = prior.counts, prior.cells[rows], prior.counts.noisy.records
        w, at = self.weights[rows], counts.offsets[:-1]
        w = w * (total / w.sum())
        phi = np.where(prior.covered, profiles, 0.0)
        phi /= np.repeat(np.add.reduceat(phi, at, axis=1) + 1e-300, counts.sizes, axis=1)
        logs = cells @ np.log(np.maximum(phi, 1e-300)).T + np.log(np.maximum(shares, 1e-300))
        likely = np.exp(logs - logs.max(axis=1, keepdims=True))
        likely *= (w / likely.sum(axis=1))[:, None]
        of_codes = (cells.T @ likely).T
        of_columns = np.add.reduceat(of_codes, at, axis=1)
        of_shares = total * shares - likely.sum(axis=0)
        slopes = phi * np.repeat(of_columns, counts.sizes, axis=1) - of_codes
        return prior.kappa * of_shares, prior.kappa * slopes


def _finest(records: CountedRecords, k: int, name: str) -> Codes:
    return records.fine[name].cells if name in records.fine else records.codes[:, k]


def overlap(
    counting: CellCounting, records: CountedRecords | CountedInSteps
) -> dict[str, Any] | None:
    """How many of a table's records a reference has too: confidential; None without a reference.

    `found` is the share of records that some record of the reference equals in the finest cells,
    and `by_chance` the share that as many other records of the table would equal. There is a
    `warning` where the first is clearly above the second. A table in steps is not compared.
    """
    if counting.reference is None:
        return None
    if isinstance(records, CountedInSteps):
        return {"warning": _NOT_COMPARED}
    there = [(k, n) for k, n in enumerate(counting.table.columns) if n in counting.referred.columns]
    own, others = (
        [*map(tuple, np.column_stack([_finest(read, k, name) for k, name in there]).tolist())]
        for read in (records, counting.read(counting.referred))
    )
    n, m = max(len(own), 1), min(len(own), len(others))
    chosen = np.random.default_rng(0).permutation(len(others))[:m]
    public, times = {others[i] for i in chosen.tolist()}, Counter(own)
    alike = np.array([times[row] - 1 for row in own])
    found = sum(row in public for row in own) / n
    chance = float(np.sum(1.0 - (1.0 - m / max(n - 1, m, 1)) ** alike)) / n
    deviation = np.sqrt(max(chance * (1.0 - chance), 1.0 / n) / n)
    more = found - chance > _CLEAR * deviation
    return {"found": found, "by_chance": chance, "warning": _OVERLAPS if more else None}
