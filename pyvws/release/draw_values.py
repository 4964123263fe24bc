"""Values of imputed records: what a release draws of codes, with computed columns and members."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.mechanisms.counts.best_file import Imputed
from pyvws.mechanisms.counts.chosen_cells import FineCounts, Within, finer_columns, within_cells
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.counting import CellCounting
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.workload import Workload
from pyvws.tables.schema.parts import Finish, computed_values
from pyvws.tables.schema.schema import Schema

_AT_ONCE: Final = 1 << 20  # Records whose values are drawn together, on which draws depend.
_TRIES: Final = 50  # Draws of a record whose computed numbers leave their ranges.


def imputed_values(
    counting: CellCounting,
    schema: Schema,
    noisy: Measurements,
    imputed: Imputed,
    seed: int,
    fine: Mapping[str, FineCounts],
) -> list[Iterator[dict[str, Floats]]]:
    """Values by column of each dataset, in steps, computed columns too, for `Schema.decoded`.

    They are those of members where `counting` has slots. `schema` has the chosen cells.
    """
    table, finer = noisy.table, finer_columns(schema, noisy.records, fine)
    streams = np.random.SeedSequence([seed, 1]).spawn(len(imputed.codes))
    by_dataset = []
    for codes, drawn, stream in zip(imputed.codes, imputed.numbers, streams, strict=True):
        within = {
            name: within_cells(finer[name], column, own, fine[name])
            for (name, column), own in zip(table.columns.items(), codes.T, strict=True)
            if name not in drawn and name in fine
        }
        rng = np.random.default_rng(stream)
        once = partial(_drawn_once, schema, table, within, rng)
        steps = _steps(schema, codes, drawn, once, rng)
        by_dataset.append(
            steps if counting.slots is None else counting.slots.members_of(steps, rng)
        )
    return by_dataset


def _steps(
    schema: Schema,
    codes: Codes,
    drawn: Mapping[str, Floats],
    once: Callable[[Codes, Mapping[str, Floats]], dict[str, Floats]],
    rng: np.random.Generator,
) -> Iterator[dict[str, Floats]]:
    """The values of so many records at a time that all of them hardly take memory.

    No records are one step, as few are.
    """
    for low in range(0, max(1, len(codes)), _AT_ONCE):
        at = slice(low, low + _AT_ONCE)
        own = {name: x[at] for name, x in drawn.items()}
        yield _within_ranges(schema, codes[at].astype(np.int32, copy=False), own, once, rng)


def _drawn_once(
    schema: Schema,
    table: Workload,
    within: Mapping[str, Within],
    rng: np.random.Generator,
    codes: Codes,
    drawn: Mapping[str, Floats],
) -> dict[str, Floats]:
    """Values (M,) by column of records (M, K), computed columns too."""
    values: dict[str, Floats] = {}
    by_name = table.by_name(codes)
    for name, own in by_name.items():
        numbers = within[name].drawn(own, rng) if name in within else drawn.get(name)
        values |= table.columns[name].values(own, rng, numbers)
    for difference in table.differences:
        values |= difference.together(by_name, values, rng)
    for name in schema.synthesized:
        if (one := table.bounded.get(name)) is not None:
            values |= one.later_values(by_name[one.name], values)
        elif name not in values:
            values |= computed_values(schema, name, values)
    return values


def _within_ranges(
    schema: Schema,
    codes: Codes,
    drawn: Mapping[str, Floats],
    once: Callable[[Codes, Mapping[str, Floats]], dict[str, Floats]],
    rng: np.random.Generator,
) -> dict[str, Floats]:
    """Values (M,) by column of imputed records (M, K); all keep ranges and bounds.

    `once` draws values of records. A record with such a number is drawn again within its cells, and
    after `_TRIES` in those of another record that has none. After as many more it takes that one's
    values. Where all records have one, it becomes its bound; InputError where that is no help.
    """
    values, source = once(codes, drawn), np.arange(len(codes))
    ruled = {n for n in schema.synthesized if any(x.bounds for x in schema.columns[n].rules)}
    asked = {n: Finish(n, schema) for n in schema.synthesized if n in schema.computed | ruled}
    for attempt in range(2 * _TRIES + 1):
        broken = np.zeros(len(codes), dtype=np.bool_)
        for finish in asked.values():
            broken |= finish.broken(values)
        bad, kept = np.flatnonzero(broken), np.flatnonzero(~broken)
        if not len(bad):
            break
        if not len(kept) and attempt == _TRIES:
            for name, finish in asked.items():
                at_bound = {name: np.clip(values[name], *finish.within(values))}
                values |= at_bound if name in ruled else computed_values(schema, name, values)
            continue
        if not len(kept) and attempt > _TRIES:
            raise InputError.by("computed-outside-range", names=", ".join(map(repr, asked)))
        others = rng.choice(kept, len(bad)) if attempt >= _TRIES else bad
        source[bad] = source[others]
        again = {name: x[others] for name, x in values.items()}
        if attempt < 2 * _TRIES:
            again = once(codes[source[bad]], {k: x[source[bad]] for k, x in drawn.items()})
        for name, x in again.items():
            values[name][bad] = x
    return values
