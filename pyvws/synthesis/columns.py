"""The columns of a table that a run models, and the columns that the run releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import narwhals as nw

from pyvws.errors import InputError
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.files.frame import HasColumns, check_columns, narwhal_view
from pyvws.tables.files.steps import LargeTable, named_errors, open_lazy
from pyvws.tables.schema.formula import dotted, read_formula

AnySettings = TypeVar("AnySettings", bound=RunSettings)


@dataclass(frozen=True, slots=True)
class RunColumns:
    """Columns of a run: `modelled` in the fit, the `outcomes` last, and `released` in their order.

    `outcomes` are the columns to synthesize, `ids` those that get new ids, and `units` that of the
    units of privacy, if there are any.
    """

    modelled: list[str]
    released: list[str]
    outcomes: tuple[str, ...]
    ids: tuple[str, ...] = ()
    units: tuple[str, ...] = ()

    @property
    def public(self) -> list[str]:
        """Columns that the run releases unchanged, in their order."""
        return [name for name in self.released if name not in (*self.outcomes, *self.ids)]

    @property
    def all(self) -> list[str]:
        """Every column that the run reads."""
        return list(dict.fromkeys([*self.modelled, *self.public, *self.units]))


def run_columns(settings: RunSettings, table: HasColumns) -> RunColumns:
    """The columns of a run on a table; InputError for a column that the table lacks."""
    mechanism = cast(Mechanism, settings.mechanism)
    outcomes, predictors = _modelled(settings)
    known, weighed = list(mechanism.facts.known), mechanism.facts.weight_column
    weights = [] if weighed is None else [weighed]
    units = [] if settings.unit_column is None else [settings.unit_column]
    survey = _survey_weight(settings)
    names = settings.kept(table.columns)
    schema = settings.public_table
    one, ids = schema is None, () if schema is None else schema.ids
    for role, wanted in (
        ("outcome" if one else "schema", outcomes),
        ("formula" if one else "schema", predictors),
        ("known", known),
        ("weight_column", weights),
        ("unit", units),
        ("survey_weight", survey),
        ("schema", ids),
        ("keep", names),
    ):
        check_columns(table, wanted, role=role)
    keys = [
        name
        for name in dict.fromkeys([*predictors, *known, *weights, *survey])
        if name not in outcomes
    ]
    public = {*outcomes, *predictors, *names, *ids}
    released = [name for name in table.columns if name in public]
    return RunColumns([*keys, *outcomes], released, outcomes, ids, tuple(units))


def _modelled(settings: RunSettings) -> tuple[tuple[str, ...], list[str]]:
    """The columns to synthesize, and the public columns that predict them."""
    schema = settings.public_table
    if schema is not None:
        drawn = (name for name in schema.synthesized if name not in schema.derived)
        return tuple(drawn), list(schema.public)
    return (cast(str, settings.outcome),), list(read_formula(settings.formula).columns)


def _survey_weight(settings: RunSettings) -> list[str]:
    """The column of survey weights that are exponents, if there is one."""
    schema = settings.public_table
    return [] if schema is None or schema.exponents is None else [schema.exponents]


def spelled_out(settings: AnySettings, columns: Sequence[str]) -> AnySettings:
    """The settings with all columns but the outcome in the place of `.` in the formula."""
    formula = dotted(settings.formula, [name for name in columns if name != settings.outcome])
    return settings if formula == settings.formula else replace(settings, formula=formula)


def columns_used(settings: RunSettings) -> int | None:
    """Largest number of columns that a run models or releases; None if the run keeps all."""
    if settings.keep == "all" or "." in _modelled(settings)[1]:
        return None
    kept = [settings.keep] if isinstance(settings.keep, str) else settings.keep
    mechanism = cast(Mechanism, settings.mechanism)
    outcomes, predictors = _modelled(settings)
    others = {mechanism.facts.weight_column, settings.unit_column, *_survey_weight(settings)} - {
        None
    }
    return len({*outcomes, *mechanism.facts.known, *predictors, *kept, *others})


def collected(table: Any, settings: RunSettings) -> tuple[Any, bool]:
    """A lazy frame's columns that the run reads, loaded once, or another table unchanged.

    The function also says whether the rows have an order of their own. If the frame's engine
    promises no order, the function sorts the rows by their values, public columns first, so that
    the same seed gives the same release. Raises InputError for members without an order.
    """
    frame = narwhal_view(table)
    if not isinstance(frame, nw.LazyFrame):
        return table, True
    plan = open_lazy(table, keep_order=settings.keep_order)
    chosen = run_columns(settings, plan)
    columns = [name for name in plan.columns if name in {*chosen.all, *chosen.ids}]
    ordered = isinstance(plan, LargeTable)
    schema = settings.public_table
    if not ordered and schema is not None and schema.members is not None:
        raise InputError(
            f"{plan.name}: members stand in the order of the table's rows, and the frame's "
            "engine keeps none. Give a file or a table in memory."
        )
    with named_errors(plan.name, columns, plan.columns):
        rows = frame.select(columns).collect()
        if not ordered:
            keys = [*chosen.public, *chosen.units, *chosen.modelled]
            rows = rows.sort(list(dict.fromkeys(keys)))
        return rows.to_native(), ordered
