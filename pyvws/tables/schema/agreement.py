"""Check that the entries of a column agree: groups, rules, range, `outside` and the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from pyvws._base.checks import as_text, near
from pyvws.errors import InputError
from pyvws.tables.files.labels import as_number, label_of
from pyvws.tables.schema.category import refuse_many, refuse_settings
from pyvws.tables.schema.families import CATEGORICAL, FAMILIES, MOST_LEVELS
from pyvws.tables.schema.rules import Rule, Ruled


class Agreeing(Ruled, Protocol):
    """What the checks ask of a column: its entries, and what follows from them."""

    @property
    def role(self) -> str: ...

    @property
    def model(self) -> str | None: ...

    @property
    def levels(self) -> tuple[str, ...] | None: ...

    @property
    def mass(self) -> tuple[float, ...]: ...

    @property
    def outside(self) -> str | bool | None: ...

    @property
    def lookup(self) -> Mapping[str, Mapping[str, Any]] | None: ...

    @property
    def outcome_scale(self) -> str | None: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    @property
    def rules(self) -> tuple[Rule, ...]: ...

    @property
    def ruled_codes(self) -> tuple[str | None, ...]: ...

    @property
    def group_of_level(self) -> tuple[str, ...]: ...

    @property
    def levels_by_group(self) -> Mapping[str, tuple[str, ...]]: ...

    @property
    def n_drawn(self) -> int: ...

    @property
    def is_computed(self) -> bool: ...

    @property
    def is_constant(self) -> bool: ...

    def number_of(self, label: str) -> float | None: ...

    def label_of_number(self, number: float) -> str: ...


def check_groups(column: Agreeing) -> None:
    """Check that levels fall into groups that the family can take."""
    if column.group_by is None:
        return
    if column.levels is None or column.model not in (None, "nominal", "table"):
        raise InputError.by("group-by-without-levels")
    sizes = [len(levels) for levels in column.levels_by_group.values()]
    if len(sizes) < 2 or max(sizes) < 2:
        raise InputError.by(
            "group-by-parts-nothing",
            group_by=column.group_by,
            sizes=len(sizes),
            group_of_level=len(column.group_of_level),
        )
    if column.model == "nominal" and max(len(sizes), *sizes) > MOST_LEVELS:
        raise InputError.by(
            "group-too-large",
            group_by=column.group_by,
            sizes=len(sizes),
            sizes2=max(sizes),
            most_levels=MOST_LEVELS,
        )


def check_rules(column: Agreeing) -> None:
    """Check that the column can follow each of its rules."""
    if column.rules and column.role != "synthesize":
        raise InputError.by("rule-of-other-role")
    if column.is_computed and (len(column.rules) > 1 or column.model or column.mass):
        raise InputError.by("computed-with-more")
    if column.lookup and not column.categorical and column.missing_codes:
        raise InputError.by("lookup-not-numbers")
    for rule in column.rules:
        rule.check(column)
    if {*column.ruled_codes} & {*(column.levels or ())}:
        raise InputError.by("only-where-is-level")
    fixed = [value for rule in column.rules for value in rule.fixes]
    if any(sum(label in (None, code) for label in fixed) > 1 for code in column.ruled_codes):
        raise InputError.by("only-where-twice")


def check_within(column: Agreeing) -> None:
    """Check that points of mass and fixed numbers lie within the range."""
    low, high = column.range or (-np.inf, np.inf)
    fixed = (value for rule in column.rules for value in rule.fixes)
    given = [label for label in fixed if label is not None and label not in column.missing_codes]
    if column.categorical:
        return
    for label in (*map(column.label_of_number, column.mass), *given):
        number = column.number_of(label)
        if number is not None and not low <= number <= high:
            raise InputError.by("range-below-points", label=label)


def agreed_outside(column: Agreeing) -> str | bool | None:
    """What an unknown value counts as, None for none; InputError where no value is like that."""
    if column.outside in (None, False):
        return None
    levels = column.levels or ()
    if column.outside is True:
        if not (column.range or any(as_number(level) is not None for level in levels)):
            raise InputError.by("outside-of-text")
        return True
    level = label_of(column.outside)
    if level not in levels:
        raise InputError.by("outside-words", level=as_text(level), hint=near(level, levels))
    return level


def check_model(column: Agreeing, entries: Iterable[str]) -> None:
    """Check that the model takes the column and its settings, none of them one of the `entries`."""
    given = [*column.settings, *(["outcome_scale"] if column.outcome_scale else [])]
    refuse_settings(column.model, given, entries)
    if column.role != "synthesize":
        return
    if column.model is None and (column.is_computed or column.is_constant):
        return
    if column.model is None:
        raise InputError.by("model-missing", families=", ".join(FAMILIES))
    if column.model in CATEGORICAL and column.levels is None:
        raise InputError.by("family-without-levels", model=column.model)
    if column.model == "nominal" and column.group_by is None:
        refuse_many(column.n_drawn)
    if column.model not in CATEGORICAL and column.levels is not None:
        raise InputError.by("family-of-numbers", model=column.model)
    if column.model == "logistic" and len(column.coded_levels) != 2:
        raise InputError.by("logistic-levels", coded_levels=len(column.coded_levels))
