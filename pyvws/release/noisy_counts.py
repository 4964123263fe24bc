"""Noisy counts as the source of draws: all datasets are made of one set of noisy tables.

What is bought of the seller is all that a release learns of the confidential table. What follows
reads what a release holds: the schema, the settings, the noisy counts and the public seed.
`imputed_values` is that function, and `pyvws reproduce` calls it too. What is bought stands in the
order of `measured`, each step of which reads what was bought before it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import narwhals as nw
import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws._base.seeds import public_seed
from pyvws.errors import ConvergenceWarning, InputError
from pyvws.evaluation.combining_rules import NoisyCells
from pyvws.evaluation.needs_met import needs_met
from pyvws.evaluation.predicted_quality import predicted_quality
from pyvws.evaluation.sample_errors import CellNoise
from pyvws.mechanisms.counts.best_file import Imputed, best_file
from pyvws.mechanisms.counts.chosen_cells import FineCounts, finer_columns
from pyvws.mechanisms.counts.counting import (
    CellCounting,
    CountedInSteps,
    CountedRecords,
    MeasuredCounts,
    compared_totals,
    measured,
)
from pyvws.mechanisms.counts.drawn_fits import drawn_fits
from pyvws.mechanisms.counts.measurements import (
    Measurements,
    WeightedSums,
    counts_columns,
    lost_sets,
)
from pyvws.mechanisms.counts.reference import ReferencePrior, overlap
from pyvws.mechanisms.counts.roundness import roundness_of
from pyvws.mechanisms.counts.totals import PublishedTotals
from pyvws.mechanisms.counts.workload import Counts
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.plan.by_counts import CountsPlan
from pyvws.plan.refusal import refuse_delta
from pyvws.privacy.seller import Seller
from pyvws.release.draw_source import Draw, DrawSource, shared_facts
from pyvws.release.draw_values import imputed_values
from pyvws.statement.noise import NoisyCountsStatement
from pyvws.statement.parts import ReliesOn, TableColumns
from pyvws.statement.words import forecast_words
from pyvws.synthesis.confidential_table import ConfidentialTable
from pyvws.synthesis.cost import check_cost, expected_of_counts, not_counted
from pyvws.synthesis.loop import Listener
from pyvws.synthesis.private_schema import cost_of_schema
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.files.row_order import RowNumbers
from pyvws.tables.schema.schema import Schema
from pyvws.tables.schema.slots import WideRows
from pyvws.tables.schema.weight import WeighedRecords

COUNTS_FILE = "counts.parquet"
"""Name of the file that a release has its noisy counts in."""
FINE_FILE = "cells.parquet"
"""Name of the file that has the noisy counts of numbers: by fine cells, and by roundness."""
BEST_FILE: Final = "best-file.parquet"
"""Name of the file that has the best file beside several datasets."""

_POLARS: Final = nw.Implementation.POLARS
CELLS: Final = "cells"
ROUNDNESS: Final = "roundness"
"""By what the numbers of that file are counted."""
_ROWS: Final = {"loo": "noisy", "replace": "exact"}
_FAR: Final = 5.0  # Deviations of noise.
_NEARLY_NONE: Final = 1e-6  # What a record counts in checks whose weight counts nothing.


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyCountsRun(DrawSource):
    """Noisy tables and the tables of records that were imputed from them.

    `schema` has the cells that were chosen. For the agency, `number` is that of the records that
    were counted, `exact` (C,) are the counts without noise, `weighed` what the records count as,
    `compared` is what a reference shares with it, and `of_totals` whether its sums are the totals.
    """

    counting: CellCounting
    schema: Schema
    number: int
    exact: Counts
    noisy: Measurements
    fine: Mapping[str, FineCounts]
    imputed: Imputed
    best: Imputed | None
    compared: Mapping[str, Any] | None = None
    of_totals: Mapping[str, Any] | None = None
    weighed: WeighedRecords | None = None

    @property
    def secret(self) -> bool:
        return True

    def draws(self) -> list[Draw]:
        public = public_seed(self.seed)
        made = imputed_values(
            self.counting, self.schema, self.noisy, self.imputed, public, self.fine
        )
        return [partial(lambda own, _rows: own, steps) for steps in made]

    def noise(self, name: str) -> CellNoise | None:
        column = self.noisy.table.columns.get(name)
        if column is None or not np.isfinite(column.edges).any():
            return None
        return CellNoise(column.edges, self.noisy.of_column(name)[1])

    def figures(self) -> dict[str, Any]:
        x = self.weighed
        own = (
            {} if x is None else {"weights_clipped": x.clipped, "records_without_weight": x.without}
        )
        return {
            "epsilon_total": self.statement.exact()["epsilon_total"],
            "privacy": self.statement.exact(),
            "timings": {},
            "records": self._rows,
            **({} if self._in_slots is None else {"slots": self._in_slots.figures}),
            "imputation": {"misfit": self.imputed.misfit, "classes": self.imputed.classes},
            "records_in_no_cell": self._in_no_cell,
            **own,
            **({} if self.compared is None else {"reference": self.compared}),
            **({} if self.of_totals is None else {"totals": self.of_totals}),
            "settings": {},
        }

    @property
    def _in_no_cell(self) -> dict[str, int]:
        """The number of records that a set does not count, of the sets where there are any."""
        table = self.noisy.table
        left = (self.number - np.add.reduceat(self.exact, table.offsets[:-1])).tolist()
        return {name: own for name, own in zip(table.names, left, strict=True) if own}

    def records(self, rows: Mapping[str, RowNumbers] | None = None) -> dict[str, Any]:
        return {"record": np.arange(1, self._rows + 1), **(rows or {})}

    @property
    def _in_slots(self) -> WideRows | None:
        return getattr(self.table.counted, "rows", None)

    @property
    def _rows(self) -> int:
        """The number of the table's rows that are records, or of members of units."""
        return self.number if self._in_slots is None else self.table.records

    def posterior(self) -> dict[str, Any]:
        return counts_columns(self.noisy)

    @property
    def texts(self) -> dict[str, str]:
        """The agency's schema is the given one, and a run that it repeats chooses cells anew."""
        given = self.settings.plan.schema
        return {**super(NoisyCountsRun, self).texts, "schema": given.text if given else ""}

    def public_tables(self) -> dict[str, pl.DataFrame]:
        chosen = {FINE_FILE: pl.DataFrame(self._fine_columns())} if self.fine else {}
        best = {} if self.best is None else {BEST_FILE: self._best_table(self.best)}
        return {COUNTS_FILE: pl.DataFrame(counts_columns(self.noisy)), **chosen, **best}

    def _best_table(self, best: Imputed) -> pl.DataFrame:
        public = public_seed(self.seed)
        (steps,) = imputed_values(self.counting, self.schema, self.noisy, best, public, self.fine)
        return _frame(self.table, steps).select(self.table.released)

    def _fine_columns(self) -> dict[str, Any]:
        """The noisy counts of numbers as columns: column, by, cell in words, count, scale.

        They are counted by "cells", and by "roundness".
        """
        rows: list[tuple[Any, ...]] = []
        finer = finer_columns(self.schema, self.noisy.records, self.fine)
        for name, own in self.fine.items():
            rows += _rows(name, CELLS, finer[name].labels, own)
        for name, own in self.fine.items():
            roundness = roundness_of(finer[name])
            if own.rounded is not None and roundness is not None:
                rows += _rows(name, ROUNDNESS, roundness.labels, own.rounded)
        names = ("column", "by", "label", "count", "scale")
        return dict(zip(names, zip(*rows, strict=True), strict=True))


