"""Check the arguments of the pure functions once, and turn them into float arrays."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws.errors import InputError, UsageError

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]
Bools = NDArray[np.bool_]
Places = NDArray[np.intp]
Values = Mapping[str, Floats]
"""Values (n,) by the name of a column."""
Arrays = tuple[Floats, ...]
Data = tuple[Any, ...]  # Arrays and numbers, which a kernel takes in one argument.
_DRAW_NAMES = ("chain", "draw", "iteration", "sample")


def positions(bad: NDArray[np.bool_], *, first: int = 5) -> str:
    """Text such as '3 (rows 2, 7 and 9)' for the true places of `bad`, from 1; never a value."""
    rows = np.flatnonzero(bad) + 1
    listed_rows = [str(row) for row in rows[:first]]
    if len(rows) > first:
        listed = f"first rows {', '.join(listed_rows)}"
    elif len(listed_rows) > 1:
        listed = f"rows {', '.join(listed_rows[:-1])} and {listed_rows[-1]}"
    else:
        listed = f"row {listed_rows[0]}"
    return f"{len(rows)} ({listed})"


def vector(values: ArrayLike, name: str) -> Floats:
    """A one-dimensional float array of at least one value."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError.by("values-not-numeric", name=name) from None
    if array.ndim != 1 or array.size == 0:
        raise InputError.by("not-a-vector", name=name, shape=array.shape)
    return array


def finite_vector(values: ArrayLike, name: str) -> Floats:
    """A `vector` without missing or infinite values."""
    array = vector(values, name)
    bad = ~np.isfinite(array)
    if bad.any():
        raise InputError.by("values-missing-or-infinite", name=name, bad=positions(bad))
    return array


def dataset_list(datasets: Iterable[Any], name: str) -> list[Any]:
    """The datasets of a list; InputError for no dataset, or for a single value as a dataset."""
    try:
        listed = list(datasets)
    except TypeError:
        listed = [datasets]
    if not listed:
        raise InputError.by("no-dataset", name=name)
    shape = getattr(listed[0], "shape", None)  # NumPy cannot hold a table of dates and numbers.
    if (np.ndim(listed[0]) if shape is None else len(shape)) == 0:
        raise InputError.by("not-a-list-of-datasets", name=name)
    return listed


def weight_vector(values: ArrayLike, name: str = "weights") -> Floats:
    """A `finite_vector` of likelihood weights, each in [0, 1]."""
    array = finite_vector(values, name)
    bad = (array < 0) | (array > 1)
    if bad.any():
        raise InputError.by("outside-0-to-1", name=name, bad=positions(bad))
    return array


def same_length(first: NDArray[Any], second: NDArray[Any], names: tuple[str, str]) -> None:
    """Raise InputError unless both arrays have one entry for each record."""
    if len(first) != len(second):
        raise InputError.by(
            "unequal-lengths", names=names[0], names2=names[1], first=len(first), second=len(second)
        )


def log_lik_matrix(values: ArrayLike) -> Floats:
    """A draws x records log-likelihood of shape (S, N), S and N of at least 1.

    Dimensions that are named for draws come first, as xarray, arviz and R name them. Raises
    InputError also for a column that counts the rows.
    """
    values = draws_first(values)
    records_in_order(getattr(values, "columns", ()))
    try:
        matrix = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError.by("log-lik-not-numeric") from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InputError.by("log-lik-shape", shape=matrix.shape)
    draws = len(matrix)
    ends = np.isin(matrix[0], (0, 1)) & (matrix[-1] == matrix[0] + draws - 1)
    for column in np.flatnonzero(ends) if draws > 1 else ():
        if (np.diff(matrix[:, column]) == 1).all():
            raise InputError.by("log-lik-row-names", column=column + 1)
    return matrix


def records_in_order(names: Iterable[Any]) -> None:
    """InputError for names such as log_lik[1], log_lik[10], log_lik[2], which are sorted as text.

    Bounds and weights would then be of other records.
    """
    found = [re.fullmatch(r"(.*)[.\[](\d+)\]?", str(name)) for name in names]
    numbers = [int(match[2]) for match in found if match]
    stems = {match[1] for match in found if match}
    if len(numbers) == len(found) and len(stems) == 1 and numbers != sorted(numbers):
        raise InputError.by("log-lik-columns-out-of-order")


def draws_first(values: Any) -> Any:
    """A table or array with its dimensions of draws, if any is named so, as rows.

    The rows of one chain stand together, whichever dimension comes first.
    """
    variables = list(getattr(values, "data_vars", ()))
    if variables:  # An xarray Dataset.
        if len(variables) > 1:
            raise InputError.by("log-lik-several-variables")
        return draws_first(values[variables[0]])
    if hasattr(values, "index") and hasattr(values, "columns"):  # A pandas table.
        turned = _of_draws(values.columns.names) and not _of_draws(values.index.names)
        return values.T if turned else values
    names = getattr(values, "dims", None) or ()
    draws = sorted(_of_draws(names), key=lambda at: not _is_chain(names[at]))  # Chain after chain.
    if not draws:
        return values
    array = np.moveaxis(np.asarray(values), draws, range(len(draws)))
    return array.reshape(int(np.prod(array.shape[: len(draws)])), -1)


