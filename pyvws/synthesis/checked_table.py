"""Check a confidential table before any work, and split the table into a run's parts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, cast

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.models.model import Model
from pyvws.models.sequence import DrawnColumn, Finishing
from pyvws.posterior.prediction import UnitsDrawn
from pyvws.synthesis.confidential_table import ConfidentialTable, OutcomeColumn, ReleasedColumn
from pyvws.synthesis.counted_records import counted_records
from pyvws.synthesis.families import (
    family_of,
    first_code,
    refuse_too_many,
)
from pyvws.synthesis.number_of_rows import refuse_unchanged
from pyvws.synthesis.reference import read_coded_reference, read_reference
from pyvws.synthesis.settings import RunSettings
from pyvws.synthesis.survey_weights import survey_exponents
from pyvws.tables.design.cells import distinct_rows
from pyvws.tables.design.model_matrix import make_design
from pyvws.tables.design.public import public_design
from pyvws.tables.files.frame import (
    OutcomeKind,
    check_columns,
    numeric_column,
    open_frame,
    outcome_column,
    outcome_series,
    plain_columns,
    unit_codes,
)
from pyvws.tables.schema.column import part_of
from pyvws.tables.schema.members import places_in
from pyvws.tables.schema.parts import (
    Follows,
    conditionals,
    finish_of,
    follows,
    is_drawn,
    modelled_schema,
)
from pyvws.tables.schema.read_values import coded_column, how_many
from pyvws.tables.schema.schema import Schema
from pyvws.tables.schema.write_values import released_type, type_of_levels


def check_table(
    table: Any,
    settings: RunSettings,
    *,
    counts: Floats | None = None,
    units: NDArray[np.intp] | None = None,
    written: Collection[str] = (),
) -> ConfidentialTable:
    """The checked table; InputError if the method cannot take the table.

    `counts` (N,) are the records that each row of a tally stands for, and `units` (N,) the kinds of
    units that the rows belong to, where there are units. A tally lacks the columns that are only
    released. The file has text in the columns `written`, whose types here follow from the cells, so
    that no type of a released column may follow from them. By a schema, and under a strict claim,
    that holds for every table.
    """
    if settings.column is not None:
        raise InputError(
            "column is for a run on a table in memory. Write its entries in a schema here."
        )
    if settings.mechanism.facts.takes_table:  # type: ignore[union-attr]
        return counted_records(table, settings)
    frame = open_frame(table, least=2 if counts is None else 1)
    as_they_are = settings.types == "table" or not (settings.strict or settings.schema)
    by_schema = written if as_they_are else frame.columns
    if settings.public_table is not None:
        return _several_outcomes(frame, settings, settings.public_table, counts, units, by_schema)
    return _one_outcome(frame, settings, counts, units, by_schema)


def _one_outcome(
    frame: nw.DataFrame[Any],
    settings: RunSettings,
    counts: Floats | None,
    units: NDArray[np.intp] | None,
    by_schema: Collection[str],
) -> ConfidentialTable:
    outcome, round, formula = cast(str, settings.outcome), settings.round, settings.formula
    mechanism, model = cast(Mechanism, settings.mechanism), cast(Model, settings.model)
    design = make_design(frame, formula, outcome=outcome)
    settings.check_design(len(design.names))
    kept = settings.kept(frame.columns) if counts is None else []
    check_columns(frame, kept, role="keep")
    public = {outcome, *design.predictors, *kept}
    released = [name for name in frame.columns if name in public]
    refuse_unchanged(settings.records, public - {outcome})
    mechanism.check_columns(design.predictors, released)
    modelled = mechanism.facts.fits_model
    labels = model.outcome_labels if modelled else None
    coded = None
    if labels is not None:
        like = type_of_levels(labels, frame[outcome]) if outcome in by_schema else None
        coded = coded_column(frame, outcome, labels, role="outcome", counts=counts, like=like)
    found = outcome_column(frame, outcome) if coded is None else coded.codes
    y = np.rint(found) if round else found
    prepared = _prepared(model, y, outcome, counts) if modelled else model
    whole = modelled and prepared.whole_numbers
    kind: OutcomeKind = "whole" if round or whole else "real"
    if coded is not None:
        kind = coded.values
    elif frame[outcome].dtype == nw.Boolean and whole:
        kind = "boolean"
    categories = modelled and (prepared.categorical or frame[outcome].dtype == nw.Boolean)
    mechanism.check_outcome(y, outcome, categories=categories)
    if modelled and settings.program is None:
        refuse_too_many(outcome, prepared, len(design.names))
    known = _known(frame, mechanism)
    weighed, earlier = mechanism.facts.weight_column, mechanism.facts.reference
    reference = None
    if earlier is not None:
        of_run: Any = {"outcome": outcome, "model": model, "formula": formula, "round": round}
        reference = read_reference(earlier, frame, y, **of_run)
    made = OutcomeColumn(
        name=outcome,
        y=y,
        model=prepared,
        design=design.matrix,
        terms=design.names,
        predictors=design.predictors,
        categorical=categories,
    )
    shown = ReleasedColumn(
        y=found,
        kind=kind,
        written=lambda values, backend: outcome_series(
            outcome,
            np.rint(values[outcome]) if round else values[outcome],
            kind,
            backend=backend,
        ),
    )
    return ConfidentialTable(
        outcomes=(made,),
        synthesized={outcome: shown},
        drawn=(made.drawn,) if modelled else (),
        known=known,
        released=released,
        implementation=frame.implementation,
        public=_coded_predictors(frame, design.predictors),
        weights=None if weighed is None else _public_weights(frame, weighed, (outcome,)),
        reference=reference,
        units=_units(frame, settings, (outcome,), counts, units),
    )


def _coded_predictors(frame: nw.DataFrame[Any], names: Sequence[str]) -> dict[str, Floats]:
    """The numbers (N,) of predictors, or the places of their values among the sorted ones."""
    columns = plain_columns(frame, names, role="predictors")
    return {
        name: np.asarray(
            column if pd.api.types.is_numeric_dtype(column) else pd.factorize(column, sort=True)[0],
            dtype=np.float64,
        )
        for name, column in columns.items()
    }


def _several_outcomes(
    frame: nw.DataFrame[Any],
    settings: RunSettings,
    schema: Schema,
    counts: Floats | None,
    units: NDArray[np.intp] | None,
    by_schema: Collection[str],
) -> ConfidentialTable:
    mechanism = cast(Mechanism, settings.mechanism)
    values = schema.coded(frame, counts=counts, by_schema=by_schema)
    whole = modelled_schema(schema)
    unrounded = dict(values)
    if settings.round:  # Of a table of one conditional, as of one outcome.
        values |= {
            name: np.rint(values[name])
            for name in schema.synthesized
            if not schema.columns[name].categorical
        }
    units, first = _units(frame, settings, schema.synthesized, counts, units), None
    members = schema.members
    if members is not None and units is not None:
        values |= members.summarized(values, units, schema.columns, counts)
        first = _first_members(schema, values, units, counts)
    shown, outcomes, drawn, of_unit = {}, [], [], 0
    for name in schema.synthesized:
        found = follows(schema, name, values)
        if first is not None and name in schema.of_unit:
            found = Follows(found.modelled & first, found.valued & first, found.breaking & first)
        like = nw.new_series(name, [1, 2], nw.Int64, backend=frame.implementation)
        if name not in schema.derived:  # The size of units is no column of the table.
            column = schema.columns[name]
            like = released_type(column, frame[name], by_schema=name in by_schema)
        shown[name] = ReleasedColumn(
            y=unrounded.get(name, values[name]),
            kind=_levels(schema, name, like),
            written=_decoder(schema, name, like, rounded=settings.round),
            breaking=how_many(found.breaking, counts),
            keeping=~found.breaking if found.breaking.any() else None,
            days_since=schema.columns[name].days_since,
        )
        for one, (y, has) in conditionals(schema, name, values, found).items():
            if is_drawn(schema, one):
                # A group may have no record, and a refusal would tell a strict run's data.
                grouped = schema.columns[name].group_by is not None
                if not (settings.strict or (found.modelled if grouped else has).any()):
                    raise InputError(
                        f"No record has a value of column {one!r} that its rules leave open, so "
                        "nothing can be fitted. Drop the column, or change its rules."
                    )
                of = _conditional(whole, one, y, values, has, finish_of(schema, one), counts)
                if mechanism.facts.by_column:
                    own = of.y if of.records is None else of.y[of.records]
                    mechanism.check_outcome(own, one, categories=of.categorical)
                outcomes.append(of)
                drawn.append(of.drawn)
            else:
                nothing = np.empty((len(values[name]), 0))
                drawn.append(DrawnColumn(one, None, nothing, finish=finish_of(schema, one)))
            of_unit += name in schema.of_unit
    if counts is None:  # A tally lacks columns that are not read.
        check_columns(frame, schema.ids, role="The schema")
    weighed, reference = mechanism.facts.weight_column, None
    if mechanism.facts.reference is not None:
        (outcome,) = outcomes
        reference = read_coded_reference(
            mechanism.facts.reference,
            schema,
            outcome.name,
            model=family_of(whole, outcome.name),
            design=public_design(whole, outcome.name),
            rounded=settings.round,
            coded=values,
        )
    released = {*schema.public, *schema.synthesized, *schema.ids}
    return ConfidentialTable(
        outcomes=tuple(outcomes),
        synthesized=shown,
        drawn=tuple(drawn),
        known=_known(frame, mechanism),
        released=[one for one in frame.columns if one in released],
        implementation=frame.implementation,
        ids={name: partial(schema.numbered, name) for name in schema.ids},
        public={name: values[name] for name in whole.public if name in values},
        weights=None if weighed is None else _public_weights(frame, weighed, schema.synthesized),
        reference=reference,
        units=units,
        members=None
        if first is None or members is None
        else UnitsDrawn(
            *(schema, of_unit, how_many(first, counts)),
            impossible=how_many(members.breaking(values, schema.columns), counts),
        ),
        exponents=survey_exponents(frame, schema, counts),
        levels={name: schema.columns[name].levels or () for name in schema.public},
    )


def _first_members(
    schema: Schema,
    values: Mapping[str, Floats],
    units: NDArray[np.intp],
    counts: Floats | None,
) -> NDArray[np.bool_]:
    """Whether a record (N,) is the first of its unit, whose columns count once.

    Raises InputError where a column of the unit differs between its records.
    """
    place = places_in(units)
    of_first = np.empty(int(units.max()) + 1, dtype=np.intp)
    of_first[units[place == 0]] = np.flatnonzero(place == 0)
    for name in schema.of_unit:
        own = values[name]
        other = own[of_first[units]]
        differing = units[~((own == other) | (np.isnan(own) & np.isnan(other)))]
        if len(differing):
            differs = how_many((place == 0) & np.isin(units, differing), counts)
            raise InputError(
                f"Column {name!r} of of_unit differs between the records of {differs} units. A "
                "column of the unit has one value in all of its records."
            )
    return place == 0


def _conditional(
    schema: Schema,
    name: str,
    y: Floats,
    values: Mapping[str, Floats],
    has: NDArray[np.bool_],
    finish: Finishing | None,
    counts: Floats | None,
) -> OutcomeColumn:
    """A conditional of `modelled_schema`, of the records (N,) that have a term in it."""
    family, design = family_of(schema, name), public_design(schema, name)
    first, predictors = first_code(family), schema.predictors_of(name)
    records = None if has.all() else np.flatnonzero(has)
    own = y if records is None else y[records]
    kinds, rows = distinct_rows([values[one] for one in predictors], len(has))
    of_kinds = {one: values[one][kinds] for one in predictors}
    of = counts if counts is None or records is None else counts[records]
    return OutcomeColumn(
        name=name,
        y=y,
        model=_prepared(family, own - first, name, of),
        design=design.matrix(of_kinds, n=len(kinds)),
        terms=design.names,
        predictors=predictors,
        coded=design.matrix if {*predictors} & {*schema.synthesized, *schema.derived} else None,
        first=first,
        finish=finish,
        categorical=schema.columns[name].categorical,
        records=records,
        rows=rows,
    )


def _prepared(model: Model, y: Floats, name: str, counts: Floats | None) -> Model:
    """The family prepared for the outcome (N,), whose rows stand for `counts` (N,) records."""
    try:
        return model.prepare(y, name)
    except InputError:
        if counts is not None:  # The message of a tally counts its rows; this one counts records.
            model.prepare(np.repeat(y, counts.astype(np.intp)), name)
        raise


def _levels(schema: Schema, name: str, like: nw.Series[Any]) -> OutcomeKind:
    """The levels of a category in the column's own type; "real" for numbers, "date" for dates."""
    column = schema.columns[name]
    if not column.categorical:
        return "real" if column.days_since is None else "date"
    return schema.decoded(name, np.arange(1.0, len(column.coded_levels) + 1.0), like=like)


