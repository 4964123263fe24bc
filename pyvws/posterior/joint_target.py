"""The target of a table under one clamp: all columns' parameters, and each record's whole sum.

log prior_1 + ... + log prior_K + sum_i t_i, where t_i keeps alpha_i sum_k (l_ik - a_ik) in the
clamp's window: the half clamp takes a_ik = 0, the deviance clamp the saturated log-likelihood. The
window is epsilon wide for the whole table, not for each column. Inside the window a record's term
is the sum of its columns' terms, so the gradient of column k is that of its weighted density with
alpha_i replaced by alpha_i 1{t_i inside}: the families' own kernels serve the table too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats, same_length, weight_vector
from pyvws._base.cores import steady_sums
from pyvws._base.kernels import kernel
from pyvws.errors import InputError
from pyvws.models.model import Start
from pyvws.models.sequence import Conditional
from pyvws.posterior.clamp import Clamp, add_terms_inside, prior_data, refuse_unclamped
from pyvws.posterior.trimmed_start import TrimmedSearch, near_cells


@kernel
def _add_column(cell: Any, log_lik: Any, shift: Any, total: Any) -> None:
    """Add l - a of one column to each record's total (M,); `cell` holds the records' cells.

    A cell of -1 stands for a record without a term in the column.
    """
    for t in range(len(cell)):
        c = cell[t]
        if c >= 0:
            total[t] += log_lik[c] - shift[c]


@kernel
def _sum_by_cell(cell: Any, inside: Any, weight: Any) -> None:
    """Fill `weight` (C,) with the sums over each cell of the records' `inside` (M,)."""
    weight[:] = 0.0
    for t in range(len(cell)):
        if cell[t] >= 0:
            weight[cell[t]] += inside[t]


@kernel
def add_sums_inside(
    cell: Any,
    weight: Any,
    count: Any,
    low: float,
    high: float,
    shift: Any,
    log_lik: Any,
    others: Any,
    own: Any,
    inside: Any,
) -> float:
    """The sum of the records' clamped terms, of one column's cells and of the `others`' sum (M,).

    Fills `own` (M,) with the column's l - a, and `inside` (C,) with the sums over each cell of the
    records' weights within the window. What is not a number counts as `low`.
    """
    inside[:] = 0.0
    total = 0.0
    for t in range(len(cell)):
        c = cell[t]
        own[t] = log_lik[c] - shift[c] if c >= 0 else 0.0
        if weight[t] == 0.0:
            continue
        term = weight[t] * (own[t] + others[t])
        if low < term < high:
            total += count[t] * term
            if c >= 0:
                inside[c] += count[t] * weight[t]
        else:
            total += count[t] * (high if term >= high else low)
    return total


@dataclass(frozen=True, slots=True)
class GivenOthers:
    """The joint target as one of a single column's parameters, the other columns given.

    - `others` (M,): The sum of the other columns' l - a of the table's M distinct records, before
      weights and window. A sampler writes it; all columns' targets can share it.
    - `own` (M,): The column's own l - a at the point where the density was last evaluated.
    """

    part: _Part
    records: DistinctRecords
    others: Floats
    own: Floats

    def kernels(self) -> tuple[tuple[Callable[..., Any], ...], tuple[tuple[Any, ...], ...]]:
        """As `PseudoPosterior.kernels`; the last group ends in `others` and `own`."""
        part, records = self.part, self.records
        rows, row_of_cell, own = part.data
        clamps = part.cell, records.weight, records.count, *records.window, part.shift
        return (part.log_density, part.terms, part.slopes), (
            part.prior_data,
            (rows, row_of_cell, *own),
            (*clamps, part.width, self.others, self.own),
        )


