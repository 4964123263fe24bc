"""Weights under which a clamp stays strict: alpha_i of the record x_i and of public things alone.

Theorem. Let alpha_i in [0, 1] be a function of x_i and of a value v. For each fixed v, a clamp of
width epsilon on alpha_i times the record's term makes one draw of the posterior epsilon-DP under
leave-one-out neighbours: a neighbour lacks one term, which moves within epsilon over all
parameters, and no other weight changes. Where v is public (a column, a fit to public records) the
draw costs epsilon. Where v is itself a draw that is epsilon_1-DP, both together cost
epsilon_1 + epsilon by adaptive composition. docs/proofs.md has the proof.

The constants that scale the weights are settings or values of public records. A constant that comes
from the table, such as the largest bound, moves all weights when one record changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyvws._base.checks import Floats
from pyvws.mechanisms.weighing import Loop, WeightedFit
from pyvws.posterior.clamp import Clamp
from pyvws.weights.weights import column_weights, fixed_scale_risks, fixed_scale_weights

STRICT_WEIGHTS = ("none", "constant", "public", "reference", "staged")
"""The sources of weights that no other confidential record has an unaccounted part in."""


@dataclass(frozen=True, slots=True)
class StrictWeights:
    """Risks (N,) and weights (N,), both in [0, 1], and the clamped fits that they cost."""

    risk: Floats
    weights: Floats
    stages: tuple[WeightedFit, ...] = ()


def weights_from_column(column: Floats, *, c: float, g: float) -> StrictWeights:
    """alpha_i = c w_i + g within [0, 1], w_i (N,) in [0, 1] from a public column."""
    return StrictWeights(np.asarray(1.0 - column), column_weights(column, c=c, g=g))


def constant_weights(loop: Loop, clamp: Clamp, *, c: float | None) -> StrictWeights:
    """alpha_i = c for all records, c a setting; else c = min(1, epsilon / W) from public records.

    W is the size that 5 % of the public records' terms exceed (`ReferenceSizes.exceeded`), so that
    about 5 % of records like them lie outside the window. Where units have several records, the
    terms are the sums of public units. No confidential record enters W.
    """
    constant = min(1.0, clamp.epsilon / loop.reference_sizes(clamp).exceeded) if c is None else c
    weights = np.full(loop.cells.n_records, constant)
    return StrictWeights(np.asarray(1.0 - weights), weights)


def weights_from_reference(loop: Loop, clamp: Clamp, *, c: float, g: float) -> StrictWeights:
    """alpha_i = c (1 - f~_i) + g within [0, 1], f_i = max_s |term_i(theta_s)| of a public fit.

    f~_i is f_i on the scale of the public records, whose least size is 0 and whose largest is 1. A
    record of which the public records say nothing has weight 0.
    """
    sizes = loop.reference_sizes(clamp)
    scale = {"low": sizes.low, "high": sizes.high}
    risk = fixed_scale_risks(sizes.by_record, **scale)
    return StrictWeights(risk, fixed_scale_weights(sizes.by_record, **scale, c=c, g=g))


def weights_from_stage(
    loop: Loop, clamp: Clamp, *, scale: float, c: float, g: float
) -> StrictWeights:
    """alpha_i = c (1 - min(f_i / scale, 1)) + g within [0, 1], from one draw of a first fit.

    The first fit has no weights and clamps each term to `clamp`. f_i = |term_i(theta)| at its last
    draw theta. All weights depend on the first fit through theta alone.
    """
    stage = loop.fit(np.ones(loop.cells.n_records), "first stage", clamp=clamp)
    sizes = loop.sizes(stage, stage.posterior.n_draws - 1)
    risk = fixed_scale_risks(sizes, high=scale)
    return StrictWeights(risk, fixed_scale_weights(sizes, high=scale, c=c, g=g), (stage,))
