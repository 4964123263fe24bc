"""Every error and warning that the package raises on purpose.

A message says what is wrong, where, and what to do. It holds column names, counts and positions,
never a confidential value.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Self


class PyvwsError(Exception):
    """Base of the package's own errors."""


class InputError(PyvwsError, ValueError):
    """The method cannot take an argument, a column or a table.

    `key` is a stable word, such as "too-wide", whatever becomes of the sentence. It is empty where
    a sentence passes on another one.
    """

    def __init__(self, *words: object, key: str = "") -> None:
        super().__init__(*words)
        self.key = key

    @classmethod
    def by(cls, key: str, /, **fields: object) -> Self:
        """The error with the sentence that a room's `refusals.toml` has for the key, filled."""
        return cls(_sentences()[key].format(**fields), key=key)


class UsageError(InputError):
    """A setting or an option has a value that is wrong for every table."""


class OutputError(PyvwsError, OSError):
    """The package cannot write a folder or file as asked."""


class SearchError(PyvwsError, RuntimeError):
    """A search for k or c did not meet its bound."""


class ConvergenceError(PyvwsError, RuntimeError):
    """A sampler could not start or returned no usable draws."""


class SpendingError(PyvwsError, RuntimeError):
    """A strict run asked for a measurement that its settings do not pay for."""


class MissingDependencyError(PyvwsError, ImportError):
    """An optional part is not installed; the message names the package to install."""


class ConvergenceWarning(UserWarning):
    """Diagnostics of draws fall short: R-hat, effective sample size or divergences."""


class DisclosureWarning(UserWarning):
    """A column released as it is tells the order of the confidential outcome."""


class MisfitWarning(UserWarning):
    """A synthetic column differs from its data. The message describes the data: keep it inside."""


@cache
def _sentences() -> dict[str, str]:
    """The sentences of all rooms by key."""
    sentences: dict[str, str] = {}
    for file in Path(__file__).parent.glob("*/refusals.toml"):
        sentences |= tomllib.loads(file.read_text(encoding="utf-8"))
    return sentences


def add_sentences(file: Path) -> None:
    """Let `InputError.by` know the sentences of a package that stands beside this one."""
    _sentences().update(tomllib.loads(file.read_text(encoding="utf-8")))