def _frame(table: ConfidentialTable, steps: Iterator[dict[str, Floats]]) -> pl.DataFrame:
    """A dataset of values in steps, as a release has it but for its order."""
    written = (table.written(values, _POLARS, first=1) for values in steps)
    return pl.concat(pl.DataFrame([own.to_native() for own in part]) for part in written)


def _rows(name: str, by: str, labels: list[str], own: FineCounts) -> list[tuple[Any, ...]]:
    counts = own.counts.tolist()
    return [(name, by, *row, own.scale) for row in zip(labels, counts, strict=True)]


def counts_run(
    settings: RunSettings, table: ConfidentialTable, *, seed: int, listener: Listener
) -> NoisyCountsRun:
    """Count the table once under noise, and impute records from the noisy counts.

    InputError, by the noisy counts alone, where that would take longer than `most_seconds`, and
    where delta is above 1 over the number of records.
    """
    mechanism, plan = settings.chosen_mechanism, settings.plan
    records = table.counted
    assert isinstance(mechanism, NoisyCounts)
    assert isinstance(plan, CountsPlan)
    assert isinstance(records, CountedRecords | CountedInSteps)
    counting, schema = plan.counting, plan.schema
    assert isinstance(counting, CellCounting)
    given = settings.records if isinstance(settings.records, int) else None
    public_rows = known = counting.rows_known(given)
    if known is None and mechanism.neighbours == "replace":
        known = records.number  # All neighbours have as many.
    noise = counting.noise(mechanism.budget, hidden=known is None)
    weighed = records.weighed if isinstance(records, CountedRecords) else None
    times = None if weighed is None else weighed.parts
    if times is not None:  # For the checks of columns, which take no weights that are all 0.
        each = np.maximum(times, _NEARLY_NONE)
        table = replace(table, exponents=each / each.mean() if len(each) else None)
    units = table.units if counting.slots is None else None  # Else each record is a unit.
    seller = Seller.of_noise(noise, records, units, times)
    bought = measured(counting, noise, seller, records=known)
    noisy, fine = bought.noisy, bought.fine
    for phrase in (*filter(None, [bought.why]), *not_counted(noisy.table)):
        listener.line(f"  {forecast_words(phrase)}")
    most = settings.most_seconds
    refuse_delta(settings, noisy.records)
    _refuse_other_unit(noisy)
    how: dict[str, Any] = {
        "fits": settings.datasets,
        "in_steps": isinstance(records, CountedInSteps),
    }
    cost = expected_of_counts(mechanism, noisy.table, noisy.records, noisy.scales, **how)
    check_cost(cost, most, listener)
    released = bought.schema if counting.slots is None else schema
    written = {"schema": released}
    table = replace(table, plan=replace(table.plan, schema=released, written=written))
    public = public_seed(seed)
    prior = ReferencePrior.of(counting, noisy)
    made = partial(imputed_tables, mechanism=mechanism, seed=public, further=prior)
    imputed = made(noisy, datasets=settings.datasets)
    beside = mechanism.best_file and settings.datasets > 1
    best = made(noisy, datasets=1) if beside else None
    lost = lost_sets(noisy.to_totals, imputed.codes)
    again = partial(made, datasets=1, seed=public + 1)
    quality = predicted_quality(noisy, imputed, again, seed=public)
    rows_of_record = 1.0 if counting.slots is None else counting.slots.mean_size(imputed.codes[0])
    it: Any = mechanism.needs and imputed_values(
        counting, bought.schema, noisy, imputed, public, fine
    )
    totals = None if noisy.totals is None else _facts_of_totals(noisy, noisy.totals, imputed)
    told = {"noise": noise.kind, **({"totals": totals} if totals else {})}
    cells = NoisyCells.of(pl.DataFrame(counts_columns(noisy)), {"counts": told})
    needs = needs_met(mechanism.asked, cells, bought.schema, [_frame(table, own) for own in it])
    of_rows = "public" if public_rows is not None else _ROWS[mechanism.neighbours]
    rounded = [own.rounded for own in fine.values() if own.rounded is not None]
    of_numbers = [*fine.values(), *rounded]
    statement = NoisyCountsStatement(
        **shared_facts(settings, table),
        spending=seller.spending,
        **cost_of_schema(schema.paid, noise.budget),
        neighbours=mechanism.neighbours,
        records=of_rows,
        columns=TableColumns(synthesized=plan.outcomes, numbered=schema.ids),
        proposed=bought.schema.under_review,
        unit=schema.unit,
        cap=mechanism.budget.cap,
        slots=None if counting.slots is None else counting.slots.number,
        noise=noise.kind,
        model=mechanism.model,
        sets=len(noisy.table.sets) + len(of_numbers),
        cells=int(noisy.table.possible.sum()) + sum(len(own.counts) for own in of_numbers),
        columns_of_chosen_cells=tuple(
            n for n, x in schema.columns.items() if n in fine and x.cuts is None
        ),
        conversion=noise.conversion,
        public_seed=public,
        deviation_of_records=noisy.deviation_of_records * rows_of_record,
        **({} if noisy.weighted is None else _weighted_facts(noisy.weighted)),
        predicted=quality.scores,
        kept=quality.kept,
        lost=tuple(lost),
        best_file=settings.datasets == 1,
        pairs_not_counted=noisy.table.too_large,
        reference=None if prior is None else prior.figures(),
        totals=totals,
        why_auto=bought.why,
        needs=tuple(needs),
        relies_on=ReliesOn(
            engine=f"discrete-{noise.kind}",
            exact_draws=True,
            public_settings={
                **table.plan.public_settings,
                "measure": mechanism.measure,
                "tables": mechanism.tables,
                **({"needs": mechanism.needs} if mechanism.needs else {}),
                **({} if counting.reference is None else {"reference": counting.reference.file}),
                **({} if counting.totals is None else {"totals": counting.totals.file}),
            },
        ),
    )
    if lost:
        named = ", ".join(map(" by ".join, lost))
        warnings.warn(
            f"The records do not hold the noisy counts of {named}. Take figures of these columns "
            "together from counts.parquet, by pyvws tabulate --counted.",
            ConvergenceWarning,
            stacklevel=5,
        )
    return NoisyCountsRun(
        settings=settings,
        table=table,
        statement=statement,
        seed=seed,
        rows=noisy.records,
        counting=counting,
        schema=bought.schema,
        exact=counting.counts(records, noisy.table),
        number=records.number,
        noisy=noisy,
        fine=fine,
        imputed=imputed,
        best=best,
        compared=overlap(counting, records),
        of_totals=compared_totals(counting, records),
        weighed=weighed,
    )


