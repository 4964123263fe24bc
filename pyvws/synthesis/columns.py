"""Which columns of a table a run takes, and which it releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import narwhals as nw

from pyvws.mechanisms.mechanism import Mechanism
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.formula import read_formula
from pyvws.tables.frame import HasColumns, check_columns, narwhal_view
from pyvws.tables.large_files import LargeTable, named_errors, open_lazy

__all__ = ["RunColumns", "collected", "columns_used", "run_columns"]


@dataclass(frozen=True, slots=True)
class RunColumns:
    """Columns that the fit can tell apart, the outcome last, and those released, in their order."""

    modelled: list[str]
    released: list[str]

    @property
    def outcome(self) -> str:
        """The column to synthesize."""
        return self.modelled[-1]

    @property
    def public(self) -> list[str]:
        """Columns released unchanged, in their order."""
        return [name for name in self.released if name != self.outcome]

    @property
    def all(self) -> list[str]:
        """Every column that the run reads."""
        return list(dict.fromkeys([*self.modelled, *self.released]))


def run_columns(settings: RunSettings, table: HasColumns) -> RunColumns:
    """The columns of a run on a table; InputError for one that is not there."""
    known = list(cast(Mechanism, settings.mechanism).known)
    predictors = list(read_formula(settings.formula).columns)
    kept = settings.keep
    names = table.columns if kept == "all" else [kept] if isinstance(kept, str) else list(kept)
    for role, wanted in (
        ("outcome", [settings.outcome]),
        ("formula", predictors),
        ("known", known),
        ("keep", names),
    ):
        check_columns(table, wanted, role=role)
    keys = dict.fromkeys([*predictors, *known])
    keys.pop(settings.outcome, None)
    public = {settings.outcome, *predictors, *names}
    return RunColumns([*keys, settings.outcome], [name for name in table.columns if name in public])


def columns_used(settings: RunSettings) -> int | None:
    """How many columns a run models or releases at most; None where it keeps all."""
    if settings.keep == "all":
        return None
    kept = [settings.keep] if isinstance(settings.keep, str) else settings.keep
    known = cast(Mechanism, settings.mechanism).known
    return len({settings.outcome, *read_formula(settings.formula).columns, *known, *kept})


def collected(table: Any, settings: RunSettings) -> tuple[Any, bool]:
    """A lazy frame's columns that the run reads, brought into memory once; another table as is.

    Also whether its rows have an order: an engine that promises none has its rows sorted by their
    cells, the public ones first, so that the same seed gives the same release.
    """
    frame = narwhal_view(table)
    if not isinstance(frame, nw.LazyFrame):
        return table, True
    plan = open_lazy(table, keep_order=settings.keep_order)
    chosen = run_columns(settings, plan)
    columns = [name for name in plan.columns if name in set(chosen.all)]
    ordered = isinstance(plan, LargeTable)
    with named_errors(plan.name, columns, plan.columns):
        rows = frame.select(columns).collect()
        if not ordered:
            rows = rows.sort(list(dict.fromkeys([*chosen.public, *chosen.modelled])))
        return rows.to_native(), ordered
