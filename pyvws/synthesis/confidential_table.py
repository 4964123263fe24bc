"""A confidential table as a run sees it: its parts, and how synthetic tables are made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw

from pyvws._base.checks import Floats
from pyvws.models.model import Model
from pyvws.models.sequence import DrawnColumn
from pyvws.synthesis.reference import Reference
from pyvws.tables.frame import OutcomeKind, open_frame, with_columns
from pyvws.tables.hidden_values import with_sorted_levels, without_notes
from pyvws.tables.row_order import RowNumbers

__all__ = ["ConfidentialTable", "OutcomeColumn"]


@dataclass(frozen=True, slots=True)
class OutcomeColumn:
    """A column to synthesize.

    Attributes
    ----------
    name : str
        Name of the column.
    y, unrounded : ndarray, shape (N,)
        The values in the column's own unit, or codes 1 to L of categories; before rounding too.
    model : Model
        The column's family, prepared.
    design : ndarray, shape (N, K)
        Design rows of the records.
    terms, predictors : tuple of str
        Names of the design's columns, and of the columns that these come from.
    kind : OutcomeKind
        What the values are; of categories, the levels that the codes stand for.
    written : function of values (M,) and a backend of narwhals
        Makes synthetic values a column of the table's kind.
    coded, first
        As of `DrawnColumn`.
    categorical : bool
        Whether no distance between values has a meaning.
    """

    name: str
    y: Floats
    unrounded: Floats
    model: Model
    design: Floats
    terms: tuple[str, ...]
    predictors: tuple[str, ...]
    kind: OutcomeKind
    written: Callable[[Floats, Any], nw.Series[Any]]
    coded: Callable[[Mapping[str, Floats]], Floats] | None = None
    first: float = 0.0
    categorical: bool = False

    @property
    def encoded(self) -> Floats:
        """The values (N,) on the scale of the likelihood."""
        return self.model.encode(self.y - self.first if self.first else self.y)

    @property
    def drawn(self) -> DrawnColumn:
        """How synthetic values of the column are drawn."""
        seen = self.encoded if self.model.reads_outcome else None
        return DrawnColumn(self.name, self.model, self.design, self.coded, self.first, seen)


@dataclass(frozen=True, slots=True)
class ConfidentialTable:
    """The parts of a confidential table.

    The parts are the columns to synthesize, the known columns' values, the columns to release in
    order, the coded public predictors (N,) of columns that follow synthetic ones, and for a
    mechanism that names them the public weights (N,) and the public records.
    """

    outcomes: tuple[OutcomeColumn, ...]
    known: list[Any]
    released: list[str]
    implementation: Any
    public: Mapping[str, Floats] = field(default_factory=dict)
    weights: Floats | None = None
    reference: Reference | None = None

    @property
    def records(self) -> int:
        """N, the number of rows."""
        return len(self.outcomes[0].y)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns to synthesize."""
        return tuple(one.name for one in self.outcomes)

    @property
    def unchanged(self) -> tuple[str, ...]:
        """The columns that are released as they are."""
        return tuple(name for name in self.released if name not in self.names)

    @property
    def sought(self) -> dict[str, tuple[Floats, OutcomeKind]]:
        """What a search for copies of each outcome compares: its values before rounding."""
        return {one.name: (one.unrounded, one.kind) for one in self.outcomes}

    @property
    def families(self) -> dict[str, Model]:
        """The prepared family of each column."""
        return {one.name: one.model for one in self.outcomes}

    @property
    def sha256(self) -> str:
        """Digest of the outcomes and the design matrices as float64."""
        parts = (array.tobytes() for one in self.outcomes for array in (one.y, one.design))
        return hashlib.sha256(b"".join(parts)).hexdigest()

    def datasets(
        self, source: Any, values: Sequence[Mapping[str, Floats]], *, order: RowNumbers | None
    ) -> list[Any]:
        """The columns to release of the native table `source`, once for each mapping of values.

        Synthetic values replace the synthesized columns. Row j belongs to record order[j], without
        pandas' label of the record; without an order row j belongs to record j. A table without
        columns released unchanged may have another number of rows.
        """
        frame = open_frame(source).select(self.released)
        if order is not None:
            frame = nw.maybe_reset_index(frame[order])
        frame = nw.from_native(with_sorted_levels(frame.to_native()), eager_only=True)
        return [
            without_notes(
                with_columns(
                    frame,
                    [one.written(of[one.name], frame.implementation) for one in self.outcomes],
                )
            )
            for of in values
        ]
