"""Metropolis steps of conditional tables under a clamp, beside sums over grids of shares.

A step that keeps its target is as likely as its reverse. So one step is taken from exact draws of
the target, many times. A proposal from another distribution, a reverse proposal that is left out
and a wrong window each make one direction more likely. Whole chains have the target's moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from pyvws.engines import table_groups, table_rows
from pyvws.engines.nuts import NativeEngine
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws_validation._measured_case import Findings, MeasuredRow
from pyvws_validation._moments import errors_apart, with_products
from pyvws_validation._tiny_tables import (
    ALONE,
    EACH,
    OTHERS,
    PAIRS,
    Copies,
    moments_of_two,
    two_columns,
)
from pyvws_validation.report import Measurement

_LIMIT: Final = 5.0  # Standard errors; the seeds are fixed, so the verdict is fixed too.
_COPIES: Final = 200_000
_LEAST_MOVED: Final = 0.5
_SETTINGS: Final = SamplerSettings(draws=2_000, warmup=100, chains=4)
_SEED: Final = 4
_LEARNING: Final = 200  # Steps from whose records proposals are made.
_ALONE: Final = 20_000


@dataclass(frozen=True, kw_only=True)
class _Steps(MeasuredRow):
    """What the two kinds of row share."""

    kind: str = "statement"
    source: str = "enumeration"
    outside: str = "Not the target"
    paper: str = "vws2024, section 2"
    of_units: bool = False

    @property
    def function(self) -> str:
        return "pyvws.engines.table_rows:TableRows"


@dataclass(frozen=True, kw_only=True)
class ReversedStep(_Steps):
    """One step of whole rows or of single cells from the target, and its reverse."""

    move: Literal["rows", "cells"]
    beside_others: bool = False

    def found(self) -> Findings:
        unit, others = PAIRS if self.of_units else EACH, OTHERS if self.beside_others else ALONE
        copies = Copies(unit, others, _COPIES)
        cells = self.move == "cells"
        move = table_rows.move_cells if cells else table_rows.move_rows
        after, moved = copies.moved(move, copies.others, cells=cells)
        apart = copies.irreversible(after)
        return Findings(
            (
                Measurement("a step less its reverse, standard errors", apart, 0.0, _LIMIT),
                Measurement("share of steps that move", moved, _LEAST_MOVED, 1.0),
            )
        )


@dataclass(frozen=True, kw_only=True)
class LevelsAlone(_Steps):
    """Steps of levels with their rows, and no others, beside the moments of their target.

    Of the units' rows one has too few records to move with a level, so these move alone as well.
    """

    def found(self) -> Findings:
        target = two_columns(3.0, of_units=self.of_units)
        distinct, rows = target.distinct(), table_rows.rows_of(target)
        given = (distinct.weight, distinct.count), distinct.window
        groups = table_groups.groups_of(target, rows)
        learned = np.zeros(groups[0][-1, 2]), np.zeros(len(groups[-1]))
        rng, z = np.random.default_rng(_SEED), np.log(np.full(target.dimension, 0.5))
        total, own = np.zeros((2, len(distinct.weight)))
        for table, block in zip(rows, target.blocks(), strict=True):
            assert table is not None
            table_rows.row_terms(table.packed, z[block], own)
            total += own
        drawn = np.empty((_ALONE, 3))
        for at in range(-_LEARNING, _ALONE):
            table_groups.move_groups(rng, groups, *given, z, total, learned, at < 0)
            if self.of_units and rows[1] is not None:
                table_rows.move_table(rng, rows[1].packed, *given, z[2:], total, own)
            if at >= 0:
                drawn[at] = np.exp(z[[0, 2, 4]])
        known = moments_of_two(-3.0, of_units=self.of_units)
        apart = errors_apart(with_products(drawn.reshape(4, -1, 3)), known)
        return Findings((Measurement("standard errors", apart, 0.0, _LIMIT),), seeds=(_SEED,))


@dataclass(frozen=True, kw_only=True)
class TableChains(_Steps):
    """Chains over two columns of two levels, beside the moments of their target."""

    epsilon: float
    clamp: Literal["deviance", "half"] = "deviance"

    def found(self) -> Findings:
        target = two_columns(self.epsilon, self.clamp, of_units=self.of_units)
        draws = NativeEngine().sample_table(target, _SETTINGS, seed=_SEED).draws
        first, second = (np.exp(draws[f"{name}.log_theta"]) for name in "ab")
        drawn = np.column_stack([first[:, 0, 0], second[:, :, 0]])
        low = -self.epsilon if self.clamp == "deviance" else -self.epsilon / 2.0
        known = moments_of_two(low, of_units=self.of_units)
        found = with_products(drawn.reshape(_SETTINGS.chains, -1, drawn.shape[1]))
        apart = errors_apart(found, known)
        return Findings((Measurement("standard errors", apart, 0.0, _LIMIT),), seeds=(_SEED,))


CASES: Final[tuple[MeasuredRow, ...]] = (
    ReversedStep(id="statement/table-steps-rows", move="rows"),
    ReversedStep(id="statement/table-steps-rows-beside", move="rows", beside_others=True),
    ReversedStep(id="statement/table-steps-rows-units", move="rows", of_units=True),
    ReversedStep(id="statement/table-steps-cells", move="cells"),
    ReversedStep(id="statement/table-steps-cells-beside", move="cells", beside_others=True),
    ReversedStep(id="statement/table-steps-cells-units", move="cells", of_units=True),
    LevelsAlone(id="statement/table-steps-groups"),
    LevelsAlone(id="statement/table-steps-groups-units", of_units=True),
    TableChains(id="statement/table-chains", epsilon=1.5),
    TableChains(id="statement/table-chains-wide", epsilon=3.0),
    TableChains(id="statement/table-chains-half", epsilon=6.0, clamp="half"),
    TableChains(id="statement/table-chains-units", epsilon=4.0, of_units=True),
)
