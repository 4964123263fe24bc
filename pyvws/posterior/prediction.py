"""Synthetic values in steps of records, so that a table's storage does not change them.

Whole units, such as households, are drawn with their members in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.models.model import Draws, HasShares, PredictsBetween
from pyvws.models.sequence import DrawnColumn, draws_of
from pyvws.posterior.systematic_draws import SystematicStream
from pyvws.tables.files.row_order import RowNumbers
from pyvws.tables.files.write import AT_ONCE
from pyvws.tables.schema.parts import UnitsDrawn

_TRIES: Final = 50  # Draws of a value, or of a record, that its column's rules refuse.
_ROWS: Final = 1 << 14  # Rows whose levels' probabilities are there at once.
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
    `AT_ONCE` at a time, column after column, each from the synthetic values before it. A value that
    its column refuses is drawn again, a barred level among those that are left, and rules settle
    the rest; a record that breaks a rule all the same is drawn again as a whole. A
    `SystematicStream` draws the records of each step and column systematically, but for values that
    are drawn again. Raises InputError where hardly any record keeps the rules.
    """
    many = rows if isinstance(rows, int) else len(rows)
    steps = [slice(at, at + AT_ONCE) for at in range(0, many, AT_ONCE)]
    own = [(column, draws_of(draw, column.column) or draw) for column in columns]
    rows_of: dict[str, list[Floats]] = {column.column: [] for column in columns}
    for step in steps:
        places = np.arange(many)[step] if isinstance(rows, int) else rows[step]
        records = step if isinstance(rows, int) else places
        given = {name: column[records] for name, column in public.items()}
        values, bad = _kept(own, rng, records, places, given)
        if len(bad):
            broken = next(
                column.column for column in columns if _breaking([column], values)[bad].any()
            )
            raise InputError.by("rules-broken-after-draws", tries=_TRIES, broken=broken)
        for name, parts in rows_of.items():
            parts.append(values[name])
    return {
        name: parts[0] if len(parts) == 1 else np.concatenate(parts)
        for name, parts in rows_of.items()
    }


def _kept(
    columns: Sequence[tuple[DrawnColumn, Draws]],
    rng: np.random.Generator,
    records: RowNumbers | slice,
    places: RowNumbers,
    given: Mapping[str, Floats],
    refused: Callable[[Mapping[str, Floats]], Any] = lambda _: False,
) -> tuple[dict[str, Floats], RowNumbers]:
    """Values (n,) of some columns beside the `given` ones, and the rows that are left as refused.

    The rows stand for the records `places` (n,), which `records` may give as a slice. A row that
    breaks a rule, or that is `refused`, is drawn again.
    """
    alone = [column for column, _ in columns]
    values = _once(columns, rng, records, given, len(places))
    bad = np.flatnonzero(_breaking(alone, values) | refused(values))
    for _ in range(_TRIES):
        if not len(bad):
            break
        own = {name: x[bad] for name, x in given.items()}
        again = _once(columns, rng, places[bad], own, len(bad))
        for name, x in again.items():
            values[name][bad] = x
        bad = bad[_breaking(alone, again) | refused(again)]
    return values, bad


def _once(
    columns: Sequence[tuple[DrawnColumn, Draws]],
    rng: np.random.Generator,
    records: RowNumbers | slice,
    given: Mapping[str, Floats],
    n: int,
) -> dict[str, Floats]:
    """Values (n,) of some columns, one after the other, beside the `given` ones."""
    values = dict(given)
    for column, draw in columns:
        values[column.column] = _drawn(column, draw, rng, records, values, n)
    return values


def _breaking(columns: Sequence[DrawnColumn], values: Mapping[str, Floats]) -> NDArray[np.bool_]:
    """Whether rows (n,) with these values break a rule of a column."""
    broken = np.zeros(len(values[columns[0].column]), dtype=np.bool_)
    for column in columns:
        if column.finish is not None:
            broken |= column.finish.broken(values)
    return broken


