"""Tables of a few records under a clamp: the moments of their targets, and moves from them.

Under a prior of Dirichlet(1/2, 1/2) a share of two levels is sin(angle)^2 with a uniform angle. So
sums over a grid of angles give the target's moments, and its distribution by inversion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.engines.table_rows import rows_of
from pyvws.models.conditional_table import ConditionalTable
from pyvws.models.sequence import Conditional, TableCells
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.joint_target import JointTarget
from pyvws.tables.design.cells import make_cells
from pyvws.tables.design.units import Units
from pyvws_validation._moments import with_products

COIN: Final = ConditionalTable(levels=("x", "y"))
FIRST: Final = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0])
SECOND: Final = np.array([1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 2.0])
WEIGHTS: Final = np.array([1.0, 1.0, 0.5, 1.0, 1.0, 0.0, 1.0])
_UNIT: Final = np.array([0, 0, 1, 0, 1, 2, 3])
_OF_UNITS: Final = np.array([1.0, 0.7, 0.0, 0.9])
"""One unit has records of two levels in one pattern, and records in both patterns."""

_GRID: Final = 80
_OUTCOMES: Final = np.array([1.0, 1.0, 1.0, 2.0, 1.0, 2.0, 2.0, 1.0])
EACH: Final = np.arange(8)
PAIRS: Final = np.array([0, 0, 1, 1, 2, 2, 3, 4])
ALONE: Final = np.zeros((1, 8))
OTHERS: Final = np.log([np.linspace(0.2, 0.9, 8), np.linspace(0.8, 0.3, 8), np.full(8, 0.6)])
"""The terms (3, 8) of another column's three equally likely parameters."""


def two_columns(epsilon: float, kind: str = "deviance", *, of_units: bool = False) -> JointTarget:
    """Two columns of two levels, the second by the first, of seven weighted records or units."""
    columns = (
        Conditional("a", replace(COIN, patterns=1), make_cells(FIRST, np.zeros((7, 1)))),
        Conditional("b", replace(COIN, patterns=2), make_cells(SECOND, FIRST[:, None] - 1.0)),
    )
    clamp = Clamp(epsilon, kind)
    if not of_units:
        return JointTarget(columns, WEIGHTS, clamp)
    places = [(column.places(7), column.cells.n_cells) for column in columns]
    units = Units.of(TableCells.of(columns, 7), _UNIT, places)
    return JointTarget(columns, _OF_UNITS, clamp, units=units)


def moments_of_two(low: float, *, of_units: bool = False) -> Floats:
    """Moments `with_products` of P(a = x), P(b = x | a = x), P(b = x | a = y) of `two_columns`.

    Each weighted sum of a record's or unit's terms lies between `low` and 0.
    """
    share = np.sin((np.arange(_GRID) + 0.5) / _GRID * np.pi / 2.0) ** 2
    shares = np.stack(np.meshgrid(share, share, share, indexing="ij"), axis=-1).reshape(-1, 3)
    logs = np.log([shares.T, 1.0 - shares.T])
    unit, weights = (_UNIT, _OF_UNITS) if of_units else (np.arange(7), WEIGHTS)
    total = np.zeros((len(weights), len(shares)))
    for a, b, own in zip(FIRST, SECOND, unit, strict=True):
        total[own] += logs[int(a) - 1, 0] + logs[int(b) - 1, int(a)]
    log_density = np.clip(weights[:, None] * total, low, 0.0).sum(axis=0)
    density = np.exp(log_density - log_density.max())
    return np.asarray(density @ with_products(shares) / density.sum())


class Copies:
    """Exact draws of a pattern's shares and of the other columns' parameter, before and after a
    move.

    The draws are by the inverse of their distribution, and each of P has a pattern with its own
    copies of the records, whose units are those of `unit`. `others` (Q, 8) are the records' terms
    in the other columns, at each of their Q parameters.
    """

    def __init__(self, unit: NDArray[np.intp], others: Floats, P: int) -> None:
        column = Conditional(
            "y", replace(COIN, patterns=1), make_cells(_OUTCOMES, np.zeros((8, 1)))
        )
        units = Units.of(TableCells.of((column,), 8), unit, [(column.places(8), 2)])
        weights = np.linspace(1.0, 0.6, unit.max() + 1)
        target = JointTarget((column,), weights, Clamp(1.6, "deviance"), units=units)
        distinct = target.distinct()
        (rows,) = rows_of(target)
        assert rows is not None
        # Units that are alike stand together, so the others' terms are those of one of each.
        of_units = np.array([others[:, unit == at].sum(axis=1) for at in distinct.first]).T
        (start, own, level, times), M = rows.entries, len(distinct.weight)

        def sums(log_share: Floats) -> Floats:
            """The units' sums (M, P) at log shares (2, P)."""
            terms = times[:, None] * log_share[level]
            return np.array([terms[own == at].sum(axis=0) for at in range(M)])

        angle = (np.arange(40_000) + 0.5) / 40_000 * np.pi / 2.0
        at_angles = sums(2.0 * np.log([np.sin(angle), np.cos(angle)]))
        density = np.array(
            [
                np.exp(
                    distinct.count @ np.clip(distinct.weight[:, None] * (at_angles + more), -1.6, 0)
                )
                for more in of_units[:, :, None]
            ]
        )
        rng = np.random.default_rng(8)
        parameter = rng.choice(len(others), P, p=density.sum(axis=1) / density.sum())
        below = np.cumsum(density, axis=1) / density.sum(axis=1, keepdims=True)
        u, ends = rng.random(P), angle + 0.25 * np.pi / 40_000
        before = np.empty(P)
        for at in range(len(others)):
            before[parameter == at] = np.interp(u[parameter == at], below[at], ends)
        self.before = np.sin(before) ** 2
        self.others = of_units[parameter].T
        self._sums, self._rng, self._P = sums, rng, P
        entries = (
            np.arange(P + 1) * start[1],
            np.add.outer(np.arange(P) * M, own).ravel(),
            *(np.tile(part, P) for part in (level, times)),
        )
        copied = tuple(np.tile(part, P) for part in (distinct.weight, distinct.count))
        self._given = entries, copied, distinct.window
        self._rare = np.arange(P), np.zeros(P, np.intp), np.full(P, rows.rare[2][0])

    def moved(
        self, move: Callable[..., int], others: Floats, *, cells: bool
    ) -> tuple[Floats, float]:
        """The shares (P,) after a move, of single `cells` or whole rows, that takes the other
        columns' terms to be `others` (M, P); and the part of the copies that moved.
        """
        shares = np.log([self.before, 1.0 - self.before]).T.copy()
        total = (self._sums(shares.T) + others).T.ravel().copy()
        rare = (self._rare,) if cells else ()
        count = move(self._rng, shares, 0.5, *rare, *self._given, total)
        assert np.allclose(np.exp(shares).sum(axis=1), 1.0)
        assert np.allclose(total.reshape(self._P, -1), (self._sums(shares.T) + others).T)
        return np.exp(shares[:, 0]), count / self._P

    def irreversible(self, after: Floats) -> float:
        """How far x^a y^b - y^a x^b of shares before and after is from 0, in standard errors.

        Its mean is 0 where a move from the target is as likely as its reverse.
        """
        x, far = self.before, []
        for a, b in ((0, 1), (0, 2), (1, 2), (1, 4)):
            gap = x**a * after**b - after**a * x**b
            far.append(abs(gap.mean()) / gap.std() * np.sqrt(self._P))
        return float(max(far))
