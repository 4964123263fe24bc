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
from pyvws.mechanisms.counts.coding import CountedColumn
from pyvws.mechanisms.counts.noisy_tables import (
    NoisyTables,
    bought_cells,
    bought_number,
    bought_tables,
    count_noise,
    of_cells,
    of_set,
)
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.privacy.budget import Noise
from pyvws.privacy.seller import Seller
from pyvws.synthesis.confidential_table import CountedRecords
from pyvws.tables.schema.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredCounts:
    """The schema with the cells that were chosen, and what was bought: of sets, and of fine cells.

    `finest` has the fine cells that the records are coded in.
    """

    schema: Schema
    noisy: NoisyTables
    fine: Mapping[str, FineCounts]
    finest: Mapping[str, CountedColumn]

    def coded(self, records: CountedRecords) -> CountedRecords:
        """The records in the cells that were chosen, for figures that stay inside."""
        return records.in_cells(self.finest, self.noisy.table)


def planned_noise(mechanism: NoisyCounts, schema: Schema, *, hidden: bool) -> Noise:
    """The noise of all that a run may buy, by name: from settings and the schema alone.

    Where it is `hidden`, the number of records is among it.
    """
    return count_noise(
        mechanism.budget,
        mechanism.counted_table(schema),
        hidden=hidden,
        cells=mechanism.fine_cells(schema),
        share=mechanism.cells_share,
    )


def measured(
    mechanism: NoisyCounts,
    schema: Schema,
    noise: Noise,
    seller: Seller[CountedRecords],
    *,
    records: int | None,
) -> MeasuredCounts:
    """Buy the number of records, fine cells, and the sets in the cells that these choose.

    `records` is their number where neighbours have as many or it is public; else it is bought.
    """
    number = bought_number(seller, lambda own: len(own.codes)) if records is None else records
    table, finest = mechanism.counted_table(schema), mechanism.fine_cells(schema)
    fine: dict[str, FineCounts] = {}
    if finest.columns:
        sets = [of_set(name) for name in table.names]
        deviation = noise.deviation(of_cells(next(iter(finest.columns))))
        cells = mechanism.fine_cells(schema, most=most_fine_cells(number, deviation))
        fine = bought_cells(
            seller,
            noise,
            cells,
            lambda own, name: recoded(finest.columns[name], cells.columns[name], own.fine[name]),
            lambda own, name: own.classes[name],
        )
        most = most_cells(number, sum(map(noise.deviation, sets)) / len(sets))
        schema = cells.chosen(schema, fine, most)
        table = mechanism.counted_table(schema, priced=table.names)

    @cache
    def coded(own: CountedRecords) -> CountedRecords:
        return own.in_cells(finest.columns, table)

    noisy = bought_tables(seller, noise, table, lambda own: coded(own).codes, records=number)
    return MeasuredCounts(schema, noisy, fine, finest.columns)
