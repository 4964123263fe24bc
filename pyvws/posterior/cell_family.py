"""The plan's own family of a column whose public cells are counted, and its fit to noisy counts.

A category has the family's probability of each level. A number has the probability of its part, as
the schema models parts, times the family's mass of the cell; the first and the last cell take what
lies beyond the range. Predictors enter by their codes, a number by the middle of its cell. So the
probabilities depend on the combination of the predictors' codes alone.

A fit minimises sum (E - S)^2 / (2 sigma^2) - log prior for the expected counts E of noisy tables S,
with one wide prior for all coefficients. The parts come first and the cells of numbers then.
The number behind a cell is drawn from the family within the cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.cores import steady_sums
from pyvws.models.model import Draws, Model
from pyvws.models.public_cells import (
    CELL_FAMILIES,
    cell_probabilities,
    decoded,
    drawn_in_cells,
    open_ends,
)
from pyvws.models.registry import family_of, first_code
from pyvws.models.regression import linear_predictor
from pyvws.tables.design.cells import Cells, distinct_rows
from pyvws.tables.design.public import public_design
from pyvws.tables.schema.column import part_of
from pyvws.tables.schema.parts import is_drawn, modelled_schema
from pyvws.tables.schema.schema import Schema

Places = NDArray[np.int64]
Codes = NDArray[np.int32]

_NEAR: Final = 1e-5  # Of eta or a logarithm, for slopes.
_WIDE: Final = 2.0  # The prior's deviation of a coefficient.
_HIGH: Final = 1e30  # Of what is no number.


@dataclass(frozen=True, eq=False)
class _Conditional:
    """A family with its design by R combinations of predictors.

    `rows` (D, K) are the distinct design rows, and `row_of` (R,) that of each combination.
    """

    family: Model
    rows: Floats
    row_of: Places


@dataclass(frozen=True, eq=False)
class _Levels(_Conditional):
    """A category, or that of a number's parts: V levels, each with its code, -1 for all cells."""

    codes: Places

    @cached_property
    def grid(self) -> Cells:
        """A cell for each design row and level."""
        return self.cells(np.ones(len(self.rows) * len(self.codes)))

    def cells(self, counts: Floats) -> Cells:
        """Cells of the design rows and levels that have records, by counts (D V,) of them."""
        D, V = len(self.rows), len(self.codes)
        held = np.flatnonzero(counts)
        if not len(held):
            held = np.zeros(1, dtype=np.intp)
        used, row = np.unique(held // V, return_inverse=True)
        return Cells(
            rows=self.rows if len(used) == D else self.rows[used],
            values=np.arange(V, dtype=np.float64) + 1.0 - first_code(self.family),
            row_of_cell=row,
            value_of_cell=held % V,
            cell_of_record=np.arange(len(held)),
            multiplicity=counts[held],
        )


@dataclass(frozen=True, eq=False)
class _Numbers(_Conditional):
    """A number's C cells: their ends `within` the range, and `opened` beyond it, both (2, C)."""

    within: Floats
    opened: Floats

    @property
    def middles(self) -> Floats:
        """A number (C,) of each cell, to begin with: in the outer ones near their inner ends."""
        low, high = self.within
        if self.family.whole_numbers:
            return high
        wide = high - low
        usual = float(np.median(wide[1:-1])) if len(wide) > 2 else 1.0
        half = 0.5 * np.minimum(wide, usual)
        return np.where(np.arange(len(wide)) == 0, high - half, low + half)

    def cells(self, counts: Floats) -> Cells:
        """Cells of the design rows and numbers that have records, by counts (D, C) of them."""
        row, value = np.nonzero(counts)
        return Cells(
            rows=self.rows,
            values=self.middles,
            row_of_cell=row,
            value_of_cell=value,
            cell_of_record=np.arange(len(row)),
            multiplicity=counts[row, value],
        )


@dataclass(frozen=True, slots=True, eq=False)
class CellFamily:
    """What is public of a counted column that its family gives.

    - `size`: The number L of its codes. A number's cells are the last ones.
    - `levels`: The category, or that of a number's parts; None where there are cells alone.
    - `numbers`: The family of a number's cells; None for a category.
    """

    size: int
    levels: _Levels | None
    numbers: _Numbers | None

    @property
    def first(self) -> int:
        """The code of the first cell."""
        return self.size if self.numbers is None else self.size - self.numbers.within.shape[1]


def by_no_family(schema: Schema, name: str, ends: tuple[Floats, Floats]) -> tuple[str, str] | None:
    """Why a column's family gives none of its public cells, and what helps; None where it does.

    `ends` are those of `cell_family`.
    """
    column = schema.columns[name]
    if column.group_by is not None:
        return "group_by has no known probabilities of public cells", "Leave group_by out"
    if column.categorical:
        return None
    if column.model not in CELL_FAMILIES:
        return (
            f"model {column.model!r} has no known probabilities of public cells",
            f"Take model {', '.join(CELL_FAMILIES)}",
        )
    whole = modelled_schema(schema)
    _, (low, high) = _cells_of(family_of(whole, name, public_design(whole, name)), ends)
    if not (low < high).all():
        return (
            f"model {column.model!r} gives some of its public cells no probability",
            "Raise the lower end of its range, name a point of mass there",
        )
    return None


def _cells_of(family: Model, ends: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Ends (2, C) of cells on the likelihood's scale, within the range and opened beyond it."""
    with np.errstate(all="ignore"):  # Where a logarithm is of 0 or less, nothing lies below.
        low, high = (family.encode(end) for end in ends)
    low, high = (np.where(np.isnan(end), -np.inf, end) for end in (low, high))
    if family.whole_numbers:
        low -= 1.0
    return np.array([low, high]), np.array(open_ends(family, low.copy(), high.copy()))


def cell_family(
    schema: Schema,
    name: str,
    values: Mapping[str, Floats],
    combinations: int,
    *,
    size: int,
    ends: tuple[Floats, Floats],
) -> CellFamily:
    """The family of a column for each of R combinations of its predictors' codes.

    `values` (R,) by variable stand for the combinations. `size` is L, and `ends` (C,) are the
    numbers that cells begin with and end before, or end with where numbers are whole. The column is
    one that `by_no_family` has nothing against.
    """
    column, whole = schema.columns[name], modelled_schema(schema)

    def designed(variable: str) -> _Conditional:
        design = public_design(whole, variable)
        matrix = design.matrix(values, n=combinations)
        first, row_of = distinct_rows(matrix.T, combinations)
        family = family_of(whole, variable, design)
        return _Conditional(family, matrix[first], row_of.astype(np.int64))

    if column.categorical:
        codes = np.arange(column.n_drawn)
        return CellFamily(size, _Levels(**vars(designed(name)), codes=codes), None)
    levels, part = None, part_of(name)
    if column.parts and is_drawn(schema, part):
        own = whole.columns[part]
        codes = np.arange(len(own.coded_levels))[: own.n_drawn] - 1
        levels = _Levels(**vars(designed(part)), codes=codes)
    numbers = designed(name)
    within, opened = _cells_of(numbers.family, ends)
    return CellFamily(size, levels, _Numbers(**vars(numbers), within=within, opened=opened))


@dataclass(frozen=True, slots=True, eq=False)
class CountedTable:
    """Noisy counts of a column by what gives it.

    Attributes
    ----------
    cell : ndarray, shape (P,)
        The row of the counts that each row of records is in.
    code : ndarray, shape (L,)
        The column of the counts that each code is in.
    counts : ndarray, shape (A, B)
        The noisy counts.
    variance : float
        That of their noise.
    """

    cell: Places
    code: Places
    counts: Floats
    variance: float

    def expected(self, records: Floats) -> Floats:
        """Counts (A, B) of records (P, L)."""
        whole, columns = np.zeros_like(self.counts), np.arange(self.counts.shape[1])
        np.add.at(whole, self.cell, records @ np.equal.outer(self.code, columns))
        return whole

    def is_whole(self, records: Floats) -> bool:
        """Whether each row and code of records (P, L) has a count of its own."""
        return len(np.unique(self.cell)) == len(records) and self.counts.shape[1] == len(self.code)

    def joined(self, level: Places) -> CountedTable:
        """The counts of levels (L,) of codes, -1 for none; columns with one level's codes join."""
        to = np.arange(self.counts.shape[1])
        for one in np.unique(level[level >= 0]):
            own = np.unique(to[self.code[level == one]])
            to[np.isin(to, own)] = own[0]
        _, to = np.unique(to, return_inverse=True)
        counts = np.zeros((len(self.counts), int(to.max()) + 1))
        np.add.at(counts.T, to, self.counts.T)
        code = np.array([to[self.code[level == v][0]] for v in range(int(level.max()) + 1)])
        many = self.counts.shape[1] / counts.shape[1]
        return CountedTable(self.cell, code, counts, self.variance * many)


@dataclass(frozen=True, slots=True, eq=False)
class FittedFamily:
    """A family's parameters by part, and the probability (R, L) of each code by combination."""

    own: CellFamily
    draws: Mapping[_Levels | _Numbers, Draws]
    probabilities: Floats

    def numbers(self, row: Places, code: Codes, rng: np.random.Generator) -> Floats:
        """A number (n,) within the cell of each record of a combination; NaN for other codes."""
        values, numbers = np.full(len(code), np.nan), self.own.numbers
        inside = code >= self.own.first
        if numbers is not None and inside.any():
            low, high = numbers.within[:, code[inside].astype(np.int64) - self.own.first]
            draw = self.draws[numbers]
            eta = linear_predictor(draw["beta"], numbers.rows)[0][numbers.row_of[row[inside]]]
            drawn = drawn_in_cells(numbers.family, draw, eta, low, high, rng)
            values[inside] = decoded(numbers.family, drawn)
        return values


def fitted_family(
    own: CellFamily, combination: Places, number: Floats, tables: Sequence[CountedTable]
) -> FittedFamily:
    """The family of a column fitted to noisy counts.

    `number` (P,) are the records of rows, each of one `combination` (P,) of R.
    """
    levels, numbers, first = own.levels, own.numbers, own.first
    probabilities = np.zeros((len((levels or numbers).row_of), own.size))  # type: ignore[union-attr]
    draws: dict[_Levels | _Numbers, Draws] = {}
    cells = np.ones((len(probabilities), 1))
    with steady_sums(), np.errstate(all="ignore"):  # A step that leads nowhere is not taken.
        if levels is not None:
            level = np.full(own.size, -1)
            level[levels.codes[levels.codes >= 0]] = np.flatnonzero(levels.codes >= 0)
            level[first:] = int(levels.codes.argmin())
            joined = [table.joined(level) for table in tables]
            draws[levels], shares = _fitted_levels(levels, combination, number, joined)
            probabilities[:, levels.codes[levels.codes >= 0]] = shares[:, levels.codes >= 0]
            cells = shares[:, levels.codes < 0]
        if numbers is not None:
            no_cells = np.where(np.arange(own.size) < first, probabilities[combination], 0.0)
            rest = no_cells * number[:, None]
            of_cells = [
                CountedTable(x.cell, x.code[first:], x.counts - x.expected(rest), x.variance)
                for x in tables
            ]
            inside = number * (cells[combination, 0] if levels is not None else 1.0)
            draws[numbers], mass = _fitted_numbers(numbers, combination, inside, of_cells)
            probabilities[:, first:] = mass * cells
    return FittedFamily(own, draws, probabilities)


def _loss(tables: Sequence[CountedTable], records: Floats) -> tuple[float, Floats]:
    """Half the squares of gaps in deviations, and their slopes by the records (P, L)."""
    loss, slope = 0.0, np.zeros_like(records)
    for table in tables:
        gap = (table.expected(records) - table.counts) / table.variance
        loss += 0.5 * table.variance * float(np.vdot(gap, gap))
        slope += gap[table.cell][:, table.code]
    return loss, slope


def _begun(tables: Sequence[CountedTable], number: Floats, size: int) -> Floats:
    """Shares (size,) of codes by the margin of the least noise, to begin with."""
    table = min(tables, key=lambda x: (len(x.counts) * x.variance, -x.counts.shape[1]))
    margin = np.maximum(table.counts.sum(axis=0), 1.0)[table.code]
    shares = margin / np.bincount(table.code)[table.code]
    return np.asarray(shares / shares.sum())


def _by_row(part: _Conditional, combination: Places, records: Floats) -> Floats:
    """Records (P, L) of combinations, by design row (D, L)."""
    summed = np.zeros((len(part.rows), records.shape[1]))
    np.add.at(summed, part.row_of[combination], records)
    return summed


def _fitted_levels(
    part: _Levels, combination: Places, number: Floats, tables: Sequence[CountedTable]
) -> tuple[Draws, Floats]:
    """The parameters of levels, and the shares (R, V) of levels."""
    family, grid, V = part.family, part.grid, len(part.codes)
    begun = number[:, None] * _begun(tables, number, V)
    K = grid.n_coefficients
    q0 = _start(family, part.cells(_by_row(part, combination, begun).ravel()))

    def shares(q: Floats) -> tuple[Draws, Floats]:
        draw = family.constrain(q[None], K)
        return draw, np.exp(family.log_likelihood(draw, grid)[0]).reshape(-1, V)

    def density(weights: Floats, q: Floats) -> tuple[float, Floats]:
        gradient = np.empty(len(q))
        value = family.log_density(q, *family.density_data(grid, weights), gradient)
        return float(value), gradient

    def value(q: Floats) -> tuple[float, Floats]:
        by_row = shares(q)[1][part.row_of[combination]] * number[:, None]
        loss, slope = _loss(tables, by_row)
        weights = _by_row(part, combination, slope * by_row).ravel()
        slopes = density(np.maximum(weights, 0.0), q)[1] - density(np.maximum(-weights, 0.0), q)[1]
        prior, of_prior = density(np.zeros(len(weights)), q)
        return loss - prior, np.where(slopes != 0.0, slopes - of_prior, 0.0)

    draw, by_row = shares(_lowest(value, q0))
    return draw, by_row[part.row_of]


def _fitted_numbers(
    part: _Numbers, combination: Places, number: Floats, tables: Sequence[CountedTable]
) -> tuple[Draws, Floats]:
    """The parameters of numbers, and the probabilities (R, C) of cells."""
    family, C, K = part.family, part.within.shape[1], part.rows.shape[1]
    begun = number[:, None] * _begun(tables, number, C)
    q0 = _start(family, part.cells(_by_row(part, combination, begun)))
    own = range(len(q0) - family.own_entries, len(q0))  # type: ignore[attr-defined]
    nobody = part.cells(np.ones((len(part.rows), C)))
    none = family.density_data(nobody, np.zeros(nobody.n_records))

    def mass(q: Floats, more: float = 0.0) -> tuple[Draws, Floats]:
        draw = family.constrain(q[None], K)
        eta = linear_predictor(draw["beta"], part.rows)[0] + more
        return draw, cell_probabilities(family, draw, eta, *part.opened)

    def value(q: Floats) -> tuple[float, Floats]:
        at = mass(q)[1]
        loss, slope = _loss(tables, number[:, None] * at[part.row_of[combination]])
        by_row = _by_row(part, combination, slope * number[:, None])
        slopes, gradient = np.zeros(len(q)), np.empty(len(q))
        slopes[:K] = (by_row * (mass(q, _NEAR)[1] - at)).sum(axis=1) @ part.rows / _NEAR
        for k in own:
            moved = q.copy()
            moved[k] += _NEAR
            slopes[k] = float((by_row * (mass(moved)[1] - at)).sum()) / _NEAR
        prior = float(family.log_density(q, *none, gradient))
        moving = np.isin(np.arange(len(q)), [*range(K), *own])
        return loss - prior, np.where(moving, slopes - gradient, 0.0)

    draw, by_row = mass(_lowest(value, q0))
    return draw, by_row[part.row_of]


def _start(family: Model, cells: Cells) -> Floats:
    """Parameters (D,) to begin with, whose coefficients have one wide prior."""
    start = family.start(cells, np.ones(cells.n_records)).centre
    draw = family.constrain(start[None], cells.n_coefficients)
    if "sigma_beta" not in draw:
        return start
    wide = np.full_like(draw["sigma_beta"], _WIDE)
    apart = np.broadcast_to(np.eye(wide.shape[-1]), draw["L_beta"].shape)
    return family.unconstrain({**draw, "sigma_beta": wide, "L_beta": apart})[0]


def _lowest(value: Callable[[Floats], tuple[float, Floats]], start: Floats) -> Floats:
    """Where a value is lowest, from a start on, by its slopes."""

    def finite(q: Floats) -> tuple[float, Floats]:
        height, slopes = value(q)
        known = math.isfinite(height) and bool(np.isfinite(slopes).all())
        return (height, slopes) if known else (_HIGH, np.zeros(len(q)))

    return np.asarray(scipy.optimize.minimize(finite, start, jac=True, method="L-BFGS-B").x)
