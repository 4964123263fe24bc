"""What noisy counts buy of a table, in their order; each step reads what was bought before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from pyvws.mechanisms.counts.chosen_cells import (
    FineCounts,
    most_cells,
    most_fine_cells,
    recoded,
)
from pyvws.mechanisms.counts.measurements import (
    Measurements,
    bought_cells,
    bought_number,
    bought_tables,
    of_cells,
    of_set,
)
from pyvws.mechanisms.counts.workload import CountedRecords, Workload
from pyvws.privacy.budget import Noise
from pyvws.privacy.seller import Seller
from pyvws.tables.schema.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredCounts:
    """The schema with the chosen cells, and what was bought: of sets, and of fine cells."""

    schema: Schema
    noisy: Measurements
    fine: Mapping[str, FineCounts]


def measured(
    workload: Workload, noise: Noise, seller: Seller[CountedRecords], *, records: int | None
) -> MeasuredCounts:
    """Buy the number of records, fine cells, and the sets in the cells that these choose.

    `records` is their number where neighbours have as many or it is public; else it is bought.
    """
    number = bought_number(seller, lambda own: len(own.codes)) if records is None else records
    schema, table, finest = workload.schema, workload.table, workload.finest.columns
    fine: dict[str, FineCounts] = {}
    if finest:
        sets = [of_set(name) for name in table.names]
        deviation = noise.deviation(of_cells(next(iter(finest))))
        cells = workload.fine_cells(most_fine_cells(number, deviation))
        fine = bought_cells(
            seller,
            noise,
            cells,
            lambda own, name: recoded(finest[name], cells.columns[name], own.fine[name]),
            lambda own, name: own.classes[name],
        )
        most = most_cells(number, sum(map(noise.deviation, sets)) / len(sets))
        schema = cells.chosen(schema, fine, most)
        table = workload.in_cells(schema, priced=table.names)

    @cache
    def coded(own: CountedRecords) -> CountedRecords:
        return workload.recoded(own, table)

    noisy = bought_tables(seller, noise, table, lambda own: coded(own).codes, records=number)
    return MeasuredCounts(schema, noisy, fine)
