"""The plan of a table by a schema: its conditionals in order, whose designs are public."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import narwhals as nw
import numpy as np

from pyvws._base.checks import Bools, Floats, Places, Values
from pyvws._base.phrase import Phrase
from pyvws.errors import InputError
from pyvws.models.conditional_table import ConditionalTable
from pyvws.models.model import PredictsBetween
from pyvws.models.registry import family_of, first_code, is_wide
from pyvws.models.sequence import DrawnColumn
from pyvws.plan.coded import (
    Beside,
    CodedTable,
    OutcomeColumn,
    ReleasedColumn,
    admitted,
    prepared,
    refuse_same,
)
from pyvws.plan.plan import Plan, PlannedConditional
from pyvws.tables.design.cells import distinct_rows
from pyvws.tables.design.public import public_design
from pyvws.tables.files.frame import Frame, HasColumns, OutcomeKind
from pyvws.tables.schema.column import part_of
from pyvws.tables.schema.members import places_in
from pyvws.tables.schema.parts import (
    Finish,
    Follows,
    ModelledSchema,
    UnitsDrawn,
    conditionals,
    finish_of,
    follows,
    is_drawn,
    modelled_schema,
)
from pyvws.tables.schema.read_values import Unknown, how_many
from pyvws.tables.schema.schema import SCHEMA_FILE, Schema
from pyvws.tables.schema.write_values import released_type, truth_words


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaPlan(Plan):
    """The columns of a schema; `whole` has the variables of their conditionals."""

    schema: Schema
    whole: ModelledSchema

    @classmethod
    def of(cls, run: Any, schema: Schema, **own: Any) -> Self:
        """The plan of settings with a schema, and what a kind of plan has as its `own`.

        Raises InputError for what no run can follow.
        """
        schema.refuse_unbuilt()
        whole = modelled_schema(schema)
        drawn = [name for name in whole.synthesized if is_drawn(schema, name)]
        planned = []
        for name in drawn:
            design = public_design(whole, name)
            family, wide = family_of(whole, name, design), is_wide(whole, name, design)
            planned.append(PlannedConditional(name, family, len(design.names), design, wide))
        return cls(
            run=run,
            conditionals=tuple(planned),
            outcomes=tuple(name for name in schema.synthesized if name not in schema.derived),
            predictors=schema.public,
            ids=schema.ids,
            unit=schema.unit,
            members=schema.members,
            exponents=schema.exponents,
            mean_exponent=schema.mean_survey_weight,
            proposed=schema.under_review,
            rows=None if schema.public else schema.records,
            schema=schema,
            whole=whole,
            written={"schema": schema},
            **own,
        )

    @property
    def complete(self) -> list[str]:
        own = {*self.run.facts.known, self.run.facts.weight_column, self.exponents}
        return [name for name in self.modelled if name in own]

    @property
    def texts(self) -> dict[str, str]:
        return {"schema": self.schema.text, "public_schema": self.schema.public_text}

    @property
    def signature(self) -> dict[str, Any]:
        schema = self.schema
        if not schema.reviewed or schema.under_review:
            return {}
        return {"by": schema.reviewed, "entries": schema.proposed_entries}

    @property
    def truth_words(self) -> dict[str, dict[bool, str]]:
        return truth_words(self.schema.columns)

    @property
    def leaves_records_out(self) -> bool:
        return any(self.schema.columns[name].rules for name in self.schema.synthesized)

    @property
    def of_families(self) -> dict[str, Any]:
        looked = {} if self.schema.reviewed is None else {"schema_was_proposed": True}
        signed = SCHEMA_FILE if not self.schema.under_review else f"confidential/{SCHEMA_FILE}"
        return {"schema": signed, **looked}

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        """Those of any plan, public sizes, and likelihoods without a normaliser for bounds."""
        between = [planned.name for planned in self.conditionals if self._between(planned)]
        drawn = (name for name in self.schema.synthesized if name not in between)
        bounded = list(filter(self._is_bounded, drawn))
        named = [Phrase("record-bounds", {"columns": ", ".join(map(repr, bounded))})]
        sizes = [Phrase("public-sizes")] if self.members and self.members.size_shares else []
        return (*super(SchemaPlan, self).caveats, *(named if bounded else ()), *sizes)

    def _is_bounded(self, name: str) -> bool:
        """Whether another number of its record bounds a column's."""
        return any(rule.bounds for rule in self.schema.columns[name].rules)

    def _between(self, planned: PlannedConditional) -> bool:
        """Whether a conditional is of a bounded number whose family has the normaliser."""
        return (
            isinstance(planned.family, PredictsBetween)
            and planned.name in self.schema.columns
            and self._is_bounded(planned.name)
        )

    @property
    def referred(self) -> list[str]:
        return [name for name in self.schema.used if name not in self.schema.derived]

    def on(self, table: HasColumns) -> Plan:
        return self.named(table)

    def designed(self, frame: Frame) -> Plan:
        return self

    def coded(
        self, frame: Frame, counts: Floats | None, units: Places | None, by_schema: Collection[str]
    ) -> CodedTable:
        schema = self.schema
        unknown: Unknown | None = {} if self.refuses_no_record else None
        values = schema.coded(frame, counts=counts, by_schema=by_schema, unknown=unknown)
        unrounded = dict(values)
        if self.run.round:  # Of a table of one conditional, as of one outcome.
            values |= {
                name: np.rint(values[name])
                for name in schema.synthesized
                if not schema.columns[name].categorical
            }
        first, members = None, schema.members
        if members is not None and units is not None:
            values |= members.summarized(values, units, schema.columns, counts, unknown)
            first = _first_members(schema, values, units, counts, unknown)
        released, of_unit = {}, 0
        variables: list[OutcomeColumn | DrawnColumn] = []
        for name in schema.synthesized:
            terms = follows(schema, name, values)
            rules = schema.columns[name].rules
            hidden = _any_of(unknown, [name, *(other for rule in rules for other in rule.columns)])
            if hidden is not None:
                terms = Follows(
                    terms.modelled & ~hidden, terms.valued & ~hidden, terms.breaking & ~hidden
                )
            if first is not None and name in schema.of_unit:
                parts = (terms.modelled, terms.valued, terms.breaking)
                terms = Follows(*(rows & first for rows in parts))
            like = nw.new_series(name, [1, 2], nw.Int64, backend=frame.implementation)
            if name not in schema.derived:  # The size of units is no column of the table.
                column = schema.columns[name]
                like = released_type(column, frame[name], by_schema=name in by_schema)
            left_out = terms.breaking if hidden is None else terms.breaking | hidden
            released[name] = ReleasedColumn(
                y=unrounded.get(name, values[name]),
                kind=levels_of(schema, name, like),
                written=decoder(schema, name, like, rounded=self.run.round),
                breaking=how_many(terms.breaking, counts),
                keeping=~left_out if left_out.any() else None,
                days_since=schema.columns[name].days_since,
                unknown=0 if hidden is None else how_many(hidden, counts),
            )
            own = self._variables(name, values, terms, counts, unknown)
            of_unit += len(own) if name in schema.of_unit else 0
            variables += own
        return CodedTable(
            outcomes=tuple(own for own in variables if isinstance(own, OutcomeColumn)),
            drawn=tuple(own.drawn if isinstance(own, OutcomeColumn) else own for own in variables),
            synthesized=released,
            public={name: values[name] for name in self.whole.public if name in values},
            values=values,
            ids={name: partial(schema.numbered, name) for name in schema.ids},
            levels={name: schema.columns[name].levels or () for name in schema.public},
            members=None
            if first is None or members is None
            else UnitsDrawn(
                *(schema, of_unit, how_many(first, counts)),
                impossible=how_many(members.breaking(values, schema.columns), counts),
            ),
        )

    def _variables(
        self,
        name: str,
        values: Values,
        terms: Follows,
        counts: Floats | None,
        unknown: Unknown | None,
    ) -> list[OutcomeColumn | DrawnColumn]:
        """The variables of a column: with a conditional, or drawn from rules alone.

        A record with an `unknown` predictor, or a value that the family cannot have, has no term.
        """
        schema, mechanism = self.schema, self.run.mechanism
        planned = {conditional.name: conditional for conditional in self.conditionals}
        variables: list[OutcomeColumn | DrawnColumn] = []
        for part, (y, has) in conditionals(schema, name, values, terms).items():
            if part not in planned:
                known = schema.members is not None and part in schema.members.known_draws
                nothing = np.zeros((len(values[name]), int(known)))  # The one pattern is 0.
                model = ConditionalTable() if known else None
                finish = finish_of(schema, part)
                variables.append(DrawnColumn(part, model, nothing, finish=finish))
                continue
            if unknown is not None:
                family, column_of = planned[part].family, self.whole.column_of
                of = [column_of.get(other, other) for other in self.whole.predictors_of(part)]
                hidden = _any_of(unknown, of)
                has = has.copy() if hidden is None else has & ~hidden
                has[has] = admitted(family, y[has] - first_code(family), part)
            has, *between = self._ends_of(planned[part], y, values, has)
            # A group may have no record, and a refusal would tell a strict run's data.
            grouped = schema.columns[name].group_by is not None
            if not (self.strict or (terms.modelled if grouped else has).any()):
                raise InputError.by("rules-leave-no-record", part=part)
            outcome = self._conditional(planned[part], y, values, has, counts, between)
            if self.run.facts.by_column:
                own = outcome.y if outcome.records is None else outcome.y[outcome.records]
                mechanism.check_outcome(own, part, categories=outcome.categorical)
            variables.append(outcome)
        return variables

    def _ends_of(
        self, planned: PlannedConditional, y: Floats, values: Values, has: Bools
    ) -> tuple[Bools, Floats | None, Callable[[Values], Floats] | None]:
        """Which records (N,) have a term, their encoded ends, and what makes ends of values.

        A record whose ends leave a single number has no term: nothing is left to draw. Nor has one
        whose number lies beyond its ends, as one that is not at its decimals can.
        """
        finish = finish_of(self.schema, planned.name)
        if not (self._between(planned) and isinstance(finish, Finish)):
            return has, None, None
        family = planned.family

        def ends_of(values: Values) -> Floats:
            return family.encode(finish.ends(values))

        ends, kept = ends_of(values), has.copy()
        (low, high), v = ends[has].T, family.encode(y[has])
        kept[has] = (low < high) & (low <= v) & (v <= high)
        return kept, ends, ends_of

    def _conditional(
        self,
        planned: PlannedConditional,
        y: Floats,
        values: Values,
        has: Bools,
        counts: Floats | None,
        between: Sequence[Any],
    ) -> OutcomeColumn:
        """A conditional of the records (N,) that have a term in it, `between` their ends."""
        name, design, first = planned.name, planned.design, first_code(planned.family)
        predictors = self.whole.predictors_of(name)
        records = None if has.all() else np.flatnonzero(has)
        own = y if records is None else y[records]
        kinds, rows = distinct_rows([values[predictor] for predictor in predictors], len(has))
        of_kinds = {predictor: values[predictor][kinds] for predictor in predictors}
        weights = counts if counts is None or records is None else counts[records]
        drawn = {*self.whole.synthesized, *self.whole.derived}
        return OutcomeColumn(
            name=name,
            y=y,
            model=prepared(planned.family, own - first, name, weights),
            design=design.matrix(of_kinds, n=len(kinds)),
            terms=design.names,
            predictors=predictors,
            coded=design.matrix if {*predictors} & drawn else None,
            first=first,
            finish=finish_of(self.schema, name),
            categorical=self.whole.columns[name].categorical,
            records=records,
            rows=rows,
            bounded=between[0],
            ends=between[1],
        )

    def beside(self, public: Frame, frame: Frame, coded: CodedTable) -> Beside:
        """The schema codes both, so the public records have every level that the table has."""
        (conditional,) = self.conditionals
        first, ours = first_code(conditional.family), coded.values
        theirs = self.schema.coded(public, by_schema=self.schema.used)
        known = np.ones(len(frame), dtype=np.bool_)
        if coded.outcomes[0].records is not None:
            known = np.isin(np.arange(len(frame)), coded.outcomes[0].records)
        outcome = np.rint(theirs[conditional.name]) if self.run.round else theirs[conditional.name]
        y = ours[conditional.name]
        refuse_same(outcome, y, warns=self.refuses_no_record)
        return Beside(
            *(conditional.family.prepare(outcome - first, conditional.name), outcome - first),
            conditional.design.matrix(theirs, n=len(outcome)),
            *(y - first, conditional.design.matrix(ours, n=len(y))),
            known,
        )