def _refuse_other_unit(noisy: Measurements) -> None:
    """Raise InputError where totals cannot be of what was counted, by the noisy counts alone."""
    found = noisy.summed(())
    if noisy.totals is None or found is None:
        return
    counted, deviation = float(found[0]), found[1] ** 0.5
    if abs(counted - noisy.records) > max(_FAR * deviation, 0.5 * noisy.records):
        totals = noisy.totals
        raise InputError.by("totals-other-unit", file=totals.file, total=totals.population)


def _facts_of_totals(
    noisy: Measurements, totals: PublishedTotals, imputed: Imputed
) -> dict[str, Any]:
    """The totals, how many rows datasets are off, and noisy sums in deviations of their noise."""
    rows, far = max(totals.apart(codes, noisy.table) for codes in imputed.codes), []
    for own in totals.sets:
        found = noisy.summed(own.crossed.columns) if own.crossed.columns else None
        if found is not None:
            gaps = found[0].ravel() - own.totals * (noisy.records / totals.population)
            far.append(float(np.abs(gaps).max() / found[1] ** 0.5))
    return {**totals.figures(), "rows_apart": rows, "noise_apart": max(far, default=None)}


def _weighted_facts(sums: WeightedSums) -> dict[str, Any]:
    """What a statement says of sums of weights."""
    weights = {
        "column": sums.weight.column,
        "range": [sums.weight.low, sums.weight.high],
        "calibrated": sums.weight.calibrated,
        "stands_for": sums.stands_for,
    }
    return {"weights": weights, "population": sums.population, "parts": sums.parts}


