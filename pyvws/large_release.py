"""A release from a file that is never held whole: tallied, fitted on the tally, drawn in steps.

What a likelihood can tell apart is the distinct rows of outcome, predictors and known columns. They
are fitted as records with multiplicities; then the file is read again, in steps, and each record's
synthetic outcomes and confidential figures are written as they are drawn.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import polars as pl

from pyvws._checks import Floats, whole_number
from pyvws._cores import usable_cores
from pyvws.confidential_table import check_table
from pyvws.errors import InputError
from pyvws.io.formula import read_formula
from pyvws.io.frame import check_columns
from pyvws.io.large_files import COUNT, LargeTable
from pyvws.loop import SILENT, Listener
from pyvws.mechanisms import Mechanism, PerturbedHistogram
from pyvws.models._model import Model
from pyvws.posterior_release import FittedRun, fitted_run
from pyvws.prediction import AT_ONCE, predicted
from pyvws.report._folder import private_write, whole_folder
from pyvws.report.release import json_bytes, parquet_bytes, synthetic_name
from pyvws.report.summary import posterior_columns, record_columns
from pyvws.run_config import config_text
from pyvws.run_settings import RunSettings

__all__ = ["large_release"]

_PLACE = "place of this kind in the tally"


def large_release(
    settings: RunSettings,
    table: LargeTable,
    folder: Path,
    *,
    seed: int,
    overwrite: bool = False,
    listener: Listener = SILENT,
) -> dict[str, Any]:
    """Synthesize a file into a folder as `Synthesizer.fit` and `Release.write` do together.

    Parameters
    ----------
    settings : RunSettings
        As for `Synthesizer`; any mechanism but a perturbed histogram, no own Stan program.
    table : LargeTable
        The confidential file. It is read twice.
    folder : Path
        Gets `release/` and `confidential/`, whole or not at all.
    seed : int
        Of sampling and synthesis. Without weights from the data the datasets are those of
        `Synthesizer.fit`, bit for bit; sums of weights are rounded in another order here.

    Returns
    -------
    dict
        The statement as released.

    Raises
    ------
    InputError
        Before any work, for a table or setting that the method cannot take.
    OutputError
        If the folder cannot be written; nothing is left behind.
    """
    began = time.perf_counter()
    seed = whole_number(seed, "seed", least=0)
    mechanism = cast(Mechanism, settings.mechanism)
    if settings.program is not None or isinstance(mechanism, PerturbedHistogram):
        raise InputError(
            "An own Stan program and perturbed-histogram take a table that fits in memory. Raise "
            "--memory, or choose another mechanism."
        )
    columns, released = _columns(settings, mechanism, table)
    rows, typed = table.tally(columns)
    checked = check_table(
        typed,
        outcome=settings.outcome,
        model=cast(Model, settings.model),
        mechanism=mechanism,
        formula=settings.formula,
        keep=(),
        round=settings.round,
    )
    checked = replace(checked, released=released)
    counts = typed[COUNT].to_numpy().astype(np.float64)
    run = fitted_run(
        settings, mechanism, checked, seed=seed, listener=listener, multiplicity=counts
    )
    places = rows.select(columns).with_columns(
        pl.Series(_PLACE, np.arange(len(rows)), dtype=pl.UInt32)
    )
    with whole_folder(folder, overwrite=overwrite) as partial:
        release, confidential = partial / "release", partial / "confidential"
        release.mkdir(mode=0o755)
        confidential.mkdir(mode=0o700)
        _write_records(run, table, places, columns, released, release, confidential)
        (release / "privacy.json").write_bytes(json_bytes(run.statement.released()))
        (release / "run.toml").write_text(config_text(settings, seed=None), encoding="utf-8")
        private_write(confidential / "run.toml", config_text(settings, seed=seed).encode())
        draws = pl.DataFrame(posterior_columns(run.final.posterior))
        private_write(confidential / "posterior.parquet", parquet_bytes(draws))
        summary = run.summary(seed=seed, input_sha256=table.digest(), began=began)
        private_write(confidential / "summary.json", json_bytes(summary))
        if run.console:
            private_write(confidential / "engine.log", run.console.encode())
    return run.statement.released()


def _columns(
    settings: RunSettings, mechanism: Mechanism, table: LargeTable
) -> tuple[list[str], list[str]]:
    """Columns that the fit can tell apart, the outcome last, and those to release in order."""
    if COUNT in table.columns or _PLACE in table.columns:
        raise InputError(f"A column cannot be named {COUNT!r} or {_PLACE!r}. Rename it.")
    known = list(getattr(mechanism, "known", ()))
    predictors = list(read_formula(settings.formula).columns)
    kept = settings.keep
    names = table.columns if kept == "all" else [kept] if isinstance(kept, str) else list(kept)
    for role, wanted in (
        ("outcome", [settings.outcome]),
        ("formula", predictors),
        ("known", known),
        ("keep", names),
    ):
        check_columns(cast(Any, table), wanted, role=role)
    keys = dict.fromkeys([*predictors, *known])
    keys.pop(settings.outcome, None)
    public = {settings.outcome, *predictors, *names}
    return [*keys, settings.outcome], [name for name in table.columns if name in public]


class _Sink(Protocol):
    def __call__(self, batch: pl.DataFrame) -> None: ...


def _write_records(
    run: FittedRun,
    table: LargeTable,
    places: pl.DataFrame,
    columns: list[str],
    released: list[str],
    release: Path,
    confidential: Path,
) -> None:
    """Read the file once more; write each dataset and records.parquet step by step."""
    settings = run.settings
    per_kind = record_columns(run.own, run.final)
    draw_outcomes = _outcome_maker(run)
    streams = run.loop.predictors(run.final, settings.datasets)
    with ExitStack() as files, ThreadPoolExecutor(usable_cores()) as pool:
        sinks = [
            files.enter_context(
                _sink(release / synthetic_name(number, settings.datasets, table.format), 0o666)
            )
            for number in range(1, settings.datasets + 1)
        ]
        records = files.enter_context(_sink(confidential / "records.parquet", 0o600))
        for batch in table.batches(list(dict.fromkeys([*columns, *released])), AT_ONCE):
            place = batch.join(places, on=columns, how="left", maintain_order="left")[_PLACE]
            kind = place.to_numpy()
            public = batch.select(released)

            def write(number: int, kind: Any = kind, public: pl.DataFrame = public) -> None:
                draw, rng = streams[number]
                values = draw_outcomes(draw, rng, kind)
                sinks[number](public.with_columns(pl.Series(settings.outcome, values)))

            jobs = [pool.submit(write, number) for number in range(settings.datasets)]
            jobs.append(
                pool.submit(
                    records,
                    pl.DataFrame({name: values[kind] for name, values in per_kind.items()}),
                )
            )
            for job in jobs:
                job.result()


def _outcome_maker(run: FittedRun) -> Callable[[Any, np.random.Generator, Any], Any]:
    """A function from draw, stream and the records' kinds (n,) to their outcomes as written."""
    model, design, cells = run.loop.model, run.table.design.matrix, run.loop.cells
    seen = cells.outcome[cells.cell_of_record] if model.reads_outcome else None
    made: Any = {"whole": np.int64, "real": np.float64, "boolean": np.bool_}[run.table.kind]

    def outcomes(draw: Any, rng: np.random.Generator, kind: Any) -> Any:
        given: Floats | None = None if seen is None else seen[kind]
        values = predicted(model, draw, design[kind], rng, outcome=given)
        return (np.rint(values) if run.settings.round else values).astype(made)

    return outcomes


@contextmanager
def _sink(path: Path, mode: int) -> Iterator[_Sink]:
    """What appends batches to a csv or parquet file, a row group a batch."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as file:
        if path.suffix == ".csv":
            first = True

            def append(batch: pl.DataFrame) -> None:
                nonlocal first
                batch.write_csv(file, include_header=first)
                first = False

            yield append
            return
        from pyarrow import parquet

        writer: Any = None

        def group(batch: pl.DataFrame) -> None:
            nonlocal writer
            arrow = batch.to_arrow()
            if writer is None:
                writer = parquet.ParquetWriter(file, arrow.schema, compression="zstd")
            writer.write_table(arrow)

        try:
            yield group
        finally:
            if writer is not None:
                writer.close()
