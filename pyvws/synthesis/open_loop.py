"""The loop of a run on a checked table: its model, cells, units, engine and public records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyvws.engines.engine import Engine
from pyvws.engines.grid import public_grid
from pyvws.engines.registry import find_engine, find_stan_engine
from pyvws.models.sequence import TableCells, TableModel
from pyvws.synthesis.confidential_table import ConfidentialTable
from pyvws.synthesis.fit_sources import FitSource, ModelSource
from pyvws.synthesis.loop import Listener, ReferenceFits, SynthesisLoop
from pyvws.synthesis.outside_source import (
    OutsideSource,
    ProgramSource,
    check_given,
    fits_by_column,
    refuse_own_outcome,
)
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.design.units import Units

Log = Callable[[str], None]


def open_loop(
    settings: RunSettings,
    table: ConfidentialTable,
    *,
    seed: int,
    listener: Listener,
    log: Log = lambda _text: None,
) -> SynthesisLoop:
    """A loop on a checked table, before any fit; `log` gets what an engine prints."""
    columns = tuple(outcome.conditional(table.counts) for outcome in table.outcomes)
    model, cells = TableModel(columns), TableCells.of(columns, table.records, table.counts)
    source = _source(settings, table, model, cells, log)
    reference = _reference(settings, table, log)
    return SynthesisLoop(
        model,
        cells if source.units is None else source.units,
        source=source,
        settings=settings.sampler,
        seed=seed,
        listener=listener,
        reference=reference,
        keeps_tries=False,
    )


def _source(
    settings: RunSettings, table: ConfidentialTable, model: TableModel, cells: TableCells, log: Log
) -> FitSource:
    """The source of fits of all conditionals together."""
    columns = model.columns
    if settings.brings_values:
        for outcome_column in table.outcomes:
            check_given(outcome_column)
    if settings.existing_fit is not None:
        fits = fits_by_column(settings.existing_fit, [outcome.name for outcome in table.outcomes])
        for outcome in table.outcomes:
            refuse_own_outcome(outcome, fits[outcome.name].y_rep)
        return OutsideSource(fits, settings.threshold)
    if settings.program is not None:
        (outcome,), own = table.outcomes, columns[0].cells
        return ProgramSource(
            settings.program,
            find_stan_engine(str(settings.engine), log=log),
            outcome.encoded,
            outcome.design if outcome.rows is None else outcome.design[outcome.rows],
            outcome.model.predicts_from,
            settings.threshold,
            lambda draws: outcome.model.log_likelihood(draws, own)[:, own.cell_of_record],
        )
    places = [(column.places(table.records), column.cells.n_cells) for column in columns]
    units = None  # A record is a unit.
    if table.units is not None:
        units = Units.of(cells, table.units, places, table.exponents)
    sampler = _sampler(settings, log)
    return ModelSource(
        model, cells, sampler, settings.threshold, units, table.exponents, settings.accounting
    )


def _sampler(settings: RunSettings, log: Log) -> Engine:
    named = settings.engine
    return find_engine(named, log=log) if isinstance(named, str) else named


def _reference(settings: RunSettings, table: ConfidentialTable, log: Log) -> ReferenceFits | None:
    """The public records of a run that has them, and how they are fitted.

    Nothing is clamped in that fit, so an exact engine, which draws from clamped targets alone,
    leaves it to the native one.
    """
    public = table.reference
    if public is None:
        return None
    engine = find_engine("native") if settings.is_exact else _sampler(settings, log)
    source = ModelSource(public.model, public.cells, engine)
    return ReferenceFits(public, source, settings.settings)


def grid_settings(settings: RunSettings, model: TableModel) -> dict[str, Any]:
    """Range and steps of the grid that an exact engine draws from; empty for other engines."""
    if not settings.is_exact:
        return {}
    (column,) = model.columns
    return public_grid(settings.settings, column.model, column.cells.n_coefficients).settings
