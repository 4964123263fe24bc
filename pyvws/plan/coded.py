"""The columns of a table as numbers: the outcomes of conditionals, and columns as released."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import narwhals as nw
import numpy as np

from pyvws._base.checks import Bools, Floats, Places, Values
from pyvws.errors import DisclosureWarning, InputError
from pyvws.models.model import Model
from pyvws.models.sequence import Conditional, DrawnColumn, Finishing
from pyvws.tables.design.cells import make_cells
from pyvws.tables.files.frame import OutcomeKind
from pyvws.tables.files.labels import EPOCH, moved
from pyvws.tables.schema.parts import UnitsDrawn


@dataclass(frozen=True, slots=True)
class OutcomeColumn:
    """A conditional to fit: a column to synthesize, or the parts of one.

    - `name`: Name of the column.
    - `y` (N,): The values in the column's own unit, or codes 1 to L of categories; NaN where
      missing.
    - `model`: The column's family, prepared.
    - `design` (N, K): Design rows of the records; with `rows`, distinct ones.
    - `terms`, `predictors`: Names of the design's columns, and of the columns that these come from.
    - `coded`, `first`, `finish`: As of `DrawnColumn`.
    - `categorical`: Whether no distance between values has a meaning.
    - `records` (n,): Places of the records that have a term in the conditional; all N if not given.
    - `rows` (N,): Each record's row of the design; its own if not given.
    - `bounded` (N, 2): The ends between which each record bounds the value, encoded.
    - `ends`: As of `DrawnColumn`.
    """

    name: str
    y: Floats
    model: Model
    design: Floats
    terms: tuple[str, ...]
    predictors: tuple[str, ...]
    coded: Callable[[Values], Floats] | None = None
    first: float = 0.0
    finish: Finishing | None = None
    categorical: bool = False
    records: Places | None = None
    rows: Places | None = None
    bounded: Floats | None = None
    ends: Callable[[Values], Floats] | None = None

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
            ends=self.ends,
        )

    def conditional(self, multiplicity: Floats | None) -> Conditional:
        """The column to fit; record i of the table stands for multiplicity[i] equal ones."""
        rows_of = slice(None) if self.records is None else self.records
        counts = None if multiplicity is None else multiplicity[rows_of]
        design = self.design[rows_of] if self.rows is None else self.design
        rows = None if self.rows is None else self.rows[rows_of]
        ends = None if self.bounded is None else self.bounded[rows_of]
        cells = make_cells(self.encoded, design, counts, rows, ends)
        return Conditional(self.name, self.model, cells, self.records)


@dataclass(frozen=True, slots=True)
class ReleasedColumn:
    """A synthesized column as it is released.

    - `y` (N,): The confidential values before any rounding, codes of categories, or days of dates
      since `days_since`; NaN where missing.
    - `kind`: What the values are; of categories, the levels that the codes stand for.
    - `written` (function of synthetic values by column and a backend of narwhals): Makes the column
      of the table's kind.
    - `breaking`: The number of records that break a rule of the column.
    - `keeping` (N,): Whether a record keeps the rules of the column; all do if not given.
    - `days_since`: The date, as ISO text, since which the days of dates are counted.
    - `unknown`: The number of records with a value that the settings do not know.
    """

    y: Floats
    kind: OutcomeKind
    written: Callable[[Values, Any], nw.Series[Any]]
    breaking: int = 0
    keeping: Bools | None = None
    days_since: str | None = None
    unknown: int = 0

    @property
    def sought(self) -> Floats:
        """What a search for copies compares (N,): the values, and of dates the days since 1970."""
        return self.y if self.days_since is None else moved(self.y, self.days_since, EPOCH)


class InCells(Protocol):
    """Records in public cells, and the values (N,) of the columns that are counted."""

    @property
    def values(self) -> Values: ...


@dataclass(frozen=True, slots=True)
class CodedTable:
    """What a plan makes of a table's columns.

    - `outcomes`: The conditionals to fit.
    - `drawn`: How synthetic values are drawn, in order; a histogram draws its own.
    - `synthesized`: The synthesized columns as they are released.
    - `values`, `public` (N,): All columns that were coded, and the public predictors among them.
    - `ids` (mapping of str to functions of numbers and a backend of narwhals): Makes new ids.
    - `levels`: The levels that a schema gives public columns.
    - `members`: How units are drawn, where whole units are.
    - `counted`: The records in cells, where cells are counted.
    """

    outcomes: tuple[OutcomeColumn, ...]
    drawn: tuple[DrawnColumn, ...]
    synthesized: Mapping[str, ReleasedColumn]
    public: Values
    values: Values = field(default_factory=dict)
    ids: Mapping[str, Callable[[Any, Any], nw.Series[Any]]] = field(default_factory=dict)
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    members: UnitsDrawn | None = None
    counted: InCells | None = None


@dataclass(frozen=True, slots=True)
class Beside:
    """M public records, and a table's N records in their coding.

    - `model`: The family, prepared for the public records.
    - `outcome`, `design` (M,) and (M, K): The public records.
    - `y`, `own` (N,) and (N, K): The table's records; rows that are not `known` mean nothing.
    - `known` (N,): Which records have only levels that the public records have.
    """

    model: Model
    outcome: Floats
    design: Floats
    y: Floats
    own: Floats
    known: Bools


def prepared(model: Model, y: Floats, name: str, counts: Floats | None) -> Model:
    """The family prepared for the outcome (N,), whose rows stand for `counts` (N,) records."""
    try:
        return model.prepare(y, name)
    except InputError:
        if counts is not None:  # The message of a tally counts its rows; this one counts records.
            model.prepare(np.repeat(y, counts.astype(np.intp)), name)
        raise


def admitted(model: Model, y: Floats, name: str) -> Bools:
    """Which outcomes (N,) the family can have, each by itself.

    A family refuses outcomes together, so the distinct ones are halved until it takes them.
    """
    values, place = np.unique(y, return_inverse=True)
    takes = np.zeros(len(values), dtype=np.bool_)
    parts = [(0, len(values))] if len(values) else []
    while parts:
        low, high = parts.pop()
        try:
            model.prepare(values[low:high], name)
            takes[low:high] = True
        except InputError:
            middle = (low + high) // 2
            parts += [(low, middle), (middle, high)] if low < middle else []
    return takes[place]


def refuse_same(public: Floats, y: Floats, *, warns: bool = False) -> None:
    """Raise InputError where the outcomes of public records (M, ...) are the table's (N, ...).

    It `warns` the agency alone where a refusal would tell of the records.
    """
    first, second = (np.sort(values, axis=0) for values in (public, y))
    if len(public) == len(y) and np.array_equal(first, second, equal_nan=True):
        same = InputError.by("reference-is-the-table")
        if not warns:
            raise same
        warnings.warn(f"reference: {same}", DisclosureWarning, stacklevel=2)
