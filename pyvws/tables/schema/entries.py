"""Read the entries of a column: lists, names, levels and codes, each refused in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pyvws._base.checks import as_text, finite_number
from pyvws.errors import InputError
from pyvws.tables.files.labels import label_of


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
    twice = len(texts) - len(set(texts))
    if twice:
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
