"""A confidential table as a run sees it: its parts, and how synthetic tables are made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts.sets import CountedTable
from pyvws.models.model import Model
from pyvws.models.sequence import Conditional, DrawnColumn, Finishing
from pyvws.posterior.prediction import UnitsDrawn
from pyvws.synthesis.reference import Reference
from pyvws.tables.design.cells import make_cells
from pyvws.tables.files.frame import OutcomeKind, open_frame, with_columns
from pyvws.tables.files.hidden_values import with_sorted_levels, without_notes
from pyvws.tables.files.labels import EPOCH, moved
from pyvws.tables.files.row_order import RowNumbers


@dataclass(frozen=True, slots=True)
class OutcomeColumn:
    """A conditional to fit: a column to synthesize, or the parts of one.

    Attributes
    ----------
    name : str
        Name of the column.
    y : ndarray, shape (N,)
        The values in the column's own unit, or codes 1 to L of categories; NaN where missing.
    model : Model
        The column's family, prepared.
    design : ndarray, shape (N, K)
        Design rows of the records; with `rows`, distinct ones.
    terms, predictors : tuple of str
        Names of the design's columns, and of the columns that these come from.
    coded, first, finish
        As of `DrawnColumn`.
    categorical : bool
        Whether no distance between values has a meaning.
    records : ndarray of int, shape (n,), optional
        Places of the records that have a term in the conditional; all N if not given.
    rows : ndarray of int, shape (N,), optional
        Each record's row of the design; its own if not given.
    """

    name: str
    y: Floats
    model: Model
    design: Floats
    terms: tuple[str, ...]
    predictors: tuple[str, ...]
    coded: Callable[[Mapping[str, Floats]], Floats] | None = None
    first: float = 0.0
    finish: Finishing | None = None
    categorical: bool = False
    records: NDArray[np.intp] | None = None
    rows: NDArray[np.intp] | None = None

    @property
    def encoded(self) -> Floats:
        """The values on the scale of the likelihood, of the records that have a term, (n,)."""
        y = self.y if self.records is None else self.y[self.records]
        return self.model.encode(y - self.first if self.first else y)

    @property
    def drawn(self) -> DrawnColumn:
        """How synthetic values of the column are drawn."""
        seen = None
        if self.model.reads_outcome:
            seen = self.encoded
            if self.records is not None:  # A record without a value takes another's, by turns.
                seen = np.resize(seen, len(self.y))
                seen[self.records] = self.encoded
        return DrawnColumn(
            *(self.name, self.model, self.design, self.coded, self.first, seen, self.finish),
            rows=self.rows,
        )

    def conditional(self, multiplicity: Floats | None) -> Conditional:
        """The column to fit; record i of the table stands for multiplicity[i] equal ones."""
        of = slice(None) if self.records is None else self.records
        counts = None if multiplicity is None else multiplicity[of]
        design = self.design[of] if self.rows is None else self.design
        rows = None if self.rows is None else self.rows[of]
        cells = make_cells(self.encoded, design, counts, rows)
        return Conditional(self.name, self.model, cells, self.records)


@dataclass(frozen=True, slots=True)
class ReleasedColumn:
    """A synthesized column as it is released.

    Attributes
    ----------
    y : ndarray, shape (N,)
        The confidential values before any rounding, codes of categories, or days of dates since
        `days_since`; NaN where missing.
    kind : OutcomeKind
        What the values are; of categories, the levels that the codes stand for.
    written : function of synthetic values by column and a backend of narwhals
        Makes the column of the table's kind.
    breaking : int
        The number of records that break a rule of the column.
    keeping : ndarray of bool, shape (N,), optional
        Whether a record keeps the rules of the column; all do if not given.
    days_since : str, optional
        The date, as ISO text, since which the days of dates are counted.
    """

    y: Floats
    kind: OutcomeKind
    written: Callable[[Mapping[str, Floats], Any], nw.Series[Any]]
    breaking: int = 0
    keeping: NDArray[np.bool_] | None = None
    days_since: str | None = None

    @property
    def sought(self) -> Floats:
        """What a search for copies compares (N,): the values, and of dates the days since 1970."""
        return self.y if self.days_since is None else moved(self.y, self.days_since, EPOCH)


@dataclass(frozen=True, slots=True, eq=False)
class CountedRecords:
    """What is counted of a table, and the codes (N, K) of the records that count."""

    table: CountedTable
    codes: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ConfidentialTable:
    """The parts of a confidential table.

    The parts are the conditionals to fit, the synthesized columns as they are released, how they
    are drawn in order, the known columns' values, the columns to release in order, those that get
    new ids, the coded public predictors (N,) of columns that follow synthetic ones, for a
    mechanism that names them the public weights (N,) and the public records, each record's unit
    of privacy (N,), 0 to H - 1, where a unit may have several records, the survey weights over
    their mean (N,) where these are exponents, and the levels that a schema gives public columns.
    `members` is there where whole units are drawn, and `counted` where cells are counted.
    """

    outcomes: tuple[OutcomeColumn, ...]
    synthesized: Mapping[str, ReleasedColumn]
    drawn: tuple[DrawnColumn, ...]
    known: list[Any]
    released: list[str]
    implementation: Any
    ids: Mapping[str, Callable[[Any, Any], nw.Series[Any]]] = field(default_factory=dict)
    public: Mapping[str, Floats] = field(default_factory=dict)
    weights: Floats | None = None
    reference: Reference | None = None
    units: NDArray[np.intp] | None = None
    exponents: Floats | None = None
    members: UnitsDrawn | None = None
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    counted: CountedRecords | None = None

    @property
    def records(self) -> int:
        """N, the number of rows."""
        return len(self.outcomes[0].y)

    @property
    def unchanged(self) -> tuple[str, ...]:
        """The columns that are released as they are."""
        made = {*self.synthesized, *self.ids}
        return tuple(name for name in self.released if name not in made)

    @property
    def sought(self) -> dict[str, tuple[Floats, OutcomeKind]]:
        """What a search for copies of each outcome compares: its values before rounding."""
        return {name: (one.sought, one.kind) for name, one in self.synthesized.items()}

    @property
    def breaking(self) -> dict[str, int]:
        """The number of records that break a rule, of each column where there are any."""
        found = {name: one.breaking for name, one in self.synthesized.items() if one.breaking}
        if self.members is not None and self.members.impossible:
            found["members"] = self.members.impossible
        return found

    def written(
        self, values: Mapping[str, Floats], backend: Any, *, first: int = 1
    ) -> list[nw.Series[Any]]:
        """The synthesized columns as they are released, of synthetic values by column.

        New ids go with them: those among the values, or else from the number `first` on.
        """
        shown = {name: one for name, one in self.synthesized.items() if name in self.released}
        made = [one.written(values, backend) for one in shown.values()]
        rows = np.arange(first, first + len(made[0]))
        numbers = {name: values.get(name, rows) for name in self.ids}
        return [*made, *(self.ids[name](of, backend) for name, of in numbers.items())]

    @property
    def families(self) -> dict[str, Model]:
        """The prepared family of each column."""
        return {one.name: one.model for one in self.outcomes}

    @property
    def sha256(self) -> str:
        """Digest of the outcomes and the design matrices as float64, and of rows where given."""
        found = hashlib.sha256()
        for one in self.outcomes:
            for array in (one.y, one.design, one.rows):
                if array is not None:
                    found.update(np.ascontiguousarray(array).data)
        return found.hexdigest()

    def datasets(
        self, source: Any, values: Sequence[Mapping[str, Floats]], *, order: RowNumbers | None
    ) -> list[Any]:
        """The columns to release of the native table `source`, once for each mapping of values.

        Synthetic values replace the synthesized columns. Row j belongs to record order[j], without
        pandas' label of the record; without an order row j belongs to record j. A table without
        columns released unchanged may have another number of rows. Rows of whole units belong to no
        record.
        """
        frame = open_frame(source).select(self.released)
        if order is not None:
            frame = nw.maybe_reset_index(frame[order])
        elif self.members is not None:  # No row is a record's, also where there are as many.
            frame = nw.maybe_reset_index(frame)
        frame = nw.from_native(with_sorted_levels(frame.to_native(), self.levels), eager_only=True)
        return [
            without_notes(with_columns(frame, self.written(of, frame.implementation)))
            for of in values
        ]