@dataclass(frozen=True, slots=True)
class JointTarget:
    """A table's columns, its records' weights, and the clamp of each record's whole sum.

    The unconstrained vector holds the columns' vectors one after the other.

    - `columns`: K columns, each with a name of its own. Record i is the same record in all of them,
      unless a column has terms of some `records` alone.
    - `weights` (N,): alpha_i in [0, 1] of each record, for all of its columns; smaller = more
      protected.
    - `clamp`: The window of alpha_i sum_k (l_ik - a_ik), in nats.
    - `multiplicity` (N,): Number of equal records that each of the N stands for; by default 1.

    Raises
    ------
    InputError
        For no column, two columns of one name, columns of different records, or weights outside
        [0, 1].
    """

    columns: tuple[Conditional, ...]
    weights: Floats
    clamp: Clamp
    multiplicity: Floats | None = None

    def __post_init__(self) -> None:
        columns = tuple(self.columns)
        if not columns:
            raise InputError("A table needs at least one column to synthesize. Got none.")
        names = [column.column for column in columns]
        weights = weight_vector(self.weights)
        count = np.ones(len(weights)) if self.multiplicity is None else self.multiplicity
        for at, column in enumerate(columns):
            if column.column in names[:at]:
                raise InputError(
                    f"Column {column.column!r} stands twice in the table. Give it once."
                )
            own = column.own(weights)
            same_length(own, column.cells.cell_of_record, ("weights", f"column {column.column!r}"))
            counted = column.cells.multiplicity
            if not np.array_equal(
                column.own(count), np.ones(len(own)) if counted is None else counted
            ):
                raise InputError(
                    f"Column {column.column!r} counts its records differently than the table. "
                    "Tally the table once, for all columns."
                )
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "weights", weights)

    @property
    def dimension(self) -> int:
        """D, the length of the unconstrained vector of all columns."""
        return self.blocks()[-1].stop

    @property
    def distinct_records(self) -> int:
        """M, the number of records that differ in a column's cell or in weight."""
        return len(self.distinct().weight)

    def blocks(self) -> tuple[slice, ...]:
        """The place of each column's parameters in the unconstrained vector."""
        lengths = [column.model.dimension(column.cells.n_coefficients) for column in self.columns]
        ends = np.cumsum([0, *lengths]).tolist()
        return tuple(map(slice, ends[:-1], ends[1:]))

    def starts(self) -> tuple[Start, ...]:
        """Rough fits of the columns to start from, of the records that all columns keep inside.

        A fit starts whatever the outcomes are: the starts take far outcomes as nearer.
        """
        columns = [(column.model, near_cells(column.cells)) for column in self.columns]
        density = self.density_and_gradient()

        def fit(part: Floats) -> _TableStart:
            return _TableStart(
                tuple(
                    model.start(cells, column.own(part))
                    for column, (model, cells) in zip(self.columns, columns, strict=True)
                )
            )

        with steady_sums():
            search = TrimmedSearch(
                fit, self.terms(), self.weights, self.clamp, lambda q: density(q)[0]
            )
            return search.modes([self.weights])[0].columns

    def terms(self) -> Callable[[Floats], Floats]:
        """A function q (D,) -> alpha_i sum_k (l_ik - a_ik) (N,) in nats, before the window.

        Far from the data a term may be infinite or NaN; the clamp takes NaN as its lower end.
        """
        records = self.distinct()
        parts = self._parts(records)

        def evaluate(q: Floats) -> Floats:
            total = np.zeros(len(records.weight))
            for part in parts:
                part.add_terms(part.cells_at(q[part.block]), total)
            with np.errstate(invalid="ignore"):
                weighted = np.where(records.weight > 0.0, records.weight * total, 0.0)
            return np.asarray(weighted[records.place])

        return evaluate

    def density_and_gradient(self) -> Callable[[Floats], tuple[float, Floats]]:
        """A function q (D,) -> (log density up to a constant, gradient (D,)).

        The function spends its time in compiled code that lets other threads run. Far from the data
        density and gradient may be infinite or NaN; the function does not raise.
        """
        records = self.distinct()
        parts = self._parts(records)

        def evaluate(q: Floats) -> tuple[float, Floats]:
            gradient, total = np.empty(len(q)), np.zeros(len(records.weight))
            logp, of_parts = 0.0, []
            for part in parts:
                logp += part.prior(q[part.block], gradient[part.block])
                of_parts.append(part.cells_at(q[part.block]))
                part.add_terms(of_parts[-1], total)
            value, inside = records.clamped(total)
            for part, cells in zip(parts, of_parts, strict=True):
                part.add_slopes(q[part.block], cells, inside, gradient[part.block])
            return logp + value, gradient

        return evaluate

    def given_others(self, others: Floats, own: Floats) -> tuple[GivenOthers, ...]:
        """For each column the target as a function of its parameters alone, the others given.

        All read the same sums `others` (M,), and write their own to the same `own` (M,).
        """
        records = self.distinct()
        return tuple(GivenOthers(part, records, others, own) for part in self._parts(records))

    def distinct(self) -> DistinctRecords:
        """The records that differ in a column's cell or in weight."""
        N = len(self.weights)
        cells = [column.places(N) + 1 for column in self.columns]
        place = np.zeros(N, dtype=np.intp)
        for key in (*cells, np.unique(self.weights, return_inverse=True)[1]):
            _, place = np.unique(place * (key.max() + 1) + key, return_inverse=True)
        _, first = np.unique(place, return_index=True)
        count = np.bincount(place, weights=self.multiplicity)
        return DistinctRecords(
            place, first, self.weights[first], count.astype(np.float64), self.clamp.window
        )

    def _parts(self, records: DistinctRecords) -> list[_Part]:
        """What evaluates each column at one point."""
        parts = []
        for column, block in zip(self.columns, self.blocks(), strict=True):
            model, cells = column.model, column.cells
            terms, slopes = refuse_unclamped(model)
            parts.append(
                _Part(
                    block=block,
                    cell=column.places(len(self.weights))[records.first],
                    log_density=model.log_density,
                    prior_data=prior_data(model, cells),
                    terms=terms,
                    slopes=slopes,
                    data=(cells.rows, cells.row_of_cell, model.term_data(cells)),
                    shift=self.clamp.shift(model, cells),
                    width=model.slope_width(cells.n_coefficients),
                )
            )
        return parts


