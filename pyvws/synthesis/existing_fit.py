"""Start from an existing fit: compute its bounds and its weights without refitting.

Algorithms 1 and 3 of [vws2024] need only the log-likelihood matrix of a fit. The papers' Stan
programs write weights[i] * l_i into log_lik. So the log_lik of a weighted fit contains the weights,
and its largest size is Delta_{alpha,x}. For a program that leaves the weights out of log_lik, give
log_lik="plain".
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pyvws._base.checks import (
    Floats,
    choice,
    log_lik_matrix,
    same_length,
    weight_vector,
    whole_number,
)
from pyvws.bounds.lipschitz import LipschitzBounds, lipschitz_bounds
from pyvws.engines.stan_csv import read_draws
from pyvws.errors import InputError
from pyvws.weights.reweight import reweight
from pyvws.weights.weights import weights_from_bounds

Content = Literal["weighted", "plain"]


@dataclass(frozen=True, slots=True)
class ExistingFit:
    """The log-likelihood of a fit made elsewhere.

    Attributes
    ----------
    log_lik : ndarray, shape (S, N)
        alpha_i l_i(theta_s) in nats, the weights included.
    weights : ndarray, shape (N,), optional
        The fit's weights alpha_i in [0, 1]; None for an unweighted fit.
    """

    log_lik: Floats
    weights: Floats | None = None

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
            raise InputError(
                "LW weights come from the unweighted fit, and this fit has weights under 1. Start "
                "from the unweighted fit, or call reweight."
            )
        return weights_from_bounds(self.bounds(threshold=threshold).by_record, c=c, g=g, map=map)

    def reweight(self, k: float) -> Floats:
        """Algorithm 3's weights (N,) in [0, 1] for the refit; k strictly between 0 and 1.

        Raises InputError if the fit has no weights.
        """
        if self.weights is None:
            raise InputError(
                "reweight needs the weights that the fit was made with. Give weights= when you "
                "read the fit."
            )
        return reweight(self.weights, self.bounds().by_record, k=k)


def from_log_lik(
    matrix: Any,
    weights: Any | None = None,
    *,
    log_lik: Content = "weighted",
    records: int | None = None,
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

    Returns
    -------
    ExistingFit

    Raises
    ------
    InputError
        If the matrix is not (S, N), a column of it counts the rows, as R's row names do, or the
        weights or `records` do not fit it.

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
        raise InputError(
            f"log_lik must have a column for each of {records} records. "
            f"Got {len(values)} rows and {values.shape[1]} columns.{turn}"
        )
    if weights is None:
        return ExistingFit(values)
    alpha = weight_vector(weights)
    same_length(alpha, values[0], ("weights", "columns of log_lik"))
    if log_lik == "plain":
        # A record of weight 0 adds nothing, even where its log-likelihood is infinite.
        values = np.where(alpha > 0, values * np.where(alpha > 0, alpha, 1.0), 0.0)
    return ExistingFit(values, alpha)


def from_stanfit(
    fit: Any, weights: Any | None = None, *, log_lik: Content = "weighted"
) -> ExistingFit:
    """A fit of R's rstan, from a file written with saveRDS or from an rpy2 object.

    Parameters
    ----------
    fit : path or rpy2 object
        A stanfit with log_lik among its quantities.
    weights : array_like, shape (N,), optional
        As in `from_log_lik`.
    log_lik : {"weighted", "plain"}
        As in `from_log_lik`.

    Returns
    -------
    ExistingFit
        Its rows are the draws after warm-up, chain after chain.

    Raises
    ------
    InputError
        If there is no such file, or the file holds no stanfit with log_lik.
    MissingDependencyError
        If R, rpy2 or rstan is missing.
    """
    from pyvws.engines.rstan import object_log_lik, saved_log_lik

    if isinstance(fit, (str, os.PathLike)):
        path = Path(fit)
        if not path.is_file():
            raise InputError(f"There is no file {path}. Write one in R with saveRDS(fit, file).")
        found = saved_log_lik(path)
    else:
        found = object_log_lik(fit)
    if found is None:
        raise InputError(
            "What was given is not a stanfit with log_lik. Fit a program whose generated "
            "quantities write log_lik, and save the result of rstan's sampling() or stan()."
        )
    return from_log_lik(found, weights, log_lik=log_lik)


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
    """
    paths = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    if not paths:
        raise InputError("files must name at least one CSV file of CmdStan.")
    chains = [_csv_log_lik(Path(path)) for path in paths]
    if len({chain.shape[1] for chain in chains}) > 1:
        raise InputError(
            "The CSV files differ in their number of log_lik columns. Name the chains of one fit."
        )
    return from_log_lik(np.concatenate(chains), weights, log_lik=log_lik)


def _csv_log_lik(path: Path) -> Floats:
    """log_lik (draws, N) of one chain, without warm-up."""
    names, values = read_draws(
        path, lambda name: re.fullmatch(r"log_lik(\.\d+)?", name) is not None
    )
    if not names:
        raise InputError(
            f"{path.name} has no column log_lik. Fit a program whose generated quantities write it."
        )
    return values
