"""The plan of a run on one outcome: one conditional, whose design is R's of public columns."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self, cast

import narwhals as nw
import numpy as np

from pyvws._base.checks import Bools, Floats, Places, Values
from pyvws.errors import InputError
from pyvws.models.model import Model
from pyvws.models.registry import find_model
from pyvws.plan.by_schema import SchemaPlan
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
from pyvws.tables.design.model_matrix import make_design, recoded_design
from pyvws.tables.files.frame import (
    Frame,
    HasColumns,
    OutcomeKind,
    outcome_column,
    outcome_series,
    plain_columns,
)
from pyvws.tables.files.kinds import distinct, floats_of, holds_numbers
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.formula import dotted, read_formula
from pyvws.tables.schema.read_values import (
    CodedColumn,
    coded_column,
    how_many,
    level_codes,
    numbers_and_codes,
)
from pyvws.tables.schema.schema import Schema
from pyvws.tables.schema.toml_text import read_column
from pyvws.tables.schema.write_values import native_levels, type_of_levels

_SAYS_ITSELF = ("role", "model", "predictors", "formula", "prefix", "review")
_BY_SCHEMA = ("outcome", "column", "model", "formula", "keep", "round", "unit")


@dataclass(frozen=True, slots=True, kw_only=True)
class FormulaPlan(Plan):
    """One outcome by a formula; `entries` are the outcome's as of a schema, where it has any.

    With entries the outcome may have missing values, points of mass, a rule or dates, so several
    conditionals, or records without a term. The design of its public columns is then a schema's.
    """

    says_itself: ClassVar[tuple[str, ...]] = ()
    by_schema: ClassVar[bool] = False
    roles: ClassVar[tuple[str, str]] = ("outcome", "formula")
    formula: str
    entries: Column | None = None

    @classmethod
    def of(cls, run: Any) -> Self:
        """The plan of settings without a schema; "~ 1" alone makes a design without a table."""
        kept = () if run.keep == "all" else run.keep
        K = 1 if run.formula == "~ 1" else None
        plan = cls(
            run=run,
            conditionals=(PlannedConditional(run.outcome, run.model, K),),
            outcomes=(run.outcome,),
            predictors=read_formula(run.formula).columns,
            kept=(kept,) if isinstance(kept, str) else tuple(kept),
            unit=run.unit,
            formula=run.formula,
        )
        return plan if run.column is None else replace(plan, entries=_entries(run, run.formula))

    @property
    def outcome(self) -> str:
        """The column to synthesize."""
        return self.outcomes[0]

    @property
    def complete(self) -> list[str]:
        return self.keys if self.refuses_no_record else self.modelled

    @property
    def columns_by_cell(self) -> list[str]:
        return list(self.outcomes)

    @property
    def types_are_public(self) -> bool:
        return self.strict

    @property
    def reads_codes(self) -> bool:
        return self.entries is not None

    @property
    def of_families(self) -> dict[str, Any]:
        (family,) = self.families
        own = [entry.name for entry in fields(cast(Any, family)) if "setting" in entry.metadata]
        return {name: getattr(family, name) for name in own}

    def on(self, table: HasColumns) -> Plan:
        """With all columns but the outcome in the place of `.`, and those that `keep` names."""
        formula = dotted(self.formula, [name for name in table.columns if name != self.outcome])
        changed = formula != self.formula
        plan = replace(
            self,
            formula=formula,
            entries=_entries(self.run, formula) if changed and self.entries else self.entries,
            predictors=read_formula(formula).columns,
            kept=tuple(table.columns) if self.run.keep == "all" else self.kept,
            written={"formula": formula},
        )
        named: Plan = self.run.checked(plan.named(table))
        return named

    def designed(self, frame: Frame) -> Plan:
        if self.entries is not None:
            return self._by_schema(frame)
        design = make_design(frame, self.formula, outcome=self.outcome)
        (conditional,) = self.conditionals
        with_design = replace(conditional, K=len(design.names), design=design)
        plan = replace(self, predictors=design.predictors, conditionals=(with_design,))
        designed: Plan = self.run.checked(plan)
        return designed

    def _by_schema(self, frame: Frame) -> Plan:
        """The plan by a schema that takes levels and ranges of public columns from the table.

        That tells nothing, since they are released as they are.
        """
        column = cast(Column, self.entries)
        rules = {name for rule in column.rules for name in rule.columns}
        reads = {*self.predictors, *rules} - {self.outcome}
        if hidden := sorted(reads - self.unchanged):
            raise InputError.by("rule-of-unreleased-column", hidden=hidden[0])
        plain_columns(frame, sorted(reads), role="formula")  # Refuses missing values.
        columns = {
            name: _public(frame[name]) if name in reads else Column(role="public")
            for name in self.header
            if name in self.unchanged
        }
        schema = Schema({**columns, self.outcome: column}, unit=self.unit)
        own = (entry for entry in fields(self.run) if entry.name in _BY_SCHEMA)
        written = {**{entry.name: entry.default for entry in own}, "schema": schema}
        plan = replace(SchemaPlan.of(self.run, schema), header=self.header, written=written)
        checked: Plan = self.run.checked(plan)
        return checked

    def coded(
        self, frame: Frame, counts: Floats | None, units: Places | None, by_schema: Collection[str]
    ) -> CodedTable:
        name, mechanism = self.outcome, self.run.mechanism
        (planned,) = self.conditionals
        model, design = planned.family, planned.design
        mechanism.check_columns(design.predictors, self.released)
        column, modelled, rounded = frame[name], self.run.facts.fits_model, self.run.round
        like = None
        if name in by_schema and modelled and model.outcome_labels is not None:
            like = type_of_levels(model.outcome_labels, column)
        y, levels = self._values(frame, counts, like, strict=self.refuses_no_record)
        records = None
        if self.refuses_no_record:
            y, known = self._known(y, modelled=modelled)
            records = None if known.all() else np.flatnonzero(known)
        own = slice(None) if records is None else records
        unrounded, y = y, np.rint(y) if rounded else y
        family = prepared(model, y[own], name, counts) if modelled else model
        whole = modelled and family.whole_numbers
        kind: OutcomeKind = "whole" if rounded or whole else "real"
        if levels is not None:
            kind = levels.values
        elif column.dtype == nw.Boolean and whole and not self.refuses_no_record:
            kind = "boolean"
        categories = modelled and (family.categorical or column.dtype == nw.Boolean)
        mechanism.check_outcome(y, name, categories=categories)
        conditional = OutcomeColumn(
            name=name,
            y=y,
            model=family,
            design=design.matrix,
            terms=design.names,
            predictors=design.predictors,
            categorical=categories,
            records=records,
        )

        def written(values: Values, backend: Any) -> nw.Series[Any]:
            drawn = np.rint(values[name]) if rounded else values[name]
            return outcome_series(name, drawn, kind, backend=backend)

        return CodedTable(
            outcomes=(conditional,),
            drawn=(conditional.drawn,) if modelled else (),
            synthesized={
                name: ReleasedColumn(
                    *(unrounded, kind, written),
                    keeping=None if records is None else known,
                    unknown=0 if records is None else how_many(~known, counts),
                )
            },
            public=_coded_predictors(frame, design.predictors),
        )

    def _values(
        self,
        frame: Frame,
        counts: Floats | None = None,
        like: nw.Series[Any] | None = None,
        *,
        strict: bool = False,
    ) -> tuple[Floats, CodedColumn | None]:
        """The outcome (N,) before any rounding, and its levels where the family has labels.

        A `strict` reading refuses no cell: an unknown one is NaN, or has code 0.
        """
        labels = self.families[0].outcome_labels if self.run.facts.fits_model else None
        if labels is None and strict:
            return numbers_and_codes(frame[self.outcome], (), strict=True)[0], None
        if labels is None:
            return outcome_column(frame, self.outcome), None
        if strict:
            of_levels = native_levels(labels, frame[self.outcome] if like is None else like)
            codes = level_codes(frame[self.outcome], labels, counts, of_levels, strict=True)
            return codes, CodedColumn(codes, of_levels)
        given: Any = {"counts": counts, "like": like}
        levels = coded_column(frame, self.outcome, labels, role="outcome", **given)
        return levels.codes, levels

    def _known(self, y: Floats, *, modelled: bool) -> tuple[Floats, Bools]:
        """The outcome (N,), and which values count; a histogram gets NaN for the others."""
        if not modelled:
            return y, np.isfinite(y)
        model = self.families[0]
        known = np.isfinite(y) if model.outcome_labels is None else y >= 1.0
        own = np.rint(y[known]) if self.run.round else y[known]
        known[known] = admitted(model, own, self.outcome)
        return np.where(known, y, y[known][0] if known.any() else 1.0), known

    def beside(self, public: Frame, frame: Frame, coded: CodedTable) -> Beside:
        theirs, _ = self._values(public)
        theirs = np.rint(theirs) if self.run.round else theirs
        y = coded.outcomes[0].y
        refuse_same(theirs, y, warns=self.refuses_no_record)
        model = self.families[0].prepare(theirs, self.outcome)
        recoded = recoded_design(public, frame, self.formula, outcome=self.outcome)
        known = recoded.known
        if coded.outcomes[0].records is not None:
            known = known & np.isin(np.arange(len(known)), coded.outcomes[0].records)
        return Beside(model, theirs, recoded.design.matrix, y, recoded.matrix, known)


def _entries(run: Any, formula: str) -> Column:
    """The outcome as a column of a schema, with the entries of `column`, TOML or a mapping."""
    entries = run.column
    if isinstance(entries, str):
        try:
            entries = tomllib.loads(f"entries = {{{entries}}}")["entries"]
        except tomllib.TOMLDecodeError:
            entries = None
    if not isinstance(entries, Mapping):
        raise InputError.by("column-entries-words")
    for entry in _SAYS_ITSELF:
        if entry in entries:
            raise InputError.by("column-entry-of-run", entry=entry)
    model: Model = run.model
    usual = find_model(model.name)
    settings = [entry.name for entry in fields(cast(Any, model)) if "setting" in entry.metadata]
    changed = {
        name: getattr(model, name)
        for name in settings
        if getattr(model, name) != getattr(usual, name)
    }
    follows = {"formula": formula} if read_formula(formula).columns else {"predictors": ()}
    return read_column(run.outcome, {"model": model.name, **changed, **entries, **follows})


def _public(values: nw.Series[Any]) -> Column:
    """What is public of a column that is released as it is, from its cells."""
    if holds_numbers(values) and values.dtype != nw.Boolean:
        numbers = floats_of(values)
        low, high = float(np.min(numbers)), float(np.max(numbers))
        if low < high:
            return Column(role="public", range=(low, high))
        return Column(role="public", scale=(low, 1.0))
    return Column(role="public", levels=tuple(sorted(distinct(values)[1])))


def _coded_predictors(frame: Frame, names: tuple[str, ...]) -> dict[str, Floats]:
    """The numbers (N,) of predictors, or the places of their values among the sorted ones."""
    import pandas as pd

    columns = plain_columns(frame, names, role="predictors")
    return {
        name: np.asarray(
            column if pd.api.types.is_numeric_dtype(column) else pd.factorize(column, sort=True)[0],
            dtype=np.float64,
        )
        for name, column in columns.items()
    }
