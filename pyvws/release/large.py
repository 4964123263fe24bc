"""A release from a table that is never in memory as a whole.

Records with equal outcome, predictors and known columns have the same likelihood. The run counts
the distinct rows of these columns and fits the rows with their counts. Then the run reads the
records again, in steps, and writes the synthetic outcomes and confidential figures of each step.
"""

from __future__ import annotations

import hashlib
import io
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import narwhals as nw
import numpy as np
import polars as pl

from pyvws._base.checks import Floats, whole_number
from pyvws._base.cores import usable_cores
from pyvws.errors import InputError
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.posterior.prediction import AT_ONCE
from pyvws.release.column_checks import Sample, check_columns, sampled
from pyvws.release.output import Output, open_output
from pyvws.release.posterior import FittedRun, fitted_run
from pyvws.release.summary import posterior_columns, summarize
from pyvws.synthesis.checked_table import check_table
from pyvws.synthesis.columns import RunColumns, run_columns
from pyvws.synthesis.confidential_table import ConfidentialTable
from pyvws.synthesis.config import config_text, schema_texts
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.frame import refuse_names
from pyvws.tables.large_files import (
    COUNT,
    LargeTable,
    LazyTable,
    TalliedTable,
    refuse_missing,
)
from pyvws.tables.outcome_copies import OutcomeCopies
from pyvws.tables.row_order import (
    RELEASED_ROW,
    TABLE_CHANGED,
    UNLINKED_ROW,
    RowNumbers,
    laid_out,
    order_stream,
    released_rows,
    row_order,
)
from pyvws.tables.table_writers import TableWriter

__all__ = ["large_release"]

_PLACE = "place of this kind in the tally"


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
    mechanism = cast(Mechanism, settings.mechanism)
    if settings.only_in_memory or not mechanism.in_steps:
        raise InputError(
            "A unit of several records, survey weights as exponents, an own Stan program, "
            "perturbed-histogram, and a mechanism of your own unless it says in_steps take a table "
            "that fits in memory. Raise --memory (in Python use fit), or choose other settings."
        )
    columns = _columns(settings, table)
    source: LargeTable | TalliedTable | LazyTable = table
    if isinstance(source, LazyTable):
        source = source.tallied(columns.modelled, columns.public)
    rows, typed = source.tally(columns.modelled, by_schema=settings.schema is not None)
    _refuse_too_few(typed)
    _refuse_missing_numbers(settings, typed, columns)
    counts = typed[COUNT].to_numpy().astype(np.float64)
    checked = check_table(typed.drop(COUNT), settings, counts=counts)
    predictors = [name for name in columns.modelled if name in columns.public]
    for early, y in _searches(predictors, source.columns, checked):
        early.look(typed.to_dict(), y)
        early.refuse()
    checked = replace(checked, released=columns.released)
    run = fitted_run(
        settings, mechanism, checked, seed=seed, listener=listener, multiplicity=counts
    )
    digest, digest_of = source.digest(), "file"
    if digest is None:
        digest, digest_of = _tally_digest(rows), "tally of the modelled columns as csv"
    released = run.statement.released()
    with open_output(
        folder,
        datasets=settings.datasets,
        format=source.format,
        whole=False,
        overwrite=overwrite,
    ) as out:
        samples = _write_records(run, source, rows, columns, out, seed=seed)
        checks = check_columns(checked, samples, counts=counts, rounded=settings.round)
        out.finish(
            privacy=released,
            posterior=pl.DataFrame(posterior_columns(run.final.posterior)),
            summary=summarize(
                settings,
                checked,
                {**run.figures(), "column_checks": checks},
                seed=seed,
                began=began,
                input_sha256=digest,
                input_sha256_of=digest_of,
            ),
            config=config_text(settings, seed=None),
            config_with_seed=config_text(settings, seed=seed),
            console=run.console,
            **schema_texts(settings),
        )
    return released


def _columns(settings: RunSettings, table: LargeTable | LazyTable) -> RunColumns:
    refuse_names(table.columns)
    if COUNT in table.columns or _PLACE in table.columns:
        raise InputError(f"A column cannot be named {COUNT!r} or {_PLACE!r}. Rename it.")
    return run_columns(settings, table)


def _refuse_too_few(tally: pl.DataFrame) -> None:
    records = int(tally[COUNT].sum())
    if records < 2:
        raise InputError(f"The table needs at least 2 records. Got {records}.")


def _refuse_missing_numbers(
    settings: RunSettings, tally: pl.DataFrame, columns: RunColumns
) -> None:
    """Raise InputError for missing values other than in columns that a schema describes."""
    schema = settings.public_table
    if schema is not None:
        mechanism = cast(Mechanism, settings.mechanism)
        read = {*mechanism.known, mechanism.weight_column}
        refuse_missing(tally, [name for name in columns.modelled if name in read])


def _tally_digest(rows: pl.DataFrame) -> str:
    """The SHA-256 of a tally, written as csv."""
    text = io.BytesIO()
    rows.write_csv(text)
    return hashlib.sha256(text.getbuffer()).hexdigest()


