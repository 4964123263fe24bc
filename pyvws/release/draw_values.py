"""Values of imputed records: what a release draws of codes, with computed columns and members."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

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
        steps = _steps(schema, table, codes, drawn, once, rng)
        by_dataset.append(
            steps if counting.slots is None else counting.slots.members_of(steps, rng)
        )
    return by_dataset


def _steps(
    schema: Schema,
    table: Workload,
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
        yield _within_ranges(schema, table, codes[at].astype(np.int32), own, once, rng)


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
    table: Workload,
    codes: Codes,
    drawn: Mapping[str, Floats],
    once: Callable[[Codes, Mapping[str, Floats]], dict[str, Floats]],
    rng: np.random.Generator,
) -> dict[str, Floats]:
    """Values (M,) by column of imputed records (M, K); all keep ranges and bounds.

    `once` draws values of records. A record with such a number is drawn again within its cells.
    After `_TRIES` it exchanges a column with another record, and after as many more it is drawn in
    the cells of one that has no such number. At last it takes that one's values. Where all records
    have one, it becomes its bound; InputError where that is no help.
    """
    values, source = once(codes, drawn), np.arange(len(codes))
    ruled = {n for n in schema.synthesized if any(x.bounds for x in schema.columns[n].rules)}
    asked = {n: Finish(n, schema) for n in schema.synthesized if n in schema.computed | ruled}
    columns = _exchangeable(table, schema, asked)
    for attempt in range(2 * _TRIES + 1):
        broken = _broken(asked, values, len(codes))
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
        if attempt == _TRIES and columns:
            for turn in range(_TRIES):
                name = columns[turn % len(columns)]
                _exchange(name, table, codes, drawn, values, asked, once, rng)
            continue
        others = rng.choice(kept, len(bad)) if attempt >= _TRIES else bad
        source[bad] = source[others]
        again = {name: x[others] for name, x in values.items()}
        if attempt < 2 * _TRIES:
            again = once(codes[source[bad]], {k: x[source[bad]] for k, x in drawn.items()})
        for name, x in again.items():
            values[name][bad] = x
    return values


def _broken(
    asked: Mapping[str, Finish], values: Mapping[str, Floats], rows: int
) -> NDArray[np.bool_]:
    """Which records (M,) have a number outside its range or bound."""
    found = np.zeros(rows, dtype=np.bool_)
    for finish in asked.values():
        found |= finish.broken(values)
    return found


def _exchangeable(table: Workload, schema: Schema, asked: Iterable[str]) -> list[str]:
    """The columns that rules of `asked` read, and that neither rules nor other columns fix."""
    skips = table.skips
    fixed = {*skips, *table.given}.union(*(skip.rows.columns for skip in skips.values()))
    read = {name for n in asked for rule in schema.columns[n].rules for name in rule.columns}
    return [name for name in table.columns if name in read - fixed]


def _exchange(
    name: str,
    table: Workload,
    codes: Codes,
    drawn: Mapping[str, Floats],
    values: Mapping[str, Floats],
    asked: Mapping[str, Finish],
    once: Callable[[Codes, Mapping[str, Floats]], dict[str, Floats]],
    rng: np.random.Generator,
) -> None:
    """Let broken records exchange a column with others, where neither is broken then.

    So each column keeps its margin. Codes and values change in place.
    """
    broken = _broken(asked, values, len(codes))
    bad, kept = rng.permutation(np.flatnonzero(broken)), rng.permutation(np.flatnonzero(~broken))
    many = min(len(bad), len(kept))
    if not many:
        return
    rows = np.concatenate([bad[:many], kept[:many]])
    k, tried = [*table.columns].index(name), codes[rows]
    tried[:, k] = np.roll(tried[:, k], many)
    made = once(tried, {other: x[rows] for other, x in drawn.items()})
    good = np.tile(~_broken(asked, made, 2 * many).reshape(2, many).all(axis=0), 2)
    codes[rows[good]] = tried[good]
    for other, x in made.items():
        values[other][rows[good]] = x[good]
