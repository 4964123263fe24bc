"""Synthetic values in steps of records, so that a table's storage does not change them.

Whole units, such as households, are drawn with their members in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.models.model import Draws
from pyvws.models.sequence import DrawnColumn, draws_of
from pyvws.posterior.systematic_draws import SystematicStream
from pyvws.tables.members import Members
from pyvws.tables.row_order import RowNumbers
from pyvws.tables.schema import Schema
from pyvws.tables.table_writers import AT_ONCE

__all__ = ["UnitsDrawn", "predicted", "predicted_units", "unit_steps"]

_TRIES: Final = 50  # Draws of a value within its limits, before the nearest limit is taken.
_UNIT_TRIES: Final = 50  # Draws of units that are possible.


def predicted(
    columns: Sequence[DrawnColumn],
    draw: Draws,
    rng: np.random.Generator,
    *,
    rows: RowNumbers | int,
    public: Mapping[str, Floats],
) -> dict[str, Floats]:
    """Synthetic values by column, in the table's coding, from one joint draw (S = 1).

    Row j stands for record rows[j]; a number stands for all records in their order. `public` has
    the coded public predictors (N,) of columns that are drawn from synthetic values. Rows are drawn
    `AT_ONCE` at a time, column after column, each from the synthetic values before it. A value
    outside its public limits is drawn again, and rules settle the rest. A `SystematicStream` draws
    the records of each step and column systematically, but for values that are drawn again.
    """
    many = rows if isinstance(rows, int) else len(rows)
    steps = [slice(at, at + AT_ONCE) for at in range(0, many, AT_ONCE)]
    own = [draws_of(draw, one.column) or draw for one in columns]
    made: dict[str, list[Floats]] = {one.column: [] for one in columns}
    for step in steps:
        of = step if isinstance(rows, int) else rows[step]
        n = len(range(many)[step])
        values = {name: column[of] for name, column in public.items()}
        for one, drawn in zip(columns, own, strict=True):
            values[one.column] = _drawn(one, drawn, rng, of, values, n)
            made[one.column].append(values[one.column])
    return {
        name: parts[0] if len(parts) == 1 else np.concatenate(parts) for name, parts in made.items()
    }


def _drawn(
    one: DrawnColumn,
    draw: Draws,
    rng: np.random.Generator,
    of: Any,
    values: Mapping[str, Floats],
    n: int,
) -> Floats:
    """Values (n,) of one column for the rows `of`, given the `values` (n,) of those before it."""
    finish, model = one.finish, one.model
    if model is None:
        return np.ones(n) if finish is None else finish.settled(np.ones(n), values)
    design = one.design_rows(of, values)
    seen = None if one.seen is None else one.seen[of]
    first = rng.of_records(design) if isinstance(rng, SystematicStream) else rng
    found = model.predict(draw, design, first, outcome=seen)
    found = found + one.first if one.first else found
    if finish is None:
        return found
    found, (low, high) = finish.rounded(found), finish.limits(values)
    for _ in range(_TRIES):
        bad = np.flatnonzero((found < low) | (found > high))
        if not len(bad):
            break
        again = model.predict(draw, design[bad], rng, outcome=None if seen is None else seen[bad])
        found[bad] = finish.rounded(again + one.first)
    return finish.settled(np.clip(found, low, high), values)


@dataclass(frozen=True, slots=True)
class UnitsDrawn:
    """How units are drawn: the schema of their members, and which columns are theirs.

    The first `of_unit` columns to draw are drawn once a unit. The confidential table has `number`
    units, and `impossible` members that meet a condition which none can meet.
    """

    schema: Schema
    of_unit: int
    number: int
    impossible: int = 0

    @property
    def members(self) -> Members:
        """What is public of the members."""
        assert self.schema.members is not None
        return self.schema.members


def predicted_units(
    columns: Sequence[DrawnColumn],
    draw: Draws,
    rng: np.random.Generator,
    *,
    drawn: UnitsDrawn,
    units: int,
) -> dict[str, Floats]:
    """Synthetic values by column of the members of new units, from one joint draw (S = 1).

    The values of all steps of `unit_steps`, one after the other.
    """
    parts = list(unit_steps(columns, draw, rng, drawn=drawn, units=units))
    return {name: np.concatenate([one[name] for one in parts]) for name in parts[0]}


def unit_steps(
    columns: Sequence[DrawnColumn],
    draw: Draws,
    rng: np.random.Generator,
    *,
    drawn: UnitsDrawn,
    units: int,
) -> Iterator[dict[str, Floats]]:
    """Synthetic values by column of the members of some new units at a time.

    The column of the unit's ids has the numbers 1 to `units`, and the members of a unit stand in
    their order. A member that meets a condition under `impossible` is drawn again, and after that
    its whole unit. So a synthetic unit follows the draw given that it is possible. Raises
    InputError where hardly any unit is.
    """
    own = [(one, draws_of(draw, one.column) or draw) for one in columns]
    left = units
    for _ in range(_UNIT_TRIES + units // AT_ONCE):
        batch = min(left, AT_ONCE)
        made, unit, possible = _units(own, rng, drawn, batch)
        kept = possible[unit]
        made = {name: values[kept] for name, values in made.items()}
        made[drawn.schema.unit or ""] = (np.cumsum(possible) + units - left)[unit[kept]]
        yield made
        left -= int(possible.sum())
        if not left:
            return
    raise InputError(
        f"After {_UNIT_TRIES} tries some synthetic units still meet a condition under impossible. "
        "Name predictors and summaries by which the members follow it, or take the condition out."
    )


def _units(
    columns: Sequence[tuple[DrawnColumn, Draws]],
    rng: np.random.Generator,
    drawn: UnitsDrawn,
    units: int,
) -> tuple[dict[str, Floats], RowNumbers, Any]:
    """Values by column of members (M,), their units (M,), and which units are possible (units,)."""
    members, known = drawn.members, drawn.schema.columns
    of_unit: dict[str, Floats] = {}
    for one, own in columns[: drawn.of_unit]:
        of_unit[one.column] = _of_nobody(one, own, rng, of_unit, units)
    sizes = members.sizes[0] + of_unit[members.size] - 1.0
    before, possible = members.start(units, known), np.ones(units, dtype=np.bool_)
    parts, numbers = [], []
    for place in range(members.sizes[1]):
        unit = np.flatnonzero(sizes > place)
        given = {name: x[unit] for name, x in (of_unit | before).items()}
        values = _members(columns[drawn.of_unit :], rng, given, len(unit))
        bad = np.flatnonzero(members.breaking(values, known))
        for _ in range(_TRIES):
            if not len(bad):
                break
            again = _members(
                columns[drawn.of_unit :], rng, {name: x[bad] for name, x in given.items()}, len(bad)
            )
            for name, x in again.items():
                values[name][bad] = x
            bad = bad[members.breaking(again, known)]
        possible[unit[bad]] = False
        own_before = {name: x[unit] for name, x in before.items()}
        for name, x in members.after(own_before, values, known).items():
            before[name][unit] = x
        parts.append(values)
        numbers.append(unit)
    number = np.concatenate(numbers)
    order = np.argsort(number, kind="stable")
    made = {name: np.concatenate([one[name] for one in parts])[order] for name in parts[0]}
    return made, number[order], possible


def _members(
    columns: Sequence[tuple[DrawnColumn, Draws]],
    rng: np.random.Generator,
    given: Mapping[str, Floats],
    n: int,
) -> dict[str, Floats]:
    """Values (n,) of one member of n units, beside the `given` ones of units and summaries."""
    values = dict(given)
    for one, own in columns:
        values[one.column] = _of_nobody(one, own, rng, values, n)
    return values


def _of_nobody(
    one: DrawnColumn,
    draw: Draws,
    rng: np.random.Generator,
    values: Mapping[str, Floats],
    n: int,
) -> Floats:
    """Values (n,) of rows that stand for no record; without predictors one is like another."""
    return _drawn(one, draw, rng, np.zeros(n, dtype=np.intp), values, n)
