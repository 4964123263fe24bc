"""A release from a table that is never in memory as a whole.

Records with equal outcome, predictors and known columns have the same likelihood. The run counts
the distinct rows of these columns and fits the rows with their counts. Then the run reads the
records again, in steps, and writes the synthetic outcomes and confidential figures of each step.

Noisy counts are counted where the table lies, once in fine cells and once by all sets. A file or a
polars plan is read in steps for that, and an engine groups its table by the columns of each set.

Records of one unit may stand anywhere in the table. A reading of its own finds each record's unit,
and the run then fits one unit of each kind with the number of such units. Units are of one kind
where their records are equal.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from pyvws._base.checks import Floats, whole_number
from pyvws._base.phrase import counted
from pyvws.errors import InputError
from pyvws.mechanisms.counts.counting import CellCounting
from pyvws.plan.by_counts import CountsPlan
from pyvws.plan.plan import Plan
from pyvws.release.column_checks import ROWS, Sample
from pyvws.release.datasets import Batch, draw_datasets, open_draws
from pyvws.release.draw_source import DrawSource
from pyvws.release.output import Output, open_output
from pyvws.release.summary import once_a_run
from pyvws.synthesis.confidential_table import ConfidentialTable, check_table, least_records
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.design.units import UnitTally
from pyvws.tables.files.frame import open_frame, refuse_names, unit_codes, units_from_0
from pyvws.tables.files.outcome_copies import OutcomeCopies
from pyvws.tables.files.row_order import (
    RELEASED_ROW,
    UNLINKED_ROW,
    RowNumbers,
    laid_out,
    released_rows,
)
from pyvws.tables.files.steps import (
    COUNT,
    CountedRows,
    LargeTable,
    LazyTable,
    TalliedTable,
    refuse_missing,
)
from pyvws.tables.files.write import AT_ONCE, TableWriter

_PLACE = "place of this kind in the tally"
_POLARS = nw.Implementation.POLARS


def large_release(
    settings: RunSettings,
    table: LargeTable | LazyTable,
    folder: Path,
    *,
    seed: int,
    overwrite: bool = False,
    listener: Listener = SILENT,
) -> dict[str, Any]:
    """Write the release of a table into `folder`, as `Synthesizer.fit_to` says.

    The run reads a file twice; an engine counts the rows of a lazy frame. Without weights from the
    data, `Synthesizer.fit` on the same rows in the same order gives the same datasets, bit for
    bit. With such weights they may differ: this function rounds sums of weights in another order.
    """
    began = time.perf_counter()
    seed = whole_number(seed, "seed", least=0)
    if settings.only_in_memory or not settings.facts.in_steps:
        raise InputError.by("not-in-steps")
    refuse_names(table.columns)
    if COUNT in table.columns or _PLACE in table.columns:
        raise InputError.by("reserved-column-name", count=COUNT, place=_PLACE)
    plan = settings.plan.on(table)
    read = (_counted if settings.facts.takes_table else _tallied)(settings, plan, table)
    run = open_draws(settings, read.checked, seed=seed, listener=listener)
    digest, digest_of = read.source.digest(), "file"
    if digest is None:
        digest, digest_of = hashlib.sha256(read.took()).hexdigest(), read.took_what
    with open_output(
        folder,
        datasets=settings.datasets,
        format=read.source.format,
        whole=False,
        overwrite=overwrite,
        words=plan.truth_words,
    ) as out:
        samples = _write_records(run, read, out)
        parts = once_a_run(
            run,
            samples,
            as_table=pl.DataFrame,
            began=began,
            input_sha256=digest,
            input_sha256_of=digest_of,
        )
        out.finish(**parts)
    return parts["privacy"]


@dataclass(frozen=True, slots=True)
class _Read:
    """The table to read in steps, what was checked, and the kinds of records of a tally.

    `took` gives what the run takes of a table that is no file, and `took_what` says what that is.
    """

    source: LargeTable | LazyTable | TalliedTable
    checked: ConfidentialTable
    took: Callable[[], bytes]
    took_what: str
    kinds: _Kinds | None = None


def _counted(settings: RunSettings, plan: Plan, table: LargeTable | LazyTable) -> _Read:
    """The table as noisy counts take it: some records for the checks, and a count of all."""
    assert isinstance(plan, CountsPlan)
    assert isinstance(plan.counting, CellCounting)
    if plan.unit is not None:
        raise InputError.by("counts-of-units-in-steps", unit=plan.unit)
    if (weight := plan.schema.weight) is not None:
        raise InputError.by("counts-of-weights-in-steps", weight=weight)
    number = table.number()

    def parts(groups: Sequence[Sequence[str]]) -> Iterator[CountedRows]:
        read = np.zeros(len(groups), dtype=np.int64)
        for part in table.grouped(groups, AT_ONCE // 4):
            read[list(part.groups)] += part.records
            yield part
        if (read != number).any():
            raise InputError.by("table-changed")

    some = table.every(max(1, -(-number // ROWS)), plan.read)
    checked = check_table(some, settings, plan=plan)
    values = {} if checked.counted is None else checked.counted.values
    counted = plan.counting.read_in_steps(parts, number, values)
    what = "counts without noise as int64"
    return _Read(table, replace(checked, counted=counted), counted.written, what)


def _tallied(settings: RunSettings, plan: Plan, table: LargeTable | LazyTable) -> _Read:
    """The table as fits take it: its distinct rows, and the kinds of its records."""
    source: LargeTable | TalliedTable
    if isinstance(table, LargeTable):
        source = table
    elif plan.unit is None:
        source = table.tallied(plan.modelled, plan.public)
    else:
        raise InputError.by("tally-without-order", table=table.name)
    strict = plan.refuses_no_record
    by_cell = plan.columns_by_cell if strict else ()
    rows, typed = source.tally(plan.modelled, by_schema=plan.by_schema, by_cell=by_cell)
    least, records = least_records(settings), int(typed[COUNT].sum())
    if records < least:
        raise InputError.by("too-few-rows", least=counted(least, "record"), records=records)
    refuse_missing(typed, plan.complete)
    kinds = _kinds_of_records(plan, source, rows)
    if kinds.units is not None:
        rows, typed = (
            part[kinds.units.places].with_columns(pl.Series(COUNT, kinds.units.counts))
            for part in (rows, typed)
        )
    counts = typed[COUNT].to_numpy().astype(np.float64)
    checked = check_table(
        typed.drop(COUNT),
        settings,
        plan=plan,
        counts=counts,
        units=None if kinds.units is None else kinds.units.kinds,
        released=rows,
    )
    predictors = [name for name in plan.modelled if name in plan.public]
    for early, y in _searches(predictors, source.columns, checked):
        early.look(typed.to_dict(), y)
        if not strict:
            early.refuse()
    what = "tally of the modelled columns as csv"
    return _Read(source, checked, lambda: rows.write_csv().encode(), what, kinds)


@dataclass(frozen=True, slots=True)
class _Kinds:
    """Which row of the run's tally a record has, by its modelled columns.

    `rows` are the `number` records' distinct ones, each with its place. With `units` the run's
    tally has the records of one unit of each kind.
    """

    rows: pl.DataFrame
    number: int
    columns: list[str]
    units: UnitTally | None = None

    def of(self, batch: pl.DataFrame, first: int) -> NDArray[np.uint32]:
        """The places (n,) of records of which the first has a number in the table, from 0."""
        places = _places(batch, self.rows, self.columns)
        if self.units is None:
            return places
        own = self.units.of_record[first : first + batch.height]
        if len(own) < len(places) or (self.units.places[own] != places).any():
            raise InputError.by("table-changed")
        return own


def _kinds_of_records(plan: Plan, table: LargeTable | TalliedTable, rows: pl.DataFrame) -> _Kinds:
    """The kinds of records, and of units where the run has them, by a reading of their ids."""
    number = int(rows[COUNT].sum())
    kinds = _Kinds(rows.select(plan.modelled).with_row_index(_PLACE), number, plan.modelled)
    if plan.unit is None:
        return kinds
    strict = plan.refuses_no_record
    ids = [plan.unit]
    by_cell = ids if strict else ()
    written, typed = table.tally(ids, by_schema=plan.by_schema, by_cell=by_cell)
    if strict:
        codes = units_from_0(open_frame(written, least=0)[plan.unit])
    else:
        refuse_missing(typed, ids)
        codes = unit_codes(open_frame(typed, least=1), plan.unit)
    known = written.select(ids).with_columns(pl.Series(_PLACE, codes, dtype=pl.UInt32))
    units, places = [], []
    read = list(dict.fromkeys([*plan.modelled, plan.unit]))
    for batch in table.batches(read, AT_ONCE):
        units.append(_places(batch, known, ids))
        places.append(_places(batch, kinds.rows, plan.modelled))
    if sum(map(len, units)) != number:
        raise InputError.by("table-changed")
    whole = (np.concatenate(parts).astype(np.intp) for parts in (units, places))
    tally = UnitTally.of(*whole, in_order=plan.members is not None)
    return replace(kinds, units=tally)


def _write_records(run: DrawSource, read: _Read, out: Output) -> list[Sample]:
    """Read the records once more; write each dataset and records.parquet step by step.

    Some rows of each dataset are returned.
    """

    def write(
        place: int, values: dict[str, Floats], public: pl.DataFrame | None, first: int
    ) -> None:
        frames = [frame.to_native() for frame in run.table.written(values, _POLARS, first=first)]
        rows = pl.DataFrame(frames) if public is None else public.with_columns(frames)
        out.datasets[place](rows.select(run.table.released))

    if read.kinds is None or isinstance(read.source, LazyTable):
        return draw_datasets(run, _imputed(run, out), write)
    return draw_datasets(run, _batches(run, read.source, read.kinds, out), write)


def _imputed(run: DrawSource, out: Output) -> Iterator[Batch]:
    """The rows of noisy counts, which belong to no record; `out` gets the numbers of records."""
    numbers = run.records()["record"]
    for start in range(0, len(numbers), AT_ONCE):
        out.records(pl.DataFrame({"record": numbers[start : start + AT_ONCE]}))
    assert run.rows is not None
    yield Batch(run.rows, run.rows)


def _batches(
    run: DrawSource, table: LargeTable | TalliedTable, kinds: _Kinds, out: Output
) -> Iterator[Batch]:
    """The rows of the datasets; `out` gets each record's confidential figures."""
    number, members = kinds.number, run.table.members
    order = run.record_of_row(number) if run.linked else None
    rows = released_rows(order, number) if run.linked else np.zeros(number, dtype=np.int8)
    batches = _public_rows(run, table, kinds, rows, out.records)
    if run.linked:
        if order is not None:
            del order
            batches = laid_out(batches, rows, size=AT_ONCE, folder=out.folder)
        for batch in batches:
            yield Batch(batch[_PLACE].to_numpy(), number, batch)
        return
    for _ in batches:
        pass  # The generator writes the records. No row of a dataset belongs to a record.
    if members is not None:
        units = run.rows or members.number
        yield Batch(units, units * members.members.sizes[1])
    elif run.rows is not None:  # All kinds are alike, so each row stands for the tally's first.
        for start in range(0, run.rows, AT_ONCE):
            yield Batch(np.zeros(min(AT_ONCE, run.rows - start), dtype=np.uint32), run.rows)


