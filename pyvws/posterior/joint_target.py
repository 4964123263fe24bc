"""The target of a table under one clamp: all columns' parameters, and each record's whole sum.

log prior_1 + ... + log prior_K + sum_i t_i, where t_i keeps alpha_i sum_k (l_ik - a_ik) in the
clamp's window: the half clamp takes a_ik = 0, the deviance clamp the saturated log-likelihood. The
window is epsilon wide for the whole table, not for each column. Inside the window a record's term
is the sum of its columns' terms, so the gradient of column k is that of its weighted density with
alpha_i replaced by alpha_i 1{t_i inside}: the families' own kernels serve the table too.

Units of several records, such as households, stand in the place of records: t_h then keeps all of
alpha_h sum_k sum_j (l_hjk - a_hjk) in the window, over the records j of unit h.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from pyvws._base.checks import Arrays, Floats, same_length, weight_vector
from pyvws._base.cores import steady_sums
from pyvws._base.kernels import kernel
from pyvws.errors import InputError
from pyvws.models.model import Start
from pyvws.models.sequence import Conditional
from pyvws.posterior.clamp import Clamp, TrimmedSearch, near_cells, prior_data, refuse_unclamped
from pyvws.tables.design.units import Units, by_record


@kernel
def add_column(entries: Entries, log_lik: Floats, shift: Floats, total: Floats) -> None:
    """Add l - a of one column to each unit's total (M,)."""
    start, cell, times = entries
    for t in range(len(total)):
        for e in range(start[t], start[t + 1]):
            total[t] += times[e] * (log_lik[cell[e]] - shift[cell[e]])


@kernel
def _add_by_cell(entries: Entries, inside: Floats, weight: Floats) -> None:
    """Add to each cell's `weight` (C,) the units' `inside` (M,)."""
    start, cell, times = entries
    for t in range(len(inside)):
        for e in range(start[t], start[t + 1]):
            weight[cell[e]] += times[e] * inside[t]


@kernel
def sum_inside(total: Floats, units: Arrays, window: tuple[float, float], inside: Floats) -> float:
    """The sum of the clamped terms of totals (M,); fills `inside` (M,) with the weights within.

    What is not a number counts as the window's lower end.
    """
    weight, count = units
    low, high = window
    value = 0.0
    for t in range(len(total)):
        inside[t] = 0.0
        if weight[t] == 0.0:
            continue
        term = weight[t] * total[t]
        if low < term < high:
            value += count[t] * term
            inside[t] = count[t] * weight[t]
        else:
            value += count[t] * (high if term >= high else low)
    return value


@kernel
def add_sums_inside(
    entries: Entries,
    units: Arrays,
    window: tuple[float, float],
    shift: Floats,
    log_lik: Floats,
    others: Floats,
    own: Floats,
    inside: Floats,
) -> float:
    """The sum of the units' clamped terms, of one column's cells and of the `others`' sum (M,).

    Fills `own` (M,) with the column's l - a, and `inside` (C,) with the sums over each cell of the
    units' weights within the window.
    """
    M = len(own)
    total, of_units = np.empty(M), np.empty(M)
    for t in range(M):
        own[t] = 0.0
    add_column(entries, log_lik, shift, own)
    for t in range(M):
        total[t] = own[t] + others[t]
    for c in range(len(inside)):
        inside[c] = 0.0
    value = sum_inside(total, units, window, of_units)
    _add_by_cell(entries, of_units, inside)
    return value


