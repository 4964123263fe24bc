"""Check a confidential table before any work, and split the table into a run's parts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.models.model import Model
from pyvws.synthesis.reference import Reference, read_reference
from pyvws.tables.design import Design, make_design
from pyvws.tables.frame import (
    OutcomeKind,
    check_columns,
    numeric_column,
    open_frame,
    outcome_column,
    plain_columns,
    with_outcome,
)
from pyvws.tables.hidden_values import with_sorted_levels, without_notes
from pyvws.tables.row_order import RowNumbers

__all__ = ["ConfidentialTable", "check_table"]


@dataclass(frozen=True, slots=True)
class ConfidentialTable:
    """The parts of a confidential table.

    The parts are the outcome (N,) in its own unit, the outcome before rounding, the prepared model,
    the design, the known columns' values, the columns to release in order, and for a mechanism that
    names them the public weights (N,) and the public records.
    """

    y: Floats
    unrounded: Floats
    kind: OutcomeKind
    model: Model
    design: Design
    known: list[Any]
    released: list[str]
    implementation: Any
    weights: Floats | None = None
    reference: Reference | None = None

    @property
    def sha256(self) -> str:
        """Digest of the outcome and the design matrix as float64."""
        return hashlib.sha256(self.y.tobytes() + self.design.matrix.tobytes()).hexdigest()

    def datasets(
        self,
        source: Any,
        outcomes: Sequence[Floats],
        *,
        outcome: str,
        round: bool,
        order: RowNumbers | None,
    ) -> list[Any]:
        """The columns to release of the native table `source`, once for each synthetic outcome.

        The synthetic outcome replaces the column `outcome`, as whole numbers if `round` is set. Row
        j belongs to record order[j], without pandas' label of the record; without an order row j
        belongs to record j.
        """
        frame = open_frame(source).select(self.released)
        if order is not None:
            frame = nw.maybe_reset_index(frame[order])
        frame = nw.from_native(with_sorted_levels(frame.to_native()), eager_only=True)
        made = [
            with_outcome(
                frame,
                columns=self.released,
                outcome=outcome,
                values=np.rint(values) if round else values,
                kind=self.kind,
            )
            for values in outcomes
        ]
        return [without_notes(dataset) for dataset in made]


def check_table(
    table: Any,
    *,
    outcome: str,
    model: Model,
    mechanism: Mechanism,
    formula: str,
    keep: Sequence[str] | str,
    round: bool,
    least: int = 2,
) -> ConfidentialTable:
    """The checked table; InputError if the method cannot take the table.

    `keep` is "all" or column names. `least` is the smallest number of rows: 1 for a tally, whose
    rows stand for several records.
    """
    frame = open_frame(table, least=least)
    found = outcome_column(frame, outcome)
    y = np.rint(found) if round else found
    modelled = mechanism.fits_model
    prepared = model.prepare(y, outcome) if modelled else model
    whole = modelled and prepared.whole_numbers
    kind: OutcomeKind = "whole" if round or whole else "real"
    if frame[outcome].dtype == nw.Boolean and whole:
        kind = "boolean"
    categories = modelled and (prepared.categorical or frame[outcome].dtype == nw.Boolean)
    mechanism.check_outcome(y, outcome, categories=categories)
    design = make_design(frame, formula, outcome=outcome)
    known = plain_columns(frame, mechanism.known, role="known")
    kept = list(frame.columns) if keep == "all" else [keep] if isinstance(keep, str) else keep
    check_columns(frame, kept, role="keep")
    public = {outcome, *design.predictors, *kept}
    released = [name for name in frame.columns if name in public]
    mechanism.check_columns(design.predictors, released)
    weighed, earlier = mechanism.weight_column, mechanism.reference
    reference = None
    if earlier is not None:
        of_run: Any = {"outcome": outcome, "model": model, "formula": formula, "round": round}
        reference = read_reference(earlier, frame, y, **of_run)
    return ConfidentialTable(
        y=y,
        unrounded=found,
        kind=kind,
        model=prepared,
        design=design,
        known=[np.asarray(column.astype(object)) for column in known.values()],
        released=released,
        implementation=frame.implementation,
        weights=None if weighed is None else _public_weights(frame, weighed, outcome=outcome),
        reference=reference,
    )


def _public_weights(frame: nw.DataFrame[Any], name: str, *, outcome: str) -> Floats:
    """The column of weights (N,); InputError for a value that is no weight, and for the outcome."""
    if name == outcome:
        raise InputError(
            f"weight_column names the outcome {name!r}, which is confidential. Name a public "
            "column, made without looking at the outcomes of other records."
        )
    weights = numeric_column(frame, name, role="weight_column")
    if not ((weights >= 0.0) & (weights <= 1.0)).all():
        raise InputError(
            f"Column {name!r} of weight_column has values outside [0, 1]. Scale it by constants "
            "that are known without the table."
        )
    return weights
