"""The figures of pages and studies, of records and of tables: `from pyvws import plots`.

The figures have Okabe and Ito's colours and the papers' labels. A function takes arrays, checks
them, and returns a matplotlib Figure that belongs to no window; `savefig` saves the figure.
docs/studies/figures.csv lists which function draws which figure.
"""

from __future__ import annotations

from pyvws.plots.datasets import (
    choices_against_epsilon,
    densities,
    intervals,
    parameter_densities,
    utility,
)
from pyvws.plots.records import (
    before_and_after,
    bounds_against_weights,
    bounds_and_weights,
    risk_violins,
    weights_against_outcome,
    weights_before_and_after,
    whack_a_mole_scatter,
)
from pyvws.plots.tables import association_matrices, bound_shares

__all__ = [
    "association_matrices",
    "before_and_after",
    "bound_shares",
    "bounds_against_weights",
    "bounds_and_weights",
    "choices_against_epsilon",
    "densities",
    "intervals",
    "parameter_densities",
    "risk_violins",
    "utility",
    "weights_against_outcome",
    "weights_before_and_after",
    "whack_a_mole_scatter",
]
