"""What a run draws its datasets from: a pseudo posterior, or a noisy histogram."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws.evaluation.sample_errors import CellNoise
from pyvws.statement.statement import Statement
from pyvws.synthesis.confidential_table import ConfidentialTable
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.files.row_order import RowNumbers, order_stream, row_order

Draw = Callable[[RowNumbers | int], Iterator[dict[str, Floats]]]
"""Draws synthetic values by column of some rows of a dataset at a time.

The rows are the records that they stand for, or the number of records or of whole units.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawSource(ABC):
    """A run before it draws its datasets.

    `rows` is the number of rows by a setting or by noise, None for one row a record. An engine
    printed `console`.
    """

    settings: RunSettings
    table: ConfidentialTable
    statement: Statement
    seed: int
    rows: int | None = None
    console: str = ""

    @property
    def linked(self) -> bool:
        """Whether each row of a dataset belongs to a record."""
        return self.rows is None and self.table.members is None

    @property
    def secret(self) -> bool:
        """Whether secret randomness, which no seed brings back, has a part in the release."""
        return False

    def order_stream(self) -> np.random.Generator:
        """The stream that draws the order of rows."""
        return order_stream(self.seed)

    def record_of_row(self, records: int) -> RowNumbers | None:
        """The record of each row, from 0; None where row i is record i's, and of whole units."""
        if self.table.members is not None:
            return None
        if self.rows is not None:  # There are no predictors, so one record is like another.
            return np.zeros(self.rows, dtype=np.intp)
        return None if self.settings.keep_order else row_order(self.order_stream(), records)

    @abstractmethod
    def draws(self) -> list[Draw]:
        """What draws each dataset, from a random stream of its own."""

    @property
    def texts(self) -> dict[str, str]:
        """The schema's texts, for the agency and for the release; empty without a schema."""
        return self.table.plan.texts

    def public_tables(self) -> dict[str, pl.DataFrame]:
        """Tables that a release has beside the datasets, by the name of their file."""
        return {}

    def noise(self, name: str) -> CellNoise | None:
        """The noise of the counts that a number was drawn by; None where it was fitted."""
        return None

    @abstractmethod
    def figures(self) -> dict[str, Any]:
        """The run's own part of summary.json."""

    @abstractmethod
    def records(self, rows: Mapping[str, RowNumbers] | None = None) -> dict[str, Any]:
        """Columns of records.parquet, with `rows`, an entry (N,) for each record of the table."""

    @abstractmethod
    def posterior(self) -> dict[str, Any]:
        """Columns of posterior.parquet."""


def shared_facts(settings: RunSettings, table: ConfidentialTable) -> dict[str, Any]:
    """What the statements of all mechanisms take from the settings and the table."""
    return {
        "mechanism": settings.chosen_mechanism.name,
        "datasets": settings.datasets,
        "columns_released_unchanged": table.unchanged,
        "rounded": settings.round,
        "keep_order": settings.keep_order,
        "compared": settings.compared,
        "earlier": settings.earlier,
    }
