"""The entries of a column: lists, names, levels and codes, each read or refused in one line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from pyvws._base.checks import as_text, choice, finite_number, whole_number
from pyvws.errors import InputError
from pyvws.tables.files.labels import days_or_number, iso_date, label_of
from pyvws.tables.schema.families import family_named
from pyvws.tables.schema.rules import read_lookup

ROLES: Final = ("public", "synthesize", "drop", "id")
PRIVATE: Final = ("levels", "range", "cuts")
"""Entries that may be the word "private": found in the records, under noise that is paid for."""

_PRIVATELY: Final = "private"
_MOST_DECIMALS: Final = 15


def missing_codes(value: object) -> str | bool | tuple[str | bool, ...] | None:
    """The codes of missing values, numbers as their text; None for none."""
    if value is None or value is False:
        return None
    if isinstance(value, (list, tuple)):
        codes = tuple(code if code is True else label_of(code) for code in value)
        if len(set(codes)) < len(codes) or False in value:
            raise InputError.by("missing-codes-repeated")
        return codes if len(codes) > 1 else (codes[0] if codes else None)
    return True if value is True else label_of(value)


def refuse_no_text(value: object, name: str) -> None:
    """Raise InputError for what is neither text nor None."""
    if not (value is None or isinstance(value, str)):
        raise InputError.by("not-text", name=name, value=as_text(value))


def refuse_both(predictors: object, formula: object) -> None:
    """Raise InputError for a column that has predictors and a formula of them."""
    if predictors is not None and formula is not None:
        raise InputError.by("predictors-and-formula")


def several(values: object, name: str) -> list[Any]:
    """The values of a list; InputError for anything else."""
    if isinstance(values, (str, Mapping)) or not np.iterable(values):
        raise InputError.by("not-a-list", name=name, values=as_text(values))
    return list(values)


def names(values: object, name: str) -> tuple[str, ...]:
    """A list of names that differ; InputError for anything else."""
    listed = several(values, name)
    if not all(isinstance(value, str) for value in listed):
        raise InputError.by("not-a-list-of-names", name=name, listed=as_text(tuple(listed)))
    if len(set(listed)) < len(listed):
        raise InputError.by("name-twice", name=name, listed=", ".join(listed))
    return tuple(listed)


def labels(levels: object, missing: object = None) -> tuple[str, ...] | None:
    """Levels as text that differ, one or more; none where all are `missing`. None for a number."""
    if levels is None:
        return None
    texts = tuple(label_of(level) for level in several(levels, "levels"))
    if not texts and missing in (None, False):
        raise InputError.by("levels-empty")
    if twice := len(texts) - len(set(texts)):
        raise InputError.by("levels-repeated", texts=len(texts), twice=twice)
    return texts


def pair(values: object, name: str) -> tuple[float, float] | None:
    """Two finite numbers; None for none."""
    if values is None:
        return None
    listed = several(values, name)
    if len(listed) != 2:
        raise InputError.by("not-two-numbers", name=name, listed=as_text(tuple(listed)))
    first, second = (finite_number(value, name) for value in listed)
    return first, second


def values_in(entry: object) -> int:
    """How many values an entry of a column holds, those of lists and tables counted one by one."""
    if isinstance(entry, Mapping):
        return sum(map(values_in, entry.values()))
    return sum(map(values_in, entry)) if isinstance(entry, tuple | list) else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """The entries of a column as `Column` describes them, each read by itself."""

    role: str = "synthesize"
    model: str | None = None
    levels: tuple[str, ...] | None = None
    group_by: int | None = None
    days_since: str | None = None
    range: tuple[float, float] | None = None
    scale: tuple[float, float] | None = None
    cuts: tuple[float, ...] | None = None
    decimals: int | None = None
    predictors: tuple[str, ...] | None = None
    formula: str | None = None
    prefix: str | None = None
    missing: str | bool | tuple[str | bool, ...] | None = None
    outside: str | bool | None = None
    known: bool | None = None
    mass: tuple[float, ...] = ()
    part: Mapping[str, Any] | None = None
    lookup: Mapping[str, Mapping[str, Any]] | None = None
    rule: str | tuple[str, ...] | None = None
    outcome_scale: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    note: str | None = None
    review: tuple[str, ...] = ()
    private: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in PRIVATE}
        for name in [n for n, x in given.items() if isinstance(x, str) and x == _PRIVATELY]:
            self._keep(name, None)
            self._keep("private", (*self.private, name))
        left = [n for n in PRIVATE if n in self.private and getattr(self, n) is None]
        self._keep("private", tuple(left))
        if left and self.role != "synthesize":
            raise InputError.by("private-of-role", wanted=left[0])
        for name in ("model", "formula", "outcome_scale", "prefix", "note"):
            refuse_no_text(getattr(self, name), name)
        if not (self.known is None or isinstance(self.known, bool)):
            raise InputError.by("known-words", value=as_text(self.known))
        choice(self.role, "role", ROLES)
        self._keep("model", family_named(self.model))
        self._keep("levels", labels(self.levels, self.missing))
        if self.group_by is not None:
            self._keep("group_by", whole_number(self.group_by, "group_by", least=1))
        if self.days_since is not None:
            self._keep_days(iso_date(self.days_since, "days_since"))
        self._keep("range", pair(self.range, "range"))
        if self.range and not self.range[0] < self.range[1]:
            raise InputError.by("range-not-rising", range=as_text(self.range))
        self._keep("scale", pair(self.scale, "scale"))
        if self.scale and not self.scale[1] > 0:
            wanted = "a centre and a width above 0"
            raise InputError.by("scale-words", wanted=wanted, scale=as_text(self.scale))
        if self.decimals is not None:
            self._keep("decimals", whole_number(self.decimals, "decimals", least=0))
            if self.decimals > _MOST_DECIMALS:
                raise InputError.by(
                    "decimals-too-many", most_decimals=_MOST_DECIMALS, decimals=self.decimals
                )
        if self.predictors is not None:
            self._keep("predictors", names(self.predictors, "predictors"))
        self._keep("missing", missing_codes(self.missing))
        self._keep("mass", tuple(finite_number(x, "mass") for x in several(self.mass, "mass")))
        if len(set(self.mass)) < len(self.mass):
            raise InputError.by("mass-repeated")
        if self.cuts is not None:
            self._keep("cuts", tuple(finite_number(x, "cuts") for x in several(self.cuts, "cuts")))
            if any(np.diff(self.cuts) <= 0):
                raise InputError.by("cuts-not-rising")
        self._keep("lookup", read_lookup(self.lookup))
        if self.rule is not None and not isinstance(self.rule, str):
            self._keep("rule", names(self.rule, "rule") or None)
        self._keep("settings", dict(self.settings))
        self._keep("review", names(self.review, "review"))

    def _keep(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _keep_days(self, start: str) -> None:
        """Keep the dates among the entries as days since the start."""
        self._keep("days_since", start)
        for name in ("range", "mass", "cuts"):
            if (values := getattr(self, name)) is not None:
                days = tuple(days_or_number(value, start, name) for value in several(values, name))
                self._keep(name, days)
        if self.scale is not None and (pair := several(self.scale, "scale")):
            self._keep("scale", (days_or_number(pair[0], start, "scale"), *pair[1:]))
        if self.levels is not None or self.decimals not in (None, 0):
            raise InputError.by("dates-with-decimals")
        if self.role == "synthesize" and self.range is None and "range" not in self.private:
            raise InputError.by("dates-without-range")
        self._keep("decimals", 0)
