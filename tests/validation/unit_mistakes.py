"""Errors in the clamp of units: what each replaces, the wrong version, and the row it fails."""

from dataclasses import replace
from typing import Any

import numpy as np
from statement_mistakes import Wrong

from pyvws.posterior.clamp import Clamp

TARGET = "pyvws.synthesis.fit_sources:JointTarget"
FOLLOWS = "pyvws.plan.by_schema:follows"


def of_units(change: Any) -> Wrong:
    """The target by `change(target, columns, weights, clamp, counts, units)`."""
    return lambda target: lambda *given: change(target, *given)


@of_units
def the_window_of_a_record(
    target: Any, columns: Any, weights: Any, clamp: Any, counts: Any, units: Any
) -> Any:
    """Each record's term has the window for itself, so a unit of m records moves m windows."""
    return target(columns, weights[units.of_record], clamp, counts)


@of_units
def the_window_of_a_column(
    target: Any, columns: Any, weights: Any, clamp: Any, counts: Any, units: Any
) -> Any:
    """A unit's records in one column have the window, and those in the next another one."""
    alone = [
        target((column,), weights, clamp, counts, replace(units, kinds=(kinds,)))
        for column, kinds in zip(columns, units.kinds, strict=True)
    ]

    def density(q: Any) -> tuple[float, Any]:
        pairs = zip(alone, whole.blocks(), strict=True)
        found = [own.density_and_gradient()(q[at]) for own, at in pairs]
        return sum(value for value, _ in found), np.concatenate([slope for _, slope in found])

    whole = target(columns, weights, clamp, counts, units)
    return _Other(whole, density)


@of_units
def a_window_for_the_largest(
    target: Any, columns: Any, weights: Any, clamp: Any, counts: Any, units: Any
) -> Any:
    """The window is as wide as the table's largest unit has records."""
    wide = Clamp(units.largest * clamp.epsilon, clamp.kind)
    return target(columns, weights, wide, counts, units)


@of_units
def records_of_other_units(
    target: Any, columns: Any, weights: Any, clamp: Any, counts: Any, units: Any
) -> Any:
    """The last column's records are those of the units in another order."""
    *first, last = units.kinds
    turned = replace(last, of_unit=np.roll(last.of_unit, 1))
    return target(columns, weights, clamp, counts, replace(units, kinds=(*first, turned)))


@of_units
def epsilon_times_1_02(
    target: Any, columns: Any, weights: Any, clamp: Any, counts: Any, units: Any
) -> Any:
    return target(columns, weights, Clamp(1.02 * clamp.epsilon, clamp.kind), counts, units)


def a_rule_of_the_table(follows: Any) -> Any:
    """Where a record breaks a rule, no record of the table has a term of the column."""

    def wrong(*given: Any) -> Any:
        found = follows(*given)
        kept = ~found.breaking.any()
        return replace(found, modelled=found.modelled & kept, valued=found.valued & kept)

    return wrong


class _Other:
    """A target with another density."""

    def __init__(self, target: Any, density: Any) -> None:
        self._target, self._density = target, density

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def density_and_gradient(self) -> Any:
        return self._density


_ALL = [
    "deviance-poisson",
    "censored-normal",
    "deviance-tables",
    "deviance-never",
    "deviance-weight-0.4",
    "deviance-members",
]

UNIT_MISTAKES: tuple[tuple[str, str, Wrong, str], ...] = tuple(
    (what, place, wrong, f"guarantee/units-{row}")
    for what, place, wrong, rows in (
        ("the window of a record for a unit", TARGET, the_window_of_a_record, _ALL),
        ("the window of a column for a unit", TARGET, the_window_of_a_column, ["deviance-tables"]),
        ("the largest unit's window", TARGET, a_window_for_the_largest, ["deviance-tables"]),
        ("records of other units", TARGET, records_of_other_units, ["deviance-tables"]),
        (
            "epsilon times 1.02",
            TARGET,
            epsilon_times_1_02,
            ["deviance-poisson", "deviance-members"],
        ),
        ("a rule of the table", FOLLOWS, a_rule_of_the_table, ["deviance-never"]),
    )
    for row in rows
)