def _first_members(
    schema: Schema, values: Values, units: Places, counts: Floats | None, unknown: Unknown | None
) -> Bools:
    """Whether a record (N,) is the first of its unit, whose columns count once.

    Raises InputError where a column of the unit differs between its records. Where `unknown` is
    given, the column is unknown of such a unit.
    """
    place = places_in(units)
    of_first = np.empty(int(units.max()) + 1, dtype=np.intp)
    of_first[units[place == 0]] = np.flatnonzero(place == 0)
    for name in schema.of_unit:
        own = values[name]
        other = own[of_first[units]]
        differing = units[~((own == other) | (np.isnan(own) & np.isnan(other)))]
        if unknown is not None:
            hidden = [differing, units[unknown[name]]] if name in unknown else [differing]
            unknown[name] = np.isin(units, np.concatenate(hidden))
        elif len(differing):
            differs = how_many((place == 0) & np.isin(units, differing), counts)
            raise InputError.by("of-unit-differs", name=name, differs=differs)
    return place == 0


def _any_of(unknown: Unknown | None, names: Sequence[str]) -> Bools | None:
    """Which records (N,) have an unknown value in one of the columns; None where none has."""
    masks = [unknown[name] for name in names if unknown and name in unknown]
    hidden = np.logical_or.reduce(masks) if masks else None
    return hidden if hidden is not None and hidden.any() else None


def levels_of(schema: Schema, name: str, like: nw.Series[Any]) -> OutcomeKind:
    """The levels of a category in the column's own type; "real" for numbers, "date" for dates."""
    column = schema.columns[name]
    if not column.categorical:
        return "real" if column.days_since is None else "date"
    return schema.decoded(name, np.arange(1.0, len(column.coded_levels) + 1.0), like=like)


def decoder(
    schema: Schema, name: str, like: nw.Series[Any], *, rounded: bool = False
) -> Callable[[Values, Any], nw.Series[Any]]:
    """Makes synthetic values of a column the table's own kind, which the backend agrees with."""
    return lambda values, _backend: schema.decoded(
        name,
        np.rint(values[name]) if rounded else values[name],
        like=like,
        parts=values.get(part_of(name)),
    )