def named_chains(values: Any) -> int | None:
    """The length of an array's dimension that is named for chains; None without one."""
    variables = list(getattr(values, "data_vars", ()))
    if len(variables) == 1:  # An xarray Dataset.
        return named_chains(values[variables[0]])
    names = getattr(values, "dims", None) or ()
    chains = [
        int(size)
        for name, size in zip(names, getattr(values, "shape", ()), strict=False)
        if _is_chain(name)
    ]
    return chains[0] if chains else None


def _is_chain(name: object) -> bool:
    return str(name).lower().rstrip("s") == "chain"


def _of_draws(names: Iterable[Any]) -> list[int]:
    """The places of names such as "draw" or "chain"."""
    return [at for at, name in enumerate(names) if str(name).lower().rstrip("s") in _DRAW_NAMES]


def as_text(value: object) -> str:
    """A setting for a message, or the type alone of an array: messages never show data."""
    plain = value is None or isinstance(value, (str, int, float, tuple, list, np.generic))
    return repr(value) if plain else f"a value of type {type(value).__name__}"


def _number(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise UsageError.by("not-a-number", name=name, value=as_text(value)) from None
    if isinstance(value, str):  # It would end the run where numbers are compared.
        raise UsageError.by("number-in-quotes", name=name, value=value)
    return number


def finite_number(value: object, name: str) -> float:
    """A finite number of either sign."""
    number = _number(value, name)
    if not np.isfinite(number):
        raise UsageError.by("not-finite", name=name, number=number)
    return number


def positive(value: object, name: str) -> float:
    """A finite number above 0."""
    number = finite_number(value, name)
    if number <= 0:
        raise UsageError.by("not-above-0", name=name, number=number)
    return number


def non_negative(value: object, name: str) -> float:
    """A finite number of at least 0."""
    number = finite_number(value, name)
    if number < 0:
        raise UsageError.by("negative-number", name=name, number=number)
    return number


def half_epsilon(epsilon: object) -> float:
    """The bound epsilon / 2 in nats, perhaps infinite; InputError unless epsilon is above 0."""
    number = _number(epsilon, "epsilon")
    if not number > 0:
        raise UsageError.by("own-epsilon-not-positive", number=number)
    return number / 2.0


def open_unit_interval(value: object, name: str) -> float:
    """A number strictly between 0 and 1."""
    number = finite_number(value, name)
    if not 0 < number < 1:
        raise UsageError.by("not-strictly-between-0-and-1", name=name, number=number)
    return number


def threshold_level(value: object) -> float:
    """The quantile level of the database bound, in (0, 1]."""
    number = finite_number(value, "threshold")
    if not 0 < number <= 1:
        raise UsageError.by("threshold-range", number=number)
    return number


def whole_number(value: object, name: str, *, least: int) -> int:
    """An integer of at least `least`; a float such as R's 5 counts, a boolean does not."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise UsageError.by("not-a-whole-number", name=name, least=least, value=as_text(value))
    if value < least:
        raise UsageError.by("not-a-whole-number", name=name, least=least, value=value)
    return int(value)


def choice(value: str, name: str, allowed: tuple[str, ...]) -> str:
    """One of the allowed words."""
    if value not in allowed:
        hint = near(value, allowed) if isinstance(value, str) else ""
        raise UsageError.by(
            "not-a-choice", name=name, allowed=", ".join(allowed), value=as_text(value), hint=hint
        )
    return value


def near(name: str, among: Collection[str]) -> str:
    """A sentence that offers the nearest name, with a space before it; empty if none is near.

    Case does not count. Of two letters one may be wrong, where a single name has the other.
    """
    folded = {known.lower(): known for known in among}
    given = name.lower()
    matches = difflib.get_close_matches(given, folded, n=1, cutoff=0.6)
    if not matches and len(given) == 2:
        halves = difflib.get_close_matches(given, folded, n=2, cutoff=0.5)
        matches = halves if len(halves) == 1 else []
    return f" Did you mean {folded[matches[0]]!r}?" if matches else ""


def distinct_labels(given: Iterable[object]) -> tuple[str, ...]:
    """The labels of a family as text: none, or two or more that differ."""
    labels = tuple(str(label) for label in given)
    if labels and (len(labels) < 2 or len(set(labels)) < len(labels)):
        raise UsageError.by("labels-not-distinct", labels=as_text(labels))
    return labels


def one_of_a_kind(value: object, protocol: type, name: str, known: Mapping[str, type]) -> None:
    """Raise InputError unless the value is of a known class, or of a user's class for the protocol.

    A user's class is a frozen dataclass with every member of the protocol. Its name is none of the
    known names, because a statement tells the classes apart by their names.
    """
    if type(value) in known.values():
        return
    made_by = getattr(value, "__dataclass_params__", None)
    if isinstance(value, type) or made_by is None:
        raise UsageError.by("not-known-or-instance", name=name, known=", ".join(known))
    kind = type(value).__name__
    parts = reversed(protocol.__mro__)
    members = [name for part in parts for name in vars(part) if not name.startswith("_")]
    missing = [member for member in members if not hasattr(value, member)]
    if missing:
        raise UsageError.by(
            "protocol-lacks-members",
            kind=kind,
            name=name,
            missing=", ".join(missing),
            protocol=protocol.__name__,
        )
    if not made_by.frozen:
        raise UsageError.by("own-part-not-frozen", kind=kind)
    word = getattr(value, "name", None)
    if not (isinstance(word, str) and re.fullmatch(r"[a-z][a-z0-9-]*", word)) or word in known:
        raise UsageError.by("own-part-name", name=name, kind=kind)
