"""A case against the authors' scripts: one call of their function and a number of ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.validation.edits import Edit

__all__ = ["AuthorCall", "AuthorCase", "InputEdit"]


@dataclass(frozen=True, slots=True)
class AuthorCall:
    """One call of the authors' function, and the records that its result belongs to.

    `known` holds the pattern of each record, for the edit that splits a call by pattern; `part`
    names the entries of a list that the function returns.
    """

    arguments: dict[str, Any]
    places: NDArray[np.intp] | None = None
    known: NDArray[np.int64] | None = None
    part: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InputEdit:
    """A change of what the authors' function is given: one call becomes one or several."""

    name: str
    erratum: str
    change: Callable[[AuthorCall], list[AuthorCall]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorCase:
    """One quantity: a call of theirs and a number of ours for each seed and size.

    `case(seed, n)` returns the call and our result. `expect="differs"` fails when both agree; a
    function of theirs that stops counts as a difference.
    """

    id: str
    cites: str
    function: str
    python_function: str
    case: Callable[[int, int], tuple[AuthorCall, Floats]]
    sizes: tuple[int, ...] = (8, 30, 60)
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    edits: tuple[Edit, ...] = ()
    inputs: tuple[InputEdit, ...] = ()
    expect: Literal["same", "differs"] = "same"
    erratum: str = ""
