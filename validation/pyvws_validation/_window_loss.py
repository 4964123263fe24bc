"""Losses of small tables under estimated bounds, beside the figures that their runs state.

A run draws exactly from a grid, and its loss is taken over the points that it drew. These are the
points where the bound is known to hold. With the weights held fixed the posterior of a neighbour is
that of the same weights without one record. Otherwise the neighbour's run finds its own weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import PyvwsError
from pyvws.posterior.draws import Posterior
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.release.synthesizer import synthesize
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._grid_engine import EnumeratedGrid, grid, log_posterior
from pyvws_validation._measured_case import OF_DRAWS, OF_TABLES, Findings, MeasuredRow, expected
from pyvws_validation.report import Measurement

_SEED: Final = 2**60 + 1
_DRAWS: Final = 2000
_ROUNDING: Final = 1e-9
_PAPER: Final = "vws2024, Equation 3"

Rows = tuple[tuple[float | str, ...], ...]
"""The records of a table, each with a value for each of its columns."""


@dataclass
class _Grids:
    """An engine that draws exactly from a grid of each column, known by its number of parameters.

    `fitted` has the latest target of each column, and `seen` says which points it drew.
    """

    grids: tuple[Floats, ...]
    fitted: dict[int, PseudoPosterior] = field(default_factory=dict)
    seen: dict[int, np.ndarray] = field(default_factory=dict)
    name: str = "grid"

    def sample(
        self, target: PseudoPosterior, settings: SamplerSettings, *, seed: int, **_: Any
    ) -> Posterior:
        D = target.dimension
        (points,) = (grid for grid in self.grids if grid.shape[1] == D)
        posterior = EnumeratedGrid(points).sample(target, settings, seed=seed)
        drawn = target.model.unconstrain(posterior.draws)
        self.fitted[D] = target
        self.seen[D] = np.array([np.isclose(drawn, q).all(axis=1).any() for q in points])
        return posterior


@dataclass(frozen=True)
class Fit:
    """The statement of a run, its targets and the points of each column that it drew."""

    statement: dict[str, Any]
    engine: _Grids

    def logs(self, without: tuple[int, ...] = ()) -> list[Floats]:
        """Log posterior (G_k,) of each column's grid, the records `without` left out.

        All other records keep their weights.
        """
        return [
            log_posterior(_without(self.engine.fitted[points.shape[1]], without), points)
            for points in self.engine.grids
        ]

    def largest(self, first: list[Floats], second: list[Floats]) -> float:
        """The largest |log ratio| of two joint posteriors over the points that this run drew."""
        ratios = [
            (own - other)[self.engine.seen[points.shape[1]]]
            for own, other, points in zip(first, second, self.engine.grids, strict=True)
        ]
        ends = sum(ratio.max() for ratio in ratios), sum(ratio.min() for ratio in ratios)
        return float(max(abs(end) for end in ends))


def _without(target: PseudoPosterior, records: tuple[int, ...]) -> PseudoPosterior:
    weights = target.weights.copy()
    weights[list(records)] = 0.0
    return PseudoPosterior(target.model, target.cells, weights)


@dataclass(frozen=True, kw_only=True)
class WindowLoss(MeasuredRow):
    """The losses of small tables with the weights held fixed, over the figures that runs state.

    Each table is run whole; `columns` are its columns in a schema. A record is left out, or one
    record is left out of one table and another record of the other: neighbours by replacement. The
    loss must be at most the window's figure, and reach `least` of it on some table. `recomputed`
    shows the loss of a neighbour with weights of its own, over Delta, which no figure covers.
    """

    outside: str = "Above the figure, or too far below it to show anything"
    source: str = "the window's figure"
    columns: dict[str, Column]
    grids: tuple[Floats, ...]
    tables: tuple[Rows, ...]
    settings: dict[str, Any]
    least: dict[str, float]
    recomputed: tuple[float, float] | None = None

    def found(self) -> Findings:
        shares = dict.fromkeys(self.least, 0.0)
        of_papers, ratio = 0.0, 0.0
        for table in self.tables:
            fit = self._run(table)
            stated = fit.statement["epsilon_by_neighbours"]
            lost = self._losses(fit, len(table))
            for neighbours, loss in lost.items():
                figure = stated[neighbours]["of_window"]
                shares[neighbours] = max(shares[neighbours], loss / figure)
            of_papers = max(of_papers, lost["leave-one-out"] / fit.statement["epsilon_per_dataset"])
            if self.recomputed is not None:
                ratio = max(ratio, self._recomputed(fit, table))
        measured = [
            Measurement(f"{name} loss over the window's figure", share, low, 1.0 + _ROUNDING)
            for (name, share), low in zip(shares.items(), self.least.values(), strict=True)
        ]
        what = "leave-one-out loss over 2 Delta"
        measured.append(Measurement(what, of_papers, 0.0, 1.0 + _ROUNDING))
        if self.recomputed is not None:
            what = "loss with the neighbour's own weights, over Delta"
            measured.append(Measurement(what, ratio, *self.recomputed))
        return Findings(tuple(measured))

    def _losses(self, fit: Fit, records: int) -> dict[str, float]:
        whole = fit.logs()
        each = [fit.logs((record,)) for record in range(records)]
        pairs = [(logs, other) for logs in each for other in each if logs is not other]
        return {
            "leave-one-out": max(fit.largest(whole, logs) for logs in each),
            "replace-one": max(fit.largest(own, other) for own, other in pairs),
        }

    def _recomputed(self, fit: Fit, table: Rows) -> float:
        """The largest loss over Delta between the table and its neighbours, run on their own."""
        whole, largest = fit.logs(), 0.0
        for record in range(len(table)):
            try:
                other = self._run(table[:record] + table[record + 1 :])
            except PyvwsError:  # LW refuses a table whose bounds are all equal.
                continue
            delta = max(run.statement["lipschitz_bound"] for run in (fit, other))
            largest = max(largest, fit.largest(whole, other.logs()) / delta)
        return largest

    def _run(self, table: Rows) -> Fit:
        engine = _Grids(self.grids)
        values = zip(*table, strict=True)
        frame = pl.DataFrame(dict(zip(self.columns, map(list, values), strict=True)))
        with expected(*OF_DRAWS, *OF_TABLES):
            release = synthesize(
                frame,
                schema=Schema(self.columns),
                engine=engine,
                datasets=1,
                draws=_DRAWS,
                chains=1,
                seed=_SEED,
                **self.settings,
            )
        return Fit(release.summary["privacy"], engine)


def _column(values: str | tuple[float, ...]) -> Rows:
    """The records of a table of one column."""
    return tuple((value,) for value in values)


_LEVELS: Final = {"y": Column(model="logistic", levels=("a", "b"))}
_TWO_ODDS: Final = grid([-3.0, 3.0], [0.0])
_PLACE: Final = 0.072  # A density at this distance is as far below 0 as it lies above 0 at none.
_BELOW_1: Final = {"mechanism": "sw", "match": 1.0}
_LW: Final = {"mechanism": "lw", "g": 0.0}
_BOTH: Final = ("leave-one-out", "replace-one")

WINDOWS: Final = (
    WindowLoss(
        id="guarantee/window-logistic",
        paper=_PAPER,
        columns=_LEVELS,
        grids=(_TWO_ODDS,),
        tables=(_column("aaaab"),),
        settings=_BELOW_1,
        least=dict.fromkeys(_BOTH, 0.9),
    ),
    WindowLoss(
        id="guarantee/window-mixed",
        paper=_PAPER,
        columns={**_LEVELS, "z": Column(model="normal", predictors=())},
        grids=(_TWO_ODDS, grid([-_PLACE, _PLACE], [0.0], [-3.0])),
        tables=((*(("a", -_PLACE),) * 6, ("b", _PLACE)),),
        settings={"mechanism": "sw", "match": 1.5},
        least=dict.fromkeys(_BOTH, 0.95),
    ),
    WindowLoss(
        id="guarantee/window-poisson",
        paper=_PAPER,
        columns={"y": Column(model="poisson")},
        grids=(grid(np.linspace(-2.0, 3.0, 51).tolist(), [0.0]),),
        tables=(_column((0, 0, 0, 8)), _column((1, 1, 2, 9)), _column((0, 0, 1, 1))),
        settings=_LW,
        least={"leave-one-out": 0.7, "replace-one": 0.3},
    ),
    WindowLoss(
        id="guarantee/window-weights-recomputed",
        paper=_PAPER,
        columns=_LEVELS,
        grids=(grid(np.linspace(-3.0, 3.0, 25).tolist(), [0.0]),),
        tables=(_column("aabb"), _column("aaabbb")),
        settings=_LW,
        least={"leave-one-out": 0.7, "replace-one": 0.3},
        recomputed=(2.0, 100.0),
    ),
)
"""The last row also shows what no figure covers: weights that are found anew."""
