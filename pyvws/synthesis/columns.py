"""Collect the columns of a lazy frame that a run reads."""

from __future__ import annotations

from typing import Any

import narwhals as nw
from narwhals.typing import IntoFrame

from pyvws.errors import InputError
from pyvws.plan.plan import Plan
from pyvws.tables.files.frame import narwhal_view
from pyvws.tables.files.steps import LargeTable, lazy_source, named_errors


def collected(table: IntoFrame, plan: Plan) -> tuple[nw.DataFrame[Any], bool]:
    """A view of a table in memory; of a lazy frame the columns that the run reads, loaded once.

    The function also says whether the rows have an order of their own. If the frame's engine
    promises no order, the function sorts the rows by their values, public columns first, so that
    the same seed gives the same release. Raises InputError for members without an order.
    """
    frame = narwhal_view(table)
    if not isinstance(frame, nw.LazyFrame):
        return frame, True
    source = lazy_source(frame, keep_order=plan.run.keep_order)
    plan = plan.on(source)
    columns = [name for name in source.columns if name in {*plan.read, *plan.ids}]
    ordered = isinstance(source, LargeTable)
    if not ordered and plan.members is not None:
        raise InputError.by("members-in-order", source=source.name)
    with named_errors(source.name, columns, source.columns):
        rows = frame.select(columns).collect()
        if not ordered:
            units = [] if plan.unit is None else [plan.unit]
            rows = rows.sort(list(dict.fromkeys([*plan.public, *units, *plan.modelled])))
        return rows, ordered
