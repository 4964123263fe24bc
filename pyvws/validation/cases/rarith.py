"""Cases of `pyvws.r_numbers.rarith`: R's sum, mean, var, quantile and ecdf."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.validation._case import Case
from pyvws.validation._draws import Draws

__all__ = ["CASES"]

_SIZES: Final = ((1,), (2,), (7,), (100,), (1000,))


def _values(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"x": Draws(seed).amounts(*shape)}


def _log_lik(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """A row of log-likelihoods, whose sum the leave-one-out bound needs."""
    return {"x": Draws(seed).log_lik(1, *shape)[0]}


def _probabilities(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    draws = Draws(seed)
    x = draws.amounts(*shape)
    if seed == 5 and len(x) > 2:
        x[1] = np.inf
    p = np.concatenate([[0.0, 0.15, 0.25, 0.5, 0.9, 0.95, 0.975, 1.0], draws.uniform(12)])
    return {"x": x, "p": p}


def _points(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    draws = Draws(seed)
    x = draws.counts(*shape)
    between = np.floor(draws.uniform(10, 0.0, 200.0)) + 0.5
    return {"x": x, "points": np.concatenate([x[:10], between, [-1.0, 1e6]])}


CASES: Final = (
    Case(
        id="rarith/sum",
        paper="vws2024",
        cites="Appendix 1, step 2",
        script="rarith",
        r_function="arithmetic_sum",
        python_function="pyvws.r_numbers.rarith:sum_in_order",
        arguments=_values,
        shapes=_SIZES,
    ),
    Case(
        id="rarith/sum-log-lik",
        paper="vws2024",
        cites="Appendix 1, step 2",
        script="rarith",
        r_function="arithmetic_sum",
        python_function="pyvws.r_numbers.rarith:sum_in_order",
        arguments=_log_lik,
        shapes=_SIZES,
    ),
    Case(
        id="rarith/mean",
        paper="vws2024",
        cites="section 3",
        script="rarith",
        r_function="arithmetic_mean",
        python_function="pyvws.r_numbers.rarith:mean",
        arguments=_values,
        shapes=_SIZES,
    ),
    Case(
        id="rarith/var",
        paper="risk2024",
        cites="utility of point estimates",
        script="rarith",
        r_function="arithmetic_var",
        python_function="pyvws.r_numbers.rarith:var",
        arguments=_values,
        shapes=_SIZES[1:],
    ),
    Case(
        id="rarith/quantile",
        paper="hyndman1996",
        cites="type 7",
        script="rarith",
        r_function="arithmetic_quantile",
        python_function="pyvws.r_numbers.rarith:quantile",
        arguments=_probabilities,
        shapes=_SIZES,
    ),
    Case(
        id="rarith/ecdf",
        paper="woo2009",
        cites="section 3",
        script="rarith",
        r_function="arithmetic_ecdf",
        python_function="pyvws.r_numbers.rarith:ecdf_at",
        arguments=_points,
        shapes=_SIZES,
    ),
)