def _decoder(
    schema: Schema, name: str, like: nw.Series[Any], *, rounded: bool
) -> Callable[[Mapping[str, Floats], Any], nw.Series[Any]]:
    """Makes synthetic values of a column the table's own kind, which the backend agrees with."""
    return lambda values, _backend: schema.decoded(
        name,
        np.rint(values[name]) if rounded else values[name],
        like=like,
        parts=values.get(part_of(name)),
    )


def _known(frame: nw.DataFrame[Any], mechanism: Mechanism) -> list[Any]:
    """The values (N,) of the columns that the mechanism names as known."""
    known = plain_columns(frame, mechanism.facts.known, role="known")
    return [np.asarray(column.astype(object)) for column in known.values()]


def _public_weights(frame: nw.DataFrame[Any], name: str, outcomes: Collection[str]) -> Floats:
    """The column of weights (N,); InputError for a value that is no weight, and for an outcome."""
    if name in outcomes:
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


def _units(
    frame: nw.DataFrame[Any],
    settings: RunSettings,
    outcomes: Collection[str],
    counts: Floats | None,
    kinds: NDArray[np.intp] | None,
) -> NDArray[np.intp] | None:
    """Each record's unit of privacy (N,), 0 to H - 1; None where a record is a unit.

    A tally has the `kinds` of its units, and `counts` of each.
    """
    name = settings.unit_column
    if name is None:
        return None
    if name in outcomes:
        raise InputError(f"unit names the outcome {name!r}. Name a column of ids.")
    codes = unit_codes(frame, name) if kinds is None else kinds
    if how_many(places_in(codes) == 0, counts) < 2:
        raise InputError(f"Column {name!r} of unit has one value. A run needs two units or more.")
    return codes