def _drawn(
    column: DrawnColumn,
    draw: Draws,
    rng: np.random.Generator,
    records: RowNumbers | slice,
    values: Mapping[str, Floats],
    n: int,
) -> Floats:
    """Values (n,) of one column for the `records`, given the `values` (n,) of those before it."""
    finish, model = column.finish, column.model
    if model is None:
        return np.ones(n) if finish is None else finish.settled(np.ones(n), values)
    design = column.design_rows(records, values)
    seen = None if column.seen is None else column.seen[records]
    first = rng.of_records(design) if isinstance(rng, SystematicStream) else rng
    ends = None if column.ends is None else column.ends(values)

    def predict(rows: RowNumbers | slice, stream: np.random.Generator) -> Floats:
        if ends is not None and isinstance(model, PredictsBetween):
            return model.predict_between(draw, design[rows], ends[rows], stream)
        return model.predict(
            draw, design[rows], stream, outcome=None if seen is None else seen[rows]
        )

    drawn = predict(slice(None), first)
    drawn = drawn + column.first if column.first else drawn
    if finish is None:
        return drawn
    drawn = finish.rounded(drawn)
    for _ in range(_TRIES):
        bad = np.flatnonzero(finish.refused(drawn, values))
        if not len(bad):
            break
        left = finish.left({name: x[bad] for name, x in values.items()})
        if left is not None and isinstance(model, HasShares):
            drawn[bad] = _among(model, draw, design[bad], left, rng)
        else:
            drawn[bad] = finish.rounded(predict(bad, rng) + column.first)
    return finish.settled(drawn, values)


def _among(
    model: HasShares, draw: Draws, design: Floats, left: NDArray[np.bool_], rng: np.random.Generator
) -> Floats:
    """Codes (n,) from 1 of the levels that are `left` (n, L), by their shares of the rest.

    A value that is drawn from all levels, and again so where it is barred, has its probability
    given that it is not barred. A row without any level left has any level.
    """
    codes = np.empty(len(design))
    for at in range(0, len(design), _ROWS):
        rows = slice(at, at + _ROWS)
        allowed = left[rows] | ~left[rows].any(axis=1, keepdims=True)
        shares = np.where(allowed, model.log_shares(draw, design[rows]), -np.inf)
        below = np.cumsum(np.exp(shares - shares.max(axis=1, keepdims=True)), axis=1)
        total = below[:, -1]
        u = np.minimum(rng.random(len(total)) * total, np.nextafter(total, 0.0))
        codes[rows] = 1.0 + (below[:, :-1] <= u[:, None]).sum(axis=1)
    return codes


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
    known = drawn.members.known_draws
    own = [
        (column, known.get(column.column) or draws_of(draw, column.column) or draw)
        for column in columns
    ]
    left = units
    for _ in range(_UNIT_TRIES + units // AT_ONCE):
        batch = min(left, AT_ONCE)
        values, possible = _units(own, rng, drawn, batch, units - left)
        yield values
        left -= possible
        if not left:
            return
    raise InputError.by("impossible-after-tries", unit_tries=_UNIT_TRIES)


def _units(
    columns: Sequence[tuple[DrawnColumn, Draws]],
    rng: np.random.Generator,
    drawn: UnitsDrawn,
    units: int,
    before: int,
) -> tuple[dict[str, Floats], int]:
    """Values by column of the members (M,) of those among some new units that are possible.

    Also how many these are. Their ids begin after the number `before`.
    """
    members, known = drawn.members, drawn.schema.columns
    nobody = np.zeros(units, dtype=np.intp)  # Without predictors one record is like another.
    of_unit, bad = _kept(columns[: drawn.of_unit], rng, nobody, nobody, {})
    sizes = members.sizes[0] + of_unit[members.size] - 1.0
    past, possible = members.start(units, known), np.ones(units, dtype=np.bool_)
    possible[bad] = False
    parts, numbers = [], []
    for place in range(members.sizes[1]):
        unit = np.flatnonzero(sizes > place)
        given = {name: x[unit] for name, x in (of_unit | past).items()}
        rows = nobody[: len(unit)]
        values, bad = _kept(
            columns[drawn.of_unit :], rng, rows, rows, given, lambda x: members.breaking(x, known)
        )
        possible[unit[bad]] = False
        own_past = {name: x[unit] for name, x in past.items()}
        for name, x in members.after(own_past, values, known).items():
            past[name][unit] = x
        parts.append(values)
        numbers.append(unit)
    number = np.concatenate(numbers)
    order = np.argsort(number, kind="stable")
    kept = order[possible[number[order]]]
    ordered = {name: np.concatenate([part[name] for part in parts])[kept] for name in parts[0]}
    ordered[drawn.schema.unit or ""] = (np.cumsum(possible) + before)[number[kept]]
    return ordered, int(possible.sum())