def _write_records(
    run: FittedRun,
    table: LargeTable | TalliedTable,
    tally: pl.DataFrame,
    columns: RunColumns,
    out: Output,
    *,
    seed: int,
) -> list[Sample]:
    """Read the records once more; write each dataset and records.parquet step by step.

    Some rows of each dataset are returned.
    """
    number = int(tally[COUNT].sum())
    if run.rows is not None:
        nobody = np.zeros(number, dtype=np.int8)
        for _ in _public_rows(run, table, tally, columns, nobody, out.records):
            pass  # The generator writes the records. No row of a dataset belongs to a record.
        batches = _rows_of_nobody(run.rows)
    else:
        order = None if run.settings.keep_order else row_order(order_stream(seed), number)
        rows = released_rows(order, number)
        batches = _public_rows(run, table, tally, columns, rows, out.records)
        if order is not None:
            del order
            batches = laid_out(batches, rows, size=AT_ONCE, folder=out.folder)
    many = number if run.rows is None else run.rows
    return _write_datasets(run, batches, columns.released, out.datasets, many)


def _rows_of_nobody(many: int) -> Iterator[pl.DataFrame]:
    """Rows without predictors: all kinds are alike then, so each row names the tally's first."""
    for start in range(0, many, AT_ONCE):
        yield pl.DataFrame({_PLACE: np.zeros(min(AT_ONCE, many - start), dtype=np.uint32)})


def _public_rows(
    run: FittedRun,
    table: LargeTable | TalliedTable,
    tally: pl.DataFrame,
    columns: RunColumns,
    rows: RowNumbers,
    records: TableWriter,
) -> Iterator[pl.DataFrame]:
    """Yield each record's public columns and tally row; `records` gets its confidential figures.

    `rows` (N,) names the row of the datasets, from 1, that a record becomes, if it becomes a row.
    """
    per_kind = run.records()
    places = tally.select(columns.modelled).with_columns(
        pl.Series(_PLACE, np.arange(len(tally)), dtype=pl.UInt32)
    )
    row_name = RELEASED_ROW if isinstance(table, LargeTable) else UNLINKED_ROW
    searches, read = _searches(columns.public, table.columns, run.table), 0
    for batch in table.batches(columns.all, AT_ONCE):
        kind = _kinds(batch, places, columns.modelled)
        for copies, y in searches:
            copies.look(batch.to_dict(), y[kind])
        become = rows[read : read + batch.height]
        read += batch.height
        if len(become) < batch.height:
            raise InputError(TABLE_CHANGED)
        of_kind = {name: values[kind] for name, values in per_kind.items()}
        linked = {row_name: become} if run.rows is None else {}
        records(pl.DataFrame({**linked, **of_kind}))
        yield pl.DataFrame([pl.Series(_PLACE, kind), *batch.select(columns.public)])
    if read < len(rows):
        raise InputError(TABLE_CHANGED)
    for copies, _ in searches:
        copies.refuse()
        copies.warn()


def _searches(
    columns: Sequence[str], header: Sequence[str], table: ConfidentialTable
) -> list[tuple[OutcomeCopies, Floats]]:
    """A search for copies of each outcome, and the outcome's values (N,) before rounding."""
    return [
        (OutcomeCopies(columns, header, name, kind), y) for name, (y, kind) in table.sought.items()
    ]


def _write_datasets(
    run: FittedRun,
    batches: Iterable[pl.DataFrame],
    released: list[str],
    writers: list[TableWriter],
    many: int,
) -> list[Sample]:
    """Draw outcomes for each batch of `many` rows, and return some of the rows of each dataset.

    Each dataset has a random stream of its own.
    """
    settings = run.settings
    streams = run.loop.predictors(run.final, settings.datasets, settings.draws_per_release)
    kept: list[list[Sample]] = [[] for _ in writers]
    first = 1
    with ThreadPoolExecutor(usable_cores()) as pool:
        for batch in batches:

            def write(number: int, batch: pl.DataFrame = batch, first: int = first) -> None:
                draw, rng = streams[number]
                rows = batch[_PLACE].to_numpy()
                values = run.values(draw, rng, rows)
                kept[number].append(sampled(values, run.table, rows, first=first, of=many))
                columns = run.table.written(values, nw.Implementation.POLARS, first=first)
                made = [one.to_native() for one in columns]
                writers[number](batch.with_columns(made).select(released))

            for job in [pool.submit(write, number) for number in range(settings.datasets)]:
                job.result()
            first += batch.height
    return [
        {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        for parts in kept
    ]


def _kinds(batch: pl.DataFrame, places: pl.DataFrame, modelled: list[str]) -> Any:
    """The tally's row of each record (n,)."""
    how: Any = {"how": "left", "maintain_order": "left", "nulls_equal": True}
    place = batch.join(places, on=modelled, **how)[_PLACE]
    if place.null_count():
        raise InputError(TABLE_CHANGED)
    return place.to_numpy()
