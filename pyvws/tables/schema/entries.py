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
            raise InputError("missing must be codes that differ, and true for empty cells.")
        return codes if len(codes) > 1 else (codes[0] if codes else None)
    return True if value is True else label_of(value)


def refuse_no_text(value: object, name: str) -> None:
    """Raise InputError for what is neither text nor None."""
    if not (value is None or isinstance(value, str)):
        raise InputError(f"{name} must be text. Got {as_text(value)}.")


def refuse_both(predictors: object, formula: object) -> None:
    """Raise InputError for a column that has predictors and a formula of them."""
    if predictors is not None and formula is not None:
        raise InputError("predictors and formula exclude each other. Leave one of them out.")


def several(values: object, name: str) -> list[Any]:
    """The values of a list; InputError for anything else."""
    if isinstance(values, (str, Mapping)) or not np.iterable(values):
        raise InputError(f"{name} must be a list. Got {as_text(values)}.")
    return list(values)


def names(values: object, name: str) -> tuple[str, ...]:
    """A list of names that differ; InputError for anything else."""
    listed = several(values, name)
    if not all(isinstance(value, str) for value in listed):
        raise InputError(f"{name} must be a list of names. Got {as_text(tuple(listed))}.")
    if len(set(listed)) < len(listed):
        raise InputError(f"{name} has a name twice. Got {', '.join(listed)}.")
    return tuple(listed)


def labels(levels: object, missing: object = None) -> tuple[str, ...] | None:
    """Levels as text that differ, one or more; none where all are `missing`. None for a number."""
    if levels is None:
        return None
    texts = tuple(label_of(level) for level in several(levels, "levels"))
    if not texts and missing in (None, False):
        raise InputError("levels must be at least 1. Leave levels out of a column without any.")
    twice = len(texts) - len(set(texts))
    if twice:
        raise InputError(f"levels must differ. Got {len(texts)}, of which {twice} repeat another.")
    return texts


def pair(values: object, name: str) -> tuple[float, float] | None:
    """Two finite numbers; None for none."""
    if values is None:
        return None
    listed = several(values, name)
    if len(listed) != 2:
        raise InputError(f"{name} must be two numbers. Got {as_text(tuple(listed))}.")
    first, second = (finite_number(value, name) for value in listed)
    return first, second


def values_in(entry: object) -> int:
    """How many values an entry of a column holds, those of lists and tables counted one by one."""
    if isinstance(entry, Mapping):
        return sum(map(values_in, entry.values()))
    return sum(map(values_in, entry)) if isinstance(entry, tuple | list) else 1
