"""Start from an existing fit: its bounds, its weights and its release, without refitting.

Algorithms 1 and 3 of [vws2024] need only the log-likelihood matrix of a fit. The papers' Stan
programs write weights[i] * l_i into log_lik. So the log_lik of a weighted fit contains the weights,
and its largest size is Delta_{alpha,x}. For a program that leaves the weights out of log_lik, give
log_lik="plain".

The predictive draws y_rep of such a fit, S x N, are released by the setting `existing_fit`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pyvws._base.checks import (
    Floats,
    choice,
    draws_first,
    log_lik_matrix,
    named_chains,
    records_in_order,
    same_length,
    weight_vector,
    whole_number,
)
from pyvws.bounds.lipschitz import LipschitzBounds, lipschitz_bounds
from pyvws.engines.cmdstan import read_draws
from pyvws.errors import InputError
from pyvws.weights.weights import reweight, weights_from_bounds

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

Content = Literal["weighted", "plain"]
From = Literal["unknown", "parameters"]


@dataclass(frozen=True, slots=True)
class ExistingFit:
    """The log-likelihood of a fit made elsewhere, and its predictive draws.

    Attributes
    ----------
    log_lik : ndarray, shape (S, N)
        alpha_i l_i(theta_s) in nats, the weights included.
    weights : ndarray, shape (N,), optional
        The fit's weights alpha_i in [0, 1]; None for an unweighted fit.
    y_rep : ndarray, shape (S, N), optional
        A synthetic outcome of each record at each draw, in the outcome's unit.
    y_rep_from : {"unknown", "parameters"}
        Whether the user says that row s of y_rep is drawn from the parameters of draw s and public
        values alone. Otherwise no release of it has a guarantee.
    chains : int
        Number of chains that the rows come from, one chain after the other.

    Examples
    --------
    >>> ExistingFit(np.array([[-1.0, -2.0], [-2.0, -3.0]])).bounds().epsilon
    6.0
    """

    log_lik: Floats
    weights: Floats | None = None
    y_rep: Floats | None = None
    y_rep_from: From = "unknown"
    chains: int = 1

    def __repr__(self) -> str:
        """Sizes alone, so that a notebook or a log shows no record."""
        draws, records = self.log_lik.shape
        held = "unweighted" if self.weights is None else "weighted"
        return f"ExistingFit({held}, {draws} draws of {records} records)"

    def bounds(self, *, threshold: float = 1.0) -> LipschitzBounds:
        """Delta_{alpha,x_i}, Delta_{alpha,x} and epsilon_x of the fit, in nats.

        The bounds are local to the database and asymptotic, as `lipschitz_bounds` says.
        """
        return lipschitz_bounds(self.log_lik, threshold=threshold)

    def lipschitz_weights(
        self, *, c: float = 1.0, g: float = 0.0, threshold: float = 1.0, map: str = "linear"
    ) -> Floats:
        """LW weights (N,) in [0, 1] for the refit; InputError if a weight is under 1.

        The settings are those of `pyvws.lipschitz_weights`.
        """
        if self.weights is not None and (self.weights != 1).any():
            raise InputError.by("weights-of-weighted-fit")
        return weights_from_bounds(self.bounds(threshold=threshold).by_record, c=c, g=g, map=map)

    def reweight(self, k: float) -> Floats:
        """Algorithm 3's weights (N,) in [0, 1] for the refit; k strictly between 0 and 1.

        Raises InputError if the fit has no weights.
        """
        if self.weights is None:
            raise InputError.by("reweight-without-weights")
        return reweight(self.weights, self.bounds().by_record, k=k)


def from_log_lik(
    matrix: ArrayLike,
    weights: Any | None = None,
    *,
    log_lik: Content = "weighted",
    records: int | None = None,
    y_rep: Any | None = None,
    y_rep_from: From = "unknown",
    chains: int | None = None,
) -> ExistingFit:
    """A fit from its log-likelihood matrix.

    Parameters
    ----------
    matrix : array_like, shape (S, N)
        Log-likelihood of N records at S posterior draws, in nats. Where dimensions have names
        such as "draw" or "sample", as in xarray, arviz and R, these tell the draws instead.
    weights : array_like, shape (N,), optional
        The fit's weights alpha_i in [0, 1]; leave out for an unweighted fit.
    log_lik : {"weighted", "plain"}
        Whether the matrix holds alpha_i l_i, as the papers' programs write it, or l_i.
    records : int, optional
        The number N of records, to check: nothing else tells a matrix without names from its
        transpose.
    y_rep : array_like, shape (S, N), optional
        Predictive draws of the outcome, in its own unit: row s is of draw s of the matrix.
    y_rep_from : {"unknown", "parameters"}
        "parameters" says that row s of y_rep is drawn from the parameters of draw s, public values
        and random numbers alone. Nothing can check that here, so a release of "unknown" ones
        claims no guarantee.
    chains : int, optional
        Number of chains of equal length that the rows come from, one after the other. The
        diagnostics of a release compare them. If not given, the length of a dimension that is
        named "chain" or "chains", or 1. Draws in a random order, as R's extract() gives them, are
        one chain, whose diagnostics show nothing: take them in the order of the chains.

    Returns
    -------
    ExistingFit

    Raises
    ------
    InputError
        If the matrix is not (S, N), or a column of it counts the rows, as R's row names do. Also if
        the weights, `records`, `y_rep` or `chains` do not fit it.

    Examples
    --------
    >>> fit = from_log_lik([[-1.0, -2.0, -4.0], [-2.0, -3.0, -6.0]])
    >>> fit.bounds().epsilon, fit.lipschitz_weights().tolist()
    (12.0, [1.0, 0.75, 0.0])
    >>> weighted = from_log_lik([[-1.0, -2.0], [-2.0, -1.5]], [1.0, 0.5])
    >>> weighted.reweight(0.5).tolist()
    [0.5, 0.25]
    """
    values = log_lik_matrix(matrix)
    choice(log_lik, "log_lik", ("weighted", "plain"))
    if records is not None and whole_number(records, "records", least=1) != values.shape[1]:
        turn = " Give its transpose." if len(values) == records else ""
        raise InputError.by(
            "log-lik-columns", records=records, values=len(values), shape=values.shape[1], turn=turn
        )
    own = named_chains(matrix)
    chains = whole_number((own or 1) if chains is None else chains, "chains", least=1)
    if own not in (None, chains):
        raise InputError.by("log-lik-chains", own=own, chains=chains)
    if own is not None and y_rep is not None and named_chains(y_rep) is None:
        raise InputError.by("y-rep-without-chains")
    contents: Any = {
        "y_rep": None if y_rep is None else _predictions(y_rep, values.shape),
        "y_rep_from": choice(y_rep_from, "y_rep_from", ("unknown", "parameters")),
        "chains": chains,
    }
    if len(values) % chains:
        raise InputError.by("log-lik-unequal-chains", values=len(values), chains=chains)
    if weights is None:
        return ExistingFit(values, **contents)
    alpha = weight_vector(weights)
    same_length(alpha, values[0], ("weights", "columns of log_lik"))
    if log_lik == "plain":
        # A record of weight 0 adds nothing, even where its log-likelihood is infinite.
        values = np.where(alpha > 0, values * np.where(alpha > 0, alpha, 1.0), 0.0)
    return ExistingFit(values, alpha, **contents)


def _predictions(y_rep: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """y_rep (S, N) as numbers; InputError where it has another shape than log_lik."""
    rows = draws_first(y_rep)
    try:
        values = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError.by("y-rep-not-numeric") from None
    if values.shape != shape:
        raise InputError.by("y-rep-shape", shape=shape[0], shape2=shape[1], shape3=values.shape)
    return values


def from_arviz(
    data: object,
    weights: Any | None = None,
    *,
    log_lik: Content | None = None,
    variable: str | None = None,
    y_rep: str | None = None,
    y_rep_from: From = "unknown",
    records: int | None = None,
) -> ExistingFit:
    """A fit of PyMC, CmdStanPy or another library, as arviz and xarray hold it.

    Parameters
    ----------
    data : arviz.InferenceData, xarray.DataTree or xarray.Dataset
        Its group log_likelihood has the log-likelihood, or its group posterior has log_lik. Of a
        Dataset it is a variable. Dimensions are read by their names chain and draw, in any order.
    weights : array_like, shape (N,), optional
        The fit's weights alpha_i in [0, 1]; leave out for an unweighted fit.
    log_lik : {"weighted", "plain"}, optional
        Whether the log-likelihood holds alpha_i l_i or l_i. Libraries differ, and nothing in the
        numbers shows it: with weights it must be given.
    variable : str, optional
        Name of the log-likelihood; needed where there are several.
    y_rep : str, optional
        Name of the predictive draws in the group posterior_predictive (or posterior). The one
        under the name of the log-likelihood, or the only one, if not given.
    y_rep_from : {"unknown", "parameters"}
        As in `from_log_lik`.
    records : int, optional
        The number N of records, to check.

    Returns
    -------
    ExistingFit
        Its rows are the draws, chain after chain.

    Raises
    ------
    InputError
        If there is no such log-likelihood, weights come without `log_lik`, or the predictive draws
        are of other chains, draws or records.

    Examples
    --------
    >>> import xarray
    >>> terms = xarray.DataArray([[[-1.0, -2.0], [-2.0, -3.0]]], dims=("chain", "draw", "i"))
    >>> fit = from_arviz(xarray.Dataset({"y": terms}))
    >>> fit.bounds().epsilon
    6.0
    """
    if weights is not None and log_lik is None:
        raise InputError.by("log-lik-holds")
    terms, predicted = _arviz_variables(data, variable=variable, y_rep=y_rep)
    return from_log_lik(
        draws_first(terms),
        weights,
        log_lik=log_lik or "weighted",
        records=records,
        y_rep=None if predicted is None else draws_first(predicted),
        y_rep_from=y_rep_from,
        chains=int(terms.sizes.get("chain", 1)),
    )


def from_stanfit(
    fit: object,
    weights: Any | None = None,
    *,
    log_lik: Content = "weighted",
    name: str | None = None,
    y_rep_from: From = "unknown",
) -> ExistingFit:
    """A fit of R, from a file written with saveRDS or save, or from an rpy2 object.

    Parameters
    ----------
    fit : path, rpy2 object or dict
        A stanfit with log_lik among its quantities, a fit of brms or rstanarm, or a matrix of draws
        by records. An array of iterations by chains by records will do too, as
        `loo::extract_log_lik` gives it with merge_chains = FALSE. The y_rep of a stanfit, and the
        predictive draws of brms and rstanarm, are read too. A dict has log_lik (S, N) and chains,
        as the R package of pyvws hands a fit over.
    weights : array_like, shape (N,), optional
        As in `from_log_lik`. A fit of brms or rstanarm has its own, and its log-likelihood holds
        them.
    log_lik : {"weighted", "plain"}
        As in `from_log_lik`, of a stanfit or a matrix.
    name : str, optional
        Name of the object in a file of save(); needed where the file has several.
    y_rep_from : {"unknown", "parameters"}
        As in `from_log_lik`.

    Returns
    -------
    ExistingFit
        Its rows are the draws after warm-up, chain after chain.

    Raises
    ------
    InputError
        If there is no such file, or the file holds none of these; if weights differ from the fit's.
    MissingDependencyError
        If R, rpy2, or the R package that made the fit is missing.

    Examples
    --------
    >>> from_stanfit({"log_lik": [[-1.0, -2.0], [-2.0, -3.0]], "chains": 1})
    ExistingFit(unweighted, 2 draws of 2 records)
    """
    from pyvws.engines.rstan import object_fit, saved_fit

    if isinstance(fit, (str, os.PathLike)):
        path = Path(fit)
        if not path.is_file():
            raise InputError.by("rds-missing", path=path)
        contents = saved_fit(path, name)
    elif isinstance(fit, dict):  # What R has read of a fit of its own.
        contents = fit or None
    else:
        contents = object_fit(fit)
    if contents is None:
        raise InputError.by("stanfit-kind")
    if (own := contents.get("weights")) is not None:
        if weights is not None and not np.array_equal(weight_vector(weights), own):
            raise InputError.by("existing-fit-other-weights")
        weights, log_lik = own, "weighted"
    return from_log_lik(
        contents["log_lik"],
        weights,
        log_lik=log_lik,
        y_rep=contents.get("y_rep"),
        y_rep_from=y_rep_from,
        chains=int(np.ravel(contents["chains"])[0]),
    )


def from_cmdstan_csv(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    weights: Any | None = None,
    *,
    log_lik: Content = "weighted",
) -> ExistingFit:
    """A fit of CmdStan, from the CSV files of its chains. The function needs no CmdStan.

    Parameters
    ----------
    files : path or sequence of paths
        One file for each chain.
    weights : array_like, shape (N,), optional
        As in `from_log_lik`.
    log_lik : {"weighted", "plain"}
        As in `from_log_lik`.

    Returns
    -------
    ExistingFit
        Its rows are the draws after warm-up, in the order of the files.

    Raises
    ------
    InputError
        If a file is missing, has no log_lik columns, or has another number of them than the first.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     chain = Path(folder, "chain-1.csv")
    ...     _ = chain.write_text("lp__,log_lik.1,log_lik.2\\n-3,-1,-2\\n-5,-2,-3\\n")
    ...     from_cmdstan_csv(chain)
    ExistingFit(unweighted, 2 draws of 2 records)
    """
    paths = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    if not paths:
        raise InputError.by("csv-files-missing")
    chains = [_csv_log_lik(Path(path)) for path in paths]
    if len({chain.shape[1] for chain in chains}) > 1:
        raise InputError.by("csv-files-differ")
    alike = len({len(chain) for chain in chains}) == 1
    return from_log_lik(
        np.concatenate(chains), weights, log_lik=log_lik, chains=len(chains) if alike else 1
    )


def _csv_log_lik(path: Path) -> Floats:
    """log_lik (draws, N) of one chain, without warm-up."""
    names, values = read_draws(
        path, lambda name: re.fullmatch(r"log_lik(\.\d+)?", name) is not None
    )
    if not names:
        raise InputError.by("csv-without-log-lik", path=path.name)
    records_in_order(names)
    return values


_DRAWS = ("chain", "draw", "sample")


def _arviz_variables(
    data: Any, *, variable: str | None, y_rep: str | None
) -> tuple[DataArray, DataArray | None]:
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


def _group(data: Any, name: str) -> Dataset | None:
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


def _only(dataset: Dataset | None, name: str) -> Dataset | None:
    """A Dataset with one of the variables alone; None where it is not there."""
    return dataset[[name]] if dataset is not None and name in dataset.data_vars else None


def _one(
    datasets: list[Dataset | None], name: str | None, usual: str | None = None
) -> DataArray | None:
    """The variable of that name in the first Dataset that has it, or the only or usual one."""
    for dataset in datasets:
        if dataset is None:
            continue
        names = [str(name) for name in dataset.data_vars]
        if name is not None and name in names:
            return dataset[name]
        if name is None and usual in names:
            return dataset[usual]
        if name is None and len(names) == 1:
            return dataset[names[0]]
        if name is None and len(names) > 1:
            raise InputError.by("several-variables", names=", ".join(names))
    return None


def _ordered(array: DataArray) -> DataArray:
    """The array with its dimensions of draws first, chain before draw."""
    first = [name for name in _DRAWS if name in array.dims]
    if not first:
        raise InputError.by("dimensions-without-chain")
    return array.transpose(*first, ...)


def _alike(array: DataArray, own: Hashable, other_array: DataArray, other: Hashable) -> bool:
    """Whether two dimensions have the same length, and the same labels where both have any."""
    if array.sizes[own] != other_array.sizes[other]:
        return False
    both = own in array.coords and other in other_array.coords
    return not both or np.array_equal(array[own].to_numpy(), other_array[other].to_numpy())
