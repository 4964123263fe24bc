"""One outcome with missing values, points of mass, a rule or dates: a table of one column.

Such an outcome has several conditionals, or records without a term, as a column of a schema may
have. So the run goes the way of a table: the outcome is a column of a schema, and the columns that
are released unchanged are public ones. The schema takes their levels and ranges from the table.
That tells nothing, since they are released as they are.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import narwhals as nw
import numpy as np

from pyvws.errors import InputError
from pyvws.models.registry import find_model, is_own
from pyvws.tables.files.frame import check_columns, open_frame, plain_columns
from pyvws.tables.files.kinds import distinct, floats_of, holds_numbers
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.formula import read_formula
from pyvws.tables.schema.schema import Schema, read_column

_BY_SCHEMA = ("outcome", "column", "model", "formula", "keep", "round", "unit")
_OF_RUN = ("role", "model", "predictors", "formula", "prefix", "review")


def outcome_entries(name: str, given: Any, model: Any, formula: str, *, round: bool) -> Column:
    """The outcome as a column of a schema, with the `given` entries, text in TOML or a mapping.

    Raises InputError for a family of the user's own, and for entries that the column cannot have.
    """
    entries = given
    if isinstance(given, str):
        try:
            entries = tomllib.loads(f"entries = {{{given}}}")["entries"]
        except tomllib.TOMLDecodeError:
            entries = None
    if not isinstance(entries, Mapping):
        raise InputError(
            "column must be entries as a schema has them. Write them in TOML, such as "
            "'missing = [\"N\"], mass = [0]', or in Python as a mapping."
        )
    for entry in _OF_RUN:
        if entry in entries:
            raise InputError(f"column has {entry}, which the run says itself. Take {entry} out.")
    if round:
        raise InputError("round is for a column without entries. Give decimals = 0 in its place.")
    if is_own(model):
        raise InputError("column is for a family of the package. Leave column or the model out.")
    usual = find_model(model.name)
    own = {one.name: getattr(model, one.name) for one in fields(model) if "setting" in one.metadata}
    changed = {entry: value for entry, value in own.items() if value != getattr(usual, entry)}
    follows = {"formula": formula} if read_formula(formula).columns else {"predictors": ()}
    return read_column(name, {"model": model.name, **changed, **entries, **follows})


def as_table(run: Any, table: Any) -> Any:
    """The settings of a run on a table in memory, of whose outcome they may have entries.

    The run is then one by a schema; settings without entries stay as they are.
    """
    if run.column is None:
        return run
    usual = {one.name: one.default for one in fields(run) if one.name in _BY_SCHEMA}
    given: Any = {"schema": _schema(run, open_frame(table)), "datasets": int(run.datasets)}
    return replace(run, **usual, **given)


def _schema(run: Any, frame: nw.DataFrame[Any]) -> Schema:
    kept = run.kept(frame.columns)
    predictors = read_formula(run.formula).columns
    column = outcome_entries(run.outcome, run.column, run.model, run.formula, round=run.round)
    read = {*predictors, *(name for rule in column.rules for name in rule.columns)} - {run.outcome}
    public = {*kept, *predictors} - {run.outcome}
    check_columns(frame, [*public, run.outcome], role="The run")
    hidden = sorted(read - public)
    if hidden:
        raise InputError(
            f"The rule names {hidden[0]!r}, which is not released. Name it in keep or the formula."
        )
    known = plain_columns(frame, sorted(read), role="formula")
    columns = {
        name: _public(frame[name]) if name in known else Column(role="public")
        for name in frame.columns
        if name in public
    }
    return Schema({**columns, run.outcome: column}, unit=run.unit)


def _public(values: nw.Series[Any]) -> Column:
    """What is public of a column that is released as it is, from its cells."""
    if holds_numbers(values) and values.dtype != nw.Boolean:
        numbers = floats_of(values)
        low, high = float(np.min(numbers)), float(np.max(numbers))
        if low < high:
            return Column(role="public", range=(low, high))
        return Column(role="public", scale=(low, 1.0))
    return Column(role="public", levels=tuple(sorted(distinct(values)[1])))