def _public_rows(
    run: DrawSource,
    table: LargeTable | TalliedTable,
    kinds: _Kinds,
    rows: RowNumbers,
    records: TableWriter,
) -> Iterator[pl.DataFrame]:
    """Yield each record's public columns and tally row; `records` gets its confidential figures.

    `rows` (N,) names the row of the datasets, from 1, that a record becomes, if it becomes a row.
    """
    per_kind = run.records()
    row_name = RELEASED_ROW if isinstance(table, LargeTable) else UNLINKED_ROW
    plan = run.table.plan
    searches, read = _searches(plan.public, table.columns, run.table), 0
    for batch in table.batches(plan.read, AT_ONCE):
        kind = kinds.of(batch, read)
        for copies, y in searches:
            copies.look(batch.to_dict(), y[kind])
        become = rows[read : read + batch.height]
        read += batch.height
        if len(become) < batch.height:
            raise InputError.by("table-changed")
        of_kind = {name: values[kind] for name, values in per_kind.items()}
        records(pl.DataFrame({**({row_name: become} if run.linked else {}), **of_kind}))
        yield pl.DataFrame([pl.Series(_PLACE, kind), *batch.select(plan.public)])
    if read < len(rows):
        raise InputError.by("table-changed")
    for copies, _ in searches:
        copies.judge(refuses=not plan.refuses_no_record)


def _searches(
    columns: Sequence[str], header: Sequence[str], table: ConfidentialTable
) -> list[tuple[OutcomeCopies, Floats]]:
    """A search for copies of each outcome, and the outcome's values (N,) before rounding."""
    return [
        (OutcomeCopies(columns, header, name, kind), y) for name, (y, kind) in table.sought.items()
    ]


def _places(batch: pl.DataFrame, rows: pl.DataFrame, columns: list[str]) -> Any:
    """The place of each record (n,) among distinct rows."""
    how: Any = {"how": "left", "maintain_order": "left", "nulls_equal": True}
    place = batch.join(rows, on=columns, **how)[_PLACE]
    if place.null_count():
        raise InputError.by("table-changed")
    return place.to_numpy()
