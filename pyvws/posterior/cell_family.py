"""The plan's own family of a column whose public cells are counted, and its chain given records.

A category has the family's probability of each level. A number has the probability of its part, as
the schema models parts, times the family's mass of the cell; the first and the last cell take what
lies beyond the range. Predictors enter by their codes, a number by the middle of its cell. So the
probabilities depend on the combination of the predictors' codes alone.

The number behind a cell is missing data of the chain: it is drawn from the family within the cell,
and the parameters move given these numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.cores import steady_sums
from pyvws.models.model import Draws, Model, SampledScale
from pyvws.models.public_cells import (
    CELL_FAMILIES,
    cell_probabilities,
    decoded,
    drawn_in_cells,
    open_ends,
)
from pyvws.models.registry import family_of, first_code
from pyvws.models.regression import linear_predictor
from pyvws.models.sampled_scale import sampled_scale
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import Cells, distinct_rows
from pyvws.tables.design.public import public_design
from pyvws.tables.schema.column import part_of
from pyvws.tables.schema.parts import is_drawn, modelled_schema
from pyvws.tables.schema.schema import Schema

Places = NDArray[np.int64]
Codes = NDArray[np.int32]


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
    def level_of(self) -> Places:
        """The level of each code; of a cell, that of all cells, at the end."""
        level_of = np.full(int(self.codes.max()) + 2, int(self.codes.argmin()), dtype=np.int64)
        level_of[self.codes[self.codes >= 0]] = np.flatnonzero(self.codes >= 0)
        return level_of

    @cached_property
    def grid(self) -> Cells:
        """A cell for each design row and level."""
        return self.cells(np.ones(len(self.rows) * len(self.codes)))

    @cached_property
    def nobody(self) -> Cells:
        """A cell without a record."""
        return self.cells(np.zeros(len(self.rows) * len(self.codes)))

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

    def counted(self, row: Places, code: Codes) -> Cells:
        """Cells of records (n,) of these combinations and codes."""
        D, V = len(self.rows), len(self.codes)
        level = self.level_of[np.minimum(code, len(self.level_of) - 1)]
        at = self.row_of[row] * V + level
        return self.cells(np.bincount(at, minlength=D * V).astype(np.float64))


@dataclass(frozen=True, eq=False)
class _Numbers(_Conditional):
    """A number's C cells: their ends `within` the range, and `opened` beyond it, both (2, C)."""

    within: Floats
    opened: Floats

    @cached_property
    def nobody(self) -> Cells:
        """A cell without a record."""
        return self.cells(np.empty(0, dtype=np.int64), np.empty(0))

    def middles(self, cell: Places) -> Floats:
        """A number (n,) of each cell, to begin with."""
        low, high = self.within[:, cell]
        if self.family.whole_numbers:
            return high
        return np.asarray(np.where(np.isfinite(low), 0.5 * (low + high), high - 1.0))

    def cells(self, row: Places, latent: Floats) -> Cells:
        """Cells of records (n,) of these combinations and numbers."""
        weights = None
        if not len(row):  # One record that counts for nothing.
            row, latent = np.zeros(1, dtype=np.int64), self.middles(np.zeros(1, dtype=np.int64))
            weights = np.zeros(1)
        used, of_row = np.unique(self.row_of[row], return_inverse=True)
        values, value = np.unique(latent, return_inverse=True)
        held, counts = np.unique(of_row * len(values) + value, return_counts=True)
        return Cells(
            rows=self.rows[used],
            values=values,
            row_of_cell=held // len(values),
            value_of_cell=held % len(values),
            cell_of_record=np.arange(len(held)),
            multiplicity=counts.astype(np.float64) if weights is None else weights,
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
class OtherCodes:
    """Codes (n,) under other parameters of one part, and the log of the ratio of their priors."""

    codes: Codes
    log_ratio: float
    part: _Levels | _Numbers
    point: NearPoint


class FamilyChain:
    """The parameters of one column's family, which move as its records do."""

    def __init__(self, own: CellFamily) -> None:
        self.own = own
        self._runs: dict[_Levels | _Numbers, ShortRun] = {
            part: ShortRun(part.family) for part in (own.levels, own.numbers) if part is not None
        }
        self._draws: dict[_Levels | _Numbers, Draws] = {}
        self._sums = np.empty((0, 0))

    def move(self, row: Places, code: Codes, rng: np.random.Generator, *, tuning: bool) -> Floats:
        """Move the parameters given records (n,) of these combinations and codes.

        Returns the probability (R, L), in [0, 1], of each code by combination.
        """
        levels, numbers, first = self.own.levels, self.own.numbers, self.own.first
        if levels is not None:
            counted = levels.counted(row, code)
            self._draws[levels] = self._runs[levels].move(counted, rng, tuning=tuning)
        if numbers is not None:
            at, cell = row[code >= first], code[code >= first].astype(np.int64) - first
            begun = numbers in self._draws
            latent = self._within(at, cell, rng) if begun else numbers.middles(cell)
            records = numbers.cells(at, latent)
            self._draws[numbers] = self._runs[numbers].move(records, rng, tuning=tuning)
        probabilities = self._probabilities(self._draws)
        self._sums = np.cumsum(probabilities, axis=1)
        return probabilities

    def proposed(self, row: Places, code: Codes, rng: np.random.Generator) -> OtherCodes | None:
        """Other parameters and the codes that they give records (n,) of the same uniform numbers.

        A record's number is uniform among those that give its code. None before the first move, and
        of a family with exact draws.
        """
        if not self._draws:
            return None
        parts = [*self._runs]
        part = parts[int(rng.integers(len(parts)))]
        point = self._runs[part].near(part.nobody, rng)
        if point is None:
            return None
        until = self._sums[row, code]
        below = np.where(code > 0, self._sums[row, code - 1], 0.0)
        u = (below + rng.random(len(code)) * (until - below)) / self._sums[row, -1]
        sums = np.cumsum(self._probabilities({**self._draws, part: point.draw}), axis=1)
        sums /= sums[:, -1:]
        codes = (sums[row, :-1] < u[:, None]).sum(axis=1).astype(np.int32)
        return OtherCodes(codes, point.log_ratio, part, point)

    def settle(self, other: OtherCodes, chance: float, *, taken: bool, tuning: bool) -> None:
        """Take other parameters or not, whose chance of it was in [0, 1]."""
        self._runs[other.part].settle(other.point, chance, taken=taken, tuning=tuning)
        if taken:
            self._draws[other.part] = other.point.draw

    def _probabilities(self, draws: Mapping[_Levels | _Numbers, Draws]) -> Floats:
        levels, numbers, first = self.own.levels, self.own.numbers, self.own.first
        probabilities = np.zeros((len((levels or numbers).row_of), self.own.size))  # type: ignore[union-attr]
        cells = np.ones((1, 1))
        if levels is not None:
            by_row = np.exp(levels.family.log_likelihood(draws[levels], levels.grid)[0])
            shares = by_row.reshape(-1, len(levels.codes))[levels.row_of]
            probabilities[:, levels.codes[levels.codes >= 0]] = shares[:, levels.codes >= 0]
            cells = shares[:, levels.codes < 0]
        if numbers is not None:
            draw = draws[numbers]
            eta = linear_predictor(draw["beta"], numbers.rows)[0]
            mass = cell_probabilities(numbers.family, draw, eta, *numbers.opened)
            probabilities[:, first:] = mass[numbers.row_of] * cells
        return probabilities

    def numbers(self, row: Places, code: Codes, rng: np.random.Generator) -> Floats:
        """A number (n,) within the cell of each record; NaN for other codes."""
        values = np.full(len(code), np.nan)
        inside = code >= self.own.first
        if self.own.numbers is not None:
            cell = code[inside].astype(np.int64) - self.own.first
            drawn = self._within(row[inside], cell, rng, beyond=False)
            values[inside] = decoded(self.own.numbers.family, drawn)
        return values

    def _within(
        self, row: Places, cell: Places, rng: np.random.Generator, *, beyond: bool = True
    ) -> Floats:
        numbers = self.own.numbers
        assert numbers is not None
        low, high = (numbers.opened if beyond else numbers.within)[:, cell]
        draw = self._draws[numbers]
        eta = linear_predictor(draw["beta"], numbers.rows)[0][numbers.row_of[row]]
        return drawn_in_cells(numbers.family, draw, eta, low, high, rng)


_LOOKS: Final = (0, 5, 15, 40, 100)  # Tuned steps before which the scale follows the records.
_WANTED: Final = 0.8  # Share of trajectories to accept.
_FIRST_STEP: Final = 0.2
_GAIN: Final = 0.6
_LEAPS: Final = (6, 13)
_MOST_NEAR: Final = 20  # Parameters of a family for which points near the present one are tried.
_WANTED_NEAR: Final = 0.3  # Share of points near the present one to take.

_Density = Callable[[Floats, Floats], tuple[float, Floats]]


@dataclass(frozen=True, slots=True, eq=False)
class NearPoint:
    """Parameters as the family's draw, on both scales, and the log of their prior over the present
    ones' prior. They differ from these in coordinate `k` of z."""

    draw: Draws
    q: Floats
    z: Floats
    k: int
    log_ratio: float


class ShortRun:
    """A chain of a family's parameters that takes one step whenever its records have changed.

    A step is a Hamiltonian trajectory on the scale that samplers see (`models/sampled_scale.py`),
    with a Metropolis test, so it leaves the posterior given the records as it is. Where a family
    has exact draws, a step is such a draw. While the chain is tuned, its scale follows the records
    and its step size follows the acceptance. Afterwards both stay as they are. A point near the
    present one can be taken together with other records, where these keep the parameters from
    moving.
    """

    def __init__(self, family: Model) -> None:
        self.family = family
        self._scale: SampledScale | None = None
        self._q, self._z = np.empty(0), np.empty(0)
        self._steps, self._log_step = 0, math.log(_FIRST_STEP)
        self._tries, self._log_reach = np.empty(0), np.empty(0)

    def move(self, cells: Cells, rng: np.random.Generator, *, tuning: bool) -> Draws:
        """The parameters (S = 1) after one step under the records of these cells."""
        weights = np.ones(cells.n_records)
        exact = self.family.exact_draws(cells, weights, 1, rng)
        if exact is not None:
            return exact
        if self._scale is None or (tuning and self._steps in _LOOKS):
            with steady_sums(), np.errstate(all="ignore"):
                start = self.family.start(cells, weights)
                if self._scale is None:
                    self._q = start.centre.copy()
                self._scale = sampled_scale(start)
                self._z = self._scale.inverse(self._q)
        density = self._density(self._scale, cells)
        with np.errstate(all="ignore"):  # A trajectory that leads nowhere is not accepted.
            accepted = self._trajectory(density, rng)
        if tuning:
            self._log_step += _GAIN * (accepted - _WANTED) / math.sqrt(1.0 + self._steps)
            self._steps += 1
        return self.family.constrain(self._q[None], cells.n_coefficients)

    def near(self, nobody: Cells, rng: np.random.Generator) -> NearPoint | None:
        """Parameters near the present ones, for a move together with records.

        `nobody` is a cell without a record. None where the family has exact draws, and for many
        parameters, of which a step along one moves too little.
        """
        if self._scale is None or len(self._z) > _MOST_NEAR:
            return None
        density = self._density(self._scale, nobody)
        if not len(self._tries):
            self._tries, self._log_reach = np.zeros(len(self._z)), np.zeros(len(self._z))
        z, k = self._z.copy(), int(rng.integers(len(self._z)))
        z[k] += math.exp(self._log_reach[k]) * rng.standard_exponential() * rng.standard_normal()
        with np.errstate(all="ignore"):
            q = np.empty(len(z))
            before, height = density(self._z, q)[0], density(z, q)[0]
            draw = self.family.constrain(q[None], nobody.n_coefficients)
        ratio = height - before
        return NearPoint(draw, q, z, k, ratio) if math.isfinite(ratio) else None

    def settle(self, point: NearPoint, chance: float, *, taken: bool, tuning: bool) -> None:
        """Take a point or not, whose chance of it was in [0, 1]; tune how far points lie."""
        if taken:
            self._q, self._z = point.q, point.z
        if tuning:
            k = point.k
            self._tries[k] += 1.0
            self._log_reach[k] += 2.0 * (chance - _WANTED_NEAR) / math.sqrt(self._tries[k])

    def _density(self, scale: SampledScale, cells: Cells) -> _Density:
        target = PseudoPosterior(self.family, cells, np.ones(cells.n_records))
        return partial(scale.density, target.density_and_gradient())

    def _trajectory(self, density: _Density, rng: np.random.Generator) -> float:
        """Move by one trajectory, or stay; returns the probability of moving."""
        z, q = self._z, np.empty(len(self._z))
        momentum = rng.standard_normal(len(z))
        leaps = int(rng.integers(*_LEAPS))
        step = math.exp(self._log_step) * rng.uniform(0.8, 1.2)
        height, slope = density(z, q)
        before = height - 0.5 * float(momentum @ momentum)
        for _ in range(leaps):
            momentum = momentum + 0.5 * step * slope
            z = z + step * momentum
            height, slope = density(z, q)
            if not math.isfinite(height):
                break
            momentum = momentum + 0.5 * step * slope
        gain = height - 0.5 * float(momentum @ momentum) - before
        accepted = math.exp(min(gain, 0.0)) if math.isfinite(gain) else 0.0
        if rng.random() < accepted:
            self._q, self._z = q, z
        return accepted
