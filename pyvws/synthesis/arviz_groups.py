"""The log-likelihood and the predictive draws in the groups of arviz and xarray."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyvws.errors import InputError

_DRAWS = ("chain", "draw", "sample")


def arviz_variables(data: Any, *, variable: str | None, y_rep: str | None) -> tuple[Any, Any]:
    """The log-likelihood, and the predictive draws or None, with chain and draw as first
    dimensions.

    Raises InputError where a variable is not there, cannot be told from others, or the two are of
    other draws or records.
    """
    posterior = _group(data, "posterior")
    terms = _one(
        [_group(data, "log_likelihood"), _only(posterior, variable or "log_lik")], variable
    )
    if terms is None:
        raise InputError.by("log-lik-missing")
    variable_draws = _one(
        [_group(data, "posterior_predictive"), _only(posterior, y_rep or "y_rep")],
        y_rep,
        usual=str(terms.name),
    )
    if y_rep is not None and variable_draws is None:
        raise InputError.by("predictive-draws-missing", y_rep=y_rep)
    terms = _ordered(terms)
    if variable_draws is None:
        return terms, None
    variable_draws = _ordered(variable_draws)
    for at, (own, other) in enumerate(zip(variable_draws.dims, terms.dims, strict=False)):
        drawn = str(other) in _DRAWS
        if (drawn and own != other) or not _alike(variable_draws, own, terms, other):
            what = "chains and draws" if drawn else "records"
            raise InputError.by("predictive-dimension", at=at + 1, what=what)
    return terms, variable_draws


def _group(data: Any, name: str) -> Any:
    """A group of an InferenceData or a DataTree as a Dataset; a Dataset is a log-likelihood."""
    if hasattr(data, "data_vars") and not hasattr(data, "children"):
        return data if name == "log_likelihood" else None
    if hasattr(data, "dims") and not hasattr(data, "data_vars"):  # A DataArray.
        return data.to_dataset(name=data.name or "log_lik") if name == "log_likelihood" else None
    groups = getattr(data, "groups", None)
    if groups is None:
        raise InputError.by("arviz-kind")
    names = [str(group).strip("/") for group in (groups() if callable(groups) else groups)]
    if name not in names:
        return None
    group = data[name]
    return group.to_dataset() if hasattr(group, "to_dataset") else group


def _only(dataset: Any, name: str) -> Any:
    """A Dataset with one of the variables alone; None where it is not there."""
    return dataset[[name]] if dataset is not None and name in dataset.data_vars else None


def _one(datasets: list[Any], name: str | None, usual: str | None = None) -> Any:
    """The variable of that name in the first Dataset that has it, or the only or usual one."""
    for dataset in datasets:
        names = [] if dataset is None else [str(name) for name in dataset.data_vars]
        if name is not None and name in names:
            return dataset[name]
        if name is None and usual in names:
            return dataset[usual]
        if name is None and len(names) == 1:
            return dataset[names[0]]
        if name is None and len(names) > 1:
            raise InputError.by("several-variables", names=", ".join(names))
    return None


def _ordered(array: Any) -> Any:
    """The array with its dimensions of draws first, chain before draw."""
    first = [name for name in _DRAWS if name in array.dims]
    if not first:
        raise InputError.by("dimensions-without-chain")
    return array.transpose(*first, ...)


def _alike(array: Any, own: Any, other_array: Any, other: Any) -> bool:
    """Whether two dimensions have the same length, and the same labels where both have any."""
    if array.sizes[own] != other_array.sizes[other]:
        return False
    both = own in array.coords and other in other_array.coords
    return not both or np.array_equal(array[own].to_numpy(), other_array[other].to_numpy())
