"""Why a proposal is as it is, in a line a column, and the rules that a few records break.

No line has a value of a record, so that it can stand on a terminal. A count of records is
confidential, as the proposal is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from narwhals.typing import IntoFrame

from pyvws._base.checks import Floats
from pyvws._base.phrase import counted
from pyvws.tables.files.frame import open_frame
from pyvws.tables.proposal.codes import units_of_records
from pyvws.tables.proposal.often import Codes, Often
from pyvws.tables.proposal.rules import Told, coded_parts
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.decided import is_decided
from pyvws.tables.schema.schema import Schema

MOST_LINES: Final = 20
_BROKEN: Final = 0.01  # At most such a share of the records under a condition breaks a rule.
_CHANCE: Final = float(np.log(1e6))  # Nats.


def reasons(columns: Mapping[str, Column], shown: Mapping[str, str]) -> list[str]:
    """A line for each column that is no plain category or number, at most 20 in all.

    `shown` is what each column is called.
    """
    names_by_reason: dict[str, list[str]] = {}
    for name, column in columns.items():
        if why := "; ".join(_why(column, columns, shown)):
            names_by_reason.setdefault(why, []).append(shown[name])
    lines = [f"{', '.join(names)}: {why}." for why, names in names_by_reason.items()]
    if any("predictors" in other.review for other in columns.values()):
        lines.append(
            "Predictors are the one or two earlier columns that tell most of a column, since a "
            "sampler would take too long for all of them."
        )
    if len(lines) > MOST_LINES:
        more = len(lines) - MOST_LINES + 1
        lines = [*lines[: MOST_LINES - 1], f"{more} more reasons follow from the entries."]
    return lines


def _why(column: Column, columns: Mapping[str, Column], shown: Mapping[str, str]) -> Iterator[str]:
    if column.role != "synthesize":
        return
    read, barring = (
        list(
            dict.fromkeys(
                shown[x] for rule in column.rules if rule.bars == bars for x in rule.columns
            )
        )
        for bars in (False, True)
    )
    of = " and ".join(read)
    if column.lookup:
        yield f"each level of {of} has one value of it"
    elif column.is_computed:
        yield f"it is computed from {of} in all records"
    elif column.rule and is_decided(column, dict(columns)):
        yield f"it follows from {of} in all records"
    elif column.is_constant:
        yield "it has one value" if column.levels else "every cell is empty"
    else:
        if column.outcome_scale:
            yield f"the scale {column.outcome_scale} is the likeliest of those that a number has"
        elif column.model not in (None, "nominal", "table", "ordinal"):
            yield f"{column.model} is the likeliest family"
        if column.mass:
            yield "many records have one number, which is a point of mass"
        if read:
            yield (
                f"for some values of {' or '.join(read)} all records have one value here, "
                "which is hardly chance"
            )
        if barring:
            yield (
                f"for some values of {' or '.join(barring)} no record has some of its levels, "
                "which is hardly chance"
            )


def broken_rules(schema: Schema, frame: IntoFrame, shown: Mapping[str, str]) -> list[str]:
    """Rules that all records of a table but a few keep, with how many break them: confidential.

    At most 1 % of the records under a condition break it. Such a rule may be one of the
    questionnaire, with mistakes in the table. No rule comes from one unit.
    """
    table = open_frame(frame, least=1)
    values, often = schema.coded(table), units_of_records(table, schema.columns)
    lines, earlier = [], list[str]()
    for name in schema.synthesized:
        column = schema.columns[name]
        if name in schema.computed:
            continue
        coded = coded_parts(name, column, values)
        if coded is not None and all(rule.bars for rule in column.rules):
            nearly = list(_by_column(coded[0], earlier, schema, values, often))
            if nearly:
                _, other, broken = max(nearly, key=lambda rule: rule[0])
                held = f"a rule by {shown[other]} holds but for {counted(broken, 'record')}"
                lines.append(f"{shown[name]}: {held}.")
        earlier.append(name)
    return lines


def _by_column(
    codes: Codes, earlier: list[str], schema: Schema, values: Mapping[str, Floats], often: Often
) -> Iterator[tuple[float, str, int]]:
    """Conditions on one earlier column under which nearly all records have one code (N,)."""
    told, L = Told(codes, often), int(codes.max()) + 1
    for other in earlier:
        parts = coded_parts(other, schema.columns[other], values)
        if parts is None:
            continue
        own = parts[0]
        table = np.bincount(own * L + codes, minlength=len(parts[1]) * L).reshape(-1, L)
        of_level = table.sum(axis=1)
        for code in range(L):
            broken = of_level - table[:, code]
            whole = (of_level > 0) & (broken <= _BROKEN * of_level)
            holds = whole[own]
            if not broken[whole].any() or whole[of_level > 0].all():
                continue
            units = float(often.each[holds].sum())
            if units * told.nats(code, ~holds) >= _CHANCE and told.apart(code, holds):
                yield units, other, int(broken[whole].sum())