@dataclass(frozen=True, slots=True)
class GivenOthers:
    """The joint target as one of a single column's parameters, the other columns given.

    - `others` (M,): The sum of the other columns' l - a of the table's M distinct units, before
      weights and window. A sampler writes it; all columns' targets can share it.
    - `own` (M,): The column's own l - a at the point where the density was last evaluated.
    """

    part: _Part
    units: DistinctUnits
    others: Floats
    own: Floats

    def kernels(self) -> tuple[tuple[Callable[..., Any], ...], tuple[tuple[Any, ...], ...]]:
        """As `PseudoPosterior.kernels`; the last group has what `add_sums_inside` reads.

        These are three arrays of entries, the units' weights and counts, the window's two ends and
        the shift; then the width of slopes, `others` and `own`.
        """
        part, units = self.part, self.units
        rows, row_of_cell, own = part.data
        clamps = *part.entries, units.weight, units.count, *units.window, part.shift
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
      protected. With `units` those of the H units, (H,).
    - `clamp`: The window of alpha_i sum_k (l_ik - a_ik), in nats; with `units` of a unit's whole
      sum.
    - `multiplicity` (N,): Number of equal records that each of the N stands for; by default 1.
    - `units`: The units of privacy, whose kinds are of these columns; by default each record is
      one.
    - `exponents`: e_i of at least 0, as many as weights. The target takes e_i alpha_i for
      `weights`, which may exceed 1 then.

    Raises
    ------
    InputError
        For no column, two columns of one name, columns of different records or units, or weights
        outside [0, 1].
    """

    columns: tuple[Conditional, ...]
    weights: Floats
    clamp: Clamp
    multiplicity: Floats | None = None
    units: Units | None = None
    exponents: InitVar[Floats | None] = None

    def __post_init__(self, exponents: Floats | None) -> None:
        columns = tuple(self.columns)
        if not columns:
            raise InputError.by("no-column-to-synthesize")
        names = [column.column for column in columns]
        weights = weight_vector(self.weights)
        if self.units is not None:
            same_length(weights, self.units.cell_of_record, ("weights", "units"))
        of_records = by_record(weights, self.units)
        count = np.ones(len(of_records)) if self.multiplicity is None else self.multiplicity
        for at, column in enumerate(columns):
            if column.column in names[:at]:
                raise InputError.by("column-twice", column=column.column)
            own = column.own(of_records)
            same_length(own, column.cells.cell_of_record, ("weights", f"column {column.column!r}"))
            counted = column.cells.multiplicity
            if not np.array_equal(
                column.own(count), np.ones(len(own)) if counted is None else counted
            ):
                raise InputError.by("tally-of-other-table", column=column.column)
        object.__setattr__(self, "columns", columns)
        if exponents is not None:
            weights = weights * exponents
        object.__setattr__(self, "weights", weights)

    @property
    def dimension(self) -> int:
        """D, the length of the unconstrained vector of all columns."""
        return self.blocks()[-1].stop

    @property
    def distinct_units(self) -> int:
        """M, the number of units or records that differ in a column's cells or in weight."""
        return len(self.distinct().weight)

    @property
    def record_weights(self) -> Floats:
        """alpha_i (N,) of each record, of which those of a unit share the unit's."""
        return by_record(self.weights, self.units)

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
                    model.start(cells, column.own(by_record(part, self.units)))
                    for column, (model, cells) in zip(self.columns, columns, strict=True)
                )
            )

        with steady_sums():
            search = TrimmedSearch(
                fit, self.terms(), self.weights, self.clamp, lambda q: density(q)[0]
            )
            return search.modes([self.weights])[0].columns

    def terms(self) -> Callable[[Floats], Floats]:
        """A function q (D,) -> the terms before the window, (N,) or (H,) of units, in nats.

        Far from the data a term may be infinite or NaN; the clamp takes NaN as its lower end.
        """
        units = self.distinct()
        parts = self._parts(units)

        def evaluate(q: Floats) -> Floats:
            total = np.zeros(len(units.weight))
            for part in parts:
                part.add_terms(part.cells_at(q[part.block]), total)
            with np.errstate(invalid="ignore"):
                weighted = np.where(units.weight > 0.0, units.weight * total, 0.0)
            return np.asarray(weighted[units.place])

        return evaluate

    def density_and_gradient(self) -> Callable[[Floats], tuple[float, Floats]]:
        """A function q (D,) -> (log density up to a constant, gradient (D,)).

        The function spends its time in compiled code that lets other threads run. Far from the data
        density and gradient may be infinite or NaN; the function does not raise.
        """
        units = self.distinct()
        parts = self._parts(units)

        def evaluate(q: Floats) -> tuple[float, Floats]:
            gradient, total = np.empty(len(q)), np.zeros(len(units.weight))
            logp, of_parts = 0.0, []
            for part in parts:
                logp += part.prior(q[part.block], gradient[part.block])
                of_parts.append(part.cells_at(q[part.block]))
                part.add_terms(of_parts[-1], total)
            value, inside = units.clamped(total)
            for part, cells in zip(parts, of_parts, strict=True):
                part.add_slopes(q[part.block], cells, inside, gradient[part.block])
            return logp + value, gradient

        return evaluate

    def given_others(self, others: Floats, own: Floats) -> tuple[GivenOthers, ...]:
        """For each column the target as a function of its parameters alone, the others given.

        All read the same sums `others` (M,), and write their own to the same `own` (M,).
        """
        units = self.distinct()
        return tuple(GivenOthers(part, units, others, own) for part in self._parts(units))

    def distinct(self) -> DistinctUnits:
        """The units, or records, that differ in a column's cells or in weight."""
        H = len(self.weights)
        cells = [column.places(H) + 1 for column in self.columns] if self.units is None else []
        kinds = [] if self.units is None else [self.units.cell_of_record]
        place = np.zeros(H, dtype=np.intp)
        for key in (*cells, *kinds, np.unique(self.weights, return_inverse=True)[1]):
            _, place = np.unique(place * (key.max() + 1) + key, return_inverse=True)
        _, first = np.unique(place, return_index=True)
        counted = self.multiplicity if self.units is None else self.units.multiplicity
        count = np.bincount(place, weights=counted).astype(np.float64)
        return DistinctUnits(place, first, self.weights[first], count, self.clamp.window)

    def entries(self, units: DistinctUnits) -> list[Entries]:
        """For each column the cells of the M distinct units, and how many records have each."""
        by_column = []
        for k, column in enumerate(self.columns):
            if self.units is None:
                cell = column.places(len(self.weights))[units.first]
                has = cell >= 0
                start, own = np.append(0, np.cumsum(has)), cell[has]
                times = np.ones(len(own))
            else:
                own_kinds = self.units.kinds[k]
                rows = vstack([own_kinds.counts, csr_array((1, own_kinds.counts.shape[1]))])
                rows = rows.tocsr()[own_kinds.of_unit[units.first]]  # No kind is the row of none.
                start, own, times = rows.indptr, rows.indices, rows.data
            by_column.append((start.astype(np.intp), own.astype(np.intp), times.astype(np.float64)))
        return by_column

    def _parts(self, units: DistinctUnits) -> list[_Part]:
        """What evaluates each column at one point."""
        parts = []
        each = zip(self.columns, self.blocks(), self.entries(units), strict=True)
        for column, block, entries in each:
            model, cells = column.model, column.cells
            terms, slopes = refuse_unclamped(model)
            parts.append(
                _Part(
                    block=block,
                    entries=entries,
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


Entries = tuple[NDArray[np.intp], NDArray[np.intp], Floats]
"""The first entry of each of M units and their end (M + 1,); each entry's cell, and its records."""


@dataclass(frozen=True, slots=True)
class DistinctUnits:
    """Units alike in all columns and in weight: M of them, with their weights and counts (M,).

    A record is a unit where the table has no others. `place` (H,) is each unit's place among them,
    and `first` (M,) one unit of each.
    """

    place: NDArray[np.intp]
    first: NDArray[np.intp]
    weight: Floats
    count: Floats
    window: tuple[float, float]

    def clamped(self, total: Floats) -> tuple[float, Floats]:
        """The sum of clamped terms, from totals (M,), and the weights of those inside (M,)."""
        add: Callable[..., float] = sum_inside
        inside = np.empty(len(total))
        return add(total, (self.weight, self.count), self.window, inside), inside


@dataclass(frozen=True, slots=True)
class _Part:
    """What evaluates one column at a point of its parameters; the `entries` are of the units."""

    block: slice
    entries: Entries
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
        """Add l - a of the distinct units to total (M,)."""
        add_column(self.entries, cells[0], self.shift, total)

    def add_slopes(
        self, q: Floats, cells: tuple[Floats, ...], inside: Floats, gradient: Floats
    ) -> None:
        """Add to gradient (D_k,) the slope of the sum of terms, each times its `inside` (M,)."""
        weight = np.zeros(len(self.shift))
        _add_by_cell(self.entries, inside, weight)
        self.slopes(q, *self.data, cells, weight, gradient)
