"""From a run to its datasets: the draws of each dataset, batch after batch.

A table in memory is a single batch. In steps, a batch is some records of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.cores import usable_cores
from pyvws.release.column_checks import Sample, sampled
from pyvws.release.draw_source import DrawSource
from pyvws.release.histogram import histogram_run
from pyvws.release.noisy_counts import counts_run
from pyvws.release.posterior import fitted_run
from pyvws.synthesis.confidential_table import ConfidentialTable
from pyvws.synthesis.loop import Listener, SynthesisLoop
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.files.row_order import RowNumbers


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows to draw in each dataset.

    `rows` are the records that they stand for, or the number of records or of whole units.
    `public` has the columns that go out unchanged. A dataset gets at most `most` rows of all
    batches together, and as many as the single batch gives if that is None.
    """

    rows: RowNumbers | int
    most: int | None = None
    public: Any = None


Take = Callable[[int, dict[str, Floats], Any, int], None]
"""Takes the values of some rows of a dataset, by its place from 0.

The rows' unchanged columns, and the number of the first row, from 1, stand beside the values.
"""


@dataclass(frozen=True, slots=True)
class WholeDraws:
    """The values of each dataset by column, the record of each row, and rows for the checks."""

    values: list[dict[str, Floats]]
    order: RowNumbers | None
    samples: list[Sample]


def open_draws(
    settings: RunSettings,
    table: ConfidentialTable,
    *,
    seed: int,
    listener: Listener,
    loop: SynthesisLoop | None = None,
) -> DrawSource:
    """Run the mechanism on a checked table; `loop` is as of `fitted_run`."""
    mechanism = settings.chosen_mechanism
    if mechanism.facts.takes_table:
        return counts_run(settings, table, seed=seed, listener=listener)
    if not mechanism.facts.fits_model:
        return histogram_run(settings, table, seed=seed)
    return fitted_run(settings, table, seed=seed, listener=listener, loop=loop)


def draw_datasets(run: DrawSource, batches: Iterable[Batch], take: Take) -> list[Sample]:
    """Draw the rows of the batches for every dataset, and return some rows of each.

    Each dataset has a random stream of its own, and in steps a thread.
    """
    draws = run.draws()
    kept: list[list[Sample]] = [[] for _ in draws]
    first = [1] * len(draws)
    with ThreadPoolExecutor(usable_cores()) as pool:
        for batch in batches:

            def draw(place: int, batch: Batch = batch) -> None:
                steps: Iterable[dict[str, Floats]] = draws[place](batch.rows)
                if batch.most is None:
                    steps = [joined(list(steps))]
                records = None if isinstance(batch.rows, int) else batch.rows
                for values in steps:
                    number = len(next(iter(values.values())))
                    at: Any = {"first": first[place], "length": batch.most or number}
                    kept[place].append(sampled(values, run.table, records, **at))
                    take(place, values, batch.public, first[place])
                    first[place] += number

            each: Any = map if batch.most is None else pool.map
            list(each(draw, range(len(draws))))
    return [joined(parts) for parts in kept]


def draw_whole(run: DrawSource) -> WholeDraws:
    """The datasets of a table in memory, in one batch."""
    order, members = run.record_of_row(run.table.records), run.table.members
    number = run.table.records if members is None else run.rows or members.number
    rows = number if order is None else order
    values: list[dict[str, Floats]] = []
    samples = draw_datasets(run, [Batch(rows)], lambda _place, dataset, *_: values.append(dataset))
    return WholeDraws(values, order, samples)


def joined(parts: Sequence[dict[str, Floats]]) -> dict[str, Floats]:
    """The values (N,) by column of some steps one after the other."""
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
