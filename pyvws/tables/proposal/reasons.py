"""Why a proposal is as it is, in a line a column.

No line has a value of a record, so that it can stand on a terminal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pyvws.tables.schema.column import Column
from pyvws.tables.schema.decided import is_decided

MOST_LINES: Final = 20


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
            "Predictors are the one or two earlier columns that say most about a column. A sampler "
            "would take too long for all of them."
        )
    if len(lines) > MOST_LINES:
        more = len(lines) - MOST_LINES + 1
        lines = [*lines[: MOST_LINES - 1], f"{more} more reasons follow from the entries."]
    return lines


def _why(column: Column, columns: Mapping[str, Column], shown: Mapping[str, str]) -> Iterator[str]:
    if column.role != "synthesize":
        return
    named = [(rule.bars, shown[x]) for rule in column.rules for x in rule.columns]
    read, barring = ([*dict.fromkeys(x for bars, x in named if bars == of)] for of in (False, True))
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