def imputed_tables(
    noisy: Measurements,
    mechanism: NoisyCounts,
    *,
    datasets: int,
    seed: int,
    further: ReferencePrior | None = None,
) -> Imputed:
    """The imputed records of each dataset, from noisy counts, public settings and a seed alone.

    Fits give them: the best file where it is the only dataset. A `further` prior, of a public
    table, enters the fits. All of them meet published totals.
    """
    if not noisy.records:
        none = np.empty((0, len(noisy.table.columns)), dtype=np.int32)
        return Imputed([none] * datasets, [{}] * datasets, 0.0, 0)
    how: Any = {"classes": mechanism.classes, "seed": seed, "further": further}
    moved = noisy.to_totals
    made = best_file(moved, **how) if datasets == 1 else drawn_fits(moved, datasets=datasets, **how)
    if noisy.totals is None:
        return made
    rng = np.random.default_rng([seed, 5])
    met = [noisy.totals.met(codes, noisy.table, rng) for codes in made.codes]
    numbers = [
        {name: own[source] for name, own in drawn.items()}
        for drawn, (_, source) in zip(made.numbers, met, strict=True)
    ]
    return replace(made, codes=[codes for codes, _ in met], numbers=numbers)


def measured_copy(
    counting: CellCounting, mechanism: NoisyCounts, copy: ConfidentialTable
) -> MeasuredCounts:
    """What a run without a public number of records buys; nothing else is made of the table."""
    assert isinstance(copy.counted, CountedRecords)
    hidden = mechanism.neighbours == "loo"
    noise = counting.noise(mechanism.budget, hidden=hidden)
    seller = Seller[CountedRecords | CountedInSteps].of_noise(noise, copy.counted, copy.units)
    return measured(counting, noise, seller, records=None if hidden else copy.records)
