"""Figures of densities: outcomes of synthetic data beside the data's, and posterior draws.

Every function returns a matplotlib Figure that belongs to no window; save it with `savefig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pyvws._base.checks import Floats, finite_vector
from pyvws.errors import InputError
from pyvws.r_numbers import rarith
from pyvws.report._drawing import DASHED, colours, groups, panels, thinned, violins

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["densities", "parameter_densities", "posterior_density"]


def densities(
    synthetic: Mapping[str, Any],
    data: Any = None,
    *,
    name: str = "outcome",
    as_violins: bool = False,
) -> Figure:
    """Densities of synthetic outcomes beside the data's (Figures 3f, 7d, 11d, 12 of [vws2024]).

    One label without `data` is Figure 4 of [risk2024]. A tail that is lighter than the data's is
    what downweighting costs.

    Parameters
    ----------
    synthetic : mapping of label to array_like of shape (N,)
        Outcomes of one dataset, or of several put together.
    data : array_like, shape (N,), optional
        The confidential outcome; the thick black line, or the violin "Data".
    name : str
        Of the outcome, on the axis.
    as_violins : bool
        Violins in place of lines.

    Returns
    -------
    Figure
        Lines run between the lowest 0.5 % quantile and the highest 99.5 % quantile.

    Raises
    ------
    InputError
        For no label or missing values.

    Examples
    --------
    >>> drawn = densities({"LW": [1.0, 2.0, 4.0]}, [1.0, 2.5, 3.0], name="income")
    >>> len(drawn.axes[0].get_lines()), drawn.axes[0].get_xlabel()
    (2, 'income')
    """
    columns = groups(synthetic, "synthetic")
    if data is not None:
        columns = {"Data": finite_vector(data, "data"), **columns}
    figure, (axis,) = panels(1, size=(7.5, 4.2))
    if as_violins:
        violins(axis, columns)
        axis.set_ylabel(name)
        return figure
    _curves(axis, columns, name)
    axis.set_ylabel("density")
    return figure


def posterior_density(
    draws: Mapping[str, Any], value: float | None = None, *, name: str = "μ"
) -> Figure:
    """Posterior densities of a parameter by synthesizer (Figures 2b, 7c and 11c of [vws2024]).

    A wider curve = less information left about the parameter.

    Parameters
    ----------
    draws : mapping of label to array_like of shape (S,)
        Posterior draws of the parameter, in its unit.
    value : float, optional
        The data's own estimate, or the truth of a simulation: a dashed line.
    name : str
        Of the parameter, on the axis.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        For no label or missing values.

    Examples
    --------
    >>> drawn = posterior_density({"LW": [99.0, 100.0, 102.0]}, 100.0)
    >>> drawn.axes[0].get_ylabel()
    'posterior density'
    """
    figure, (axis,) = panels(1, size=(7.5, 4.2))
    _curves(axis, groups(draws, "draws"), name)
    if value is not None:
        axis.axvline(value, label="data", **DASHED)
        axis.legend(frameon=False)
    axis.set_ylabel("posterior density")
    return figure


def parameter_densities(draws: Mapping[str, Any], chains: Any) -> Figure:
    """Posterior densities of several parameters, a line for each chain; chains that agree overlap.

    Parameters
    ----------
    draws : mapping of parameter to array_like of shape (S,)
        Draws of all chains.
    chains : array_like, shape (S,)
        The chain of each draw.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        For no parameter, missing values, or lengths that differ.

    Examples
    --------
    >>> drawn = parameter_densities({"mu": [1.0, 2.0, 1.5, 2.5]}, [1, 1, 2, 2])
    >>> len(drawn.axes[0].get_lines())
    2
    """
    columns, chain = groups(draws, "draws"), finite_vector(chains, "chains")
    figure, axes = panels(len(columns), columns=3, size=(4.0, 2.6))
    for axis, (name, values) in zip(axes, columns.items(), strict=True):
        if len(values) != len(chain):
            raise InputError(f"draws[{name!r}] and chains must have one entry for each draw.")
        own = {f"chain {number:g}": values[chain == number] for number in np.unique(chain)}
        _curves(axis, own, name)
        axis.set_yticks([])
        axis.locator_params(axis="x", nbins=5)
        axis.get_legend().remove()
    return figure


def _curves(axis: Any, columns: Mapping[str, Floats], name: str) -> None:
    """Kernel densities on one grid; a vertical line where all values agree."""
    from scipy.stats import gaussian_kde

    ends = [rarith.quantile(values, np.array([0.005, 0.995])) for values in columns.values()]
    grid = np.linspace(min(e[0] for e in ends), max(e[1] for e in ends), 400)
    colour = colours(columns)
    for label, values in columns.items():
        if np.ptp(values) == 0:
            axis.axvline(values[0], color=colour[label], label=label, linestyle=":")
            continue
        with np.errstate(over="ignore"):  # Values near the largest float have no density.
            heights = gaussian_kde(thinned(values), bw_method=_bandwidth)(grid)
        thick = 2.4 if label == "Data" else 1.5
        axis.plot(grid, heights, color=colour[label], label=label, linewidth=thick)
    axis.set_xlabel(name)
    axis.set_ylim(bottom=0.0)
    axis.legend(frameon=False)


def _bandwidth(kernels: Any) -> float:
    """R's rule (bw.nrd0) in standard deviations: one outlier does not flatten the whole curve."""
    values = kernels.dataset[0]
    lower, upper = rarith.quantile(values, np.array([0.25, 0.75]))
    with np.errstate(over="ignore", invalid="ignore"):
        spread, robust = float(np.std(values, ddof=1)), float(upper - lower) / 1.34
    narrower = 0 < robust < spread < np.inf
    share = robust / spread if narrower else 1.0
    return float(0.9 * share * len(values) ** -0.2)