@dataclass(frozen=True, slots=True)
class _TableStart:
    """The rough fits of all columns."""

    columns: tuple[Start, ...]

    @property
    def centre(self) -> Floats:
        return np.concatenate([start.centre for start in self.columns])


@dataclass(frozen=True, slots=True)
class DistinctRecords:
    """Records alike in all columns and in weight: M of them, with their weights and counts (M,).

    `place` (N,) is each record's place among them, and `first` (M,) one record of each.
    """

    place: NDArray[np.intp]
    first: NDArray[np.intp]
    weight: Floats
    count: Floats
    window: tuple[float, float]

    def clamped(self, total: Floats) -> tuple[float, Floats]:
        """The sum of clamped terms, from totals (M,), and the weights of those inside (M,)."""
        add: Callable[..., float] = add_terms_inside
        inside, each = np.empty(len(total)), np.arange(len(total))
        no_shift = np.zeros(len(total))
        value = add(each, self.weight, self.count, *self.window, no_shift, total, inside)
        return value, inside


@dataclass(frozen=True, slots=True)
class _Part:
    """What evaluates one column at a point of its parameters; `cell` (M,) is of the records."""

    block: slice
    cell: NDArray[np.intp]
    log_density: Callable[..., float]
    prior_data: tuple[Any, ...]
    terms: Callable[..., None]
    slopes: Callable[..., None]
    data: tuple[Any, ...]
    shift: Floats
    width: int

    def prior(self, q: Floats, gradient: Floats) -> float:
        """The log prior at q (D_k,); overwrites gradient (D_k,)."""
        return self.log_density(q, *self.prior_data, gradient)

    def cells_at(self, q: Floats) -> tuple[Floats, ...]:
        """The cells' log-likelihoods and slopes at q (D_k,)."""
        C = len(self.shift)
        cells = np.empty(C), np.empty(C), np.empty((C, self.width))
        self.terms(q, *self.data, cells)
        return cells

    def add_terms(self, cells: tuple[Floats, ...], total: Floats) -> None:
        """Add l - a of the distinct records to total (M,)."""
        _add_column(self.cell, cells[0], self.shift, total)

    def add_slopes(
        self, q: Floats, cells: tuple[Floats, ...], inside: Floats, gradient: Floats
    ) -> None:
        """Add to gradient (D_k,) the slope of the sum of terms, each times its `inside` (M,)."""
        weight = np.empty(len(self.shift))
        _sum_by_cell(self.cell, inside, weight)
        self.slopes(q, *self.data, cells, weight, gradient)
